"""Records and numbers in a collector: tables, quartiles, shares above, segments, and pages."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import date, timedelta
from html import unescape

import numpy as np
import pytest

from deniable import Answers, Choice, Choices, Number, Question, Record
from deniable.collector.pages.templating import BUILT, client_address, client_for
from deniable.collector.settings import Settings
from deniable.division import Part, least_reports
from deniable.rota import Repeat
from deniable.segments import NOT_STATED
from tests.collector.conftest import Collector, start, today

PLANS = {"platform": ("web", "desktop")}


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector of its own."""
    path = tmp_path_factory.mktemp("collector")
    yield from start(Settings(store=str(path / "store.db"), port=0, minimum=10))


def ask(collector: Collector, question: Question, days: list[object]) -> Question:
    """Ask a question, and have people answer it on some days up to today, by turns of segments."""
    document = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", document, role="admin").status == 201
    for back, answers in enumerate(reversed(days)):
        reports = question.privatize(answers, np.random.default_rng(back))
        cells = [bytes([i % 2]) if question.segments else b"" for i in range(len(reports))]
        rows = [cell + row.tobytes() for cell, row in zip(cells, reports, strict=True)]
        sent = collector.submit(question, b"".join(rows), role="relay", day=today(-back))
        assert sent.status == 204
    return question


@pytest.fixture(scope="module")
def load(collector: Collector) -> Question:
    """A question for a load time, answered on two days; half of the people are at 800 ms."""
    number = Number(0, 3150, step=50, unit="ms", want=("distribution", "mean"))
    rng = np.random.default_rng(1)
    days = [np.minimum(rng.lognormal(np.log(800), 0.5, 4000), 3200) for _ in range(2)]
    return ask(collector, Question("load <time>", number, epsilon=4.0, segments=PLANS), days)


@pytest.fixture(scope="module")
def survey(collector: Collector) -> Question:
    """A question for records, whose country and plan depend on each other."""
    record = Record(
        country=Choice(["DE", "FR <x>", "PT"]), plan=Choice(["free", "pro"]), tables="pairs"
    )
    people = [{"country": "DE", "plan": "pro"}, {"country": "FR <x>", "plan": "free"}] * 1500
    return ask(collector, Question("set-up", record, epsilon=3.0), [people, people])


def read(collector: Collector, question: Question, query: str = "", part: str = "estimates"):
    """Return what a viewer reads of a question."""
    path = f"/v1/questions/{question.digest}/{part}{query}"
    return collector.request("GET", path, role="viewer")


def test_numbers_have_quartiles_a_mean_and_shares_above(
    collector: Collector, load: Question
) -> None:
    """JSON has them with intervals, and says what cannot be asked."""
    found = read(collector, load, "?above=1500").json
    assert found["median"]["lower"] <= 800 <= found["median"]["upper"]
    assert found["lower_quartile"]["value"] < found["upper_quartile"]["value"]
    assert found["mean"]["lower"] < 800 * np.exp(0.125) < found["mean"]["upper"]
    assert found["unit"] == "ms"
    above = found["above"]
    assert above["lower"] < 0.1 < above["upper"]  # 0.5 (1 - erf(ln(1500 / 800) / (0.5 sqrt 2)))
    table = read(collector, load, "?above=1500&format=csv").body.decode().splitlines()
    told = [{name: row[f"above_{name}"] for name in above} for row in csv.DictReader(table)]
    assert told == [{name: str(above[name]) for name in above}] * 64
    assert len(found["estimates"]) == 64
    wrong = read(collector, load, "?above=9000")
    assert wrong.status == 400
    assert "a number from 0 ms to below 3150 ms" in wrong.body.decode()
    assert "only records have cross tables" in read(collector, load, "?cross=plan").body.decode()


def test_numbers_are_divided_followed_and_compared(collector: Collector, load: Question) -> None:
    """By segment, from day to day, and two days with each other; rows are bins."""
    found = read(collector, load, "?by=platform").json
    values = {part["value"]: part for part in found["segments"]}
    assert {"web", "desktop"} <= set(values)
    assert found["shown_from"] == least_reports(load) > 1000
    for name in ("web", "desktop"):
        assert values[name]["median"]["lower"] <= 800 <= values[name]["median"]["upper"]
        assert values[name]["mean"]["lower"] < 800 * np.exp(0.125) < values[name]["mean"]["upper"]
        assert values[name]["unit"] == "ms"
    by = read(collector, load, "?by=platform&format=csv").body.decode().splitlines()
    rows = list(csv.DictReader(by))
    assert {row["platform"]: row["n"] for row in rows} == {"web": "4000", "desktop": "4000"}
    assert {float(row["median_value"]) for row in rows if row["platform"] == "web"} == {
        values["web"]["median"]["value"]
    }
    yesterday = (date.fromisoformat(today()) - timedelta(days=1)).isoformat()
    compared = read(collector, load, f"?day={yesterday}&compare_day={today()}").json
    assert not any(row["significant"] for row in compared["changes"])


def test_the_page_of_a_number_shows_a_histogram(collector: Collector, load: Question) -> None:
    """Half of the people in a sentence, quartiles as figures, and the share above if asked for."""
    address = f"/questions/{load.digest}"
    page = collector.request("GET", f"{address}?above=1500", role="viewer").body.decode()
    assert "Half of the people are at or below <b>" in page
    assert '<svg class="histogram" role="img"' in page
    assert "Above 1,500 ms are <b>" in page
    assert "numbers below 0 ms count as 0 ms, those above 3,150 ms as 3,150 ms" in page
    assert 'name="above"' in page
    assert len(re.findall("estimates\\?above=1500&amp;format=(?:csv|json)", page)) == 2
    assert "By platform" in page
    assert re.search("4,000 reports; lower quartile .* ms .*; median .*; mean .* ms", page)
    assert page.count('<tr role="row"') < 20  # at most eight bins for a segment
    page = collector.request("GET", f"{address}?above=ten", role="viewer").body.decode()
    assert "Enter a number, not" in page


def test_a_number_is_followed_by_its_median_and_mean(collector: Collector, load: Question) -> None:
    """CSV and JSON have a row for each day with intervals; a page has a picture of each figure."""
    table = read(collector, load, "?format=csv&above=1500", "trend").body.decode().splitlines()
    rows = list(csv.DictReader(table))
    assert [(row["day"], row["n"]) for row in rows] == [(today(-1), "4000"), (today(), "4000")]
    one = read(collector, load, f"?day={today()}&above=1500").json
    for name in ("lower_quartile", "median", "upper_quartile", "mean"):
        told = {end: float(rows[-1][f"{name}_{end}"]) for end in ("value", "lower", "upper")}
        assert told == one[name]
    assert float(rows[-1]["above_share"]) == one["above"]["share"]
    assert {"label", "share"}.isdisjoint(rows[0])
    assert (rows[0]["unit"], rows[0]["level"]) == ("ms", "0.95")
    found = read(collector, load, "?above=1500", "trend").json
    assert [str(row["median_value"]) for row in found["trend"]] == [
        row["median_value"] for row in rows
    ]
    named = read(collector, load, "?candidate=800%20ms", "trend").json["trend"]
    assert [row["label"] for row in named] == ["800 ms"] * 2
    page = collector.request("GET", f"/questions/{load.digest}?above=1500", role="viewer")
    assert captions(page.body.decode()) == [
        "Median", "Above 1,500 ms", "Mean", "Lower quartile", "Upper quartile"
    ]  # fmt: skip
    assert "trend?above=1500&amp;format=csv" in page.body.decode()
    assert ">Trend as CSV</a>" in page.body.decode()
    terms = b'{"public_results": true}'
    path = f"/v1/questions/{load.digest}"
    assert collector.request("PATCH", path, terms, role="admin").status == 200
    for path in (f"/results/{load.digest}", f"/results/{load.digest}/embed"):
        public = collector.request("GET", path).body.decode()
        assert captions(public) == ["Median", "Mean", "Lower quartile", "Upper quartile"]
        spoken = rf"<desc[^>]*>[\d,]+ ms \([\d,]+ to [\d,]+\) on {today(-1)}, [^<]*overlap"
        assert re.search(spoken, public)
    days = f"?from={today()}&to={today()}&compare_from={today(-1)}&compare_to={today(-1)}"
    compared = collector.request("GET", f"/questions/{load.digest}{days}", role="viewer")
    assert "The median was " in compared.body.decode()
    home = collector.request("GET", "/", role="viewer").body.decode()
    assert '<svg class="spark"' in home


def captions(page: str) -> list[str]:
    """Return what stands over the small pictures of a page."""
    return re.findall("<figcaption><bdi>([^<]*)</bdi>", page)


def test_a_mean_that_moved_is_said_and_no_single_step(collector: Collector) -> None:
    """The first page has the change of the mean, the page of the question a sentence."""
    number = Number(-20, 40, step=5, unit="°C", want=("mean",))
    days = [np.full(1500, 0.0)] + [np.full(1500, 20.0)] * 7
    question = ask(collector, Question("how warm?", number, epsilon=4.0), days)
    page = collector.request("GET", f"/questions/{question.digest}", role="viewer").body.decode()
    assert captions(page) == ["Mean"]
    assert re.search(r"The mean changed by <b>[12][\d.]* °C</b> .*against the week before", page)
    assert "towards" not in re.sub("<details.*?</details>", "", page, flags=re.DOTALL)
    home = collector.request("GET", "/", role="viewer").body.decode()
    assert re.search(r"Mean ▲ [12][\d.]* °C", home)


def test_records_are_followed_by_margins_and_means(collector: Collector) -> None:
    """A number among the attributes by its mean, in its own unit; the others by their answers."""
    record = Record(plan=["free", "pro"], age=Number(0, 90, step=10, unit="years"))
    question = ask(
        collector, Question("who?", record, epsilon=4.0), [[{"plan": "pro", "age": 40}] * 1500] * 2
    )
    page = collector.request("GET", f"/questions/{question.digest}", role="viewer").body.decode()
    assert captions(page) == ["Mean of age", "plan: pro", "plan: free"]
    table = read(collector, question, "?format=csv", "trend").body.decode().splitlines()
    rows = list(csv.DictReader(table))
    assert {row["label"] for row in rows} == {"plan: free", "plan: pro"}
    assert all(
        float(row["mean_of_age_lower"]) < 40 < float(row["mean_of_age_upper"]) for row in rows
    )


def test_records_have_margins_and_cross_tables(collector: Collector, survey: Question) -> None:
    """Rows are the margins; a table is asked for by its attributes, in any form."""
    found = read(collector, survey).json
    labels = [row["label"] for row in found["estimates"]]
    assert labels == ["country: DE", "country: FR <x>", "country: PT", "plan: free", "plan: pro"]
    assert found["adds_up"] is False
    assert found["tables"] == [["country", "plan"]]
    table = read(collector, survey, "?cross=country&cross=plan").json
    rows = {row["label"]: row["share"] for row in table["estimates"]}
    assert rows["DE / pro"] == pytest.approx(0.5, abs=0.1)
    assert read(collector, survey, "?cross=plan&format=csv").body.count(b"\n") == 3
    wrong = read(collector, survey, "?cross=age")
    assert (wrong.status, "an attribute among" in wrong.body.decode()) == (400, True)
    assert "only numbers have shares above" in read(collector, survey, "?above=3").body.decode()


def test_the_page_of_a_record_shows_tables(collector: Collector, survey: Question) -> None:
    """A chart for each attribute, a grid for each pair, and whether they depend on each other."""
    page = collector.request("GET", f"/questions/{survey.digest}", role="viewer").body.decode()
    for title in ("country", "plan", "country by plan"):
        assert f">{title}</h2>" in page
    assert 'class="plain grid"' in page
    assert "depend on each other (p at most 0.005)" in page
    assert "FR &lt;x&gt;" in page
    assert "<x>" not in page
    link = re.search(r'href="([^"]*cross=country[^"]*)"[^>]*>([^<]*)<', page)
    assert link[2] == "country by plan as CSV"
    table = collector.request("GET", link[1].replace("&amp;", "&"), role="viewer")
    assert table.body.count(b"\n") == 1 + 3 * 2


def test_the_page_of_sets_has_the_sizes(collector: Collector) -> None:
    """Below the shares, which do not add up: how many answers people gave."""
    question = Question("tools", Choices(("git", "vim", "tmux"), 2), epsilon=3.0)
    ask(collector, question, [[["git", "vim"], ["git"]] * 1000])
    page = collector.request("GET", f"/questions/{question.digest}", role="viewer").body.decode()
    assert "How many answers people gave" in page
    assert "shares do not add up to 100 %" in page


@pytest.mark.parametrize(
    ("answers", "person", "told"),
    [
        (Record(plan=["free", "pro"], age=Number(0, 90, step=10)), {"plan": "pro", "age": 40},
         "means"),
        (Number(0, 15, unit="h", want=("mean",)), 8, "mean"),
        (Choices(("git", "vim", "tmux"), 2), ["git"], "sizes"),
        (Choice(["yes", "no"]), "yes", "estimates"),
    ],
    ids=["record", "number", "sets", "choice"],
)  # fmt: skip
def test_every_kind_has_segments_and_rounds(
    collector: Collector, answers: Answers, person: object, told: str
) -> None:
    """Segments come with what the kind tells, small ones wait for their error, rounds follow."""
    rounds = Repeat(today(-1), every=1, rounds=2)
    question = Question(f"{told}?", answers, epsilon=4.0, segments=PLANS, repeat=rounds)
    ask(collector, question, [[person] * 1500] * 2)
    cells = question.segments.cell({})
    few = b"".join(bytes([cells]) + row.tobytes() for row in question.privatize([person] * 30))
    assert collector.submit(question, few, role="relay").status == 204
    found = read(collector, question, "?by=platform").json
    values = {part["value"]: part for part in found["segments"]}
    assert found["shown_from"] == least_reports(question, 10) > 100
    assert values["web"][told]
    assert values["not stated"]["estimates"] is None
    assert values["not stated"]["missing"] == found["shown_from"] - 30
    only = read(collector, question, "?segment=platform:web").json
    assert only["estimates"] == values["web"]["estimates"]
    trend = read(collector, question, "", "trend").json["trend"]
    assert {(row["round"], row["n"]) for row in trend} == {(0, 1500), (1, 1530)}
    assert "round" not in read(collector, question, "?by=day", "trend").json["trend"][0]
    page = collector.request("GET", f"/questions/{question.digest}", role="viewer").body.decode()
    assert "more are needed, because of the error" in page
    assert "Round by round" in page
    assert "These results are of rounds 0 to 1 together" in page
    assert all(f"trend?by={unit}&amp;format=csv" in page for unit in ("round", "day"))
    figures = question.estimate(question.tally(question.privatize([person] * 900))).figures()
    assert all(f"; {name} " in page for name in figures)


def test_an_open_question_has_segments_and_rounds(collector: Collector) -> None:
    """What is named is counted by segment and from round to round, as JSON and on the page."""
    rounds = Repeat(today(-1), every=1, rounds=2)
    question = Question("Which word?", None, epsilon=4.0, segments=PLANS, repeat=rounds)
    ask(collector, question, [["kiwi"] * 1500] * 2)
    found = read(collector, question, "?by=platform&candidate=kiwi").json
    assert [part["n"] for part in found["segments"]] == [1500, 1500]
    trend = read(collector, question, "?candidate=kiwi", "trend").json["trend"]
    assert [(row["round"], row["label"], row["n"]) for row in trend] == [
        (0, "kiwi", 1500), (1, "kiwi", 1500),
    ]  # fmt: skip
    path = f"/questions/{question.digest}?candidates=kiwi"
    page = collector.request("GET", path, role="viewer").body.decode()
    assert all(said in page for said in ("By platform", "Round by round", "rounds 0 to 1 together"))
    assert "1 answer," in page
    assert "1 answers" not in page


def test_only_a_label_can_name_a_person() -> None:
    """Few reports of a value are warned of; no values are too fine where none was stated."""
    assert "coarser values" in str(Part("web", 1, 99, None).warning)
    assert Part(NOT_STATED, 1, 99, None).warning is None


def test_people_can_check_every_script_that_a_tag_may_name(collector: Collector) -> None:
    """There is a client for each kind of answers, and each is listed with its hash."""
    said = unescape(collector.request("GET", "/check").body.decode())
    for kind in BUILT:
        assert client_address(kind) in said
        assert client_for(kind).integrity in said
