"""The law of a pure protocol: how many of n reports support an answer that k people gave.

They are Bin(k, p*) + Bin(n - k, q*), and the count is (support - n q*) / (p* - q*). What is
significant, what an interval holds and what a plan promises all follow from this one law.

An interval holds each k of which the support is in neither tail. Where the law at its end has a
variance of more than 100 the end is the score interval's with half a report for the continuity and
(z^2 - 1) / 6 times the skewness (Cornish and Fisher), else the exact end. Beyond 0 and n, where
there are no counts to accept, the law of 0 or n is shifted, so that an interval stays an interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.law.normal import Ends, Floats, Variance, upper_normal
from deniable.law.search import MOST, last_true
from deniable.law.sums import FEW, Chance, at_least, tail_of, upper_quantile

_MANY = 1e6
_BLOCK = 1 << 14
_NEIGHBOURS = 128
_MOST_LIMITS = 16


@dataclass(frozen=True)
class SupportLaw:
    """The law of the supports of one answer among n reports.

    >>> law = SupportLaw(1000, Fraction(1, 2), Fraction(1, 50))
    >>> law.limit(0.05 / 1000), round(law.threshold(0.05 / 1000), 2)
    (39, 40.62)
    >>> [round(law.exceeds(held, 39), 3) for held in (0, 40, 73)]
    [0.0, 0.492, 0.996]
    """

    n: int
    p: Fraction
    q: Fraction

    @cached_property
    def _p(self) -> Chance:
        return Chance(float(self.p), float(1 - self.p))

    @cached_property
    def _q(self) -> Chance:
        return Chance(float(self.q), float(1 - self.q))

    @cached_property
    def _gap(self) -> float:
        return float(self.p - self.q)

    @cached_property
    def _mean(self) -> float:
        return float(self.n * self.q)

    @cached_property
    def variance(self) -> Variance:
        """The variance of a count.       [eq:absvar_exact]."""
        none = self.n * self._q.variance / self._gap**2
        return Variance(self.n, none, float(1 - self.p - self.q) / self._gap)

    def limit(self, tail: float) -> int:
        """Return the supports that an answer nobody gave exceeds with at most ``tail``."""
        return upper_quantile(self.n, self._q, tail)

    def exceeds(self, held: int, limit: int) -> float:
        """Return the probability that an answer of so many people has more supports."""
        return tail_of(self.n, held, limit + 1, self._p, self._q)

    def threshold(self, tail: float) -> float:
        """Return the count that an answer nobody gave exceeds with probability at most ``tail``.

        It stands half a report above a count that can be, so that rounding decides nothing.
        """
        return (self.limit(tail) + 0.5 - self._mean) / self._gap

    def interval(self, counts: Floats, tail: float) -> Ends:
        """Return the ends of the counts that each count is not in a tail of."""
        supports = np.asarray(np.rint(counts * self._gap + self._mean), dtype=np.float64)
        inverse = _Inverse(self, tail)
        lower, upper = _by_value(supports, inverse.lower), _by_value(supports, inverse.upper)
        return np.minimum(lower, counts), np.maximum(upper, counts)

    def people(self, share: float, tail: float, power: float) -> int:
        """Return the number of people from which on an answer of that share is significant.

        While the limit stays, each person more only adds supports: it is worst just after the
        limit rose. So the last limit is looked for that is too high for the first number of
        people that has it. The share of them that holds the answer is rounded up, which may let
        a lower limit pass and a higher one fail: rounded down, and so many limits more as one
        person is worth, none fails any more, and from there the last that fails is near.
        """

        def fails(limit: int, rounded: Callable[[float], int]) -> bool:
            law = replace(self, n=self._first_with(limit, tail))
            return law.exceeds(min(rounded(share * law.n), law.n), limit) < power

        z, other = upper_normal(tail), upper_normal(1 - power)
        one = replace(self, n=1).variance
        spread = z * math.sqrt(one.none) + other * math.sqrt(max(one.none + one.slope * share, 0))
        guess = replace(self, n=math.ceil(min((spread / share) ** 2, MOST / 2))).limit(tail)
        limit = last_true(lambda i: fails(i, math.floor), guess)
        beyond = math.ceil(2 * self._q.yes / share) + 2
        limit += beyond
        if beyond > _MOST_LIMITS:  # then one person is less than 2 % of those who hold it
            return self._first_with(limit, tail)
        while limit > 0 and not fails(limit, math.ceil):
            limit -= 1
        return self._first_above(limit, share, power, self._first_with(limit + 1, tail))

    def _first_with(self, limit: int, tail: float) -> int:
        """Return the least number of people whose limit is as high, at most ``MOST``."""

        def lower(n: int) -> bool:
            return tail_of(n, 0, limit, self._q, self._q) <= tail

        return 1 + last_true(lower, math.ceil(min(limit / max(self._q.yes, 1e-300), MOST / 2)))

    def _first_above(self, limit: int, share: float, power: float, end: int) -> int:
        """Return the least number of people, at most ``end``, that passes a limit."""

        def fails(n: int) -> bool:
            held = min(math.ceil(share * n), n)
            return n < end and replace(self, n=n).exceeds(held, limit) < power

        return 1 + last_true(fails, end - 1)

    def flipped(self) -> SupportLaw:
        """Return the law of the reports that do not support an answer, of those without it."""
        return SupportLaw(self.n, 1 - self.q, 1 - self.p)


@dataclass(frozen=True)
class _Inverse:
    """The end of an interval as a function of the support."""

    law: SupportLaw
    tail: float

    def upper(self, supports: Floats) -> Floats:
        """Return the largest counts that the supports are not too small for.

        Who do not hold the answer are those who hold its opposite, which the others support.
        """
        mirrored = _Inverse(self.law.flipped(), self.tail)
        return self.law.n - mirrored.lower(self.law.n - supports)

    def lower(self, supports: Floats) -> Floats:
        """Return the smallest counts that the supports are not too large for."""
        law = self.law
        ends = self._normal(supports)
        if min(law._p.variance, law._q.variance) * law.n > FEW:
            return ends
        held = np.clip(ends, 0, law.n)
        few = np.flatnonzero(held * law._p.variance + (law.n - held) * law._q.variance <= FEW)
        if len(few):
            values, where = np.unique(supports[few], return_inverse=True)
            ends[few] = self._exact(values)[where]
        return ends

    def _normal(self, supports: Floats) -> Floats:
        law, z = self.law, upper_normal(self.tail)
        moved = supports - law._mean
        moved = moved - 0.5 - (z**2 - 1) / 6 * self._skewness(moved)
        moved = moved / law._gap
        return law.variance.score_end(moved, -z)

    def _skewness(self, excess: Floats) -> Floats | float:
        """Return the ratios of the third to the second cumulants of the supports."""
        law, p, q = self.law, self.law._p, self.law._q
        if min(p.variance, q.variance) * law.n > _MANY:
            return q.no - q.yes  # any value would do: it is at most 1, against 1000
        share = np.clip(excess / (law._gap * law.n), 0.0, 1.0)
        second = q.variance + share * (p.variance - q.variance)
        third = q.variance * (q.no - q.yes) * (1 - share) + p.variance * (p.no - p.yes) * share
        return np.asarray(third / np.maximum(second, 1e-300))

    def _exact(self, supports: Floats) -> Floats:
        law = self.law
        first = float(upper_quantile(law.n, law._q, self.tail))
        last = float(upper_quantile(law.n, law._p, self.tail))
        ends = np.where(supports <= first, 0.0, float(law.n))
        ends += (supports - np.where(supports <= first, first, last)) / law._gap
        between = np.flatnonzero((supports > first) & (supports <= last))
        # Neighbours have like variances, which decide how many terms there are.
        for start in range(0, len(between), _NEIGHBOURS):
            rows = between[start : start + _NEIGHBOURS]
            ends[rows] = self._search(supports[rows])
        return ends

    def _search(self, supports: Floats) -> Floats:
        """Return the smallest k of which each support is not in the upper tail, by bisection."""
        law = self.law
        guess = np.clip(np.ceil(self._normal(supports)), 1, law.n)
        step = np.maximum(1.0, np.ceil(0.1 * (supports - law._mean) / law._gap - 0.1 * guess))
        low, high = np.maximum(guess - step, 0.0), np.minimum(guess + step, float(law.n))
        while np.any(short := self._accepted(low, supports) & (low > 0)):
            high = np.where(short, low, high)
            low, step = np.where(short, np.maximum(low - step, 0.0), low), 2 * step
        while np.any(short := ~self._accepted(high, supports) & (high < law.n)):
            low = np.where(short, high, low)
            high = np.where(short, np.minimum(high + step, float(law.n)), high)
            step = 2 * step
        while len(rows := np.flatnonzero(high - low > 1)):
            middle = np.floor((low[rows] + high[rows]) / 2)
            fits = self._accepted(middle, supports[rows])
            high[rows[fits]], low[rows[~fits]] = middle[fits], middle[~fits]
        return np.asarray(high)

    def _accepted(self, held: Floats, supports: Floats) -> npt.NDArray[np.bool_]:
        law = self.law
        return at_least(law.n, held, supports, law._p, law._q) > self.tail


def _by_value(supports: Floats, end: Callable[[Floats], Floats]) -> Floats:
    """Return the end of each support; where many are equal, each is computed once."""
    if len(supports) == 0:
        return supports
    low, high = float(supports.min()), float(supports.max())
    if high - low >= len(supports):
        parts = [end(supports[i : i + _BLOCK]) for i in range(0, len(supports), _BLOCK)]
        return np.concatenate(parts)
    places = (supports - low).astype(np.int64)
    present = np.flatnonzero(np.bincount(places))
    ends = np.empty(int(high - low) + 1)
    ends[present] = end(present.astype(np.float64) + low)
    return np.asarray(ends[places])
