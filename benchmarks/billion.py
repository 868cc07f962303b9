"""A billion reports over a million values, stage by stage, with the memory they take.

``python -m benchmarks.billion '{"reports": 10000000}'`` runs one stream and prints JSON; the peak
memory is that of the process, so every stream has a process of its own.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.timing import ROOT, Result, describe_machine, report_progress
from deniable import OLH
from deniable.kernels.jit import set_compiled

GIB = 1 << 30


@dataclass(frozen=True)
class Stream:
    """So many reports of one protocol, and what they may take."""

    title: str = "a billion"
    reports: int = 10**9
    domain_size: int = 10**6
    epsilon: float = 1.0
    seeded: bool = True
    batch: int = 1 << 23
    most_seconds: float = 900.0
    most_memory: int = 8 * GIB


STREAMS = (
    Stream(),
    Stream("a billion, the operating system's randomness", seeded=False),
    Stream("memory of a tally", 10**8, 41_270, most_seconds=900.0, most_memory=GIB),
)
QUICK = tuple(
    Stream(stream.title, 10**6, 5_000, seeded=stream.seeded, batch=1 << 18) for stream in STREAMS
)


def measure(streams: tuple[Stream, ...]) -> Result:
    """Run every stream in a process of its own."""
    return {"machine": describe_machine(), "streams": [run_apart(stream) for stream in streams]}


def run_apart(stream: Stream) -> Result:
    """Run a stream in a new process, whose peak memory is its own."""
    report_progress(f"{stream.title}: {stream.reports:,} reports")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.billion", json.dumps(asdict(stream))],
        stdout=subprocess.PIPE,
        check=True,
        cwd=ROOT,
    )
    result: Result = json.loads(done.stdout)
    return result


class Population:
    """How many people hold each value, and their reports, batch by batch and timed."""

    def __init__(self, stream: Stream) -> None:
        self.seconds = {"simulate": 0.0, "privatize": 0.0}
        self._stream = stream
        start = time.perf_counter()
        weights = np.arange(1, stream.domain_size + 1) ** -1.1
        self.counts = np.random.default_rng(1).multinomial(stream.reports, weights / weights.sum())
        self._ends = np.cumsum(self.counts)
        self.seconds["simulate"] += time.perf_counter() - start

    def reports(self, protocol: OLH) -> Iterator[npt.NDArray[Any]]:
        """Yield the reports; people come in the order of their values, which no tally sees."""
        rng = np.random.default_rng(2) if self._stream.seeded else None
        for first in range(0, self._stream.reports, self._stream.batch):
            start = time.perf_counter()
            values = self._answers(first, min(first + self._stream.batch, self._stream.reports))
            drawn = time.perf_counter()
            batch = protocol.privatize(values, rng)
            self.seconds["simulate"] += drawn - start
            self.seconds["privatize"] += time.perf_counter() - drawn
            yield batch

    def _answers(self, first: int, stop: int) -> npt.NDArray[np.int64]:
        """Return the values of the people numbered first to stop - 1."""
        low, high = np.searchsorted(self._ends, (first, stop - 1), side="right")
        people = np.clip(self._ends[low : high + 1], first, stop)
        return np.repeat(np.arange(low, high + 1), np.diff(people, prepend=first))


def run(stream: Stream) -> Result:
    """Make, tally and decode the reports of a stream in this process."""
    set_compiled(True)
    begin = time.perf_counter()
    protocol = OLH(stream.epsilon, stream.domain_size)
    population = Population(stream)
    before = sum(population.seconds.values())
    start = time.perf_counter()
    tally = protocol.tally(population.reports(protocol))
    tallied = time.perf_counter()
    estimates = protocol.estimate(tally)
    end = time.perf_counter()
    made = sum(population.seconds.values()) - before
    errors = np.mean((estimates.counts - population.counts) ** 2)
    expected = np.mean(protocol.variance(tally.n, population.counts / tally.n))
    return asdict(stream) | {
        "g": protocol.g,
        "seconds": population.seconds
        | {
            "tally": tallied - start - made,
            "decode": end - tallied,
        },
        "total": end - begin,
        "peak_memory": peak_memory(),
        "error_over_theory": float(errors / expected),
    }


def peak_memory() -> int:
    """Return the most bytes that this process has held.

    What getrusage says starts from the process that started this one, so Linux is asked for the
    high-water mark of the address space instead.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return 1024 * int(found[1]) if found else 0
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    print(json.dumps(run(Stream(**json.loads(sys.argv[1])))))
