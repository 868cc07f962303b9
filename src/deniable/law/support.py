"""The law of a pure protocol: how many of n reports support an answer that k people gave.

They are Bin(k, p*) + Bin(n - k, q*), and the count is (support - n q*) / (p* - q*). What is
significant, what an interval holds and what a plan promises all follow from this one law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from deniable.law.inversion import Inverse, by_value
from deniable.law.normal import Ends, Floats, Variance, upper_normal
from deniable.law.search import MOST, last_true
from deniable.law.sums import Chance, tail_of, upper_quantile

_MOST_LIMITS = 16


@dataclass(frozen=True)
class SupportLaw:
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
        """How many supports one more person who holds the answer adds, p* - q*."""
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
        """Return the probability that an answer of so many people has more supports."""
        return tail_of(self.n, held, limit + 1, self.supported, self.by_chance)

    def threshold(self, tail: float) -> float:
        """Return the count that an answer nobody gave exceeds with probability at most ``tail``.

        It stands half a report above a count that can be, so that rounding decides nothing.
        """
        return (self.limit(tail) + 0.5 - self.mean) / self.gap

    def interval(self, counts: Floats, tail: float) -> Ends:
        """Return the ends of the counts that each count is not in a tail of."""
        supports = np.asarray(np.rint(counts * self.gap + self.mean), dtype=np.float64)
        inverse = Inverse(self, tail)
        lower, upper = by_value(supports, inverse.lower, inverse.upper)
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
        beyond = math.ceil(2 * self.by_chance.yes / share) + 2
        limit += beyond
        if beyond > _MOST_LIMITS:  # then one person is less than 2 % of those who hold it
            return self._first_with(limit, tail)
        while limit > 0 and not fails(limit, math.ceil):
            limit -= 1
        return self._first_above(limit, share, power, self._first_with(limit + 1, tail))

    def _first_with(self, limit: int, tail: float) -> int:
        """Return the least number of people whose limit is as high, at most ``MOST``."""

        def lower(n: int) -> bool:
            return tail_of(n, 0, limit, self.by_chance, self.by_chance) <= tail

        return 1 + last_true(
            lower, math.ceil(min(limit / max(self.by_chance.yes, 1e-300), MOST / 2))
        )

    def _first_above(self, limit: int, share: float, power: float, end: int) -> int:
        """Return the least number of people, at most ``end``, that passes a limit."""

        def fails(n: int) -> bool:
            held = min(math.ceil(share * n), n)
            return n < end and replace(self, n=n).exceeds(held, limit) < power

        return 1 + last_true(fails, end - 1)

    def flipped(self) -> SupportLaw:
        """Return the law of the reports that do not support an answer, of those without it."""
        return SupportLaw(self.n, 1 - self.q, 1 - self.p)
