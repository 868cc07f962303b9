"""The delivery machine and the policy, replayed through the Python client from their vectors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import DE, InvalidDocument, Question
from deniable.client import Client, Courier, Ledger, Outcome, Parcel, State
from deniable.client import delivery as machine
from deniable.client.delivery import Lost, Reply, Transport, Unsent, begin, conclude
from deniable.collector.problems import PROBLEMS
from deniable.policy import BROWSERS, BUDGET, CEILING, DOCUMENT_BYTES, DUST
from deniable.protocols import discover

VECTORS = Path(__file__).parents[2] / "vectors"
DELIVERY = json.loads((VECTORS / "delivery.json").read_text())
POLICY = json.loads((VECTORS / "policy.json").read_text())
ROWS = DELIVERY["vectors"]
QUESTION = Question("fruit", ("kiwi", "fig"), DE(1.0, 2))
ID, REPORT = b"i" * 16, b"\1"

Event = dict[str, Any] | str | None


class StandIn(Transport):
    """A collector, and the way to it, that do what a vector says."""

    def __init__(self, ledger: Path) -> None:
        super().__init__("https://collector.example")
        self.ledger = ledger
        self.event: Event = None
        self.sent: list[tuple[str, str, bytes]] = []
        self.kept: list[tuple[object, ...]] = []

    def request(self, method: str, path: str, body: bytes | None = None) -> Reply:
        """Note what is sent, and what the ledger holds meanwhile; then end as the event says."""
        assert self.event is not None, "nothing may be sent"
        if self.event == "offline":
            raise Unsent("offline")
        self.sent.append((method, path, body or b""))
        self.kept.append(row(self.ledger))
        if isinstance(self.event, str):
            raise Lost(self.event)
        return reply(self.event)


def reply(event: dict[str, Any]) -> Reply:
    """Return the reply of a vector, read from headers and a body as they come over the wire."""
    document = {name: event[name] for name in ("first", "last") if name in event}
    if "type" in event:
        document |= {"type": f"urn:deniable:{event['type']}", "status": event["status"]}
    body = event.get("body", json.dumps(document) if document else "<h1>A proxy</h1>").encode()
    kind = "application/problem+json" if "type" in event else "text/html"
    after = {"Retry-After": event["retry_after"]} if "retry_after" in event else {}
    return Reply.read(event["status"], body, {"Content-Type": kind, **after})


def row(ledger: Path) -> tuple[object, ...]:
    """Read what is on the disk without our code."""
    with closing(sqlite3.connect(ledger)) as connection:
        (found,) = connection.execute(
            "SELECT outcome, id, report, day, doubt, since FROM answers WHERE question = ?",
            (QUESTION.digest,),
        ).fetchall()
    return found


def state(document: dict[str, Any]) -> State:
    """Return the state that a vector describes."""
    return State(document["day"], document["doubt"], document["since"])


@pytest.fixture(autouse=True)
def _without_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out to wait for the disk, which a thousand small changes would take long for."""
    monkeypatch.setattr("deniable.client.state._SYNCHRONISED", "PRAGMA synchronous = OFF")


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The day, and the seconds since some moment, by the clocks of the device."""
    found = {"today": "2026-03-10", "seconds": 1000.0}
    monkeypatch.setattr(
        "deniable.client.delivery.utc_today", lambda: date.fromisoformat(found["today"])
    )
    monkeypatch.setattr("deniable.client.client.monotonic", lambda: found["seconds"])
    return found


def prepare(path: Path, before: dict[str, Any] | str) -> Client:
    """Return a client whose ledger holds the state of a vector."""
    client = Client("https://collector.example", path)
    ledger = client.ledger
    assert ledger.begin(QUESTION.digest, Parcel(ID, REPORT), epsilon=1.0, budget=10.0)
    if isinstance(before, str):
        assert ledger.settle(QUESTION.digest, Outcome(before), 0)
    else:
        assert ledger.save(QUESTION.digest, Parcel(ID, REPORT, state(before)), 0)
    client.transport = StandIn(path)
    return client


@pytest.mark.parametrize("vector", ROWS, ids=[vector["why"] for vector in ROWS])
def test_the_client_follows_the_vectors(
    vector: dict[str, Any], tmp_path: Path, clocks: dict[str, Any]
) -> None:
    """Outcome, request, state on the disk and wait are those of the row, attempt by attempt."""
    path = tmp_path / "ledger.db"
    client = prepare(path, vector["steps"][0]["state"])
    stand_in = client.transport
    assert isinstance(stand_in, StandIn)
    for delivery in deliveries(vector["steps"]):
        events = iter(step["event"] for step in delivery)
        play(stand_in, events)
        clocks["today"] = delivery[0]["today"]
        stand_in.sent, stand_in.kept = [], []
        outcome = client.answer(QUESTION, "fig")
        last = delivery[-1]
        assert outcome is Outcome(last["outcome"])
        address = f"/v1/questions/{QUESTION.digest}/reports?day="
        sent = [("POST", address + step["sent"], ID + REPORT) for step in delivery if step["sent"]]
        assert stand_in.sent == sent
        under_way = [(None, ID, REPORT, step["sent"], 1, step["state"]["since"])
                     for step in delivery if step["sent"]]  # fmt: skip
        assert stand_in.kept == under_way
        if last["next"] is None:
            mark = last["state"] if isinstance(last["state"], str) else last["outcome"]
            assert row(path) == (mark, None, None, None, 0, None)
        else:
            after = last["next"]
            assert row(path) == (None, ID, REPORT, after["day"], after["doubt"], after["since"])
            if isinstance(last["event"], dict) and "retry_after" in last["event"]:
                clocks["seconds"] += last["wait"] - 1
                stand_in.sent = []
                if last["wait"] > 1:
                    assert client.flush() == {QUESTION.digest: Outcome.WAITING}
                assert stand_in.sent == []
            clocks["seconds"] += last["wait"]


def play(stand_in: StandIn, events: Iterator[Event]) -> None:
    """Let the stand-in follow a script, one event for each request."""
    follow = StandIn.request

    def request(method: str, path: str, body: bytes | None = None) -> Reply:
        stand_in.event = next(events)
        return follow(stand_in, method, path, body)

    stand_in.request = request  # type: ignore[method-assign]


def deliveries(steps: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the steps of each delivery: one that waits for nothing goes on in the same."""
    found: list[list[dict[str, Any]]] = [[]]
    for step in steps:
        found[-1].append(step)
        if step["wait"] != 0:
            found.append([])
    if not found[-1]:
        return found[:-1]
    # A row that ends with a change of day: the request that follows at once is lost.
    last = found[-1][-1]
    lost = {"state": last["next"], "today": last["today"], "event": "cut",
            "sent": last["next"]["day"], "outcome": "waiting",
            "next": {**last["next"], "doubt": True}, "wait": 1}  # fmt: skip
    found[-1].append(lost)
    return found


@pytest.mark.parametrize("vector", ROWS, ids=[vector["why"] for vector in ROWS])
def test_the_machine_follows_the_vectors(vector: dict[str, Any]) -> None:
    """The pure function makes of each state and event what the row says."""
    moves = 0
    for step in vector["steps"]:
        if isinstance(step["state"], str):
            continue
        before, event, today = state(step["state"]), step["event"], step["today"]
        trying = begin(before, today)
        if event is None:
            assert trying is None
            continue
        assert trying == State(before.day or today, True, before.since)
        seen = event if event == "offline" else reply(event) if isinstance(event, dict) else "lost"
        found = conclude(before, seen, today=today, moves=moves)
        after = None if step["next"] is None else state(step["next"])
        assert (found.outcome.value, found.state, found.wait) == (
            step["outcome"], after, step["wait"],
        )  # fmt: skip
        moves = moves + 1 if step["wait"] == 0 else 0


DAYS = st.dates(date(2025, 1, 1), date(2027, 12, 31)).map(date.isoformat)
STATES = st.builds(State, DAYS, st.booleans(), st.none() | DAYS) | st.just(State())
WINDOWS = st.fixed_dictionaries({"first": DAYS | st.text(), "last": DAYS | st.text()})
EVENTS = st.sampled_from(["lost", "offline"]) | st.builds(
    Reply,
    st.integers(100, 999),
    retry_after=st.none() | st.floats(0, 1e6),
    problem=WINDOWS | st.sampled_from([{}, {"type": "urn:deniable:queue-full"}, {"type": 7}]),
)


@given(STATES, EVENTS, DAYS, st.integers(0, 2))
def test_whatever_happens_nothing_can_count_twice(
    before: State, event: Any, today: str, moves: int
) -> None:
    """Doubt is never forgotten, its day never changes, and only a success is called one."""
    found = conclude(before, event, today=today, moves=moves)
    stored = isinstance(event, Reply) and 200 <= event.status < 300
    assert (found.outcome is Outcome.ANSWERED) == stored
    assert (found.state is None) == (found.outcome is not Outcome.WAITING) == (found.wait is None)
    if found.state is not None:
        assert found.state.doubt >= before.doubt
        assert found.state.day == before.day or not before.doubt
        assert found.wait != 0 or (moves < machine.MOVES and not before.doubt)
    elif before.doubt:
        assert found.outcome in (Outcome.ANSWERED, Outcome.MAYBE)


def test_the_rows_are_connected() -> None:
    """Each step of a row starts where the one before it ended."""
    for vector in ROWS:
        steps = vector["steps"]
        for earlier, later in pairwise(steps):
            assert later["state"] == earlier["next"], vector["why"]
            assert earlier["outcome"] == "waiting", vector["why"]


def test_the_rows_cover_what_can_happen() -> None:
    """Every problem of the collector, and what proxies and networks do, before and after doubt."""
    seen: dict[object, set[object]] = {}
    for vector in ROWS:
        for step in vector["steps"]:
            event = step["event"]
            if event is not None and isinstance(step["state"], dict):
                key = (event["status"], event.get("type")) if isinstance(event, dict) else event
                seen.setdefault(key, set()).add(step["state"]["doubt"])
    problems = {(problem.status, problem.type) for problem in PROBLEMS.values()}
    proxies = {(status, None) for status in (200, 202, 301, 302, 303, 307, 308, 403, 404, 408, 413,
                                             425, 429, 500, 502, 503, 504)}  # fmt: skip
    for key in problems | proxies | {"timeout", "cut", "offline"}:
        assert seen.get(key) == {False, True}, key
    assert len(ROWS) >= 60


def test_the_limits_are_those_of_the_vectors() -> None:
    """The numbers of the client stand in the files that other clients read."""
    assert (
        DELIVERY["doubt_days"], DELIVERY["refusal_days"], DELIVERY["moves"],
    ) == (machine.DOUBT_DAYS, machine.REFUSAL_DAYS, machine.MOVES)  # fmt: skip
    assert (
        POLICY["ceiling"], POLICY["budget"], POLICY["dust"], POLICY["document_bytes"],
    ) == (CEILING, BUDGET, DUST, DOCUMENT_BYTES)  # fmt: skip
    assert POLICY["browsers"] == list(BROWSERS)
    assert set(BROWSERS) <= set(discover())


@pytest.mark.parametrize(
    "vector", POLICY["vectors"], ids=[vector["why"] for vector in POLICY["vectors"]]
)
def test_the_client_spends_what_the_policy_allows(vector: dict[str, Any], tmp_path: Path) -> None:
    """A question is answered, refused or over the budget, and charged, as the row says."""
    path = tmp_path / "ledger.db"
    client = Client("https://collector.example", path, ceiling=vector["ceiling"],
                    budget=vector["budget"])  # fmt: skip
    for number, epsilon in enumerate(vector["spent"]):
        entered = client.ledger.begin(str(number), Parcel(ID, b""), epsilon=epsilon, budget=1e9)
        assert entered is Outcome.WAITING
        assert client.ledger.settle(str(number), Outcome.ANSWERED, 0)
    before, sent = client.ledger.spent(), []

    def request(method: str, path: str, body: bytes | None = None) -> Reply:
        sent.append(method)
        return Reply(200, vector["text"].encode()) if method == "GET" else Reply(204)

    client.transport.request = request  # type: ignore[method-assign]
    if vector["outcome"] == "over-ceiling":
        with pytest.raises(InvalidDocument, match="than the ceiling"):
            client.answer(vector["named"], "kiwi")
        assert sent == ["GET"]
        with pytest.raises(InvalidDocument, match="than the ceiling"):
            client.answer(Question.from_json(vector["text"]), "kiwi")
    else:
        assert client.answer(vector["named"], "kiwi").value == vector["outcome"]
        assert sent == ["GET", "POST"][: 1 + (vector["outcome"] == "answered")]
    charged = vector["epsilon"] if vector["outcome"] == "answered" else 0.0
    assert client.ledger.spent() == pytest.approx(before + charged, abs=1e-12)


@pytest.mark.parametrize("step", ["timeout", "429", "503"])
def test_a_courier_waits_as_long_as_it_is_told(step: str, tmp_path: Path) -> None:
    """Attempts of one delivery are at least as far apart as the machine says."""
    slept: list[float] = []
    transport = StandIn(tmp_path / "ledger.db")
    told = {"timeout": "timeout", "429": {"status": 429, "retry_after": "4"},
            "503": {"status": 503, "type": "queue-full", "retry_after": "2"}}[step]  # fmt: skip
    prepare(tmp_path / "ledger.db", "answered")
    play(transport, iter([told] * 6))
    courier = Courier(transport, QUESTION.digest, attempts=6, sleep=slept.append)
    assert courier.deliver(Parcel(ID, REPORT)).outcome is Outcome.WAITING
    least = {"timeout": 1, "429": 4, "503": 2}[step]
    assert len(slept) == 5
    assert all(least <= pause <= least + 16 for pause in slept)


def test_a_courier_does_not_wait_for_hours(tmp_path: Path) -> None:
    """Where it is told to wait longer than it may, it leaves the report to a later call."""
    slept: list[float] = []
    transport = StandIn(tmp_path / "ledger.db")
    prepare(tmp_path / "ledger.db", "answered")
    play(transport, iter([{"status": 429, "retry_after": "3600"}]))
    courier = Courier(transport, QUESTION.digest, sleep=slept.append)
    assert courier.deliver(Parcel(ID, REPORT)).outcome is Outcome.WAITING
    assert slept == []


def test_an_earlier_ledger_gets_the_columns_that_it_lacks(tmp_path: Path) -> None:
    """A ledger without the day of the first refusal is read on, by two programs at once too."""
    path = tmp_path / "ledger.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE answers (question TEXT PRIMARY KEY, epsilon REAL NOT NULL, outcome TEXT,"
            " id BLOB, day TEXT, report BLOB, doubt INTEGER NOT NULL DEFAULT 0)"
        )
        connection.execute(
            "INSERT INTO answers VALUES ('q', 1, 'maybe counted', NULL, NULL, NULL, 0)"
        )
        connection.commit()
    for _ in range(2):
        ledger = Ledger(path)
        assert ledger.find("q") is Outcome.MAYBE
        assert ledger.spent() == 1.0
        assert not ledger.opted_out()
