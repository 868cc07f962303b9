"""Levels: a number goes to one of k levels by lot, and the level is reported by direct encoding.

Encode   v in 0..B -> level l = floor(v (k - 1) / B), raised by one with probability
         ((v (k - 1)) mod B) / B, so that the level is v (k - 1) / B on average; B = d - 1
Perturb  y = the level with probability p = e^eps / (e^eps + k - 1), else one of the k - 1 others
Support  no value: a report stands for the number (y / (k - 1) - q k / 2) / (p - q) between 0 and 1,
         whose mean is v / B
Privacy  whatever the level, p / q = e^eps; both ends are levels, so the ratio is met
         (docs/proofs.md#levels)

The best k has the least largest variance over all values. Two levels are the method of Duchi,
Jordan and Wainwright, "Minimax Optimal Procedures for Locally Private Estimation" (2018).

Random bytes: two words. The first raises the level where it is below floor(2^64 r / B), with r the
remainder above. The second is that of direct encoding over k values, ``randomness.Direct``,
whose report this is.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from deniable import validation
from deniable.candidates import Candidates, Chosen, choose_some
from deniable.estimates import Estimates
from deniable.kernels.bits import count_values
from deniable.law.normal import Floats, upper_normal
from deniable.mechanism import Coded, Reports, Values
from deniable.protocol import Protocol
from deniable.randomness import WORD, Direct, Integers, Words
from deniable.statistics import Counts, of_form
from deniable.tally import Counted, Tally

MOST_STEPS = 1 << 16
"""How many numbers there may be."""
_MOST_LEVELS = 32
_NORMAL = 1000
"""From this many people on the error of a mean is taken as normal."""


@dataclass(frozen=True)
class Levels(Protocol, Counted, Coded):
    """The mean of numbers 0..domain_size-1: ``levels`` is the best number of them unless given.

    >>> numbers = Levels(epsilon=2.0, domain_size=101)
    >>> numbers.levels, round(4 * numbers.largest_variance, 3)
    (3, 1.0)
    """

    epsilon: float
    domain_size: int
    levels: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.check_epsilon(self.epsilon))
        d = validation.check_whole(
            "the number of steps, domain_size,", self.domain_size, 2, MOST_STEPS
        )
        object.__setattr__(self, "domain_size", d)
        k = best_levels(self.epsilon, d) if self.levels is None else self.levels
        object.__setattr__(self, "levels", validation.check_whole("levels", k, 2, min(d, 1 << 12)))
        _ = self._weights  # refuses what 64 bits cannot express

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(1.0, 4), cls(2.0, 8, 3), cls(0.5, 5, 5)]

    @classmethod
    def further_examples(cls) -> list[Self]:
        return [cls(4.0, 101), cls(1.0, 65_536), cls(3.0, 1000, 7)]

    @cached_property
    def _k(self) -> int:
        return validation.check_whole("levels", self.levels, 2, self.domain_size)

    @cached_property
    def _weights(self) -> Direct:
        return Direct.at(self.epsilon, self._k)

    @property
    def worst_ratio(self) -> Fraction:
        return self._weights.ratio

    @property
    def value_count(self) -> int:
        return self.domain_size

    @property
    def codes(self) -> int:
        return self._k

    @cached_property
    def words(self) -> Words:
        return Words(2)

    def _details(self) -> dict[str, object]:
        return self._weights.document()

    def _check_values(self, values: Values) -> Integers:
        return validation.check_values(values, self.domain_size)

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        last = self.domain_size - 1
        level, rest = np.divmod(values * np.uint64(self._k - 1), np.uint64(last))
        # floor(2^64 rest / last) within 64 bits; the top level has no rest and is never raised, and
        # two steps have none at all.
        whole, left = divmod(WORD, last) if last > 1 else (0, 0)
        chance = rest * np.uint64(whole) + rest * np.uint64(left) // np.uint64(last)
        raised = level + (words[:, 0] < chance)
        return self._weights.perturb(raised, words[:, 1]).astype(self.report_dtype)

    def _count(self, reports: Reports) -> np.typing.NDArray[np.int64]:
        return count_values(reports, self._k)[0]

    @property
    def _footprint(self) -> validation.Footprint:
        return validation.Footprint(self._k, total=(1, 1))

    def _choose(self, candidates: Candidates | None) -> Chosen:
        return Chosen() if candidates is None else choose_some(candidates, self._k)

    def _estimate(self, tally: Tally, chosen: Chosen) -> Estimates:
        """Return how many people each level stands for: those between two belong to both in part.

        Errors are those of people drawn from a population, hence safe for the people themselves.
        """
        del chosen  # all levels are there
        counts, n = of_form(tally.statistic, Counts).values, tally.n
        p, q = map(float, self._weights.shares)
        found = np.asarray((counts - n * q) / (p - q), dtype=np.float64)
        chance = np.clip(counts / n, q, p)
        errors = np.sqrt(n * chance * (1 - chance)) / (p - q)
        return Estimates(found, errors, n, math.sqrt(n * q * (1 - q)) / (p - q))

    @cached_property
    def decoded(self) -> Floats:
        """The number between 0 and 1 that each report stands for, which may lie far outside."""
        return decoded(self.epsilon, self._k)

    @property
    def largest_variance(self) -> float:
        """The largest variance of what one report stands for, whatever the number is."""
        return largest_variance(self.epsilon, self._k)

    def mean(self, counts: np.typing.NDArray[np.int64], tail: float) -> tuple[float, float, float]:
        """Return the mean between 0 and 1, its standard error, and its reach at a tail.

        The error is that of a sample, so that the mean is that of the population. Few people have
        Hoeffding's bound for their reach.
        """
        n, a = int(counts.sum()), self.decoded
        mean = float(counts @ a) / n
        error = math.sqrt(float(counts @ (a - mean) ** 2) / n / max(n - 1, 1))
        if n >= _NORMAL:
            return mean, error, upper_normal(tail) * error
        return mean, error, float(a[-1] - a[0]) * math.sqrt(-math.log(tail) / (2 * n))


def decoded(epsilon: float, k: int) -> Floats:
    """Return what each of k levels stands for, so that it is right on average."""
    p = 1 / (1 + (k - 1) * math.exp(-epsilon))
    q = p * math.exp(-epsilon)
    return np.asarray((np.arange(k) / (k - 1) - q * k / 2) / (p - q))


def largest_variance(epsilon: float, k: int) -> float:
    """Return the largest variance over all numbers between 0 and 1."""
    a, x = decoded(epsilon, k), np.linspace(0, 1, 64 * (k - 1) + 1)
    p = 1 / (1 + (k - 1) * math.exp(-epsilon))
    q = p * math.exp(-epsilon)
    own = np.interp(x, np.arange(k) / (k - 1), a**2)
    return float(np.max(q * (a**2).sum() + (p - q) * own - x**2))


def best_levels(epsilon: float, domain_size: int) -> int:
    """Return the number of levels with the least largest variance.

    >>> [best_levels(epsilon, 101) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    [2, 2, 3, 5]
    """
    every = range(2, min(domain_size, _MOST_LEVELS) + 1)
    return min(every, key=lambda k: largest_variance(epsilon, k))
