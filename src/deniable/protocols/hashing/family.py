"""What a hash family promises to the protocols that perturb its hashes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.mechanism import Reports
from deniable.randomness import Direct, Source, Words
from deniable.statistics import Statistic, Sum

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Family(ABC):
    """Hash functions with values in 0..g-1, the reports that name them, and the sums of these."""

    g: int
    domain_size: int | None

    @property
    @abstractmethod
    def collision(self) -> Fraction:
        """The probability that two different values hash alike."""

    @property
    @abstractmethod
    def report_dtype(self) -> np.dtype[np.generic]:
        """The form of a report: a hash function and a hash value."""

    @property
    @abstractmethod
    def words(self) -> Words:
        """The random words of a report."""

    @property
    def decoding_bytes(self) -> int:
        """How many bytes decoding takes, beyond the statistic and the counts."""
        return 0

    @abstractmethod
    def details(self) -> dict[str, object]:
        """Return what another implementation needs to hash alike."""

    @abstractmethod
    def perturb(
        self, values: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64], direct: Direct
    ) -> Reports:
        """Make one report of each value from its row of words."""

    @abstractmethod
    def perturb_bulk(
        self, values: npt.NDArray[np.uint64], source: Source, direct: Direct
    ) -> Reports | None:
        """Make reports of many values, or None where chunks of ``perturb`` will do."""

    @abstractmethod
    def validate(self, reports: Reports) -> None:
        """Raise InvalidReport unless every report is one that a client can have sent."""

    @abstractmethod
    def new_sum(self) -> Sum:
        """Return an empty sum of reports."""

    @abstractmethod
    def read(self, data: memoryview, n: int) -> Statistic:
        """Read a tally's statistic."""

    def decoding_time(self, n: int) -> float:
        """Estimate the nanoseconds that ``n`` reports take to tally and decode, on one core."""
        return float(n) * (self.domain_size or 1)

    @abstractmethod
    def support(self, statistic: Statistic, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Count the reports that support each key, or each value of a closed domain."""

    @abstractmethod
    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        """Tell of each report whether it supports ``value``."""
