"""Parameters and values at the edges: a right answer or a clear error."""

import math

import numpy as np
import pytest

from deniable import (
    BLH,
    DE,
    GRR,
    LH,
    OLH,
    OUE,
    RAPPOR,
    SHE,
    SUE,
    THE,
    UE,
    BasicRAPPOR,
    InvalidParameter,
    OpenLH,
    Protocol,
    Pure,
    Tally,
)
from deniable.protocols.histogram import UNIT, laplace_weights

CLOSED = [DE, SHE, THE, SUE, OUE, BLH, OLH]


@pytest.mark.parametrize("kind", [*CLOSED, lambda epsilon, domain_size: OpenLH(epsilon)])
@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, -math.inf, "1", None, True, 1e9])
def test_impossible_epsilon_is_refused(kind, epsilon) -> None:
    """Epsilon must be a positive finite number; the error says which came."""
    with pytest.raises(InvalidParameter, match="epsilon"):
        kind(epsilon=epsilon, domain_size=4)


@pytest.mark.parametrize("kind", CLOSED)
@pytest.mark.parametrize("domain_size", [0, 1, -3, 2.0, "4", None, True, 2**40])
def test_impossible_domain_size_is_refused(kind, domain_size) -> None:
    """A domain has at least two values and a whole number of them."""
    with pytest.raises(InvalidParameter, match="values"):
        kind(epsilon=1.0, domain_size=domain_size)


@pytest.mark.parametrize("kind", CLOSED)
@pytest.mark.parametrize("epsilon", [1e-9, 50])
@pytest.mark.parametrize("domain_size", [2, 3, 2**20])
def test_extreme_epsilon_is_right_or_refused(kind, epsilon, domain_size) -> None:
    """Where 64-bit weights can express epsilon the estimates are unbiased, elsewhere it is said."""
    if epsilon == 1e-9 and (kind is SHE or (kind is DE and domain_size > 3)):
        with pytest.raises(InvalidParameter, match="epsilon"):
            kind(epsilon=epsilon, domain_size=domain_size)
        return
    protocol = kind(epsilon=epsilon, domain_size=domain_size)
    assert 0 < protocol.realised_epsilon <= epsilon
    if isinstance(protocol, Pure):
        assert 0 <= protocol.parameters.exact_q < protocol.parameters.exact_p <= 1
    if epsilon == 50:
        n = min(10_000, 2**25 // protocol.report_dtype.itemsize)
        reports = protocol.privatize(np.ones(n, dtype=np.int64), np.random.default_rng(1))
        counts = protocol.estimate(protocol.tally(reports)).counts
        # The error at the true share. One at the estimated share is 0 where all reports
        # happen to miss the value, as one time in 16 four reports of OUE do.
        error = math.sqrt(protocol.variance(n, 1.0))
        assert counts[1] == pytest.approx(n, abs=5 * error + 1e-6)


@pytest.mark.parametrize("kind", [*CLOSED])
def test_large_domain_works(kind) -> None:
    """A million values: one report, its tally and its estimates."""
    protocol = kind(epsilon=2.0, domain_size=2**20)
    reports = protocol.privatize([0, 2**20 - 1], np.random.default_rng(1))
    estimates = protocol.estimate(protocol.tally(protocol.parse(reports.tobytes(), None)))
    assert len(estimates) == 2**20
    assert np.isfinite(estimates.counts).all()


@pytest.mark.parametrize("kind", [*CLOSED])
def test_a_million_values_are_privatized(kind) -> None:
    """A million people at once, in bounded chunks, estimated within theory."""
    protocol = kind(epsilon=2.0, domain_size=3)
    values = np.arange(1_000_000) % 3
    true = np.bincount(values)
    # The operating system's randomness on all cores. By Bernstein's inequality 7 standard errors
    # are exceeded by one of three counts with probability below 3 * 2 exp(-24.3) < 2e-10.
    counts = protocol.estimate(protocol.tally(protocol.privatize(values))).counts
    assert (np.abs(counts - true) < 7 * np.sqrt(protocol.variance(len(values), true / 1e6))).all()


@pytest.mark.parametrize(
    ("p", "q"), [(0, 0.5), (1, 0.5), (0.5, 0), (0.2, 0.5), (0.5, 0.5), (math.nan, 0.1), ("a", 0.1)]
)
def test_general_unary_encoding_refuses_impossible_probabilities(p, q) -> None:
    """Both probabilities lie strictly between 0 and 1, and p is the larger."""
    with pytest.raises(InvalidParameter, match="expected"):
        UE(p, q, 4)


@pytest.mark.parametrize("g", [0, 1, -2, 2.5, None, 2**40, True])
def test_hash_range_must_be_a_whole_number_from_two(g) -> None:
    """Local hashing needs at least two hash values."""
    with pytest.raises(InvalidParameter, match="range"):
        LH(1.0, 10, g)
    if g is not None:
        with pytest.raises(InvalidParameter, match="range"):
            OpenLH(1.0, g)


@pytest.mark.parametrize("theta", [math.nan, math.inf, "1", 1e9])
def test_threshold_must_be_a_number(theta) -> None:
    """THE takes a finite theta, or None for the best."""
    with pytest.raises(InvalidParameter, match="theta"):
        THE(1.0, 10, theta)


def test_numpy_scalars_are_parameters_too() -> None:
    """Parameters from NumPy compare equal to Python's own."""
    assert DE(np.float64(1.0), np.int64(4)) == DE(1, 4)
    assert OLH(np.float32(0.5), np.uint8(9)) == OLH(0.5, 9)


def test_grr_is_another_name_for_de() -> None:
    """Generalised randomised response is direct encoding."""
    assert GRR is DE


def test_values_of_any_integer_type_are_taken() -> None:
    """Every NumPy integer type, lists and ranges are values."""
    protocol = DE(1.0, 100)
    for values in (range(5), [1, 2], (3,), np.arange(4, dtype=np.uint8), np.arange(4, dtype=">i4")):
        assert len(protocol.privatize(values, np.random.default_rng(1))) == len(values)


@pytest.mark.parametrize(
    "kind", [*CLOSED, lambda e, d: LH(e, d, 3), lambda e, d: OpenLH(e), lambda e, d: RAPPOR(e)]
)
@pytest.mark.parametrize(
    "epsilon", [10**400, -(10**400), 10**5000], ids=("long", "negative", "longer")
)
def test_integers_that_no_float_holds_are_no_epsilon(kind, epsilon) -> None:
    """However long the number is, the error is ours and short."""
    with pytest.raises(InvalidParameter, match="epsilon") as caught:
        kind(epsilon, 4)
    assert len(str(caught.value)) < 300


def test_long_numbers_are_no_other_parameter_either() -> None:
    """A domain size, threshold or probability of thousands of digits is refused as others are."""
    for make in (
        lambda: DE(1.0, 10**5000),
        lambda: THE(1.0, 4, 10**400),
        lambda: UE(10**5000, 0.5, 4),
        lambda: BasicRAPPOR(4, 10**5000),
    ):
        with pytest.raises(InvalidParameter, match="expected"):
            make()


@pytest.mark.parametrize("theta", [None, 0.7])
def test_thresholding_says_its_least_epsilon(theta) -> None:
    """Where floats cannot tell p from q there is no best threshold to be found."""
    with pytest.raises(InvalidParameter, match="at least 1e-12"):
        THE(1e-16, 8, theta)
    assert THE(1e-12, 8, theta).realised_epsilon <= 1e-12


def test_noise_weights_are_made_only_where_they_are_used() -> None:
    """A tally or a report from outside does not make the collector compute a table."""
    with pytest.raises(InvalidParameter, match=r"at least 0\.01"):
        SHE(0.009, 4)
    protocol = SHE(0.0123, 4)
    before = laplace_weights.cache_info().misses
    tally = Tally.from_bytes(protocol.tally(protocol.parse(bytes(32), None)).to_bytes())
    assert Protocol.from_specification(protocol.specification()) == tally.protocol
    assert laplace_weights.cache_info().misses == before
    assert len(laplace_weights(0.0123)) == 2 * protocol._reach + UNIT + 1
