"""The permanent response of both RAPPORs: each bit is kept with probability 1 - f/2."""

from __future__ import annotations

import math
from fractions import Fraction

from deniable.randomness import WORD, Weights, exponential_bounds, log_above


def permanent_weights(f: float) -> Weights:
    """Return the weights of 1 - f/2, rounded down, and f/2, rounded up; they add up to 2^64."""
    q = math.ceil(Fraction(f) / 2 * WORD)
    return Weights(WORD - q, q)


def permanent_epsilon(f: float, hashes: int) -> float:
    """Return 2 hashes ln((1 - f/2) / (f/2)), rounded up.

    >>> round(permanent_epsilon(0.5, 2), 2), round(permanent_epsilon(0.25, 2), 2)
    (4.39, 7.78)
    """
    return log_above((2 / Fraction(f) - 1) ** (2 * hashes))


def permanent_f(epsilon: float, hashes: int) -> float:
    """Return the smallest float f that spends at most ``epsilon``: 2 / (e^(eps / 2 hashes) + 1)."""
    low, _ = exponential_bounds(Fraction(epsilon) / (2 * hashes))
    exact = 2 / (low + 1)
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, 1.0)
