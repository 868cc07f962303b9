"""Folding in NumPy: reports of linear hashing up to common multiples, as `linear` explains."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from deniable.kernels import vectors
from deniable.kernels.costs import folded_size, level_start
from deniable.kernels.fields import LARGEST_POWER, Field

Codes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

_STEP = 1 << 13
"""How many reports are folded at once: all arrays in between stay in a core's cache.

Steps so short leave nothing to a second thread, which would wait for the GIL most of the time.
"""
_PART = 1 << 20
"""How many entries of a table are moved at once."""


def fold_each(codes: Codes, field: Field, t: int) -> Codes:
    """Return the cell of each report, numbered through all levels."""
    cells = np.empty(len(codes), np.uint64)
    starts = np.array([level_start(field.order, t, j) for j in range(t + 1)], np.uint64)
    for start in range(0, len(codes), _STEP):
        part = slice(start, start + _STEP)
        cells[part] = _fold_some(codes[part], field, starts)
    return cells


def _fold_some(codes: Codes, field: Field, starts: Codes) -> Codes:
    g = field.order
    u, y = vectors.divide(codes, g)
    levels, zero = np.zeros(len(codes), np.uint8), np.flatnonzero(u == 0)
    rest, first = vectors.divide(u, g)
    low = np.flatnonzero((first == 0) & (u > 0))
    while len(low):
        levels[low] += 1
        rest[low], first[low] = vectors.divide(rest[low], g)
        low = low[first[low] == 0]
    scale = _invert(field, first)
    cells = vectors.scale(field, scale, rest, len(starts) - 2) * np.uint64(g)
    cells += vectors.multiply(field, scale, y)
    cells += starts[levels]
    cells[zero] = starts[-1] + (y[zero] > 0)
    return cells


def _invert(field: Field, a: Codes) -> Codes:
    return field.inverse(a) if field.order > LARGEST_POWER else _reciprocals(field)[a]


@lru_cache(maxsize=16)
def _reciprocals(field: Field) -> Codes:
    return field.inverse(np.arange(field.order))


def fold_codes(codes: Codes, counts: Counts, field: Field, t: int) -> Counts:
    """Count the reports of each cell; the levels 0 .. t follow each other."""
    folded = np.zeros(folded_size(field.order, t), np.int64)
    for start in range(0, len(codes), _PART):
        cells = fold_each(codes[start : start + _PART], field, t)
        np.add.at(folded, cells.view(np.int64), counts[start : start + _PART])
    return folded


def fold_table(table: Counts, field: Field, t: int) -> Counts:
    """Fold the counts of all g^(t+1) report codes, for g up to 1024.

    The reports that fold onto (u, y) are (c u, c y): for each c the vectors u = (a, 1, 0, ...) of
    a level are found in one piece, and so are their multiples.
    """
    g, rows = field.order, table.reshape(-1, field.order)
    folded, products = np.zeros(folded_size(g, t), np.int64), field.products.astype(np.int64)
    step = max(1, _PART // g)
    for c in range(1, g):
        above = _multiples(products[c], t - 1)
        for j in range(t):
            start, count = level_start(g, t, j), g ** (t - 1 - j)
            cells = folded[start : start + count * g].reshape(-1, g)
            for first in range(0, count, step):
                u = (above[first : min(first + step, count)] * g + c) * g**j
                cells[first : first + step] += rows[u].take(products[c], axis=1)
    folded[-2:] = table[0], table[1:g].sum()
    return folded


def _multiples(products: npt.NDArray[np.int64], digits: int) -> npt.NDArray[np.int64]:
    """Return c a for all vectors a of so many digits, from the products of c by each element."""
    multiples, place = np.zeros(1, np.int64), 1
    for _ in range(digits):
        multiples = (products[:, None] * place + multiples).ravel()
        place *= len(products)
    return multiples
