"""Local hashing (LH): a report is a random hash function and a perturbed hash of the value.

Encode   v -> (H, H(v)), H drawn uniformly from a family with values in 0..g-1
Perturb  y = H(v) with probability p = e^eps / (e^eps + g - 1), else one of the g - 1 others
Support  {v : H(v) = y}, hence p* = p and q* = q + (p - q) Pr[two values collide]  [sec:partition]
Privacy  H is independent of v, and p / q = e^eps

The paper asks for a universal family, collisions at most 1/g; purity needs them equal for all
pairs, so both families have a collision probability that is known exactly: 1/g for the linear one
(``deniable.protocols.linear``), 1/g + O(g / 2^64) for multiply-shift
(``deniable.protocols.multiply_shift``). Those modules say how random bytes become a report.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter
from deniable.estimates import Estimates
from deniable.kernels.effort import decoding_time
from deniable.protocol import FINGERPRINTS, Parameters, Protocol, Reports, Tally
from deniable.protocols.linear import LinearFamily
from deniable.protocols.multiply_shift import MultiplyShiftFamily
from deniable.protocols.ranges import (
    LARGEST_OPEN_RANGE,
    LARGEST_RANGE,
    best_integer,
    best_prime_power,
    check_range,
    fits,
    is_linear,
)
from deniable.randomness import WORD, Source, direct_weights
from deniable.statistic import Statistic
from deniable.validation import brief, check_domain_size, check_epsilon, check_values


class _LocalHashing(Protocol):
    """What all local hashing shares: a hash family, then direct encoding over its range."""

    @property
    @abstractmethod
    def _family(self) -> LinearFamily | MultiplyShiftFamily:
        """The hash family."""

    @cached_property
    def _weights(self) -> tuple[int, int]:
        return direct_weights(self.epsilon, self._family.g)

    @cached_property
    def parameters(self) -> Parameters:
        p, q = (Fraction(weight, WORD) for weight in self._weights)
        return Parameters(p, q + (p - q) * self._family.collision)

    @property
    def worst_ratio(self) -> Fraction:
        return Fraction(*self._weights)

    @property
    def report_dtype(self) -> np.dtype[np.generic]:
        return self._family.report_dtype

    @property
    def word_count(self) -> int:
        return self._family.word_count

    @property
    def word_limits(self) -> dict[int, int]:
        return self._family.word_limits

    @property
    def public_words(self) -> tuple[int, ...]:
        return self._family.public_words

    def _details(self) -> dict[str, object]:
        p, q = self._weights
        return {**self._family.details(), "weights": {"p": str(p), "q": str(q)}}

    def _perturb(self, values: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> Reports:
        return self._family.perturb(values, words, self._weights)

    def _privatize_bulk(self, values: npt.NDArray[np.uint64], source: Source) -> Reports:
        if isinstance(self._family, LinearFamily):
            return self._family.perturb_bulk(values, source, self._weights)
        return super()._privatize_bulk(values, source)

    def _validate(self, reports: Reports) -> None:
        self._family.validate(reports)

    def support_counts(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count for each value the reports (H, y) with H(v) = y."""
        _, statistic = self._summarise(iter([self._check_reports(reports)]))
        return self._support(statistic)

    def _summarise(self, batches: Iterator[Reports]) -> tuple[int, Statistic]:
        return self._family.summarise(batches)

    def _support(self, statistic: Statistic) -> npt.NDArray[np.int64]:
        return self._family.support(statistic, np.arange(self.domain_size, dtype=np.uint64))

    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        """Tell which reports hold the hash of ``value``."""
        return self._family.supports(self._check_reports(reports), self._check_value(value))

    def _read_statistic(self, data: memoryview, n: int) -> Statistic:
        return self._family.read(data, n)

    def decoding_time(self, n: int) -> float:
        """Estimate the nanoseconds that ``n`` reports take to tally and decode, on one core."""
        if not isinstance(self._family, LinearFamily):
            return float(n) * self.domain_size
        g, t, m = (np.array(float(x)) for x in (self._family.g, self._family.digits, 1))
        return float(decoding_time(g, t, m, self.domain_size, n))


@dataclass(frozen=True)
class LH(_LocalHashing):
    """Local hashing with any range g: linear where g is a prime power, else multiply-shift.

    Multiply-shift too where the codes of linear reports would take more than 64 bits.

    >>> round(LH(epsilon=1.0, domain_size=1000, g=3).variance(1), 2)
    3.77
    """

    epsilon: float
    domain_size: int
    g: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))
        object.__setattr__(self, "g", check_range(self.g, LARGEST_RANGE))
        direct_weights(self.epsilon, self.g)

    @classmethod
    def examples(cls) -> list[LH]:
        """Return small instances of both families."""
        return [cls(1.0, 5, 3), cls(2.0, 7, 4), cls(1.0, 9, 6), cls(0.5, 4, 9)]

    @cached_property
    def _family(self) -> LinearFamily | MultiplyShiftFamily:
        if is_linear(self.g) and fits(self.g, self.domain_size):
            return LinearFamily(self.g, self.domain_size)
        return MultiplyShiftFamily(self.g, self.domain_size)


@dataclass(frozen=True)
class BLH(_LocalHashing):
    """Binary local hashing: one hashed bit, at a variance that never falls below n.

    The random matrix projection in other words [sec:prot:lbh]; its variance is [eq:blh:var].

    >>> round(BLH(epsilon=1.0, domain_size=1000).variance(1), 2)
    4.68
    """

    epsilon: float
    domain_size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))

    @cached_property
    def _family(self) -> LinearFamily:
        return LinearFamily(2, self.domain_size)


@dataclass(frozen=True)
class OLH(_LocalHashing):
    """Optimized local hashing over a closed domain: OUE's variance in a few bytes.

    The range g is the prime power that decodes fastest among those whose variance is within 1 %
    of the best. Above epsilon 15 it is millions, and each of so many hash values has a weight of
    about 2^40: as an integer that leaves ``realised_epsilon`` up to 2e-12 short of ``epsilon``.

    >>> olh = OLH(epsilon=1.0, domain_size=41_270)
    >>> olh.g, olh.report_bits, round(olh.variance(1), 2)
    (4, 32, 3.69)
    """

    epsilon: float
    domain_size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))

    @property
    def g(self) -> int:
        """The range of the hash functions."""
        return self._family.g

    @cached_property
    def _family(self) -> LinearFamily:
        return LinearFamily(best_prime_power(self.epsilon, self.domain_size), self.domain_size)


@dataclass(frozen=True)
class OpenLH(_LocalHashing):
    """Optimized local hashing over an open domain: candidates are chosen after collection.

    Values are 64-bit fingerprints of labels; the tally keeps the reports.

    >>> protocol = OpenLH(epsilon=2.0)
    >>> reports = protocol.privatize(fingerprints(["kiwi", "fig", "kiwi"]))
    >>> protocol.estimate(protocol.tally(reports), ["kiwi", "fig", "plum"]).labels
    ('kiwi', 'fig', 'plum')
    """

    epsilon: float
    g: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        g = best_integer(self.epsilon) if self.g is None else self.g
        object.__setattr__(self, "g", check_range(g, LARGEST_OPEN_RANGE))
        direct_weights(self.epsilon, check_range(g, LARGEST_OPEN_RANGE))

    @classmethod
    def examples(cls) -> list[OpenLH]:
        """Return instances with the best range and with a given one."""
        return [cls(1.0), cls(2.0, 5)]

    @property
    def domain_size(self) -> int:  # type: ignore[override]  # no field: always all fingerprints
        """The number of 64-bit fingerprints."""
        return FINGERPRINTS

    @cached_property
    def _family(self) -> MultiplyShiftFamily:
        return MultiplyShiftFamily(check_range(self.g, LARGEST_OPEN_RANGE))

    @staticmethod
    def fingerprint(label: str) -> int:
        """Return the value of a label; ``fingerprints`` takes many at once."""
        return fingerprint(label)

    def support_counts(  # type: ignore[override]  # an open domain has to be told its candidates
        self, reports: Reports, candidates: Sequence[str] | npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Count for each candidate the reports that support it."""
        _, statistic = self._summarise(iter([self._check_reports(reports)]))
        return self._family.support(statistic, candidate_keys(candidates)[0])

    def estimate(  # type: ignore[override]  # an open domain has to be told its candidates
        self, tally: Tally, candidates: Sequence[str] | npt.NDArray[np.uint64]
    ) -> Estimates:
        """Estimate how many people hold each of the candidates, labels or fingerprints."""
        keys, labels = candidate_keys(candidates)
        support = self._family.support(self._own(tally).statistic, keys)
        return replace(self._estimate(support, tally.n), labels=labels)


def fingerprint(label: str) -> int:
    """Return the 64-bit fingerprint of a label: the first eight bytes of its SHA-256.

    The label is encoded as UTF-8 and the bytes are read as a little-endian integer; this is the
    same on every machine and in every version.

    >>> hex(fingerprint("kiwi"))
    '0x...'
    """
    if not isinstance(label, str):
        raise InvalidParameter(
            f"expected a label as a string, got {type(label).__name__}; pass str(label)",
            value=label,
        )
    try:
        data = label.encode()
    except UnicodeEncodeError as error:
        raise InvalidParameter(
            f"expected a label that UTF-8 can encode, got {label[:80]!r}", value=label
        ) from error
    return int.from_bytes(sha256(data).digest()[:8], "little")


def fingerprints(labels: Sequence[str]) -> npt.NDArray[np.uint64]:
    """Return the fingerprints of many labels as an array."""
    return np.array([fingerprint(label) for label in labels], dtype=np.uint64)


def candidate_keys(
    candidates: Sequence[str] | npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.uint64], tuple[str, ...] | None]:
    """Return candidates as fingerprints, and their labels where these were given."""
    if isinstance(candidates, str | bytes) or not (
        isinstance(candidates, Iterable) and isinstance(candidates, Sized)
    ):
        raise InvalidParameter(
            f"expected a list of candidates, got {brief(candidates)}; pass a list, also of one",
            value=candidates,
        )
    keys, labels = _keys_and_labels(candidates)
    if len(keys) == 0:
        raise InvalidParameter(
            "expected at least one candidate, got none; an open domain answers only for the "
            "candidates it is given",
            value=candidates,
        )
    if len(np.unique(keys)) != len(keys):
        raise InvalidParameter(
            "expected each candidate once, got repeated ones; drop the duplicates",
            value=len(keys),
        )
    return keys, labels


def _keys_and_labels(
    candidates: Sequence[str] | npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.uint64], tuple[str, ...] | None]:
    # Arrays of numbers are fingerprints, and arrays of anything else are lists of labels.
    if isinstance(candidates, np.ndarray) and (
        candidates.ndim != 1 or candidates.dtype.kind in "iufcb"
    ):
        return check_values(candidates, FINGERPRINTS), None
    for candidate in candidates:
        if not isinstance(candidate, str):
            raise InvalidParameter(
                "expected candidates as labels, or as an array of fingerprints, got "
                f"{brief(candidate)}",
                value=candidate,
            )
    labels = tuple(str(candidate) for candidate in candidates)
    return fingerprints(labels), labels
