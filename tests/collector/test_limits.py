"""Hostile and too many senders: cut, refused, and never acknowledged without being stored."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from errno import EMFILE
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from urllib.parse import urlsplit

import pytest

from deniable.collector.app import create_app
from deniable.collector.server import Server
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store
from deniable.collector.stores.records import (
    Outcome,
    Slice,
    StoreBroken,
    StoreUnavailable,
    Submission,
)
from deniable.collector.stores.sqlite import SqliteStore
from tests.collector.conftest import Collector, run_server, start, today


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector with little patience and few connections."""
    path = tmp_path_factory.mktemp("hurried") / "store.db"
    yield from start(
        Settings(store=str(path), port=0, header_seconds=1, body_seconds=1, connection_limit=20)
    )


def connect(collector: Collector) -> socket.socket:
    """Open a connection that is given up after half a minute."""
    parts = urlsplit(collector.address)
    return socket.create_connection((parts.hostname, parts.port), timeout=30)


def ends(connection: socket.socket) -> bytes:
    """Read until the other side closes, and return what it said."""
    said = b""
    try:
        while part := connection.recv(65536):
            said += part
    except ConnectionError:
        pass
    return said


def cut(connection: socket.socket, data: bytes, pause: float = 0.0) -> bool:
    """Send the same bytes again and again; true when the other side has had enough."""
    try:
        for _ in range(1_000_000):
            connection.sendall(data)
            Event().wait(pause)
    except ConnectionError:
        return True
    return False


@pytest.mark.long("waits for limits of time")
@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"\r\n",
        b"POST /v1/questions HTTP/1.1\r\n",
        b"POST /v1/questions HTTP/1.1\r\nX-Slow: yes\r\n",
        b"POST /v1/questions HTTP/1.1\r\nContent-Length: 17\r\n\r\nabc",
        b"POST /nowhere HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nX-",
    ],
)  # fmt: skip
def test_who_stops_in_the_middle_is_cut(hurried: Collector, start: bytes) -> None:
    """A connection that sends no more is closed by the collector, wherever it stopped."""
    with connect(hurried) as connection:
        connection.sendall(start)
        ends(connection)
    assert hurried.request("GET", "/healthz").status == 200


@pytest.mark.long("waits for limits of time")
def test_a_trickle_does_not_help(hurried: Collector) -> None:
    """Sending a byte now and then does not prolong the time for headers."""
    with connect(hurried) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert cut(connection, b"X: y\r\n", pause=0.01)


def test_endless_headers_are_cut(hurried: Collector) -> None:
    """Headers may not go on for ever, however fast they come."""
    with connect(hurried) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        assert cut(connection, b"y" * 65536)


def test_endless_bodies_are_refused_and_cut(hurried: Collector) -> None:
    """The refusal comes before the end of the body, and the connection ends soon after."""
    question = hurried.ask()
    head = f"POST /v1/questions/{question.digest}/reports?day={today()} HTTP/1.1\r\nHost: x\r\n"
    with connect(hurried) as connection:
        connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")
        assert cut(connection, b"1000\r\n" + b"x" * 0x1000 + b"\r\n")
    assert hurried.n(question) == 0


class NoFiles(socket.socket):
    """A listener of a process that has as many files open as it may."""

    tries = 0

    def accept(self) -> tuple[socket.socket, object]:
        self.tries += 1
        raise OSError(EMFILE, "too many open files")


def test_without_files_the_collector_rests(tmp_path: Path) -> None:
    """What cannot be accepted is tried again after a pause each time, not all the time."""
    settings = Settings(store=str(tmp_path / "store.db"))

    async def tried(listener: NoFiles) -> float:
        server, began = Server(create_app(settings), settings), monotonic()
        server._listeners.append(listener)
        server._listen()
        while listener.tries < 3:
            await asyncio.sleep(0.01)
        took = monotonic() - began
        server._stop_listening()
        return took

    with NoFiles() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with socket.create_connection(listener.getsockname()):
            assert asyncio.run(tried(listener)) >= 2 * 0.02


class Stuck(SqliteStore):
    """A store that takes its time, or fails."""

    go = Event()
    error: Exception | None = None

    def add(self, submissions: Sequence[Submission]) -> list[Outcome]:
        assert self.go.wait(60)
        if self.error is not None:
            raise self.error
        return super().add(submissions)


@pytest.fixture
def stuck(tmp_path: Path) -> Iterator[Collector]:
    """A collector whose writer waits until it is told to go."""
    path = tmp_path / "store.db"
    settings = Settings(store=str(path), port=0, queue_limit=5)
    app = create_app(settings, lambda: Stuck(path))
    Stuck.go.clear()
    for at in start(settings):
        tokens = at.tokens
    for address in run_server(app, settings):
        yield Collector(app, address, settings, tokens)
        Stuck.go.set()
    Stuck.error = None


def test_a_full_queue_is_refused_and_nothing_else_is_acknowledged(stuck: Collector) -> None:
    """Beyond the limit comes 503 with Retry-After; what was taken is stored when the writer can."""
    question = stuck.ask()
    with ThreadPoolExecutor(40) as pool:
        futures = [pool.submit(stuck.submit, question, b"\1") for _ in range(40)]
        refused = []
        while len(refused) < 30:
            done = [future for future in futures if future.done()]
            refused = [future.result() for future in done]
        Stuck.go.set()
        answers = [future.result() for future in futures]
    assert all(answer.problem == "queue-full" for answer in refused)
    assert all(answer.headers["retry-after"] == "1" for answer in refused)
    assert all("access-control-allow-origin" in answer.headers for answer in refused)
    accepted = [answer for answer in answers if answer.status == 204]
    assert len(accepted) >= 5
    assert stuck.n(question) == len(accepted)


def test_connections_beyond_the_limit_wait(tmp_path: Path) -> None:
    """Who is being answered is not cut: with all places taken so, the next ones wait."""
    path = tmp_path / "store.db"
    settings = Settings(store=str(path), port=0, connection_limit=5)
    for collector in start(settings):
        question, tokens = collector.ask(), collector.tokens
    app = create_app(settings, lambda: Stuck(path))
    Stuck.go.clear()
    for address in run_server(app, settings):
        found = Collector(app, address, settings, tokens)
        with ThreadPoolExecutor(12) as pool:
            futures = [pool.submit(found.submit, question, b"\1") for _ in range(12)]
            while app.services.writer.waiting < 5:
                sleep(0.01)
            sleep(1.5)  # longer than slow clients are left alone
            assert (app.services.writer.waiting, app.services.crowd.count) == (5, 5)
            Stuck.go.set()
            assert [future.result().status for future in futures] == [204] * 12


def test_a_store_that_fails_is_503(stuck: Collector) -> None:
    """An error of the store acknowledges nothing, says so, and gives no detail."""
    question = stuck.ask()
    Stuck.error = StoreUnavailable("the disk at /secret is full")
    Stuck.go.set()
    answer = stuck.submit(question, b"\1")
    assert (answer.status, answer.problem) == (503, "store-unavailable")
    assert b"secret" not in answer.body
    Stuck.error = None
    assert stuck.submit(question, b"\1").status == 204
    assert stuck.n(question) == 1


def test_a_broken_store_ends_the_collector(tmp_path: Path) -> None:
    """A file that can no longer be trusted is not written any more."""
    path = tmp_path / "store.db"
    settings = Settings(store=str(path), port=0)
    for collector in start(settings):
        question, tokens = collector.ask(), collector.tokens
    app = create_app(settings, lambda: Stuck(path))
    Stuck.go.set()
    Stuck.error = StoreBroken("the file is malformed")
    ended = False
    try:
        for address in run_server(app, settings):
            collector = Collector(app, address, settings, tokens)
            assert collector.submit(question, b"\1").problem == "store-unavailable"
            for _ in range(3000):
                try:
                    collector.request("GET", "/healthz")
                except OSError:
                    ended = True
                    break
                Event().wait(0.01)
    finally:
        Stuck.error = None
    assert ended


def test_what_waits_at_the_end_is_written(tmp_path: Path) -> None:
    """A collector that is told to end answers and stores what it has taken."""
    path = tmp_path / "store.db"
    settings = Settings(store=str(path), port=0)
    for collector in start(settings):
        question, tokens = collector.ask(), collector.tokens
    app = create_app(settings, lambda: Stuck(path))
    Stuck.go.clear()
    with ThreadPoolExecutor(8) as pool:
        for address in run_server(app, settings):
            collector = Collector(app, address, settings, tokens)
            futures = [pool.submit(collector.submit, question, b"\1") for _ in range(8)]
            while app.services.writer.waiting < 8:
                Event().wait(0.01)
            Stuck.go.set()
        assert [future.result().status for future in futures] == [204] * 8
    store = open_store(str(path))
    assert store.standing(Slice(question.digest)).n == 8
    store.close()
