"""Two values at once: how often a report supports both, and so the variance of any sum of counts.

A report of the value x supports another value i with probability q*, and its own with p*. Let a be
the probability that it supports x and i, and b that it supports two others, i and j. Then for any
coefficients c with sum S and sum of squares Q, the square of the sum of c over what is supported is

    q Q + b (S^2 - Q) + 2 (a - b) S c_x + (p - q - 2 a + 2 b) c_x^2

on average, and its mean is q S + (p - q) c_x. Everything else here follows from these two. They
hold exactly where a and b are the same for all values, as in direct, unary and threshold encoding
and in subset selection; for windows of one digit they hold on average over the values, which is
all that is known of tables (``deniable.law.tables``) and of more than a billion sums.

Reports that are lines among g^t points support two values more often where these are in line with
the true one. There the mean square is summed over all reports r instead. Each has the probability
w1 where it supports the true value and w0 where it does not. With c(r) and f(r), the sums of the
coefficients and of the true shares over what r supports, the mean square is

    sum over r of c(r)^2 (w0 + (w1 - w0) f(r))

and all c(r) are found by shearing tables of points (``deniable.kernels.linear``), or with one digit
of a prime field as runs of the points in the order of multiples.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from deniable.kernels.fields import field
from deniable.kernels.linear import line_sums
from deniable.law.normal import Floats, Law, nearest_shares

_MOST_CELLS = 1 << 22
"""How many sums over lines are held at once."""
_MOST_WORK = 1 << 30
"""How many sums are made to know variances exactly: a few seconds of them."""


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

    def law(self, coefficients: Floats, errors: Floats, null: float) -> Law | None:
        """Return the law of sums with these errors, where they alone do not make it."""
        del coefficients, errors, null
        return None


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


@dataclass(frozen=True, eq=False)
class LinesOf(Joint):
    """Reports of ``n`` people that are a line each, or ``window`` parallel ones, of g^t points.

    ``counts`` are those of all values, which are put in for the true ones; ``rows`` the values
    that sums are of, if not all.
    """

    n: int
    p: float
    q: float
    g: int
    digits: int
    window: int | None
    counts: Floats
    rows: np.typing.NDArray[np.int64] | None = None
    average: Joint | None = None
    """What holds on average over the values, where there are too many sums over reports."""

    def take(self, rows: np.typing.NDArray[np.int64]) -> "LinesOf":
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def variance(self, coefficients: Floats, counts: Floats) -> Floats:
        size = self.g**self.digits
        if self.average is not None and len(coefficients) * self._work > _MOST_WORK:
            return self.average.variance(coefficients, counts)
        shares = np.zeros((1, size))
        shares[0, : len(self.counts)] = nearest_shares(self.counts / self.n)
        every = np.zeros((len(coefficients), size))
        every[:, slice(len(self.counts)) if self.rows is None else self.rows] = coefficients
        held, step = self._line_sums(shares), max(1, _MOST_CELLS // (2 * size))
        starts = range(0, len(every), step)
        squares = [self._mean_squares(every[i : i + step], held) for i in starts]
        gap, total = self.p - self.q, every.sum(axis=1)
        means = 2 * self.q * gap * total * (every @ shares[0]) + gap**2 * (every**2 @ shares[0])
        spread = np.concatenate([np.zeros(0), *squares]) - means - (self.q * total) ** 2
        return np.asarray(np.maximum(self.n * spread / gap**2, 0.0))

    @property
    def _work(self) -> int:
        """How many sums a row takes: few by windows over a prime field, more by other tables."""
        if self.digits > 1:
            return 0
        return self.g**2 if field(self.g).characteristic == self.g else self.g**3 // 16

    def _line_sums(self, tables: Floats) -> Floats:
        return line_sums(tables, field(self.g), self.digits).reshape(len(tables), -1, self.g)

    def _mean_squares(self, tables: Floats, held: Floats) -> Floats:
        g, m, functions = self.g, self.window or 1, self.g**self.digits - 1
        # Functions that are zero support all values or none; those of windows never are.
        zero = self.window is None
        w1 = self.p / (m * (functions + zero))
        w0 = (1 - self.p) / ((g - m) * (functions + zero))
        lines = self._line_sums(tables)
        if m == 1:
            found = (g - 1) * (lines**2 * (w0 + (w1 - w0) * held)).sum(axis=(1, 2))
            return np.asarray(found + zero * w1 * tables.sum(axis=1) ** 2)
        found, places = np.zeros(len(tables)), field(g)
        if self.digits == 1 and places.characteristic == g > 2:
            # Windows go around, and those of u and of -u are the same sets.
            for multiple in range(1, (g + 1) // 2):
                index = np.arange(g + m) * multiple % g
                own, shares = (_runs(each[:, index], m) for each in (tables, held[:, 0]))
                found += 2 * (own**2) @ (w0 + (w1 - w0) * shares[0])
            return found
        for multiple in range(1, g):
            kept = (places.sums[places.products[multiple]] < m).astype(np.float64)
            found += ((lines @ kept) ** 2 * (w0 + (w1 - w0) * (held @ kept))).sum(axis=(1, 2))
        return found


def _runs(tables: Floats, length: int) -> Floats:
    """Return the sums of all runs of cells of a length."""
    sums = np.cumsum(tables, axis=1)
    return np.asarray(sums[:, length:] - sums[:, :-length])


@dataclass(frozen=True)
class Apart(Joint):
    """Counts whose errors are independent, each with the same variance."""

    each: float

    def variance(self, coefficients: Floats, counts: Floats) -> Floats:
        del counts
        return np.asarray(self.each * (coefficients * coefficients).sum(axis=-1))
