"""The law of a pure protocol: how many of n reports support an answer that k people gave.

They are Bin(k, p*) + Bin(n - k, q*), and the count is (support - n q*) / (p* - q*). What is
significant, what an interval holds and what a plan promises all follow from this one law.

An interval holds each k of which the support is in neither tail. Where the law at its end has a
variance of more than 100 the end is the score interval's with half a report for the continuity and
(z^2 - 1) / 6 times the skewness (Cornish and Fisher), else the exact end. Beyond 0 and n, where
there are no counts to accept, the law of 0 or n is shifted, so that an interval stays an interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.law.normal import Ends, Floats, NormalLaw, Variance, upper_normal
from deniable.law.sums import FEW, Chance, at_least, tail_of, upper_quantile

_MANY = 1e6
_BLOCK = 1 << 14


@dataclass(frozen=True)
class SupportLaw:
    """The law of the supports of one answer among n reports.

    >>> law = SupportLaw(1000, Fraction(1, 2), Fraction(1, 50))
    >>> round(law.threshold(0.05 / 1000), 2), round(law.power(73, 0.05 / 1000), 3)
    (38.54, 0.947)
    >>> lower, upper = law.interval(np.array([0.0]), 0.025)
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

    def threshold(self, tail: float) -> float:
        """Return the count that an answer nobody gave exceeds with probability at most ``tail``.

        It stands half a report above a count that can be, so that rounding decides nothing.
        """
        return (upper_quantile(self.n, self._q, tail) + 0.5 - self._mean) / self._gap

    def power(self, held: int, tail: float) -> float:
        """Return the probability that an answer of so many people exceeds ``threshold``."""
        least = upper_quantile(self.n, self._q, tail) + 1
        return tail_of(self.n, held, least, self._p, self._q)

    def interval(self, counts: Floats, tail: float) -> Ends:
        """Return the ends of the counts that each count is not in a tail of."""
        supports = np.rint(counts * self._gap + self._mean)
        inverse = _Inverse(self, tail)
        lower, upper = _by_value(supports, inverse.lower), _by_value(supports, inverse.upper)
        return np.minimum(lower, counts), np.maximum(upper, counts)

    def widened(self, extra: float) -> NormalLaw:
        """Return a law for counts that have this law and an independent error on top."""
        found = self.variance
        return NormalLaw(Variance(self.n, found.none + extra, found.slope))

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
        moved -= 0.5 + (z**2 - 1) / 6 * self._skewness(moved)
        moved /= law._gap
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
        if len(between):
            ends[between] = self._search(supports[between])
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
        while np.any(short := ~self._accepted(high, supports)):
            low = np.where(short, high, low)
            high = np.where(short, np.minimum(high + step, float(law.n)), high)
            step = 2 * step
        while np.any(high - low > 1):
            middle = np.floor((low + high) / 2)
            fits = self._accepted(middle, supports)
            low, high = np.where(fits, low, middle), np.where(fits, middle, high)
        return high

    def _accepted(self, held: Floats, supports: Floats) -> npt.NDArray[np.bool_]:
        law = self.law
        return at_least(law.n, held, supports, law._p, law._q) > self.tail


def _by_value(supports: Floats, end: Callable[[Floats], Floats]) -> Floats:
    """Return the end of each support; where many are equal, each is computed once."""
    low, high = (float(supports.min()), float(supports.max())) if len(supports) else (0.0, 0.0)
    if high - low >= len(supports):
        parts = [end(supports[i : i + _BLOCK]) for i in range(0, len(supports), _BLOCK)]
        return np.concatenate(parts)
    places = (supports - low).astype(np.int64)
    present = np.flatnonzero(np.bincount(places))
    ends = np.empty(int(high - low) + 1)
    ends[present] = end(present + low)
    return ends[places]
