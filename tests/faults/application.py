"""The application without a socket: requests go straight in, for faults by the thousand."""

from __future__ import annotations

from datetime import UTC, datetime

from deniable.collector.app import Application
from deniable.collector.questions import Terms, write_terms
from deniable.collector.stores.records import Asked, State
from tests.faults.fault import QUESTION


async def call(
    app: Application,
    method: str,
    path: str,
    body: bytes = b"",
    *,
    query: str = "",
    token: str | None = None,
) -> tuple[int, bytes]:
    """Send one request and return the status and the body of the answer."""
    statuses: list[int] = []
    parts: list[bytes] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(int(str(message["status"])))
        else:
            found = message.get("body", b"")
            assert isinstance(found, bytes | memoryview)
            parts.append(bytes(found))

    headers = [(b"content-length", b"%d" % len(body))]
    if token is not None:
        headers.append((b"authorization", f"Bearer {token}".encode()))
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": headers,
    }
    await app(scope, receive, send)
    return statuses[0], b"".join(parts)


async def submit(app: Application, id: bytes, reports: bytes, day: str | None = None) -> int:
    """Send one submission of today and return the status of the answer."""
    found = day or datetime.now(UTC).date().isoformat()
    path = f"/v1/questions/{QUESTION.digest}/reports"
    return (await call(app, "POST", path, id + reports, query=f"day={found}"))[0]


async def ask(app: Application) -> None:
    """Ask the question of the fault tests."""
    asked = Asked(QUESTION.digest, QUESTION.to_json(), State.OPEN, write_terms(Terms()))
    await app.services.writer.run(lambda store: store.ask(asked))
