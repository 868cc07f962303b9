"""The multiply-shift hash in NumPy: what a client evaluates on its own answer.

A 64-bit key is x = x_hi 2^32 + x_lo. A report names a hash function by three 64-bit words:

    h(x) = (a1 x_lo + a2 x_hi + b) mod 2^64,    H(x) = floor((h(x) >> 32) g / 2^32)

so that H(x) = y exactly when h(x) lies in an interval that depends on y and g alone.
All functions need 2 <= g < 2^32.
"""

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Unsigned = npt.NDArray[np.unsignedinteger[npt.NBitBase]]

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFF_FFFF)


def hash_keys(a1: Words, a2: Words, b: Words, keys: Words, g: int) -> Words:
    """Return H(x) for each row: key i hashed by the function (a1[i], a2[i], b[i])."""
    h = a1 * (keys & _LOW) + a2 * (keys >> _HALF) + b
    return ((h >> _HALF) * np.uint64(g)) >> _HALF


def preimage(y: Unsigned, g: int) -> tuple[Words, Words]:
    """Return (low, width) such that H(x) = y if and only if (h(x) - low) mod 2^64 < width."""
    # floor(t g / 2^32) = y iff ceil(y 2^32 / g) <= t < ceil((y + 1) 2^32 / g), and g < 2^32
    # keeps every numerator below 2^64.
    numerator = y.astype(np.uint64) << _HALF
    first = _ceil_divide(numerator, g)
    beyond = _ceil_divide(numerator + np.uint64(1 << 32), g)
    return first << _HALF, (beyond - first) << _HALF


def _ceil_divide(numerator: Words, g: int) -> Words:
    return (numerator + np.uint64(g - 1)) // np.uint64(g)
