"""Segments and rounds at the collector: kept beside the source, summed, divided and compared."""

from __future__ import annotations

import secrets
from datetime import date, timedelta
from urllib.parse import quote

import numpy as np
import pytest

from deniable import DE, Question
from deniable.client import pull
from deniable.collector.cells import pack_cells, ripe, unpack_cells
from deniable.rota import Repeat
from tests.collector.conftest import Collector, today

SEGMENTS = {"platform": ("linux", "mac"), "arm": ("A", "B", "C")}


def ask(collector: Collector, **more: object) -> Question:
    """Ask a question with segments, or with rounds."""
    name = f"fruit {secrets.token_hex(4)}"
    question = Question(name, ("a", "b"), DE(3.0, 2), **more)
    body = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    return question


def relay(collector: Collector, question: Question, cells: list[int], answers: list[str],
          day: str | None = None) -> bytes:  # fmt: skip
    """Send reports of some cells as a relay, and return the plain reports."""
    reports = question.privatize(answers, np.random.default_rng(len(cells)))
    rows = [bytes([cell]) + report.tobytes() for cell, report in zip(cells, reports, strict=True)]
    sent = collector.submit(question, b"".join(rows), role="relay", day=day or today())
    assert sent.status == 204
    return reports.tobytes()


def read(collector: Collector, question: Question, query: str = "", part: str = "estimates"):
    """Return what a viewer reads of a question."""
    path = f"/v1/questions/{question.digest}/{part}{query}"
    return collector.request("GET", path, role="viewer")


def test_the_total_is_that_of_no_segments_byte_for_byte(collector: Collector) -> None:
    """Cells add up to the tally of the same reports without segments, folded or not."""
    question = ask(collector, segments=SEGMENTS)
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 7, 400).tolist()
    reports = relay(collector, question, cells, ["a", "b"] * 200)
    expected = question.tally(question.parse(reports, None))
    token = collector.tokens["viewer"]
    assert pull(collector.address, question, token=token).to_bytes() == expected.to_bytes()
    parts = [
        read(collector, question, f"?segment={quote(f'platform:{value}')}", "tally").body
        for value in ("linux", "mac", "not stated")
    ]
    total = question.accumulator()
    from deniable import Tally  # noqa: PLC0415

    for part in parts:
        total.merge(Tally.from_bytes(part))
    assert total.tally().to_bytes() == expected.to_bytes()
    counts = read(collector, question, "", "status").json["segments"]
    assert sum(counts.values()) == 400
    assert counts["platform: linux, arm: A"] == cells.count(0)
    assert counts["not stated"] == cells.count(6)


def test_cells_are_checked_at_the_door(collector: Collector) -> None:
    """One id with two cells is a conflict, a cell beyond the last no report, none too short."""
    question = ask(collector, segments=SEGMENTS)
    report = question.privatize(["a"]).tobytes()
    id = secrets.token_bytes(16)
    assert collector.submit(question, b"\1" + report, id=id).status == 204
    assert collector.submit(question, b"\1" + report, id=id).status == 204
    assert collector.submit(question, b"\2" + report, id=id).status == 409
    assert collector.submit(question, b"\6" + report).status == 204
    assert collector.submit(question, b"\7" + report).status == 400
    assert collector.submit(question, report).status == 400
    plain = ask(collector)
    assert collector.submit(plain, b"\1" + report).status == 413


def test_results_by_segment_and_their_verdict(collector: Collector) -> None:
    """Large segments are estimated, small ones summed, and arms compared with a control."""
    question = ask(collector, segments=SEGMENTS)
    for cell, kiwis in ((0, 500), (1, 800), (3, 500), (4, 800), (2, 60)):
        n = 1000 if cell != 2 else 120
        relay(collector, question, [cell] * n, ["a"] * kiwis + ["b"] * (n - kiwis))
    found = read(collector, question, "?by=arm&control=A&primary=a").json
    values = {part["value"]: part for part in found["segments"]}
    assert [values[arm]["n"] for arm in "ABC"] == [2000, 2000, 120]
    assert values["A"]["estimates"][0]["label"] in ("a", "b")
    assert values["C"]["estimates"] is None
    assert values["C"]["missing"] == found["shown_from"] - 120 > 0
    assert "B differs from A: a +" in found["experiment"]["verdict"]
    assert found["experiment"]["tests"] == 1
    only = read(collector, question, "?by=arm&segment=platform:mac").json
    assert [part["n"] for part in only["segments"]] == [1000, 1000, 0]
    broken = ask(collector, segments={"arm": ("A", "B")})
    for cell, n in ((0, 3000), (1, 2500)):
        relay(collector, broken, [cell] * n, ["a"] * n)
    assert read(collector, broken, "?by=arm&control=A").json["experiment"]["split_is_broken"]


@pytest.mark.parametrize(
    "query",
    ["?by=colour", "?segment=platform:amiga", "?segment=colour:red", "?control=A", "?looks=2",
     "?segment=arm:A&segment=arm:B", "?by=arm&format=csv", "?round=1", "?by=arm&control=Z"],
)  # fmt: skip
def test_what_the_question_does_not_have_is_refused(collector: Collector, query: str) -> None:
    """Unknown dimensions, values and rounds are refused in words."""
    question = ask(collector, segments=SEGMENTS)
    relay(collector, question, [0] * 50, ["a"] * 50)
    assert read(collector, question, query).status == 400


def test_rounds_are_followed_and_compared(collector: Collector) -> None:
    """A trend goes by round, pools rounds, and two rounds are compared by their numbers."""
    first = date.fromisoformat(today(-5))
    question = ask(collector, repeat=Repeat(first.isoformat(), every=2, rounds=3))
    for number in range(3):
        for later in range(2):
            day = (first + timedelta(days=2 * number + later)).isoformat()
            kiwis = 100 + 150 * number
            reports = question.privatize(["a"] * kiwis + ["b"] * (500 - kiwis),
                                         np.random.default_rng(number)).tobytes()  # fmt: skip
            assert collector.submit(question, reports, role="relay", day=day).status == 204
    trend = read(collector, question, "?by=round&candidate=a", "trend").json["trend"]
    assert [row["n"] for row in trend] == [1000] * 3
    assert [row["day"] for row in trend] == [str(question.repeat.days_of(r)[0]) for r in range(3)]
    pooled = read(collector, question, "?by=round&pooled=2&candidate=a", "trend").json["trend"]
    assert [row["n"] for row in pooled] == [1000, 2000, 2000]
    one = read(collector, question, "?round=1").json
    assert one["n"] == 1000
    changed = read(collector, question, "?round=2&compare_round=1").json
    assert changed["first_n"] == changed["second_n"] == 1000
    for wrong in ("?round=3", "?round=x", "?round=1&day=2026-01-01"):
        assert read(collector, question, wrong).status == 400


def test_segments_move_with_the_minimum_or_together() -> None:
    """A segment with few new reports stays until they, or those of others as well, are enough."""
    question = Question("q", ("a", "b"), DE(1.0, 2), segments=SEGMENTS)

    def of(**counts: int) -> dict[int, object]:
        return {
            int(cell[1:]): question.tally(question.privatize(["a"] * n))
            for cell, n in counts.items()
        }

    before, now = of(c0=100, c1=100, c2=5), of(c0=150, c1=104, c2=7)
    numbers = {cell: tally.n for cell, tally in now.items()}
    found = ripe(before, now, numbers, 10)
    assert {cell: tally.n for cell, tally in found.items()} == {0: 150, 1: 100, 2: 5}
    assert ripe(before, now, numbers, 6) == now
    assert ripe(before, now, numbers, 1) == now
    fewer = of(c0=90, c1=101)
    assert ripe(before, fewer, {0: 90, 1: 101}, 10) == fewer
    new = of(c0=100, c5=3)
    assert set(ripe(of(c0=100), new, {0: 100, 5: 3}, 10)) == {0}
    assert {c: t.to_bytes() for c, t in unpack_cells(pack_cells(now)).items()} == {
        c: t.to_bytes() for c, t in now.items()
    }
