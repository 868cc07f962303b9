"""Unary encoding (UE): a report is one perturbed bit per value.

Encode   v -> B, the d-bit vector with only bit v set
Perturb  B'[i] = 1 with probability p where B[i] = 1, and q where B[i] = 0
Support  {i : B'[i] = 1}, hence p* = p and q* = q
Privacy  epsilon = ln(p (1 - q) / ((1 - p) q))                        [thm:una-ldp] [eq:uereq]
         (docs/proofs.md#unary-encoding)

Random bytes: d words r[0..d-1]. Bit i is set when r[i] is below the weight of p (i = v) or q
(i != v). Bits are packed least significant first, bit i in byte i // 8; the last byte's unused
bits are zero. In bulk, eight bits at a time are drawn from a table of their 256 patterns
(``deniable.kernels.bits``): the same law, exactly, for a quarter of a random byte per bit.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from deniable.errors import InvalidParameter
from deniable.kernels.bits import count_bits, perturb_bits
from deniable.law import Pairs
from deniable.mechanism import Reports
from deniable.protocol import CountedPure
from deniable.protocols.direct import Weighted
from deniable.randomness import WORD, Integers, Source, Weights, Words, exponential_bounds
from deniable.validation import check_domain_size, check_padding, check_probability


class _Unary(Weighted, CountedPure):
    """What all unary encodings share."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_weights()

    def _check_weights(self) -> None:
        """Refuse weights that leave a report impossible under some value."""
        p, q = self._weights.p, self._weights.q
        if not 0 < q < p < WORD:
            raise InvalidParameter(
                f"expected 0 < q < p < 1 in steps of 2^-64, got p = {p / WORD!r} and q = "
                f"{q / WORD!r}; a report must be possible under every value",
                value=(p / WORD, q / WORD),
            )

    @cached_property
    def pairs(self) -> Pairs:
        return Pairs.independent(self.parameters.exact_p, self.parameters.exact_q)

    @cached_property
    def worst_ratio(self) -> Fraction:
        p, q = self._weights.p, self._weights.q
        return Fraction(p * (WORD - q), (WORD - p) * q)

    @cached_property
    def report_dtype(self) -> np.dtype[np.generic]:
        return np.dtype((np.uint8, (math.ceil(self.domain_size / 8),)))

    @cached_property
    def words(self) -> Words:
        return Words(self.domain_size)

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        p, q = self._weights.p, self._weights.q
        true = np.arange(self.domain_size, dtype=np.uint64) == values[:, None]
        # Arithmetic leaves no branch on which bit is the true one.
        weights = true * np.uint64(p - q) + np.uint64(q)
        return np.packbits(words < weights, axis=1, bitorder="little")

    def _privatize_bulk(self, values: Integers, source: Source) -> Reports:
        p, q = self._weights.p, self._weights.q
        return perturb_bits(values.astype(np.int64), p, q, self.domain_size, source)

    def _validate(self, reports: Reports) -> None:
        check_padding(reports, self.domain_size)

    def _count(self, reports: Reports) -> np.typing.NDArray[np.int64]:
        return count_bits(reports, self.domain_size)

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        rows, bit = self._check_reports(reports), int(self._check_values([value])[0])
        return (rows[:, bit // 8] >> (bit % 8) & 1).astype(np.bool_)


@dataclass(frozen=True)
class UE(_Unary):
    """Unary encoding with any p and q; epsilon follows from them.

    >>> round(UE(p=0.75, q=0.25, domain_size=8).epsilon, 3)
    2.197
    """

    usual_settings: ClassVar[dict[str, object]] = {"p": 0.75, "q": 0.25}

    p: float
    q: float
    domain_size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))
        for name in ("p", "q"):
            object.__setattr__(self, name, check_probability(name, getattr(self, name)))
        self._check_weights()

    @cached_property
    def _weights(self) -> Weights:
        return Weights(math.floor(Fraction(self.p) * WORD), math.ceil(Fraction(self.q) * WORD))

    @classmethod
    def examples(cls) -> list[Self]:
        pairs = ((0.75, 0.25, 5), (0.5, 0.125, 9), (0.9, 0.3, 2))
        return [cls(p=p, q=q, domain_size=d) for p, q, d in pairs]

    @cached_property
    def epsilon(self) -> float:
        return self.realised_epsilon


@dataclass(frozen=True)
class SUE(_Unary):
    """Symmetric unary encoding, p + q = 1: Basic RAPPOR's choice.

    >>> round(SUE(epsilon=1.0, domain_size=32).variance(1), 2)
    3.92
    """

    epsilon: float
    domain_size: int

    @cached_property
    def _weights(self) -> Weights:
        low, _ = exponential_bounds(Fraction(self.epsilon) / 2)
        q = math.ceil(WORD / (low + 1))
        return Weights(WORD - q, q)


@dataclass(frozen=True)
class OUE(_Unary):
    """Optimized unary encoding, p = 1/2: the least variance of all unary encodings.

    That is where [eq:uevar] is least, and what it is there is [eq:var:oue].

    >>> round(OUE(epsilon=1.0, domain_size=32).variance(1), 2)
    3.68
    """

    epsilon: float
    domain_size: int

    @cached_property
    def _weights(self) -> Weights:
        low, _ = exponential_bounds(self.epsilon)
        return Weights(WORD // 2, math.ceil(WORD / (low + 1)))
