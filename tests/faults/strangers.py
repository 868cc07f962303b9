"""Strangers who connect to fill the collector: how much memory they get, and who waits for them.

They run in a process of their own, from other addresses than the honest client, who opens a new
connection for each submission.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from deniable import DE
from deniable.question import Question
from tests.faults.fault import Process
from tests.faults.hostile import ROOT, memory, p99, submission_path

MOST_MEMORY, MOST_WAIT, MOST_LEFT = 256.0, 1.0, 48.0
"""MB while strangers are there, seconds at the 99th percentile, MB more than before at the end."""
_CHANCE = random.Random(1)
LARGE = Question(
    "large", tuple(_CHANCE.randbytes(21).hex() for _ in range(19_000)), DE(1.0, 19_000)
)
"""A question whose document has 0.9 MB, and does not compress well."""
_ADDRESSES = [f"127.0.0.{last}" for last in range(2, 34)]


@dataclass(frozen=True)
class Attack:
    """What strangers do, how many of them, for how long."""

    kind: str
    count: int
    seconds: float
    host: str = ""
    port: int = 0
    path: str = f"/v1/questions/{LARGE.digest}"


async def _connect(attack: Attack, number: int) -> socket.socket:
    """Connect from one of the other addresses."""
    found = socket.socket()
    found.setblocking(False)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if attack.kind == "readers":
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    found.bind((_ADDRESSES[number % len(_ADDRESSES)], 0))
    await asyncio.get_running_loop().sock_connect(found, (attack.host, attack.port))
    return found


async def pipeline(attack: Attack, opened: socket.socket) -> None:
    """Send requests without end, and read no answer."""
    loop, requests = asyncio.get_running_loop(), b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 4096
    while True:
        await loop.sock_sendall(opened, requests)


async def read_slowly(attack: Attack, opened: socket.socket) -> None:
    """Ask for a large document, and read a little of it now and then."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(opened, f"GET {attack.path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    while await loop.sock_recv(opened, 512):
        await asyncio.sleep(1)


async def be_silent(attack: Attack, opened: socket.socket) -> None:
    """Say nothing until the other side has had enough."""
    await asyncio.get_running_loop().sock_recv(opened, 512)


KINDS: dict[str, Callable[[Attack, socket.socket], Coroutine[None, None, None]]] = {
    "pipelining": pipeline,
    "readers": read_slowly,
    "silent": be_silent,
}


async def strangers(attack: Attack) -> int:
    """Let all of them connect, and again whenever they are cut; return how often they did."""
    connected = 0

    async def one(number: int) -> None:
        nonlocal connected
        await asyncio.sleep(random.random())
        while True:
            try:
                opened = await _connect(attack, number)
                connected += 1
                with opened:
                    await KINDS[attack.kind](attack, opened)
            except OSError:
                await asyncio.sleep(0.05)

    tasks = [asyncio.create_task(one(number)) for number in range(attack.count)]
    await asyncio.sleep(attack.seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return connected


async def submit_anew(process: Process, number: int) -> float:
    """Submit one report on a connection of its own, and return how long that took."""
    parts, began = urlsplit(process.address), time.perf_counter()
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    head = f"POST {submission_path()} HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n".encode()
    writer.write(head + number.to_bytes(16, "big") + b"\1")
    said = await reader.readline()
    assert said.startswith(b"HTTP/1.1 204"), said
    writer.close()
    return time.perf_counter() - began


async def settled(process: Process) -> None:
    """Wait until the collector has started its worker, and no longer takes more memory."""
    for _ in range(30):
        before = memory(process)
        await asyncio.sleep(1)
        if memory(process) < before + 1 and process.children():
            return


async def withstand(process: Process, attack: Attack) -> dict[str, object]:
    """Submit while strangers attack, and return what that took."""
    parts = urlsplit(process.address)
    await submit_anew(process, 1 << 64)
    await settled(process)
    before = most = memory(process)
    found = Attack(attack.kind, attack.count, attack.seconds, parts.hostname or "", parts.port or 0)
    others = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.strangers", json.dumps(asdict(found))],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    took, number = [], 0
    try:
        while others.poll() is None:
            number += 1
            took.append(await submit_anew(process, number))
            most = max(most, memory(process))
            await asyncio.sleep(0.02)
    finally:
        others.kill()
    connected = json.loads(others.communicate()[0])
    until = time.monotonic() + 20
    while (after := memory(process)) > before + MOST_LEFT and time.monotonic() < until:
        await asyncio.sleep(0.1)
    slowest = p99(sorted(took))
    return {
        "strangers": attack.count,
        "their connections": connected,
        "honest submissions": len(took),
        "honest p99, ms": round(1e3 * slowest, 1),
        "memory before, MB": round(before, 1),
        "most memory, MB": round(most, 1),
        "memory after, MB": round(after, 1),
        "passed": most <= MOST_MEMORY and slowest < MOST_WAIT and after <= before + MOST_LEFT,
    }


def attacked(folder: Path, store: str, port: int, attack: Attack) -> dict[str, object]:
    """Start a collector with default settings that asks a large question too, and attack it."""
    large = folder / "large.json"
    large.write_text(LARGE.to_json())
    process = Process(folder, store, port, more=(str(large),))
    process.start()
    try:
        return asyncio.run(withstand(process, attack))
    finally:
        process.kill()


if __name__ == "__main__":
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most_files, 8192), most_files))
    print(asyncio.run(strangers(Attack(**json.loads(sys.argv[1])))))
