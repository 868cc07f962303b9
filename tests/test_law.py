"""The laws of counts, against their definitions; false alarms by the exact law."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deniable import (
    DE,
    LH,
    OUE,
    RAPPOR,
    SHE,
    UE,
    BasicRAPPOR,
    Estimates,
    OpenLH,
    Protocol,
    Pure,
    RandomMatrixProjection,
)
from deniable.advice.ranking import find_protocols
from deniable.law import (
    LaplaceLaw,
    RepeatedLaw,
    SupportLaw,
    Variance,
    WidenedLaw,
    upper_normal,
)
from deniable.law.binomial_sum import Chance, at_least, saddle_point, tail_of, upper_quantile
from deniable.protocols.histogram import laplace_weights
from tests.marks import examples, shortened
from tests.naive.law import NormalLaw, estimates_of
from tests.test_binomial_sum import naive_tail
from tools.paper.trials import simulate_tally

CROWDS = (1, 2, 5, 10, 100, 10**4, 10**6)


def _chance(exact: Fraction | float) -> Chance:
    return Chance(float(exact), float(1 - exact))


# Sums of two binomials.


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_sums_are_the_definition(n: int) -> None:
    """Tails of Bin(k, p) + Bin(n - k, q) are those of all outcomes, one by one."""
    p, q = Fraction(7, 10), Fraction(1, 1000)
    for k, s in product(range(n + 1), range(n + 2)):
        exact = Fraction(0)
        for outcome in product((0, 1), repeat=n):
            if sum(outcome) >= s:
                chances = [p] * k + [q] * (n - k)
                exact += math.prod(c if o else 1 - c for o, c in zip(outcome, chances, strict=True))
        expected = pytest.approx(float(exact), rel=1e-9)
        assert tail_of(n, k, s, _chance(p), _chance(q)) == expected
        if 0 < s <= n:
            many = at_least(n, np.array([float(k)]), np.array([float(s)]), _chance(p), _chance(q))
            assert float(many[0]) == expected


@settings(deadline=None, max_examples=examples(200))
@given(
    k=st.integers(0, 2000),
    others=st.integers(0, 2000),
    p=st.floats(1e-4, 1 - 1e-4),
    q=st.floats(1e-4, 1 - 1e-4),
)
def test_the_saddle_point_is_within_a_hundredth(k: int, others: int, p: float, q: float) -> None:
    """Above a variance of 100 all tails down to 10^-9 are right to 0.2 %."""
    variance = k * p * (1 - p) + others * q * (1 - q)
    if variance < 100:
        return
    terms = stats.binom.pmf(np.arange(k + 1), k, p)
    folded = np.convolve(terms, stats.binom.pmf(np.arange(others + 1), others, q))
    tails = np.cumsum(folded[::-1])[::-1]
    mean, spread = k * p + others * q, math.sqrt(variance)
    for z in (-6, -2, -1, -0.01, 0.0, 0.5, 1.6, 2, 3, 4, 5.5):
        s = round(mean + z * spread)
        if 0 < s < k + others and tails[s] > 1e-9:
            found = saddle_point(k + others, k, s, _chance(p), _chance(q))
            assert found == pytest.approx(tails[s], rel=2e-3)


@pytest.mark.parametrize("trials", [1, 2, 7, 60, 200])
@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1 << 40)])
def test_quantile_is_the_definition(trials: int, chance: Fraction) -> None:
    """The quantile is the least k whose tail is small enough, and no k below it is."""
    for tail in (Fraction(1, 3), Fraction(1, 1000), Fraction(1, 10**7 + 1)):
        k = upper_quantile(trials, _chance(chance), float(tail))
        assert naive_tail(trials, chance, k) <= tail
        assert k == 0 or naive_tail(trials, chance, k - 1) > tail


@pytest.mark.parametrize("n", [10**4, 10**6, 10**7, 10**9])
@pytest.mark.parametrize("chance", [1e-5, 0.02, 0.3, 0.5, 0.9])
def test_quantiles_of_many_are_right(n: int, chance: float) -> None:
    """Whatever way is taken the quantile is SciPy's, or next to it among many millions."""
    for tail in (0.025, 0.05 / 1000, 1e-9):
        found, expected = upper_quantile(n, _chance(chance), tail), stats.binom.isf(tail, n, chance)
        assert abs(found - expected) <= (n * chance > 1e5)


@pytest.mark.parametrize("n", [10**16, 10**18 - 1])
def test_quantiles_of_all_there_can_be_are_right(n: int) -> None:
    """The largest tallies have the normal quantile; rare supports have Poisson's."""
    for tail in (0.025, 0.05 / 4, 1e-12):
        for chance in (0.1, 0.2689, 0.5):
            z = (upper_quantile(n, _chance(chance), tail) - n * chance) / math.sqrt(
                n * chance * (1 - chance)
            )
            assert z == pytest.approx(upper_normal(tail), rel=1e-6)
        assert upper_quantile(n, _chance(7 / n), tail) == stats.poisson.isf(tail, 7)


def test_the_largest_tally_is_decided() -> None:
    """With 10^18 - 1 reports intervals, threshold and table come out, and are the normal law's."""
    n = 10**18 - 1
    for protocol in (OUE(1.0, 4), DE(5.0, 4), SHE(1.0, 4)):
        null = math.sqrt(float(protocol.variance(n)))
        held = np.array([0.0, 5.0 * null, 0.25 * n, 0.75 * n])
        errors = np.sqrt(protocol.variance(n, held / n))
        found = Estimates(held, errors, n, null, law=protocol.law(n))
        assert found.threshold() == pytest.approx(upper_normal(0.05 / 4) * null, rel=1e-4)
        assert found.significant().tolist() == [False, True, True, True]
        lower, upper = found.interval()
        assert upper - lower == pytest.approx(2 * upper_normal(0.025) * errors, rel=1e-4)
        assert "✓" in found.table()


# False alarms.


def _false_alarm(protocol: Protocol, n: int, answers: int) -> tuple[float, float]:
    """Return the chance that an answer nobody gave is significant, and that of one report less."""
    q = protocol.parameters.q
    middle, reach = n * q, 12 * math.sqrt(n * q * (1 - q)) + 40
    supports = np.arange(max(0, math.floor(middle - reach)), min(n, math.ceil(middle + reach)) + 1)
    accepted = estimates_of(protocol, supports, n, answers).significant()
    assert np.all(accepted[:-1] <= accepted[1:])
    first = int(supports[accepted.argmax()]) if accepted.any() else n + 1
    assert accepted.any() or supports[-1] == n
    return float(stats.binom.sf(first - 1, n, q)), float(stats.binom.sf(first - 2, n, q))


def _pure(epsilon: float, answers: int) -> list[Pure]:
    """Return every pure protocol: those that advice ranks, and those with settings of their own."""
    ranked = [p for p in find_protocols(epsilon, answers) if isinstance(p, Pure)]
    others = [UE(0.7, 0.1, answers), BasicRAPPOR(answers, 0.5, 0.75, 0.25), LH(epsilon, answers, 6)]
    return [*ranked, *others, OpenLH(epsilon)]


@pytest.mark.parametrize("n", CROWDS)
@pytest.mark.parametrize("answers", [2, 32, 1000])
def test_false_alarms_of_pure_protocols(n: int, answers: int) -> None:
    """All answers together raise at most 5 % false alarms; a lower limit would raise more."""
    for epsilon in (0.1, 1.0, 4.0, 10.0):
        for protocol in _pure(epsilon, answers):
            chance, above = _false_alarm(protocol, n, answers)
            assert answers * chance <= 0.05 * (1 + 1e-6), (protocol, n)
            assert answers * above > 0.05 * (1 - 1e-6), (protocol, n)


def _noise_law(epsilon: float, n: int) -> tuple[np.ndarray, int]:
    """Return the law of the sum of n noises, from the weights that are drawn from, and its zero."""
    weights = np.array([int(w) / 2**64 for w in laplace_weights(epsilon)])
    reach = (len(weights) - 17) // 2
    spread = 16 * math.sqrt(8 * n) / epsilon
    size = 1 << math.ceil(math.log2(2 * len(weights) + 40 * spread))
    one = np.zeros(size)
    one[(np.arange(len(weights)) - reach) % size] = weights
    law = np.fft.irfft(np.fft.rfft(one) ** n, size)
    return np.roll(law, size // 2), size // 2


@pytest.mark.parametrize("n", CROWDS)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0, 10.0])
def test_false_alarms_of_summed_histograms(n: int, epsilon: float) -> None:
    """SHE's limits are those of the noise that is drawn: at most 5 %, and hardly less."""
    law, zero = _noise_law(epsilon, n)
    tails = np.cumsum(law[::-1])[::-1]
    for answers in (2, 32, 1000):
        limit = LaplaceLaw(n, epsilon).threshold(0.05 / answers)
        first = zero + math.floor(16 * limit) + 1
        assert answers * tails[first] <= 0.05 * (1 + 1e-4)
        assert answers * tails[first - 1] > 0.05 * 0.99
        held = math.ceil(limit * 1.5)
        expected = tails[zero + math.floor(16 * limit) + 1 - 16 * held]
        found = LaplaceLaw(n, epsilon).exceeds(held, math.floor(16 * limit))
        assert found == pytest.approx(expected, abs=0.002)


def test_summed_histograms_cover_the_truth() -> None:
    """SHE's intervals cover 95 % of few and of many noises."""
    for n, epsilon in product((1, 2, 7, 9, 40, 10**4), (0.5, 2.0)):
        law, zero = _noise_law(epsilon, n)
        counts = (np.arange(len(law)) - zero) / 16
        lower, upper = LaplaceLaw(n, epsilon).interval(counts, 0.025)
        assert 0.95 <= law[(lower <= 0) & (upper >= 0)].sum() <= 0.96


@pytest.mark.parametrize("n", shortened(CROWDS, "larger crowds", keep=4))
def test_false_alarms_of_random_matrices(n: int) -> None:
    """RandomMatrixProjection with as many rows as people: at most 5 % within three errors."""
    rng, runs, alarms = np.random.default_rng(5), 300 if n < 10**6 else 10, 0
    for seed in range(runs):
        protocol = RandomMatrixProjection(2.0, 32, max(n, 64), seed=seed)
        values = rng.integers(0, 8, n)
        found = protocol.estimate(protocol.tally(protocol.privatize(values, rng)))
        alarms += bool(found.significant()[8:].any())
    assert alarms / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("n", CROWDS)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.long("hundreds of regressions")
def test_false_alarms_of_filters(n: int, epsilon: float) -> None:
    """RAPPOR with all held answers as candidates: at most 5 % within three errors."""
    protocol, rng, runs = RAPPOR(epsilon=epsilon), np.random.default_rng(17), 300 if n < 10 else 120
    shares, alarms = 1 / np.arange(1, 11), 0
    for _ in range(runs):
        truth = np.append(rng.multinomial(n, shares / shares.sum()), np.zeros(10, dtype=np.int64))
        keys = rng.integers(0, 1 << 63, 20, dtype=np.uint64)
        found = protocol.estimate(simulate_tally(protocol, truth, rng, keys), keys)
        alarms += bool(found.significant()[truth == 0].any())
    assert alarms / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_no_answers_have_no_decisions() -> None:
    """Estimates of nothing have empty intervals and nothing significant."""
    for protocol in (DE(1.0, 3), SHE(1.0, 3)):
        found = Estimates(np.empty(0), np.empty(0), 10, 1.0, law=protocol.law(10))
        assert [len(end) for end in found.interval()] == [0, 0]
        assert len(found.significant()) == 0


# The normal law and what is added to others.


def test_the_normal_law_is_the_papers() -> None:
    """The threshold is T_s, the interval the score interval: linear variance, constant beyond."""
    law = NormalLaw(Variance(100, 25.0, 0.5))
    assert law.threshold(0.025) == pytest.approx(5 * 1.959964, rel=1e-6)
    lower, upper = law.interval(np.array([-50.0, 30.0, 150.0]), 0.025)
    for end, sign in ((lower, -1), (upper, 1)):
        variance = 25 + 0.5 * np.clip(end, 0, 100)
        expected = [-50.0, 30.0, 150.0] + sign * 1.959964 * np.sqrt(variance)
        assert end == pytest.approx(expected, rel=1e-6)


def test_an_error_on_top_widens_what_there_was() -> None:
    """Without an error the law is as it was, and with three times the variance twice as wide."""
    law = SupportLaw(1000, Fraction(1, 2), Fraction(1, 4))
    counts = np.array([0.0, 80.0])
    lower, upper = law.interval(counts, 0.025)
    assert np.allclose(WidenedLaw(law, law.variance, 0.0).interval(counts, 0.025), (lower, upper))
    wide = WidenedLaw(law, Variance(1000, law.variance.none, 0.0), 3 * law.variance.none)
    assert np.allclose(counts - wide.interval(counts, 0.025)[0], 2 * (counts - lower))
    assert wide.threshold(0.01) == pytest.approx(2 * law.threshold(0.01))


# People who send several reports.

PERMANENT, P, Q = 0.5, 0.75, 0.25


def _repeated(people: int, each: int) -> RepeatedLaw:
    return RepeatedLaw(people, people * each, Fraction(PERMANENT) / 2, Fraction(P), Fraction(Q))


def _supports(truth: np.ndarray, each: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the supports of all answers, person by person: a permanent bit, then its reports."""
    held = np.repeat(np.arange(len(truth)), truth)[:, None] == np.arange(len(truth))
    bits = rng.random(held.shape) < np.where(held, 1 - PERMANENT / 2, PERMANENT / 2)
    return rng.binomial(each, np.where(bits, P, Q)).sum(axis=0)


@pytest.mark.long("10,000 clients")
def test_the_variance_of_repeated_reports_is_that_of_clients() -> None:
    """Real clients' counts vary as the law says: 30 % less or more would be noticed."""
    people, each, runs = 40, 6, 250
    protocol, rng = BasicRAPPOR(3, PERMANENT, P, Q), np.random.default_rng(11)
    law, truth = _repeated(people, each), np.array([30, 10, 0])
    values = np.repeat(np.arange(3), truth)
    errors = []
    for _ in range(runs):
        reports = [
            protocol.client(rng.bytes(16), context="").privatize([int(v)] * each, rng)
            for v in values
        ]
        supports = protocol.support_counts(np.concatenate(reports)).astype(np.float64)
        errors.append(law.counts(supports) - truth)
    assert np.abs(np.mean(errors, axis=0)).max() < 3
    theory = np.mean(law.variance.none + law.variance.slope * truth)
    assert np.mean(np.square(errors)) == pytest.approx(theory, rel=0.15)


@pytest.mark.parametrize("each", [1, 10, 50])
@pytest.mark.parametrize(("answers", "runs"), [(4, 1000), (32, 250)])
def test_repeated_reports_are_judged_by_people(each: int, answers: int, runs: int) -> None:
    """200 people: intervals cover 93 to 97 % and all false alarms together are at most 5 %."""
    law, rng = _repeated(200, each), np.random.default_rng(13)
    truth = np.zeros(answers, dtype=np.int64)
    truth[: answers // 2] = 200 // (answers // 2)
    truth[0] += 200 - truth.sum()
    tallies = [_supports(truth, each, rng) for _ in range(runs)]
    values, where = np.unique(np.array(tallies), return_inverse=True)
    counts = law.counts(values.astype(np.float64))
    lower, upper = (end[where].reshape(runs, answers) for end in law.interval(counts, 0.025))
    assert 0.93 <= np.mean((lower <= truth) & (truth <= upper)) <= 0.97
    significant = (counts > law.threshold(0.05 / answers))[where].reshape(runs, answers)
    alarms = float(significant[:, truth == 0].any(axis=1).mean())
    assert alarms <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_one_report_each_is_the_ordinary_law() -> None:
    """Where everybody sends once, the permanent and the instant noise are one."""
    law = _repeated(300, 1)
    p, q = (law.flip * b + (1 - law.flip) * a for a, b in ((law.p, law.q), (law.q, law.p)))
    plain = SupportLaw(300, p, q)
    assert law.variance.none == pytest.approx(plain.variance.none)
    assert law.threshold(0.001) == pytest.approx(plain.threshold(0.001))
    counts = np.array([-60.0, 0.0, 90.0, 280.0, 400.0])
    ends = zip(law.interval(counts, 0.025), plain.interval(counts, 0.025), strict=True)
    for mine, theirs in ends:
        assert np.abs(mine - theirs).max() <= 1.0


def test_crowds_that_report_often_near_the_normal_law() -> None:
    """From a thousand people on the threshold nears T_s from above, and intervals the score's."""
    for people, near in ((1001, 0.06), (10**6, 0.002), (10**12, 1e-4)):
        law = _repeated(people, 20)
        normal = NormalLaw(law.variance)
        assert 1 <= law.threshold(1e-4) / normal.threshold(1e-4) < 1 + near
        counts = np.array([0.0, 0.5 * people])
        ends = zip(law.interval(counts, 0.025), normal.interval(counts, 0.025), strict=True)
        for mine, theirs in ends:
            assert np.abs(mine - theirs).max() <= 1.5
    table, beyond = _repeated(1000, 20), _repeated(1001, 20)
    assert table.threshold(1e-3) == pytest.approx(beyond.threshold(1e-3), rel=0.02)


def test_the_same_report_again_tells_nothing_new() -> None:
    """Without instant noise ten reports of each person have the law of one."""
    once = SupportLaw(50, Fraction(3, 4), Fraction(1, 4))
    often = RepeatedLaw(50, 500, Fraction(1, 4), Fraction(1), Fraction(0))
    assert often.variance.none == pytest.approx(once.variance.none)
    counts = (np.arange(51) - 12.5) * 2.0
    for mine, theirs in zip(
        often.interval(counts, 0.025), once.interval(counts, 0.025), strict=True
    ):
        inside = (counts >= 0) & (counts <= 50)
        assert np.abs(mine - theirs)[inside].max() <= 1.0
    assert often.threshold(0.01) == pytest.approx(once.threshold(0.01), abs=1.0)
