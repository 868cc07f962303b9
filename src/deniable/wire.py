"""Whole numbers on the wire: the narrowest types that hold them, and sums that never wrap."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Unsigned = np.dtype[np.unsignedinteger]


def smallest_unsigned(largest: int) -> Unsigned:
    """Return the narrowest little-endian unsigned type that holds ``largest``.

    >>> smallest_unsigned(255), smallest_unsigned(256)
    (dtype('uint8'), dtype('uint16'))
    """
    for code in ("<u1", "<u2", "<u4"):
        if largest < 1 << (8 * np.dtype(code).itemsize):
            return np.dtype(code)
    return np.dtype("<u8")


def exact_sum(values: npt.NDArray[np.int64]) -> int:
    """Return the sum of integers, where that of 64 bits would wrap.

    >>> exact_sum(np.array([2**62, 2**62, 2**62]))
    13835058055282163712
    """
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
