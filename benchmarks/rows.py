"""How many submissions a second each store takes, in groups as the collector writes them.

``python -m benchmarks.rows [--seconds 10]`` prints JSON. No HTTP is involved: each connection adds
groups of single reports, each group in a transaction that is on disk before the next begins. The
PostgreSQL is one of our own on the same machine, with its default settings; it also has several
connections at once, as from several collectors, each in a process of its own. What stays of a
submission until its day is sealed, its id and fingerprint, is weighed once all reports are folded.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.ingest import QUESTION, prepare
from benchmarks.timing import Result, describe_machine
from deniable.collector import housekeeping
from deniable.collector.stores import open_store
from deniable.collector.stores.records import Outcome, Submission
from tests.stores.server import running

GROUPS = (1, 100, 1000)
CONNECTIONS = 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def measure(url: str, size: int, seconds: float) -> Result:
    """Add groups of one size for some seconds, and return how many rows a second that were."""
    store = open_store(url)
    day, report = (datetime.now(UTC) - _EPOCH).days, QUESTION.privatize(["0"]).tobytes()
    rows, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        group = [Submission(QUESTION.digest, day, os.urandom(16), report) for _ in range(size)]
        if set(store.add(group)) != {Outcome.STORED}:
            raise RuntimeError("expected that all are stored")
        rows += size
    taken = time.perf_counter() - start
    store.close()
    return {"group": size, "rows": rows, "rows per second": round(rows / taken)}


def _together(url: str, size: int, seconds: float) -> Result:
    """Add groups over several connections at once, and return the sum of their rates."""
    with ProcessPoolExecutor(CONNECTIONS) as pool:
        parts = list(pool.map(measure, *zip(*[(url, size, seconds)] * CONNECTIONS, strict=True)))
    total = sum(part["rows per second"] for part in parts)
    return {"connections": CONNECTIONS, "group": size, "rows per second": total}


def weigh(url: str, rows: int) -> float:
    """Return the bytes that one submission takes, with indexes, once its report is folded."""
    store = open_store(url)
    housekeeping.fold_all(store)
    store.close()
    if "://" in url:
        import psycopg  # noqa: PLC0415 - an extra

        with psycopg.connect(url) as connection:
            text = "SELECT pg_total_relation_size('deniable.arrivals')"
            (size,) = connection.execute(text).fetchone() or (0,)
    else:
        with closing(sqlite3.connect(url)) as connection:
            names = ("page_count", "freelist_count", "page_size")
            pages, free, each = (
                connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names
            )
            size = (pages - free) * each
    return round(float(size) / rows, 1)


def main() -> None:
    """Measure both stores, and print what came out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rows", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds = parser.parse_args().seconds
    found: Result = {"machine": describe_machine()}
    with tempfile.TemporaryDirectory() as folder, running() as server:
        for name, url in (("sqlite", str(Path(folder, "store.db"))), ("postgres", server.url())):
            prepare(url)
            found[name] = [measure(url, size, seconds) for size in GROUPS]
            total = sum(part["rows"] for part in found[name])
            found[f"{name}, bytes of an id"] = weigh(url, total)
        found["postgres, several"] = [_together(server.url(), size, seconds) for size in GROUPS]
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
