"""Nothing about a sender is kept: canaries are found in no byte of store and log."""

from __future__ import annotations

import base64
import http.client
import socket
from pathlib import Path
from urllib.parse import urlsplit

from deniable import OpenLH
from deniable.client import Client, Outcome
from deniable.collector.access import TOKEN, Role, create
from deniable.collector.stores import open_store
from deniable.question import Question
from tests.collector.conftest import today
from tests.faults.fault import Process, free_port

ANSWER = "CANARY-ANSWER-4711"
AGENT = "CANARY-AGENT-4711"
ADDRESS = "127.0.47.11"
REFERRER = "https://canary.example/CANARY-PAGE"


def test_no_canary_is_found(tmp_path: Path) -> None:
    """An answer, an address, an agent, a page and a token leave no trace on the server."""
    server, client = tmp_path / "server", tmp_path / "client"
    server.mkdir()
    client.mkdir()
    process = Process(server, str(server / "store.db"), free_port())
    question = Question("open", None, OpenLH(2.0))
    process.start()
    store = open_store(process.store)
    token = create(store, TOKEN, Role.ADMIN, name="canary")
    store.close()
    try:
        send(process, "/v1/questions", question.to_json().encode(), token)
        report = question.privatize([ANSWER]).tobytes()
        path = f"/v1/questions/{question.digest}/reports?day={today()}"
        for body in (b"i" * 16 + report, b"i" * 16 + report, b"i" * 16 + report[::-1], b"nonsense"):
            for shown in (None, token, "wrong"):
                send(process, path, body, shown)
        send(process, f"/v1/questions/{question.digest}/estimates", b"{}", token)
        person = Client(process.address, client / "ledger.db")
        assert person.answer(question.digest, ANSWER) is Outcome.ANSWERED
    finally:
        assert process.stop() == 0
    assert token is not None
    canaries = [ANSWER, AGENT, ADDRESS, REFERRER, token]
    forms = [canary.encode() for canary in canaries]
    forms += [base64.b64encode(form) for form in forms]
    forms += [form.hex().encode() for form in forms]
    forms.append(socket.inet_aton(ADDRESS))
    files = [path for path in server.rglob("*") if path.is_file()]
    assert {"store.db"} <= {path.name for path in files}
    for file in files:
        content = file.read_bytes()
        assert [form for form in forms if form in content] == [], file


def send(process: Process, path: str, body: bytes, token: str | None) -> None:
    """Send one request from the canary's address, with the canary's headers."""
    headers = {"User-Agent": AGENT, "Referer": REFERRER, "X-Forwarded-For": ADDRESS}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    connection = http.client.HTTPConnection(
        urlsplit(process.address).netloc, timeout=30, source_address=(ADDRESS, 0)
    )
    connection.request("POST", path, body, headers)
    answer = connection.getresponse()
    answer.read()
    assert answer.status < 500
    connection.close()
