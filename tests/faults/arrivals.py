"""An open-loop generator: submissions arrive at a rate, whatever became of those before them.

Each arrival takes a connection that is idle, or a new one; beyond the most connections it is turned
away, and after some patience it gives up. What waits for answers can therefore not slow it down, as
it does where each connection sends the next submission after the last answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from urllib.parse import urlsplit

_TICK = 0.002
_MOST_AT_ONCE = 2000
"""So many arrivals of one tick are sent at most: a generator that stood still does not burst."""


@dataclass(frozen=True)
class Arrivals:
    """Where submissions arrive, how many a second, for how long, and how patient they are."""

    address: str
    path: str
    reports: bytes
    rate: float
    seconds: float
    connections: int = 2000
    patience: float = 5.0


@dataclass
class Tally:
    """What became of the arrivals: when each came and how long it took, if it was stored."""

    arrived: int = 0
    turned_away: int = 0
    gave_up: int = 0
    lost: int = 0
    statuses: dict[int, int] = field(default_factory=dict)
    stored: list[tuple[float, float]] = field(default_factory=list)
    failed: list[float] = field(default_factory=list)


class Line(asyncio.Protocol):
    """One connection, with at most one submission on its way."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._answer = b""
        self.arrival: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Send what this connection was opened for."""
        self.transport = transport
        if self.arrival is not None:
            self.send(self.arrival)

    def send(self, arrival: float) -> None:
        """Send one submission."""
        self.arrival = arrival
        self.transport.write(self._crowd.head + secrets.token_bytes(16) + self._crowd.reports)

    def data_received(self, data: bytes) -> None:
        """Note the answer when all of it is here, and be idle again."""
        self._answer += data
        head, end, body = self._answer.partition(b"\r\n\r\n")
        if not end or len(body) < _length(head):
            return
        self._answer = b""
        arrival, self.arrival = self.arrival, None
        if arrival is not None:
            self._crowd.note(arrival, int(head[9:12]))
        if b"connection: close" in head.lower():
            self.transport.close()
        else:
            self._crowd.idle.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room for another connection."""
        self._crowd.forget(self)


class Crowd:
    """All connections, and what became of the arrivals."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        parts = urlsplit(arrivals.address)
        self._host, self._port = parts.hostname, parts.port
        self.reports = arrivals.reports
        size = 16 + len(arrivals.reports)
        self.head = (
            f"POST {arrivals.path} HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n"
        ).encode()
        self.idle: list[Line] = []
        self.tally = Tally()
        self._open: set[Line] = set()
        self._waiting: deque[tuple[float, Line]] = deque()
        self._opening: set[asyncio.Task[None]] = set()

    async def run(self) -> Tally:
        """Let all arrive, then wait until each was answered or gave up."""
        began, arrivals = time.perf_counter(), self._arrivals
        most = int(arrivals.rate * arrivals.seconds)
        while self.tally.arrived < most:
            now = time.perf_counter()
            due = min(most, int(arrivals.rate * (now - began))) - self.tally.arrived
            for _ in range(min(due, _MOST_AT_ONCE)):
                self._arrive(now)
            self._lose_patience(now)
            await asyncio.sleep(_TICK)
        while self._waiting:
            self._lose_patience(time.perf_counter())
            await asyncio.sleep(_TICK)
        for line in list(self._open):
            line.transport.abort()
        await asyncio.sleep(0)
        self.tally.stored = [(at - began, took) for at, took in self.tally.stored]
        self.tally.failed = [at - began for at in self.tally.failed]
        return self.tally

    def _arrive(self, now: float) -> None:
        self.tally.arrived += 1
        if self.idle:
            line = self.idle.pop()
            line.send(now)
        elif len(self._open) + len(self._opening) < self._arrivals.connections:
            line = Line(self)
            line.arrival = now
            task = asyncio.create_task(self._connect(line))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
        else:
            self.tally.turned_away += 1
            self.tally.failed.append(now)
            return
        self._waiting.append((now, line))

    async def _connect(self, line: Line) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: line, self._host, self._port)
            self._open.add(line)
        except OSError:
            self.forget(line)

    def _lose_patience(self, now: float) -> None:
        """Give up what waits for too long; what was answered in time has left already."""
        while self._waiting:
            arrival, line = self._waiting[0]
            if line.arrival == arrival and now - arrival < self._arrivals.patience:
                return
            self._waiting.popleft()
            if line.arrival == arrival:
                line.arrival = None
                self.tally.gave_up += 1
                self.tally.failed.append(arrival)
                if line in self._open:
                    line.transport.abort()

    def note(self, arrival: float, status: int) -> None:
        """Note an answer."""
        self.tally.statuses[status] = self.tally.statuses.get(status, 0) + 1
        if status == 204:
            self.tally.stored.append((arrival, time.perf_counter() - arrival))
        else:
            self.tally.failed.append(arrival)

    def forget(self, line: Line) -> None:
        """Drop a connection that is no more."""
        self._open.discard(line)
        if line.arrival is not None:
            self.tally.lost += 1
            self.tally.failed.append(line.arrival)
            line.arrival = None
        elif line in self.idle:
            self.idle.remove(line)


def _length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0]) if found and head[9:12] != b"204" else 0


def order(arrivals: Arrivals, core: int | None) -> str:
    """Return what ``main`` reads."""
    return json.dumps({**asdict(arrivals), "reports": arrivals.reports.hex(), "core": core})


def main() -> None:
    """Read an order from standard input, pin to a core, and print what became of the arrivals."""
    import uvloop  # noqa: PLC0415 - so that those who only order need not load it

    found = json.load(sys.stdin)
    if (core := found.pop("core")) is not None:
        os.sched_setaffinity(0, {core})
    arrivals = Arrivals(**{**found, "reports": bytes.fromhex(found["reports"])})

    async def run() -> Tally:
        return await Crowd(arrivals).run()

    print(json.dumps(asdict(uvloop.run(run()))))


if __name__ == "__main__":
    main()
