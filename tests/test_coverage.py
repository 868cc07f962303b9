"""The 95 % intervals of every protocol cover the truth, by the exact law and end to end."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from deniable import (
    BLH,
    DE,
    LH,
    OLH,
    OUE,
    SHE,
    THE,
    AffineSelection,
    BasicRAPPOR,
    OpenLH,
    Protocol,
    Pure,
    SubsetSelection,
)
from deniable.advice.ranking import find_protocols
from deniable.law import SupportLaw
from tests.marks import shortened
from tests.naive.law import NormalLaw, estimates_of, support_law

PEOPLE = (1, 2, 3, 8, 40, 200, 5000, 1_000_000)


def coverage(protocol: Protocol, n: int, held: int, level: float = 0.95) -> float:
    """Return the exact probability that the interval holds the true count."""
    supports, chances = support_law(protocol, n, held)
    found = estimates_of(protocol, supports, n)
    lower, upper = found.interval(level)
    assert np.all((lower <= found.counts) & (found.counts <= upper))
    return float(chances[(lower <= held) & (held <= upper)].sum())


def _held(n: int) -> list[int]:
    """Return true counts: none, few, some, half, most, all."""
    counts = [0, 1, 2, 7, 40, n // 50, n // 7, n // 2, n - n // 9, n - 3, n - 1, n]
    return sorted({k for k in counts if 0 <= k <= n})


@pytest.mark.parametrize("n", shortened(PEOPLE, "sums of many terms", keep=5))
@pytest.mark.parametrize("epsilon", shortened([1.0, 0.1, 0.5, 2.5, 5.0, 10.0], "more epsilons"))
def test_every_count_is_covered(epsilon: float, n: int) -> None:
    """Every pure protocol, 1 to a million people, 2 to 1000 answers: at least 95 % less rounding.

    Where the law is summed exactly it is no less than 95 %; where it is taken for nearly normal,
    above a variance of 100, the tails are right to 1 % of 5 %.
    """
    protocols = [p for p in find_protocols(epsilon, 32) if isinstance(p, Pure)]
    protocols += [DE(epsilon, d) for d in (2, 3, 200, 1000)]
    protocols += [AffineSelection(epsilon, d) for d in (5, 200, 1000)]
    protocols += [SubsetSelection(epsilon, 6), LH(epsilon, 9, 6), BasicRAPPOR(9, 0.5, 0.75, 0.25)]
    usual = {"DE", "OUE", "SUE", "THE", "OLH", "BLH", "AffineSelection", "SubsetSelection"}
    assert usual <= {p.name for p in protocols}
    for protocol in protocols:
        for held in _held(n):
            found = coverage(protocol, n, held)
            assert found >= 0.9495, (protocol, held, found)


@pytest.mark.parametrize(
    ("protocol", "n", "held"),
    [(DE(10.0, 2), 5000, 2500), (DE(6.0, 2), 100, 50)],
    ids=str,
)
def test_frequent_answers_of_small_noise_are_covered(protocol: Protocol, n: int, held: int) -> None:
    """Where few reports are wrong the normal law covers as little as 79 %; the exact one 95 %."""
    supports, chances = support_law(protocol, n, held)
    law = protocol.law(n)
    assert isinstance(law, SupportLaw)
    lower, upper = NormalLaw(law.variance).interval(
        estimates_of(protocol, supports, n).counts, 0.025
    )
    assert chances[(lower <= held) & (held <= upper)].sum() < 0.93
    assert coverage(protocol, n, held) >= 0.95


def test_other_levels_are_covered_too() -> None:
    """Intervals of 50 to 99.9 % cover as much as they say."""
    for protocol in (DE(4.0, 20), OUE(2.0, 20), OLH(6.0, 20)):
        for n in (5, 90, 4000):
            for held in _held(n):
                for level in (0.5, 0.8, 0.99, 0.999):
                    assert coverage(protocol, n, held, level) >= level - 0.01 * (1 - level)


def test_the_check_has_power() -> None:
    """Intervals of 93 % do not pass for ones of 95 % where there are many reports."""
    for protocol in (DE(1.0, 32), OUE(1.0, 32), BLH(0.5, 4)):
        assert all(coverage(protocol, 10**5, held, 0.93) < 0.94 for held in (0, 5000, 50_000))


def _with_normal_supports() -> list[tuple[Protocol, int]]:
    """Return protocols and people with variances of the supports from just above 100 on."""
    chosen = []
    selections = (AffineSelection(1.0, 1000), AffineSelection(3.0, 200), SubsetSelection(1.0, 12))
    hashed = (OUE(3.0, 9), THE(2.0, 9), OLH(1.5, 50))
    for protocol in (DE(1.0, 9), DE(0.3, 100), *hashed, *selections):
        p, q = protocol.parameters.p, protocol.parameters.q
        least = math.ceil(100 / min(p * (1 - p), q * (1 - q))) + 1
        chosen += [(protocol, least), (protocol, 3 * least), (protocol, 1000 * least)]
    return chosen


@pytest.mark.parametrize(("protocol", "n"), _with_normal_supports(), ids=str)
def test_intervals_are_hardly_wider_than_the_score_interval(protocol: Protocol, n: int) -> None:
    """With variances above 100 exactness costs at most 3 % of the width."""
    p, q = protocol.parameters.p, protocol.parameters.q
    assert n * min(p * (1 - p), q * (1 - q)) > 100
    supports = np.unique(np.rint(np.linspace(0, n, 2000)))
    found, law = estimates_of(protocol, supports, n), protocol.law(n)
    assert isinstance(law, SupportLaw)
    lower, upper = found.interval()
    score = NormalLaw(law.variance).interval(found.counts, 0.025)
    assert np.all(upper - lower <= 1.03 * (score[1] - score[0]))
    for held in (0, n // 10, n // 2, n):
        assert 0.9495 <= coverage(protocol, n, held) <= 0.965


def test_intervals_go_on_beyond_all_counts() -> None:
    """Estimates below 0 and above n have intervals about them, which grow with them."""
    for protocol, n in ((DE(2.0, 5), 60), (OUE(1.0, 5), 50), (OUE(1.0, 5), 10**5)):
        found = estimates_of(protocol, np.arange(0, n + 1, max(1, n // 500)), n)
        lower, upper = found.interval()
        assert np.all(np.diff(lower) >= 0)
        assert np.all(np.diff(upper) >= 0)
        assert upper[0] < 0
        assert lower[-1] > n


def test_equal_supports_share_their_interval() -> None:
    """An interval depends on its own support only, however many answers there are."""
    for protocol, n in ((DE(6.0, 3), 1000), (OUE(1.0, 3), 10**4), (OUE(1.0, 3), 10**15)):
        supports = np.random.default_rng(3).binomial(n, 0.3, 40)
        alone = [estimates_of(protocol, supports[i : i + 1], n).interval() for i in range(40)]
        lower, upper = estimates_of(protocol, supports, n).interval()
        assert lower.tolist() == [float(ends[0][0]) for ends in alone]
        assert upper.tolist() == [float(ends[1][0]) for ends in alone]


@pytest.mark.parametrize("far", [[], [10**4, 10**7], range(0, 10**6, 50_000)])
def test_ends_are_computed_once_for_each_support(
    far: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many answers with equal supports cost no more than one, also if some are far from others."""
    computed: list[int] = []
    lower = SupportLaw._lower

    def recorded(self: SupportLaw, supports: np.ndarray, tail: float) -> np.ndarray:
        computed.append(len(supports))
        return lower(self, supports, tail)

    monkeypatch.setattr(SupportLaw, "_lower", recorded)
    near = np.random.default_rng(3).poisson(50.0, 4000)
    supports = np.random.default_rng(4).permutation(np.concatenate([near, far])).astype(float)
    estimates_of(OUE(1.0, 3), supports, 10**8).interval()
    assert computed == [len(np.unique(supports))] * 2


D, RUNS = 16, 400
LONG = pytest.mark.long("more protocols of the same law")
TRUTH = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05] + [0.0] * 8)


@pytest.mark.parametrize(
    ("protocol", "n"),
    [
        (DE(4.0, D), 200),
        (SHE(4.0, D), 100),
        pytest.param(AffineSelection(1.0, D), 200, marks=LONG),
        pytest.param(SHE(1.0, D), 20, marks=LONG),
        pytest.param(OLH(1.0, D), 200, marks=LONG),
        pytest.param(OpenLH(2.0), 60, marks=LONG),
        pytest.param(SubsetSelection(1.0, D), 200, marks=LONG),
    ],
    ids=str,
)
def test_intervals_cover_the_truth_end_to_end(protocol: Protocol, n: int) -> None:
    """Of 6,400 intervals from real reports 94 to 98 % hold the truth: few reports, whole counts."""
    truth, rng = np.round(n * TRUTH).astype(np.int64), np.random.default_rng(31)
    values = np.repeat(np.arange(D), truth)
    covered = []
    for _ in range(RUNS):
        tally = protocol.tally(protocol.privatize(values, rng))
        candidates = (np.arange(D, dtype=np.uint64),) if isinstance(protocol, OpenLH) else ()
        lower, upper = protocol.estimate(tally, *candidates).interval()
        covered.append((lower <= truth) & (truth <= upper))
    assert 0.94 <= np.mean(covered) <= 0.98
