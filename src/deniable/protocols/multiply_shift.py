"""The multiply-shift hash family, for any range g and for open domains.

A 64-bit key x = 2^32 x_hi + x_lo hashes to H(x) = floor((h >> 32) g / 2^32), where
h = (a1 x_lo + a2 x_hi + b) mod 2^64. The top 32 bits of h are pairwise independent and uniform,
so two different keys collide with probability exactly sum over y of (c_y / 2^32)^2, c_y being the
number of 32-bit integers that scale to y.

A report is (a1, a2, b, y), without a2 over a closed domain, whose keys are below 2^32. Random
bytes: the words a1, a2, b as they are (a1 and b over a closed domain), then one word for the
offset k of direct encoding over g values; y = (H(x) + k) mod g.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from deniable.kernels import hashes
from deniable.mechanism import Reports
from deniable.randomness import Direct, Integers, Words
from deniable.statistics import Collected, CollectedSum, Statistic, of_form
from deniable.validation import check_below, smallest_unsigned


@dataclass(frozen=True)
class MultiplyShiftFamily:
    """Keys 0..domain_size-1, or all 64-bit fingerprints when ``domain_size`` is None."""

    g: int
    domain_size: int | None = None
    decoding_bytes: ClassVar[int] = 0
    """How many bytes decoding takes, beyond the statistic and the counts."""

    @property
    def collision(self) -> Fraction:
        """The probability that two different keys hash alike.

        >>> MultiplyShiftFamily(2).collision
        Fraction(1, 2)
        """
        share, larger = divmod(1 << 32, self.g)
        squares = larger * (share + 1) ** 2 + (self.g - larger) * share**2
        return Fraction(squares, 1 << 64)

    @property
    def _multipliers(self) -> tuple[str, ...]:
        return ("a1", "a2", "b") if self.domain_size is None else ("a1", "b")

    @cached_property
    def report_dtype(self) -> np.dtype[np.generic]:
        """The words of the hash function and the perturbed hash, without padding."""
        words = [(name, "<u8") for name in self._multipliers]
        return np.dtype([*words, ("y", smallest_unsigned(self.g - 1).str)])

    @cached_property
    def words(self) -> Words:
        """The words of the hash function, in the report as they were drawn, and the offset's."""
        own = len(self._multipliers)
        return Words(own + 1, public=tuple(range(own)))

    def decoding_time(self, n: int) -> float:
        return float(n) * (self.domain_size or 1)

    def details(self) -> dict[str, object]:
        return {"family": "multiply-shift", "g": self.g}

    def perturb(self, values: Integers, words: Integers, direct: Direct) -> Reports:
        reports = np.empty(len(values), dtype=self.report_dtype)
        for position, name in enumerate(self._multipliers):
            reports[name] = words[:, position]
        reports["y"] = direct.perturb(self._hash(reports, values), words[:, -1])
        return reports

    def _hash(self, reports: np.typing.NDArray[np.void], keys: Integers) -> Integers:
        a1, b = reports["a1"], reports["b"]
        a2 = reports["a2"] if self.domain_size is None else np.zeros_like(a1)
        return hashes.hash_keys(a1, a2, b, keys, self.g)

    def validate(self, reports: Reports) -> None:
        check_below("hash values", int(reports["y"].max(initial=0)), self.g)

    def new_sum(self) -> CollectedSum:
        """Return an empty collection: which candidates to count is decided afterwards."""
        return CollectedSum(self.report_dtype)

    def read_statistic(self, data: memoryview, n: int) -> Statistic:
        return Collected.decode(data, n, self.report_dtype, self.validate)

    def support(self, statistic: Statistic, keys: Integers) -> np.typing.NDArray[np.int64]:
        """Count the reports with H(x) = y: for each key, or for every value of a closed domain."""
        reports = of_form(statistic, Collected).reports
        a1, b, y = (np.ascontiguousarray(reports[name]) for name in ("a1", "b", "y"))
        if self.domain_size is None:
            return hashes.count_support(a1, reports["a2"], b, y, keys, self.g)
        every = np.arange(self.domain_size, dtype=np.uint64)
        return hashes.count_support(a1, np.zeros_like(a1), b, y, every, self.g)

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        hashed = self._hash(reports, np.array([value], dtype=np.uint64))
        return np.asarray(hashed == reports["y"])
