"""Subsets of k of d values, and their ranks in the combinatorial number system.

The rank of the members c_1 < c_2 < ... < c_k is the sum of the binomials C(c_j, j): all subsets
have different ranks, and these are 0, ..., C(d, k) - 1. Backwards, c_k is the largest c with
C(c, k) at most the rank; what is left of the rank is that of the other members.

``select_many`` and ``count_members`` do their work in NumPy or compiled, as pays; ``select`` is the
path of devices, in NumPy alone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import pays
from deniable.kernels.parallel import run_chunks

Words = npt.NDArray[np.uint64]
Members = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

_LARGEST = np.uint64(2**64 - 1)
_CHUNK = 1 << 16
_STEP = 1 << 13
"""How many subsets NumPy works on at once."""

# Nanoseconds of NumPy on one core for each member of a subset.
_SELECT_MEMBER = 60.0
_COUNT_MEMBER = 35.0


@lru_cache(maxsize=16)
def binomials(d: int, k: int) -> Words:
    """Return the table of C(c, j) at [j - 1, c] for j = 1..k and c = 0..d-1.

    Binomials beyond 64 bits, which no rank reaches, are the largest number of 64 bits.
    """
    table = np.empty((k, d), np.uint64)
    below = np.ones(d, np.uint64)
    for row in table:
        row[0] = 0
        np.cumsum(below[:-1], out=row[1:])
        wrapped = np.flatnonzero(row[1:] < row[:-1])
        if len(wrapped):
            row[wrapped[0] + 1 :] = _LARGEST
        below = row
    table.setflags(write=False)
    return table


def unrank(ranks: Words, table: Words) -> Members:
    """Return the ascending members of each subset, one subset in a row."""
    k = len(table)
    rest, members = ranks.astype(np.uint64), np.empty((len(ranks), k), np.int64)
    for j in range(k - 1, -1, -1):
        members[:, j] = np.searchsorted(table[j], rest, side="right") - 1
        rest -= table[j][members[:, j]]
    return members


def rank(members: Members, table: Words) -> Words:
    """Return the rank of each row of ascending members."""
    return np.asarray(table[np.arange(len(table)), members].sum(axis=1, dtype=np.uint64))


def place_in(members: Members, places: Members, d: int) -> Members:
    """Return the value at each place, where members come before non-members, both ascending.

    All members take part whatever the place: which value it is must not show in the time.
    """
    k = members.shape[1]
    outside = places >= k
    order = np.arange(k)
    chosen = (members * (order == places[:, None])).sum(axis=1)
    # c_j - j non-members lie below the member c_j, counting from 0.
    left = places - k
    passed = ((members - order) <= left[:, None]).sum(axis=1)
    return np.asarray(np.where(outside, (left + passed) % d, chosen))


def shift(members: Members, distance: Members, d: int) -> Members:
    """Return the subsets moved up by a distance modulo d, ascending again."""
    moved = members + distance[:, None]
    moved -= d * (moved >= d)
    moved.sort(axis=1)
    return moved


def select(values: Words, ranks: Words, places: Members, table: Words) -> Words:
    """Return the rank of each subset moved so that the value at its place becomes the value."""
    codes, d = np.empty(len(values), np.uint64), table.shape[1]
    for first in range(0, len(values), _STEP):
        part = slice(first, first + _STEP)
        members = unrank(ranks[part], table)
        anchor = place_in(members, places[part], d)
        distance = (values[part].astype(np.int64) + (d - anchor)) % d
        codes[part] = rank(shift(members, distance, d), table)
    return codes


def select_many(values: Words, ranks: Words, places: Members, table: Words) -> Words:
    """Return what ``select`` does, compiled where that pays."""
    if pays("select subsets", _SELECT_MEMBER * len(table) * len(values)):
        from deniable.kernels.compiled import subsets as compiled  # noqa: PLC0415 - imports Numba

        return compiled.select(values, ranks, places, table)
    return select(values, ranks, places, table)


def count_members(ranks: Words, table: Words) -> Counts:
    """Count for each value the subsets that it is in."""
    if pays("count members", _COUNT_MEMBER * len(table) * len(ranks)):
        from deniable.kernels.compiled import subsets as compiled  # noqa: PLC0415 - imports Numba

        return compiled.count_members(ranks, table)
    d = table.shape[1]

    def count(start: int, stop: int) -> Counts:
        counts = np.zeros(d, np.int64)
        for first in range(start, stop, _STEP):
            members = unrank(ranks[first : min(first + _STEP, stop)], table)
            counts += np.bincount(members.ravel(), minlength=d)
        return counts

    return sum(run_chunks(count, len(ranks), _CHUNK), np.zeros(d, np.int64))
