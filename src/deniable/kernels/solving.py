"""Solving in NumPy: the values that each report supports, one by one, as `linear` explains."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels import vectors
from deniable.kernels.fields import Field
from deniable.kernels.parallel import run_chunks

Codes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

_PAIRS = 1 << 13
"""How many pairs of a report and a vector w are solved at once: they stay in a core's cache."""
_TASK = 1 << 20
"""How many pairs are worth a task of their own."""


def solve_level(cells: Codes, counts: Counts, field: Field, supports: Counts) -> None:
    """Add to the supports of w g + v_j at one level, with v_j = y - <a, w>, those by its cells."""
    g, rows = field.order, -(-len(supports) // field.order)
    t, reach = 1, g
    while reach < rows:
        t, reach = t + 1, reach * g
    a, y = vectors.divide(cells, g)
    # -a, so that <-a, w> is added: -1 is the element p - 1.
    minus = _negate(field, a, t)
    own, width = np.zeros(rows * g, np.int64), max(1, min(rows, _PAIRS // len(cells)))

    def solve(start: int, stop: int) -> None:
        """Solve for the vectors w of a range, which owns the supports it adds to."""
        for first in range(start, stop, width):
            w = np.arange(first, min(first + width, stop), dtype=np.uint64)[:, None]
            for i in range(0, len(cells), _PAIRS // len(w)):
                part = slice(i, i + _PAIRS // len(w))
                dots = vectors.dot(field, minus[part], w, t)
                v = w * np.uint64(g) + vectors.add(field, dots, y[part])
                np.add.at(own, v.view(np.int64).ravel(), np.tile(counts[part], len(w)))

    run_chunks(solve, rows, max(1, _TASK // len(cells)))
    supports += own[: len(supports)]


def _negate(field: Field, a: Codes, t: int) -> Codes:
    """Return -a, digit by digit."""
    g, one = field.order, np.uint64(field.characteristic - 1)
    result, place = np.zeros(len(a), np.uint64), 1
    for _ in range(t):
        a, digit = vectors.divide(a, g)
        result += vectors.multiply(field, digit, np.full(1, one)) * np.uint64(place)
        place *= g
    return result
