"""The stores that earlier versions filled are served on: same counts, same tokens, more reports."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from benchmarks.segments import sum_months
from deniable import Question
from deniable.collector.app import create_app
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store
from deniable.collector.stores.months import months_within
from deniable.collector.stores.records import Days, Slice
from deniable.protocol import Memoising
from deniable.protocols.views import Views
from deniable.tally import Tally
from tests.collector.conftest import Collector, run_server, today

DATA = Path(__file__).parents[1] / "data"
ANSWERED = {
    version: json.loads((DATA / version / "store.json").read_text(encoding="utf-8"))
    for version in ("v0.2.0", "v0.3.0")
}
LISTED = {
    "v0.2.0": ["fruit", "errors", "mood 🙂", "pages", "sizes", "new"],
    "v0.3.0": ["set", "large set", "minutes", "mean", "trip", "word", "again"],
}
GOING_ON = {"v0.2.0": (("pages", "kiwi"), ("sizes", "a")),
            "v0.3.0": (("minutes", 5), ("again", "fig"))}  # fmt: skip
"""A question that is open and one that is closed, each with an answer."""
_names = count()


def content(version: str, name: str) -> bytes:
    """Return a file of a version; the later ones are kept compressed."""
    (path,) = (DATA / version).glob(f"{name}*")
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.fixture(scope="module", params=ANSWERED)
def version(request: pytest.FixtureRequest) -> str:
    """Return an earlier version."""
    return str(request.param)


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def url(
    request: pytest.FixtureRequest, version: str, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """A copy of the filled store."""
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("previous") / "store.db"
        path.write_bytes(content(version, "store.db"))
        return str(path)
    server = request.getfixturevalue("postgres_server")
    import psycopg  # noqa: PLC0415 - an extra

    name = f"previous_{next(_names)}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        connection.execute(content(version, "store.sql"))
    return str(server.url(name))


@pytest.fixture(scope="module")
def served(version: str, url: str) -> Iterator[Collector]:
    """A collector of this version on that store."""
    settings = Settings(store=url, port=0)
    app = create_app(settings)
    for address in run_server(app, settings):
        yield Collector(app, address, settings, ANSWERED[version]["tokens"])


def asked(version: str) -> Iterator[tuple[str, dict]]:
    """Yield the address of each question, and what that version answered about it."""
    for kept in ANSWERED[version]["questions"].values():
        yield f"/v1/questions/{kept['digest']}", kept


def test_nothing_is_wrong_with_it(url: str) -> None:
    """The store passes its own check; that the test server does not wait for its disk is known."""
    store = open_store(url)
    try:
        assert [line for line in store.check() if "fsync" not in line] == []
    finally:
        store.close()


def test_questions_are_those_that_were_asked(served: Collector, version: str) -> None:
    """Open and closed questions are listed with their documents, deleted ones are not."""
    listed = served.request("GET", "/v1/questions", role="viewer").json["questions"]
    assert [entry["name"] for entry in listed] == LISTED[version]
    for path, kept in asked(version):
        document = served.request("GET", path).body
        assert Question.from_json(document) == Question.from_json(kept["document"])
        status = served.request("GET", f"{path}/status", role="viewer").json
        assert {key: status[key] for key in kept["status"]} == kept["status"]


def test_sources_are_the_same(served: Collector, version: str) -> None:
    """Relays, uploads and exclusions are as they were."""
    for path, kept in asked(version):
        found = served.request("GET", f"{path}/sources", role="admin").json["sources"]
        before = kept["sources"]["sources"]
        assert [{key: now[key] for key in old} for now, old in zip(found, before, strict=True)] == (
            before
        )


def test_estimates_are_the_same(served: Collector, version: str) -> None:
    """Counts and errors of all ranges of days, published ones too, are the same to the bit.

    Where the same people may have answered on several days, counts are of people since 0.3.0, and
    it is the shares and the number of reports that are those of 0.2.0. Records and numbers are
    compared to 12 digits, since the machine's BLAS multiplies their matrices.
    """
    for path, kept in asked(version):
        protocol = Question.from_json(kept["document"]).protocol
        memoises = isinstance(protocol, Memoising)
        fields = [("share", "frequency")] if memoises else [("count",) * 2, ("std_error",) * 2]
        for query, before in kept["estimates"].items():
            now = served.request("GET", f"{path}/estimates?{query.lstrip('&')}", role="viewer").json
            if "type" in before:
                assert now["type"] == before["type"]
                continue
            assert (now["provenance"]["reports"] if memoises else now["n"]) == before["n"]
            for row, old in zip(now["estimates"], before["estimates"], strict=True):
                assert row["label"] == old["label"]
                digits = 1e-12 if isinstance(protocol, Views) else 0
                for name, was in fields:
                    assert row[name] == pytest.approx(old[was], rel=digits, abs=digits)


def test_tallies_are_estimated_to_the_same(served: Collector, version: str) -> None:
    """A tally that is fetched from the old store gives the counts that were shown from it."""
    for path, kept in asked(version):
        query, before = next(iter(kept["estimates"].items()))
        question = Question.from_json(kept["document"])
        tally = Tally.from_bytes(served.request("GET", f"{path}/tally", role="viewer").body)
        once = 1 if isinstance(question.protocol, Memoising) else None
        found = question.estimate(tally, parse_qs(query).get("candidate"), rounds=once)
        counts = [row["count"] for row in before["estimates"]]
        digits = 1e-12 if isinstance(question.protocol, Views) else 0
        assert found.counts.tolist() == pytest.approx(counts, rel=digits, abs=digits)


def test_it_goes_on_collecting(served: Collector, version: str) -> None:
    """An open question of the old store takes reports, once, and its closed one takes none."""
    questions = ANSWERED[version]["questions"]
    (name, answer), (closed, other) = GOING_ON[version]
    question = Question.from_json(questions[name]["document"])
    before, report = served.n(question), question.privatize([answer]).tobytes()
    for _ in range(2):
        assert served.submit(question, report, id=b"n" * 16, day=today()).status == 204
    assert served.n(question) == before + 1
    question = Question.from_json(questions[closed]["document"])
    report = question.segments.encode() + question.privatize([other]).tobytes()
    assert served.submit(question, report).problem == "question-closed"


def test_months_change_nothing(url: str, version: str) -> None:
    """The sums of months count what days do; rows of 0.2.0 are in the only cell there is."""
    store = open_store(url)
    try:
        for _, kept in asked(version):
            part = Slice(kept["digest"])
            before = store.snapshot(part)
            sum_months(store)
            months = months_within(Days(), [day for day, _ in store.standing(part).daily])
            after = store.snapshot(part, months=months)
            assert after.n == before.n
            places = {(row.source, row.segment) for row in before.tallies}
            assert {(row.source, row.segment) for row in after.months} <= places
            segments = {row.segment for row in (*before.tallies, *before.waiting)}
            assert len(segments) == len(kept["status"].get("segments", [0]))
            assert 0 in segments
    finally:
        store.close()
