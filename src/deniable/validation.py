"""Checks that every protocol makes of its parameters."""

from __future__ import annotations

import operator

import numpy as np

from deniable.errors import InvalidParameter

_MAX_EPSILON = 100.0
_MAX_DOMAIN = (1 << 31) - 1


def check_epsilon(epsilon: object) -> float:
    """Return epsilon as a float, or say what is wrong with it."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.floating | np.integer):
        raise InvalidParameter(
            f"expected epsilon as a number, got {epsilon!r}; 1 or 2 is usual", value=epsilon
        )
    result = float(epsilon)
    if not 0 < result <= _MAX_EPSILON:
        raise InvalidParameter(
            f"expected epsilon above 0 and at most {_MAX_EPSILON:g}, got {result!r}; "
            "1 or 2 is usual, and beyond 20 a report hides next to nothing",
            value=epsilon,
        )
    return result


def check_domain_size(domain_size: object) -> int:
    """Return the domain size as an int, or say what is wrong with it."""
    try:
        result = operator.index(domain_size)  # type: ignore[arg-type]  # the point of the try
    except TypeError:
        result = 0
    if isinstance(domain_size, bool | np.bool_) or not 2 <= result <= _MAX_DOMAIN:
        raise InvalidParameter(
            f"expected a whole number of values from 2 to {_MAX_DOMAIN}, got {domain_size!r}; "
            "a question needs at least two answers",
            value=domain_size,
        )
    return result


def smallest_unsigned(largest: int) -> np.dtype[np.unsignedinteger]:
    """Return the narrowest little-endian unsigned type that holds ``largest``.

    >>> smallest_unsigned(255), smallest_unsigned(256)
    (dtype('uint8'), dtype('uint16'))
    """
    for code in ("<u1", "<u2", "<u4"):
        if largest < 1 << (8 * np.dtype(code).itemsize):
            return np.dtype(code)
    return np.dtype("<u8")
