"""Subsets and their ranks, compiled: the twin of `deniable.kernels.subsets`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import kernel
from deniable.kernels.compiled import frozen
from deniable.kernels.parallel import run_chunks

Words = npt.NDArray[np.uint64]
Members = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

_CHUNK = 1 << 16


def select(values: Words, ranks: Words, places: Members, table: Words) -> Words:
    """Return the rank of each subset moved so that the value at its place becomes the value."""
    codes, stepping = np.empty(len(values), np.uint64), _steps_down(table)

    def fill(start: int, stop: int) -> None:
        part = slice(start, stop)
        given = frozen(values[part]), frozen(ranks[part]), frozen(places[part])
        _select(*given, frozen(table), stepping, codes[part])

    run_chunks(fill, len(values), _CHUNK)
    return codes


def count_members(ranks: Words, table: Words) -> Counts:
    """Count for each value the subsets that it is in."""
    d, stepping = table.shape[1], _steps_down(table)

    def count(start: int, stop: int) -> Counts:
        counts = np.zeros(d, np.int64)
        _count(frozen(ranks[start:stop]), frozen(table), stepping, counts)
        return counts

    return sum(run_chunks(count, len(ranks), _CHUNK), np.zeros(d, np.int64))


def _steps_down(table: Words) -> bool:
    """Tell whether stepping down all values takes less than k searches by halves."""
    k, d = table.shape
    return bool(d <= 2 * k * d.bit_length())


@kernel
def _unrank(rest: np.uint64, table: Words, stepping: bool, members: Members) -> None:
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
def _select(  # noqa: PLR0913, PLR0917 - tuples of arrays take Numba longer than arguments
    values: Words, ranks: Words, places: Members, table: Words, stepping: bool, codes: Words
) -> None:
    k, d = table.shape
    members = np.empty(k, np.int64)
    for i in range(len(values)):
        _unrank(ranks[i], table, stepping, members)
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
def _count(ranks: Words, table: Words, stepping: bool, counts: Counts) -> None:
    members = np.empty(len(table), np.int64)
    for i in range(len(ranks)):
        _unrank(ranks[i], table, stepping, members)
        for j in range(len(members)):
            counts[members[j]] += 1
