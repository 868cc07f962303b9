"""Shearing in NumPy: from folded reports to the supports of all values, as `linear` explains.

One digit is sheared at a time, in an array [a, y, lane] where the lanes are all combinations of
the other digits. For each w the rows F[a, y + a w] are added up over a: one at a time where rows
are long, all at once where they are so short that calls would cost more than additions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.kernels.fields import Field
from deniable.kernels.parallel import run_chunks, threads

Cells = npt.NDArray[np.signedinteger[Any]]
Index = npt.NDArray[np.int64]

_SERIAL = 1 << 21
_LONG = 1 << 13


def shear_level(cells: Cells, field: Field, digits: int, wanted: int) -> Cells:
    """Turn the cells of one level into the supports of w g + v_j, the first `wanted` of them."""
    g = field.order
    # The top digit goes first, because only what occurs below `wanted` has to be kept.
    kept = -(-wanted // g**digits)
    for place in reversed(range(digits)):
        lines = cells.reshape(-1, g, g**place, g)
        outer, _, inner, _ = lines.shape
        block = np.ascontiguousarray(lines.transpose(1, 3, 0, 2)).reshape(g, g, -1)
        sheared = _shear(block, field, kept).reshape(kept, g, outer, inner)
        cells = np.ascontiguousarray(sheared.transpose(2, 0, 3, 1)).reshape(-1)
        kept = g
    return cells[:wanted]


def _shear(block: Cells, field: Field, kept: int) -> Cells:
    """Return the sums over a of block[a, y + a w], for each w below `kept` and each y."""
    g, _, lanes = block.shape
    products, sums = field.products.astype(np.int64), field.sums.astype(np.int64)
    result = np.empty((kept, g, lanes), block.dtype)
    add = _add_long if g * lanes >= _LONG else _add_short

    def shear(start: int, stop: int) -> None:
        for w in range(start, stop):
            add(block, sums[products[:, w]], result[w])

    parts = 1 if block.size * kept < _SERIAL else threads()
    run_chunks(shear, kept, -(-kept // parts))
    return result


def _add_long(block: Cells, moved: Index, total: Cells) -> None:
    total[:] = block[0]
    for line, places in zip(block[1:], moved[1:], strict=True):
        total += line.take(places, axis=0)


def _add_short(block: Cells, moved: Index, total: Cells) -> None:
    g, _, lanes = block.shape
    places = moved + np.arange(0, g * g, g)[:, None]
    np.add.reduce(block.reshape(g * g, lanes).take(places, axis=0), axis=0, out=total)
