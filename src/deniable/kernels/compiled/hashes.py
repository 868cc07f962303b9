"""Which keys each report supports, eight reports at a time: the twin of `deniable.kernels.hashes`.

Over consecutive keys h is an arithmetic progression, and one addition and a comparison are enough.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import kernel
from deniable.kernels.multiply_shift import Words

Counts = npt.NDArray[np.uint32]
Halves = npt.NDArray[np.uint32]
Eight = tuple[np.uint64, ...]

# Keys that a kernel goes through for every eight reports: they and their counts stay in L1.
BLOCK = 2048

LOW, HALF = np.uint64(0xFFFF_FFFF), np.uint64(32)


def count_some(columns: tuple[Words, ...], keys: Words) -> Counts:
    """Return for each key how many reports of columns a1, a2, c and width support it."""
    # Halves as wide as the counts let LLVM use whole vectors for both.
    lows, highs = (keys & LOW).astype(np.uint32), (keys >> HALF).astype(np.uint32)
    counts = np.zeros(len(keys), np.uint32)
    add_support(_gather(*columns), lows, highs, counts)
    return counts


def count_consecutive(columns: tuple[Words, ...], first: int, size: int) -> Counts:
    """Return the same for keys first, first + 1, ... and reports of columns a, c and width."""
    counts = np.zeros(size, np.uint32)
    add_support_from(_gather(*columns), np.uint64(first), counts)
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
def add_support(reports: Words, lows: Halves, highs: Halves, counts: Counts) -> None:
    """Add to counts the support of each key by reports, the rows of which are a1, a2, c, width."""
    for start in range(0, len(counts), BLOCK):
        part = slice(start, min(start + BLOCK, len(counts)))
        for i in range(0, reports.shape[1], 8):
            add_eight(reports[:, i : i + 8], lows[part], highs[part], counts[part])


@kernel
def add_eight(reports: Words, lows: Halves, highs: Halves, counts: Counts) -> None:
    """Add the support of each key by eight reports, which stay in registers."""
    a1, a2, c, width = eight(reports[0]), eight(reports[1]), eight(reports[2]), eight(reports[3])
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
def add_support_from(reports: Words, first: np.uint64, counts: Counts) -> None:
    """Add to counts the support of keys first, first + 1, ... by reports of rows a, c, width."""
    for start in range(0, len(counts), BLOCK):
        stop = min(start + BLOCK, len(counts))
        for i in range(0, reports.shape[1], 8):
            add_eight_from(reports[:, i : i + 8], first + np.uint64(start), counts[start:stop])


@kernel
def add_eight_from(reports: Words, first: np.uint64, counts: Counts) -> None:
    """Add the support of consecutive keys by eight reports, stepping all eight hashes at once."""
    a, c, width = eight(reports[0]), eight(reports[1]), eight(reports[2])
    # Scalars, not a tuple: LLVM recognises them as inductions and steps whole vectors.
    h0, h1 = c[0] + a[0] * first, c[1] + a[1] * first
    h2, h3 = c[2] + a[2] * first, c[3] + a[3] * first
    h4, h5 = c[4] + a[4] * first, c[5] + a[5] * first
    h6, h7 = c[6] + a[6] * first, c[7] + a[7] * first
    for j in range(len(counts)):
        counts[j] += (
            np.uint32(h0 < width[0])
            + np.uint32(h1 < width[1])
            + np.uint32(h2 < width[2])
            + np.uint32(h3 < width[3])
            + np.uint32(h4 < width[4])
            + np.uint32(h5 < width[5])
            + np.uint32(h6 < width[6])
            + np.uint32(h7 < width[7])
        )
        h0, h1, h2, h3 = h0 + a[0], h1 + a[1], h2 + a[2], h3 + a[3]
        h4, h5, h6, h7 = h4 + a[4], h5 + a[5], h6 + a[6], h7 + a[7]


@kernel
def eight(row: Words) -> Eight:
    """Return eight words as a tuple, which the compiler keeps apart from memory."""
    return row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
