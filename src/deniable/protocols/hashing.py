"""Local hashing (LH): a report is a random hash function and a perturbed hash of the value.

Encode   v -> (H, H(v)), H drawn uniformly from a family with values in 0..g-1
Perturb  y = H(v) with probability p = e^eps / (e^eps + g - 1), else one of the g - 1 others
Support  {v : H(v) = y}, hence p* = p and q* = q + (p - q) Pr[two values collide]  [sec:partition]
Privacy  H is independent of v, and p / q = e^eps
         (docs/proofs.md#local-hashing)

The paper asks for a universal family, collisions at most 1/g; purity needs them equal for all
pairs, so both families have a collision probability that is known exactly: 1/g for the linear one
(``deniable.protocols.linear``, which says how random bytes become a report), 1/g + O(g / 2^64) for
multiply-shift.

Multiply-shift is for any range g and for open domains. A 64-bit key x = 2^32 x_hi + x_lo hashes to
H(x) = floor((h >> 32) g / 2^32), where h = (a1 x_lo + a2 x_hi + b) mod 2^64. The top 32 bits of h
are pairwise independent and uniform, so two different keys collide with probability exactly sum
over y of (c_y / 2^32)^2, c_y being the number of 32-bit integers that scale to y. Its report is
(a1, a2, b, y), without a2 over a closed domain, whose keys are below 2^32. Random
bytes: the words a1, a2, b as they are (a1 and b over a closed domain), then one word for the
offset k of direct encoding over g values; y = (H(x) + k) mod g.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from deniable.candidates import Chosen
from deniable.kernels import hashes
from deniable.law import Joint, Pairs, PairsOf
from deniable.mechanism import Reports
from deniable.protocol import Closed, Functions, Open, Parameters
from deniable.protocols import linear
from deniable.protocols.direct import Weighted
from deniable.randomness import Direct, Integers, Words
from deniable.statistics import Collected, Statistic, of_form
from deniable.sums import CollectedSum, Sum
from deniable.validation import check_below, check_epsilon, smallest_unsigned


@dataclass(frozen=True)
class MultiplyShiftFamily:
    """Keys 0..domain_size-1, or all 64-bit fingerprints when ``domain_size`` is None."""

    g: int
    domain_size: int | None = None
    decoding_bytes: ClassVar[int] = 0
    """How many bytes decoding takes, beyond the statistic and the counts."""

    @property
    def collision(self) -> Fraction:
        """The probability that two different keys hash alike."""
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

    def used(self, statistic: Statistic) -> Functions:
        """Return how many reports have each function, of those that any has."""
        reports = of_form(statistic, Collected).reports[list(self._multipliers)]
        _, counts = np.unique(reports, return_counts=True)
        return Functions(counts, 2.0 ** (-64 * len(self._multipliers)))

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        hashed = self._hash(reports, np.array([value], dtype=np.uint64))
        return np.asarray(hashed == reports["y"])


Family = linear.LinearFamily | MultiplyShiftFamily


class _LocalHashing(Weighted):
    """What all local hashing shares: a hash family, then direct encoding over its range."""

    @property
    @abstractmethod
    def _family(self) -> Family: ...

    @cached_property
    def _weights(self) -> Direct:
        return Direct.at(self.epsilon, self._family.g)

    @cached_property
    def parameters(self) -> Parameters:
        p, q = self._weights.shares
        return Parameters(p, q + (p - q) * self._family.collision)

    def _joint(self, counts: np.typing.NDArray[np.float64], n: int) -> Joint | None:
        """Return the pairs of lines; fingerprints are supported each by itself.

        Multiply-shift hashes numbers in a row together now and then, more than any pair tells.
        """
        family, law = self._family, self.parameters
        if isinstance(family, linear.LinearFamily):
            return family.joint(law, counts, n)
        if family.domain_size is not None:
            return None
        return PairsOf(n, Pairs.independent(law.exact_p, law.exact_q))

    @property
    def report_dtype(self) -> np.dtype[np.generic]:
        return self._family.report_dtype

    @cached_property
    def words(self) -> Words:
        return self._family.words

    def _details(self) -> dict[str, object]:
        return self._family.details() | self._weights.document()

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        return self._family.perturb(values, words, self._weights)

    def _validate(self, reports: Reports) -> None:
        self._family.validate(reports)

    def _new_sum(self) -> Sum:
        return self._family.new_sum()

    def _read_statistic(self, data: memoryview, n: int) -> Statistic:
        return self._family.read_statistic(data, n)

    def _estimate_bytes(self, chosen: Chosen) -> int:
        return super()._estimate_bytes(chosen) + self._family.decoding_bytes

    def _support(self, statistic: Statistic, chosen: Chosen) -> np.typing.NDArray[np.int64]:
        return self._family.support(statistic, chosen.keys)

    def functions(self, statistic: Statistic) -> Functions:
        return self._family.used(statistic)

    def decoding_time(self, n: int) -> float:
        return self._family.decoding_time(n)

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        place = int(self._check_values([value])[0])
        return self._family.supports(self._check_reports(reports), place)


@dataclass(frozen=True)
class LH(_LocalHashing, Closed):
    """Local hashing with any range g: linear where g is a prime power, else multiply-shift.

    Multiply-shift too where the codes of linear reports would take more than 64 bits.

    >>> round(LH(epsilon=1.0, domain_size=1000, g=3).variance(1), 2)
    3.77
    """

    usual_settings: ClassVar[dict[str, object]] = {"g": 16}

    epsilon: float
    domain_size: int
    g: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "g", linear.check_range(self.g, linear.LARGEST_RANGE))
        _ = self._weights  # refuses what 64 bits cannot express

    @classmethod
    def examples(cls) -> list[Self]:
        settings = ((1.0, 5, 3), (2.0, 7, 4), (1.0, 9, 6), (0.5, 4, 9))
        return [cls(epsilon, d, g) for epsilon, d, g in settings]

    @cached_property
    def _family(self) -> Family:
        if linear.is_linear(self.g) and linear.fits(self.g, self.domain_size):
            return linear.LinearFamily(self.g, self.domain_size)
        return MultiplyShiftFamily(self.g, self.domain_size)


@dataclass(frozen=True)
class BLH(_LocalHashing, Closed):
    """Binary local hashing: one hashed bit, at a variance that never falls below n.

    The random matrix projection in other words [sec:prot:lbh]; its variance is [eq:blh:var].

    >>> round(BLH(epsilon=1.0, domain_size=1000).variance(1), 2)
    4.68
    """

    epsilon: float
    domain_size: int

    @cached_property
    def _family(self) -> linear.LinearFamily:
        return linear.LinearFamily(2, self.domain_size)


@dataclass(frozen=True)
class OLH(_LocalHashing, Closed):
    """Optimized local hashing over a closed domain: OUE's variance in a few bytes.

    ``g`` is the range of the hash functions, a prime power. Unless given, it is the one that
    decodes fastest among those whose variance is within 1 % of the best. Above epsilon 15 it is
    millions, and each hash value has a weight of about 2^40: as an integer that leaves
    ``realised_epsilon`` up to 2e-12 short of ``epsilon``.

    >>> olh = OLH(epsilon=1.0, domain_size=41_270)
    >>> olh.g, olh.report_bits, round(olh.variance(1), 2)
    (4, 32, 3.69)
    """

    epsilon: float
    domain_size: int
    g: int | None = None

    @classmethod
    def examples(cls) -> list[Self]:
        return [*super().examples(), cls(2.0, 7, g=5)]

    def __post_init__(self) -> None:
        super().__post_init__()
        g = linear.best_prime_power(self.epsilon, self.domain_size) if self.g is None else self.g
        object.__setattr__(self, "g", linear.check_linear(g, self.domain_size))
        _ = self._weights  # refuses what 64 bits cannot express

    def specification(self) -> dict[str, object]:
        """Return everything another implementation needs, g where documents have always had it."""
        given = {"name": self.name, "epsilon": self.epsilon, "domain_size": self.domain_size}
        return {**given, **self._details()}

    @cached_property
    def _family(self) -> linear.LinearFamily:
        return linear.LinearFamily(linear.check_linear(self.g, self.domain_size), self.domain_size)


@dataclass(frozen=True)
class OpenLH(_LocalHashing, Open):
    """Optimized local hashing over an open domain: candidates are chosen after collection.

    Values are 64-bit fingerprints of labels; the tally keeps the reports. ``g=None`` takes the
    range of least variance.

    >>> from deniable import fingerprints
    >>> protocol = OpenLH(epsilon=2.0)
    >>> reports = protocol.privatize(fingerprints(["kiwi", "fig", "kiwi"]))
    >>> protocol.estimate(protocol.tally(reports), ["kiwi", "fig", "plum"]).labels
    ('kiwi', 'fig', 'plum')
    """

    epsilon: float
    g: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        g = linear.best_integer(self.epsilon) if self.g is None else self.g
        object.__setattr__(self, "g", linear.check_range(g, linear.LARGEST_OPEN_RANGE))
        _ = self._weights  # refuses what 64 bits cannot express

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(1.0), cls(2.0, 5)]

    @cached_property
    def _family(self) -> MultiplyShiftFamily:
        return MultiplyShiftFamily(linear.check_range(self.g, linear.LARGEST_OPEN_RANGE))
