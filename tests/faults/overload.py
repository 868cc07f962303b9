"""Three times the capacity: what still gets through, how much memory it takes, when it is over."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import dataclass

import psutil

from tests.faults.arrivals import Arrivals, order
from tests.faults.fault import Process
from tests.faults.hostile import CORES, ROOT, generate, memory, p99, result, submission_path

_WINDOW = 0.5
"""Seconds over which a 99th percentile is taken after the overload."""
_NORMAL = 2.0
"""How many times the quiet 99th percentile is still normal."""


@dataclass(frozen=True)
class Size:
    """How long each part takes."""

    seconds: float = 60
    quiet: float = 6
    after: float = 8
    connections: int = 2000


Found = dict[str, object]


def arrive(process: Process, rate: float, seconds: float, size: Size) -> subprocess.Popen[str]:
    """Start an open-loop generator in a process of its own."""
    arrivals = Arrivals(process.address, submission_path(), b"\1", rate, seconds, size.connections)
    found = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.arrivals"], cwd=ROOT, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert found.stdin is not None
    found.stdin.write(order(arrivals, CORES[-1]))
    found.stdin.close()
    found.stdin = None
    return found


async def watched(process: Process, generator: subprocess.Popen[str]) -> tuple[Found, float]:
    """Return what a generator found, and the most memory that the collector had meanwhile.

    The CPU time that the collector took is among the findings.
    """
    said = asyncio.create_task(asyncio.to_thread(result, generator))
    most, before = memory(process), cpu(process)
    while not said.done():
        await asyncio.wait([said], timeout=0.25)
        most = max(most, memory(process))
    return {**await said, "cpu": cpu(process) - before}, most


def cpu(process: Process) -> float:
    """Return the seconds of CPU that a collector has taken."""
    assert process.process is not None
    times = psutil.Process(process.process.pid).cpu_times()
    return float(times.user + times.system)


def recovery(found: Found, quiet: float, seconds: float) -> float:
    """Return after how many seconds two windows in a row were as before: all stored, as fast."""
    calm = 0
    for k in range(int(seconds / _WINDOW)):
        low, high = k * _WINDOW, (k + 1) * _WINDOW
        took = sorted(took for at, took in found["stored"] if low <= at < high)
        failed = any(low <= at < high for at in found["failed"])
        normal = bool(took) and not failed and p99(took) <= _NORMAL * quiet
        calm = calm + 1 if normal else 0
        if calm == 2:
            return low - _WINDOW
    return float("inf")


async def overload(process: Process, size: Size) -> Found:
    """Let three times the peak arrive for a while, and half the peak before and after."""
    assert process.process is not None
    for found in [top := psutil.Process(process.process.pid), *top.children(True)]:
        found.cpu_affinity(CORES[:1])
    rates = []
    for connections in (64, 256):
        alone, _ = await watched(process, generate(process.address, connections, size.quiet))
        rates.append((float(alone["rate"]), alone["cpu"] / alone["statuses"]["204"]))
    peak, usual = max(rates)
    quiet, _ = await watched(process, arrive(process, peak / 2, size.quiet, size))
    much, most = await watched(process, arrive(process, 3 * peak, size.seconds, size))
    after, _ = await watched(process, arrive(process, peak / 2, size.after, size))
    normal = p99(sorted(took for _, took in quiet["stored"]))
    stored = sum(at + took <= size.seconds for at, took in much["stored"])
    goodput, recovered = stored / size.seconds, recovery(after, normal, size.after)
    reached = much["arrived"] - much["turned_away"]
    return {
        "seconds": size.seconds,
        "peak, submissions/s": round(peak),
        "arrivals/s": round(much["arrived"] / size.seconds),
        "of these sent, %": round(100 * reached / much["arrived"], 1),
        "answers": {str(status): n for status, n in sorted(much["statuses"].items())},
        "lost or given up": much["lost"] + much["gave_up"],
        "goodput, submissions/s": round(goodput),
        "share": round(goodput / peak, 2),
        "CPU of one at the peak, us": round(1e6 * usual),
        "CPU of one meanwhile, us": round(1e6 * much["cpu"] / len(much["stored"])),
        "p99 of those stored, ms": round(1e3 * p99(sorted(took for _, took in much["stored"]))),
        "most memory, MB": round(most, 1),
        "p99 before, ms": round(1e3 * normal, 1),
        "recovery, s": recovered,
        "passed": goodput >= 0.8 * peak and most <= 512 and recovered <= 5,
    }
