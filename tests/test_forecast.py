"""Plans for records, numbers and sets: what will be told, and that it is what comes out."""

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from deniable import Choice, Choices, InvalidParameter, Number, Question, Record, plan, plan_answers
from deniable.answers.forecast import forecast, largest_variance
from deniable.cli import cli
from deniable.presentation.parts import Facts, Sentences, Table
from deniable.simulation import rehearse

RECORD = Record(plan=Choice(["free", "pro"]), os=Choice(["a", "b", "c"]), tables="pairs")
HOURS = Number(0, 63, unit="h", want=("distribution", "mean"))
TOOLS = Choices(("git", "vim", "tmux", "fzf", "make"), 2)


def people_of(answers: Record | Number | Choices, n: int) -> np.ndarray:
    """Return the values of n people whose answers are even, or nearly so."""
    rng = np.random.default_rng(1)
    if isinstance(answers, Choices):
        sets = [rng.choice(answers.labels, 2, replace=False).tolist() for _ in range(n)]
        return answers.encode(sets, rng)
    return rng.integers(0, answers.value_count, n).astype(np.uint64)


def test_shares_of_records_are_as_far_off_as_forecast() -> None:
    """Of people who are drawn anew each time, the squared errors are those of the plan."""
    n, rng, question = 2000, np.random.default_rng(2), Question("any", RECORD, epsilon=2.0)
    plan, os, both = (each.error(n) ** 2 for each in forecast(RECORD, question.protocol))
    squares = []
    for _ in range(80):
        values = rng.integers(0, 6, n).astype(np.uint64)
        found = question.estimate(question.tally(question.protocol.privatize(values, rng)))
        table = found.cross("plan", "os").shares - 1 / 6
        each = (found.shares[:2] - 1 / 2, found.shares[2:] - 1 / 3, table)
        squares.append([np.mean(part**2) for part in each])
    # Means of 80 squares or more have errors of at most 16 %.
    assert np.mean(squares, axis=0) == pytest.approx([plan, os, both], rel=0.5)


def test_shares_of_sets_are_as_far_off_as_forecast() -> None:
    """The mean squared error of the items is what the plan says."""
    n, question = 2000, Question("any", TOOLS, epsilon=2.0)
    found = rehearse(question, people_of(TOOLS, n), runs=30, rng=np.random.default_rng(2))
    item, size = forecast(TOOLS, question.protocol)
    assert found.error == pytest.approx(item.error(n), rel=0.25)
    assert size.error(n) > item.error(n)
    assert 0.9 < found.covered <= 1.0


def test_no_size_of_sets_is_further_off_than_forecast() -> None:
    """That of nearly everybody neither: the interval of half a tail each is 14 % wider."""
    many = Choices([str(place) for place in range(40)], 8)
    question, n = Question("any", many, epsilon=2.0), 100_000
    values = many.encode([many.labels[:5]] * n, np.random.default_rng(1))
    found = question.estimate(question.tally(question.protocol.privatize(values)))
    lower, upper = found.sizes.interval()
    _, size = forecast(many, question.protocol)
    assert np.max(upper - lower) / (2 * n) < 1.2 * 1.96 * size.error(n)


def test_a_number_is_as_far_off_as_forecast() -> None:
    """Its distribution function and its mean are, the mean at most."""
    n, rng = 2000, np.random.default_rng(3)
    question = Question("hours", HOURS, epsilon=2.0)
    below, _, mean = forecast(HOURS, question.protocol)
    values, errors, means = people_of(HOURS, n), [], []
    true = np.cumsum(np.bincount(values.astype(int), minlength=64))[:-1]
    for _ in range(25):
        found = question.estimate(question.tally(question.protocol.privatize(values, rng)))
        errors.append(np.mean((found.cdf().counts[:-1] - true) ** 2))
        means.append((found.mean.value - values.mean()) ** 2)
    assert np.sqrt(np.mean(errors)) / n == pytest.approx(below.error(n), rel=0.3)
    # The mean is that of all views together, so it may be better than by levels alone.
    assert np.sqrt(np.mean(means)) < 1.3 * mean.error(n) * 63


@pytest.mark.parametrize("answers", [RECORD, HOURS, TOOLS], ids=["record", "number", "sets"])
def test_people_epsilon_and_error_follow_from_each_other(answers) -> None:
    """What two of them give, the other two give back."""
    first = plan_answers(answers, epsilon=1.0, error=0.02)
    assert first.error <= 0.02
    assert plan_answers(answers, users=first.users, epsilon=1.0).error == first.error
    second = plan_answers(answers, users=first.users, error=0.02)
    assert second.protocol.epsilon == pytest.approx(1.0, abs=0.02)
    assert f"{first.users:,} people" in first.verdict
    assert first.verdict in str(first)
    assert "of one report" in first._repr_html_()
    assert isinstance(first.table, Table)


def test_what_cannot_be_planned_is_said() -> None:
    """Too few and too many of the three, a wrong error, and what nobody reaches."""
    with pytest.raises(InvalidParameter, match="two of users, epsilon and error"):
        plan_answers(RECORD, epsilon=1.0)
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        plan_answers(RECORD, epsilon=1.0, error=2)
    few = plan_answers(RECORD, users=20, error=0.001)
    assert not few.reachable
    assert "Out of reach" in few.verdict
    assert not plan_answers(RECORD, epsilon=0.01, error=1e-7).reachable


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run commands in a folder with a record, labels and people."""
    monkeypatch.chdir(tmp_path)
    Path("set-up.toml").write_text(
        'plan = ["free", "pro"]\nage = { low = 0, high = 80, step = 20 }\n'
    )
    Path("tools.txt").write_text("git\nvim\ntmux\n")
    rows = [f"{'pro' if i % 3 else 'free'},{20 * (i % 5)},git;vim" for i in range(300)]
    Path("people.csv").write_text("\n".join(["plan,age,tools", *rows]) + "\n")

    def call(line: str) -> Result:
        return CliRunner().invoke(cli, line.split())

    return call


def test_plans_of_every_kind_on_the_command_line(run) -> None:
    """Sentences with a small table, or JSON; options that do not go together are refused."""
    found = run("plan --record set-up.toml --tables pairs --users 20000 --epsilon 2")
    assert found.exit_code == 0, found.output
    assert "share in plan by age" in found.output
    found = run("plan --number 0 100 --unit h --want mean --epsilon 1 --error 0.01 --json")
    assert [each["unit"] for each in json.loads(found.output)["told"]] == ["h"]
    found = run("plan --choices tools.txt --at-most 2 --users 1000 --epsilon 1")
    assert "share of an item" in found.output
    for wrong in ("--choices tools.txt", "--record set-up.toml --domain-size 3",
                  "--number 0 100 --significant 0.1"):  # fmt: skip
        assert run(f"plan {wrong} --users 1000 --epsilon 1").exit_code == 2


def test_what_is_asked_by_lot_is_recommended(run) -> None:
    """Each view, how many people draw it, and by which protocol."""
    found = run("recommend --record set-up.toml --tables pairs --epsilon 2")
    assert "plan and age" in found.output
    found = run("recommend --number 0 100 --want distribution --want mean --epsilon 2 --json")
    views = json.loads(found.output)["views"]
    assert sum(view["people"] for view in views) == pytest.approx(1)
    assert views[-1]["asked"] == "a level, for the mean"
    assert run("recommend --epsilon 1").exit_code == 2


def test_every_kind_is_simulated(run) -> None:
    """The question's own protocol, beside the truth."""
    run("question create set-up --record set-up.toml --epsilon 3 -o set-up.json")
    found = run("simulate people.csv --question set-up.json --seed 1 --runs 2 --json")
    told = json.loads(found.output)
    true = {row["label"]: row["true"] for row in told["estimates"]}
    assert (true["plan: pro"], true["age: 20"]) == (200, 60)
    assert told["people"] == 300
    run("question create tools --choices tools.txt --at-most 2 --epsilon 3 -o tools.json")
    found = run("simulate people.csv --column tools --question tools.json --people 500 --runs 1")
    assert "500 people, one run" in found.output
    run("question create age --number 0 80 --step 20 --epsilon 3 -o age.json")
    found = run("simulate people.csv --column age --question age.json --seed 1")
    assert "intervals hold the truth" in found.output
    assert run("simulate people.csv --question set-up.json --protocol DE").exit_code == 2


@pytest.mark.parametrize("answers", [RECORD, HOURS, TOOLS], ids=["record", "number", "sets"])
def test_results_of_every_kind_are_shown_in_parts(answers) -> None:
    """Each part has a name of its own, HTML and lines; results survive a pickle as they were."""
    question = Question("any <b>", answers, epsilon=3.0)
    reports = question.protocol.privatize(people_of(answers, 3000), np.random.default_rng(4))
    found = question.estimate(question.tally(reports))
    parts = found.parts()
    assert len({part.name for part in parts}) == len(parts)
    assert isinstance(parts[0], Sentences)
    assert isinstance(parts[1], Facts)
    assert all(part.html() for part in parts)
    assert all(len(line) <= 60 for part in parts[:2] for line in part.lines(60))
    assert all(part.lines(60) for part in parts)
    assert "any &lt;b&gt;" in found.to_html()
    assert pickle.loads(pickle.dumps(found)) == found
    assert pickle.loads(pickle.dumps(parts)) == parts
    other = question.estimate(question.tally(reports[:-1]))
    assert found != other


@pytest.mark.parametrize("answers", [RECORD, HOURS, Number(0, 20, want=("mean",))])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_no_crowd_has_a_larger_variance_than_the_largest(
    answers: Record | Number, epsilon: float
) -> None:
    """Whoever answers, errors of all figures stay below the bound, and come near it."""
    rng, protocol, n = np.random.default_rng(5), answers.suggest(epsilon), 20_000
    bound, most = math.sqrt(largest_variance(answers, protocol) / n), 0.0
    question = Question("any", answers, protocol)
    last = answers.value_count - 1
    for low, high in [(0, last), (last // 2, last // 2 + 1), (0, 0), (last, last), (0, 1)]:
        values = rng.choice([low, high], n).astype(np.uint64)
        found = question.estimate(question.tally(protocol.privatize(values, rng)))
        told = found.cdf() if isinstance(answers, Number) and answers.want[0] != "mean" else found
        most = max(most, np.max(told.std_errors) / n)
    assert 0.6 * bound < most <= 1.02 * bound  # the number of people of each view is drawn


def test_a_plan_says_what_will_stand_out() -> None:
    """An answer of so many people is significant 19 times in 20; both planners of sets agree.

    Of 200 surveys fewer than 177 find it with a chance of 1 in 1,000 if the power is 0.95.
    """
    planned = plan_answers(RECORD, users=3000, epsilon=2.0)
    share, rng, hits = planned.significant, np.random.default_rng(5), 0
    assert share is not None
    question = Question("any", RECORD, planned.protocol)
    for _ in range(200):
        os = rng.choice(["a", "b", "c"], 3000, p=[share, (1 - share) / 2, (1 - share) / 2])
        plans = rng.choice(["free", "pro"], 3000)
        found = question.estimate(
            question.tally(question.privatize({"os": os, "plan": plans}, rng))
        )
        hits += bool(found["os: a"].significant)
    assert hits >= 177
    assert "Answers above 7.1\u00a0% will stand out." in planned.verdict
    assert 0.07 < share <= 0.071
    sets = plan_answers(TOOLS, users=3000, epsilon=1.0)
    assert sets.significant == plan(5, at_most=2, users=3000, epsilon=1.0).significant
    assert "No answer will stand out" in plan_answers(TOOLS, users=10, epsilon=1.0).verdict
    assert "stand out" not in plan_answers(HOURS, users=3000, epsilon=1.0).verdict
