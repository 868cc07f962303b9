"""How large SQLite's write-ahead log gets while clients submit and readers poll."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from urllib.request import Request, urlopen

from deniable.collector.access import TOKEN, Role, create
from deniable.collector.stores import open_store
from tests.faults.fault import QUESTION, Process
from tests.faults.hostile import generate, result
from tests.faults.overload import Size, arrive

_RATE = 250
_READERS = 3
_PAUSE = 1.0
_MOST = 64 * 2**20


def _viewer(url: str) -> str:
    """Return the token of a viewer."""
    store = open_store(url)
    try:
        token = create(store, TOKEN, Role.VIEWER, name="poll")
    finally:
        store.close()
    assert token is not None
    return token


def poll(process: Process, token: str, until: float) -> int:
    """Ask for estimates again and again, and return how often."""
    request = Request(
        f"{process.address}/v1/questions/{QUESTION.digest}/estimates",
        headers={"Authorization": f"Bearer {token}"},
    )
    asked = 0
    while time.monotonic() < until:
        with urlopen(request, timeout=30) as answer:
            answer.read()
        asked += 1
        time.sleep(_PAUSE)
    return asked


async def growth(process: Process, seconds: float) -> dict[str, object]:
    """Submit and poll for a while, and return the largest size of the log."""
    log, token = Path(process.store + "-wal"), _viewer(process.store)
    await asyncio.to_thread(result, generate(process.address, 4, 1))
    until = time.monotonic() + seconds
    load = arrive(process, Size(connections=1000), (_RATE, seconds))
    readers = [
        asyncio.create_task(asyncio.to_thread(poll, process, token, until)) for _ in range(_READERS)
    ]
    largest = 0
    while time.monotonic() < until:
        largest = max(largest, log.stat().st_size)
        await asyncio.sleep(0.1)
    found, asked = await asyncio.to_thread(result, load), await asyncio.gather(*readers)
    return {
        "seconds": round(seconds),
        "submissions": len(found["stored"]),
        "estimates": sum(asked),
        "largest log, MiB": round(largest / 2**20, 1),
        "connections lost": found["lost"],
        "refused": len(found["failed"]) - found["lost"],
        "passed": largest <= _MOST and len(found["failed"]) == found["lost"],
    }
