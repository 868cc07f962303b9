"""A load generator: connections that submit one report after another, as fast as they are answered.

It is one process on one core; requests are built beforehand so that it costs less than the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import time
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

import uvloop


@dataclass(frozen=True)
class Load:
    """What to send: where, by how many connections, for how long, and which bytes."""

    address: str
    path: str
    reports: bytes
    connections: int
    seconds: float
    token: str | None = None


class Sender(asyncio.Protocol):
    """One connection that sends the next submission when the last one is answered."""

    def __init__(self, load: Load, latencies: list[float], statuses: dict[str, int]) -> None:
        size = 16 + len(load.reports)
        token = f"Authorization: Bearer {load.token}\r\n" if load.token else ""
        self._head = (
            f"POST {load.path} HTTP/1.1\r\nHost: x\r\n{token}Content-Length: {size}\r\n\r\n"
        ).encode()
        self._reports, self._until = load.reports, 0.0
        self._latencies, self._statuses = latencies, statuses
        self._answer = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def start(self, transport: asyncio.Transport, until: float) -> None:
        """Send the first submission."""
        self._transport, self._until = transport, until
        self._send()

    def _send(self) -> None:
        self._began = time.perf_counter()
        self._transport.write(self._head + secrets.token_bytes(16) + self._reports)

    def data_received(self, data: bytes) -> None:
        """Note an answer, and send the next submission."""
        self._answer += data
        head, end, body = self._answer.partition(b"\r\n\r\n")
        if not end or len(body) < _length(head):
            return
        now = time.perf_counter()
        self._answer = b""
        self._latencies.append(now - self._began)
        status = head[9:12].decode()
        self._statuses[status] = self._statuses.get(status, 0) + 1
        if now < self._until:
            self._send()
        elif not self.done.done():
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """End this connection's part."""
        if not self.done.done():
            self._statuses["lost"] = self._statuses.get("lost", 0) + 1
            self.done.set_result(None)


def _length(head: bytes) -> int:
    if head[9:12] == b"204":
        return 0
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


async def run(load: Load) -> dict[str, object]:
    """Send for a while; return the rate of acknowledgements and quantiles of the latency."""
    loop, parts = asyncio.get_running_loop(), urlsplit(load.address)
    latencies: list[float] = []
    statuses: dict[str, int] = {}
    pairs = [
        await loop.create_connection(
            lambda: Sender(load, latencies, statuses), parts.hostname, parts.port
        )
        for _ in range(load.connections)
    ]
    began = time.perf_counter()
    for transport, sender in pairs:
        sender.start(transport, began + load.seconds)
    await asyncio.gather(*(sender.done for _, sender in pairs))
    seconds = time.perf_counter() - began
    for transport, _ in pairs:
        transport.close()
    latencies.sort()
    return {
        "rate": statuses.get("204", 0) / seconds,
        "statuses": statuses,
        "p50": latencies[len(latencies) // 2],
        "p99": latencies[int(len(latencies) * 0.99)],
        "max": latencies[-1],
    }


def main() -> None:
    """Read a load from standard input, pin to a core, and print what came of it."""
    order = json.load(sys.stdin)
    if (core := order.pop("core")) is not None:
        os.sched_setaffinity(0, {core})
    load = Load(**{**order, "reports": bytes.fromhex(order["reports"])})
    print(json.dumps(uvloop.run(run(load))))


def order(load: Load, core: int | None) -> str:
    """Return what ``main`` reads."""
    return json.dumps({**asdict(load), "reports": load.reports.hex(), "core": core})


if __name__ == "__main__":
    main()
