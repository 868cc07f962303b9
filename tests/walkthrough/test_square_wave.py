"""What is special to the square wave: its iteration, and that nobody claims to know its error."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from click.testing import CliRunner
from deniable.protocols.square_wave import SquareWave

from deniable import Estimates, InvalidParameter, Question, compare, consistency, plan, recommend
from deniable.cli import cli
from deniable.collector.settings import Settings
from tests import components
from tests.collector.conftest import Collector, start, today

AGES = tuple(f"{10 * i} to {10 * i + 9}" for i in range(10))
QUESTION = Question("age", AGES, SquareWave(2.0, 10))
NOT_KNOWN = "the error of SquareWave is not known in closed form"


def reports(count: int, seed: int = 0) -> np.ndarray:
    """Return reports of people, most of whom are young."""
    rng = np.random.default_rng(seed)
    return QUESTION.protocol.privatize(rng.binomial(9, 0.3, count), rng)


@pytest.fixture(scope="module")
def estimates() -> Estimates:
    """Return what three thousand reports tell."""
    return QUESTION.estimate(QUESTION.tally(reports(3000)))


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """Return a collector that shows estimates of ten reports or more."""
    path = tmp_path_factory.mktemp("collector") / "store.db"
    yield from start(Settings(store=str(path), port=0, minimum=10))


def read(text: str) -> object:
    """Return what JSON holds; NaN and infinities are none."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def flat(text: str) -> str:
    """Return a text as one line, wherever its sentences are wrapped."""
    return " ".join(text.split())


def test_the_iteration_finds_the_distribution() -> None:
    """The distribution function of many people is off by a few percent at most."""
    rng, n = np.random.default_rng(1), 100_000
    values = rng.binomial(19, 0.3, n)
    protocol = SquareWave(3.0, 20)
    found = protocol.estimate(protocol.tally(protocol.privatize(values, rng)))
    assert found.counts.min() >= 0
    assert found.counts.sum() == pytest.approx(n)
    truth = np.cumsum(np.bincount(values, minlength=20)) / n
    assert np.abs(np.cumsum(found.shares) - truth).max() < 0.03


def test_sums_over_windows_are_those_of_the_matrix() -> None:
    """The chances of all cells, computed at once, are those of the law value by value."""
    protocol = SquareWave(1.0, 6)
    p, q = (weight / protocol._places.limit for weight in (
        protocol._places.inside, protocol._places.outside))  # fmt: skip
    cells, near = np.arange(protocol._places.size), protocol._places.kept
    matrix = np.array([np.where((v <= cells) & (cells < v + near), p, q) for v in range(6)])
    shares = np.array([0.5, 0.2, 0.1, 0.1, 0.06, 0.04])
    assert protocol._spread(shares) == pytest.approx(shares @ matrix)
    assert protocol._gather(cells / 7) == pytest.approx(matrix @ (cells / 7))


def test_advice_leaves_it_out_and_says_why() -> None:
    """All others are ranked, and a plan with it says that there is none; nothing is raised."""
    advice = recommend(1.0, 10)
    assert "DE" in {option.name for option in advice.options}
    assert advice.unranked == ("SquareWave",)
    assert "SquareWave is not ranked: its error is not known in closed form." in str(advice)
    for goal in ({"users": 1000}, {"epsilon": 1.0}):
        for accuracy in ({"error": 0.01}, {"significant": 0.01}):
            found = plan(10, **goal, **accuracy, protocol="SquareWave")
            assert not found.reachable
            assert "SquareWave is not for plans: its error is not known" in str(found)
            assert read(json.dumps(found.row()))["rare_error"] is None
    assert plan(10, users=1000, epsilon=1.0).protocol.name != "SquareWave"


def test_results_have_counts_and_say_that_there_is_no_interval(estimates: Estimates) -> None:
    """Counts and shares are there; intervals and significance are None, and words say why."""
    assert estimates.interval() is estimates.threshold() is estimates.significant() is None
    row = estimates["20 to 29"]
    assert row.count > 300
    assert (row.lower, row.upper, row.std_error, row.significant) == (None,) * 4
    assert NOT_KNOWN in estimates.unknown
    texts = (repr(estimates), estimates.table(), estimates._repr_html_(), estimates.to_html())
    for shown in map(flat, texts):
        assert NOT_KNOWN in shown
        assert "expectation maximisation" in shown
        assert "20 to 29" in shown
        assert "nan" not in shown.lower()
        assert "unbiased" not in shown


def test_exports_leave_empty_what_is_not_known(estimates: Estimates) -> None:
    """JSON has null and CSV nothing where an error would be; neither has NaN."""
    document = read(estimates.to_json())
    assert document["estimates"][2]["count"] == estimates.counts[2]
    for name in ("std_error", "lower", "upper", "significant"):
        assert [row[name] for row in document["estimates"]] == [None] * 10
    assert document["threshold"] is document["null_std_error"] is None
    assert document["estimator"] == "expectation maximisation"
    assert NOT_KNOWN in document["unknown"]
    header, *rows = estimates.to_csv().splitlines()
    assert header.startswith("label,count,share,std_error,lower,upper,significant,")
    assert all(row.split(",")[3:7] == [""] * 4 for row in rows)


def test_frames_and_figures_are_made(estimates: Estimates, tmp_path: Path) -> None:
    """Data frames have nulls, and the figure has bars without whiskers."""
    pytest.importorskip("matplotlib")
    estimates.plot(tmp_path / "few.png")
    many = SquareWave(2.0, 100)
    curve = many.estimate(many.tally(many.privatize(np.arange(100), np.random.default_rng(1))))
    curve.plot(tmp_path / "many.svg", top=None)
    assert NOT_KNOWN in (tmp_path / "many.svg").read_text()
    if (pandas := pytest.importorskip("pandas")) is not None:
        assert pandas.isna(estimates.to_pandas()["lower"]).all()
    assert estimates.to_polars()["lower"].null_count() == 10
    assert estimates.to_arrow()["significant"].null_count == 10
    assert len(estimates.to_parquet()) > 0


def test_changes_have_no_interval_either(estimates: Estimates) -> None:
    """Two estimates are compared by their shares, and words say what is missing."""
    other = QUESTION.estimate(QUESTION.tally(reports(2000, seed=3)))
    found = compare(estimates, other)
    assert found.interval() is found.significant() is None
    assert NOT_KNOWN in flat(repr(found))
    assert "shares by expectation maximisation, which may be biased" in flat(repr(found))
    assert all(row["lower"] is None for row in read(found.to_json())["changes"])
    assert {line.count(",") for line in found.to_csv().splitlines()} == {13}


def test_adjusting_is_for_unbiased_counts(estimates: Estimates) -> None:
    """What is biased already is not adjusted."""
    for method in consistency.METHODS:
        with pytest.raises(InvalidParameter, match="expectation maximisation"):
            consistency.adjust(estimates, method)


def test_the_command_line_says_what_is_not_known(tmp_path: Path) -> None:
    """Questions, estimates, changes, advice and simulations end well, and say what they lack."""

    def run(line: str) -> str:
        done = CliRunner().invoke(cli, line.split(), env={"COLUMNS": "100"}, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return flat(done.output)

    question, tally, other = (tmp_path / name for name in ("age.json", "one.bin", "two.bin"))
    QUESTION.to_json(question)
    QUESTION.tally(reports(3000)).to_bytes(tally)
    QUESTION.tally(reports(2000, seed=3)).to_bytes(other)
    (tmp_path / "answers.txt").write_text("\n".join(AGES * 20))
    assert "not known in closed form" in run(f"question show {question}")
    assert NOT_KNOWN in run(f"estimate {question} {tally}")
    assert read(run(f"estimate {question} {tally} --format json"))["threshold"] is None
    assert ",,,,," in run(f"estimate {question} {tally} --format csv")
    assert NOT_KNOWN in run(f"compare {question} {tally} {other}")
    assert "SquareWave is not ranked" in run("recommend --epsilon 1 --domain-size 10")
    assert read(run("recommend --epsilon 1 --domain-size 10 --json"))["unranked"] == ["SquareWave"]
    planned = "plan --domain-size 10 --users 1000 --epsilon 1 --protocol SquareWave"
    assert "SquareWave is not for plans" in run(planned)
    assert read(run(f"{planned} --json"))["error"] is None
    simulated = f"simulate {tmp_path / 'answers.txt'} --epsilon 1 --protocol DE,SquareWave --runs 2"
    assert "The best in theory, DE" in run(simulated)
    assert "The best as measured, SquareWave" in run(simulated.replace("DE,", ""))
    if components.installed("matplotlib"):
        run(f"{simulated} --plot {tmp_path / 'trials.png'}")
    trials = read(run(f"{simulated} --json"))["trials"]
    assert [trial["theoretical_mse"] is None for trial in trials] == [False, True]


def test_the_collector_says_what_is_not_known(collector: Collector) -> None:
    """Interface, dashboard and public page show the counts, and say what they lack."""
    path = f"/v1/questions/{QUESTION.digest}"
    sent = collector.request("POST", "/v1/questions", QUESTION.to_json().encode(), role="admin")
    assert sent.status == 201
    for day in (0, -1):
        data = reports(500, seed=day + 5).tobytes()
        assert collector.submit(QUESTION, data, day=today(day), role="relay").status == 204
    found = collector.request("GET", f"{path}/estimates", role="viewer")
    rows = read(found.body.decode())["estimates"]
    assert sum(row["count"] for row in rows) == pytest.approx(1000)
    assert all(row["lower"] is row["significant"] is None for row in rows)
    both = f"from={today()}&compare_to={today(-1)}&compare_from={today(-1)}"
    for query in ("format=csv", "format=html", both):
        asked = collector.request("GET", f"{path}/estimates?{query}", role="viewer")
        assert asked.status == 200, (query, asked.body)
    trend = collector.request("GET", f"{path}/trend", role="viewer")
    assert all(math.isfinite(row["share"]) and row["upper"] is None
               for row in read(trend.body.decode())["trend"])  # fmt: skip
    html = {"Accept": "text/html"}
    for place in (f"/questions/{QUESTION.digest}", f"/questions/{QUESTION.digest}?{both}"):
        page = collector.request("GET", place, role="admin", headers=html)
        assert page.status == 200
        text = page.body.decode()
        assert NOT_KNOWN in text
        assert "20 to 29" in text
        assert "nan" not in text.lower().replace("finance", "")
    form = {"name": "age", "labels": "\n".join(AGES), "users": "1000", "epsilon": "1"}
    sent = urlencode({**form, "solve": "error", "protocol": "SquareWave", "action": "plan"})
    planned = collector.request("POST", "/new", sent.encode(), role="admin", headers=html)
    assert planned.status == 200
    assert "SquareWave is not for plans" in planned.body.decode()
    assert collector.request("GET", f"/try/{QUESTION.digest}", headers=html).status == 200
    assert collector.request("GET", "/", role="admin", headers=html).status == 200
