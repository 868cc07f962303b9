"""Experiments and their plans: power, false alarms, broken splits, and the error of rounds."""

import math

import numpy as np
import pytest

from benchmarks.experiments import SETTINGS, Rota, broken_splits, measure_rounds, run
from deniable import DE, OUE, SHE, InvalidParameter, Number, Question
from deniable.advice import cell_minimum, plan_arms, plan_rounds, tells
from deniable.experiment import compare_arms, holm, sample_ratio
from deniable.law.samples import chi_square_tail


def arm(question, counts, seed):
    """Return the estimates of people who gave so many of each answer."""
    answers = np.repeat(np.arange(len(counts)), counts)
    reports = question.protocol.privatize(answers, np.random.default_rng(seed))
    return question.estimate(question.tally(reports))


def test_holm_is_as_it_is_defined() -> None:
    """The k-th smallest of m p-values is held against alpha / (m - k + 1), until one fails."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        values = rng.uniform(0, 0.06, int(rng.integers(1, 12)))
        passed, left = set(), sorted(range(len(values)), key=lambda i: values[i])
        while left and values[left[0]] <= 0.05 / len(left):
            passed.add(left.pop(0))
        assert set(np.flatnonzero(holm(values, 0.05))) == passed


def test_the_chi_square_tail_is_that_of_tables() -> None:
    """Upper 5 % and 0.1 % points of the usual tables, and the ends."""
    for degrees, five, small in ((1, 3.8415, 10.828), (2, 5.9915, 13.816), (3, 7.8147, 16.266),
                                 (10, 18.307, 29.588), (31, 44.985, 61.098)):  # fmt: skip
        assert chi_square_tail(five, degrees) == pytest.approx(0.05, rel=1e-3)
        assert chi_square_tail(small, degrees) == pytest.approx(0.001, rel=2e-3)
        assert chi_square_tail(0.0, degrees) == 1.0
    assert sample_ratio([0, 0], [1, 1]) == 1.0


def test_a_broken_split_raises_the_alarm() -> None:
    """An arm that loses a tenth of its people is found, and a sound split is not (seeded)."""
    rng = np.random.default_rng(1)
    assert broken_splits(30, 0.1, rng) > 0.9
    assert broken_splits(30, 0.0, rng) == 0.0
    question = Question("q", ("a", "b"), DE(2.0, 2))
    found = compare_arms({"A": arm(question, (900, 100), 1), "B": arm(question, (200, 400), 2)})
    assert found.broken
    assert not any(each.significant for each in found.differences)
    assert found.verdict.startswith("the split is broken: A 1,000, B 600")
    planned = compare_arms({"A": arm(question, (900, 100), 1), "B": arm(question, (200, 400), 2)},
                           weights={"A": 1000, "B": 600})  # fmt: skip
    assert not planned.broken
    assert planned.verdict.startswith("B differs from A: ")
    for weights in ({"C": 1}, {"A": 0}, {"A": math.nan}):
        with pytest.raises(InvalidParameter, match="weight"):
            compare_arms({name: arm(question, (90, 10), 1) for name in "AB"}, weights=weights)


def test_two_answers_are_one_test() -> None:
    """What one of two answers gains the other loses; of three each is a test."""
    two, three = (Question("q", labels, epsilon=2.0) for labels in (("a", "b"), ("a", "b", "c")))
    people = {name: arm(two, (500, 500), seed) for seed, name in enumerate("ABC")}
    assert compare_arms(people).tests == 2
    large = {name: arm(two, (1_234, 9_708), seed) for seed, name in enumerate("AB")}
    assert compare_arms(large).tests == 1
    assert compare_arms(people, primary="a").tests == 2
    many = {name: arm(three, (500, 300, 200), seed) for seed, name in enumerate("AB")}
    assert compare_arms(many).tests == 3
    assert {each.answer for each in compare_arms(many, primary="c").differences} == {"c"}


def test_looks_divide_alpha() -> None:
    """A difference that one look calls significant may not be, for who looks often."""
    question = Question("q", ("a", "b"), DE(2.0, 2))
    arms = {"A": arm(question, (1000, 1000), 1), "B": arm(question, (1150, 850), 2)}
    once, often = compare_arms(arms), compare_arms(arms, looks=1000)
    assert any(each.significant for each in once.differences)
    assert not any(each.significant for each in often.differences)
    assert "can be told from chance" in often.verdict
    assert once.differences[0].p_value == often.differences[0].p_value


def test_protocols_without_supports_are_compared_too() -> None:
    """The noise of SHE is not counted by supports, and differences are found all the same."""
    question = Question("q", ("a", "b", "c"), SHE(2.0, 3))
    arms = {"A": arm(question, (4000, 3000, 3000), 1), "B": arm(question, (6000, 2000, 2000), 2)}
    assert "B differs from A: " in compare_arms(arms).verdict
    same = {"A": arm(question, (4000, 3000, 3000), 1), "B": arm(question, (4000, 3000, 3000), 2)}
    assert "chance" in compare_arms(same).verdict


@pytest.fixture(scope="module")
def load_time():
    """Return a question for a time, with its distribution."""
    return Question("t", Number(0, 10_000, step=100, unit="ms"), epsilon=2.0)


def timed(question, scale, seed, people=4_000):
    """Return the estimates of people whose load times have this scale."""
    rng = np.random.default_rng(seed)
    times = scale * rng.gamma(4.0, 0.25, people)
    return question.estimate(question.tally(question.privatize(times, rng)))


def test_numbers_are_compared_by_their_means(load_time) -> None:
    """A fifth less is found in 20,000 people, said as a mean, and holds the truth (seeded)."""
    arms = {"A": timed(load_time, 2200, 1, 20_000), "B": timed(load_time, 1760, 2, 20_000)}
    found = compare_arms(arms)
    (row,) = found.differences
    assert (found.tests, row.answer, row.unit, row.significant) == (1, "mean", "ms", True)
    assert row.lift == arms["B"].mean.value - arms["A"].mean.value
    assert row.lower < -440 < row.upper < 0
    halves = [(each.mean.upper - each.mean.lower) / 2 for each in arms.values()]
    assert (row.upper - row.lower) / 2 == pytest.approx(math.hypot(*halves))
    assert found.verdict.startswith(f"B differs from A: mean {row.lift:.0f} ms ({row.lower:.0f} to")
    (said,) = found.rows()
    assert (said["control_mean"], said["mean"]) == (arms["A"].mean.value, arms["B"].mean.value)
    assert (said["lift"], said["unit"]) == (row.lift, "ms")
    three = compare_arms({**arms, "C": timed(load_time, 2200, 3, 20_000)}, primary="mean")
    assert [(each.arm, each.significant) for each in three.differences] == [
        ("B", True), ("C", False)]  # fmt: skip
    assert compare_arms(arms, primary="1000 ms").differences[0].answer == "1000 ms"


def test_a_mean_that_is_the_same_is_rarely_called_different(load_time) -> None:
    """Of 100 pairs of arms about 5, and at most 11, differ at p <= 0.05 (seeded)."""
    values = []
    for seed in range(100):
        arms = {"A": timed(load_time, 2200, 2 * seed), "B": timed(load_time, 2200, 2 * seed + 1)}
        found = compare_arms(arms)
        values.append(found.differences[0].p_value)
        assert found.differences[0].significant == (values[-1] <= 0.05 and not found.broken)
    assert 1 <= sum(value <= 0.05 for value in values) <= 11  # three standard errors
    assert 0.4 < np.mean(values) < 0.6


def test_only_the_mean_may_be_wanted() -> None:
    """The arms of a question for the mean have no bins, and are compared all the same."""
    question = Question("t", Number(0, 10_000, step=100, want=("mean",)), epsilon=2.0)
    found = compare_arms({"A": timed(question, 2200, 1), "B": timed(question, 4400, 2)})
    assert found.verdict.startswith("B differs from A: mean +")
    far = {"A": timed(question, 100, 1, 40_000), "B": timed(question, 9000, 2, 20_000)}
    broken = compare_arms(far)
    assert broken.broken
    assert broken.differences[0].p_value == 0.0
    assert not broken.differences[0].significant


def test_what_is_no_experiment_is_refused() -> None:
    """One arm, an unknown control or answer, and no looks."""
    question = Question("q", ("a", "b"), DE(2.0, 2))
    arms = {"A": arm(question, (5, 5), 1), "B": arm(question, (5, 5), 2)}
    for given, more in (
        ({"A": arms["A"]}, {}),
        (arms, {"control": "Z"}),
        (arms, {"primary": "z"}),
        (arms, {"looks": 0}),
        (arms, {"alpha": 2.0}),
    ):
        with pytest.raises(InvalidParameter):
            compare_arms(given, **more)
    with pytest.raises(InvalidParameter, match="one of the answers 'a', 'b' as primary, got 'z'"):
        compare_arms(arms, primary="z")


@pytest.mark.parametrize("protocol", [DE(1.0, 2), DE(2.0, 10), OUE(1.0, 10), OUE(4.0, 10)])
def test_the_smallest_segment_carries_an_error_of_five_points(protocol) -> None:
    """With the minimum no share has a larger error, and with fewer some share has (exact)."""
    rates = protocol.parameters
    p, q = float(rates.p), float(rates.q)
    shares = np.linspace(0, 1, 10_001)
    r = q + shares * (p - q)
    worst = (r * (1 - r) / (p - q) ** 2).max()
    n = cell_minimum(protocol)
    assert math.sqrt(worst / n) <= 0.05 + 1e-12
    assert math.sqrt(worst / (n - 1)) > 0.05 - 1e-6


def test_minimums_are_those_that_were_published() -> None:
    """469 reports for two answers at epsilon 1; 652 and 141 for ten at 2 and 4 by DE."""
    assert [cell_minimum(p) for p in (DE(1.0, 2), DE(2.0, 10), DE(4.0, 10))] == [469, 652, 141]


def test_plans_follow_their_formulas() -> None:
    """People of an arm, the error of a round, and nonsense that is refused."""
    assert plan_arms(2, epsilon=1.0, start=0.1, lift=0.01).people == 159_274
    assert plan_arms(10, epsilon=2.0, start=0.1, lift=0.02).people == 40_773
    some = plan_arms(10, epsilon=2.0, start=0.1, lift=0.02, primary=True)
    assert (some.tests, some.people < 40_773) == (1, True)
    assert plan_arms(10, epsilon=2.0, start=0.1, lift=0.02, arms=4).tests == 30
    rota = plan_rounds(100, users=100_000, rounds=52, lifetime=4.0)
    assert rota.mean_error == pytest.approx(rota.round_error / 2)
    assert rota.change_error == pytest.approx(rota.round_error * math.sqrt(2))
    assert rota.verdict.replace("\u00a0", " ").endswith(
        "± 1.2 points in a round, and its change between two rounds to ± 1.7 points."
    )
    assert rota.verdict.startswith("100,000 people in 52 rounds: ")
    assert some.verdict.startswith(f"Each of 2 arms needs {some.people:,} people ")
    for found in (some, rota):
        assert found.verdict[:20] in found._repr_html_()
        assert str(found) == found.explanation
    assert plan_rounds(4, users=1000, rounds=4, lifetime=4.0, times=2).epsilon == 2.0
    for wrong in ({"lift": 0.0}, {"lift": 0.95}, {"arms": 1}, {"looks": 0}):
        with pytest.raises(InvalidParameter):
            plan_arms(4, **{"epsilon": 1.0, "start": 0.1, "lift": 0.02, **wrong})
    with pytest.raises(InvalidParameter):
        plan_rounds(4, users=1000, rounds=1, lifetime=4.0)
    assert "nearly names a person:" in tells(1000, cells=64, days=7)
    assert "about 3,600 look the same" in tells(200_000, days=56)
    assert "relay" in tells(10**6, relays=3)


def test_rounds_have_the_planned_error() -> None:
    """Four runs of a rota at a fifth of its size (seeded); the benchmark runs fifty in full."""
    rota = Rota(users=20_000, domain_size=50, rounds=13)
    week, mean = measure_rounds(rota, 6, np.random.default_rng(5))
    assert 0.85 < week < 1.15
    assert 0.85 < mean < 1.15


@pytest.mark.long("hundreds of experiments")
def test_an_experiment_has_the_planned_power() -> None:
    """300 experiments of the planned size find the lift about as often as planned (seeded)."""
    power = run(SETTINGS[1], 300, np.random.default_rng(2), lift=True)
    assert 0.73 < power < 0.87  # three standard errors about 0.8


@pytest.mark.long("hundreds of experiments")
def test_false_alarms_of_experiments_are_rare() -> None:
    """300 experiments without a difference call few different (seeded): 0.05 and three errors."""
    assert run(SETTINGS[1], 300, np.random.default_rng(3), lift=False) <= 0.088
