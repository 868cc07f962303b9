"""What the clients of earlier versions kept is sent on: same ids, days and bytes, nothing twice."""

from __future__ import annotations

import json
import shutil
import sqlite3
from base64 import b64encode
from contextlib import closing
from datetime import date
from hashlib import sha384
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable import Question
from deniable.cli import cli
from deniable.client import Client, Outcome, Transport
from deniable.client.delivery import Reply
from tests.collector.conftest import Collector

DATA = Path(__file__).parents[1] / "data" / "v0.2.0"
ADDRESS = "https://collector.example"
QUESTIONS = {
    name: Question.from_json(json.dumps(document))
    for name, document in json.loads((DATA / "client-questions.json").read_text()).items()
}
LATER = DATA.parent / "v0.3.0"
KINDS = {
    question.name: (question, document["given"])
    for document in (json.loads(path.read_text()) for path in sorted(LATER.glob("0*.json")))
    for question in [Question.from_json(document["question"])]
}
"""The questions of version 0.3.0, one of each new kind, and answers to them."""

INTEGRITY = "sha384-9cQpXiLLPZh7NdiNKWzBZPvcySq5RFk0PNrPMmLftUb++w9WUVgpPEAq8ulvmipC"
"""What tags demand of ``/deniable.js``, which is out of our hands."""

TODAY = "2026-03-05"
"""Some days after these files were written: later, what is in doubt is not sent any more."""

Sent = tuple[str, str, bytes]
"""The question, the day, and the body of a submission."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Sent]:
    """What reaches a stand-in of the collector, which takes every submission."""
    found: list[Sent] = []
    asked = [*QUESTIONS.values(), *(question for question, _ in KINDS.values())]
    texts = {question.digest: question.to_json() for question in asked}

    def request(self: Transport, method: str, path: str, body: bytes | None = None) -> Reply:
        assert self.address == ADDRESS
        address, _, day = path.removeprefix("/v1/questions/").partition("?day=")
        digest, _, kind = address.partition("/")
        if method == "GET":
            return Reply(200, texts[digest].encode())
        assert (method, kind) == ("POST", "reports")
        found.append((digest, day, body or b""))
        return Reply(204)

    monkeypatch.setattr(Transport, "request", request)
    for module in ("client.delivery", "cli.send"):
        monkeypatch.setattr(f"deniable.{module}.utc_today", lambda: date.fromisoformat(TODAY))
    return found


def rows(path: Path, query: str) -> list[tuple]:
    """Read a file of the earlier version without our code."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize(
    ("written", "question"),
    [
        (DATA / "interrupted.txt", QUESTIONS["fruit"]),
        (DATA / "relayed.txt", QUESTIONS["fruit"]),
        (LATER / "trips.jsonl", KINDS["trip"][0]),
    ],
    ids=lambda value: getattr(value, "stem", ""),
)
def test_an_outbox_is_sent_on(
    written: Path, question: Question, tmp_path: Path, sent: list[Sent]
) -> None:
    """What was not delivered goes out once, with its id and bytes, on its day if it had one."""
    for path in (written, written.with_name(f"{written.name}.outbox")):
        shutil.copy(path, tmp_path)
    box, digest = tmp_path / f"{written.name}.outbox", question.digest
    kept = rows(box, "SELECT id, day, reports FROM parcels WHERE outcome IS NULL")
    before = rows(box, "SELECT no, outcome FROM parcels WHERE outcome IS NOT NULL")
    assert kept
    assert before
    command = ["send", ADDRESS, str(tmp_path / written.name)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.stderr
    expected = [(digest, day or TODAY, id + reports) for id, day, reports in kept]
    assert sorted(sent) == sorted(expected)
    assert set(before) <= set(rows(box, "SELECT no, outcome FROM parcels"))
    assert rows(box, "SELECT count(*) FROM parcels WHERE outcome IS NULL OR id NOT NULL") == [(0,)]


def test_a_finished_outbox_sends_nothing(tmp_path: Path, sent: list[Sent]) -> None:
    """It does not say what it was made from, so that only new people are sent, by that name."""
    for end in (".txt", ".txt.outbox"):
        shutil.copy(DATA / f"finished{end}", tmp_path)
    command = ["send", ADDRESS, str(tmp_path / "finished.txt"), "--question"]
    command.append(QUESTIONS["fruit"].digest)
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 2
    assert "written by version 0.2.0, which did not note which bytes it sent" in result.stderr
    assert "Nothing was sent" in result.stderr
    assert "--new-people" in result.stderr
    assert sent == []
    assert CliRunner().invoke(cli, [*command, "--new-people"]).exit_code == 0
    assert len(sent) == 40
    again = CliRunner().invoke(cli, command)
    assert again.exit_code == 0
    assert "answered). Nothing was sent now." in again.stderr
    assert len(sent) == 40


def test_a_ledger_is_sent_on(tmp_path: Path, sent: list[Sent]) -> None:
    """Pending answers go out once, with id, day and bytes, and nothing else does, then or later."""
    path = Path(shutil.copy(DATA / "ledger.db", tmp_path))
    kept = rows(path, "SELECT question, day, id, report FROM answers WHERE id IS NOT NULL")
    client = Client(ADDRESS, path)
    assert client.ledger.spent() == len(QUESTIONS) - 1
    assert client.flush() == {question: Outcome.ANSWERED for question, *_ in kept}
    assert sorted(sent) == sorted((q, day, id + report) for q, day, id, report in kept)
    sent.clear()
    for name, question in QUESTIONS.items():
        if name != "fruit":
            client.answer(question.digest, "no")
    assert sent == []
    assert client.ledger.spent() == len(QUESTIONS) - 1


def test_the_ledger_tells_doubt_from_certainty(tmp_path: Path, monkeypatch) -> None:
    """When the question is closed, only what may have arrived is maybe counted."""
    path = Path(shutil.copy(DATA / "ledger.db", tmp_path))
    closed = Reply(410, problem={"type": "urn:deniable:question-closed"})
    monkeypatch.setattr(Transport, "request", lambda self, method, path, body=None: closed)
    ends = Client(ADDRESS, path).flush()
    assert {question.name: ends[question.digest] for question in QUESTIONS.values()
            if question.digest in ends} == {
        "pending": Outcome.REFUSED,
        "pending, told to wait": Outcome.REFUSED,
        "pending with doubt": Outcome.MAYBE,
    }  # fmt: skip


def test_a_ledger_of_all_kinds_is_sent_on(tmp_path: Path, sent: list[Sent]) -> None:
    """What waits goes out once as it was, and no second answer does; a taken turn stays taken."""
    path = Path(shutil.copy(LATER / "ledger.db", tmp_path))
    kept = rows(path, "SELECT question, day, id, report FROM answers WHERE id IS NOT NULL")
    assert {KINDS[name][0].digest for name in ("minutes", "trip", "word", "again")} == {
        question for question, *_ in kept
    }
    client = Client(ADDRESS, path, budget=100.0)
    (secret,) = rows(path, "SELECT bytes FROM secret")
    spent = sum(KINDS[name][0].total_epsilon for name in KINDS if name != "mean")
    assert client.ledger.spent() == spent
    assert client.flush() == {question: Outcome.ANSWERED for question, *_ in kept}
    assert sorted(sent) == sorted((q, day or TODAY, id + report) for q, day, id, report in kept)
    sent.clear()
    for name, (question, given) in KINDS.items():
        if name not in ("mean", "again"):
            client.answer(question, given[0])
    assert sent == []
    again = KINDS["again"][0]
    assert client.ledger.turn(again.digest) == 1  # and the next one comes after the last
    assert client.answer(again, "kiwi") is Outcome.FINISHED
    assert (client.ledger.secret(), client.ledger.spent()) == (secret[0], spent)


def test_the_client_of_deployed_tags_is_served(collector: Collector) -> None:
    """``/deniable.js`` answers with the bytes whose hash is in every tag that 0.2.0 handed out."""
    assert (DATA / "deniable.js.integrity").read_text().strip() == INTEGRITY
    kept = (DATA / "deniable.js").read_bytes()
    served = collector.request("GET", "/deniable.js").body
    for client in (kept, served):
        assert f"sha384-{b64encode(sha384(client).digest()).decode()}" == INTEGRITY
    for tag in DATA.glob("tag-*.html"):
        text = tag.read_text()
        assert f'src="{ADDRESS}/deniable.js"' in text
        assert f'integrity="{INTEGRITY}"' in text


@pytest.mark.parametrize("name", ["choice", "text", "ceiling"])
def test_the_questions_of_deployed_tags_are_served(collector: Collector, name: str) -> None:
    """A tag names its question by the digest under which it can still be asked."""
    document = json.loads((DATA / "tag-questions.json").read_text())[name]
    question = Question.from_json(json.dumps(document))
    assert f'data-question="{question.digest}"' in (DATA / f"tag-{name}.html").read_text()
    text = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", text, role="admin").status == 201
    assert collector.request("GET", f"/v1/questions/{question.digest}").body == text
