"""Two values at once: how often a report supports both, and so the variance of any sum of counts.

A report of the value x supports another value i with probability q*, and its own with p*. Let a be
the probability that it supports x and i, and b that it supports two others, i and j. Then for any
coefficients c with sum S and sum of squares Q, the square of the sum of c over what is supported is

    q Q + b (S^2 - Q) + 2 (a - b) S c_x + (p - q - 2 a + 2 b) c_x^2

on average, and its mean is q S + (p - q) c_x. Everything else here follows from these two. They
hold exactly where a and b are the same for all values, as in direct, unary and threshold encoding
and in subset selection; for hash functions and windows they hold on average over the values.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from deniable.law.normal import Floats


class Joint(Protocol):
    """What sums of counts ask: the variance of any of them."""

    def variance(self, coefficients: Floats, counts: Floats) -> Floats:
        """Return the variance of each row of coefficients times the counts.

        ``counts`` are put in for the true ones.
        """

    def take(self, rows: np.typing.NDArray[np.int64]) -> "Joint":
        """Return the same for some of the counts; most laws are alike for all of them."""
        del rows
        return self


@dataclass(frozen=True)
class Pairs:
    """p*, q* and the probabilities a and b that two values are supported at once."""

    p: Fraction
    q: Fraction
    a: Fraction
    b: Fraction

    @classmethod
    def independent(cls, p: Fraction, q: Fraction) -> Self:
        """Return the pairs of reports that support each value by itself."""
        return cls(p, q, p * q, q * q)

    @classmethod
    def selection(cls, p: Fraction, q: Fraction, kept: int, points: int) -> Self:
        """Return the pairs of reports that support ``kept`` of all points, all sets alike."""
        a = p * Fraction(kept - 1, points - 1)
        if points == 2:
            return cls(p, q, a, Fraction(0))
        both = p * (kept - 1) * (kept - 2) + (1 - p) * kept * (kept - 1)
        return cls(p, q, a, both / ((points - 1) * (points - 2)))

    @cached_property
    def _square(self) -> Fraction:
        return (self.p - self.q) ** 2

    @cached_property
    def contrast(self) -> tuple[float, float]:
        """A and B: a sum with S = 0 has the variance A Q + B E[c_x^2] - E[c_x]^2 over n people."""
        slope = self.p - self.q - 2 * (self.a - self.b)
        return float((self.q - self.b) / self._square), float(slope / self._square)

    def drawn(self, coefficients: Floats, shares: Floats) -> Floats:
        """Return n times the variance of sums of shares, of n people drawn from a population.

        Rows of coefficients are centred, since shares add up to 1.
        """
        a, b = self.contrast
        c = coefficients - coefficients.mean(axis=-1, keepdims=True)
        spread = a * (c * c).sum(axis=-1) + b * (c * c) @ shares - (c @ shares) ** 2
        return np.asarray(np.maximum(spread, 0.0))

    def held(self, coefficients: Floats, counts: Floats, n: int) -> Floats:
        """Return the variance of sums of the counts of n people, whoever they are."""
        c, gap = coefficients, self.p - self.q
        total, squares = c.sum(axis=-1), (c * c).sum(axis=-1)
        always = float((self.q - self.b) / self._square) * squares
        always += float((self.b - self.q**2) / self._square) * total**2
        once = float(2 * (self.a - self.b - self.q * gap) / self._square) * total
        twice = float((gap - 2 * (self.a - self.b) - gap**2) / self._square)
        variance = n * always + once * (c @ counts) + twice * ((c * c) @ counts)
        return np.asarray(np.maximum(variance, 0.0))


@dataclass(frozen=True)
class PairsOf(Joint):
    """The pairs of the reports of ``n`` people."""

    n: int
    pairs: Pairs

    def variance(self, coefficients: Floats, counts: Floats) -> Floats:
        inside = np.clip(counts, 0, self.n)
        # Counts of all answers may exceed n together; no more people than there are hold any.
        scale = self.n / max(float(inside.sum()), self.n)
        return self.pairs.held(coefficients, inside * scale, self.n)


@dataclass(frozen=True)
class Apart(Joint):
    """Counts whose errors are independent, each with the same variance."""

    each: float

    def variance(self, coefficients: Floats, counts: Floats) -> Floats:
        del counts
        return np.asarray(self.each * (coefficients * coefficients).sum(axis=-1))
