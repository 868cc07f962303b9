"""A collector to test: a real server in a thread, with a SQLite store of its own."""

from __future__ import annotations

import http.client
import json
import secrets
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from deniable import DE
from deniable.cli import cli
from deniable.collector.access import LOGIN, TOKEN, Role, create
from deniable.collector.app import Application, create_app
from deniable.collector.questions import Terms, write_terms
from deniable.collector.server import Server
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store
from deniable.collector.stores.records import Asked, State
from deniable.question import Question
from tests.workers import shared_workers  # noqa: F401 - a fixture

QUESTION = Question("fruit", ("kiwi", "fig"), DE(1.0, 2))
_names = count()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict:
        return json.loads(self.body)

    @property
    def problem(self) -> str:
        assert self.headers["content-type"] == "application/problem+json"
        assert self.json["status"] == self.status
        return self.json["type"].removeprefix("urn:deniable:")


@dataclass
class Collector:
    """A running collector, and what a test does with it."""

    app: Application
    address: str
    settings: Settings
    tokens: dict[str, str] = field(default_factory=dict)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        role: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request on a connection of its own, with the token of a role."""
        sent = dict(headers or {})
        if role is not None:
            sent["Authorization"] = f"Bearer {self.tokens[role]}"
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=120)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def ask(
        self, protocol: object = None, labels: tuple[str, ...] | None = ("a", "b", "c")
    ) -> Question:
        """Create a question that no other test has."""
        question = Question(f"question {next(_names)}", labels, protocol or DE(1.0, 3))
        answer = self.request("POST", "/v1/questions", question.to_json().encode(), role="admin")
        assert answer.status == 201, answer.body
        return question

    def submit(
        self,
        question: Question,
        reports: bytes,
        *,
        id: bytes | None = None,
        day: str | None = None,
        role: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one submission."""
        path = f"/v1/questions/{question.digest}/reports?day={day or today()}"
        body = (secrets.token_bytes(16) if id is None else id) + reports
        return self.request("POST", path, body, role=role, headers=headers)

    def n(self, question: Question) -> int:
        """Return how many reports are counted."""
        path = f"/v1/questions/{question.digest}/status"
        return self.request("GET", path, role="viewer").json["reports"]


def today(later: int = 0) -> str:
    """Return today in UTC, or a later day."""
    return (datetime.now(UTC).date() + timedelta(days=later)).isoformat()


def run_server(app: Application, settings: Settings, *, warm: bool = False) -> Iterator[str]:
    """Run a server in a thread, and yield its address."""
    started, found = Event(), []

    def tell(address: str) -> None:
        found.append(address)
        started.set()

    server = Server(app, settings, tell, warm=warm)
    thread = Thread(target=server.run)
    thread.start()
    try:
        assert started.wait(120)
        yield found[0]
    finally:
        server.stop()
        thread.join(120)
        assert not thread.is_alive()


def start(settings: Settings, *, warm: bool = False) -> Iterator[Collector]:
    """Run a collector with a token for each role."""
    store = open_store(settings.store)
    tokens = {
        role.value: create(store, TOKEN, role, name=role.value)
        for role in (Role.VIEWER, Role.RELAY, Role.ADMIN)
    }
    store.close()
    app = create_app(settings)
    for address in run_server(app, settings, warm=warm):
        yield Collector(app, address, settings, tokens)


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """One collector for the tests of a file, each of which asks questions of its own."""
    path: Path = tmp_path_factory.mktemp("collector") / "store.db"
    yield from start(Settings(store=str(path), port=0, minimum=10))


@pytest.fixture
def login_link(collector: Collector) -> str:
    """The secret of a new login link."""
    store = open_store(collector.settings.store)
    try:
        secret = create(store, LOGIN, Role.ADMIN, seconds=600)
    finally:
        store.close()
    assert secret is not None
    return secret


@dataclass
class Workshop:
    """A directory with a store, answers, and a collector that runs on them."""

    directory: Path
    collector: Collector

    def run(self, line: str, **environment: str) -> Done:
        """Run a command of ours, written as in a shell."""
        words = shlex.split(line)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        assert words.pop(0) == "deniable"
        found = CliRunner(env={"DENIABLE_STORE": "deniable.db", **environment}).invoke(cli, words)
        if found.exception and not isinstance(found.exception, SystemExit):
            raise found.exception
        return Done(found.exit_code, found.stdout, found.stderr)


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workshop]:
    """A running collector that asks one question, in a directory with answers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.txt").write_text("kiwi\n" * 120 + "fig\n" * 80)
    rows = "".join(f"{answer}\n" for answer in ["1,kiwi"] * 30)
    (tmp_path / "people.csv").write_text("id,fruit\n" + rows)
    (tmp_path / "fruit.json").write_text(QUESTION.to_json())
    settings = Settings(store=str(tmp_path / "deniable.db"), port=0, minimum=10)
    store = open_store(settings.store)
    store.ask(Asked(QUESTION.digest, QUESTION.to_json(), State.OPEN, write_terms(Terms())))
    store.close()
    for collector in start(settings):
        yield Workshop(tmp_path, collector)
