"""Folding, compiled: the twin of `deniable.kernels.folding`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import kernel
from deniable.kernels.compiled import frozen
from deniable.kernels.compiled.arithmetic import (
    Numbers,
    Table,
    Word,
    arithmetic,
    divide,
    invert,
    times,
)
from deniable.kernels.costs import folded_size, level_start
from deniable.kernels.fields import Field
from deniable.kernels.parallel import run_chunks, threads

Codes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

_SERIAL = 1 << 20
"""Less work than this, some milliseconds of it, is not worth starting threads for."""


def fold_codes(codes: Codes, counts: Counts, field: Field, t: int) -> Counts:
    """Count the reports of each cell."""
    (numbers, table), starts = arithmetic(field), _starts(field, t)

    def fold(start: int, stop: int, folded: Counts) -> None:
        part = frozen(codes[start:stop]), frozen(counts[start:stop])
        _fold_codes(*part, numbers, table, starts, folded)

    return _fold(fold, len(codes), len(codes), folded_size(field.order, t))


def fold_table(table: Counts, field: Field, t: int) -> Counts:
    """Fold the counts of all g^(t+1) report codes."""
    g, starts = field.order, _starts(field, t)
    numbers, reciprocals = arithmetic(field)
    rows, products = frozen(table).reshape(-1, g), field.products.astype(np.uint16)

    def fold(start: int, stop: int, folded: Counts) -> None:
        first, part = np.uint64(1 + start), rows[1 + start : 1 + stop]
        _fold_rows(part, first, numbers, reciprocals, products, starts, folded)

    folded = _fold(fold, len(rows) - 1, len(table), folded_size(g, t))
    folded[-2:] = table[0], table[1:g].sum()
    return folded


def _starts(field: Field, t: int) -> Codes:
    return np.array([level_start(field.order, t, j) for j in range(t + 1)], np.uint64)


def _fold(fold: Callable[[int, int, Counts], None], total: int, work: int, size: int) -> Counts:
    """Fold a range in parts, each thread into its own cells, and add them."""

    def part(start: int, stop: int) -> Counts:
        folded = np.zeros(size, np.int64)
        fold(start, stop, folded)
        return folded

    # A copy of the cells for a thread pays only where it has more to fold than there are cells.
    most = 1 if work < _SERIAL else 1 + work // (2 * size)
    parts = run_chunks(part, total, -(-total // min(threads(), most)) or 1)
    return sum(parts[1:], parts[0]) if parts else np.zeros(size, np.int64)


@kernel
def _normalise(u: Word, f: Numbers, table: Table) -> tuple[int, Word, Word]:
    """The level of u != 0, the start of its g cells there, and the scale for it and for y."""
    level = 0
    u, first = divide(u, f)
    while not first:
        level += 1
        u, first = divide(u, f)
    scale = invert(first, f, table)
    base, place = np.uint64(0), f[0]
    while u:
        u, digit = divide(u, f)
        base += times(scale, digit, f, table) * place
        place *= f[0]
    return level, base, scale


@kernel
def _fold_codes(  # noqa: PLR0913, PLR0917 - tuples of arrays take Numba longer than arguments
    codes: Codes, counts: Counts, f: Numbers, table: Table, starts: Codes, folded: Counts
) -> None:
    previous, start, scale = np.uint64(0), np.uint64(0), np.uint64(0)
    for i in range(len(codes)):
        u, y = divide(codes[i], f)
        if not u:
            folded[len(folded) - (1 if y else 2)] += counts[i]
            continue
        # Where codes are sorted, those with the same u follow each other.
        if u != previous:
            level, base, scale = _normalise(u, f, table)
            previous, start = u, starts[level] + base
        folded[start + times(scale, y, f, table)] += counts[i]


@kernel
def _fold_rows(  # noqa: PLR0913, PLR0917 - tuples of arrays take Numba longer than arguments
    rows: Counts,
    first: Word,
    f: Numbers,
    table: Table,
    products: npt.NDArray[np.uint16],
    starts: Codes,
    folded: Counts,
) -> None:
    """Fold the rows C[u, ...] for u = first, first + 1, ...; none of them is zero."""
    for i in range(rows.shape[0]):
        level, base, scale = _normalise(first + np.uint64(i), f, table)
        start = starts[level] + base
        for y in range(rows.shape[1]):
            folded[start + products[scale, y]] += rows[i, y]
