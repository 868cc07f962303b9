"""The laws of a count: of a pure protocol, and of summed Laplace noise.

*Pure.* Bin(k, p*) + Bin(n - k, q*) of n reports support an answer that k people gave, and the count
is (support - n q*) / (p* - q*). What is significant, what an interval holds and what a plan
promises all follow from this one law.

An interval holds every k for which the support is in neither tail. If the law at its end has a
variance of more than 100, the end is that of the score interval with half a report for the
continuity and (z^2 - 1) / 6 times the skewness (Cornish and Fisher), otherwise the exact one.
Beyond 0 and n, where there are no counts to accept, the law of 0 or n is shifted, so that an
interval stays an interval.

*Laplace*, on the grid on which histograms are perturbed. Each of n people adds an independent noise
y, in steps of 1/16, with probability proportional to rho^|y|, rho = e^(-epsilon / 32): the
difference of two geometric variables. The weights actually drawn from differ from this by less than
2^-40 in all, and have no heavier tail. The noise of people who hold the answer is mirrored, which
changes nothing: the law is the same for every true count.

The sum is X - Y, two negative binomials. For up to 8 people it is summed term by term, exactly. For
more the saddle point (Lugannani and Rice) is within 1 % of it, and on the safe side below 0.1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from deniable.law import binomial_sum
from deniable.law.normal import Ends, Floats, Law, Supports, Variance, lugannani_rice, upper_normal

_MOST_LIMITS = 16
_NEIGHBOURS = 128


@dataclass(frozen=True)
class SupportLaw(Law):
    """The law of the supports of one answer among n reports."""

    n: int
    p: Fraction
    q: Fraction

    @cached_property
    def supported(self) -> binomial_sum.Chance:
        """p*, with its complement."""
        return binomial_sum.Chance(float(self.p), float(1 - self.p))

    @cached_property
    def by_chance(self) -> binomial_sum.Chance:
        """q*, with its complement."""
        return binomial_sum.Chance(float(self.q), float(1 - self.q))

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
        return binomial_sum.upper_quantile(self.n, self.by_chance, tail)

    def exceeds(self, held: int, limit: int) -> float:
        return binomial_sum.tail_of(self.n, held, limit + 1, self.supported, self.by_chance)

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
        guess = replace(self, n=math.ceil(min((spread / share) ** 2, binomial_sum.MOST / 2))).limit(
            tail
        )
        limit = binomial_sum.last_true(lambda i: fails(i, math.floor), guess)
        beyond = math.ceil(2 * self.by_chance.yes / share) + 2
        limit += beyond
        if beyond > _MOST_LIMITS:  # then one person is less than 2 % of those who hold it
            return self._first_with(limit, tail)
        while limit > 0 and not fails(limit, math.ceil):
            limit -= 1
        end = self._first_with(limit + 1, tail)

        def too_few(n: int) -> bool:
            held = min(math.ceil(share * n), n)
            return n < end and replace(self, n=n).exceeds(held, limit) < power

        return 1 + binomial_sum.last_true(too_few, end - 1)

    def _first_with(self, limit: int, tail: float) -> int:
        """Return the least number of people with at least this limit, up to ``MOST``."""

        def lower(n: int) -> bool:
            return binomial_sum.tail_of(n, 0, limit, self.by_chance, self.by_chance) <= tail

        return 1 + binomial_sum.last_true(
            lower, math.ceil(min(limit / max(self.by_chance.yes, 1e-300), binomial_sum.MOST / 2))
        )

    def _lower(self, supports: Floats, tail: float) -> Floats:
        """Return the smallest counts for which the supports are not in the upper tail."""
        p, q, n = self.supported, self.by_chance, self.n
        ends = self._normal(supports, tail)
        held = np.clip(ends, 0, n)
        few = np.flatnonzero(held * p.variance + (n - held) * q.variance <= binomial_sum.FEW)
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
        first = float(self.limit(tail))
        last = float(binomial_sum.upper_quantile(self.n, self.supported, tail))
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
            return binomial_sum.at_least(n, held, supports, self.supported, self.by_chance) > tail

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


UNIT = 16
"""Grid steps per person. The grid lowers the variance by 1 / (6 * 16^2), which nobody notices."""
_FEW_NOISES, _DEEPEST_NOISE = 8, 120.0


@dataclass(frozen=True)
class LaplaceLaw(Law):
    """The law of a count that is a sum of ``n`` noises."""

    n: int
    epsilon: float

    def interval(self, counts: Floats, tail: float) -> Ends:
        half = self.limit(tail) / UNIT
        return counts - half, counts + half

    def limit(self, tail: float) -> int:
        """Return the least number of steps that the noise exceeds with at most ``tail``."""
        guess = math.ceil(upper_normal(tail) * math.sqrt(self.n * self._size))
        return binomial_sum.last_true(lambda steps: self._tail(steps) > tail, guess)

    def exceeds(self, held: int, limit: int) -> float:
        return self._tail(limit + 1 - UNIT * held)

    def threshold(self, tail: float) -> float:
        """Return the threshold half a step above a possible count, so that rounding is harmless."""
        return (self.limit(tail) + 0.5) / UNIT

    def people(self, share: float, tail: float, power: float) -> int:
        """Return the number of people that makes an answer of that share significant.

        While the same number holds it, each further person only adds noise. So it is worst just
        before one more holds it, among floor(held / share) people.
        """

        def fails(held: int) -> bool:
            law = replace(self, n=max(held, math.floor(held / share)))
            return law.exceeds(held, law.limit(tail)) < power

        most = binomial_sum.last_true(fails, 1)
        return max(1, math.floor(most / share) + 1)

    @cached_property
    def _terms(self) -> tuple[Floats, Floats]:
        """The probabilities of X = 0, 1, 2, ..., and those of as many or more."""
        n, step = self.n, self.epsilon / (2 * UNIT)
        longest = math.ceil((n + 8 * math.sqrt(n) + _DEEPEST_NOISE) / step)
        x = np.arange(longest + 1.0)
        logs = n * math.log(-math.expm1(-step)) - step * x
        for i in range(1, n):
            logs += np.log1p(x / i)
        terms = np.exp(logs)
        return terms, np.cumsum(terms[::-1])[::-1]

    def _tail(self, s: float) -> float:
        """Return the probability of a sum of s steps or more; the law is symmetric."""
        if s <= 0:
            return 1 - self._tail(1 - s)
        if self.n <= _FEW_NOISES:
            terms, tails = self._terms
            start = math.ceil(s)
            return float(terms[: max(len(terms) - start, 0)] @ tails[start:])
        return self._saddle_point(self._tilt(s / self.n))

    def _tilt(self, mean: float) -> float:
        """Return the t that gives the tilted noise this mean: a quadratic equation in e^t."""
        size = self._size
        root = math.sqrt(mean**2 * (1 + 2 * size) + size**2)
        # e^t - 1 is (mean + root - size) / (size (1 + mean)), here without the cancellation.
        above = mean + mean**2 * (1 + 2 * size) / (root + size)
        return math.log1p(above / (size * (1 + mean)))

    @cached_property
    def _size(self) -> float:
        """The variance of one noise, in steps."""
        step = self.epsilon / (2 * UNIT)
        return 2 * math.exp(-step) / math.expm1(-step) ** 2

    def _saddle_point(self, t: float) -> float:
        """Return the tail that begins at the sum with tilt t.

        The cumulants of one noise are those of -ln(1 - c) with c = size (cosh t - 1).
        """
        c = 2 * self._size * math.sinh(t / 2) ** 2
        first = self._size * math.sinh(t) / (1 - c)
        second = self._size * math.cosh(t) / (1 - c) + first**2
        exponent = self.n * (t * first + math.log1p(-c))
        return lugannani_rice(exponent, -math.expm1(-t) * math.sqrt(self.n * second))
