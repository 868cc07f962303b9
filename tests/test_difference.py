"""Limits of differences: against an independent computation, against Fisher's test, and covering.

The coverage is computed by the exact law of the reports; ``python -m benchmarks.coverage`` has
more sizes, protocols and shares.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from benchmarks.coverage import (
    LARGE,
    PEOPLE,
    SHARES,
    Repeated,
    coverage,
    former_reach,
    measure_widths,
    protocols,
    repeated_sample,
    sample,
)
from deniable import DE, OUE, SHE, Comparison, Estimates, compare
from deniable.law.difference import fisher_tail, upper_limits
from tests.marks import examples, shortened


def _tail(limit: float, x: int, n: int, y: int, m: int) -> float:
    """Return the probability that B(y + 1, m - y) - B(x, n - x + 1) exceeds a limit."""
    after, before = beta(y + 1, m - y), beta(x, n - x + 1)
    places = np.sort(np.r_[after.ppf([1e-14, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-14]),
                           limit + before.ppf([1e-12, 1e-3, 0.5, 0.999, 1 - 1e-12])])  # fmt: skip
    places = places.clip(*after.ppf([1e-14, 1 - 1e-14]))
    return sum(
        quad(lambda c: after.pdf(c) * before.cdf(c - limit), low, high, epsabs=1e-11, limit=200)[0]
        for low, high in itertools.pairwise(places)
        if high > low
    )


@pytest.mark.parametrize("tail", [0.25, 0.025, 1e-4])
def test_limits_are_quantiles_of_the_difference(tail: float) -> None:
    """Of tables of every size, the limit leaves out the tail, summed or by the expansion."""
    rng = np.random.default_rng(1)
    for _ in range(examples(40)):
        n, m = (int(10 ** rng.uniform(0, 5)) for _ in range(2))
        x, y = int(rng.integers(1, n + 1)), int(rng.integers(0, m))
        if rng.random() < 0.5:
            x, y = min(x, 1 + x % 30), min(y, y % 30)
        found = float(upper_limits(np.array([float(x)]), n, np.array([float(y)]), m, tail)[0])
        exact = min(x, n - x + 1, y + 1, m - y) < 40
        assert _tail(found, x, n, y, m) == pytest.approx(tail, rel=1e-5 if exact else 0.01)


def test_limits_at_the_ends_are_those_of_one_chance() -> None:
    """Where one sample cannot tell a limit the other one's is left, and all is possible at most."""
    zero, n = np.array([0.0]), 12
    assert upper_limits(zero, n, zero + n, n, 0.025)[0] == 1.0
    for y in range(n):
        expected = beta.isf(0.025, y + 1, n - y)
        assert upper_limits(zero, n, zero + y, n, 0.025)[0] == pytest.approx(expected, abs=1e-7)
    n = 10**17
    limit = upper_limits(zero + n / 2, n, zero + n / 2, n, 0.025)[0]
    assert limit == pytest.approx(1.96 * math.sqrt(0.5 / n), rel=1e-3)


@pytest.mark.parametrize(
    "sizes",
    shortened([(1, 1), (2, 7), (12, 12), (9, 40), (60, 60)], "many tables", keep=4),
    ids=str,
)
def test_an_interval_holds_zero_unless_the_test_finds_a_change(sizes: tuple[int, int]) -> None:
    """Melded limits and Fisher's exact test decide alike, for all tables of some sizes."""
    n, m = sizes
    x, y = (grid.ravel().astype(float) for grid in np.indices((n + 1, m + 1)))
    fisher = fisher_tail(x, n, y, m)
    clear = np.abs(fisher - 0.025) > 1e-6
    found = upper_limits(x, n, y, m, 0.025) < 0
    assert np.array_equal(found[clear], (fisher <= 0.025)[clear])


@pytest.mark.parametrize(
    "sizes",
    shortened(
        [(1, 1), (2, 2), (1, 3), (7, 7), (1, 60), (40, 5), (20, 20), (50, 50)],
        "enumerates all pairs of counts",
        keep=4,
    ),
    ids=str,
)
def test_intervals_of_few_reports_cover_by_the_exact_law(sizes: tuple[int, int]) -> None:
    """Each pair of shares is covered with 95 %, drawn from a population or held by so many."""
    shares = SHARES[::3]
    for protocol in (*protocols(1.0), *protocols(5.0))[:: 1 if max(sizes) < 20 else 5]:
        for drawn in (True, False):
            samples = [sample(protocol, n, shares, drawn=drawn) for n in sizes]
            assert coverage(*samples).min() >= 0.95


def test_the_rule_of_version_0_2_would_be_caught() -> None:
    """Intervals as the former rule had them cover less than what is promised now."""
    protocol = DE(5.0, 2)
    first, second = (sample(protocol, 2, SHARES, drawn=True) for _ in range(2))
    i, j = (grid.ravel() for grid in np.indices((3, 3)))
    both = first.estimates.take(i), second.estimates.take(j)
    differences = both[1].shares - both[0].shares
    below, above = former_reach(*both, protocol)
    found = []
    for (before, x), (after, y) in itertools.product(first.laws, second.laws):
        covered = (differences - below <= y - x) & (differences + above >= y - x)
        found.append(before @ covered.reshape(3, 3) @ after)
    assert min(found) < 0.945


@pytest.mark.long("limits of many sizes")
def test_intervals_of_many_reports_are_no_wider_than_before() -> None:
    """Above 500 reports on both sides they have at most 1.03 of the width that they had."""
    assert measure_widths(LARGE[:3], (1.0, 5.0)) <= 1.03


@pytest.mark.parametrize("setting", PEOPLE, ids=str)
def test_intervals_of_people_who_answered_again_cover(setting: Repeated) -> None:
    """Whoever sent how many reports, a change of the population is covered with 94 %."""
    found = coverage(repeated_sample(setting, 0), repeated_sample(setting, 1))
    assert found[0, 0] >= 0.94


@pytest.mark.parametrize("sizes", [(1, 1), (5, 30), (60, 60), (400, 60)], ids=str)
def test_intervals_of_noisy_histograms_cover(sizes: tuple[int, int]) -> None:
    """SHE too covers rare answers, whose estimates are as often below 0 as above (seeded)."""
    rng, runs = np.random.default_rng([5, *sizes]), 4000
    for epsilon, shares in ((5.0, (0.05, 0.05)), (8.0, (0.05, 0.6)), (1.0, (0.02, 0.5))):
        samples = []
        for n, share in zip(sizes, shares, strict=True):
            # The noise is drawn as a sum, with the law that ``SHE`` has up to its grid.
            counts = rng.binomial(n, share, runs) + rng.laplace(0, 2 / epsilon, (runs, n)).sum(1)
            errors = np.full(runs, math.sqrt(8 * n) / epsilon)
            law = SHE(epsilon, 2).law(n)
            samples.append(Estimates(counts, errors, n, float(errors[0]), law=law))
        lower, upper = Comparison(*samples).interval()
        true = shares[1] - shares[0]
        # 0.95 less four standard errors of 4,000 runs.
        assert np.mean((lower <= true) & (true <= upper)) >= 0.95 - 4 * (0.05 * 0.95 / runs) ** 0.5


def test_what_is_significant_leaves_out_zero() -> None:
    """No change is called significant whose own interval holds 0."""
    rng = np.random.default_rng(2)
    for protocol in (DE(4.0, 2), OUE(3.0, 5)):
        for n, m in ((30, 30), (500, 90), (4000, 4000)):
            d = protocol.domain_size
            for _ in range(examples(20)):
                first, second = (
                    protocol.estimate(protocol.tally(protocol.privatize(people, rng)))
                    for people in (rng.integers(0, d, n), rng.integers(0, d, m) // 2)
                )
                changes = compare(first, second)
                lower, upper = changes.interval()
                assert not np.any(changes.significant() & (lower <= 0) & (upper >= 0))
