"""Alarms of a collector: what stands out by day and source, and what an owner says about it."""

import json

import numpy as np
import pytest

from deniable import OUE, SHE, Choices, Number, Record
from deniable.answers import Answers
from deniable.question import Question
from deniable.rota import Repeat
from tests.collector.conftest import Collector, today
from tests.collector.test_administration import relay

LABELS = ("kiwi", "fig", "plum", "pear")


def answer_through(
    collector: Collector, question: Question, name: str, values: list[int], *, day: str
) -> None:
    """Send honest reports as a relay."""
    labels = [LABELS[value] for value in values]
    reports = question.privatize(labels, np.random.default_rng(len(name))).tobytes()
    headers = {"Authorization": f"Bearer {relay(collector, name)}"}
    assert collector.submit(question, reports, day=day, headers=headers).status == 204


def alarms(collector: Collector, question: Question, query: str = "") -> list[dict]:
    """Return the alarms of a question."""
    path = f"/v1/questions/{question.digest}/alarms{query}"
    answer = collector.request("GET", path, role="viewer")
    assert answer.status == 200, answer.body
    assert answer.json["unwatched"] is None
    return answer.json["alarms"]


def test_a_source_that_differs_is_named_until_it_is_expected_or_excluded(
    collector: Collector,
) -> None:
    """The alarm names source, day and answer; an owner marks it as expected, or excludes it."""
    question = collector.ask(OUE(2.0, 4), LABELS)
    for name in ("north", "south", "west"):
        answer_through(collector, question, name, [0, 1] * 200, day=today(-1))
    answer_through(collector, question, "west", [3] * 300, day=today())
    for name in ("north", "south"):
        answer_through(collector, question, name, [0, 1] * 200, day=today())
    (found,) = alarms(collector, question)
    assert (found["day"], found["source"]) == (today(), "relay:west")
    assert (found["kind"], found["answer"], found["expected"]) == ("different", "pear", False)
    assert "relay:west" in found["title"]
    assert "pear" in found["title"]
    assert alarms(collector, question, f"?day={today(-1)}") == []

    path = f"/v1/questions/{question.digest}"
    change = json.dumps({"expected": ["relay:west"]}).encode()
    answer = collector.request("PATCH", path, change, role="admin")
    assert answer.json["expected"] == ["relay:west"]
    assert [found["expected"] for found in alarms(collector, question)] == [True]

    answer = collector.request(
        "PUT", f"{path}/sources/relay:west", b'{"excluded": true}', role="admin"
    )
    assert answer.status == 200
    assert alarms(collector, question) == []


def test_an_alarm_moves_with_enough_new_reports(collector: Collector) -> None:
    """A day is looked at again once the question's minimum of new reports has come, not before."""
    question = collector.ask(OUE(2.0, 4), LABELS)
    for name in ("north", "south"):
        answer_through(collector, question, name, [0, 1] * 200, day=today())
    assert alarms(collector, question) == []
    answer_through(collector, question, "west", [3] * 300, day=today())
    assert [found["source"] for found in alarms(collector, question)] == ["relay:west"]


def test_alarms_are_of_the_round_that_is_named(collector: Collector) -> None:
    """A round stands for its days, and a question that is asked once has none."""
    repeat = Repeat(today(-1), every=1, rounds=2)
    question = Question("Which fruit?", LABELS, OUE(2.0, 4), repeat=repeat)
    collector.request("POST", "/v1/questions", question.to_json().encode(), role="admin")
    for name in ("north", "south"):
        answer_through(collector, question, name, [0, 1] * 200, day=today())
    answer_through(collector, question, "west", [3] * 300, day=today())
    assert [found["day"] for found in alarms(collector, question, "?round=1")] == [today()]
    assert alarms(collector, question, "?round=0") == []
    once = collector.ask(OUE(2.0, 4), LABELS)
    path = f"/v1/questions/{once.digest}/alarms?round=0"
    assert collector.request("GET", path, role="viewer").status == 400


@pytest.mark.parametrize(
    ("answers", "usual", "odd", "named"),
    [
        (Record(country=["DE", "FR"], plan=["free", "pro"], tables="pairs"),
         {"country": "DE", "plan": "free"}, {"country": "FR", "plan": "pro"},
         "country: FR, plan: pro"),
        (Choices(["git", "vim", "awk"], 2), ["git"], ["awk", "vim"], "awk"),
        (Number(0, 3000, 1000, "ms"), 0, 3000, "3000 ms"),
    ],
    ids=("record", "set", "number"),
)  # fmt: skip
def test_sources_of_every_kind_of_answers_are_compared(
    collector: Collector, answers: Answers, usual: object, odd: object, named: str
) -> None:
    """An alarm names the values of a record, the item of a set or the range of numbers."""
    question = Question(f"which {named}?", answers, epsilon=3.0)
    document = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", document, role="admin").status == 201
    rng = np.random.default_rng(5)
    for name in ("north", "south", "west"):
        given = odd if name == "west" else usual
        reports = question.privatize([given] * 400, rng).tobytes()
        headers = {"Authorization": f"Bearer {relay(collector, name)}"}
        assert collector.submit(question, reports, headers=headers).status == 204
    (found,) = alarms(collector, question)
    assert (found["source"], found["kind"]) == ("relay:west", "different")
    assert found["answer"] == named
    assert f"too many reports for “{named}”" in found["title"]


def test_a_question_that_cannot_be_watched_says_so(collector: Collector) -> None:
    """A protocol without supports has no alarms, and the reason is said instead."""
    question = collector.ask(SHE(1.0, 2), ("kiwi", "fig"))
    answer = collector.request("GET", f"/v1/questions/{question.digest}/alarms", role="viewer")
    assert answer.json["alarms"] == []
    assert "SHE" in answer.json["unwatched"]
