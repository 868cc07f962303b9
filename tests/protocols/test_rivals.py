"""What the paper compares with: Basic RAPPOR, RAPPOR and random matrix projection."""

import math
import secrets

import numpy as np
import pytest

from deniable import (
    BLH,
    RAPPOR,
    SUE,
    BasicRAPPOR,
    InvalidParameter,
    Question,
    RandomMatrixProjection,
    Tally,
    audit,
    fingerprints,
)
from deniable.auditing import output_law
from tests.marks import shortened
from tools.paper.trials import simulate_tally


def test_permanent_response_is_the_same_ten_thousand_times() -> None:
    """The same secret and value give the same bits, another secret or value others."""
    protocol = BasicRAPPOR(domain_size=64, f=0.5, p=0.75, q=0.25)
    client = protocol.client(b"a secret of at least sixteen bytes", context="")
    first = client.permanent(7).tobytes()
    assert all(client.permanent(7).tobytes() == first for _ in range(10_000))
    assert (
        protocol.client(b"a secret of at least sixteen bytes", context="").permanent(7).tobytes()
        == first
    )
    assert client.permanent(8).tobytes() != first
    assert (
        protocol.client(b"another secret of sixteen bytes", context="").permanent(7).tobytes()
        != first
    )
    assert protocol.client(client.secret, context="other question").permanent(7).tobytes() != first


def test_averaging_ten_thousand_reports_gains_no_more_than_the_permanent_response() -> None:
    """The average of the reports recovers the permanent bits, and they are all it recovers."""
    protocol = BasicRAPPOR(domain_size=16, f=0.5, p=0.75, q=0.25)
    right = 0
    trials = 400
    for trial in range(trials):
        client = protocol.client(trial.to_bytes(16, "little"), context="")
        reports = client.privatize(np.full(10_000, 3), np.random.default_rng(trial))
        means = np.unpackbits(reports, axis=1, count=16, bitorder="little").mean(axis=0)
        recovered = means > 0.5
        permanent = np.unpackbits(client.permanent(3)[0], count=16, bitorder="little") == 1
        assert np.array_equal(recovered, permanent)
        right += recovered[3]
    kept = 1 - protocol.f / 2
    assert abs(right / trials - kept) < 5 * math.sqrt(kept * (1 - kept) / trials)


def test_longitudinal_guarantee_grows_to_that_of_the_permanent_response() -> None:
    """One report spends less than two, and infinitely many no more than the permanent step."""
    protocol = BasicRAPPOR(32, 0.5, 0.75, 0.25)
    losses = [protocol.epsilon_after(k) for k in (1, 2, 3, 10, 100)]
    assert losses == sorted(losses)
    assert losses[0] == protocol.epsilon
    assert losses[-1] <= protocol.epsilon_forever == pytest.approx(math.log(9))
    assert protocol.realised_epsilon <= protocol.epsilon


def test_one_report_setting_is_symmetric_unary_encoding() -> None:
    """With the permanent step alone, the law is that of SUE, but for the rounding of f."""
    basic = BasicRAPPOR.from_epsilon(2.0, 4)
    symmetric = SUE(2.0, 4)
    assert basic.parameters.p == pytest.approx(symmetric.parameters.p, abs=1e-15)
    same = BasicRAPPOR(4, f=0.5)
    twin = SUE(same.epsilon, 4)
    laws = [output_law(p, 1) for p in (same, twin)]
    for mine, theirs in zip(laws[0].weights, laws[1].weights, strict=True):
        assert mine.keys() == theirs.keys()
        for key, weight in mine.items():
            assert weight == pytest.approx(theirs[key], rel=1e-12)


def test_bad_clients_and_parameters_are_refused() -> None:
    """Short secrets, one of p and q, and impossible probabilities get a clear error."""
    protocol = BasicRAPPOR(4, 0.5)
    for secret in (b"short", "a string that is long enough", None):
        with pytest.raises(InvalidParameter, match="secret"):
            protocol.client(secret, context="")
    for arguments in ((4, 0), (4, 1), (4, 0.5, 0.75), (4, 0.5, 0.2, 0.7), (1, 0.5), (4, "half")):
        with pytest.raises(InvalidParameter, match="expected"):
            BasicRAPPOR(*arguments)
    with pytest.raises(InvalidParameter, match="give epsilon or f"):
        RAPPOR()
    with pytest.raises(InvalidParameter, match="expected"):
        RAPPOR(epsilon=1.0, f=0.9)


@pytest.mark.parametrize("hashes", shortened([1, 2], "large enumerations"))
@pytest.mark.parametrize("epsilon", shortened([2.0, 0.5, 4.0], "large enumerations"))
def test_small_bloom_filter_spends_at_most_epsilon(epsilon: float, hashes: int) -> None:
    """Every report of a small filter is enumerated; the worst ratio is within the stated one."""
    protocol = RAPPOR(epsilon=epsilon, bits=8, hashes=hashes, cohorts=2)
    found = audit(protocol, calls=200, rng=np.random.default_rng(9))
    assert found.exact
    assert found.epsilon <= protocol.realised_epsilon <= protocol.epsilon
    assert found.epsilon > 0.4 * epsilon


def test_open_questions_take_rappor() -> None:
    """Labels nobody listed in advance go the whole way: question, reports, tally, estimates."""
    question = Question("home page", None, RAPPOR(epsilon=5.0, bits=64, cohorts=8))
    again = Question.from_json(question.to_json())
    reports = again.privatize(["a.example"] * 6000 + ["b.example"] * 2000, np.random.default_rng(6))
    found = question.estimate(again.tally(reports), ["a.example", "b.example", "c.example"])
    assert np.all(np.abs(found.counts - [6000, 2000, 0]) < 6 * found.std_errors)


def test_epsilon_of_rappor_is_the_stated_formula() -> None:
    """2 hashes ln((1 - f/2) / (f/2)): 4.39 at f = 1/2 and 7.78 at f = 1/4."""
    assert RAPPOR(f=0.5).epsilon == pytest.approx(math.log(81))
    assert RAPPOR(f=0.25).epsilon == pytest.approx(4 * math.log(7))
    assert RAPPOR(epsilon=4.0).realised_epsilon <= 4.0


@pytest.mark.long("20 regressions of a hundred candidates")
def test_a_hundred_separate_candidates_are_estimated_without_bias() -> None:
    """Over repeated runs the mean error of each candidate is within its standard error."""
    protocol = RAPPOR(epsilon=4.0, bits=128, hashes=2, cohorts=64)
    labels = [f"candidate {i}" for i in range(100)]
    held = np.linspace(500, 8000, 100).astype(np.int64)
    rng = np.random.default_rng(1)
    errors, stated = [], []
    for _ in range(20):
        tally = simulate_tally(protocol, held, rng, fingerprints(labels))
        found = protocol.estimate(tally, labels)
        errors.append(found.counts - held)
        stated.append(found.std_errors)
    scores = np.mean(errors, axis=0) / (np.mean(stated, axis=0) / math.sqrt(len(errors)))
    assert np.abs(scores).max() < 5
    ratio = np.mean(np.square(errors)) / np.mean(np.square(stated))
    assert 0.8 < ratio < 1.25


def test_rappor_reports_and_simulated_tallies_have_the_same_law() -> None:
    """Tallies of real reports and simulated ones agree bit by bit within noise."""
    protocol = RAPPOR(epsilon=3.0, bits=32, hashes=2, cohorts=4)
    values = np.repeat(np.arange(3, dtype=np.uint64), [50_000, 20_000, 5_000])
    real = protocol.tally(protocol.privatize(values, np.random.default_rng(2)))
    drawn = simulate_tally(protocol, [50_000, 20_000, 5_000], np.random.default_rng(3))
    a, b = (t.statistic.values.astype(float) for t in (real, drawn))
    assert real.n == drawn.n == 75_000
    assert np.all(np.abs(a - b) < 6 * np.sqrt(a + b + 1))
    assert Tally.from_bytes(real.to_bytes()) == real


def test_projection_equals_binary_local_hashing_in_law() -> None:
    """The same p*, q*, variance and privacy, and the measured error is BLH's."""
    projection = RandomMatrixProjection(2.0, 64, rows=1 << 20)
    binary = BLH(2.0, 64)
    assert projection.parameters == binary.parameters
    assert projection.worst_ratio == binary.worst_ratio
    assert projection.variance(1000, 0.3) == pytest.approx(binary.variance(1000, 0.3), rel=1e-2)
    values = np.random.default_rng(4).geometric(0.2, 4000) % 64
    true = np.bincount(values, minlength=64)
    measured = {}
    for protocol in (projection, binary):
        rng = np.random.default_rng(5)
        runs = [
            protocol.estimate(protocol.tally(protocol.privatize(values, rng))) for _ in range(60)
        ]
        measured[protocol.name] = np.mean([(run.counts - true) ** 2 for run in runs])
    theory = np.mean(binary.variance(4000, true / 4000))
    assert measured["BLH"] == pytest.approx(theory, rel=0.1)
    assert measured["RandomMatrixProjection"] == pytest.approx(theory, rel=0.1)


def test_projection_rows_are_fair_coins() -> None:
    """Over many rows any two values agree half of the time."""
    protocol = RandomMatrixProjection(1.0, 100, rows=1 << 18)
    rows = np.arange(1 << 18, dtype=np.uint64)
    reports = (rows * np.uint64(2)).astype(protocol.report_dtype)
    bits = np.array([protocol.supports(reports, v) for v in (0, 1, 63, 64, 99)])
    for i in range(len(bits)):
        assert abs(bits[i].mean() - 0.5) < 5 * 0.5 / 512
        for j in range(i):
            assert abs(np.mean(bits[i] == bits[j]) - 0.5) < 5 * 0.5 / 512


def test_secrets_of_the_standard_library_will_do() -> None:
    """A client made as the documentation says answers."""
    protocol = BasicRAPPOR(8, 0.5, 0.75, 0.25)
    assert protocol.client(secrets.token_bytes(32), context="").privatize([1, 2]).shape == (2, 1)


@pytest.mark.parametrize("reports", [-1, 0, 1.5, "2", None, True])
def test_longitudinal_guarantee_takes_whole_numbers_of_reports(reports) -> None:
    """There is no privacy loss of minus one report, nor of one and a half."""
    for protocol in (BasicRAPPOR(32, 0.5, 0.75, 0.25), BasicRAPPOR(32, 0.5)):
        with pytest.raises(InvalidParameter, match="number of reports as a whole number"):
            protocol.epsilon_after(reports)
        assert protocol.epsilon_after(np.int64(1)) == protocol.epsilon
