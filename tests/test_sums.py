"""Sums of rows: several answers together with an error that holds."""

import numpy as np
import pytest

from benchmarks import answers as benchmark
from deniable import (
    BLH,
    DE,
    LH,
    OLH,
    OUE,
    RAPPOR,
    SHE,
    THE,
    AffineSelection,
    Estimates,
    InvalidParameter,
    OpenLH,
    OutOfDomain,
    Protocol,
    Question,
    RandomMatrixProjection,
    SubsetSelection,
)
from deniable.protocol import Pure
from tests.marks import shortened

EXACT = [DE(1.0, 9), SubsetSelection(1.0, 9), OUE(1.0, 9), THE(1.0, 9), SHE(2.0, 9)]
LINES = [AffineSelection(2.0, 60, 8, 2, 2), OLH(3.0, 120)]


@pytest.mark.parametrize(
    "protocol",
    shortened([*EXACT[::2], *LINES, *EXACT[1::2]], "more protocols", keep=4),
    ids=repr,
)
def test_errors_of_sums_are_those_that_are_stated(protocol: Protocol) -> None:
    """Squared errors of sums match their variances, covariances included."""
    rng, d, n = np.random.default_rng(1), protocol.domain_size, 2000
    values = rng.choice(d, n, p=rng.dirichlet(np.full(d, 0.5))).astype(np.uint64)
    true = np.bincount(values.astype(np.int64), minlength=d)
    # The sum of all is left out: of some protocols it has no error at all.
    ways = np.array([np.arange(d) < d // 3, np.arange(d) < d - 1, np.arange(d) / d], dtype=float)
    errors, stated = [], []
    for _ in range(250):
        found = protocol.estimate(protocol.tally(protocol.privatize(values, rng)))
        sums = found.combined(ways, ["third", "most", "weighted"])
        errors.append(sums.counts - ways @ true)
        stated.append(sums.std_errors**2)
    ratio = np.mean(np.square(errors), axis=0) / np.mean(stated, axis=0)
    # A mean of 250 squares has a standard error of 9 %.
    assert np.all(np.abs(ratio - 1) < 0.4), ratio


@pytest.mark.parametrize(
    "protocol",
    [
        OLH(1.0, 60), OLH(3.0, 120), OLH(2.0, 50, g=8), OLH(4.0, 40), BLH(1.0, 60), LH(1.0, 30, 9),
        AffineSelection(1.0, 60), AffineSelection(2.0, 60, 8, 2, 1),
        AffineSelection(2.0, 60, 8, 2, 2), AffineSelection(1.0, 200, 7, 3, 2),
        AffineSelection(1.0, 150), AffineSelection(3.0, 160, 169, 1),
    ],
    ids=repr,
)  # fmt: skip
def test_variances_of_sums_of_lines_are_those_of_all_reports(protocol: Pure) -> None:
    """They are what enumerating every report gives, of which two values in line share more.

    Pairs that are right on average over the values were up to five times too small.
    """
    d, p, q = protocol.domain_size, protocol.parameters.p, protocol.parameters.q
    codes = _codes(protocol)
    reports = np.arange(codes).astype(protocol.report_dtype)
    supports = np.array([protocol.supports(reports, v) for v in range(d)], dtype=np.float64)
    shares = 1 / np.arange(1, d + 1)
    shares /= shares.sum()
    each = float(supports[0].sum())
    w1, w0 = p / each, (1 - p) / (codes - each)
    ways = np.array([np.arange(d) < d // 4, np.arange(d) % 4 == 0, np.cos(np.arange(d))], float)
    squares = ((ways @ supports) ** 2 * (w0 + (w1 - w0) * (shares @ supports))).sum(axis=1)
    means = q * ways.sum(axis=1, keepdims=True) + (p - q) * ways
    exact = (squares - means**2 @ shares) / (p - q) ** 2
    joint = protocol._joint(1000 * shares, 1000)
    assert joint.variance(ways, shares) == pytest.approx(1000 * exact, rel=1e-9)
    some = np.array([3, 0, 7])
    chosen = np.zeros((1, d))
    chosen[0, some] = 1
    few = joint.take(some).take(np.array([0, 2, 1])).variance(np.ones((1, 3)), shares)
    assert few == pytest.approx(joint.variance(chosen, shares))


def _codes(protocol: Pure) -> int:
    if isinstance(protocol, AffineSelection):
        return protocol.codes
    return int(protocol._family.reports)


def test_sums_over_hash_functions_cover() -> None:
    """Cumulated counts and thirds of what local hashing counts are covered, frequent ones first."""
    rng, covered = np.random.default_rng(9), []
    for protocol in (OLH(3.0, 120), OLH(1.0, 120), BLH(1.0, 120), LH(2.0, 120, 9)):
        d, n = protocol.domain_size, 4000
        shares = 1 / np.arange(1, d + 1)
        ways = np.tril(np.ones((d, d)))[[5, 20, 30, 60, 90]]
        for _ in range(60):
            values = rng.choice(d, n, p=shares / shares.sum()).astype(np.uint64)
            true = ways @ np.bincount(values.astype(np.int64), minlength=d)
            found = protocol.estimate(protocol.tally(protocol.privatize(values, rng)))
            lower, upper = found.combined(ways, list("abcde")).interval()
            covered += ((lower <= true) & (true <= upper)).tolist()
    # 1,200 figures of 240 tallies. By pairs that are right on average .88 were, of the first .79.
    assert 0.925 < np.mean(covered) < 0.98


def test_an_independent_sum_would_be_wrong() -> None:
    """The errors of direct encoding depend on each other: all answers together have none."""
    protocol = DE(1.0, 4)
    found = protocol.estimate(protocol.tally(protocol.privatize([0, 1, 2, 3] * 50)))
    whole = found.combined(np.ones((1, 4)), ["all"])
    assert whole.counts[0] == pytest.approx(200)
    assert whole.std_errors[0] == pytest.approx(0, abs=1e-3)
    assert np.sqrt((found.std_errors**2).sum()) > 10


def fruit() -> tuple[Question, Estimates]:
    """Return a question whose labels have two parts, and its estimates."""
    labels = ["kiwi / raw", "kiwi / jam", "fig / raw", "fig / jam"]
    question = Question("fruit", labels, epsilon=2.0)
    answers = ["kiwi / raw"] * 400 + ["kiwi / jam"] * 300 + ["fig / jam"] * 300
    tally = question.tally(question.privatize(answers, np.random.default_rng(1)))
    return question, question.estimate(tally)


def test_sums_groups_margins_and_cumulated_counts() -> None:
    """All are sums of the unbiased counts, with labels, intervals and their provenance."""
    question, found = fruit()
    both = found.sum(["kiwi / raw", "kiwi / jam"])
    assert both.count == pytest.approx(found.counts[:2].sum())
    assert both.lower < 700 < both.upper
    groups = found.group({label: label.split(" / ")[0] for label in found.labels})
    assert groups.labels == ("kiwi", "fig")
    assert groups.provenance == question.provenance
    assert groups.adds_up
    assert np.allclose(found.margin(0).counts, groups.counts)
    assert found.margin(1).labels == ("raw", "jam")
    until = found.cdf()
    assert until.labels[1] == "up to kiwi / jam"
    assert until.counts[1] == pytest.approx(both.count)
    assert not until.adds_up
    again = groups.sum(["kiwi", "fig"])
    assert again.count == pytest.approx(found.counts.sum())
    assert found.top(2).sum(list(found.top(2).labels)).count == pytest.approx(
        np.sort(found.counts)[-2:].sum()
    )
    grid = found.grid()
    assert grid.rows == ("kiwi", "fig")
    assert grid.shares[1, 1] == pytest.approx(found["fig / jam"].share)


def test_sums_that_make_no_sense_are_refused() -> None:
    """Unknown, repeated and missing labels, and labels without parts."""
    _, found = fruit()
    with pytest.raises(OutOfDomain, match="labels that were estimated"):
        found.sum(["plum"])
    with pytest.raises(InvalidParameter, match="each label once"):
        found.sum(["kiwi / raw", "kiwi / raw"])
    with pytest.raises(InvalidParameter, match="a list"):
        found.sum("kiwi / raw")
    with pytest.raises(OutOfDomain, match="a group for every label"):
        found.group({"kiwi / raw": "kiwi"})
    with pytest.raises(InvalidParameter, match="a part from 0 to 1"):
        found.margin(2)
    with pytest.raises(InvalidParameter, match="as many parts"):
        found.margin(0, "|")
    with pytest.raises(InvalidParameter, match="every pair"):
        found.take([0, 1, 3]).grid()
    protocol = DE(1.0, 4)
    bare = protocol.estimate(protocol.tally(protocol.privatize([0])))
    with pytest.raises(OutOfDomain, match="no labels"):
        bare.cdf()


@pytest.mark.parametrize(
    "protocol", [RAPPOR(epsilon=2.0), RandomMatrixProjection(1.0, 4, 100), LH(1.0, 4, g=6)]
)
def test_sums_are_refused_where_their_error_is_not_known(protocol: Protocol) -> None:
    """Without the errors of pairs there is no sum, and the reason is said."""
    tally = protocol.tally(protocol.privatize([0, 1, 2] * 20))
    candidates = np.arange(4, dtype=np.uint64) if isinstance(protocol, RAPPOR) else None
    with pytest.raises(InvalidParameter, match="depend on each other is not known"):
        protocol.estimate(tally, candidates).combined(np.ones((1, 4)), ["all"])


def test_intervals_of_sums_cover() -> None:
    """A short form of ``benchmarks.answers sums``."""
    covered = benchmark.sum_coverage(3, 10_000)
    # 1,272 figures, many of which depend on each other: 24 tallies.
    assert 0.90 < np.mean(covered) < 0.99


def test_an_open_question_says_how_many_its_candidates_do_not_cover() -> None:
    """The rest has an interval, stays with the largest rows, and is in the text."""
    question = Question("word", None, OpenLH(2.0))
    answers = ["kiwi"] * 3000 + ["fig"] * 1000 + ["plum"] * 2000
    tally = question.tally(question.privatize(answers, np.random.default_rng(2)))
    found = question.estimate(tally, ["kiwi", "fig"])
    (rest,) = found.rest.rows()
    assert rest.label == "none of these candidates"
    assert rest.lower < 2000 < rest.upper
    assert rest.count == pytest.approx(6000 - found.counts.sum())
    assert found.top(1).rest == found.rest
    assert "none of these candidates:" in found.table()
    (none,) = question.estimate(tally, ["kiwi", "fig", "plum"]).rest.rows()
    assert none.lower < 0 < none.upper
