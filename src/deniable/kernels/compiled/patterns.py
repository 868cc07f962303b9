"""Patterns looked up and true bits set, compiled: the twin of `deniable.kernels.patterns`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import kernel
from deniable.kernels.compiled import frozen

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Halves = npt.NDArray[np.uint16]
Places = npt.NDArray[np.int32]


def look_up(leading: Halves, table: Halves, flat: Bytes) -> Places:
    """Fill in the patterns that 16 bits decide, and return the other places."""
    places = np.empty(len(flat), np.int32)
    return places[: _look_up(frozen(leading), frozen(table), flat, places)]


def set_true_bits(
    rows: Bytes, values: Integers, true_bits: npt.NDArray[np.bool_], padding: np.uint8
) -> None:
    """Give each row its true bit and clean padding."""
    _set_true_bits(rows, frozen(values), frozen(true_bits), padding)


@kernel
def _look_up(leading: Halves, table: Halves, flat: Bytes, places: Places) -> int:
    """Fill in the patterns; list the places that are open and count them."""
    count = 0
    for i in range(len(flat)):
        pattern = table[leading[i]]
        flat[i] = np.uint8(pattern)
        # Written each time and kept where it matters: no branch to mispredict.
        places[count] = i
        count += pattern >> 8
    return count


@kernel
def _set_true_bits(
    rows: Bytes, values: Integers, true_bits: npt.NDArray[np.bool_], padding: np.uint8
) -> None:
    last = rows.shape[1] - 1
    for j in range(len(rows)):
        rows[j, last] &= padding
        byte = values[j] >> 3
        bit = np.uint8(1 << (values[j] & 7))
        rows[j, byte] = (rows[j, byte] & ~bit) | (bit * true_bits[j])
