"""The application without a socket: requests go straight in, for faults by the thousand."""

from __future__ import annotations

from datetime import UTC, datetime

from deniable.collector.app import Application
from deniable.collector.questions import Terms, write_terms
from deniable.collector.stores.store import Asked, State
from tests.faults.fault import QUESTION


async def post(app: Application, path: str, body: bytes, query: str = "") -> int:
    """Send one request and return the status of the answer."""
    statuses: list[int] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(int(str(message["status"])))

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"content-length", b"%d" % len(body))],
    }
    await app(scope, receive, send)
    return statuses[0]


async def submit(app: Application, id: bytes, reports: bytes, day: str | None = None) -> int:
    """Send one submission of today and return the status of the answer."""
    found = day or datetime.now(UTC).date().isoformat()
    return await post(app, f"/v1/questions/{QUESTION.digest}/reports", id + reports, f"day={found}")


async def ask(app: Application) -> None:
    """Ask the question of the fault tests."""
    asked = Asked(QUESTION.digest, QUESTION.to_json(), State.OPEN, write_terms(Terms()))
    await app.parts.writer.run(lambda store: store.ask(asked))
