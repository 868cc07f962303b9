"""Subset selection: a report is a set of k values, which has the true one more often than others.

Encode   v -> v
Perturb  a uniform set A of k values; a member y of A with probability p = k e^eps / (k e^eps +
         d - k), else a non-member, uniform among them; the report is A moved by v - y modulo d
Support  the members, hence p* = p and q* = (k - p) / (d - 1)
Privacy  v is in the report where y is in A, so A and the distance v - y together have the
         probability w1 / (C(d, k) L) or w0 / (C(d, k) L), and w1 / w0 <= e^eps

After Ye and Barg, "Optimal Schemes for Discrete Distribution Estimation under Locally Differential
Privacy" (2018), and Wang et al., "Mutual Information Optimally Local Private Discrete Distribution
Estimation" (2016): with k next to d / (e^eps + 1) no pure protocol on d values has less variance.

A report is the rank of the set, the sum of C(c_j, j) over its members c_1 < ... < c_k, in the
narrowest unsigned integer of 1, 2, 4 or 8 bytes that holds C(d, k) - 1.

Random bytes: two words. The first, redrawn at or above C floor(2^64 / C) with C = C(d, k), gives
the rank r0 // floor(2^64 / C) of A. The second, redrawn at or above L, gives a place as
``deniable.protocols.selection`` says, with k of d places kept; y is the member of A at that place,
counting from 0 in ascending order, or beyond k the non-member at the place less k.

Since A and the distance are private by themselves, only the choice of y must not show in the time:
all members take part in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter, InvalidReport
from deniable.kernels import subsets
from deniable.protocol import Parameters, Protocol, Reports
from deniable.protocols.selection import Places, best_kept, places, selection_variance
from deniable.randomness import WORD
from deniable.statistic import Counts
from deniable.validation import brief, check_domain_size, check_epsilon, smallest_unsigned

LARGEST_TABLE = 1 << 24
"""How many binomials may be kept, k for each value: 128 MiB of them."""


@dataclass(frozen=True)
class SubsetSelection(Protocol):
    """Subset selection: the least variance there is, for up to some hundred values.

    ``size`` is k, the one of least variance unless given.

    >>> protocol = SubsetSelection(epsilon=1.0, domain_size=12)
    >>> protocol.size, protocol.report_bits, round(protocol.variance(1, 1 / 12), 2)
    (3, 8, 2.67)
    """

    epsilon: float
    domain_size: int
    size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))
        size = best_size(self.epsilon, self.domain_size) if self.size is None else self.size
        object.__setattr__(self, "size", _check_size(size, self.domain_size))
        self._places  # noqa: B018 - refuses an epsilon that has no weights

    @cached_property
    def _k(self) -> int:
        return _check_size(self.size, self.domain_size)

    @cached_property
    def _subsets(self) -> int:
        return math.comb(self.domain_size, self._k)

    @property
    def _table(self) -> npt.NDArray[np.uint64]:
        return subsets.binomials(self.domain_size, self._k)

    @cached_property
    def _places(self) -> Places:
        return places(self.epsilon, self.domain_size, self._k)

    @cached_property
    def parameters(self) -> Parameters:
        return self._places.parameters(self._k, self.domain_size)

    @property
    def worst_ratio(self) -> Fraction:
        return self._places.worst_ratio

    @property
    def report_dtype(self) -> np.dtype[np.generic]:
        return smallest_unsigned(self._subsets - 1)

    @property
    def word_count(self) -> int:
        """One word for the set and one for the place."""
        return 2

    @property
    def word_limits(self) -> dict[int, int]:
        limits = {0: self._step * self._subsets, 1: self._places.limit}
        return {position: limit for position, limit in limits.items() if limit < WORD}

    @property
    def _step(self) -> int:
        return WORD // self._subsets

    def _details(self) -> dict[str, object]:
        return self._places.details()

    def _perturb(self, values: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> Reports:
        ranks = words[:, 0] // np.uint64(self._step)
        place = self._places.draw(words[:, 1]).astype(np.int64)
        return subsets.select(values, ranks, place, self._table).astype(self.report_dtype)

    def _validate(self, reports: Reports) -> None:
        if reports.size and int(reports.max()) >= self._subsets:
            raise InvalidReport(
                f"expected ranks below {self._subsets}, got {int(reports.max())}; "
                "check that the sender answers the same question",
                value=int(reports.max()),
            )

    def support_counts(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count for each value the reports whose set it is in."""
        checked = self._check_reports(reports)
        return subsets.count_members(checked.astype(np.uint64), self._table)

    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        """Tell which reports have ``value`` in their set."""
        checked, own = self._check_reports(reports), self._check_value(value)
        members = subsets.unrank(checked.astype(np.uint64), self._table)
        return np.asarray((members == own).any(axis=1))

    def decoding_time(self, n: int) -> float:
        """Estimate the nanoseconds that ``n`` reports take: a few steps for each value."""
        return 5.0 * n * min(self.domain_size, self._k * self.domain_size.bit_length())

    def _read_statistic(self, data: memoryview, n: int) -> Counts:
        """Read counts that add up to n k: a report supports k values."""
        return Counts.decode(data, self.domain_size, 0, n, total=n * self._k)


def best_size(epsilon: float, domain_size: int) -> int:
    """Return the size of the sets that has the least mean variance.

    >>> best_size(1.0, 12), best_size(4.0, 12)
    (3, 1)
    """
    d = float(domain_size)
    return min(
        best_kept(epsilon, domain_size),
        key=lambda k: selection_variance(epsilon, k / d, d, domain_size),
    )


def _check_size(size: object, d: int) -> int:
    """Return the size of the sets as an int, or say what is wrong with it."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or not 1 <= size < d:
        raise InvalidParameter(
            f"expected a whole size of the sets from 1 to {d - 1}, got {brief(size)}; "
            "leave it out for the best one",
            value=size,
        )
    k = int(size)
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
            f"expected at most {LARGEST_TABLE} binomials, {k} for each of {d} values; "
            "AffineSelection needs none",
            value=k,
        )
    return k
