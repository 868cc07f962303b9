"""The stores that version 0.2.0 filled are served on: same counts, same tokens, more reports."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from deniable import Question
from deniable.collector import housekeeping
from deniable.collector.app import create_app
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store
from deniable.collector.stores.months import months_within
from deniable.collector.stores.records import Days, Slice
from deniable.protocol import Memoising
from deniable.tally import Tally
from tests.collector.conftest import Collector, run_server, today

DATA = Path(__file__).parents[1] / "data" / "v0.2.0"
ANSWERED = json.loads((DATA / "store.json").read_text(encoding="utf-8"))
NAMES = list(ANSWERED["questions"])
_names = count()


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A copy of the filled store."""
    if request.param == "sqlite":
        return str(shutil.copy(DATA / "store.db", tmp_path_factory.mktemp("previous") / "store.db"))
    server = request.getfixturevalue("postgres_server")
    import psycopg  # noqa: PLC0415 - an extra

    name = f"previous_{next(_names)}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        connection.execute((DATA / "store.sql").read_bytes())
    return str(server.url(name))


@pytest.fixture(scope="module")
def served(url: str) -> Iterator[Collector]:
    """A collector of this version on that store."""
    settings = Settings(store=url, port=0)
    app = create_app(settings)
    for address in run_server(app, settings):
        yield Collector(app, address, settings, ANSWERED["tokens"])


def asked(name: str) -> tuple[str, dict]:
    """Return the address of a question, and what version 0.2.0 answered about it."""
    kept = ANSWERED["questions"][name]
    return f"/v1/questions/{kept['digest']}", kept


def test_nothing_is_wrong_with_it(url: str) -> None:
    """The store passes its own check; that the test server does not wait for its disk is known."""
    store = open_store(url)
    try:
        assert [line for line in store.check() if "fsync" not in line] == []
    finally:
        store.close()


def test_questions_are_those_that_were_asked(served: Collector) -> None:
    """Open and closed questions are listed with their documents, deleted ones are not."""
    listed = served.request("GET", "/v1/questions", role="viewer").json["questions"]
    assert [entry["name"] for entry in listed] == ["fruit", "errors", "mood 🙂", "pages", "sizes",
                                                   "new"]  # fmt: skip
    for name in NAMES:
        path, kept = asked(name)
        document = served.request("GET", path).body
        assert Question.from_json(document) == Question.from_json(kept["document"])
        status = served.request("GET", f"{path}/status", role="viewer").json
        assert {key: status[key] for key in kept["status"]} == kept["status"]


@pytest.mark.parametrize("name", NAMES)
def test_sources_are_the_same(served: Collector, name: str) -> None:
    """Relays, uploads and exclusions are as they were."""
    path, kept = asked(name)
    found = served.request("GET", f"{path}/sources", role="admin").json["sources"]
    assert [{key: source[key] for key in ("name", "n", "excluded")} for source in found] == (
        kept["sources"]["sources"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_estimates_are_the_same(served: Collector, name: str) -> None:
    """Counts and errors of all ranges of days, published ones too, are those of 0.2.0 to the bit.

    Where the same people may have answered on several days, counts are of people now, and it is
    the shares and the number of reports that are the same.
    """
    path, kept = asked(name)
    memoises = isinstance(Question.from_json(kept["document"]).protocol, Memoising)
    fields = [("share", "frequency")] if memoises else [("count",) * 2, ("std_error",) * 2]
    for query, before in kept["estimates"].items():
        now = served.request("GET", f"{path}/estimates?{query.lstrip('&')}", role="viewer").json
        assert (now["provenance"]["reports"] if memoises else now["n"]) == before["n"]
        for row, old in zip(now["estimates"], before["estimates"], strict=True):
            assert row["label"] == old["label"]
            assert [row[name] for name, _ in fields] == [old[name] for _, name in fields]


@pytest.mark.parametrize("name", NAMES)
def test_tallies_are_estimated_to_the_same(served: Collector, name: str) -> None:
    """A tally that is fetched from the old store gives the counts that were shown from it."""
    path, kept = asked(name)
    query, before = next(iter(kept["estimates"].items()))
    question = Question.from_json(kept["document"])
    tally = Tally.from_bytes(served.request("GET", f"{path}/tally", role="viewer").body)
    once = 1 if isinstance(question.protocol, Memoising) else None
    found = question.estimate(tally, parse_qs(query).get("candidate"), rounds=once)
    assert found.counts.tolist() == [row["count"] for row in before["estimates"]]


def test_it_goes_on_collecting(served: Collector) -> None:
    """An open question of the old store takes reports, once, and its closed one takes none."""
    _, kept = asked("pages")
    question = Question.from_json(kept["document"])
    before, report = served.n(question), question.privatize(["kiwi"]).tobytes()
    for _ in range(2):
        assert served.submit(question, report, id=b"n" * 16, day=today()).status == 204
    assert served.n(question) == before + 1
    closed = Question.from_json(asked("sizes")[1]["document"])
    report = closed.privatize(["a"]).tobytes()
    assert served.submit(closed, report).problem == "question-closed"


@pytest.mark.parametrize("name", NAMES)
def test_its_days_are_of_one_segment_and_months_change_nothing(url: str, name: str) -> None:
    """Rows of 0.2.0 are in the only cell there is, and the sums of months count what days do."""
    store, digest = open_store(url), ANSWERED["questions"][name]["digest"]
    try:
        before = store.snapshot(Slice(digest))
        housekeeping.sum_months(store)
        months = months_within(Days(), [day for day, _ in store.standing(Slice(digest)).daily])
        after = store.snapshot(Slice(digest), months=months)
        assert {row.segment for row in (*before.tallies, *before.waiting)} <= {0}
        assert after.n == before.n
        assert {(row.source, row.segment) for row in after.months} <= {
            (row.source, 0) for row in before.tallies
        }
    finally:
        store.close()
