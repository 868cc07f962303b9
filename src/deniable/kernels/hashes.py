"""The multiply-shift hash: what a device evaluates on its answer, and which keys reports support.

A 64-bit key is x = x_hi 2^32 + x_lo. A report names a hash function by three 64-bit words:

    h(x) = (a1 x_lo + a2 x_hi + b) mod 2^64,    H(x) = floor((h(x) >> 32) g / 2^32)

so that H(x) = y exactly when h(x) lies in an interval that depends on y and g alone, 2 <= g < 2^32:
a report (a1, a2, b, y) supports x exactly when (h(x) - low) mod 2^64 < width, with (low, width) =
preimage(y, g). Subtracting low from b beforehand leaves two multiplications, two additions and a
comparison for a pair.
"""

from typing import Any

import numpy as np

from deniable.kernels.jit import kernel, pays
from deniable.kernels.parallel import iterate_chunks

Words = np.typing.NDArray[np.uint64]
Unsigned = np.typing.NDArray[np.unsignedinteger[np.typing.NBitBase]]
Integers = np.typing.NDArray[np.int64]
Counts = np.typing.NDArray[np.integer[Any]]
Columns = tuple[Words, ...]
Word = Words | np.uint64
Halves = np.typing.NDArray[np.uint32]
Eight = tuple[np.uint64, ...]

# A task has at most SPAN keys and REPORTS reports, and about PAIRS pairs: some milliseconds.
SPAN = 1 << 14
REPORTS = 1 << 16
PAIRS = 1 << 25
STEP = 1 << 13
"""How many pairs NumPy goes through at once: they stay in a core's cache."""
BLOCK = 2048
"""How many keys a kernel goes through for every eight reports: they and their counts stay in L1."""

_PAIR = 4.0
"""Nanoseconds that NumPy takes on one core for a pair."""

LOW, HALF = np.uint64(0xFFFF_FFFF), np.uint64(32)


def hash_keys(a1: Words, a2: Words, b: Words, keys: Words, g: int) -> Words:
    """Return H(x) for each row: key i hashed by the function (a1[i], a2[i], b[i])."""
    h = a1 * (keys & LOW) + a2 * (keys >> HALF) + b
    return ((h >> HALF) * np.uint64(g)) >> HALF


def preimage(y: Unsigned, g: int) -> tuple[Words, Words]:
    """Return (low, width) such that H(x) = y if and only if (h(x) - low) mod 2^64 < width."""
    # floor(t g / 2^32) = y iff ceil(y 2^32 / g) <= t < ceil((y + 1) 2^32 / g), and g < 2^32
    # keeps every numerator below 2^64.
    numerator = y.astype(np.uint64) << HALF
    first = _ceil_divide(numerator, g)
    beyond = _ceil_divide(numerator + np.uint64(1 << 32), g)
    return first << HALF, (beyond - first) << HALF


def _ceil_divide(numerator: Words, g: int) -> Words:
    return (numerator + np.uint64(g - 1)) // np.uint64(g)


def count_support(  # noqa: PLR0913, PLR0917 - the columns of a report, then keys and g
    a1: Words, a2: Words, b: Words, y: Unsigned, keys: Words, g: int
) -> Integers:
    """Return for each key how many of the reports (a1, a2, b, y) support it, on all cores."""
    total, n = np.zeros(len(keys), np.int64), len(y)
    if not len(keys):
        return total
    count = _count_some_compiled if pays("support", _PAIR * n * len(keys)) else _count_some
    reports = min(REPORTS, PAIRS // min(len(keys), SPAN))
    spans = -(-len(keys) // SPAN)

    def run(task: int, _: int) -> tuple[slice, Counts]:
        first, start = task // spans * reports, task % spans * SPAN
        some, span = slice(first, first + reports), slice(start, start + SPAN)
        low, width = preimage(y[some], g)
        return span, count((a1[some], a2[some], b[some] - low, width), keys[span])

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
) -> np.typing.NDArray[np.bool_]:
    """Tell whether (a1, a2, c, width) supports (low, high); either side may be an array."""
    (a1, a2, c, width), (low, high) = report, key
    hashed = np.multiply(a1, low)
    if np.ndim(high) or high:
        hashed += np.multiply(a2, high)
    hashed += c
    return np.less(hashed, width)


def _count_some_compiled(columns: tuple[Words, ...], keys: Words) -> Halves:
    """Count as `_count_some` does, compiled."""
    # Halves as wide as the counts let LLVM use whole vectors for both.
    lows, highs = (keys & LOW).astype(np.uint32), (keys >> HALF).astype(np.uint32)
    counts = np.zeros(len(keys), np.uint32)
    _add_support(_gather(*columns), lows, highs, counts)
    return counts


def _gather(*columns: Words) -> Words:
    """Return the columns as rows of one array, filled up to a multiple of eight reports."""
    # Reports of zeros have width 0, hence support nothing.
    n = len(columns[0])
    rows = np.zeros((len(columns), n + -n % 8), np.uint64)
    for row, column in zip(rows, columns, strict=True):
        row[:n] = column
    return rows


@kernel
def _add_support(reports: Words, lows: Halves, highs: Halves, counts: Halves) -> None:
    """Add to counts the support of each key by reports, the rows of which are a1, a2, c, width."""
    for start in range(0, len(counts), BLOCK):
        part = slice(start, min(start + BLOCK, len(counts)))
        for i in range(0, reports.shape[1], 8):
            _add_eight(reports[:, i : i + 8], lows[part], highs[part], counts[part])


@kernel
def _add_eight(reports: Words, lows: Halves, highs: Halves, counts: Halves) -> None:
    """Add the support of each key by eight reports, which stay in registers."""
    a1, a2, c, width = (
        _eight(reports[0]),
        _eight(reports[1]),
        _eight(reports[2]),
        _eight(reports[3]),
    )
    for j in range(len(counts)):
        low, high = np.uint64(lows[j]), np.uint64(highs[j])
        counts[j] += (
            np.uint32(a1[0] * low + a2[0] * high + c[0] < width[0])
            + np.uint32(a1[1] * low + a2[1] * high + c[1] < width[1])
            + np.uint32(a1[2] * low + a2[2] * high + c[2] < width[2])
            + np.uint32(a1[3] * low + a2[3] * high + c[3] < width[3])
            + np.uint32(a1[4] * low + a2[4] * high + c[4] < width[4])
            + np.uint32(a1[5] * low + a2[5] * high + c[5] < width[5])
            + np.uint32(a1[6] * low + a2[6] * high + c[6] < width[6])
            + np.uint32(a1[7] * low + a2[7] * high + c[7] < width[7])
        )


@kernel
def _eight(row: Words) -> Eight:
    """Return eight words as a tuple, which the compiler keeps apart from memory."""
    return row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
