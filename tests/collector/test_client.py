"""The Python client: drawn once, stored before it is sent, counted once."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from deniable import DE
from deniable.client import Client, Ledger, NoLedger, Outcome, Parcel, State, Transport
from deniable.client.delivery import Lost, Reply
from deniable.errors import InvalidDocument
from deniable.question import Question
from tests.collector.conftest import Collector, today

ID = b"i" * 16


def test_a_question_is_answered_once(collector: Collector, tmp_path: Path) -> None:
    """A second answer, also by another client with the same ledger, sends nothing."""
    question = collector.ask()
    client = Client(collector.address, tmp_path / "ledger.db")
    assert client.answer(question.digest, "a") is Outcome.ANSWERED
    assert client.answer(question.digest, "b") is Outcome.ALREADY
    again = Client(collector.address, tmp_path / "ledger.db")
    assert again.answer(question, "c") is Outcome.ALREADY
    assert collector.n(question) == 1


def test_only_the_mark_remains(collector: Collector, tmp_path: Path) -> None:
    """After delivery the ledger has neither id nor report, in no byte of its file."""
    question = collector.ask()
    path = tmp_path / "ledger.db"
    client = Client(collector.address, path)
    parcel = Parcel(b"THE-ID-OF-16-BYT", b"\1")
    assert client.ledger.begin(question.digest, parcel, epsilon=1.0, budget=9.0) is Outcome.WAITING
    assert client.answer(question.digest, "a") is Outcome.ANSWERED
    assert client.ledger.find(question.digest) is Outcome.ANSWERED
    assert parcel.id not in path.read_bytes()
    assert client.ledger.spent() == 1.0


def test_a_lost_reply_and_a_late_clock_count_once(collector: Collector, tmp_path: Path) -> None:
    """A client that never saw the answer and thinks it is ten days later ends with n = 1."""
    question = collector.ask()
    report = question.privatize(["a"]).tobytes()
    assert collector.submit(question, report, id=ID, day=today(-7)).status == 204
    for day, outcome in ((today(-10), Outcome.MAYBE), (today(-7), Outcome.ANSWERED)):
        client = Client(collector.address, tmp_path / f"{day}.db")
        client.ledger.begin(question.digest, Parcel(ID, report), epsilon=1.0, budget=9.0)
        client.ledger.save(question.digest, Parcel(ID, report, State(day, True)), 0)
        assert client.flush() == {question.digest: outcome}
    assert collector.n(question) == 1


def test_a_client_without_a_server_draws_once(tmp_path: Path, collector: Collector) -> None:
    """What waits is sent later with the same id and bytes."""
    question = collector.ask()
    client = Client(collector.address, tmp_path / "ledger.db")
    parcel = Parcel(ID, question.privatize(["a"]).tobytes())
    client.ledger.begin(question.digest, parcel, epsilon=1.0, budget=9.0)
    assert client.ledger.waiting(collector.address) == [question.digest]
    assert client.flush() == {question.digest: Outcome.ANSWERED}
    assert client.flush() == {}
    assert collector.submit(question, parcel.reports, id=ID).status == 204
    assert collector.n(question) == 1


def test_ceiling_and_budget_hold(collector: Collector, tmp_path: Path) -> None:
    """Too large an epsilon is refused before anything is drawn, and so is one too many."""
    large = collector.ask(DE(5.5, 3))
    client = Client(collector.address, tmp_path / "ledger.db", budget=2.5)
    with pytest.raises(InvalidDocument, match="the ceiling of 5"):
        client.answer(large.digest, "a")
    questions = [collector.ask(), collector.ask(), collector.ask()]
    for question in questions[:2]:
        assert client.answer(question.digest, "a") is Outcome.ANSWERED
    assert client.answer(questions[2].digest, "a") is Outcome.OVER_BUDGET
    assert client.ledger.spent() == 2.0
    assert collector.n(questions[2]) == collector.n(large) == 0


def test_another_question_than_the_named_one_is_refused(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller names the digest; a server that answers with another question is not believed."""
    question, other = collector.ask(), collector.ask(DE(3.0, 3))
    transport = Transport(collector.address)
    real = transport.request
    path = f"/v1/questions/{other.digest}"
    monkeypatch.setattr(transport, "request", lambda method, _, body=None: real(method, path))
    client = Client(collector.address, tmp_path / "ledger.db")
    client.transport = transport
    with pytest.raises(InvalidDocument, match="named"):
        client.load(question.digest)


def test_without_a_ledger_nothing_is_sent(collector: Collector, tmp_path: Path) -> None:
    """A ledger that cannot be written is an error before anything is drawn."""
    with pytest.raises(NoLedger, match="nothing is sent"):
        Client(collector.address, tmp_path / "no" / "such" / "place.db")


def test_two_processes_with_one_ledger_answer_once(tmp_path: Path) -> None:
    """Of two that begin at the same time one enters its answer."""
    ledger, other = Ledger(tmp_path / "l.db"), Ledger(tmp_path / "l.db")
    assert ledger.begin("q", Parcel(ID, b"1"), epsilon=1.0, budget=9.0) is Outcome.WAITING
    second = Parcel(b"j" * 16, b"2")
    assert other.begin("q", second, epsilon=1.0, budget=9.0) is Outcome.ALREADY
    assert other.find("q") == Parcel(ID, b"1")


def test_two_programs_that_deliver_at_once_keep_the_doubt(tmp_path: Path) -> None:
    """Who learns of a refusal while another attempt is under way does not undo its doubt."""
    path = tmp_path / "ledger.db"
    one, other = (Client("https://collector.example", path) for _ in range(2))
    one.ledger.begin("q", Parcel(ID, b"r"), epsilon=1.0, budget=9.0)

    def lost(method: str, path: str, body: bytes | None = None) -> Reply:
        raise Lost("no answer")

    def refused(method: str, path: str, body: bytes | None = None) -> Reply:
        assert other.flush() == {"q": Outcome.WAITING}
        return Reply(429)

    other.transport.request = lost  # type: ignore[method-assign]
    one.transport.request = refused  # type: ignore[method-assign]
    assert one.flush() == {"q": Outcome.WAITING}
    found = one.ledger.find("q")
    assert isinstance(found, Parcel)
    assert found.state.doubt


def test_what_another_program_delivered_is_said(tmp_path: Path) -> None:
    """Of two programs that send the same bytes at once, the one without a reply learns the end."""
    path = tmp_path / "ledger.db"
    one, other = (Client("https://collector.example", path) for _ in range(2))
    one.ledger.begin("q", Parcel(ID, b"r"), epsilon=1.0, budget=9.0)

    def stored(method: str, path: str, body: bytes | None = None) -> Reply:
        return Reply(204)

    def lost(method: str, path: str, body: bytes | None = None) -> Reply:
        assert other.flush() == {"q": Outcome.ANSWERED}
        raise Lost("no answer")

    other.transport.request = stored  # type: ignore[method-assign]
    one.transport.request = lost  # type: ignore[method-assign]
    assert one.flush() == {"q": Outcome.ANSWERED}
    assert one.flush() == {}


@pytest.mark.skipif(os.name != "posix", reason="files have a mode on POSIX alone")
def test_the_ledger_is_nobody_elses_business(tmp_path: Path) -> None:
    """Other users of the machine cannot read which questions were answered."""
    Ledger(tmp_path / "ledger.db")
    assert (tmp_path / "ledger.db").stat().st_mode & 0o777 == 0o600


def test_a_report_goes_to_the_collector_that_it_is_for(tmp_path: Path) -> None:
    """Clients of two collectors share a budget, and send nothing that is for the other one."""
    path, question = tmp_path / "ledger.db", Question("fruit", ("kiwi", "fig"), DE(1.0, 2))
    one, other = (Client(f"https://{name}.example", path, budget=1) for name in ("one", "other"))
    sent: list[str] = []

    def lost(method: str, path: str, body: bytes | None = None) -> Reply:
        raise Lost("no answer")

    def stored(method: str, path: str, body: bytes | None = None) -> Reply:
        sent.append(method)
        return Reply(204)

    one.transport.request = lost  # type: ignore[method-assign]
    other.transport.request = stored  # type: ignore[method-assign]
    assert one.answer(question, "fig") is Outcome.WAITING
    assert other.flush() == {}
    assert other.answer(question, "fig") is Outcome.WAITING
    assert other.answer(replace(question, name="nuts"), "fig") is Outcome.OVER_BUDGET
    assert sent == []
    assert one.flush() == {question.digest: Outcome.WAITING}


def test_the_ledger_is_durable(tmp_path: Path) -> None:
    """Its connection synchronises every commit."""
    ledger = Ledger(tmp_path / "l.db")
    with ledger._open() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)


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
