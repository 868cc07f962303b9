"""The law of supports if each of N people sent several reports with one permanent response.

A person's permanent bit is 1 with probability a = 1 - f/2 if the person holds the answer, and
b = f/2 if not. Each of r reports then supports the answer with probability p if the bit is 1, and q
if it is 0. With h = a or b a person's supports therefore have the variance

    r [h p (1 - p) + (1 - h) q (1 - q)] + r^2 (p - q)^2 h (1 - h)

(given the bit they are binomial, which is the first part; the second part is how their mean varies
with the bit). It grows with r^2: further reports do not average out what is drawn once.

The number of bits that are 1 is itself a sum of two binomials, B = Bin(k, a) + Bin(N - k, b), and
given B the supports are Bin(r B, p) + Bin(r (N - B), q). For up to 1000 people both are summed
over, the second by terms up to a variance of 100, and beyond by the normal law with its skewness.
For more people intervals are score intervals and the threshold is that of the saddle point, each
half a bit on the safe side.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from deniable.law.binomial_sum import FEW, Chance, at_least, last_true
from deniable.law.normal import Ends, Floats, Law, Variance, lugannani_rice, upper_normal

_FEW_PEOPLE = 1000
_ROWS = 1 << 14
_erfc = np.frompyfunc(math.erfc, 1, 1)


@dataclass(frozen=True)
class RepeatedLaw(Law):
    """The law of the supports of one answer in ``reports`` reports of ``people`` people.

    ``flip`` is f/2, the chance that a permanent bit is not the true one; ``p`` and ``q`` are the
    chances that a report supports the answer if the permanent bit is 1 or 0. Counts are of people.
    """

    people: int
    reports: int
    flip: Fraction
    p: Fraction
    q: Fraction

    @cached_property
    def _each(self) -> float:
        return self.reports / self.people

    @cached_property
    def _gap(self) -> float:
        """How many supports each further person with the answer adds."""
        return float((1 - 2 * self.flip) * (self.p - self.q)) * self._each

    @cached_property
    def _mean(self) -> float:
        return float(self.reports * (self.flip * self.p + (1 - self.flip) * self.q))

    @cached_property
    def _chances(self) -> tuple[Chance, Chance]:
        return Chance(float(self.p), float(1 - self.p)), Chance(float(self.q), float(1 - self.q))

    def counts(self, supports: Floats) -> Floats:
        """Return the unbiased numbers of people behind the supports."""
        return np.asarray((supports - self._mean) / self._gap)

    @cached_property
    def variance(self) -> Variance:
        p, q = self._chances
        flip = float(self.flip)

        def one(bit: float) -> float:
            within = self._each * (bit * p.variance + (1 - bit) * q.variance)
            between = (self._each * (p.yes - q.yes)) ** 2 * bit * (1 - bit)
            return (within + between) / self._gap**2

        return Variance(self.people, self.people * one(flip), one(1 - flip) - one(flip))

    def threshold(self, tail: float) -> float:
        few = self.people <= _FEW_PEOPLE
        limit = self._last(0, tail) if few else self._saddle_limit(tail)
        return (limit + 0.5 - self._mean) / self._gap

    def interval(self, counts: Floats, tail: float) -> Ends:
        if self.people > _FEW_PEOPLE:
            p, q = self._chances
            z, step = upper_normal(tail), max(1.0, self._each * (p.yes - q.yes)) / 2 / self._gap
            return (
                self.variance.score_end(counts - step, -z),
                self.variance.score_end(counts + step, z),
            )
        supports, where = np.unique(np.rint(counts * self._gap + self._mean), return_inverse=True)
        lower = self._lower(supports, tail)[where]
        upper = self.people - self._mirrored._lower(self.reports - supports, tail)[where]
        return np.minimum(lower, counts), np.maximum(upper, counts)

    @property
    def independent(self) -> bool:
        return False

    def population(self, counts: Floats, tail: float) -> Ends:
        """Return how far below and above each share the share in the population may be.

        Which people were drawn varies too: each person's bit is 1 with the same chance h, and the
        limits are Wilson's limits of h, half a bit on the safe side.
        """
        shares = counts / self.people
        above = self._population(shares, tail)
        return self._mirrored._population(1 - shares, tail), above

    def _population(self, shares: Floats, tail: float) -> Floats:
        p, q = self._chances
        flip, gap = float(self.flip), p.yes - q.yes
        bits = (flip + shares * (1 - 2 * flip)).clip(0, 1)
        # Solved for h: (h - bits - step)^2 gap^2 = k (V0 + (V1 - V0) h + each gap^2 h (1 - h)).
        k = upper_normal(tail) ** 2 / self.reports
        step = max(1.0, self._each * gap) / 2 / (self.reports * gap)
        square = gap**2 * (1 + k * self._each)
        linear = 2 * gap**2 * (bits + step) + k * (p.variance - q.variance + self._each * gap**2)
        rest = gap**2 * (bits + step) ** 2 - k * q.variance
        limit = (linear + np.sqrt(np.maximum(linear**2 - 4 * square * rest, 0.0))) / (2 * square)
        return np.asarray((limit - bits) / (1 - 2 * flip))

    def _lower(self, supports: Floats, tail: float) -> Floats:
        """Return the smallest count for which each support is not in the upper tail."""
        ends = np.empty(len(supports))
        size = max(1, _ROWS // (self.people + 1))
        for start in range(0, len(supports), size):
            part = slice(start, start + size)
            tails = _bits(self.people, self.flip) @ self._given_bits(supports[part])
            ends[part] = (tails <= tail).sum(axis=0)
        first, last = self._last(0, tail), self._last(self.people, tail)
        ends = np.where(ends == 0, (supports - first) / self._gap, ends)
        return np.where(ends > self.people, self.people + (supports - last) / self._gap, ends)

    @cached_property
    def _mirrored(self) -> "RepeatedLaw":
        """The law of reports that do not support the answer, for people without it."""
        return RepeatedLaw(self.people, self.reports, self.flip, 1 - self.q, 1 - self.p)

    def _last(self, held: int, tail: float) -> int:
        """Return the largest support not in the upper tail if ``held`` people hold the answer."""
        law = _bits(self.people, self.flip)

        def common(support: int) -> bool:
            tails = self._given_bits(np.array([float(support)]))
            return support <= self.reports and (law[held] @ tails)[0] > tail

        spread = math.sqrt(float(self.variance.at(np.array([float(held)]))[0]))
        guess = self._mean + self._gap * (held + upper_normal(tail) * spread)
        return last_true(common, math.ceil(guess))

    def _given_bits(self, supports: Floats) -> Floats:
        """Return the upper tails of the supports (columns) for each number of ones (rows)."""
        p, q = self._chances
        bits = np.repeat(np.arange(self.people + 1.0), len(supports))
        ones, wanted = np.rint(bits * self._each), np.tile(supports, self.people + 1)
        variance = ones * p.variance + (self.reports - ones) * q.variance
        few = variance <= FEW
        tails = np.empty(len(ones))
        if few.any():
            tails[few] = at_least(self.reports, ones[few], wanted[few], p, q)
        ones, variance = ones[~few], variance[~few]
        spread = np.sqrt(variance)
        z = (wanted[~few] - 0.5 - ones * p.yes - (self.reports - ones) * q.yes) / spread
        third = ones * p.variance * (p.no - p.yes)
        third += (self.reports - ones) * q.variance * (q.no - q.yes)
        bend = third / (6 * spread * variance) * (z**2 - 1)
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        tails[~few] = np.asarray(_erfc(z / math.sqrt(2)), dtype=np.float64) / 2 + density * bend
        return np.clip(tails, 0.0, 1.0).reshape(self.people + 1, len(supports))

    def _saddle_limit(self, tail: float) -> float:
        """Return the support whose tail is ``tail`` if nobody holds the answer."""
        p, q = self._chances
        low, high = 0.0, 1.0
        while self._saddle_point(high)[1] > tail:
            low, high = high, 2 * high
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if self._saddle_point(middle)[1] > tail else (low, middle)
        return self._saddle_point(high)[0] + max(1.0, self._each * (p.yes - q.yes)) / 2

    def _saddle_point(self, t: float) -> tuple[float, float]:
        """Return the support at a tilt of t, and its tail (Lugannani and Rice)."""
        n, flip, x = self.people, float(self.flip), math.expm1(t)
        logs, means, spreads = [], [], []
        for chance in self._chances:
            tilted = chance.yes * (1 + x) / (1 + chance.yes * x)
            logs.append(self._each * math.log1p(chance.yes * x))
            means.append(self._each * tilted)
            spreads.append(self._each * tilted * (1 - tilted))
        # In the tilted law the bit is 1 with probability ``weight``.
        lead = logs[0] - logs[1]
        weight = flip / (flip + (1 - flip) * math.exp(-lead))
        cumulant = logs[1] + math.log1p(flip * math.expm1(lead)) if lead < 700 else math.inf
        mean = weight * means[0] + (1 - weight) * means[1]
        spread = weight * spreads[0] + (1 - weight) * spreads[1]
        spread += weight * (1 - weight) * (means[0] - means[1]) ** 2
        exponent = n * (t * mean - cumulant)
        return n * mean, lugannani_rice(exponent, t * math.sqrt(n * spread))


@lru_cache(maxsize=4)
def _bits(people: int, flip: Fraction) -> Floats:
    """Return the probability of each number of ones (columns) for each count (rows).

    The last few tables are kept: one for 1000 people takes half a second and 8 MB.
    """
    holders, others = (_binomials(people, float(chance)) for chance in (1 - flip, flip))
    rows = (
        np.convolve(holders[k, : k + 1], others[people - k, : people - k + 1])
        for k in range(people + 1)
    )
    return np.array(list(rows))


def _binomials(most: int, chance: float) -> Floats:
    """Return the terms of Bin(k, chance) as rows, k = 0 to ``most``."""
    rows = np.zeros((most + 1, most + 1))
    rows[0, 0] = 1.0
    for k in range(most):
        rows[k + 1] = (1 - chance) * rows[k]
        rows[k + 1, 1:] += chance * rows[k, :-1]
    return rows
