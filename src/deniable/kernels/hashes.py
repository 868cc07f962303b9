"""Which keys each report supports, when a report names its own multiply-shift hash function.

The hash is that of `deniable.kernels.multiply_shift`. A report (a1, a2, b, y) supports x exactly
when (h(x) - low) mod 2^64 < width, with (low, width) = preimage(y, g). Subtracting low from b
beforehand leaves two multiplications, two additions and a comparison for a pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.kernels import costs
from deniable.kernels.compilation import pays
from deniable.kernels.multiply_shift import Unsigned, Words, preimage
from deniable.kernels.parallel import iterate_chunks

Integers = npt.NDArray[np.int64]
Counts = npt.NDArray[np.integer[Any]]
Columns = tuple[Words, ...]
Word = Words | np.uint64

# A task has at most SPAN keys and REPORTS reports, and about PAIRS pairs: some milliseconds.
SPAN = 1 << 14
REPORTS = 1 << 16
PAIRS = 1 << 25
STEP = 1 << 13
"""How many pairs NumPy goes through at once: they stay in a core's cache."""

LOW, HALF = np.uint64(0xFFFF_FFFF), np.uint64(32)


def count_support(  # noqa: PLR0913, PLR0917 - the columns of a report, then keys and g
    a1: Words, a2: Words, b: Words, y: Unsigned, keys: Words, g: int
) -> Integers:
    """Return for each key how many of the reports (a1, a2, b, y) support it."""
    count_some = _count_some
    if pays("count support", costs.COUNT_PAIR * len(y) * len(keys)):
        from deniable.kernels.compiled import hashes as compiled  # noqa: PLC0415 - imports Numba

        count_some = compiled.count_some

    def count(reports: slice, span: slice) -> Counts:
        low, width = preimage(y[reports], g)
        columns = a1[reports], a2[reports], b[reports] - low, width
        return count_some(columns, keys[span])

    return _count_pairs(count, len(y), len(keys))


def count_support_small(a: Words, b: Words, y: Unsigned, domain_size: int, g: int) -> Integers:
    """Return for each key of 0..domain_size-1 how many of the reports (a, 0, b, y) support it."""
    count_consecutive = _count_consecutive
    if pays("count small support", costs.COUNT_PAIR * len(y) * domain_size):
        from deniable.kernels.compiled import hashes as compiled  # noqa: PLC0415 - imports Numba

        count_consecutive = compiled.count_consecutive

    def count(reports: slice, span: slice) -> Counts:
        low, width = preimage(y[reports], g)
        columns = a[reports], b[reports] - low, width
        return count_consecutive(columns, span.start, span.stop - span.start)

    return _count_pairs(count, len(y), domain_size)


def _count_pairs(count: Callable[[slice, slice], Counts], n: int, size: int) -> Integers:
    """Add up the counts of tasks, each of some reports and a span of keys, on all cores."""
    total = np.zeros(size, np.int64)
    if not size:
        return total
    reports = min(REPORTS, PAIRS // min(size, SPAN))
    spans = -(-size // SPAN)

    def run(task: int, _: int) -> tuple[slice, Counts]:
        first, start = task // spans * reports, task % spans * SPAN
        span = slice(start, min(start + SPAN, size))
        return span, count(slice(first, min(first + reports, n)), span)

    for span, counts in iterate_chunks(run, -(-n // reports) * spans, 1):
        total[span] += counts
    return total


def _count_some(columns: Columns, keys: Words) -> Counts:
    """Return for each key how many reports of columns a1, a2, c and width support it."""
    rows = [np.ascontiguousarray(column) for column in columns]
    halves = keys & LOW, keys >> HALF
    counts = np.zeros(len(keys), np.int64)
    # The loop in Python runs over the shorter side.
    if len(rows[0]) < len(keys):
        for report in zip(*rows, strict=True):
            for start in range(0, len(keys), STEP):
                part = slice(start, start + STEP)
                counts[part] += _support(report, (halves[0][part], halves[1][part]))
        return counts
    for start in range(0, len(rows[0]), STEP):
        a1, a2, c, width = (row[start : start + STEP] for row in rows)
        for k, half in enumerate(zip(*halves, strict=True)):
            counts[k] += np.count_nonzero(_support((a1, a2, c, width), half))
    return counts


def _support(
    report: tuple[Word, Word, Word, Word], key: tuple[Word, Word]
) -> npt.NDArray[np.bool_]:
    """Tell whether (a1, a2, c, width) supports (low, high): one of both stands for many."""
    (a1, a2, c, width), (low, high) = report, key
    hashed = np.multiply(a1, low)
    if np.ndim(high) or high:
        hashed += np.multiply(a2, high)
    hashed += c
    return np.less(hashed, width)


def _count_consecutive(columns: Columns, first: int, size: int) -> Counts:
    """Return the same for keys first, first + 1, ... and reports of columns a, c and width."""
    a, c, width = columns
    keys = np.arange(first, first + size, dtype=np.uint64)
    return _count_some((a, np.zeros_like(a), c, width), keys)
