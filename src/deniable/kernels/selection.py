"""Reports of affine and subset selection in bulk, compiled; the same map as in NumPy.

The twins are ``AffineSelection._perturb`` and ``deniable.kernels.subsets``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels.arithmetic import (
    Arithmetic,
    Word,
    arithmetic,
    dot,
    negate,
    plus,
)
from deniable.kernels.compilation import kernel
from deniable.kernels.fields import Field

Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]
Members = npt.NDArray[np.int64]

ONE = np.uint64(1)


@kernel
def _perturb(
    values: Words,
    words: Words,
    field: Arithmetic,
    scheme: tuple[Word, Word, Word, Word],
    codes: Words,
) -> None:
    (f, table), (step, m, inside, outside) = field, scheme
    edge = m * inside
    for i in range(len(values)):
        u, r = words[i, 0] // step + ONE, words[i, 1]
        y = r // inside if r < edge else m + (r - edge) // outside
        s = plus(y, negate(dot(u, values[i], f, table), f, table), f, table)
        codes[i] = (u - ONE) * f[0] + s


def perturb_affine(
    values: Words, words: Words, field: Field, scheme: tuple[int, int, int, int]
) -> Words:
    """Make the report (u - 1) g + s of each value; the scheme is (step, m, inside, outside)."""
    codes = np.empty(len(values), np.uint64)
    step, m, inside, outside = (np.uint64(number) for number in scheme)
    _perturb(values, words, arithmetic(field), (step, m, inside, outside), codes)
    return codes


@kernel
def _unrank(rest: Word, table: Words, linear: bool, members: Members) -> None:
    """Write the ascending members of the subset of a rank."""
    k, d = table.shape
    c = d
    for j in range(k - 1, -1, -1):
        row = table[j]
        if linear:
            c -= 1
            while row[c] > rest:
                c -= 1
        else:
            # Where c is left at the top of what is at most the rank, after log2(c) halvings.
            low, span = 0, c
            while span > 1:
                half = span // 2
                low += half if row[low + half] <= rest else 0
                span -= half
            c = low
        members[j] = c
        rest -= row[c]


@kernel
def _select(
    values: Words, ranks: Words, places: Counts, table: Words, linear: bool, codes: Words
) -> None:
    k, d = table.shape
    members = np.empty(k, np.int64)
    for i in range(len(values)):
        _unrank(ranks[i], table, linear, members)
        place, left = places[i], places[i] - k
        chosen, passed = 0, 0
        for j in range(k):
            chosen += members[j] if j == place else 0
            passed += 1 if members[j] - j <= left else 0
        anchor = chosen if place < k else left + passed
        distance = np.int64(values[i]) - anchor
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
def _count(ranks: Words, table: Words, linear: bool, counts: Counts) -> None:
    members = np.empty(len(table), np.int64)
    for i in range(len(ranks)):
        _unrank(ranks[i], table, linear, members)
        for c in members:
            counts[c] += 1


def _is_linear(table: Words) -> bool:
    """Tell whether stepping down all values takes no more steps than k searches by halves."""
    k, d = table.shape
    return bool(d <= 2 * k * d.bit_length())


def select_subsets(values: Words, ranks: Words, places: Counts, table: Words) -> Words:
    """Return the rank of the subset of each rank, moved as its place says."""
    codes = np.empty(len(values), np.uint64)
    _select(values, ranks, places, table, _is_linear(table), codes)
    return codes


def count_subsets(ranks: Words, table: Words) -> Counts:
    """Count for each value the subsets that it is in."""
    counts = np.zeros(table.shape[1], np.int64)
    _count(ranks, table, _is_linear(table), counts)
    return counts
