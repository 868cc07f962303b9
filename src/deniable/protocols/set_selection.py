"""Set selection (SetSelection): a report is a set of k points, which tends to meet the true one.

Encode   a set of at most l of d items -> l of the v = d + l points: the items 0..d-1 in it and, for
         every item fewer than l, the next of the dummies d, d + 1, ...
Perturb  the number J of points that report and set share, with weight E C(l, J) C(d, k - J) where
         J >= 1 and without E where J = 0; then J points of the set and k - J others, uniform
Support  the members, hence p* = E[J] / l and q* = (k - l p*) / d
Privacy  a report has the probability T_J / (2^64 C(l, J) C(d, k - J)), in which only J depends on
         the set; the weights T_J differ by at most e^eps between any two J
         (docs/proofs.md#sets)

After Wang, Huang, Nie, Wang, Xu and Yang, "PrivSet: Set-Valued Data Analyses with Locale
Differential Privacy" (INFOCOM 2018), with exact weights. All points of the set, dummies included,
have p*, all others q*, so that the protocol is pure. Dummy j is in the set of a person with fewer
than l - j items: their shares are the distribution of the sizes.

A report is the rank of the set, as in subset selection, in the narrowest unsigned integer that
holds C(v, k) - 1. Random bytes: two words, and one for each J below k.

- The first gives J, the first with w < T_0 + ... + T_J.
- The second, redrawn at or above the largest multiple M up to 2^64 of the least common multiple of
  all C(l, J), gives the rank w // (M / C(l, J)) of J places among the l points of the set, in
  ascending order.
- The one for J, redrawn at or above C floor(2^64 / C) with C = C(d, k - J), gives the rank
  w // floor(2^64 / C) of k - J places among the d other points.

All are drawn, whatever J is, and the reports of all J are worked out, so that neither tells of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from deniable.candidates import Chosen
from deniable.errors import InvalidParameter
from deniable.kernels import subsets
from deniable.mechanism import Coded, Reports
from deniable.protocol import Parameters
from deniable.protocols.sets import Cases, Sets, no_weights, part_of
from deniable.randomness import WORD, Integers, Uniform, Words
from deniable.statistics import Counts, Statistic, of_form
from deniable.tally import Counted
from deniable.validation import Footprint, check_whole

_MOST_REPORTS = 1 << 63
"""With fewer sets than this no weight is rounded to nothing."""
_LARGEST_TABLE = 1 << 24
"""How many binomials may be kept, k for each point."""


@dataclass(frozen=True)
class SetSelection(Sets, Counted, Coded):
    """Set selection: the least variance known for sets, where few enough reports can be numbered.

    ``size`` is k, the one of least variance for rare items unless given.

    >>> protocol = SetSelection(epsilon=1.0, domain_size=32, at_most=4)
    >>> protocol.size, protocol.report_bits, round(protocol.variance(1), 1)
    (2, 16, 12.1)
    """

    epsilon: float
    domain_size: int
    at_most: int
    size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        size = self._best_size() if self.size is None else self.size
        object.__setattr__(self, "size", self._check_size(size))
        self._cases.check(self.epsilon)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(1.0, 3, 2, 2), cls(1.0, 4, 1), cls(2.0, 6, 3, 2), cls(0.5, 6, 2, 3)]

    @classmethod
    def further_examples(cls) -> list[Self]:
        return [cls(1.0, 32, 4), cls(4.0, 256, 8), cls(2.0, 40, 8)]

    def _best_size(self) -> int:
        """Return the size of least variance for rare items, among those that 63 bits number."""
        found: dict[int, float] = {}
        for k in filter(self._numbers, range(1, min(self.domain_size, 63) + 1)):
            cases = self._cases_of(k)
            if cases.holds(self.epsilon) and self._parameters_of(cases, k).gap > 0:
                found[k] = float(self._parameters_of(cases, k).variance(1, 0.0))
        if not found:
            raise no_weights(self.epsilon)
        return min(found, key=lambda k: found[k])

    def _cases_of(self, k: int) -> Cases:
        """Return how many points report and set share, J = 0, 1, ..., for sets of k."""
        d, most = self.domain_size, self.at_most
        shared = range(min(k, most) + 1)
        return Cases.at(self.epsilon, [math.comb(most, j) * math.comb(d, k - j) for j in shared])

    def _parameters_of(self, cases: Cases, k: int) -> Parameters:
        shared = sum(j * weight for j, weight in enumerate(cases.weights))
        p = Fraction(shared, self.at_most * WORD)
        return Parameters(p, (k - self.at_most * p) / self.domain_size)

    def _numbers(self, k: int) -> bool:
        """Tell whether all sets of k points can be numbered, and binomials be kept for it."""
        # C(v, k) >= (v / k)^k rules out most sizes without computing huge integers.
        small, v = min(k, self.points - k), self.points
        few = small * (math.log2(v) - math.log2(small)) < 64 and math.comb(v, k) < _MOST_REPORTS
        return few and k * v <= _LARGEST_TABLE

    def _check_size(self, size: object) -> int:
        remedy = "leave it out for the best one"
        k = check_whole("the size of the sets", size, 1, self.domain_size, remedy)
        if not self._numbers(k):
            raise InvalidParameter.expected(
                f"fewer than 2^63 sets, and at most {_LARGEST_TABLE} binomials",
                k,
                "PolynomialSelection has nearly the same variance at any number of items",
                came=f"all sets of {k} of {self.points} points",
            )
        return k

    @cached_property
    def _k(self) -> int:
        return self._check_size(self.size)

    @cached_property
    def _cases(self) -> Cases:
        return self._cases_of(self._k)

    @cached_property
    def _inside(self) -> int:
        """M, below which a word gives the rank of the points of the set, whatever J is."""
        common = math.lcm(*(math.comb(self.at_most, j) for j in range(len(self._cases.counts))))
        return WORD // common * common

    @cached_property
    def _others(self) -> list[Uniform]:
        """The draw of the other points, for each J that leaves some."""
        left = range(self._k, max(0, self._k - len(self._cases.counts)), -1)
        return [Uniform(math.comb(self.domain_size, size)) for size in left]

    @cached_property
    def _table(self) -> Integers:
        return subsets.binomials(self.points, self._k)

    @cached_property
    def parameters(self) -> Parameters:
        return self._parameters_of(self._cases, self._k)

    @property
    def worst_ratio(self) -> Fraction:
        return max(self._cases.each) / min(self._cases.each)

    @cached_property
    def codes(self) -> int:
        return math.comb(self.points, self._k)

    @cached_property
    def words(self) -> Words:
        """One word for J, one for the points of the set, and one for the others at each J."""
        limits = [WORD, self._inside, *(draw.limits.get(0, WORD) for draw in self._others)]
        return Words(len(limits), {j: each for j, each in enumerate(limits) if each < WORD})

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        held, hits = values.astype(np.int64), self._cases.draw(words[:, 0])
        union = np.zeros((len(held), self._k), np.int64)
        for j in range(len(self._cases.counts)):  # all are worked out, and one is kept
            union += self._unite(held, words, j) * (hits == j)[:, None]
        return self._rank(union)

    def _perturb_many(self, values: Integers, words: Integers) -> Reports:
        """Make the same reports, of each J only those that have it."""
        held, hits = values.astype(np.int64), self._cases.draw(words[:, 0])
        union = np.empty((len(held), self._k), np.int64)
        for j in range(len(self._cases.counts)):
            rows = np.flatnonzero(hits == j)
            union[rows] = self._unite(held[rows], words[rows], j)
        return self._rank(union)

    def _unite(self, held: subsets.Members, words: Integers, j: int) -> subsets.Members:
        """Return j points that are held and k - j others, for each row of words."""
        parts = []
        if j:
            ranks = part_of(words[:, 1], self._inside, math.comb(self.at_most, j))
            places = subsets.unrank(ranks, subsets.binomials(self.at_most, j))
            parts.append(np.take_along_axis(held, places, axis=1))
        if j < self._k:
            ranks = self._others[j].of(words[:, 2 + j])
            table = subsets.binomials(self.domain_size, self._k - j)
            parts.append(subsets.not_held(held, subsets.unrank(ranks, table)))
        return np.concatenate(parts, axis=1)

    def _rank(self, union: subsets.Members) -> Reports:
        union.sort(axis=1)
        return subsets.rank(union, self._table).astype(self.report_dtype)

    def _count(self, reports: Reports) -> np.typing.NDArray[np.int64]:
        return subsets.count_members(reports.astype(np.uint64), self._table)

    def _support(self, statistic: Statistic, chosen: Chosen) -> np.typing.NDArray[np.int64]:
        del chosen  # all are there
        return of_form(statistic, Counts).values

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        checked, point = self._check_reports(reports), self._check_point(value)
        members = subsets.unrank(checked.astype(np.uint64), self._table)
        return np.asarray((members == point).any(axis=1))

    def most_supported(self, values: Sequence[int]) -> int:
        return min(self._k, len(values))

    @property
    def _footprint(self) -> Footprint:
        return Footprint(self.points, total=(self._k, self._k))
