"""Solving, compiled: the twin of `deniable.kernels.solving`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import kernel
from deniable.kernels.compiled import frozen
from deniable.kernels.compiled.arithmetic import (
    Numbers,
    Table,
    arithmetic,
    divide,
    dot,
    negate,
    plus,
    times,
)
from deniable.kernels.fields import Field
from deniable.kernels.parallel import run_chunks, threads

Codes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

_CHUNK = 1 << 17
_SERIAL = 1 << 20
"""Less work than this, some milliseconds of it, is not worth starting threads for."""


def solve_level(cells: Codes, counts: Counts, field: Field, supports: Counts) -> None:
    """Add to the supports of w g + v_j at one level those by the reports of its cells."""
    g, (numbers, table) = field.order, arithmetic(field)
    rows = -(-len(supports) // g)
    parts = 1 if rows * len(cells) < _SERIAL else threads()
    # Each chunk owns the supports it adds to, few enough for the second-level cache.
    chunk = min(max(1, -(-rows // parts)), max(1, _CHUNK // g))
    cells, counts = frozen(cells), frozen(counts)

    def solve(start: int, stop: int) -> None:
        line = np.empty(min(g, stop), np.uint64)
        _solve(cells, counts, numbers, table, supports, line, start, stop)

    run_chunks(solve, rows, chunk)


@kernel
def _solve(  # noqa: PLR0913, PLR0917 - tuples of arrays take Numba longer than arguments
    cells: Codes,
    counts: Counts,
    f: Numbers,
    table: Table,
    supports: Counts,
    line: Codes,
    start: int,
    stop: int,
) -> None:
    """Add the supports of w g + v_j, where v_j = y - <a, w>, for a range of w."""
    g = int(np.int64(f[0]))
    for i in range(len(cells)):
        a, y = divide(cells[i], f)
        high, slope = divide(a, f)
        slope = negate(slope, f, table)
        # The lowest digit of w runs along a line, worked out once for all the digits above it.
        for low in range(len(line)):
            line[low] = times(slope, np.uint64(low), f, table)
        for row in range(start // g, (stop - 1) // g + 1):
            base = plus(y, negate(dot(high, np.uint64(row), f, table), f, table), f, table)
            for w in range(max(start, row * g), min(stop, row * g + g)):
                v = w * g + np.int64(plus(base, line[w - row * g], f, table))
                if v < len(supports):
                    supports[v] += counts[i]
