"""What a law has to tell, the normal quantile, possible shares, and score intervals of a count."""

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

Floats = np.typing.NDArray[np.float64]
Ends = tuple[Floats, Floats]


def upper_normal(tail: float) -> float:
    """Return the z that a normal variable exceeds with probability ``tail``."""
    from statistics import NormalDist  # noqa: PLC0415 - keeps `import deniable` fast

    return -NormalDist().inv_cdf(max(tail, math.ulp(0.0)))


def nearest_shares(shares: Floats, total: float = 1.0) -> Floats:
    """Return the nearest numbers that are not negative and add up to the total.

    >>> nearest_shares(np.array([7.0, 4.0, -3.0]), 10)
    array([6.5, 3.5, 0. ])
    """
    # From the largest on, beside which the total must not be lost to rounding.
    moved = shares - float(np.max(shares))
    falling = np.sort(moved)[::-1]
    # With the k largest positive, the amount to take off is (their sum - total) / k; k is the
    # largest one that leaves the k-th positive.
    amounts = (np.cumsum(falling) - total) / np.arange(1, len(moved) + 1)
    k = int(np.flatnonzero(falling > amounts)[-1])
    return np.asarray(np.maximum(moved - amounts[k], 0.0))


def lugannani_rice(exponent: float, tilt: float) -> float:
    """Return the upper tail at a saddle point, given its exponent and its scaled tilt."""
    w = math.sqrt(2 * max(exponent, 0.0))
    if w < 1e-4:
        return 0.5
    density = math.exp(-exponent) / math.sqrt(2 * math.pi)
    return math.erfc(w / math.sqrt(2)) / 2 + density * (1 / tilt - 1 / w)


@dataclass(frozen=True)
class Supports:
    """How many reports support each answer, where counts are made of that."""

    numbers: Floats
    gap: float
    """How many supports one more person who holds an answer adds."""
    extra: float | None = None
    """The variance of an independent error on top of the counts, if there is one."""


class Law(Protocol):
    """What ``Estimates`` and comparisons ask of the law of counts."""

    def interval(self, counts: Floats, tail: float) -> Ends:
        """Return the smallest and largest true counts for which each count is in neither tail."""

    def threshold(self, tail: float) -> float:
        """Return the count that an answer nobody gave exceeds with probability at most ``tail``."""

    @property
    def independent(self) -> bool:
        """Whether each report is of another person."""
        return True

    @property
    def by_row(self) -> bool:
        """Whether each row has an error of its own, even where nobody holds it."""
        return False

    def take(self, rows: np.typing.NDArray[np.int64]) -> "Law":
        """Return the law of some rows: the same, unless rows differ."""
        del rows
        return self

    def supports(self, counts: Floats) -> Supports | None:
        """Return the supports that the counts are made of, if the law is theirs."""
        return None

    def population(self, counts: Floats, tail: float) -> Ends | None:
        """Return how far below and above each share the share in the population may be.

        None where the law is only about the people who were asked.
        """
        return None


class KnownLaw(Law, Protocol):
    """What a plan asks in addition, before there are any counts."""

    def limit(self, tail: float) -> int:
        """Return ``threshold`` in whole units of what is counted."""

    def exceeds(self, held: int, limit: int) -> float:
        """Return the probability that an answer that ``held`` people gave exceeds a limit."""

    def people(self, share: float, tail: float, power: float) -> int:
        """Return the number of people that makes an answer of that share significant.

        With that many, or any more, its count exceeds the threshold with probability ``power``.
        """


@dataclass(frozen=True)
class Variance:
    """The variance of a count among ``n`` people: linear from 0 to n, constant beyond."""

    n: int
    none: float
    """The variance of an answer that nobody gave, Var*."""
    slope: float
    """How much each person who gave it adds."""

    @property
    def all(self) -> float:
        """The variance of an answer that everybody gave."""
        return max(self.none + self.slope * self.n, 0.0)

    def at(self, counts: Floats) -> Floats:
        return np.maximum(self.none + self.slope * np.clip(counts, 0, self.n), 0.0)

    def score_end(self, estimates: Floats, z: float) -> Floats:
        """Return the largest c that is at most z of its own standard errors from each estimate.

        It solves c = estimate + z sd(c); a negative z gives the smallest c.
        """
        at_none, at_all = z * math.sqrt(self.none), z * math.sqrt(self.all)
        half = z * self.slope / 2
        root = np.sqrt(np.maximum(self.none + self.slope * estimates + half**2, 0.0))
        ends = estimates + z * (half + root)
        below, above = estimates <= -at_none, estimates >= self.n - at_all
        np.copyto(ends, estimates + at_none, where=below)
        np.copyto(ends, estimates + at_all, where=above & ~below)
        return ends


@dataclass(frozen=True)
class WidenedLaw(Law):
    """A known law with an independent error of known variance on top.

    Distances from the count grow as the standard error does. Without an error they stay the same.
    """

    law: Law
    variance: Variance
    extra: float

    def interval(self, counts: Floats, tail: float) -> Ends:
        lower, upper = self.law.interval(counts, tail)
        factor = np.sqrt(1 + self.extra / np.maximum(self.variance.at(counts), 1e-300))
        return counts + factor * (lower - counts), counts + factor * (upper - counts)

    def threshold(self, tail: float) -> float:
        return self.law.threshold(tail) * math.sqrt(1 + self.extra / self.variance.none)

    def supports(self, counts: Floats) -> Supports | None:
        found = self.law.supports(counts)
        return None if found is None else replace(found, extra=self.extra)
