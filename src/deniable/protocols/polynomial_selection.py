"""Polynomial selection: a report is a polynomial, which tends to be small at some true item.

Encode   a set of at most l of d items -> l of d + l points, as ``deniable.protocols.sets`` says
Perturb  the first place i at which the polynomial hits, counted from a random point of the set on,
         or 0 for none; then values at the l points that fit, a leading coefficient, and h through
         them: a polynomial of degree at most l over GF(g), g prime and at least d + l
Support  {x : h(x) < m}, hence q* = m / g, and p* = sum_i T_i (1 + (l - i) m / g) / (l 2^64)
Privacy  h has the weight T_i / N_i of its case, with N_0 = (g - m)^l and
         N_i = (g - m)^(i - 1) m g^(l - i), and these differ by at most e^eps
         (docs/proofs.md#sets)

Any l + 1 values of a uniform polynomial of degree l are independent. So whatever the values at the
points of the set, that at any other point is uniform, and q* is exactly m / g for all of them;
functions that are independent in pairs only would be biased. The wheel mechanism of Wang, Qian, Du,
Yang, Huang and Xu, "Set-Valued Data Publication with Local Privacy" (VLDB 2020), has the same
window, but hits with one point only and assumes an ideal hash.

A report is the l + 1 coefficients of h, that of x^0 first, each in the narrowest unsigned integer
that holds g - 1. Random bytes: l + 3 words.

- The first gives the case i, the first with w < T_0 + ... + T_i.
- The second, redrawn at or above l floor(2^64 / l), gives the start s = w // floor(2^64 / l):
  place j is point s + j - 1 of the set modulo l, counted from 0 in ascending order.
- The next l, redrawn at or above the largest multiple M of m (g - m) g up to 2^64, give the values
  at the places 1, 2, ...: w // (M / m) at place i, w // (M / g) after it, if i > 0, and everywhere
  else m + w // (M / (g - m)). All three are worked out for every place.
- The last, redrawn at or above g floor(2^64 / g), gives the leading coefficient,
  w // floor(2^64 / g).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from deniable import statistics, sums
from deniable.candidates import Chosen
from deniable.errors import InvalidParameter
from deniable.kernels import polynomials
from deniable.kernels.fields import is_prime, next_prime
from deniable.mechanism import Reports
from deniable.protocol import Parameters
from deniable.protocols.sets import Cases, Sets, no_weights, part_of
from deniable.randomness import WORD, Integers, Uniform, Words, exponential_bounds
from deniable.validation import Footprint, check_below, check_whole, smallest_unsigned

MOST_COUNTED = 4096
"""With up to this many points a tally counts supports; beyond, it keeps the reports."""
_LEAST_ORDER = 64
"""A field with this many elements has windows that are fine enough."""
_DEARER = 16
"""How many times longer one point takes by itself than among all of them."""


@dataclass(frozen=True)
class PolynomialSelection(Sets):
    """Polynomial selection: sets of any number of items in a few bytes, within 5 % of the best.

    ``g`` is the least prime that will do, and ``window``, m, the one of least variance for rare
    items, unless given.

    >>> protocol = PolynomialSelection(epsilon=1.0, domain_size=1000, at_most=4)
    >>> protocol.g, protocol.window, protocol.report_bits, round(protocol.variance(1), 1)
    (1009, 65, 80, 16.5)
    """

    epsilon: float
    domain_size: int
    at_most: int
    g: int | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        least = self.points
        g = next_prime(max(least, _LEAST_ORDER)) if self.g is None else self.g
        remedy = "leave it out for the least that will do"
        g = check_whole("g", g, least, polynomials.LARGEST - 1, remedy)
        if not is_prime(g):
            raise InvalidParameter.expected("g as a prime number", g, remedy)
        object.__setattr__(self, "g", g)
        m = self._best_window() if self.window is None else self.window
        remedy = "leave it out for the best one"
        object.__setattr__(self, "window", check_whole("the window", m, 1, g - 1, remedy))
        self._cases.check(self.epsilon)
        if self.parameters.gap <= 0:
            raise no_weights(self.epsilon)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(1.0, 3, 2, 5, 1), cls(3.0, 3, 1, 5), cls(2.0, 4, 2, 7, 2), cls(0.5, 5, 2, 7, 3)]

    @classmethod
    def further_examples(cls) -> list[Self]:
        return [cls(1.0, 1000, 4), cls(1.0, 41_270, 8), cls(2.0, 100, 3)]

    def _best_window(self) -> int:
        """Return the window of least variance for rare items, by floating-point numbers."""
        g, most, e = self._g, self.at_most, float(exponential_bounds(self.epsilon)[0])
        q = np.arange(1, g // 2 + 1) / g
        p = q * e / (e - (e - 1) * (1 - q) ** most)
        return 1 + int(np.argmin(q * (1 - q) / np.maximum(p - q, 1e-150) ** 2))

    @cached_property
    def _g(self) -> int:
        return int(self.g or 0)

    @cached_property
    def _m(self) -> int:
        return int(self.window or 0)

    @cached_property
    def _cases(self) -> Cases:
        g, m, most = self._g, self._m, self.at_most
        hits = [(g - m) ** (i - 1) * m * g ** (most - i) for i in range(1, most + 1)]
        return Cases.at(self.epsilon, [(g - m) ** most, *hits])

    @cached_property
    def parameters(self) -> Parameters:
        most, q = self.at_most, Fraction(self._m, self._g)
        hits = enumerate(self._cases.weights[1:], start=1)
        p = sum((weight * (1 + (most - i) * q) for i, weight in hits), Fraction(0)) / (most * WORD)
        return Parameters(p, q)

    @cached_property
    def worst_ratio(self) -> Fraction:
        """The largest weight of a report that hits, over that of one that does not.

        Seen from all points of the set in turn, the next hit of a report is 1, 2, ... places away
        as often as its gaps have so many: the report has the mean weight of these cases. The gaps
        add up to l, and those are taken that have the most.
        """
        before, most = self._cases.each[0], [Fraction(0)]
        for left in range(1, self.at_most + 1):
            gaps = range(1, left + 1)
            most.append(max(sum(self._cases.each[1 : gap + 1]) + most[left - gap] for gap in gaps))
        return most[-1] / self.at_most / before

    @cached_property
    def report_dtype(self) -> np.dtype[np.generic]:
        return np.dtype((smallest_unsigned(self._g - 1), (self.at_most + 1,)))

    @cached_property
    def _values(self) -> int:
        """M, below which a word gives a value in or outside the window, or any."""
        common = self._m * (self._g - self._m) * self._g
        return WORD // common * common

    @cached_property
    def words(self) -> Words:
        """One word for the case, one for the start, one for each value and one for the last."""
        start, last = (Uniform(size).limits.get(0, WORD) for size in (self.at_most, self._g))
        limits = [WORD, start, *[self._values] * self.at_most, last]
        return Words(len(limits), {j: each for j, each in enumerate(limits) if each < WORD})

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        g, m, most = self._g, self._m, self.at_most
        first, start = self._cases.draw(words[:, 0]), Uniform(most).of(words[:, 1])
        places = np.arange(1, most + 1)
        turned = (start[:, None].astype(np.int64) + places - 1) % most
        drawn = words[:, 2:-1]
        inside, outside, free = (part_of(drawn, self._values, size) for size in (m, g - m, g))
        at, after = places == first[:, None], (places > first[:, None]) & (first > 0)[:, None]
        found = inside * at + free * after + (outside + np.uint64(m)) * ~(at | after)
        points = np.take_along_axis(values, turned, axis=1)
        leading = Uniform(g).of(words[:, -1])
        made = polynomials.interpolate(points, found, leading, g)
        return made.astype(self.report_dtype.base)

    def _validate(self, reports: Reports) -> None:
        check_below("coefficients", int(reports.max(initial=0)), self._g)

    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        checked, point = self._check_reports(reports), self._check_point(value)
        return np.asarray(polynomials.evaluate(checked, point, self._g) < self._m)

    @property
    def _counts(self) -> bool:
        """Whether a tally counts supports; else it keeps the reports."""
        return self.points <= MOST_COUNTED

    def _new_sum(self) -> sums.Sum:
        if self._counts:
            return sums.CountsSum(self.points, self._add_counts, Footprint(self.points))
        return sums.CollectedSum(self.report_dtype)

    def _add_counts(self, reports: Reports, total: npt.NDArray[np.int64]) -> None:
        total += polynomials.count_below(reports, self._m, self._g, self.points)

    def _read_statistic(self, data: memoryview, n: int) -> statistics.Statistic:
        if self._counts:
            return statistics.Counts.decode(data, n, Footprint(self.points))
        return statistics.Collected.decode(data, n, self.report_dtype, self._validate)

    def _support(self, statistic: statistics.Statistic, chosen: Chosen) -> npt.NDArray[np.int64]:
        """Return all supports or, of reports that were kept, those of the chosen and dummies."""
        if self._counts:
            return statistics.of_form(statistic, statistics.Counts).values
        reports = statistics.of_form(statistic, statistics.Collected).reports
        if chosen.rows is None or len(chosen.rows) > self.points // _DEARER:
            return polynomials.count_below(reports, self._m, self._g, self.points)
        found = np.zeros(self.points, np.int64)
        for point in [*chosen.rows.tolist(), *range(self.domain_size, self.points)]:
            found[point] = np.count_nonzero(polynomials.evaluate(reports, point, self._g) < self._m)
        return found
