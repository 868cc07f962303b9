"""Segments and rounds at the collector: kept beside the source, summed, divided and compared."""

from __future__ import annotations

import csv
import json
import secrets
from datetime import date, timedelta
from io import BytesIO
from urllib.parse import quote
from zipfile import ZipFile

import numpy as np
import pytest

from deniable import DE, Question, Tally, __version__
from deniable.advice.groups import cell_minimum
from deniable.client import pull
from deniable.collector.folding import pack_cells, ripe, unpack_cells
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
     "?segment=arm:A&segment=arm:B", "?by=arm&format=html", "?round=1", "?by=arm&control=Z",
     "?by=arm&control=A&format=csv"],
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
    assert [(row["day"], row["n"]) for row in pooled] == [
        (row["day"], 2000) for row in trend[:2]
    ]  # no window begins before the first round, nor ends after the last
    one = read(collector, question, "?round=1").json
    assert one["n"] == 1000
    changed = read(collector, question, "?round=2&compare_round=1").json
    assert changed["first_n"] == changed["second_n"] == 1000
    changes = {row["label"]: row for row in read(
        collector, question, "?round=1&compare_round=2").json["changes"]}  # fmt: skip
    assert changes["a"]["difference"] > 0  # as docs say: the second round less the first
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


def test_arms_and_rounds_are_compared_at_one_address(collector: Collector) -> None:
    """The first value is the control unless one is named; two rounds are named by number."""
    question = ask(collector, segments={"arm": ("A", "B")})
    for cell, kiwis in ((0, 900), (1, 1500)):
        relay(collector, question, [cell] * 3000, ["a"] * kiwis + ["b"] * (3000 - kiwis))
    by_default = read(collector, question, "?dimension=arm&primary=a", "compare").json
    assert by_default["experiment"]["control"] == "A"
    assert "B differs from A: a +" in by_default["experiment"]["verdict"]
    assert by_default == read(collector, question, "?by=arm&control=A&primary=a").json
    named = read(collector, question, "?dimension=arm&control=B&looks=3", "compare").json
    assert named["experiment"]["control"] == "B"
    assert named["experiment"]["looks"] == 3
    for wrong in ("", "?dimension=colour", "?dimension=arm&control=Z", "?round=1", "?with=1",
                  "?round=1&with=0", "?dimension=arm&looks=0"):  # fmt: skip
        assert read(collector, question, wrong, "compare").status == 400, wrong
    again = ask(collector, repeat=Repeat(today(-1), every=1, rounds=2))
    for day, kiwis in ((today(-1), 100), (today(), 400)):
        answers = ["a"] * kiwis + ["b"] * (500 - kiwis)
        reports = again.privatize(answers, np.random.default_rng(1)).tobytes()
        assert collector.submit(again, reports, role="relay", day=day).status == 204
    changed = read(collector, again, "?round=1&with=0", "compare").json
    assert changed == read(collector, again, "?round=1&compare_round=0").json
    assert read(collector, again, "", "status").json["rounds"] == {"0": 500, "1": 500}


def test_a_small_segment_is_not_estimated_but_counted(collector: Collector) -> None:
    """Below the reports that carry an error of 5 points the answer says how many are missing."""
    question = ask(collector, segments=SEGMENTS)
    least = cell_minimum(question.protocol)
    relay(collector, question, [0] * least + [3] * (least - 1), ["a"] * (2 * least - 1))
    assert read(collector, question, "?segment=platform:linux").json["n"] == least
    for part in ("estimates", "trend"):
        small = read(collector, question, "?segment=platform:mac", part)
        assert (small.status, small.json["minimum"], small.json["missing"]) == (409, least, 1)
    relay(collector, question, [4] * 10, ["a"] * 10)
    assert read(collector, question, "?segment=platform:mac").json["n"] == least + 9
    assert read(collector, question, "?segment=platform:mac", "trend").json["trend"]
    tally = Tally.from_bytes(read(collector, question, "?segment=arm:B", "tally").body)
    assert tally.n == 10


def test_results_by_segment_as_csv_have_a_column_for_it(collector: Collector) -> None:
    """Each segment that is shown has a row for each answer."""
    question = ask(collector, segments=SEGMENTS)
    for cell in (0, 3, 5):
        relay(collector, question, [cell] * 400, ["a"] * 200 + ["b"] * 200)
    header, *lines = read(collector, question, "?by=platform&format=csv").body.decode().splitlines()
    assert header.startswith("platform,label,")
    assert [line.split(",")[:2] for line in lines] == [
        ["linux", "a"], ["linux", "b"], ["mac", "a"], ["mac", "b"]
    ]  # fmt: skip


def test_a_segment_called_as_a_column_is_told_beside_that_column(collector: Collector) -> None:
    """The version of the app is not that of the program that wrote the file."""
    question = ask(collector, segments={"version": ("1.0", "2.0"), "n": ("few", "many")})
    for cell in range(4):
        relay(collector, question, [cell] * 400, ["a"] * 200 + ["b"] * 200)
    for name, values in (("version", ["1.0", "2.0"]), ("n", ["few", "many"])):
        body = read(collector, question, f"?by={name}&format=csv").body.decode()
        rows = list(csv.DictReader(body.splitlines()))
        assert [row[f"group_{name}"] for row in rows] == [each for each in values for _ in "ab"]
        assert {(row["version"], row["n"]) for row in rows} == {(__version__, "800")}


def test_uploads_and_exports_name_their_segment(collector: Collector) -> None:
    """A tally is of one segment or of none that is stated, and an export tells them apart."""
    question = ask(collector, segments=SEGMENTS)
    path = f"/v1/questions/{question.digest}/tallies/"
    tally = question.tally(question.privatize(["a"] * 20)).to_bytes()

    def upload(query: str) -> int:
        address = f"{path}{secrets.token_hex(16)}?day={today()}{query}"
        return int(collector.request("PUT", address, tally, role="admin").status)

    assert upload("&segment=platform:mac&segment=arm:B") == 201
    assert upload("") == 201
    assert upload("&segment=platform:mac") == upload("&segment=arm:Z") == 400
    relay(collector, question, [4, 6], ["a", "b"])
    counts = read(collector, question, "", "status").json["segments"]
    assert counts == {"platform: mac, arm: B": 21, "not stated": 21}
    packed = collector.request("GET", f"/v1/questions/{question.digest}/export", role="admin").body
    with ZipFile(BytesIO(packed)) as archive:
        listed = json.loads(archive.read("contents.json"))["tallies"]
        assert [Tally.from_bytes(archive.read(row["file"])).n for row in listed] == [1, 1, 20, 20]
    assert sorted((row["segment"], row["n"]) for row in listed) == sorted([
        ("not stated", 1), ("not stated", 20), ("platform: mac, arm: B", 1),
        ("platform: mac, arm: B", 20),
    ])  # fmt: skip


def test_a_relay_may_mix_segments(collector: Collector) -> None:
    """Reports of one body are told apart by their bytes, and the same body counts once."""
    question = ask(collector, segments=SEGMENTS)
    reports, id = question.privatize(["a", "b"] * 50), secrets.token_bytes(16)
    cells = [number % 7 for number in range(100)]
    body = b"".join(bytes([c]) + r.tobytes() for c, r in zip(cells, reports, strict=True))
    for _ in range(2):
        assert collector.submit(question, body, id=id, role="relay").status == 204
    other = b"\6" + body[1:]
    assert collector.submit(question, other, id=id, role="relay").status == 409
    assert collector.submit(question, body[:-1], role="relay").status == 400
    counts = read(collector, question, "", "status").json["segments"]
    assert sum(counts.values()) == 100
    assert counts["not stated"] == cells.count(6)
