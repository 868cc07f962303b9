"""What a client pays: importing, one answer, and whether its timing tells the answer.

Importing and first uses are measured in new processes; one answer is timed in this one.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.table import small_protocols
from benchmarks.timing import ROOT, Result, describe_machine, report_progress
from deniable import OpenLH, Protocol, fingerprint

MOST_IMPORT_SECONDS = 0.3
MOST_ANSWER_SECONDS = 0.002
MOST_ACCURACY = 0.55


@dataclass(frozen=True)
class Sizes:
    """How often everything is repeated."""

    domain_size: int = 1024
    imports: int = 10
    answers: int = 2_000
    classified: int = 100_000
    runs: int = 3
    first_uses: bool = True


QUICK = Sizes(domain_size=64, imports=1, answers=20, classified=400, runs=1, first_uses=False)

# Each step runs in a new process: what it needs is made without compiling anything.
FIRST_USE = """
import json, sys, time
import numpy as np
import deniable
def few(protocol, values): return protocol.privatize(values[:16])
def many(protocol, values, n):
    small = np.concatenate([few(protocol, values) for _ in range(4)])
    return small[np.arange(n) % len(small)]
values = np.arange(200_000) % 1000
keys = deniable.fingerprints([str(i) for i in range(1000)])
OUE, DE, OLH, OpenLH = (
    deniable.OUE(1.0, 1024), deniable.DE(1.0, 1024), deniable.OLH(1.0, 41270), deniable.OpenLH(1.0)
)
step = sys.argv[1]
if step == "OUE privatize": job = lambda: OUE.privatize(values)
elif step == "DE privatize": job = lambda: DE.privatize(values)
elif step == "OLH privatize": job = lambda: OLH.privatize(values)
elif step == "OUE tally":
    reports = many(OUE, values, 20_000); job = lambda: OUE.tally(reports)
elif step == "DE tally":
    reports = many(DE, values, 3_000_000); job = lambda: DE.tally(reports)
elif step == "OLH tally":
    reports = many(OLH, values, 3_000_000); job = lambda: OLH.tally(reports)
elif step == "OLH decode":
    size = OLH.g ** 9
    codes = np.random.default_rng(1).integers(0, size, 300_000).astype(OLH.report_dtype)
    tally = OLH.tally(codes); job = lambda: OLH.estimate(tally)
elif step == "OpenLH decode":
    tally = OpenLH.tally(many(OpenLH, keys, 20_000)); job = lambda: OpenLH.estimate(tally, keys)
seconds = []
for _ in range(3):
    start = time.perf_counter(); job(); seconds.append(time.perf_counter() - start)
print(json.dumps({"numba": "numba" in sys.modules, "first": seconds[0], "later": min(seconds[1:])}))
"""
STEPS = (
    "DE privatize",
    "DE tally",
    "OUE privatize",
    "OUE tally",
    "OLH privatize",
    "OLH tally",
    "OLH decode",
    "OpenLH decode",
)

FIRST_ANSWER = """
import json, pickle, sys, time
from deniable import *
start = time.perf_counter()
pickle.loads(bytes.fromhex(sys.argv[1])).privatize([7])
seconds = time.perf_counter() - start
print(json.dumps(seconds))
"""


def measure(sizes: Sizes) -> Result:
    """Measure everything that a client pays."""
    machine = describe_machine()
    protocols = [*small_protocols(sizes.domain_size), OpenLH(1.0)]
    answers = [measure_answer(protocol, sizes) for protocol in protocols]
    return {
        "machine": machine,
        "sizes": asdict(sizes),
        "import": measure_import(sizes.imports),
        "answers": answers,
        "first_uses": measure_first_uses() if sizes.first_uses else [],
    }


def measure_import(repeats: int) -> Result:
    """Return the best seconds of importing every public name, and without NumPy's share."""
    totals, alone = [], []
    for i in range(repeats):
        report_progress(f"import {i + 1} of {repeats}")
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", "from deniable import *"],
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
        cumulative = {
            name: int(microseconds) / 1e6
            for microseconds, name in re.findall(
                r"\|\s+(\d+) \|\s+(deniable|numpy)$", done.stderr, re.MULTILINE
            )
        }
        # Names are loaded lazily, so what counts is the sum over all modules, not one entry.
        total = sum(
            int(microseconds) / 1e6
            for microseconds in re.findall(r"import time:\s+(\d+) \|", done.stderr)
        )
        totals.append(total)
        alone.append(total - cumulative.get("numpy", 0.0))
    return {"seconds": min(totals), "without_numpy": min(alone), "at_most": MOST_IMPORT_SECONDS}


def measure_answer(protocol: Protocol, sizes: Sizes) -> Result:
    """Return how long one answer takes, and how well that time tells two answers apart."""
    report_progress(f"one answer: {protocol.name}")
    first, last = _two_values(protocol)
    _time_calls(protocol, (first, last), np.zeros(20, dtype=np.int64))
    seconds = _time_calls(protocol, (first, last), np.ones(sizes.answers, dtype=np.int64)) / 1e9
    rng = np.random.default_rng(6)

    def tell_apart(one: int, other: int) -> float:
        which = rng.integers(0, 2, sizes.classified)
        return classify(_time_calls(protocol, (one, other), which), which)

    return {
        "protocol": protocol.name,
        "domain_size": 0 if isinstance(protocol, OpenLH) else protocol.domain_size,
        "first": min(_first_answer(protocol) for _ in range(3)),
        "median": float(np.median(seconds)),
        "p99": float(np.quantile(seconds, 0.99)),
        "at_most": MOST_ANSWER_SECONDS,
        "calls": sizes.classified,
        "accuracies": [tell_apart(first, last) for _ in range(sizes.runs)],
        "control": tell_apart(first, first),
        "accuracy_at_most": MOST_ACCURACY,
    }


def _two_values(protocol: Protocol) -> tuple[int, int]:
    """Return the first and the last value, or two fingerprints."""
    if isinstance(protocol, OpenLH):
        return fingerprint("the first"), fingerprint("the last")
    return 0, protocol.domain_size - 1


def _time_calls(
    protocol: Protocol, pair: tuple[int, int], which: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the nanoseconds of each call; every call has an array of its own, as in a client."""
    dtype = np.uint64 if isinstance(protocol, OpenLH) else np.int64
    privatize, clock = protocol.privatize, time.perf_counter_ns
    times = np.empty(len(which), dtype=np.int64)
    for i, choice in enumerate(which.tolist()):
        values = np.array([pair[choice]], dtype=dtype)
        start = clock()
        privatize(values)
        times[i] = clock() - start
    return times


def _first_answer(protocol: Protocol) -> float:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_ANSWER, pickle.dumps(protocol).hex()],
        stdout=subprocess.PIPE,
        check=True,
    )
    return float(json.loads(done.stdout))


def classify(times: npt.NDArray[np.int64], which: npt.NDArray[np.int64]) -> float:
    """Return the accuracy on every other call of the best threshold on the calls between.

    The threshold and its direction are those that do best in training; 0.5 is a coin.
    """
    train, test = slice(0, None, 2), slice(1, None, 2)
    order = np.argsort(times[train], kind="stable")
    labels, sorted_times = which[train][order], times[train][order]
    # ones[i] says how many calls for the second value are among the i fastest.
    ones = np.concatenate([[0], np.cumsum(labels)])
    below = np.arange(len(labels) + 1)
    right = (below - ones) + (ones[-1] - ones)  # the faster i said to be for the first value
    both = np.maximum(right, len(labels) - right)
    # A threshold cannot separate equal times.
    possible = np.concatenate([[True], sorted_times[1:] != sorted_times[:-1], [True]])
    cut = int(np.argmax(np.where(possible, both, -1)))
    threshold = sorted_times[cut] if cut < len(labels) else np.inf
    slower = times[test] >= threshold
    guesses = slower if right[cut] == both[cut] else ~slower
    return float(np.mean(guesses == which[test].astype(bool)))


def measure_first_uses() -> list[dict[str, Any]]:
    """Return what the first call of each step costs without and with kernels cached on disk."""
    rows = []
    for step in STEPS:
        report_progress(f"first use: {step}")
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = (_first_use(step, Path(cache)) for _ in range(2))
        rows.append(
            {
                "step": step,
                "cold": cold["first"],
                "warm": warm["first"],
                "later": warm["later"],
                "numba": warm["numba"],
            }
        )
    return rows


def _first_use(step: str, cache: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE, step],
        stdout=subprocess.PIPE,
        check=True,
        cwd=ROOT,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result
