"""The law of summed Laplace noise, on the grid on which histograms are perturbed.

Each of n people adds an independent noise y, in steps of 1/16, with probability proportional to
rho^|y|, rho = e^(-epsilon / 32): the difference of two geometric variables. The weights actually
drawn from differ from this by less than 2^-40 in all, and have no heavier tail. The noise of people
who hold the answer is mirrored, which changes nothing: the law is the same for every true count.

The sum is X - Y, two negative binomials. For up to 8 people it is summed term by term, exactly. For
more the saddle point (Lugannani and Rice) is within 1 % of it, and on the safe side below 0.1.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from deniable.law.binomial_sum import last_true
from deniable.law.normal import Ends, Floats, Law, lugannani_rice, upper_normal

UNIT = 16
"""Grid steps per person."""
_FEW = 8
_DEPTH = 120.0


@dataclass(frozen=True)
class LaplaceLaw(Law):
    """The law of a count that is a sum of ``n`` noises.

    >>> law = LaplaceLaw(1, 1.0)
    >>> law.threshold(0.05 / 1000) / 2  # the scale is 2; half of e^-9.21 is 5e-5
    9.2...
    """

    n: int
    epsilon: float

    def interval(self, counts: Floats, tail: float) -> Ends:
        half = self.limit(tail) / UNIT
        return counts - half, counts + half

    def limit(self, tail: float) -> int:
        """Return the least number of steps that the noise exceeds with at most ``tail``."""
        guess = math.ceil(upper_normal(tail) * math.sqrt(self.n * self._size))
        return last_true(lambda steps: self._tail(steps) > tail, guess)

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

        most = last_true(fails, 1)
        return max(1, math.floor(most / share) + 1)

    @cached_property
    def _terms(self) -> tuple[Floats, Floats]:
        """The probabilities of X = 0, 1, 2, ..., and those of as many or more."""
        n, step = self.n, self.epsilon / (2 * UNIT)
        longest = math.ceil((n + 8 * math.sqrt(n) + _DEPTH) / step)
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
        if self.n <= _FEW:
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
