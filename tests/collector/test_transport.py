"""What is known about a request afterwards: replies, redirects, and connections that end."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from deniable import DE, Question
from deniable.client import Client, Outcome, Parcel, State, Transport
from deniable.client.delivery import Lost, Unsent
from tests.faults.fault import free_port

QUESTION = Question("fruit", ("kiwi", "fig"), DE(1.0, 2))
WINDOW = b'{"type": "urn:deniable:outside-window", "first": "2999-01-01", "last": "2999-01-09"}'


@contextmanager
def server(*replies: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Answer each connection with some bytes and close it; yield the address and what came."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(30)
    came: list[bytes] = []

    def work() -> None:
        for reply in replies:
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(30)
                data = b""
                # All of it: closing with bytes unread would reset the connection.
                while not _whole(data):
                    data += connection.recv(65536)
                came.append(data)
                connection.sendall(reply)

    thread = Thread(target=work)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", came
    finally:
        thread.join(120)
        listening.close()


def _whole(data: bytes) -> bool:
    """Tell whether a request is there with its body."""
    head, end, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and len(body) >= (int(length[1]) if length else 0)


def reply(status: str, headers: str = "", body: bytes = b"") -> bytes:
    """Return a reply as it comes over the wire."""
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{headers}\r\n"
    return head.encode() + body


@pytest.mark.parametrize(
    ("said", "outcome", "doubt"),
    [
        (reply("204 No Content"), Outcome.ANSWERED, None),
        (reply("301 Moved", "Location: http://127.0.0.1:1/\r\n"), Outcome.WAITING, False),
        (reply("307 Moved", "Location: http://127.0.0.1:1/\r\n"), Outcome.WAITING, False),
        (reply("503 Busy", "Content-Type: application/problem+json; charset=utf-8\r\n",
               b'{"type": "urn:deniable:queue-full"}'), Outcome.WAITING, False),
        (reply("503 Busy", "Content-Type: text/html\r\n", b"<h1>Busy</h1>"), Outcome.WAITING, True),
        (reply("429 Slower", "Retry-After: \xb2\r\n"), Outcome.WAITING, False),
        (reply("429 Slower", f"Retry-After: {'9' * 4999}\r\n"), Outcome.WAITING, False),
        (b"", Outcome.WAITING, True),
        (b"HTTP/1.1 20", Outcome.WAITING, True),
        (b"HTTP/1.1 422 Late\r\nContent-Length: 99\r\n\r\n{", Outcome.WAITING, False),
        (b"SSH-2.0-OpenSSH\r\n\r\n", Outcome.WAITING, True),
    ],
    ids=range(11),
)  # fmt: skip
def test_what_a_server_sends_is_read(
    said: bytes, outcome: Outcome, doubt: bool | None, tmp_path: Path
) -> None:
    """A status that came is believed, no redirect is followed, and all else is in doubt."""
    with server(said) as (address, came):
        client = Client(address, tmp_path / "ledger.db")
        assert client.answer(QUESTION, "fig") is outcome
    (request,) = came
    assert request.startswith(f"POST /v1/questions/{QUESTION.digest}/reports?day=".encode())
    found = client.ledger.find(QUESTION.digest)
    assert (found.state.doubt if isinstance(found, Parcel) else None) == doubt


def test_a_wrong_clock_is_put_right_in_one_call(tmp_path: Path) -> None:
    """The window of a refusal is read, and the report goes again at once for a day in it."""
    refused = reply("422 Late", "Content-Type: application/problem+json\r\n", WINDOW)
    with server(refused, b"") as (address, came):
        client = Client(address, tmp_path / "ledger.db")
        assert client.answer(QUESTION, "fig") is Outcome.WAITING
    assert b"day=2999-01-01" in came[1]
    found = client.ledger.find(QUESTION.digest)
    assert isinstance(found, Parcel)
    assert found.state == State("2999-01-01", True)


def test_nobody_there_is_told_from_no_answer() -> None:
    """Where no connection came about, nothing has left this machine."""
    with pytest.raises(Unsent):
        Transport(f"http://127.0.0.1:{free_port()}").request("POST", "/", b"x")
    with server(b"") as (address, _), pytest.raises(Lost):
        Transport(address).request("POST", "/", b"x")
