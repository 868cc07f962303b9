"""Subset selection: a report is a set of k values, which has the true one more often than others.

Encode   v -> v
Perturb  a uniform set A of k values; a member y of A with probability p = k e^eps / (k e^eps +
         d - k), else a non-member, uniform among them; the report is A moved by v - y modulo d
Support  the members, hence p* = p and q* = (k - p) / (d - 1)
Privacy  v is in the report where y is in A, so A and the distance v - y together have the
         probability w1 / (C(d, k) L) or w0 / (C(d, k) L), and w1 / w0 <= e^eps
         (docs/proofs.md#subset-selection)

After Ye and Barg, "Optimal Schemes for Discrete Distribution Estimation under Locally Differential
Privacy" (2018), and Wang et al., "Mutual Information Optimally Local Private Discrete Distribution
Estimation" (2016): with k next to d / (e^eps + 1) no pure protocol on d values has less variance,
averaged over the values. For rare values alone another k may be best (``best_size``).

A report is the rank of the set, the sum of C(c_j, j) over its members c_1 < ... < c_k, in the
narrowest unsigned integer of 1, 2, 4 or 8 bytes that holds C(d, k) - 1.

Random bytes: two words. The first, redrawn at or above C floor(2^64 / C) with C = C(d, k), gives
the rank r0 // floor(2^64 / C) of A. The second, redrawn at or above L, gives a place as
``deniable.randomness`` says, with k of d places kept; y is the member of A at that place,
counting from 0 in ascending order, or beyond k the non-member at the place less k.

Since A and the distance are private by themselves, only the choice of y must not show in the time:
all members take part in it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from deniable import validation
from deniable.errors import InvalidParameter
from deniable.kernels import subsets
from deniable.law import Pairs
from deniable.mechanism import Coded, Reports
from deniable.protocol import CountedPure, Parameters
from deniable.protocols.affine import selection_variance
from deniable.randomness import WORD, Integers, Places, Uniform, Words

LARGEST_TABLE = 1 << 24
"""How many binomials may be kept, k for each value: 128 MiB of them."""


@dataclass(frozen=True)
class SubsetSelection(CountedPure, Coded):
    """Subset selection: the least mean variance there is, for up to some hundred values.

    ``size`` is k, the one of least mean variance unless given.

    >>> protocol = SubsetSelection(epsilon=1.0, domain_size=12)
    >>> protocol.size, protocol.report_bits, round(protocol.variance(1, 1 / 12), 2)
    (3, 8, 3.03)
    """

    epsilon: float
    domain_size: int
    size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        size = best_size(self.epsilon, self.domain_size) if self.size is None else self.size
        object.__setattr__(self, "size", _check_size(size, self.domain_size))
        _ = self._places  # refuses what 64 bits cannot express

    @classmethod
    def usual(cls, epsilon: float, domain_size: int, share: float | None = None) -> Self:
        epsilon, d = validation.check_epsilon(epsilon), validation.check_domain_size(domain_size)
        return cls(epsilon, d, best_size(epsilon, d, share))

    @cached_property
    def _k(self) -> int:
        return _check_size(self.size, self.domain_size)

    @cached_property
    def _subset(self) -> Uniform:
        return Uniform(math.comb(self.domain_size, self._k))

    @cached_property
    def _table(self) -> Integers:
        return subsets.binomials(self.domain_size, self._k)

    @cached_property
    def _places(self) -> Places:
        return Places.at(self.epsilon, self.domain_size, self._k)

    @cached_property
    def parameters(self) -> Parameters:
        return Parameters(*self._places.shares(self._k, self.domain_size))

    @cached_property
    def pairs(self) -> Pairs:
        p, q = self.parameters.exact_p, self.parameters.exact_q
        return Pairs.selection(p, q, self._k, self.domain_size)

    @property
    def codes(self) -> int:
        return self._subset.size

    @property
    def worst_ratio(self) -> Fraction:
        return self._places.worst_ratio

    @cached_property
    def words(self) -> Words:
        return self._places.words_after(self._subset)

    def _details(self) -> dict[str, object]:
        return self._places.document()

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        ranks, place = self._subset.of(words[:, 0]), self._places.draw(words[:, 1])
        moved = subsets.select(values, ranks, place.astype(np.int64), self._table)
        return moved.astype(self.report_dtype)

    def _perturb_many(self, values: Integers, words: Integers) -> Reports:
        ranks, place = self._subset.of(words[:, 0]), self._places.draw(words[:, 1])
        moved = subsets.select_many(values, ranks, place.astype(np.int64), self._table)
        return moved.astype(self.report_dtype)

    def _count(self, reports: Reports) -> np.typing.NDArray[np.int64]:
        return subsets.count_members(reports.astype(np.uint64), self._table)

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        checked, own = self._check_reports(reports), int(self._check_values([value])[0])
        members = subsets.unrank(checked.astype(np.uint64), self._table)
        return np.asarray((members == own).any(axis=1))

    def decoding_time(self, n: int) -> float:
        """Estimate the nanoseconds that ``n`` reports take: a few steps for each value."""
        return 5.0 * n * min(self.domain_size, self._k * self.domain_size.bit_length())

    def most_supported(self, values: Sequence[int]) -> int:
        """Return at most k, which is how many values every report supports."""
        return min(self._k, len(values))

    @property
    def _footprint(self) -> validation.Footprint:
        return validation.Footprint(self.domain_size, total=(self._k, self._k))


def best_size(epsilon: float, domain_size: int, share: float | None = None) -> int:
    """Return the size of the sets that has the least variance at a share, 1/d if not given."""
    d, share = float(domain_size), 1 / domain_size if share is None else share
    # The best size is next to d / (e^eps + 1), whatever the share.
    centre = math.floor(domain_size / (math.exp(epsilon) + 1))
    near = {min(max(1, centre + step), domain_size - 1) for step in (-1, 0, 1, 2)}
    return min(sorted(near), key=lambda k: selection_variance(epsilon, k / d, d, share))


def _check_size(size: object, d: int) -> int:
    """Return the size of the sets as an int, or say what is wrong with it."""
    k = validation.check_whole(
        "the size of the sets", size, 1, d - 1, "leave it out for the best one"
    )
    # C(d, k) >= (d / k)^k rules out most sizes without computing huge integers.
    small = min(k, d - k)
    if small * (math.log2(d) - math.log2(small)) > 64 or math.comb(d, k) > WORD:
        raise InvalidParameter(
            f"expected at most 2^64 sets, got all sets of {k} of {d} values; AffineSelection has "
            "nearly the same variance at any number of values",
            value=k,
        )
    if k * d > LARGEST_TABLE:
        raise InvalidParameter(
            f"expected at most {LARGEST_TABLE} binomials, got {k} for each of {d} values; "
            "AffineSelection needs none",
            value=k,
        )
    return k
