"""Numbers: how they are rounded, and what is told of their distribution and mean."""

import csv
import io
import json
import math

import numpy as np
import pytest

from benchmarks import answers as benchmark
from deniable import (
    DE,
    InvalidDocument,
    InvalidParameter,
    Number,
    OutOfDomain,
    Question,
    Views,
    compare,
    consistency,
)
from deniable.advice.designs import tree_radices
from deniable.answers.moved import mean_moved, moves
from tests.test_records import read_altered

HOURS = Number(0, 100, unit="h", want=("distribution", "mean"))


def hours(n: int, seed: int = 1) -> np.ndarray:
    """Return hours of work, of which half are 40."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.5, 40, rng.normal(35, 12, n).clip(0, 100).round())


@pytest.fixture(scope="module")
def asked():
    """Return a question, its estimates and what people answered."""
    question = Question("hours", HOURS, epsilon=2.0)
    reports = question.privatize(hours(40_000), np.random.default_rng(2))
    return question, question.estimate(question.tally(reports)), hours(40_000)


def test_numbers_are_rounded_to_the_nearest_step_and_kept_between_the_ends() -> None:
    """Halves go up, and what lies outside counts as the end."""
    number = Number(-1, 1, step=0.5)
    given = [-7, -1, -0.76, -0.75, 0, 0.2, 0.25, 1, math.pi]
    expected = [0, 0, 0, 1, 2, 2, 3, 4, 4]
    assert number.encode(given).tolist() == expected
    assert number.encode(np.array(given)).tolist() == expected
    assert number.encode(["0.25", "1"]).tolist() == [3, 4]
    assert number.scale.numbers == (-1.0, -0.5, 0.0, 0.5, 1.0)
    assert number.labels == ("-1", "-0.5", "0", "0.5", "1")


def test_decimal_steps_divide_exactly() -> None:
    """A tenth divides one, whatever floats make of it."""
    assert Number(0, 1, step=0.1).steps == 11
    assert Number(0, 0.3, step=0.1).scale.written(3) == "0.3"
    assert Number(0.1, 0.7, step=0.2).steps == 4


NO_NUMBERS = [None, math.nan, math.inf, -math.inf, True, "many", "", [1], {}, 10**400]


@pytest.mark.parametrize("answer", NO_NUMBERS)
def test_what_is_no_number_is_refused_without_being_shown(answer: object) -> None:
    """Errors name the position."""
    assert not HOURS.takes(answer)
    with pytest.raises(OutOfDomain, match="position 1"):
        HOURS.encode([40, answer])
    with pytest.raises(OutOfDomain, match="position 1"):
        HOURS.encode(np.array([40, math.nan]))


def test_arrays_of_other_than_finite_numbers_say_what_is_wrong() -> None:
    """Infinity is not missing, and a table is no column."""
    with pytest.raises(OutOfDomain, match="position 1 is not"):
        HOURS.encode(np.array([40, math.inf]))
    with pytest.raises(InvalidParameter, match="a column of numbers"):
        HOURS.encode(np.array([[40, 41]]))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Number(1, 1), "low below high"),
        (lambda: Number(1, 0), "low below high"),
        (lambda: Number(0, 1, step=0), "step above 0"),
        (lambda: Number(0, 1, step=-0.5), "step above 0"),
        (lambda: Number(0, 1, step=0.3), "divides"),
        (lambda: Number(0, 65_536), "at most 65,536 values"),
        (lambda: Number(0, 1e300, step=1e-300), "at most 65,536 values"),
        (lambda: Number(0, math.inf), "finite"),
        (lambda: Number(math.nan, 1), "finite"),
        (lambda: Number("0", 1), "as a number"),
        (lambda: Number(0, 1, unit=3), "unit"),
        (lambda: Number(0, 1, unit="x" * 21), "unit"),
        (lambda: Number(0, 1, want=()), "want"),
        (lambda: Number(0, 1, want=("median",)), "want"),
        (lambda: Number(0, 1, want=("mean", "mean")), "want"),
        (lambda: Question("q", Number(0, 9), DE(1.0, 10)), "expected Views"),
        (lambda: Question("q", Number(0, 9), Views(1.0, (2, 2), ((0, 1),))), "expected Views"),
        (lambda: Question("q", Number(0, 9), Views(1.0, (5, 2), ((1,),))), "expected Views"),
    ],
)
def test_bad_numbers_are_refused(make, match: str) -> None:
    """Each says what is wrong with it."""
    with pytest.raises(InvalidParameter, match=match):
        make()


@pytest.mark.parametrize(
    "change",
    [
        {"low": "0"}, {"low": None}, {"high": -1}, {"step": 0}, {"step": 0.3}, {"step": 1e-9},
        {"unit": 3}, {"unit": None}, {"want": []}, {"want": "mean"}, {"low": 0.0001},
        {"want": ["mean", "distribution"]}, {"high": True}, {"extra": 1},
    ],
)  # fmt: skip
def test_hostile_numbers_are_refused(change: dict[str, object]) -> None:
    """A document with other fields, or in another form, is refused as such."""
    document = json.loads(Question("hours", HOURS, epsilon=1.0).to_json())
    with pytest.raises(InvalidDocument):
        read_altered({**document, "answers": {**document["answers"], **change}})


@pytest.mark.parametrize("number", [Number(0, 1), Number(0, 2), Number(-5, 5, step=0.25), HOURS])
def test_a_question_survives_its_document(number: Number) -> None:
    """What is stored makes the same question again."""
    for epsilon in (0.5, 4.0):
        question = Question("number", number, epsilon=epsilon)
        assert Question.from_json(question.to_json()) == question


def test_digits_hold_all_values_with_at_most_a_quarter_to_spare() -> None:
    """Every number of steps has digits, of which all but the first few are binary."""
    for steps in [*range(2, 300), 1000, 4097, 65_536]:
        size = math.prod(tree_radices(steps))
        assert steps <= size < 1.26 * steps + 1


def test_the_distribution_is_near_the_truth(asked) -> None:
    """Rows, bins, ranges and the distribution function, each within five standard errors."""
    _, found, values = asked
    true = np.bincount(values.astype(int), minlength=101)
    assert found.labels[:2] == ("0 h", "1 h")
    # Some 220 figures, one of which is off with probability below 2e-4.
    assert np.all(np.abs(found.counts - true) < 5 * found.std_errors)
    bins = found.bins(4)
    assert bins.labels[0] == "0 to 24 h"
    expected = np.histogram(values, [0, 25, 50, 75, 101])[0]
    assert np.all(np.abs(bins.counts - expected) < 5 * bins.std_errors)
    until = found.cdf()
    assert until.labels[40] == "up to 40 h"
    assert np.all(np.abs(until.counts - np.cumsum(true)) <= 5 * until.std_errors + 1e-6)
    assert until.counts[-1] == 40_000
    some = found.between(35, 45)
    assert abs(some.count - ((values >= 35) & (values <= 45)).sum()) < 5 * some.std_error


def test_bins_and_the_distribution_function_keep_the_order_of_numbers(asked) -> None:
    """Neither is ranked in text, figure or page, and no bin leads."""
    _, found, _ = asked
    bins, until = found.bins(10), found.cdf()
    for rows, said in ((bins, "in each range of numbers"), (until, "at or below each number")):
        assert rows.caption() == f"Share of people {said}."
        assert rows.top().labels == rows.labels
        places = [rows.to_html().index(f">{label}<") for label in rows.labels]
        assert places == sorted(places)
    shown = [int(label.split()[2]) for label in until.shown(5).labels]
    assert shown == [0, 25, 50, 75, 100]
    drawn = bins.plot()
    assert drawn.get_suptitle() == "Share of people in each range of numbers."
    assert [x.get_text() for x in drawn.axes[0].get_yticklabels()] == list(bins.labels)


def test_a_comparison_of_numbers_tells_how_the_mean_changed() -> None:
    """A fifth less is said with its interval; of the same numbers that nothing changed (seeded)."""
    question = Question("t", Number(0, 10_000, step=100, unit="ms"), epsilon=2.0)
    rng = np.random.default_rng(3)
    first, less, same = (
        question.estimate(question.tally(question.privatize(x * rng.gamma(4, 0.25, 20_000), rng)))
        for x in (2200, 1700, 2200)
    )
    assert first.asking(3000).caption() == f"{first.caption()} {first.asking(3000).findings()[-1]}"
    found = compare(first.asking(3000), less.asking(3000))
    mean, median, above = found.findings()
    by, reach = less.mean.value - first.mean.value, np.hypot(first.mean.reach, less.mean.reach)
    spread = f"({by - reach:.0f} to {by + reach:.0f})"
    assert by - reach < -500 < by + reach
    assert mean.startswith(f"The mean changed by {by:.0f} ms {spread}, from 2,")
    was, now, moved = first.quantile(0.5), less.quantile(0.5), moves(first, less)["median"].by
    assert median == f"The median was {was}, and is {now}: changed by {moved}."
    assert above.startswith("Above 3,000 ms were ")
    steady, _ = compare(first, same).findings()
    assert steady.startswith("The mean has not changed by more than chance explains: by ")
    assert f"({mean_moved(first, same, 0.995).by.cells[1]}, 99.5 % sure)" in steady


def test_exports_of_a_comparison_tell_how_each_figure_moved() -> None:
    """Text, CSV and JSON have quartiles, mean and the share above, with limits added in squares."""
    question = Question("t", Number(0, 5000, step=100, unit="ms"), epsilon=2.0)
    rng = np.random.default_rng(3)
    before, after = (
        question.estimate(question.tally(question.privatize(x * rng.gamma(4, 0.25, 9000), rng)))
        for x in (2000, 1500)
    )
    found = compare(before.asking(3000), after.asking(3000))
    document, [row, *_] = json.loads(found.to_json()), csv.DictReader(io.StringIO(found.to_csv()))
    a, b = (each.quantile(0.5) for each in (before, after))
    lower = b.value - a.value - np.hypot(b.value - b.lower, a.upper - a.value)
    upper = b.value - a.value + np.hypot(b.upper - b.value, a.value - a.lower)
    for figures in (document["median"], {k: float(row[f"median_{k}"]) for k in document["median"]}):
        assert figures == pytest.approx(
            {"first": a.value, "second": b.value, "difference": b.value - a.value,
             "lower": lower, "upper": upper})  # fmt: skip
    shares = [each.above(3000).share for each in (before, after)]
    assert [document["above"][k] for k in ("number", "first", "second")] == [3000, *shares]
    assert float(row["above_difference"]) == pytest.approx(shares[1] - shares[0])
    names = ["lower_quartile", "median", "upper_quartile", "mean", "above"]
    assert [key for key in document if f"{key}_first" in row] == names
    assert f"median: {a}, then {b}: changed by " in found.table(width=200)
    assert len(found.shown(4)) <= 4 < len(found)


@pytest.mark.long("a hundred pairs of collections")
def test_intervals_of_changes_hold_the_truth() -> None:
    """Of quartiles, the mean and the share above, as often as they say (seeded)."""
    question = Question("t", Number(0, 8000, step=100, unit="ms"), epsilon=2.0)
    rng, held = (
        np.random.default_rng(11),
        dict.fromkeys(("lower quartile", "median", "mean", "above"), 0),
    )
    many = [
        np.clip(np.round(rng.lognormal(7.3, 0.6, 1_000_000) * x, -2), 0, 8000) for x in (1, 0.8)
    ]
    true = {
        "lower quartile": np.subtract(*(np.quantile(x, 0.25) for x in many[::-1])),
        "median": np.subtract(*(np.quantile(x, 0.5) for x in many[::-1])),
        "mean": np.subtract(*(x.mean() for x in many[::-1])),
        "above": 100 * np.subtract(*((x > 3000).mean() for x in many[::-1])),
    }
    for _ in range(100):
        both = (
            question.estimate(question.tally(question.privatize(rng.choice(x, 4000), rng)))
            for x in many
        )
        found = moves(*(each.asking(3000) for each in both))
        for name in held:
            by = found[name].by
            held[name] += by.lower - 1e-9 <= true[name] <= by.upper + 1e-9
    assert min(held.values()) >= 90, held  # 90 of 100 by chance one time in 30 at 95 %


def test_quantiles_and_mean_hold_the_truth(asked) -> None:
    """The spike at 40 is the median, and the interval of the mean is near the mean."""
    _, found, values = asked
    median = found.quantile(0.5)
    assert median.lower <= np.median(values) <= median.upper
    assert median.value == 40
    for share in (0.1, 0.9):
        figure = found.quantile(share, level=0.9999)
        assert figure.lower <= np.quantile(values, share) <= figure.upper
        assert figure.lower <= figure.value <= figure.upper
    mean = found.mean_at(0.99999)
    assert mean.lower < values.mean() < mean.upper
    assert str(found.mean).endswith(")")
    assert found.mean.unit == "h"


def test_rows_are_shown_in_the_order_of_the_numbers(asked) -> None:
    """A table or figure has the largest bins, ascending by number."""
    _, found, _ = asked
    shown = found.top(5)
    places = [found.labels.index(label) for label in shown.labels]
    assert places == sorted(places)
    assert found.labels[int(np.argmax(found.counts))] in shown.labels


def test_the_curve_is_a_distribution(asked) -> None:
    """No share is negative, and they add up to 1."""
    _, found, _ = asked
    curve = found.curve()
    assert curve.min() >= 0
    assert curve.sum() == pytest.approx(1)
    assert len(curve) == 101


def test_only_the_mean() -> None:
    """A question for the mean alone has it, and both ends as rows; the rest is refused."""
    question = Question("hours", Number(0, 100, want=("mean",)), epsilon=1.0)
    values = hours(20_000)
    found = question.estimate(question.tally(question.privatize(values, np.random.default_rng(3))))
    mean = found.mean_at(0.99999)
    assert mean.lower < values.mean() < mean.upper
    assert found.labels == ("towards 0", "towards 100")
    assert found.counts.sum() == pytest.approx(20_000)
    for ask in (lambda: found.quantile(0.5), found.cdf, lambda: found.bins(2)):
        with pytest.raises(InvalidParameter, match="only asked for the mean"):
            ask()


def test_what_is_shown_of_adjusted_numbers_is_adjusted() -> None:
    """Bins are sums of unbiased counts, so that the largest values are shown, in their order."""
    question = Question("x", Number(0, 100), epsilon=1.0)
    reports = question.privatize(hours(500), np.random.default_rng(1))
    found = consistency.adjust(question.estimate(question.tally(reports)), "norm-sub")
    shown = found.shown(10)
    assert (len(shown), shown.adjusted) == (10, "norm-sub")
    assert shown.counts.min() >= 0
    assert shown.labels == tuple(str(x) for x in sorted(map(int, shown.labels)))


def test_a_mean_that_few_told_of_is_not_said() -> None:
    """What two people told is no mean beyond the scale, no share below 0, and no refusal."""
    for seed in range(20):
        question = Question("x", Number(0, 100, want=("distribution",)), epsilon=1.0)
        reports = question.privatize([40, 40], np.random.default_rng(seed))
        said = str(question.estimate(question.tally(reports)).asking(50).verdict())
        assert "somewhere from" in said
        assert "The mean is" not in said
        assert "-" not in said


def test_a_mean_of_both_is_no_wider_than_that_of_the_distribution_alone() -> None:
    """Few people tell levels, whose bound is wide: they count for as little."""
    reaches = []
    for want in (("distribution",), ("distribution", "mean")):
        question = Question("x", Number(0, 100, want=want), epsilon=4.0)
        reports = question.privatize(hours(1500), np.random.default_rng(8))
        reaches.append(question.estimate(question.tally(reports)).mean.reach)
    # Seven people in ten are asked for the distribution, whose errors are then 1.2 times as large.
    assert reaches[1] < 1.25 * reaches[0]


def test_rows_of_few_people_cover_at_a_large_epsilon() -> None:
    """Nobody of 30 gave a number that few give: by the standard error alone it would be none."""
    question, rng = Question("x", Number(0, 100), epsilon=8.0), np.random.default_rng(9)
    covered = 0
    for _ in range(60):
        answers = np.minimum(rng.geometric(0.28, 30) - 1, 100)
        bins = question.estimate(question.tally(question.privatize(answers, rng))).bins(10)
        covered += bins.interval()[1][1] / 30 >= 0.72**10
    # 60 intervals at .95: 48 or fewer with probability below 1e-5.
    assert covered > 48


def test_few_people_have_a_wide_mean() -> None:
    """Hoeffding's bound covers whatever the numbers are."""
    question = Question("x", Number(0, 10, want=("mean",)), epsilon=4.0)
    rng, covered = np.random.default_rng(4), 0
    for _ in range(100):
        values = rng.choice([0, 10], 20)
        mean = question.estimate(question.tally(question.privatize(values, rng))).mean
        covered += mean.lower <= 5 <= mean.upper
    assert covered >= 95


def test_very_many_values_are_told_in_ranges() -> None:
    """With 65,536 values people are asked for at most 4,096 ranges, and everything works."""
    question = Question("ms", Number(0, 65_535, want=("distribution", "mean")), epsilon=2.0)
    assert max(len(part) for part in question.protocol.views[:-1]) == 12
    rng = np.random.default_rng(5)
    values = rng.lognormal(7, 1, 5000).clip(0, 65_535)
    found = question.estimate(question.tally(question.privatize(values, rng)))
    assert len(found) <= 120
    median = found.quantile(0.5, level=0.999)
    assert median.lower <= np.median(values) <= median.upper


def test_intervals_of_means_cover() -> None:
    """A short form of ``benchmarks.answers means``."""
    rng = np.random.default_rng(6)
    covered = [benchmark.mean_coverage(1.0, lot, 5000, 40, rng) for lot in (0.2, 1.0)]
    # 80 intervals at .95: 68 or fewer with probability below .001.
    assert np.mean(covered) > 0.86


def test_a_share_that_is_none_is_refused(asked) -> None:
    """Quantiles are of shares between 0 and 1, ranges hold a value, and bins are some."""
    _, found, _ = asked
    for share in (0, 1, -1, "half"):
        with pytest.raises(InvalidParameter, match="share"):
            found.quantile(share)
    for refused in (lambda: found.above("3"), lambda: found.between(1, "2")):
        with pytest.raises(InvalidParameter, match="as a number"):
            refused()
    with pytest.raises(OutOfDomain, match="holds some value"):
        found.between(40.2, 40.4)
    with pytest.raises(InvalidParameter, match="bins"):
        found.bins(0)


def test_a_share_above_allows_for_what_ranges_do_not_tell() -> None:
    """Of 65,536 values only ranges are told: how many of a range are above a number in it is open.

    Three people in ten are at 0, and the first range goes on to 15.
    """
    question, rng = Question("wide", Number(0, 65_535), epsilon=1.0), np.random.default_rng(1)
    n = 20_000
    answers = np.where(rng.random(n) < 0.3, 0, rng.integers(0, 65_536, n)).astype(float)
    found = question.estimate(question.tally(question.privatize(answers, rng)))
    none, rest = found.between(0, 0), found.above(0)
    assert none.lower <= 0.3 * n <= none.upper
    assert rest.lower <= 0.7 * n <= rest.upper
    assert not none.significant
    whole = found.between(0, 15)
    assert whole.lower > 0
    assert whole.lower <= 0.3 * n <= whole.upper


def test_numbers_in_texts_are_written_as_programs_write_them() -> None:
    """A sign or a point may come first; other digits, units and signs between digits are none."""
    assert HOURS.encode([".6", "+5", "1e1", " 7. ", "-3"]).tolist() == [1, 5, 10, 7, 0]
    for text in ("1,000", "5 h", "0x1", "1_0", "\u0663", "NaN", "Infinity", "true", "", "1e999"):
        with pytest.raises(OutOfDomain, match="the one at position 0"):
            HOURS.encode([text])
