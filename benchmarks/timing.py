"""Clocks, progress, and what machine this is."""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from deniable import threads

ROOT = Path(__file__).parent.parent
Result = dict[str, Any]


def best(function: Callable[[], object], repeats: int) -> float:
    """Return the least seconds of several calls, after one that is not timed.

    The first call compiles and fills caches; of the others the fastest was disturbed least.
    """
    function()
    return min(_seconds(function) for _ in range(repeats))


def _seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def report_progress(message: str) -> None:
    """Say on a terminal what is being measured."""
    if sys.stderr.isatty():
        print(f"\r\033[K{message}", end="", file=sys.stderr, flush=True)


def describe_machine() -> Result:
    """Return what the figures depend on; nothing that names the machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    packages = ("deniable", "numpy", "numba")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": _processor(),
        "threads": threads(),
        "memory": memory,
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages if find_spec(name.replace("-", "_"))},
        "load": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", path.read_text()) if path.exists() else None
    return found[1].strip() if found else platform.processor() or platform.machine()


def measure_yardstick(megabytes: int, repeats: int) -> Result:
    """Return what the machine itself can do: copy memory, count, and draw random bytes."""
    size = megabytes << 20
    data = np.ones(size, dtype=np.uint8)
    target = np.empty_like(data)
    rng = np.random.default_rng(1)
    values = rng.integers(0, 1024, size // 8)
    fast = np.random.Generator(np.random.SFC64(1))
    return {
        "copied bytes per second": size / best(lambda: np.copyto(target, data), repeats),
        "values per second, numpy.bincount of int64": len(values)
        / best(lambda: np.bincount(values, minlength=1024), repeats),
        "random bytes per second, operating system, one core": (size // 4)
        / best(lambda: os.urandom(size // 4), repeats),
        "random bytes per second, SFC64, one core": (size // 4)
        / best(lambda: fast.bytes(size // 4), repeats),
    }
