"""Large exports go out in pieces, so that a slow reader holds no copy of them in the server."""

from __future__ import annotations

import asyncio

from deniable.collector.handlers import streamed


def test_a_large_export_is_sent_in_pieces() -> None:
    """The pieces add up to the export, and none is large."""
    result = bytes(range(256)) * 8192
    sent: list[dict] = []

    async def send(message: dict) -> None:
        sent.append(message)

    async def receive() -> dict:
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    response = streamed(result, "text/csv")
    scope = {"type": "http", "asgi": {"spec_version": "2.4"}, "method": "GET", "headers": []}
    asyncio.run(response(scope, receive, send))
    bodies = [message["body"] for message in sent if message["type"] == "http.response.body"]
    assert b"".join(bodies) == result
    assert len(bodies) > 5
    assert max(map(len, bodies)) <= 1 << 18
