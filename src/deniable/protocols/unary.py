"""Unary encoding (UE): a report is one perturbed bit per value.

Encode   v -> B, the d-bit vector with only bit v set
Perturb  B'[i] = 1 with probability p where B[i] = 1, and q where B[i] = 0
Support  {i : B'[i] = 1}, hence p* = p and q* = q
Privacy  epsilon = ln(p (1 - q) / ((1 - p) q))                        [thm:una-ldp] [eq:uereq]

Random bytes: d words r[0..d-1]. Bit i is set when r[i] is below the weight of p (i = v) or q
(i != v). Bits are packed least significant first, bit i in byte i // 8; the last byte's unused
bits are zero. In bulk, eight bits at a time are drawn from a table of their 256 patterns
(``deniable.kernels.patterns``): the same law, exactly, for a quarter of a random byte per bit.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter, InvalidReport
from deniable.protocol import Parameters, Protocol, Reports
from deniable.randomness import WORD, Source, exponential_bounds, log_above
from deniable.validation import brief, check_domain_size, check_epsilon

_SMALL = 1 << 20


class _Unary(Protocol):
    """What all unary encodings share; a subclass gives the weights of p and q."""

    @property
    @abstractmethod
    def _weights(self) -> tuple[int, int]:
        """The integer weights of p (rounded down) and q (rounded up)."""

    def _check_weights(self) -> None:
        p, q = self._weights
        if not 0 < q < p < WORD:
            raise InvalidParameter(
                f"expected 0 < q < p < 1 in steps of 2^-64, got p = {p / WORD!r} and "
                f"q = {q / WORD!r}; a report must be possible under every value",
                value=(p / WORD, q / WORD),
            )

    @cached_property
    def parameters(self) -> Parameters:
        p, q = self._weights
        return Parameters(Fraction(p, WORD), Fraction(q, WORD))

    @cached_property
    def worst_ratio(self) -> Fraction:
        p, q = self._weights
        return Fraction(p * (WORD - q), (WORD - p) * q)

    @property
    def report_dtype(self) -> np.dtype[np.generic]:
        return np.dtype((np.uint8, (math.ceil(self.domain_size / 8),)))

    @property
    def word_count(self) -> int:
        """One word for each bit."""
        return self.domain_size

    def _details(self) -> dict[str, object]:
        p, q = self._weights
        return {"weights": {"p": str(p), "q": str(q)}}

    def _perturb(self, values: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> Reports:
        p, q = self._weights
        true = np.arange(self.domain_size, dtype=np.uint64) == values[:, None]
        # Arithmetic leaves no branch on which bit is the true one.
        weights = true * np.uint64(p - q) + np.uint64(q)
        return np.packbits(words < weights, axis=1, bitorder="little")

    def _privatize_bulk(self, values: npt.NDArray[np.uint64], source: Source) -> Reports:
        from deniable.kernels.patterns import perturb_bits  # noqa: PLC0415 - Numba loads when needed

        return perturb_bits(values.astype(np.int64), *self._weights, self.domain_size, source)

    def _validate(self, reports: Reports) -> None:
        unused = -self.domain_size % 8
        if unused and np.any(reports[:, -1] >> (8 - unused)):
            raise InvalidReport(
                f"expected the last {unused} bits of each report to be zero, got others; "
                "check that the sender answers the same question",
                value=unused,
            )

    def support_counts(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count for each value the reports whose bit is set."""
        rows = self._check_reports(reports)
        if rows.size <= _SMALL:
            bits = np.unpackbits(rows, axis=1, count=self.domain_size, bitorder="little")
            return np.asarray(bits.sum(axis=0, dtype=np.int64))
        from deniable.kernels.bits import count_bits  # noqa: PLC0415 - Numba loads when needed

        return count_bits(rows, self.domain_size)

    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        """Tell which reports have the bit of ``value`` set."""
        rows, bit = self._check_reports(reports), self._check_value(value)
        return (rows[:, bit // 8] >> (bit % 8) & 1).astype(np.bool_)


@dataclass(frozen=True)
class UE(_Unary):
    """Unary encoding with any p and q; epsilon follows from them [eq:uereq].

    >>> round(UE(p=0.75, q=0.25, domain_size=10).epsilon, 6) == round(math.log(9), 6)
    True
    """

    p: float
    q: float
    domain_size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))
        for name in ("p", "q"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(
                value, int | float | Fraction | np.floating
            ):
                raise InvalidParameter(
                    f"expected {name} as a number, got {brief(value)}", value=value
                )
            if not 0 < value < 1:
                raise InvalidParameter(
                    f"expected {name} between 0 and 1, both excluded, got {brief(value)}",
                    value=value,
                )
            object.__setattr__(self, name, float(value))
        self._check_weights()

    @cached_property
    def _weights(self) -> tuple[int, int]:
        return math.floor(Fraction(self.p) * WORD), math.ceil(Fraction(self.q) * WORD)

    @classmethod
    def examples(cls) -> list[UE]:
        """Return small instances, symmetric and not."""
        return [cls(0.75, 0.25, 5), cls(0.5, 0.125, 9), cls(0.9, 0.3, 2)]

    @cached_property
    def epsilon(self) -> float:  # type: ignore[override]  # here it follows from p and q
        """The privacy loss of one report."""
        return log_above(self.worst_ratio)


@dataclass(frozen=True)
class SUE(_Unary):
    """Symmetric unary encoding, p + q = 1: Basic RAPPOR's choice.

    >>> round(SUE(epsilon=1.0, domain_size=32).variance(1), 2)
    3.92
    """

    epsilon: float
    domain_size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))
        self._check_weights()

    @cached_property
    def _weights(self) -> tuple[int, int]:
        low, _ = exponential_bounds(Fraction(self.epsilon) / 2)
        q = math.ceil(WORD / (low + 1))
        return WORD - q, q


@dataclass(frozen=True)
class OUE(_Unary):
    """Optimized unary encoding, p = 1/2: the least variance of all unary encodings.

    That is where [eq:uevar] is least, and what it is there is [eq:var:oue].

    >>> round(OUE(epsilon=1.0, domain_size=32).variance(1), 2)
    3.68
    """

    epsilon: float
    domain_size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))
        self._check_weights()

    @cached_property
    def _weights(self) -> tuple[int, int]:
        low, _ = exponential_bounds(self.epsilon)
        return WORD // 2, math.ceil(WORD / (low + 1))
