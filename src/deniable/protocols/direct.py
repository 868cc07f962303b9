"""Direct encoding (DE): a report is a value, the true one more often than any other.

Encode   v -> v                                                                  [sec:direct]
Perturb  y = v with probability p = e^eps / (e^eps + d - 1), else one of the d - 1 others
Support  {y}, hence p* = p and q* = q = 1 / (e^eps + d - 1)
Privacy  p / q = e^eps                                                         [thm:ran-ldp]
         (docs/proofs.md#direct-encoding)

Random bytes: one word r. With the weights p + (d - 1) q = 2^64, the offset k is 0 when r < p and
1 + floor((r - p) / q) otherwise; the report is (v + k) mod d, in the narrowest unsigned integer of
1, 2 or 4 bytes that holds d - 1. Also known as generalised randomised response (GRR).
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from deniable.kernels.bits import count_values
from deniable.law import Pairs
from deniable.mechanism import Coded, Reports
from deniable.protocol import CountedPure, Parameters, Pure
from deniable.randomness import Direct, Integers, Weights
from deniable.validation import Footprint


class Weighted(Pure, abstract=True):
    """A pure protocol whose reports are made with the integer weights of two probabilities.

    A subclass gives them, p rounded down and q rounded up.
    """

    @property
    @abstractmethod
    def _weights(self) -> Weights: ...

    @cached_property
    def parameters(self) -> Parameters:
        return Parameters(*self._weights.shares)

    @cached_property
    def worst_ratio(self) -> Fraction:
        return self._weights.ratio

    def _details(self) -> dict[str, object]:
        return self._weights.document()


@dataclass(frozen=True)
class DE(Weighted, CountedPure, Coded):
    """Direct encoding: best when the domain is small, d < 3 e^eps + 2.

    >>> de = DE(epsilon=1.0, domain_size=4)
    >>> reports = de.privatize([0, 1, 2, 3, 3, 3])
    >>> tally = de.tally(reports)
    >>> de.estimate(tally).counts.shape
    (4,)
    >>> round(de.variance(1), 2)
    1.6
    """

    epsilon: float
    domain_size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._weights  # refuses what 64 bits cannot express

    @cached_property
    def _weights(self) -> Direct:
        return Direct.at(self.epsilon, self.domain_size)

    @cached_property
    def pairs(self) -> Pairs:
        return Pairs.selection(*self._weights.shares, 1, self.domain_size)

    @property
    def codes(self) -> int:
        return self.domain_size

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        return self._weights.perturb(values, words[:, 0]).astype(self.report_dtype)

    def _count(self, reports: Reports) -> np.typing.NDArray[np.int64]:
        return count_values(reports, self.domain_size)[0]

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        return np.asarray(self._check_reports(reports) == self._check_values([value])[0])

    def most_supported(self, values: Sequence[int]) -> int:
        return min(1, len(values))

    @property
    def _footprint(self) -> Footprint:
        return Footprint(self.domain_size, total=(1, 1))


GRR = DE
