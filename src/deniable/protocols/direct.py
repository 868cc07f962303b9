"""Direct encoding (DE): a report is a value, the true one more often than any other.

Encode   v -> v                                                                  [sec:direct]
Perturb  y = v with probability p = e^eps / (e^eps + d - 1), else one of the d - 1 others
Support  {y}, hence p* = p and q* = q = 1 / (e^eps + d - 1)
Privacy  p / q = e^eps                                                         [thm:ran-ldp]

Random bytes: one word r. With the weights p + (d - 1) q = 2^64, the offset k is 0 when r < p and
1 + floor((r - p) / q) otherwise; the report is (v + k) mod d, in the narrowest unsigned integer of
1, 2 or 4 bytes that holds d - 1. Also known as generalised randomised response (GRR).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidReport
from deniable.protocol import Parameters, Protocol, Reports
from deniable.randomness import WORD, direct_offset, direct_weights
from deniable.statistic import Counts
from deniable.validation import check_domain_size, check_epsilon, smallest_unsigned

_SMALL = 1 << 18


@dataclass(frozen=True)
class DE(Protocol):
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
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))
        direct_weights(self.epsilon, self.domain_size)

    @cached_property
    def _weights(self) -> tuple[int, int]:
        return direct_weights(self.epsilon, self.domain_size)

    @cached_property
    def parameters(self) -> Parameters:
        p, q = self._weights
        return Parameters(Fraction(p, WORD), Fraction(q, WORD))

    @property
    def worst_ratio(self) -> Fraction:
        return Fraction(*self._weights)

    @property
    def report_dtype(self) -> np.dtype[np.generic]:
        return smallest_unsigned(self.domain_size - 1)

    def _details(self) -> dict[str, object]:
        p, q = self._weights
        return {"weights": {"p": str(p), "q": str(q)}}

    def _perturb(self, values: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> Reports:
        d = np.uint64(self.domain_size)
        shifted = values + direct_offset(words[:, 0], *self._weights)
        return (shifted - d * (shifted >= d)).astype(self.report_dtype)

    def _validate(self, reports: Reports) -> None:
        if reports.size and int(reports.max()) >= self.domain_size:
            raise InvalidReport(
                f"expected values below {self.domain_size}, got {int(reports.max())}; "
                "check that the sender answers the same question",
                value=int(reports.max()),
            )

    def support_counts(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count how often each value was reported."""
        checked = self._check_reports(reports)
        if len(checked) <= _SMALL:
            return np.bincount(checked, minlength=self.domain_size).astype(np.int64, copy=False)
        from deniable.kernels.bits import count_values  # noqa: PLC0415 - Numba loads when needed

        return count_values(checked, self.domain_size)[0]

    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        """Tell which reports are ``value``."""
        return np.equal(self._check_reports(reports), self._check_value(value))

    def _read_statistic(self, data: memoryview, n: int) -> Counts:
        """Read counts that add up to n: a report supports one value."""
        return Counts.decode(data, self.domain_size, 0, n, total=n)


GRR = DE
