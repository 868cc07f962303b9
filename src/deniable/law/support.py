"""The law of a pure protocol: how many of n reports support an answer that k people gave.

They are Bin(k, p*) + Bin(n - k, q*), and the count is (support - n q*) / (p* - q*). What is
significant, what an interval holds and what a plan promises all follow from this one law.

An interval holds every k for which the support is in neither tail. If the law at its end has a
variance of more than 100, the end is that of the score interval with half a report for the
continuity and (z^2 - 1) / 6 times the skewness (Cornish and Fisher), otherwise the exact one.
Beyond 0 and n, where there are no counts to accept, the law of 0 or n is shifted, so that an
interval stays an interval.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from deniable.law.binomial_sum import (
    FEW,
    MOST,
    Chance,
    at_least,
    last_true,
    tail_of,
    upper_quantile,
)
from deniable.law.normal import Ends, Floats, Law, Supports, Variance, upper_normal

_MOST_LIMITS = 16
_NEIGHBOURS = 128


@dataclass(frozen=True)
class SupportLaw(Law):
    """The law of the supports of one answer among n reports.

    >>> law = SupportLaw(1000, Fraction(1, 2), Fraction(1, 50))
    >>> law.limit(0.05 / 1000), round(law.threshold(0.05 / 1000), 2)
    (39, 40.62)
    >>> [round(law.exceeds(held, 39), 3) for held in (0, 40, 73)]
    [0.0, 0.47, 0.996]
    """

    n: int
    p: Fraction
    q: Fraction

    @cached_property
    def supported(self) -> Chance:
        """p*, with its complement."""
        return Chance(float(self.p), float(1 - self.p))

    @cached_property
    def by_chance(self) -> Chance:
        """q*, with its complement."""
        return Chance(float(self.q), float(1 - self.q))

    @cached_property
    def gap(self) -> float:
        """How many supports each further person with the answer adds, p* - q*."""
        return float(self.p - self.q)

    @cached_property
    def mean(self) -> float:
        """How many supports an answer that nobody gave has on average, n q*."""
        return float(self.n * self.q)

    @cached_property
    def variance(self) -> Variance:
        """The variance of a count.       [eq:absvar_exact]."""
        none = self.n * self.by_chance.variance / self.gap**2
        return Variance(self.n, none, float(1 - self.p - self.q) / self.gap)

    def limit(self, tail: float) -> int:
        """Return the supports that an answer nobody gave exceeds with at most ``tail``."""
        return upper_quantile(self.n, self.by_chance, tail)

    def exceeds(self, held: int, limit: int) -> float:
        return tail_of(self.n, held, limit + 1, self.supported, self.by_chance)

    def threshold(self, tail: float) -> float:
        """Return the threshold half a report above a possible count: rounding is harmless."""
        return (self.limit(tail) + 0.5 - self.mean) / self.gap

    def interval(self, counts: Floats, tail: float) -> Ends:
        supports, where = np.unique(np.rint(counts * self.gap + self.mean), return_inverse=True)
        lower = self._lower(supports, tail)
        # People without the answer hold its opposite, which the other reports support.
        opposite = SupportLaw(self.n, 1 - self.q, 1 - self.p)
        upper = self.n - opposite._lower(self.n - supports, tail)
        return np.minimum(lower[where], counts), np.maximum(upper[where], counts)

    def supports(self, counts: Floats) -> Supports:
        numbers = np.rint(counts * self.gap + self.mean).clip(0, self.n)
        return Supports(np.asarray(numbers, dtype=np.float64), self.gap)

    def people(self, share: float, tail: float, power: float) -> int:
        """Return the number of people that makes an answer of that share significant.

        While the limit stays the same, each further person only adds supports, so it is worst just
        after the limit rose. The search is for the last limit that fails, one that is too high for
        the first number of people that has it. The number who hold the answer is rounded up, so
        that a lower limit may pass and a higher one fail. Rounded down, limits fail up to some
        last one, and beyond that by as many limits as one person is worth, none fails rounded up
        either; from there the last that fails is near.
        """

        def fails(limit: int, rounded: Callable[[float], int]) -> bool:
            law = replace(self, n=self._first_with(limit, tail))
            return law.exceeds(min(rounded(share * law.n), law.n), limit) < power

        z, other = upper_normal(tail), upper_normal(1 - power)
        one = replace(self, n=1).variance
        spread = z * math.sqrt(one.none) + other * math.sqrt(max(one.none + one.slope * share, 0))
        guess = replace(self, n=math.ceil(min((spread / share) ** 2, MOST / 2))).limit(tail)
        limit = last_true(lambda i: fails(i, math.floor), guess)
        beyond = math.ceil(2 * self.by_chance.yes / share) + 2
        limit += beyond
        if beyond > _MOST_LIMITS:  # then one person is less than 2 % of those who hold it
            return self._first_with(limit, tail)
        while limit > 0 and not fails(limit, math.ceil):
            limit -= 1
        return self._first_above(limit, share, power, self._first_with(limit + 1, tail))

    def _first_with(self, limit: int, tail: float) -> int:
        """Return the least number of people with at least this limit, up to ``MOST``."""

        def lower(n: int) -> bool:
            return tail_of(n, 0, limit, self.by_chance, self.by_chance) <= tail

        return 1 + last_true(
            lower, math.ceil(min(limit / max(self.by_chance.yes, 1e-300), MOST / 2))
        )

    def _first_above(self, limit: int, share: float, power: float, end: int) -> int:
        """Return the least number of people, up to ``end``, that passes a limit."""

        def fails(n: int) -> bool:
            held = min(math.ceil(share * n), n)
            return n < end and replace(self, n=n).exceeds(held, limit) < power

        return 1 + last_true(fails, end - 1)

    def _lower(self, supports: Floats, tail: float) -> Floats:
        """Return the smallest counts for which the supports are not in the upper tail."""
        p, q, n = self.supported, self.by_chance, self.n
        ends = self._normal(supports, tail)
        held = np.clip(ends, 0, n)
        few = np.flatnonzero(held * p.variance + (n - held) * q.variance <= FEW)
        if len(few):
            ends[few] = self._exact(supports[few], tail)
        return ends

    def _normal(self, supports: Floats, tail: float) -> Floats:
        """Return the lower ends of score intervals, corrected for continuity and skewness."""
        p, q, z = self.supported, self.by_chance, upper_normal(tail)
        moved = supports - self.mean
        share = np.clip(moved / (self.gap * self.n), 0.0, 1.0)
        second = q.variance + share * (p.variance - q.variance)
        third = q.variance * (q.no - q.yes) * (1 - share) + p.variance * (p.no - p.yes) * share
        moved -= 0.5 + (z**2 - 1) / 6 * third / np.maximum(second, 1e-300)
        return self.variance.score_end(moved / self.gap, -z)

    def _exact(self, supports: Floats, tail: float) -> Floats:
        first = float(upper_quantile(self.n, self.by_chance, tail))
        last = float(upper_quantile(self.n, self.supported, tail))
        ends = np.where(supports <= first, 0.0, float(self.n))
        ends += (supports - np.where(supports <= first, first, last)) / self.gap
        between = np.flatnonzero((supports > first) & (supports <= last))
        # Neighbours have similar variances, which decide how many terms there are.
        for start in range(0, len(between), _NEIGHBOURS):
            rows = between[start : start + _NEIGHBOURS]
            ends[rows] = self._search(supports[rows], tail)
        return ends

    def _search(self, supports: Floats, tail: float) -> Floats:
        """Return the smallest k for which each support is not in the upper tail, by bisection."""

        def accepted(held: Floats, supports: Floats) -> np.typing.NDArray[np.bool_]:
            return at_least(n, held, supports, self.supported, self.by_chance) > tail

        n = float(self.n)
        guess = np.clip(np.ceil(self._normal(supports, tail)), 1, n)
        step = np.maximum(1.0, np.ceil(0.1 * (supports - self.mean) / self.gap - 0.1 * guess))
        low, high = np.maximum(guess - step, 0.0), np.minimum(guess + step, n)
        while np.any(short := accepted(low, supports) & (low > 0)):
            high = np.where(short, low, high)
            low, step = np.where(short, np.maximum(low - step, 0.0), low), 2 * step
        while np.any(short := ~accepted(high, supports) & (high < n)):
            low = np.where(short, high, low)
            high, step = np.where(short, np.minimum(high + step, n), high), 2 * step
        while len(rows := np.flatnonzero(high - low > 1)):
            middle = np.floor((low[rows] + high[rows]) / 2)
            fits = accepted(middle, supports[rows])
            high[rows[fits]], low[rows[~fits]] = middle[fits], middle[~fits]
        return np.asarray(high)
