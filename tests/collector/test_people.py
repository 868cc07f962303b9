"""People who answer again: whoever estimates, the law is that of people and not of reports."""

from __future__ import annotations

import json
import re
import secrets

import numpy as np
import pytest

from benchmarks.people import LABELS, WAYS, Crowd, Sizes, measure
from deniable import BasicRAPPOR, Question
from deniable.client import Part, pull, pull_part
from deniable.collector import breakdown
from deniable.collector.jobs import Order, Sums, Wanted
from deniable.collector.stores.records import Days, Slice, Snapshot
from deniable.law import RepeatedLaw
from tests.collector.conftest import Collector, today


@pytest.fixture(scope="module")
def crowd(collector: Collector) -> Crowd:
    """100 people who answered on three of the last five days, and 40 of them on a fourth."""
    rng = np.random.default_rng(7)
    found = Crowd.draw("how was your day?", 100, rng)
    body = found.question.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    for later, some in ((-4, 100), (-2, 100), (-1, 100), (0, 40)):
        reports = found.answer(rng)[:some]
        assert (
            collector.submit(found.question, reports, role="relay", day=today(later)).status == 204
        )
    return found


def _read(collector: Collector, crowd: Crowd, query: str = "", part: str = "estimates"):
    path = f"/v1/questions/{crowd.question.digest}/{part}{query}"
    return collector.request("GET", path, role="viewer")


@pytest.mark.long("25 collections of 8 days, one after the other")
@pytest.mark.parametrize(
    "ways", [WAYS[:3], pytest.param(WAYS[3:], marks=pytest.mark.frames)], ids=", ".join
)
def test_intervals_cover_by_every_way(ways: tuple[str, ...]) -> None:
    """API, page, command line and Spark cover the true counts of all days (seeded).

    340 people answer on 8 days; by the law of reports two thirds would be covered.
    """
    for way, found in measure(Sizes(collections=25, people=340, days=8, seed=3), ways).items():
        # 125 intervals, those of one collection a little dependent: 0.95 less three errors.
        assert found.mean() >= 0.89, way


def test_days_with_reports_are_rounds(collector: Collector, crowd: Crowd) -> None:
    """340 reports on 4 of 5 days are those of 85 people, and the answer says so."""
    found = _read(collector, crowd).json
    assert (found["n"], found["provenance"]["reports"]) == (85, 340)
    assert found["provenance"]["law"] == "85 people over 4 days"
    tally = pull(collector.address, crowd.question, token=collector.tokens["viewer"])
    expected = crowd.question.estimate(tally, rounds=4)
    assert isinstance(expected.law, RepeatedLaw)
    assert [row["lower"] for row in found["estimates"]] == expected.interval()[0].tolist()
    text = _read(collector, crowd, "?format=csv").body.decode()
    assert '"85 people over 4 days"' in text or "85 people over 4 days" in text
    page = _read(collector, crowd, "?format=html").body.decode()
    assert "by the law of 85 people over 4 days, who sent 340 reports" in page


def test_a_range_counts_its_own_days(collector: Collector, crowd: Crowd) -> None:
    """Days without reports are no rounds, and one day is one."""
    some = _read(collector, crowd, f"?from={today(-4)}&to={today(-2)}").json
    assert (some["n"], some["provenance"]["law"]) == (100, "100 people over 2 days")
    one = _read(collector, crowd, f"?from={today(-2)}&to={today(-2)}").json
    assert (one["n"], one["provenance"]["law"]) == (100, "100 people over 1 day")


def test_who_knows_the_people_says_so(collector: Collector, crowd: Crowd) -> None:
    """``people`` stands for the rule, by address and by body; nonsense is refused in words."""
    found = _read(collector, crowd, "?people=100").json
    assert (found["n"], found["provenance"]["law"]) == (100, "100 people")
    path = f"/v1/questions/{crowd.question.digest}/estimates"
    body = json.dumps({"people": 100}).encode()
    assert collector.request("POST", path, body, role="viewer").json == found
    for wrong in ("0", "341", "ten", "1.5"):
        answer = _read(collector, crowd, f"?people={wrong}")
        assert (answer.status, answer.problem) == (400, "invalid-request"), wrong
        assert "people" in answer.json["detail"]
    other = collector.ask()
    reports = other.privatize(["a"] * 20).tobytes()
    assert collector.submit(other, reports, role="relay").status == 204
    path = f"/v1/questions/{other.digest}/estimates?people=5"
    answer = collector.request("GET", path, role="viewer")
    assert "reports of DE are independent" in answer.json["detail"]


def test_an_uploaded_tally_is_a_day(collector: Collector) -> None:
    """A tally that was collected elsewhere adds its day to the rounds."""
    rng = np.random.default_rng(2)
    crowd = Crowd.draw("uploaded", 30, rng)
    question = crowd.question
    body = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    for later in (-40, -39):
        tally = question.tally(question.parse(crowd.answer(rng), None)).to_bytes()
        path = f"/v1/questions/{question.digest}/tallies/{secrets.token_hex(16)}?day={today(later)}"
        assert collector.request("PUT", path, tally, role="admin").status == 201
    assert collector.submit(question, crowd.answer(rng), role="relay").status == 204
    assert _read(collector, crowd).json["provenance"]["law"] == "30 people over 3 days"


def test_comparisons_are_of_people(collector: Collector, crowd: Crowd) -> None:
    """Both ranges have their own days, or the people that are named for them."""
    query = f"?from={today(-4)}&to={today(-2)}&compare_from={today(-1)}&compare_to={today()}"
    said = _read(collector, crowd, query).json["provenance"]
    assert (said["first_law"], said["second_law"]) == (
        "100 people over 2 days",
        "70 people over 2 days",
    )
    said = _read(collector, crowd, f"{query}&people=150&compare_people=90").json["provenance"]
    assert (said["first_n"], said["second_n"]) == (150, 90)


def test_pages_say_which_law_was_used(collector: Collector, crowd: Crowd) -> None:
    """The page names people and days, takes another number, and says what answering reveals."""
    path = f"/questions/{crowd.question.digest}"
    text = re.sub(r"\s+", " ", collector.request("GET", path, role="viewer").body.decode())
    assert "340 reports of 85 people over 4 days" in text
    quality = collector.request("GET", f"{path}/quality", role="viewer").body.decode()
    assert "epsilon = 1.02 by one report, 2.2 by answering for ever" in quality
    assert "ε = 2.2: a 50:50 guess" in text
    assert 'name="people"' in text
    assert "Can it be gamed?" in text
    assert "each day by itself, by the law of as many people as answered on it" in text
    part = collector.request("GET", f"{path}?people=100&fragment", role="viewer").body.decode()
    assert "340 reports of 100 people" in part
    assert "people=100&amp;format=csv" in part
    assert "trend?format=csv" in part
    part = collector.request("GET", f"{path}?people=9999&fragment", role="viewer").body.decode()
    assert "This cannot be estimated" in part
    wrong = collector.request("GET", f"{path}?people=ten", role="viewer")
    assert (wrong.status, b"Enter people as a whole number" in wrong.body) == (400, True)


def test_pages_of_other_questions_do_not_speak_of_people(collector: Collector) -> None:
    """Where everybody answers once no number of people is asked for."""
    question = collector.ask()
    text = collector.request("GET", f"/questions/{question.digest}", role="viewer").body.decode()
    assert 'name="people"' not in text
    path = f"/questions/{question.digest}/quality"
    quality = collector.request("GET", path, role="viewer").body.decode()
    assert "epsilon = 1 by one report, and as much again by each further one" in quality


def test_each_day_of_a_trend_is_one_round(collector: Collector, crowd: Crowd) -> None:
    """A point of a trend is judged by as many people as sent a report on its day."""
    rows = _read(collector, crowd, part="trend").json
    assert rows["law"] == "as many people as reports, on each day by itself"
    assert {row["n"] for row in rows["trend"]} == {100, 40}
    question, part = crowd.question, Slice(crowd.question.digest, Days(5, 5))
    tally = question.tally(question.parse(crowd.sent[0], None))
    wanted = Wanted((part,), candidates=("a",), daily=True)
    order = Order(question.to_json(), wanted, (part,), 0, (), 0, Snapshot((), ()))
    sums = Sums(order, {part: (tally, 1)})
    lower, _ = question.estimate(tally, ["a"], rounds=1).interval()
    assert breakdown.follow(sums, ["a"]).series[0].points[0].reading.lower == lower[0] / 100
    assert b"as many people as reports" in breakdown.export_trend(sums, "csv")


def test_a_pulled_tally_comes_with_its_days(collector: Collector, crowd: Crowd) -> None:
    """The collector says on how many days the reports of a tally came."""
    token = collector.tokens["viewer"]
    tally, days = pull_part(collector.address, crowd.question, Part(), token=token)
    assert (tally.n, days) == (340, 4)
    assert pull_part(collector.address, crowd.question, Part(today(-1)), token=token)[1] == 2


def test_published_numbers_keep_their_days(collector: Collector, crowd: Crowd) -> None:
    """A first report of a new day moves nothing that was published, not even the rounds."""
    rng = np.random.default_rng(9)
    asked = Crowd.draw("kept", 50, rng)
    body = asked.question.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    reports = asked.answer(rng)
    assert collector.submit(asked.question, reports, role="relay", day=today(-1)).status == 204
    before = _read(collector, asked).json
    assert collector.submit(asked.question, reports[:1], role="relay").status == 204
    assert _read(collector, asked).json == before
    assert collector.submit(asked.question, reports[1:], role="relay").status == 204
    assert _read(collector, asked).json["provenance"]["law"] == "50 people over 2 days"


def test_the_answers_are_those_of_the_benchmark() -> None:
    """The crowd that is simulated sends what clients send: as many bits as there are answers."""
    assert BasicRAPPOR(len(LABELS), 0.5, 0.75, 0.25).words.count == 2 * len(LABELS)
    crowd = Crowd.draw("x", 2000, np.random.default_rng(1))
    question: Question = crowd.question
    for _ in range(2):
        crowd.answer(np.random.default_rng(2))
    # The same words of a day, and the same permanent ones, make the same reports.
    assert crowd.sent[0] == crowd.sent[1]
    found = question.estimate(question.tally(question.parse(crowd.sent[0], None)), rounds=1)
    assert np.all(np.abs(found.counts - crowd.truth) < 5 * found.std_errors)


def test_the_public_page_says_what_answering_again_reveals(
    collector: Collector, crowd: Crowd
) -> None:
    """It bounds any number of reports, and not only one."""
    text = collector.request("GET", f"/try/{crowd.question.digest}").body.decode()
    said = "as long as the answer stays the same, change them by a factor of at most 9."
    assert said in " ".join(text.split())
