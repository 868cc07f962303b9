"""The audit proves sound protocols and catches broken ones, modelled on bugs of real packages."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

from deniable import (
    BLH,
    DE,
    LH,
    OLH,
    OUE,
    RAPPOR,
    SHE,
    SUE,
    THE,
    InvalidParameter,
    OpenLH,
    Protocol,
    audit,
)
from deniable.auditing import output_law
from deniable.law.binomial_sum import clopper_pearson
from deniable.mechanism import Mechanism
from deniable.randomness import WORD, Direct, Words
from deniable.validation import check_values
from tests.marks import shortened
from tests.naive.law import total_chance


class _Mutant(Mechanism):
    """A mechanism for tests: any map from words to reports, with a claimed epsilon."""

    epsilon: float
    domain_size: int

    @property
    def worst_ratio(self) -> Fraction:
        return Fraction(1)

    @property
    def value_count(self) -> int:
        return self.domain_size

    def _check_values(self, values):
        return check_values(values, self.domain_size)

    @property
    def report_dtype(self) -> np.dtype:
        return np.dtype((np.uint8, (self.domain_size,)))

    @property
    def words(self) -> Words:
        return Words(self.domain_size)

    def supports(self, reports, value):
        return reports == value if reports.ndim == 1 else reports[:, value % reports.shape[1]] > 0

    def _true(self, values):
        return np.arange(self.domain_size, dtype=np.uint64) == values[:, None]


@lru_cache
def symmetric_q(epsilon, domain_size):
    """Return the weight with which symmetric unary encoding flips a bit."""
    return SUE(epsilon, domain_size)._weights.q


@lru_cache
def direct(epsilon, domain_size):
    """Return the weights of direct encoding."""
    return Direct.at(epsilon, domain_size)


def bits(words, weight_of_one, weight_of_zero, true):
    """Perturb unary bits with the given integer weights."""
    return (words < np.where(true, np.uint64(weight_of_one), np.uint64(weight_of_zero))).astype(
        np.uint8
    )


@dataclass(frozen=True)
class _NeverClearsTrueBits(_Mutant):
    """A RAPPOR that only ever adds noise to zero bits: the true bit is always set."""

    epsilon: float = 2.0
    domain_size: int = 4

    def _perturb(self, values, words):
        q = symmetric_q(self.epsilon, self.domain_size)
        return bits(words, WORD - 1, q, self._true(values)) | self._true(values)


@dataclass(frozen=True)
class _FirstIsTrue(_Mutant):
    """A subset selection that lists the true value first when it is in the subset."""

    epsilon: float = 1.0
    domain_size: int = 4

    @property
    def report_dtype(self) -> np.dtype:
        return np.dtype((np.uint8, (2,)))

    @property
    def words(self) -> Words:
        return Words(2)

    def _perturb(self, values, words):
        d = self.domain_size
        k, omega = d // 2, d // 2
        include = words[:, 0] < np.uint64(int(WORD * omega * math.e / (omega * math.e + d - omega)))
        other = (words[:, 1] // np.uint64(WORD // (d - 1) + 1)).astype(np.uint64) + np.uint64(1)
        first = np.where(include, values, (values + other) % np.uint64(d))
        second = np.where(
            include,
            (values + other) % np.uint64(d),
            (values + other % np.uint64(d - 1) + np.uint64(1)) % np.uint64(d),
        )
        assert k == omega
        return np.stack([first, second], axis=1).astype(np.uint8)


@dataclass(frozen=True)
class _RoundedF(_Mutant):
    """A RAPPOR whose f is rounded to two decimals, which spends more than it says."""

    epsilon: float = 3.0
    domain_size: int = 4

    def _perturb(self, values, words):
        f = round(2 / (math.exp(self.epsilon / 2) + 1), 2)
        q = int(f / 2 * WORD)
        return bits(words, WORD - q, q, self._true(values))


@dataclass(frozen=True)
class _UndividedBudget(_Mutant):
    """A Bloom filter with two hashes, each bit perturbed as if it were the only one."""

    epsilon: float = 2.0
    domain_size: int = 4

    def _perturb(self, values, words):
        q = symmetric_q(self.epsilon, self.domain_size)
        position = np.arange(4, dtype=np.uint64)
        filters = (position % np.uint64(2) == (values[:, None] & np.uint64(1))) & (
            position // np.uint64(2) <= np.uint64(1)
        )
        return bits(words, WORD - q, q, filters)


@dataclass(frozen=True)
class _WrongQ(_Mutant):
    """An OUE whose q is 1 / (e^eps + 2)."""

    epsilon: float = 1.0
    domain_size: int = 4

    def _perturb(self, values, words):
        return bits(words, WORD // 2, int(WORD / (math.e + 2)), self._true(values))


@dataclass(frozen=True)
class _RedrawnNoise(_Mutant):
    """Three reports of one value, for which the noise was to be permanent but is drawn anew."""

    epsilon: float = 1.0
    domain_size: int = 3
    permanent: bool = False

    @property
    def report_dtype(self) -> np.dtype:
        return np.dtype((np.uint8, (3,)))

    def _perturb(self, values, words):
        used = words[:, [0, 0, 0]] if self.permanent else words
        weights = direct(self.epsilon, self.domain_size)
        p, q = np.uint64(weights.p), np.uint64(weights.q)
        offset = np.where(used < p, np.uint64(0), (used - p) // q + np.uint64(1))
        return ((values[:, None] + offset) % np.uint64(self.domain_size)).astype(np.uint8)


@dataclass(frozen=True)
class _NeverOutput(_Mutant):
    """A direct encoding whose loop over the other values stops one short."""

    epsilon: float = 1.0
    domain_size: int = 4

    @property
    def report_dtype(self) -> np.dtype:
        return np.dtype("u1")

    @property
    def words(self) -> Words:
        return Words(1)

    def _perturb(self, values, words):
        p = direct(self.epsilon, self.domain_size).p
        rest = (WORD - p) // (self.domain_size - 2) + 1
        offset = np.where(
            words < np.uint64(p),
            np.uint64(0),
            (words - np.uint64(p)) // np.uint64(rest) + np.uint64(1),
        )
        return ((values[:, None] + offset) % np.uint64(self.domain_size)).astype(np.uint8)[:, 0]


@dataclass(frozen=True)
class _FloatLaplace(_Mutant):
    """Histogram encoding with the usual floating-point Laplace noise."""

    epsilon: float = 1.0
    domain_size: int = 2

    @property
    def report_dtype(self) -> np.dtype:
        return np.dtype((np.float64, (self.domain_size,)))

    def _perturb(self, values, words):
        uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53 - 0.5
        with np.errstate(divide="ignore"):
            noise = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform)) * 2 / self.epsilon
        return self._true(values) + noise


@dataclass(frozen=True)
class _HiddenGenerator(_Mutant):
    """A direct encoding that ignores the randomness it is given and reports the truth too often."""

    epsilon: float = 1.0
    domain_size: int = 4

    @property
    def report_dtype(self) -> np.dtype:
        return np.dtype("u1")

    def _perturb(self, values, words):
        # Unseeded, as what it models. The audit would have to take rates of 0.925 and 0.025 for
        # ones within e of each other, in 12,500 samples each: below 1e-25.
        hidden = np.random.default_rng()
        random = hidden.integers(0, self.domain_size, len(values))
        return np.where(hidden.random(len(values)) < 0.9, values, random).astype(np.uint8)


@dataclass(frozen=True)
class _ModuloBias(_Mutant):
    """A direct encoding that takes the other value modulo d, the true one included."""

    epsilon: float = 1.0
    domain_size: int = 3

    @property
    def report_dtype(self) -> np.dtype:
        return np.dtype("u1")

    @property
    def words(self) -> Words:
        return Words(2)

    def _perturb(self, values, words):
        p = direct(self.epsilon, self.domain_size).p
        other = (words[:, 1] // np.uint64(1 << 62)) % np.uint64(self.domain_size)
        return np.where(words[:, 0] < np.uint64(p), values, other).astype(np.uint8)


def _name(kind: type[Mechanism]) -> str:
    return kind.__name__


def _named(mechanism: Mechanism) -> str:
    return type(mechanism).__name__


MUTANTS = [
    _NeverClearsTrueBits(),
    _FirstIsTrue(),
    _RoundedF(),
    _UndividedBudget(),
    _WrongQ(),
    _RedrawnNoise(),
    _NeverOutput(),
    _FloatLaplace(),
    _HiddenGenerator(),
    _ModuloBias(),
]


@pytest.mark.parametrize(
    "mutant", [mutant for mutant in MUTANTS if type(mutant) is not _FloatLaplace], ids=_named
)
def test_every_mutant_is_caught(mutant: Protocol) -> None:
    """A mechanism that spends more than it claims does not pass."""
    found = audit(mutant, calls=500, rng=np.random.default_rng(1))
    assert not found.holds
    assert found.epsilon > mutant.epsilon


def test_permanent_noise_is_what_the_redrawn_mutant_lacks() -> None:
    """The same mechanism with permanent noise holds, so the audit sees the redrawing itself."""
    assert audit(_RedrawnNoise(permanent=True), calls=500).holds
    assert audit(_RedrawnNoise(), calls=500).epsilon == pytest.approx(3.0)


def test_impossible_reports_make_epsilon_infinite() -> None:
    """A report that only some values can give is an infinite loss, with the values named."""
    found = audit(_NeverOutput(), calls=500)
    assert math.isinf(found.epsilon)
    assert found.worst_ratio is None
    assert len(set(found.witness)) == 2


@pytest.mark.long("200,000 samples")
def test_float_laplace_is_caught_by_its_grid() -> None:
    """Floating-point noise is not enumerable, and its grid gives the value away."""
    found = audit(_FloatLaplace(), calls=500, rng=np.random.default_rng(2))
    assert not found.holds
    assert not found.exact
    assert found.epsilon > 1.5


@pytest.mark.parametrize("protocol", [DE(1.0, 3), OUE(2.0, 5), OLH(0.5, 4)], ids=repr)
def test_law_of_sound_protocols_is_complete(protocol: Protocol) -> None:
    """The law of each value sums to one and holds only reports that parse."""
    for value in range(protocol.domain_size):
        law = output_law(protocol, value)
        assert total_chance(law) == 1
        assert all(weight > 0 for weights in law.weights for weight in weights.values())


@pytest.mark.parametrize(
    "protocol", shortened([DE(4.0, 1000), OUE(1.0, 300), OLH(1.0, 1000)], "large domains"), ids=repr
)
def test_large_domains_get_a_bound_that_is_below_the_truth_but_not_empty(
    protocol: Protocol,
) -> None:
    """Of a large domain some values are looked at: what they spend is a bound from below."""
    found = audit(protocol, calls=200, samples=50_000, rng=np.random.default_rng(3))
    assert not found.complete
    assert found.holds
    assert found.epsilon > 0.3


@pytest.mark.long("10,000 samples of a hundred values")
def test_sampling_sees_a_broken_protocol_on_a_large_domain() -> None:
    """A unary encoding that never clears the true bit fails on a hundred values too."""
    found = audit(
        _NeverClearsTrueBits(domain_size=100),
        calls=100,
        samples=10_000,
        rng=np.random.default_rng(4),
    )
    assert not found.holds


def test_audit_reads_as_a_sentence() -> None:
    """The printed result gives the verdict and both epsilons."""
    assert str(audit(DE(1.0, 2), calls=500)).startswith("holds: epsilon is exactly 1")
    assert str(audit(_WrongQ(), calls=500)).startswith("BROKEN")


def test_the_result_says_what_was_proved_and_what_was_sampled() -> None:
    """Both are told apart in words, with how rare a leak would have been seen."""
    found = audit(DE(1.0, 2), calls=500)
    assert [text for text in found.proved if "all 2 values" in text]
    assert [text for text in found.sampled if "500 single calls" in text]
    assert found.resolution == pytest.approx(4.6 / 500, rel=0.01)
    assert not found.failures
    assert str(found).count("\n  ") == len(found.proved) + len(found.sampled)
    assert audit(DE(1.0, 2), calls=2000).resolution < found.resolution


@pytest.mark.long("several hash functions")
def test_audit_of_open_domain_enumerates_given_hash_functions() -> None:
    """An open domain is audited exactly, conditional on the hash function a report shows."""
    found = audit(OpenLH(1.0), calls=200, rng=np.random.default_rng(6))
    assert found.exact
    assert "hash functions" in found.detail


class _RareLeak(DE):
    """Direct encoding that names the value when one word in 2^14 comes up."""

    def _perturb(self, values, words):
        reports = super()._perturb(values, words)
        start = np.uint64(0xC5EECE66D1234567)
        leak = (words[:, 0] >= start) & (words[:, 0] < start + np.uint64(1 << 50))
        return np.where(leak, (128 + values).astype(reports.dtype), reports)


class _PlainInBulk(OUE):
    """Unary encoding whose path for large batches sends the answer as it is."""

    def _privatize_bulk(self, values, source):
        del source
        bits = np.eye(self.domain_size, dtype=np.uint8)[values.astype(np.int64)]
        return np.packbits(bits, axis=1, bitorder="little")


class _OneValueLeaks(LH):
    """Local hashing that does not perturb the hash of one of the values."""

    def _perturb(self, values, words):
        truth = words.copy()
        truth[:, -1] = 0
        leak = values == 7
        return np.where(leak, super()._perturb(values, truth), super()._perturb(values, words))


CORNERS = [_RareLeak(1.0, 4), _PlainInBulk(1.0, 4), _OneValueLeaks(1.0, 9, 6)]


@pytest.mark.parametrize(
    "broken", shortened(CORNERS, "more values", keep=2), ids=lambda p: type(p).__name__
)
def test_leaks_in_corners_are_caught(broken: Protocol) -> None:
    """Neither a rare word, nor the path of large batches, nor a single value hides a leak."""
    assert not audit(broken, calls=500, rng=np.random.default_rng(5)).holds


def test_what_was_enumerated_is_called_complete() -> None:
    """Of a small domain all is known, unless there are hash functions."""
    assert audit(DE(1.0, 9), calls=64).complete
    assert not audit(LH(1.0, 9, 6), calls=64, rng=np.random.default_rng(7)).complete


@pytest.mark.long("sixteen filters")
def test_what_was_not_enumerated_is_not_called_complete() -> None:
    """Of an open domain some values are known, which give a lower bound."""
    some = audit(RAPPOR(1.0, bits=6, hashes=3, cohorts=1), calls=100, rng=np.random.default_rng(6))
    assert some.exact
    assert not some.complete
    assert str(some).startswith("no violation found: epsilon is at least ")


def test_too_few_samples_are_refused() -> None:
    """A bound from a handful of samples would say nothing."""
    with pytest.raises(InvalidParameter, match="1000"):
        audit(DE(1.0, 2), samples=10)
    with pytest.raises(InvalidParameter, match="32"):
        audit(DE(1.0, 2), calls=10)


def test_clopper_pearson_matches_scipy() -> None:
    """The confidence limits are those of the beta distribution."""
    for k, n in [(0, 10), (3, 10), (10, 10), (500, 10_000), (9_999, 10_000)]:
        low, high = clopper_pearson(k, n, 1e-4)
        assert low == pytest.approx(stats.beta.ppf(1e-4, k, n - k + 1) if k else 0, rel=1e-6)
        assert high == pytest.approx(
            stats.beta.ppf(1 - 1e-4, k + 1, n - k) if k < n else 1, rel=1e-6
        )


@pytest.mark.parametrize(
    "kind", shortened([THE, OUE, BLH, DE, SUE, SHE, OLH], "more protocols", keep=3), ids=_name
)
@pytest.mark.parametrize("epsilon", shortened([100.0, 0.01, 30.0, 80.0], "more epsilons"))
def test_extreme_epsilons_hold(kind, epsilon: float) -> None:
    """Where weights run out of digits a protocol spends less than it may, never more."""
    assert audit(kind(epsilon, 3), calls=100, rng=np.random.default_rng(8)).holds
