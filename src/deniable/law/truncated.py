"""The law of supports in a sample, and the same given that they reached a limit.

Of n people a lot makes a sample of N. Of these C support an answer with the share f, and C is
Bin(N, q* + f (p* - q*)): it holds the error of the lot too. An answer that is shown only because C
reached a limit c, which was fixed before, has the law of C given C >= c. Its interval holds the f
for which C is in neither tail of that law, so that it covers f as often as it says among the
answers that are shown. A plain interval does not: those come out high.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.law.binomial_sum import Chance, tail_of, upper_quantile
from deniable.law.normal import Ends, Floats, Law

_STEPS = 60


@dataclass(frozen=True)
class SampleLaw(Law):
    """The law of the count of an answer among ``n`` people, of whom ``people`` were asked.

    >>> law = SampleLaw(8000, 3000, Fraction(1, 2), Fraction(1, 9))
    >>> [round(end) for end in law.shown(500, 400, 0.025)]
    [872, 1427]
    >>> round(float(law.counts(np.array([500]))[0]))
    1143
    """

    n: int
    people: int
    p: Fraction
    q: Fraction

    @cached_property
    def by_chance(self) -> Chance:
        """q*, with its complement."""
        return Chance(float(self.q), float(1 - self.q))

    @cached_property
    def gap(self) -> float:
        """How many supports each further person of the sample with the answer adds, p* - q*."""
        return float(self.p - self.q)

    def counts(self, supports: npt.NDArray[np.integer] | Floats) -> Floats:
        """Return the unbiased counts among all people."""
        moved = supports - float(self.people * self.q)
        return np.asarray(moved / self.gap * (self.n / self.people), dtype=np.float64)

    def variance(self, shares: Floats) -> Floats:
        """Return the variance of the count of an answer with a share."""
        chance = float(self.q) + shares * self.gap
        return np.asarray(self.n**2 / self.people * chance * (1 - chance) / self.gap**2)

    def tail(self, support: int) -> float:
        """Return the chance that an answer nobody gave has so many supports or more."""
        return tail_of(self.people, 0, support, self.by_chance, self.by_chance)

    def least(self, tail: float) -> int:
        """Return the least support that an answer nobody gave reaches with at most ``tail``."""
        return upper_quantile(self.people, self.by_chance, tail) + 1

    def threshold(self, tail: float) -> float:
        return float(self.counts(np.array([self.least(tail) - 0.5]))[0])

    def interval(self, counts: Floats, tail: float) -> Ends:
        moved = counts * (self.gap * self.people / self.n) + float(self.people * self.q)
        supports, where = np.unique(np.rint(moved).astype(np.int64), return_inverse=True)
        ends = np.array([self._ends(int(s), tail) for s in supports]).reshape(-1, 2)
        lower, upper = (self.counts(self.people * column) for column in ends.T)
        return np.minimum(lower[where], counts), np.maximum(upper[where], counts)

    def shown(self, support: int, least: int, tail: float) -> tuple[float, float]:
        """Return the interval of a count that is shown because its support reached ``least``."""
        first, last = self.counts(self.people * np.array(self._ends(support, tail, least)))
        return float(first), float(last)

    def _ends(self, support: int, tail: float, least: int = 0) -> tuple[float, float]:
        """Return the least and largest chances of a support that leave it in neither tail.

        With a limit they are those of shares from 0 to 1; else all from 0 to 1.
        """
        low, high = (float(self.q), float(self.p)) if least else (0.0, 1.0)

        def reached(support: int) -> Callable[[float], float]:
            def chance(yes: float) -> float:
                own = Chance(yes, 1 - yes)
                shown = tail_of(self.people, 0, least, own, own)
                return tail_of(self.people, 0, support, own, own) / max(shown, 1e-300)

            return chance

        first = _solve(reached(support), tail, low, high)
        return first, _solve(reached(support + 1), 1 - tail, low, high)


def _solve(rising: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Return where a function that rises from ``low`` to ``high`` meets a target."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < target else (low, middle)
        if high - low <= 1e-9 * high:
            break
    return (low + high) / 2


def chi_square_tail(square: float, freedom: int) -> float:
    """Return the chance that chi-square with so many degrees of freedom exceeds a number.

    >>> round(chi_square_tail(14.07, 7), 3), round(chi_square_tail(3.841, 1), 3)
    (0.05, 0.05)
    """
    half = square / 2
    shape = 0.5 if freedom % 2 else 1.0
    total = math.erfc(math.sqrt(half)) if freedom % 2 else math.exp(-half)
    while shape < freedom / 2:
        total += math.exp(shape * math.log(max(half, 1e-300)) - half - math.lgamma(shape + 1))
        shape += 1
    return min(total, 1.0)
