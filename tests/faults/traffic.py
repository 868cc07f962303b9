"""Traffic: clients that submit and record, over connections that may break at any moment.

Three in ten submissions repeat one whose fate is known or not; what was unknown is sent again until
it is known, as real clients do.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.faults.history import History, Seen

REPEATED = 0.3


@dataclass
class Traffic:
    """Clients on several connections to one or more collectors, all with one history."""

    path: str
    report_values: int
    seed: int
    history: History = field(default_factory=History)
    stopped: bool = False

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._unknown: list[bytes] = []
        self._acknowledged: list[bytes] = []

    async def run(self, addresses: list[str], connections: int, until: asyncio.Event) -> None:
        """Submit over all connections until told to stop."""
        await asyncio.gather(
            *(self._client(addresses[i % len(addresses)], until) for i in range(connections))
        )

    async def settle(self, addresses: list[str]) -> None:
        """Send again what is unknown until all of it is known."""
        for _ in range(200):
            left = [id for id, seen in self.history.seen.items() if seen is Seen.UNKNOWN]
            if not left:
                return
            await self._send_all(addresses[0], left)
        raise AssertionError("expected the collector to answer again, got nothing")

    async def _client(self, address: str, until: asyncio.Event) -> None:
        while not until.is_set():
            try:
                await self._converse(address, until)
            except OSError:
                await asyncio.sleep(0.01)

    async def _converse(self, address: str, until: asyncio.Event) -> None:
        parts = urlsplit(address)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            while not until.is_set():
                id, reports = self._next()
                await self._exchange(reader, writer, id, reports)
        finally:
            writer.close()

    async def _send_all(self, address: str, ids: list[bytes]) -> None:
        parts = urlsplit(address)
        try:
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        except OSError:
            await asyncio.sleep(0.05)
            return
        try:
            for id in ids:
                await self._exchange(reader, writer, id, self.history.reports[id])
        except OSError:
            await asyncio.sleep(0.05)
        finally:
            writer.close()

    def _next(self) -> tuple[bytes, bytes]:
        """Return what to send next: something new, or something that was sent before."""
        if self._unknown and self._random.random() < 0.5:
            id = self._unknown.pop()
            return id, self.history.reports[id]
        if self._acknowledged and self._random.random() < REPEATED:
            id = self._random.choice(self._acknowledged)
            return id, self.history.reports[id]
        return self._random.randbytes(16), bytes([self._random.randrange(self.report_values)])

    async def _exchange(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        id: bytes,
        reports: bytes,
    ) -> None:
        """Send one submission and note what came of it; the outcome is unknown until it is told."""
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: x\r\nContent-Length: {16 + len(reports)}\r\n\r\n"
        )
        outcome = Seen.UNKNOWN
        try:
            writer.write(head.encode() + id + reports)
            status = await _status(reader)
            if status == 204:
                outcome = Seen.ACKNOWLEDGED
            elif status < 500:
                outcome = Seen.REFUSED
        finally:
            if outcome is Seen.UNKNOWN and self.history.seen.get(id) is not Seen.ACKNOWLEDGED:
                self._unknown.append(id)
            if outcome is Seen.ACKNOWLEDGED and len(self._acknowledged) < 10_000:
                self._acknowledged.append(id)
            self.history.record(id, reports, outcome)


async def _status(reader: asyncio.StreamReader) -> int:
    """Read one answer and return its status."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ConnectionError("no answer") from error
    status = int(head[9:12])
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:") and status != 204:
            await reader.readexactly(int(line.partition(b":")[2]))
    return status
