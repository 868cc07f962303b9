"""How fast a collector takes submissions, beside the same server that stores nothing.

Server and generator have one core each. Both servers run the same code from the socket to the
queue; the one that stores nothing answers from the writer's thread without touching the disk.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.load import Load, order
from benchmarks.timing import ROOT, Result, describe_machine, report_progress
from deniable import OLH
from deniable.collector.access import TOKEN, Role, create
from deniable.collector.app import create_app
from deniable.collector.questions import Terms, write_terms
from deniable.collector.server import Server
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store
from deniable.collector.stores.records import Asked, Outcome, State, Submission
from deniable.collector.stores.sqlite import SqliteStore
from deniable.question import Question


@dataclass(frozen=True)
class Sizes:
    """What is sent."""

    seconds: float = 10.0
    connections: int = 64
    many: int = 1000
    rounds: int = 3


QUICK = Sizes(seconds=0.5, connections=4, many=100, rounds=1)
QUESTION = Question("ingest", tuple(map(str, range(1024))), OLH(1.0, 1024))


class Nothing(SqliteStore):
    """A store that stores no submission and says that it did."""

    def add(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Do nothing, at once."""
        return [Outcome.STORED] * len(submissions)


def serve(kind: str, url: str, core: int | None) -> None:
    """Run one of the two servers until SIGTERM; print its address."""
    if core is not None:
        os.sched_setaffinity(0, {core})
    settings = Settings(store=url, port=0)
    opener = (lambda: Nothing(Path(url))) if kind == "nothing" else None
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Server(create_app(settings, opener), settings, lambda at: print(at, flush=True)).run()


@contextmanager
def serving(kind: str, url: str, core: int | None) -> Iterator[str]:
    """Run a server in a process of its own, and yield its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.ingest", kind, url, json.dumps(core)],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def prepare(url: str) -> str:
    """Ask the question, and return the token of a relay."""
    store = open_store(url)
    document = QUESTION.to_json()
    store.ask(Asked(QUESTION.digest, document, State.OPEN, write_terms(Terms())))
    token = create(store, TOKEN, Role.RELAY, name="load")
    store.close()
    assert token is not None
    return token


def generate(load: Load, core: int | None) -> Result:
    """Run the generator in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load"], input=order(load, core),
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    found: Result = json.loads(done.stdout)
    return found


def measure(sizes: Sizes) -> Result:
    """Measure single reports and relayed ones, on both servers by turns."""
    machine, cores = describe_machine(), sorted(os.sched_getaffinity(0))
    server, generator = (cores[0], cores[1]) if len(cores) > 1 else (None, None)
    path = f"/v1/questions/{QUESTION.digest}/reports?day={datetime.now(UTC).date().isoformat()}"
    rows: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (1, sizes.many):
            reports = QUESTION.privatize(["0"] * count).tobytes()
            for turn in range(sizes.rounds):
                for kind in ("nothing", "sqlite"):
                    report_progress(f"ingest: {count} reports a submission, {kind}")
                    url = f"{folder}/{kind}-{count}-{turn}.db"
                    token = prepare(url) if count > 1 else (prepare(url), None)[1]
                    with serving(kind, url, server) as address:
                        load = Load(address, path, reports, sizes.connections, sizes.seconds, token)
                        found = generate(load, generator)
                    rows.append({"kind": kind, "reports": count, **found})
    return {
        "machine": machine,
        "sizes": asdict(sizes),
        "rows": rows,
        "ratios": _ratios(rows, sizes.many),
    }


def _ratios(rows: list[Result], many: int) -> Result:
    """Return rates and 99th percentiles beside those of storing nothing, each the best turn."""
    found: Result = {}
    for count in (1, many):
        best = {
            kind: {
                "rate": max(r["rate"] for r in rows if (r["kind"], r["reports"]) == (kind, count)),
                "p99": min(r["p99"] for r in rows if (r["kind"], r["reports"]) == (kind, count)),
            }
            for kind in ("nothing", "sqlite")
        }
        found[str(count)] = {
            "submissions": best["sqlite"]["rate"],
            "rate": best["sqlite"]["rate"] / best["nothing"]["rate"],
            "p99": best["sqlite"]["p99"] / best["nothing"]["p99"],
        }
    return found


if __name__ == "__main__":
    if len(sys.argv) == 4:
        serve(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
    else:
        print(json.dumps(measure(QUICK if "--quick" in sys.argv else Sizes()), indent=1))
