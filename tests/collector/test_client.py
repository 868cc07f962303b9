"""The Python client: drawn once, stored before it is sent, counted once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from deniable import DE
from deniable.client import Client, Courier, Ledger, Outcome, Overspent, Parcel, Transport
from deniable.client.ledger import NoLedger
from deniable.client.transport import Lost, Reply, Unsent
from deniable.errors import InvalidDocument
from deniable.question import Question
from tests.collector.conftest import Collector, today

ID = b"i" * 16
WINDOW = {"type": "urn:deniable:outside-window", "first": "2025-06-01", "last": "2025-06-09"}
SEALED = Reply(422, problem=WINDOW)
NOT_YET = Reply(422, problem={**WINDOW, "first": "2025-03-01", "last": "2025-03-09"})
MUTE = Reply(422, problem={"type": "urn:deniable:outside-window"})
CLOSED = Reply(410, problem={"type": "urn:deniable:question-closed"})
FULL = Reply(503, problem={"type": "urn:deniable:queue-full"})
BROKEN = Reply(503, problem={"type": "urn:deniable:store-unavailable"})
DONE = Reply(204)


class Scripted(Transport):
    """A transport whose answers are written down beforehand."""

    def __init__(self, *script: Reply | type[OSError]) -> None:
        super().__init__("http://example.org")
        self._script: Iterator[Reply | type[OSError]] = iter(script)
        self.sent: list[tuple[str, bytes]] = []

    def request(self, method: str, path: str, body: bytes | None = None) -> Reply:
        said = next(self._script)
        if said is not Unsent:
            self.sent.append((path.partition("day=")[2], body or b""))
        if isinstance(said, type):
            raise said("scripted")
        return said


def deliver(*script: Reply | type[OSError], parcel: Parcel | None = None):
    """Deliver a parcel on 2025-05-01 by the client's clock, and return how and what was sent."""
    transport = Scripted(*script)
    courier = Courier(transport, "d" * 64, attempts=3, today=lambda: date(2025, 5, 1),
                      sleep=lambda seconds: None)  # fmt: skip
    saved: list[Parcel] = []
    delivery = courier.deliver(parcel or Parcel(ID, b"r"), saved.append)
    return delivery, transport.sent, saved


@pytest.mark.parametrize(
    ("script", "outcome", "days"),
    [
        ([DONE], Outcome.ANSWERED, ["2025-05-01"]),
        ([Lost, DONE], Outcome.ANSWERED, ["2025-05-01"] * 2),
        ([Unsent, BROKEN, DONE], Outcome.ANSWERED, ["2025-05-01"] * 2),
        ([CLOSED], Outcome.REFUSED, ["2025-05-01"]),
        ([Lost, CLOSED], Outcome.MAYBE_COUNTED, ["2025-05-01"] * 2),
        ([Reply(409)], Outcome.REFUSED, ["2025-05-01"]),
        # A wrong clock: refused for sure, so that the nearest day that is open is taken.
        ([SEALED, DONE], Outcome.ANSWERED, ["2025-05-01", "2025-06-01"]),
        ([NOT_YET, DONE], Outcome.ANSWERED, ["2025-05-01", "2025-03-09"]),
        ([MUTE, DONE], Outcome.ANSWERED, ["2025-05-01"] * 2),
        ([Unsent, FULL, SEALED, DONE], Outcome.ANSWERED, ["2025-05-01"] * 2 + ["2025-06-01"]),
        ([SEALED, SEALED, SEALED], Outcome.REFUSED, ["2025-05-01", "2025-06-01", "2025-06-01"]),
        # After an unknown outcome another day would be another key: the client gives up.
        ([Lost, SEALED], Outcome.MAYBE_COUNTED, ["2025-05-01"] * 2),
        ([BROKEN, SEALED], Outcome.MAYBE_COUNTED, ["2025-05-01"] * 2),
        ([SEALED, Lost, SEALED], Outcome.MAYBE_COUNTED, ["2025-05-01"] + ["2025-06-01"] * 2),
        ([Lost, Lost, Lost], Outcome.PENDING, ["2025-05-01"] * 3),
        ([Reply(404)], Outcome.PENDING, ["2025-05-01"]),
    ],
)  # fmt: skip
def test_how_a_delivery_ends(script, outcome: Outcome, days: list[str]) -> None:
    """The same bytes every time; the day changes only while every attempt was surely refused."""
    delivery, sent, saved = deliver(*script)
    assert delivery.outcome is outcome
    assert [day for day, _ in sent] == days
    assert {body for _, body in sent} == {ID + b"r"}
    assert all(parcel.doubt for parcel in saved[: len(sent)])


def test_what_is_pending_remembers_its_doubt() -> None:
    """A later delivery knows whether an earlier attempt may have been counted."""
    unknown, _, _ = deliver(Lost, Lost, Lost)
    assert unknown.parcel == Parcel(ID, b"r", "2025-05-01", True)
    assert deliver(NOT_YET, parcel=unknown.parcel)[0].outcome is Outcome.MAYBE_COUNTED
    refused, _, _ = deliver(FULL, FULL, FULL)
    assert refused.parcel == Parcel(ID, b"r", "2025-05-01", False)
    assert deliver(NOT_YET, DONE, parcel=refused.parcel)[0].outcome is Outcome.ANSWERED


def test_a_question_is_answered_once(collector: Collector, tmp_path: Path) -> None:
    """A second answer, also by another client with the same ledger, sends nothing."""
    question = collector.ask()
    client = Client(collector.address, tmp_path / "ledger.db")
    assert client.answer(question.digest, "a") is Outcome.ANSWERED
    assert client.answer(question.digest, "b") is Outcome.ANSWERED
    again = Client(collector.address, tmp_path / "ledger.db")
    assert again.answer(question.digest, "c") is Outcome.ANSWERED
    assert collector.n(question) == 1


def test_only_the_mark_remains(collector: Collector, tmp_path: Path) -> None:
    """After delivery the ledger has neither id nor report, in no byte of its file."""
    question = collector.ask()
    path = tmp_path / "ledger.db"
    client = Client(collector.address, path)
    parcel = Parcel(b"THE-ID-OF-16-BYT", b"\1")
    assert client.ledger.begin(question.digest, parcel, epsilon=1.0, budget=9.0)
    assert client.answer(question.digest, "a") is Outcome.ANSWERED
    assert client.ledger.find(question.digest) == ("answered", None)
    assert parcel.id not in path.read_bytes()
    assert client.ledger.spent() == 1.0


def test_a_lost_reply_and_a_late_clock_count_once(collector: Collector, tmp_path: Path) -> None:
    """A client that never saw the answer and thinks it is ten days later ends with n = 1."""
    question = collector.ask()
    report = question.privatize(["a"]).tobytes()
    assert collector.submit(question, report, id=ID, day=today(-7)).status == 204
    # The answer was lost: the ledger holds the parcel with its day, in doubt.
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.begin(question.digest, Parcel(ID, report), epsilon=1.0, budget=9.0)
    for day, outcome in ((today(-10), Outcome.MAYBE_COUNTED), (today(-7), Outcome.ANSWERED)):
        ledger.save(question.digest, Parcel(ID, report, day, True))
        parcel = Parcel(ID, report, day, True)
        courier = Courier(Transport(collector.address), question.digest)
        assert courier.deliver(parcel).outcome is outcome
    assert collector.n(question) == 1


def test_a_client_without_a_server_draws_once(tmp_path: Path, collector: Collector) -> None:
    """What is pending is sent later with the same id and bytes."""
    question = collector.ask()
    client = Client(collector.address, tmp_path / "ledger.db")
    parcel = Parcel(ID, question.privatize(["a"]).tobytes())
    client.ledger.begin(question.digest, parcel, epsilon=1.0, budget=9.0)
    assert client.ledger.pending() == [question.digest]
    assert client.flush() == {question.digest: Outcome.ANSWERED}
    assert client.flush() == {}
    assert collector.submit(question, parcel.reports, id=ID).status == 204
    assert collector.n(question) == 1


def test_ceiling_and_budget_hold(collector: Collector, tmp_path: Path) -> None:
    """Too large an epsilon is refused before anything is drawn, and so is one too many."""
    large = collector.ask(DE(4.5, 3))
    client = Client(collector.address, tmp_path / "ledger.db", budget=2.5)
    with pytest.raises(Overspent, match=r"at most 4"):
        client.answer(large.digest, "a")
    questions = [collector.ask(), collector.ask(), collector.ask()]
    for question in questions[:2]:
        assert client.answer(question.digest, "a") is Outcome.ANSWERED
    with pytest.raises(Overspent, match=r"budget of 2.5"):
        client.answer(questions[2].digest, "a")
    assert client.ledger.spent() == 2.0
    assert collector.n(questions[2]) == collector.n(large) == 0


def test_another_question_than_the_named_one_is_refused(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller names the digest; a server that answers with another question is not believed."""
    question, other = collector.ask(), collector.ask(DE(3.0, 3))
    transport = Transport(collector.address)
    real = transport.request
    path = f"/v1/questions/{other.digest}"
    monkeypatch.setattr(transport, "request", lambda method, _, body=None: real(method, path))
    client = Client(collector.address, ":memory:")
    client.transport = transport
    with pytest.raises(InvalidDocument, match="not to be trusted"):
        client.load(question.digest)


def test_without_a_ledger_nothing_is_sent(collector: Collector, tmp_path: Path) -> None:
    """A ledger that cannot be written is an error before anything is drawn."""
    with pytest.raises(NoLedger, match="nothing is sent"):
        Client(collector.address, tmp_path / "no" / "such" / "place.db")


def test_two_processes_with_one_ledger_answer_once(tmp_path: Path) -> None:
    """Of two that begin at the same time one enters its answer."""
    ledger, other = Ledger(tmp_path / "l.db"), Ledger(tmp_path / "l.db")
    assert ledger.begin("q", Parcel(ID, b"1"), epsilon=1.0, budget=9.0)
    assert not other.begin("q", Parcel(b"j" * 16, b"2"), epsilon=1.0, budget=9.0)
    found = other.find("q")
    assert found is not None
    assert found[1] == Parcel(ID, b"1")


def test_the_ledger_is_durable(tmp_path: Path) -> None:
    """Its connection synchronises every commit."""
    ledger = Ledger(tmp_path / "l.db")
    connection: sqlite3.Connection = ledger._open()
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()


def test_a_new_version_of_a_question_spends_again(collector: Collector, tmp_path: Path) -> None:
    """Another digest is another question, in the ledger too."""
    question = collector.ask()
    changed = replace(question, name=question.name + ", again")
    text = changed.to_json().encode()
    assert collector.request("POST", "/v1/questions", text, role="admin").status == 201
    client = Client(collector.address, tmp_path / "ledger.db")
    for asked in (question, changed):
        assert isinstance(client.load(asked.digest), Question)
        assert client.answer(asked.digest, "a") is Outcome.ANSWERED
    assert client.ledger.spent() == 2.0
