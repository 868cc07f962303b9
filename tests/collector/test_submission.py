"""Submissions over HTTP."""

from __future__ import annotations

import socket
from urllib.parse import quote, urlsplit

import pytest

from deniable import OLH
from tests.collector.conftest import Collector, today


def test_a_report_is_counted_once(collector: Collector) -> None:
    """The same submission twice answers the same and counts once; other bytes conflict."""
    question = collector.ask()
    first = collector.submit(question, b"\1", id=b"i" * 16)
    again = collector.submit(question, b"\1", id=b"i" * 16)
    other = collector.submit(question, b"\2", id=b"i" * 16)
    assert (first.status, again.status, other.status) == (204, 204, 409)
    assert other.problem == "conflict"
    assert collector.n(question) == 1


def test_days_outside_the_window_are_named(collector: Collector) -> None:
    """The refusal says which days are open."""
    question = collector.ask()
    for day in (today(-8), today(2)):
        answer = collector.submit(question, b"\1", day=day)
        assert (answer.status, answer.problem) == (422, "outside-window")
        assert (answer.json["first"], answer.json["last"]) == (today(-7), today(1))
    for day in (today(-7), today(1)):
        assert collector.submit(question, b"\1", day=day).status == 204
    assert collector.n(question) == 2


def test_a_closed_question_is_gone(collector: Collector) -> None:
    """Closing ends submissions, except repeats of what was stored; opening begins them again."""
    question = collector.ask()
    path = f"/v1/questions/{question.digest}"
    assert collector.submit(question, b"\1", id=b"i" * 16).status == 204
    assert collector.request("PATCH", path, b'{"state": "closed"}', role="admin").status == 200
    assert collector.submit(question, b"\1").problem == "question-closed"
    assert collector.submit(question, b"\1", id=b"i" * 16).status == 204
    assert collector.request("PATCH", path, b'{"state": "open"}', role="admin").status == 200
    assert collector.submit(question, b"\1").status == 204
    assert collector.n(question) == 2


def test_a_deleted_question_is_unknown(collector: Collector) -> None:
    """Deleting ends submissions and reading at once."""
    question = collector.ask()
    collector.submit(question, b"\1")
    path = f"/v1/questions/{question.digest}"
    assert collector.request("DELETE", path, role="admin").problem == "invalid-request"
    named = f"{path}?name={quote(question.name)}"
    assert collector.request("DELETE", named, role="admin").status == 204
    assert collector.submit(question, b"\1").problem == "unknown-question"
    assert collector.request("GET", path).problem == "unknown-question"


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        (b"", 400, "invalid-report"),
        (b"i" * 16, 400, "invalid-report"),
        (b"i" * 16 + b"\3", 400, "invalid-report"),
        (b"i" * 16 + b"\1\1", 413, "too-large"),
        (b"i" * 100_000, 413, "too-large"),
    ],
)
def test_bytes_that_are_no_report_are_refused(
    collector: Collector, body: bytes, status: int, problem: str
) -> None:
    """An anonymous submission is an id and exactly one report of the question."""
    question = collector.ask()
    path = f"/v1/questions/{question.digest}/reports?day={today()}"
    answer = collector.request("POST", path, body)
    assert (answer.status, answer.problem) == (status, problem)
    assert collector.n(question) == 0


@pytest.mark.parametrize(
    "query",
    ["", "?", "?day=", "?day=2025-13-01", "?day=20250101", "?id=1", "?day=%FF", "?day=2025-W01-1",
     "?day=2025-01-01&day=2025-01-01"],
)  # fmt: skip
def test_a_day_is_demanded(collector: Collector, query: str) -> None:
    """The query is one day and nothing else."""
    question = collector.ask()
    answer = collector.request(
        "POST", f"/v1/questions/{question.digest}/reports{query}", b"i" * 16 + b"\1"
    )
    assert (answer.status, answer.problem) == (400, "invalid-request")


def test_a_relay_sends_many_reports(collector: Collector) -> None:
    """With a token of the role relay a submission holds any number of reports up to the limit."""
    question = collector.ask()
    assert collector.submit(question, b"\0\1\2" * 100, role="relay").status == 204
    assert collector.submit(question, b"\0\1\3", role="relay").problem == "invalid-report"
    limit = collector.settings.body_limit
    assert collector.submit(question, b"\0" * limit, role="relay").problem == "too-large"
    assert collector.submit(question, b"\0", role="viewer").problem == "forbidden"
    sources = collector.request("GET", f"/v1/questions/{question.digest}/sources", role="viewer")
    assert sources.json["sources"] == [
        {"name": "relay:relay", "n": 300, "excluded": False, "excluded_days": []}
    ]


def test_a_wrong_token_is_not_anonymous(collector: Collector) -> None:
    """An unknown token is refused: a relay's mistake must not count as a person."""
    question = collector.ask()
    for header in ("Bearer nonsense", "Bearer", "Basic eDp5", ""):
        answer = collector.submit(question, b"\1", headers={"Authorization": header})
        assert (answer.status, answer.problem) == (401, "unauthorized")
    assert collector.n(question) == 0


def test_every_status_can_be_read_by_a_page(collector: Collector) -> None:
    """The CORS headers are on every answer, and the preflight that nobody needs changes nothing."""
    question = collector.ask()
    origins = b'{"origins": ["https://good.example"]}'
    collector.request("PATCH", f"/v1/questions/{question.digest}", origins, role="admin")
    bad, good = {"Origin": "https://bad.example"}, {"Origin": "https://good.example"}
    answers = [
        collector.submit(question, b"\1", headers=good),
        collector.submit(question, b"\1"),
        collector.submit(question, b"\1", headers=bad),
        collector.submit(question, b"\1" * 99, headers=good),
        collector.submit(question, b"\1", headers=good, day=today(9)),
        collector.request("POST", "/v1/questions/f/reports?day=2025-01-01", b"", headers=good),
        collector.request("GET", f"/v1/questions/{question.digest}/reports", headers=good),
        collector.request("GET", "/nowhere", headers=good),
    ]
    assert [answer.status for answer in answers] == [204, 204, 403, 413, 422, 404, 405, 404]
    assert answers[2].problem == "origin-refused"
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == "*"
        if answer.status != 204:  # which never says when to try again
            assert answer.headers["access-control-expose-headers"] == "Retry-After"


def test_what_is_no_http_is_a_problem_too(collector: Collector) -> None:
    """Even a request that cannot be parsed is answered in the one form."""
    with socket.create_connection((urlsplit(collector.address).hostname,
                                   urlsplit(collector.address).port)) as connection:  # fmt: skip
        connection.sendall(b"NOT HTTP\r\n\r\n")
        answer = b""
        while part := connection.recv(4096):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"application/problem+json" in head
    assert b"access-control-allow-origin: *" in head
    assert b"urn:deniable:invalid-request" in body


def test_a_body_in_chunks_is_a_body(collector: Collector) -> None:
    """A submission without a length is read to its end, and to no more than the limit."""
    question = collector.ask(OLH(1.0, 3))
    report = question.privatize(["a"]).tobytes()
    path = f"/v1/questions/{question.digest}/reports?day={today()}"
    body = iter([b"i" * 8, b"i" * 8, report])
    assert collector.request("POST", path, body).status == 204
    assert collector.request("POST", path, iter([b"i" * 50] * 9)).status == 413
    assert collector.n(question) == 1


def test_counters_say_what_happened(collector: Collector) -> None:
    """Accepted, repeated and refused by reason, and no label by question."""
    question = collector.ask()
    before = collector.request("GET", "/v1/counters", role="viewer").json
    for _ in range(2):
        collector.submit(question, b"\1", id=b"j" * 16)
    collector.submit(question, b"\7")
    after = collector.request("GET", "/v1/counters", role="viewer").json
    assert after["accepted"] - before["accepted"] == 1
    assert after["repeated"] - before["repeated"] == 1
    refused = [found["refused"].get("invalid-report", 0) for found in (before, after)]
    assert refused[1] - refused[0] == 1
    metrics = collector.request("GET", "/metrics", role="viewer").body.decode()
    assert f'deniable_submissions_refused_total{{reason="invalid-report"}} {refused[1]}' in metrics
    assert question.digest not in metrics
