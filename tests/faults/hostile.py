"""Hostile senders and too much of everything, with figures: the long forms of the limits."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from benchmarks.load import Load, order
from tests.faults.fault import QUESTION, Process
from tests.faults.traffic import _status

ROOT = Path(__file__).parents[2]
CORES = sorted(os.sched_getaffinity(0))
"""The collector gets the first core and all generators the last: they must not starve it."""


def submission_path() -> str:
    """Return the path of a submission of today."""
    return f"/v1/questions/{QUESTION.digest}/reports?day={datetime.now(UTC).date().isoformat()}"


def memory(process: Process) -> float:
    """Return the resident memory of a collector and its worker, in MB."""
    assert process.process is not None
    top = psutil.Process(process.process.pid)
    return sum(found.memory_info().rss for found in [top, *top.children(True)]) / 1e6


async def honest(address: str, seconds: float, chance: int = 0) -> list[float]:
    """Submit one report after the other for a while, and return how long each took."""
    parts, took = urlsplit(address), []
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    until, number = time.monotonic() + seconds, chance
    head = f"POST {submission_path()} HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n".encode()
    while time.monotonic() < until:
        number += 1
        began = time.perf_counter()
        writer.write(head + number.to_bytes(16, "big") + b"\1")
        assert await _status(reader) == 204
        took.append(time.perf_counter() - began)
    writer.close()
    return sorted(took)


def p99(took: list[float]) -> float:
    """Return the 99th percentile of sorted times."""
    return took[int(len(took) * 0.99)]


async def trickle(process: Process, count: int) -> dict[str, object]:
    """Open connections that send a byte a second; return when the last one was cut."""
    parts = urlsplit(process.address)
    quiet = await honest(process.address, 4)
    starts = [
        b"POST /v1/questions HTTP/1.1\r\nX: ",
        f"POST {submission_path()} HTTP/1.1\r\nContent-Length: 17\r\n\r\n".encode(),
    ]
    began = time.monotonic()

    async def slow(start: bytes) -> float:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        mine = time.monotonic()
        writer.write(start)
        try:
            while not reader.at_eof():
                writer.write(b"y")
                await writer.drain()
                try:
                    await asyncio.wait_for(reader.read(4096), 1)
                except TimeoutError:
                    continue
        except OSError:
            pass
        writer.close()
        return time.monotonic() - mine

    slow_ones = asyncio.gather(*(slow(starts[i % 2]) for i in range(count)))
    busy = await honest(process.address, 10, chance=1 << 40)
    cut = await slow_ones
    return {
        "connections": count,
        "longest seconds until cut": round(max(cut), 1),
        "opened within seconds": round(time.monotonic() - began - max(cut), 1),
        "honest p99 quiet, ms": round(1e3 * p99(quiet), 1),
        "honest p99 meanwhile, ms": round(1e3 * p99(busy), 1),
        "ratio": round(p99(busy) / p99(quiet), 2),
        "passed": max(cut) <= 15 and p99(busy) < 3 * p99(quiet),
    }


async def endless(process: Process, count: int) -> dict[str, object]:
    """Upload without end over many connections, and return how much memory that took."""
    parts = urlsplit(process.address)
    await honest(process.address, 1)
    before, most = memory(process), 0.0
    head = f"POST {submission_path()} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent = 0

    async def upload() -> None:
        nonlocal sent
        try:
            _, writer = await asyncio.open_connection(parts.hostname, parts.port)
            writer.write(head.encode())
            for _ in range(1_000_000):
                writer.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")
                await writer.drain()
                sent += 0x10000
        except OSError:
            return

    uploads = asyncio.gather(*(upload() for _ in range(count)))
    while not uploads.done():
        most = max(most, memory(process))
        await asyncio.sleep(0.1)
    await uploads
    return {
        "uploads": count,
        "sent, MB": round(sent / 1e6),
        "memory before, MB": round(before, 1),
        "most memory, MB": round(most, 1),
        "passed": most - before <= 50,
    }


def generate(address: str, connections: int, seconds: float) -> subprocess.Popen[str]:
    """Start a generator in a process of its own."""
    load = Load(address, submission_path(), b"\1", connections, seconds)
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load"], cwd=ROOT, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(order(load, CORES[-1]))
    process.stdin.close()
    process.stdin = None
    return process


def result(process: subprocess.Popen[str]) -> dict[str, object]:
    """Return what a generator found."""
    said, _ = process.communicate()
    return dict(json.loads(said))


async def terminate(process: Process) -> dict[str, object]:
    """Ask a collector under load to end, and return how long it took."""
    load = generate(process.address, 64, 20)
    await asyncio.sleep(3)
    began = time.monotonic()
    code = await asyncio.to_thread(process.stop)
    took = time.monotonic() - began
    load.kill()
    await asyncio.to_thread(load.communicate)
    return {"seconds": round(took, 2), "exit": code, "passed": took <= 10 and code == 0}
