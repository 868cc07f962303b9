"""Rolling restarts: two collectors on one PostgreSQL behind a proxy, restarted by turns under load.

Each client has an address of its own, as visitors have, so that the limits of nginx apply as they
would. It sends a few submissions a second over TLS and sends each once more, with the same id, when
the answer is 5xx or none. What is then still 5xx is what people would have noticed.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.faults.check import check
from tests.faults.fault import QUESTION, Process, free_port, kept
from tests.faults.history import History, Seen
from tests.faults.proxies import Proxy, standing
from tests.stores.server import running

LAME_DUCK = 3
"""Seconds in which a collector says that it leaves: three of Caddy's checks."""
_PAUSE = 0.25
"""Between two submissions of a client: nginx lets each address have five a second."""
_HOST = "counts.example.org"


@dataclass
class Visitors:
    """Clients of a proxy, what they sent and what they were told."""

    proxy: Proxy
    chance: random.Random
    history: History = field(default_factory=History)
    first: Counter[int] = field(default_factory=Counter)
    second: Counter[int] = field(default_factory=Counter)

    async def visit(self, number: int, until: asyncio.Event) -> None:
        """Submit until told to stop, from an address of one's own."""
        address = f"127.0.{1 + number // 200}.{1 + number % 200}"
        connection = None
        await asyncio.sleep(self.chance.random() * _PAUSE)
        while not until.is_set():
            id = self.chance.randbytes(16)
            reports = bytes([self.chance.randrange(QUESTION.protocol.domain_size)])
            for told in (self.first, self.second):
                connection, status = await self._send(connection, address, id + reports)
                told[status] += 1
                outcome = Seen.UNKNOWN if status == 0 or status >= 500 else Seen.REFUSED
                self.history.record(id, reports, Seen.ACKNOWLEDGED if status == 204 else outcome)
                if outcome is not Seen.UNKNOWN:
                    break
                await asyncio.sleep(_PAUSE)
            await asyncio.sleep(_PAUSE)
        if connection:
            await _close(connection[1])

    async def _send(self, connection, address: str, body: bytes):
        """Send a submission; return the connection that can be used again, and the status or 0."""
        day = datetime.now(UTC).date().isoformat()
        head = f"POST /v1/questions/{QUESTION.digest}/reports?day={day} HTTP/1.1\r\n"
        head += f"Host: {_HOST}\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            if connection is None:
                connection = await asyncio.open_connection(
                    "127.0.0.1", self.proxy.port, ssl=self.proxy.trust, server_hostname=_HOST,
                    local_addr=(address, 0),
                )  # fmt: skip
            reader, writer = connection
            writer.write(head.encode() + body)
            said = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
            status = int(said.split(b" ", 2)[1])
            for line in said.lower().split(b"\r\n"):
                if line.startswith(b"content-length:") and status != 204:
                    await reader.readexactly(int(line.partition(b":")[2]))
            if b"connection: close" in said.lower() or b"chunked" in said.lower():
                await _close(writer)
                return None, status
        except (OSError, EOFError, TimeoutError):
            if connection:
                await _close(connection[1])
            return None, 0
        return connection, status


async def _close(writer: asyncio.StreamWriter) -> None:
    """Close a connection and wait for it: what is open when the loop ends is a warning later."""
    writer.close()
    with suppress(OSError, TimeoutError):
        await asyncio.wait_for(writer.wait_closed(), 5)


async def own_refusal(proxy: Proxy) -> bool:
    """Tell whether a proxy without collectors says so in a way that browsers can read."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", proxy.port, ssl=proxy.trust, server_hostname=_HOST
    )
    writer.write(f"GET /readyz HTTP/1.1\r\nHost: {_HOST}\r\nConnection: close\r\n\r\n".encode())
    said = (await reader.read()).decode()
    await _close(writer)
    head, _, body = said.partition("\r\n\r\n")
    names = {line.partition(":")[0].lower() for line in head.splitlines()}
    problem = json.loads(body[body.index("{") : body.rindex("}") + 1])
    return (
        " 503 " in head.splitlines()[0]
        and {"access-control-allow-origin", "retry-after"} <= names
        and problem["type"] == "urn:deniable:unavailable"
    )


async def roll(visitors: Visitors, processes: list[Process], rounds: int, crowd: int) -> None:
    """Restart one collector after the other while a crowd submits."""
    until = asyncio.Event()
    tasks = [asyncio.create_task(visitors.visit(number, until)) for number in range(crowd)]
    try:
        await asyncio.sleep(2)
        for _ in range(rounds):
            for process in processes:
                assert await asyncio.to_thread(process.stop) == 0
                await asyncio.to_thread(process.start)
                await asyncio.sleep(2)  # the proxy's checks notice that it is back
    finally:
        until.set()
        await asyncio.gather(*tasks)


def restart(name: str, folder: Path, rounds: int, seed: int, crowd: int = 60) -> dict[str, object]:
    """Restart collectors behind a proxy, and judge what is left."""
    more = ("--lame-duck-seconds", str(LAME_DUCK), "--url", f"https://{_HOST}")
    with running() as server:
        processes = [Process(folder, server.url(), free_port(), more=more) for _ in range(2)]
        try:
            for process in processes:
                process.start()
            with standing(name, folder / name, [one.port for one in processes]) as proxy:
                visitors = Visitors(proxy, random.Random(seed))
                asyncio.run(roll(visitors, processes, rounds, crowd))
                for process in processes:
                    process.stop()
                refusal = asyncio.run(own_refusal(proxy))
        finally:
            for process in processes:
                process.end()
        wrong = check(visitors.history, kept(server.url()))
    noticed = sum(n for status, n in visitors.second.items() if status == 0 or status >= 500)
    unknown = sum(n for status, n in visitors.first.items() if status == 0 or status >= 500)
    return {
        "restarts": 2 * rounds,
        "submissions": len(visitors.history.seen),
        "acknowledged": visitors.history.acknowledgements,
        "answers at the first try": {str(key): n for key, n in sorted(visitors.first.items())},
        "5xx or no answer, and sent once more": unknown,
        "5xx or no answer after that": noticed,
        "lost or counted twice": len(wrong),
        "the proxy's own 503 can be read by browsers": "yes" if refusal else "no",
        "passed": wrong == [] and noticed == 0 and refusal and len(visitors.history.seen) > 100,
    }
