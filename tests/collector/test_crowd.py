"""Many connections, and many requests on one: who makes room, who waits, and what is kept."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from re import findall
from select import select
from time import sleep
from urllib.parse import urlsplit

import pytest

from deniable.collector.app import create_app
from deniable.collector.settings import Settings
from tests.collector.conftest import Collector, start, today
from tests.collector.test_limits import connect, ends

pytestmark = pytest.mark.long("waits until connections are old enough to be dropped")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector with room for twenty connections, ten of each address, and much patience."""
    path = tmp_path_factory.mktemp("crowded") / "store.db"
    yield from start(
        Settings(
            store=str(path), port=0, header_seconds=600, body_seconds=600,
            connection_limit=20, connections_per_address=10,
        )
    )  # fmt: skip


def enter(collector: Collector, count: int, address: str) -> list[socket.socket]:
    """Open connections from an address, as soon as each is accepted."""
    parts, crowd = urlsplit(collector.address), collector.app.services.crowd
    opened = []
    for _ in range(count):
        before = crowd.count
        place = parts.hostname, parts.port
        opened.append(socket.create_connection(place, timeout=30, source_address=(address, 0)))
        for _ in range(200):  # in the place of another the number stays
            if crowd.count > before:
                break
            sleep(0.001)
    return opened


@pytest.mark.parametrize("start", [b"", b"GET /healthz HTTP/1.1\r\nX-Slow: "])
def test_silent_connections_make_room(crowded: Collector, start: bytes) -> None:
    """With all places taken by clients who say nothing, a new one is answered, and one is cut."""
    opened = enter(crowded, 10, "127.0.0.2") + enter(crowded, 10, "127.0.0.3")
    try:
        for connection in opened:
            connection.sendall(start)
        assert crowded.request("GET", "/healthz").status == 200
        ended = select(opened, [], [], 0)[0]
        assert 1 <= len(ended) <= 2
        assert ends(ended[0]) == b""
    finally:
        for connection in opened:
            connection.close()


def test_slow_bodies_make_room(crowded: Collector) -> None:
    """With all places taken by clients whose bodies do not come, a new one is answered."""
    head = b"POST /v1/questions HTTP/1.1\r\nContent-Length: 17\r\n\r\n"
    opened = enter(crowded, 10, "127.0.0.2") + enter(crowded, 10, "127.0.0.3")
    try:
        for connection in opened:
            connection.sendall(head + b"abc")
        assert crowded.request("GET", "/healthz").status == 200
    finally:
        for connection in opened:
            connection.close()


def test_one_address_has_its_share(crowded: Collector) -> None:
    """Beyond the limit of an address its own idle connections make room, and nobody else's."""
    mine, others = enter(crowded, 5, "127.0.0.2"), enter(crowded, 10, "127.0.0.3")
    try:
        sleep(0.6)  # the time for which idle connections are left alone
        others += enter(crowded, 1, "127.0.0.3")
        others[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert others[-1].recv(4096).startswith(b"HTTP/1.1 200")
        assert select(mine, [], [], 0)[0] == []
        assert len(select(others, [], [], 0)[0]) == 1
        assert crowded.app.services.crowd.dropped["address"] == 1
    finally:
        for connection in mine + others:
            connection.close()


def test_addresses_are_not_counted_behind_a_proxy(tmp_path: Path) -> None:
    """With a public address a proxy stands in front, from which all connections come."""
    settings = Settings(
        store=str(tmp_path / "store.db"), port=0, url="https://counts.example.org",
        connections_per_address=1,
    )  # fmt: skip
    crowd = create_app(settings).services.crowd
    assert [crowd.admit("127.0.0.1") is not None for _ in range(3)] == [True] * 3


def test_requests_that_wait_are_not_parsed(crowded: Collector) -> None:
    """A client that pipelines without reading has a few requests in memory, and no more bytes."""
    services = crowded.app.services
    with connect(crowded) as connection:
        connection.settimeout(1)
        with suppress(TimeoutError):
            for _ in range(1000):
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)
        assert services.held.taken < 1 << 20
        for _ in range(100):  # all that was sent is answered in the end
            assert connection.recv(65536)
    for _ in range(1000):
        if not services.held.taken:
            return
        sleep(0.01)
    assert services.held.taken == 0


def test_pipelined_requests_are_answered_in_order(crowded: Collector) -> None:
    """However a client cuts its requests into packets, it gets all answers, bodies included."""
    question = crowded.ask()
    head = f"POST /v1/questions/{question.digest}/reports?day={today()} HTTP/1.1\r\nHost: x\r\n"
    sent = b""
    for number in range(40):
        body = number.to_bytes(12, "big") + b"\r\n\r\n" + b"\1"
        sent += head.encode() + b"Content-Length: 17\r\n\r\n" + body
        sent += b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
    sent += b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with connect(crowded) as connection:
        for at in range(0, len(sent), 777):
            connection.sendall(sent[at : at + 777])
        statuses = findall(rb"HTTP/1.1 (\d+)", ends(connection))
    assert statuses == [b"204", b"404"] * 40 + [b"200"]
    assert crowded.n(question) == 40


def test_large_bodies_can_follow_each_other(crowded: Collector) -> None:
    """A relay that sends several large bodies ahead on one connection gets all its answers."""
    question = crowded.ask()
    head = f"POST /v1/questions/{question.digest}/reports?day={today()} HTTP/1.1\r\nHost: x\r\n"
    head += f"Authorization: Bearer {crowded.tokens['relay']}\r\n"
    sent = b""
    for number in range(6):
        body = number.to_bytes(16, "big") + b"\1" * 300_000
        sent += head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    sent += b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with connect(crowded) as connection:
        connection.sendall(sent)
        statuses = findall(rb"HTTP/1.1 (\d+)", ends(connection))
    assert statuses == [b"204"] * 6 + [b"200"]
    assert crowded.n(question) == 1_800_000
