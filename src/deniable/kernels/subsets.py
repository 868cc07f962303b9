"""Subsets of k of d values, and their ranks in the combinatorial number system.

The rank of the members c_1 < c_2 < ... < c_k is the sum of the binomials C(c_j, j): all subsets
have different ranks, and these are 0, ..., C(d, k) - 1. Backwards, c_k is the largest c with
C(c, k) at most the rank; what is left of the rank is that of the other members.

``select_many`` and ``count_members`` do their work in NumPy or compiled, as pays; ``select`` is the
path of devices, in NumPy alone.
"""

from functools import lru_cache

import numpy as np

from deniable.kernels.jit import frozen, kernel, pays
from deniable.kernels.parallel import run_chunks

Words = np.typing.NDArray[np.uint64]
Members = np.typing.NDArray[np.int64]
Counts = np.typing.NDArray[np.int64]

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
        members[:, j] = table[j].searchsorted(rest, side="right") - 1
        rest -= table[j][members[:, j]]
    return members


def rank(members: Members, table: Words) -> Words:
    """Return the rank of each row of ascending members."""
    return np.asarray(np.add.reduce(table[np.arange(len(table)), members], axis=1))


def place_in(members: Members, places: Members, d: int) -> Members:
    """Return the value at each place, where members come before non-members, both ascending.

    All members take part whatever the place: which value it is must not show in the time.
    """
    k = members.shape[1]
    outside = places >= k
    order = np.arange(k)
    chosen = np.add.reduce(members * (order == places[:, None]), axis=1)
    # c_j - j non-members lie below the member c_j, counting from 0.
    left = places - k
    passed = np.add.reduce((members - order) <= left[:, None], axis=1, dtype=np.int64)
    return np.asarray(chosen * ~outside + (left + passed) % d * outside)


def not_held(held: Members, places: Members) -> Members:
    """Return the values at some places among those that are not held, both ascending by row.

    All that is held takes part, whatever the places.
    """
    below = held - np.arange(held.shape[1])
    passed = np.add.reduce(below[:, None, :] <= places[:, :, None], axis=2, dtype=np.int64)
    return np.asarray(places + passed)


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
    if not pays("select subsets", _SELECT_MEMBER * len(table) * len(values)):
        return select(values, ranks, places, table)
    codes, stepping = np.empty(len(values), np.uint64), _steps_down(table)

    def fill(start: int, stop: int) -> None:
        part = slice(start, stop)
        given = frozen(values[part]), frozen(ranks[part]), frozen(places[part])
        _select_each(*given, frozen(table), stepping, codes[part])

    run_chunks(fill, len(values), _CHUNK)
    return codes


def count_members(ranks: Words, table: Words) -> Counts:
    """Count for each value the subsets that it is in."""
    compiled = pays("count members", _COUNT_MEMBER * len(table) * len(ranks))
    d = table.shape[1]

    def count(start: int, stop: int) -> Counts:
        counts = np.zeros(d, np.int64)
        if compiled:
            _count_each(frozen(ranks[start:stop]), frozen(table), _steps_down(table), counts)
            return counts
        for first in range(start, stop, _STEP):
            members = unrank(ranks[first : min(first + _STEP, stop)], table)
            counts += np.bincount(members.ravel(), minlength=d)
        return counts

    return sum(run_chunks(count, len(ranks), _CHUNK), np.zeros(d, np.int64))


def _steps_down(table: Words) -> bool:
    """Tell whether stepping down all values takes less than k searches by halves."""
    k, d = table.shape
    return bool(d <= 2 * k * d.bit_length())


@kernel
def _unrank_one(rest: np.uint64, table: Words, stepping: bool, members: Members) -> None:
    """Write the ascending members of the subset of a rank."""
    k, d = table.shape
    c = d
    for j in range(k - 1, -1, -1):
        if stepping:
            c -= 1
            while table[j, c] > rest:
                c -= 1
        else:
            low, span = 0, c
            while span > 1:
                half = span // 2
                low += half if table[j, low + half] <= rest else 0
                span -= half
            c = low
        members[j] = c
        rest -= table[j, c]


@kernel
def _select_each(  # noqa: PLR0913, PLR0917 - tuples of arrays take Numba longer than arguments
    values: Words, ranks: Words, places: Members, table: Words, stepping: bool, codes: Words
) -> None:
    k, d = table.shape
    members = np.empty(k, np.int64)
    for i in range(len(values)):
        _unrank_one(ranks[i], table, stepping, members)
        place, left = places[i], places[i] - k
        chosen, passed = 0, 0
        for j in range(k):
            chosen += members[j] if j == place else 0
            passed += 1 if members[j] - j <= left else 0
        distance = np.int64(values[i]) - (chosen if place < k else left + passed)
        distance += d if distance < 0 else 0
        # The members that pass the end come first, in the same order.
        wrapped = 0
        for j in range(k):
            wrapped += 1 if members[j] + distance >= d else 0
        code = np.uint64(0)
        for j in range(wrapped):
            code += table[j, members[k - wrapped + j] + distance - d]
        for j in range(wrapped, k):
            code += table[j, members[j - wrapped] + distance]
        codes[i] = code


@kernel
def _count_each(ranks: Words, table: Words, stepping: bool, counts: Counts) -> None:
    members = np.empty(len(table), np.int64)
    for i in range(len(ranks)):
        _unrank_one(ranks[i], table, stepping, members)
        for j in range(len(members)):
            counts[members[j]] += 1
