"""Shearing, compiled: the twin of `deniable.kernels.shearing`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import kernel
from deniable.kernels.fields import Field
from deniable.kernels.parallel import run_chunks, threads

Cells = npt.NDArray[np.signedinteger[Any]]
Small = npt.NDArray[np.uint16]

_SERIAL = 1 << 20
"""Less work than this, some milliseconds of it, is not worth starting threads for."""
_BLOCK = 1024
"""How many cells of a fibre are sheared at once: with all lanes, they fit in the cache."""


def shear_level(cells: Cells, field: Field, digits: int, wanted: int) -> Cells:
    """Turn the cells of one level into the supports of w g + v_j, the first `wanted` of them."""
    g = field.order
    # The top digits go first, because only those that occur below `wanted` have to be kept.
    top = -(-wanted // g**digits)
    while digits:
        group = 1
        while group < digits and g ** (group + 2) <= _BLOCK:
            group += 1
        digits -= group
        cells = _shear_digits(cells, field, (g**group, top * g ** (group - 1), g**digits))
        top = g
    return cells[:wanted]


def _shear_digits(cells: Cells, field: Field, shape: tuple[int, int, int]) -> Cells:
    """Shear one group of digits of the whole level; shape is (span, kept, inner)."""
    g, (span, kept, inner) = field.order, shape
    products, sums = field.products.astype(np.uint16), field.sums.astype(np.uint16)
    fibres = len(cells) // (span * g)
    lanes = min(fibres, 64 if g <= 64 else 32)
    target = np.empty(fibres * kept * g, cells.dtype)

    def shear(start: int, stop: int) -> None:
        block = np.zeros((span, g, lanes), cells.dtype)
        result = np.empty((g, g, lanes), cells.dtype)
        for first in range(start, stop, lanes):
            count = min(lanes, stop - first)
            _move(cells, block, first, count, inner, False)
            _shear(block, result, kept, products, sums)
            _move(target, block[:kept], first, count, inner, True)

    parts = 1 if len(cells) * g < _SERIAL else threads()
    run_chunks(shear, fibres, max(1, -(-fibres // (parts * lanes))) * lanes)
    return target


@kernel
def _move(  # noqa: PLR0913, PLR0917 - tuples take Numba longer than arguments
    cells: Cells, block: Cells, first: int, count: int, inner: int, back: bool
) -> None:
    """Put the cells [outer, a, low, y] of some fibres (outer, low) into [a, y, lane], or back.

    One kernel for both directions compiles in half the time of two.
    """
    span, g, _ = block.shape
    for lane in range(count):
        outer, low = (first + lane) // inner, (first + lane) % inner
        for a in range(span):
            base = ((outer * span + a) * inner + low) * g
            for y in range(g):
                if back:
                    cells[base + y] = block[a, y, lane]
                else:
                    block[a, y, lane] = cells[base + y]


@kernel
def _shear(block: Cells, result: Cells, kept: int, products: Small, sums: Small) -> None:
    """Shear a block [a, y, lane] along each digit of a, top digit first."""
    # Loops and no assignments of arrays: for those Numba compiles a check of shapes, slowly.
    span, g, lanes = block.shape
    stride, rows = span // g, span
    height = kept // stride
    while stride > 0:
        for corner in range(0, rows, stride * g):
            for a in range(corner, corner + stride):
                for w in range(height):
                    for y in range(g):
                        for lane in range(lanes):
                            result[w, y, lane] = block[a, y, lane]
                    for digit in range(1, g):
                        other, moved = a + digit * stride, products[digit, w]
                        for y in range(g):
                            total, term = result[w, y], block[other, sums[moved, y]]
                            for lane in range(lanes):
                                total[lane] += term[lane]
                for w in range(height):
                    for y in range(g):
                        for lane in range(lanes):
                            block[a + w * stride, y, lane] = result[w, y, lane]
        stride, rows, height = stride // g, kept, g
