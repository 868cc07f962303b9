"""Reading over HTTP: questions, estimates, tallies, sources."""

from __future__ import annotations

import gzip
import secrets
from dataclasses import replace
from re import findall

import numpy as np
import pytest

from deniable import OLH, OpenLH
from deniable.collector.app import create_app
from deniable.question import Question
from deniable.tally import Tally
from tests.collector.conftest import Collector, run_server, today


def relay(
    collector: Collector, question: Question, answers: list[str], day: str | None = None
) -> None:
    """Send answers as a relay does."""
    reports = question.privatize(answers).tobytes()
    assert collector.submit(question, reports, role="relay", day=day).status == 204


def estimates(collector: Collector, question: Question, query: str = "") -> object:
    """Ask for estimates."""
    return collector.request(
        "GET", f"/v1/questions/{question.digest}/estimates{query}", role="viewer"
    )


def test_a_question_is_immutable(collector: Collector) -> None:
    """Its document is cached for good under its digest."""
    question = collector.ask()
    path = f"/v1/questions/{question.digest}"
    answer = collector.request("GET", path)
    assert Question.from_json(answer.body) == question
    assert "immutable" in answer.headers["cache-control"]
    tag = answer.headers["etag"]
    again = collector.request("GET", path, headers={"If-None-Match": tag})
    assert (again.status, again.body) == (304, b"")


def test_a_question_is_compressed_for_who_reads_that(collector: Collector) -> None:
    """Gzip has a tag of its own; who does not ask for it, or refuses it, gets the plain bytes."""
    question = collector.ask()
    path = f"/v1/questions/{question.digest}"
    plain = collector.request("GET", path, headers={"Accept-Encoding": "br, gzip;q=0"})
    zipped = collector.request("GET", path, headers={"Accept-Encoding": "br, gzip"})
    assert plain.body == question.to_json().encode() == gzip.decompress(zipped.body)
    assert "content-encoding" not in plain.headers
    assert zipped.headers["content-encoding"] == "gzip"
    assert zipped.headers["vary"] == plain.headers["vary"] == "accept-encoding"
    assert zipped.headers["etag"] != plain.headers["etag"]
    tags = {"Accept-Encoding": "gzip", "If-None-Match": f'"x", W/{zipped.headers["etag"]}'}
    assert collector.request("GET", path, headers=tags).status == 304
    tags["If-None-Match"] = plain.headers["etag"]
    assert collector.request("GET", path, headers=tags).status == 200


def test_asking_twice_is_the_same(collector: Collector) -> None:
    """A question is there once, and the list shows it."""
    question = collector.ask()
    text = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", text, role="admin").status == 200
    listed = collector.request("GET", "/v1/questions").json["questions"]
    assert listed.count({"digest": question.digest, "name": question.name, "state": "open"}) == 1


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"\xff", b'{"format": "deniable-question"}'])
def test_what_is_no_question_is_refused(collector: Collector, body: bytes) -> None:
    """A document that is foreign or altered is not stored."""
    answer = collector.request("POST", "/v1/questions", body, role="admin")
    assert (answer.status, answer.problem) == (400, "invalid-document")


def test_questions_beyond_the_limits_are_refused(collector: Collector) -> None:
    """A document of more than a megabyte is not even read; too large reports are not collected."""
    large = b" " * (collector.settings.question_limit + 1)
    assert collector.request("POST", "/v1/questions", large, role="admin").problem == "too-large"


def test_estimates_are_the_librarys(collector: Collector) -> None:
    """The collector's estimates equal those of the same reports, before and after folding."""
    question = collector.ask(OLH(2.0, 3))
    reports = question.privatize(["a"] * 500 + ["b"] * 300)
    assert collector.submit(question, reports.tobytes(), role="relay").status == 204
    expected = question.estimate(question.tally(reports))
    found = estimates(collector, question).json
    assert found["n"] == 800
    assert [row["count"] for row in found["estimates"]] == pytest.approx(list(expected.counts))
    csv = estimates(collector, question, "?format=csv")
    assert csv.headers["content-type"].startswith("text/csv")
    assert csv.body.decode().splitlines()[0].startswith("label,count")


@pytest.mark.parametrize("query", ["", f"&to={today()}&compare_from={today(1)}"])
def test_estimates_as_a_page_need_nothing_inline(collector: Collector, query: str) -> None:
    """The page keeps to the policy of all pages: its style is a file, and it has no script."""
    question = collector.ask()
    for day in (today(), today(1)):
        assert collector.submit(question, b"\1" * 20, role="relay", day=day).status == 204
    html = estimates(collector, question, f"?format=html{query}")
    assert html.headers["content-type"].startswith("text/html")
    page = html.body.decode()
    assert "<table" in page
    assert not findall(r"<style|<script|\sstyle=|\son\w+=", page)
    (path,) = findall('<link rel="stylesheet" href="([^"]+)"', page)
    sheet = collector.request("GET", path)
    assert (sheet.status, sheet.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert b".deniable" in sheet.body


def test_estimates_by_days(collector: Collector) -> None:
    """A range of days counts what came on these days."""
    question = collector.ask()
    for later, n in ((-2, 20), (-1, 30), (0, 40)):
        relay(collector, question, ["a"] * n, today(later))
    for query, n in (
        ("", 90),
        (f"?from={today(-1)}", 70),
        (f"?to={today(-1)}", 50),
        (f"?from={today(-1)}&to={today(-1)}", 30),
        (f"?day={today(-1)}", 30),
    ):
        assert estimates(collector, question, query).json["n"] == n
        path = f"/v1/questions/{question.digest}/tally{query}"
        assert Tally.from_bytes(collector.request("GET", path, role="viewer").body).n == n
        page = collector.request(
            "GET", f"/questions/{question.digest}{query or '?'}&fragment", role="viewer"
        )
        assert f"estimated from {n} reports" in page.body.decode()
    for wrong in (f"?from={today()}&to={today(-1)}", f"?day={today()}&to={today()}", "?segment=1"):
        assert estimates(collector, question, wrong).problem == "invalid-request"


def test_two_ranges_are_compared(collector: Collector) -> None:
    """The changes of the shares are the library's comparison, in every format."""
    question = collector.ask()
    relay(collector, question, ["a"] * 400, today(-1))
    relay(collector, question, ["b"] * 400)
    ranges = f"?from={today(-1)}&to={today(-1)}&compare_from={today()}&compare_to={today()}"
    found = estimates(collector, question, ranges).json
    assert (found["first_n"], found["second_n"]) == (400, 400)
    days = f"?day={today(-1)}&compare_day={today()}"
    assert estimates(collector, question, days).json == found
    changes = {row["label"]: row for row in found["changes"]}
    # A share of 1 that becomes 0 is significant with a chance of failure far below 1e-9.
    assert changes["a"]["significant"]
    assert changes["a"]["difference"] < 0 < changes["b"]["difference"]
    csv = estimates(collector, question, ranges + "&format=csv")
    assert csv.headers["content-type"].startswith("text/csv")
    overlapping = ranges.replace(f"compare_from={today()}", f"compare_from={today(-1)}")
    assert estimates(collector, question, overlapping).problem == "invalid-request"


def test_few_reports_are_not_shown(collector: Collector) -> None:
    """Numbers appear with the minimum of reports, and move only with as many new ones."""
    question = collector.ask()
    relay(collector, question, ["a"] * 9)
    assert estimates(collector, question).problem == "too-few-reports"
    relay(collector, question, ["a"])
    assert estimates(collector, question).json["n"] == 10
    relay(collector, question, ["a"] * 9)
    assert estimates(collector, question).json["n"] == 10
    relay(collector, question, ["a"])
    assert estimates(collector, question).json["n"] == 20
    change = b'{"minimum": 100}'
    collector.request("PATCH", f"/v1/questions/{question.digest}", change, role="admin")
    assert estimates(collector, question).json["minimum"] == 100


def test_all_collectors_of_a_store_show_the_same(collector: Collector) -> None:
    """Another collector, or the same one started again, does not show new reports earlier."""
    question = collector.ask()
    relay(collector, question, ["a"] * 10)
    assert estimates(collector, question).json["n"] == 10
    relay(collector, question, ["a"] * 9)
    app = create_app(collector.settings)
    for address in run_server(app, collector.settings):
        other = replace(collector, app=app, address=address)
        assert estimates(other, question).json["n"] == 10
        relay(collector, question, ["a"])
        assert estimates(other, question).json["n"] == 20
        relay(other, question, ["a"] * 9)
        assert estimates(collector, question).json["n"] == 20


def test_open_questions_need_candidates(collector: Collector) -> None:
    """Candidates come in the query or in the body."""
    question = collector.ask(OpenLH(4.0), None)
    relay(collector, question, ["kiwi"] * 50 + ["fig"] * 20)
    assert estimates(collector, question).problem == "invalid-request"
    found = estimates(collector, question, "?candidate=kiwi&candidate=fig").json
    assert [row["label"] for row in found["estimates"]] == ["kiwi", "fig"]
    path = f"/v1/questions/{question.digest}/estimates"
    body = b'{"candidates": ["fig", "plum"]}'
    found = collector.request("POST", path, body, role="viewer").json
    assert [row["label"] for row in found["estimates"]] == ["fig", "plum"]


def test_too_costly_estimates_name_the_way_out(collector: Collector) -> None:
    """Beyond the limit of reports times candidates the answer names deniable pull."""
    question = collector.ask(OpenLH(4.0), None)
    relay(collector, question, ["kiwi"] * 50_000)
    names = "[" + ",".join(f'"{i}"' for i in range(90_000)) + "]"
    path = f"/v1/questions/{question.digest}/estimates"
    answer = collector.request("POST", path, b'{"candidates": %s}' % names.encode(), role="viewer")
    assert (answer.status, answer.problem) == (422, "too-costly")
    assert "deniable pull" in answer.json["detail"]


def test_a_tally_goes_down_and_up(collector: Collector) -> None:
    """What was downloaded is a tally of the library; uploads count once for each id."""
    question = collector.ask()
    relay(collector, question, ["a"] * 30)
    path = f"/v1/questions/{question.digest}"
    tally = Tally.from_bytes(collector.request("GET", path + "/tally", role="viewer").body)
    assert (tally.n, tally.question) == (30, question.digest)
    other = question.tally(question.privatize(["b"] * 12))
    upload = f"{path}/tallies/{secrets.token_hex(16)}?day=2020-01-01"
    statuses = [
        collector.request("PUT", upload, data, role="admin").status
        for data in (other.to_bytes(), other.to_bytes(), tally.to_bytes())
    ]
    assert statuses == [201, 200, 409]
    assert estimates(collector, question).json["n"] == 42
    assert estimates(collector, question, "?to=2020-01-01").json["n"] == 12


def test_foreign_tallies_are_refused(collector: Collector) -> None:
    """Garbage, another question's tally and one of no question are not added."""
    question, other = collector.ask(), collector.ask()
    path = f"/v1/questions/{question.digest}/tallies/{secrets.token_hex(16)}?day=2020-01-01"
    reports = other.privatize(["a"] * 12)
    for data in (
        b"garbage",
        other.tally(reports).to_bytes(),
        other.protocol.tally(reports).to_bytes(),
    ):
        assert collector.request("PUT", path, data, role="admin").problem == "invalid-document"
    assert collector.n(question) == 0


def test_a_poisoned_source_is_left_out(collector: Collector) -> None:
    """An excluded source vanishes from the estimates at once, and comes back."""
    question = collector.ask()
    relay(collector, question, ["a"] * 100)
    report = question.privatize(["b"]).tobytes()
    for _ in range(12):
        collector.submit(question, report)
    assert estimates(collector, question).json["n"] == 112
    path = f"/v1/questions/{question.digest}/sources/relay:relay"
    answer = collector.request("PUT", path, b'{"excluded": true}', role="admin")
    assert {source["name"]: source["excluded"] for source in answer.json["sources"]} == {
        "anonymous": False,
        "relay:relay": True,
    }
    assert estimates(collector, question).json["n"] == 12
    collector.request("PUT", path, b'{"excluded": false}', role="admin")
    assert estimates(collector, question).json["n"] == 112
    nobody = path.replace("relay:relay", "nobody")
    assert collector.request("PUT", nobody, b'{"excluded": true}', role="admin").status == 404


def test_estimates_stand_up_to_the_truth(collector: Collector) -> None:
    """From HTTP to the number: the estimate of a common answer is within six standard errors."""
    question = collector.ask(OLH(3.0, 3))
    relay(collector, question, ["a"] * 3000 + ["b"] * 1000)
    rows = estimates(collector, question).json["estimates"]
    truth = np.array([3000, 1000, 0])
    assert all(
        abs(row["count"] - t) < 6 * row["std_error"] for row, t in zip(rows, truth, strict=True)
    )
