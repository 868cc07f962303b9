"""The law that subset selection and affine selection share: one of ``size`` places is drawn.

The first ``kept`` places have the weight w1 each and the others w0, as integers over 2^64:
w0 = floor(2^64 / (kept E + size - kept)) and w1 = floor(E w0) with E the lower bound of e^eps. They
add up to L = kept w1 + (size - kept) w0 <= 2^64, and words at or above L are drawn again, because
for most sizes no weights with w1 / w0 <= e^eps add up to 2^64. Where w0 would be 0, beyond epsilon
44 less ln(kept), it is 1, and w1 = floor((2^64 - size + kept) / kept).

A report that supports k of v points, and the true one with probability p*, supports any other with
q* = (k - p*) / (v - 1) if all others are alike, because p* + (v - 1) q* = k are supported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter
from deniable.protocol import Parameters
from deniable.randomness import WORD, Uniform, Words, exponential_bounds

Integers = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

_LEAST_RISE = 1e-100
"""An epsilon far below what 64 bits can express, whose square is not yet zero."""


@dataclass(frozen=True)
class Places:
    """``size`` places, of which the first ``kept`` are drawn with the larger weight."""

    size: int
    kept: int
    inside: int
    outside: int

    @property
    def limit(self) -> int:
        """L, the sum of all weights."""
        return self.kept * self.inside + (self.size - self.kept) * self.outside

    @property
    def worst_ratio(self) -> Fraction:
        """By how much the weights of two places differ."""
        return Fraction(self.inside, self.outside)

    def words_after(self, first: Uniform) -> Words:
        """Return the words of a report: one for a uniform integer, and one for the place."""
        limit = {1: self.limit} if self.limit < WORD else {}
        return Words(2, {**first.limits, **limit})

    def draw(self, words: Integers) -> Integers:
        """Return the place of each word below L.

        Both cases are computed for every word, so that the work tells nothing.
        """
        edge = np.uint64(self.kept * self.inside)
        outside = words >= edge
        near = words // np.uint64(self.inside)
        far = np.uint64(self.kept) + (words - edge) // np.uint64(self.outside)
        return near * ~outside + far * outside

    def parameters(self, supported: int, points: int) -> Parameters:
        """Return p* and q* of reports that support so many of all points."""
        p = Fraction(self.kept * self.inside, self.limit)
        return Parameters(p, (supported - p) / (points - 1))

    def document(self) -> dict[str, object]:
        """Return the weights as a specification has them."""
        return {"weights": {"inside": str(self.inside), "outside": str(self.outside)}}


def places(epsilon: float, size: int, kept: int) -> Places:
    """Return the places with the weights of an epsilon, rounded so that it is not exceeded.

    >>> found = places(1.0, 9, 3)
    >>> found.limit <= 2**64, round(found.inside / found.outside, 12)
    (True, 2.718281828459)
    """
    low, _ = exponential_bounds(epsilon)
    outside = math.floor(WORD / (kept * low + size - kept)) or 1
    inside = min(math.floor(low * outside), (WORD - (size - kept) * outside) // kept)
    if inside <= outside:
        raise InvalidParameter.expected(
            f"an epsilon that 64-bit probabilities can express over {size} places",
            epsilon,
            "use a larger epsilon",
            came=f"{epsilon!r}: the true answer would be no likelier than any other",
        )
    return Places(size, kept, inside, outside)


def selection_variance(
    epsilon: float, part: Floats | float, points: Floats | float, share: float
) -> Floats | float:
    """Return the variance of reports that support a ``part`` of all points, as floats.

    With k = part v, p* = k E / (k E + v - k) and q* = (k - p*) / (v - 1) this is the variance
    [eq:absvar_exact] at a share, for one person; at 1/d it is the mean over all values.
    """
    power = math.exp(epsilon)
    p = part * power / (part * power + 1 - part)
    q = (part * points - p) / (points - 1)
    # p - q without the subtraction of numbers that are nearly equal at a small epsilon.
    rise = max(math.expm1(epsilon), _LEAST_RISE)
    gap = part * (1 - part) * rise / (part * power + 1 - part) * points / (points - 1)
    return q * (1 - q) / gap**2 + share * (1 - p - q) / gap
