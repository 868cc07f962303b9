"""Solving in NumPy: the values that each report supports, one by one, as `linear` explains."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels import vectors
from deniable.kernels.fields import Field

Codes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

_PAIRS = 1 << 13
"""How many pairs of a report and a vector w are solved at once: they stay in a core's cache."""


def solve_level(cells: Codes, counts: Counts, field: Field, supports: Counts) -> None:
    """Add to the supports of w g + v_j at one level, with v_j = y - <a, w>, those by its cells."""
    g, rows = field.order, -(-len(supports) // field.order)
    t, reach = 1, g
    while reach < rows:
        t, reach = t + 1, reach * g
    a, y = vectors.divide(cells, g)
    # -a, so that <-a, w> is added: -1 is the element p - 1.
    minus = vectors.scale(field, np.full(1, field.characteristic - 1, np.uint64), a, t)
    width = max(1, _PAIRS // max(1, len(cells)))
    for first in range(0, rows, width):
        w = np.arange(first, min(first + width, rows), dtype=np.uint64)[:, None]
        for start in range(0, len(cells), _PAIRS):
            part = slice(start, start + _PAIRS)
            dots = vectors.dot(field, minus[part], w, t)
            v = (w * np.uint64(g) + vectors.add(field, dots, y[part])).view(np.int64).ravel()
            times = np.tile(counts[part], len(w))
            # The last row may be longer than the supports.
            if (first + width) * g > len(supports):
                inside = np.flatnonzero(v < len(supports))
                v, times = v[inside], times[inside]
            np.add.at(supports, v, times)
