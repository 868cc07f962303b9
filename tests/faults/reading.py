"""How long estimates take, and how long submissions wait while reports are folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, perf_counter, time

import numpy as np

from deniable import OLH
from deniable.collector.access import TOKEN, Role, create
from deniable.collector.questions import Terms, write_terms
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store
from deniable.collector.stores.records import Asked, State, Total
from deniable.collector.stores.store import Store
from deniable.question import Question
from tests.collector.conftest import Collector
from tests.faults.fault import Process, free_port
from tests.stores.server import running

DOMAIN = 41_270
QUESTION = Question("pages", tuple(map(str, range(DOMAIN))), OLH(1.0, DOMAIN))
FOLDED, WAITING, GROUP = 600_000, 400_000, 100
_IDS = {
    "sqlite": "INSERT INTO arrivals WITH RECURSIVE g (x, id) AS (SELECT 1, randomblob(16) UNION ALL"
    " SELECT x + 1, randomblob(16) FROM g WHERE x < 1000000) SELECT 1, ?, id, x FROM g ORDER BY id",
    "postgres": "INSERT INTO arrivals SELECT 1, %s, uuid_send(gen_random_uuid()) AS id, x"
    " FROM generate_series(1, 1000000) AS x ORDER BY id",
}
_TALLY = (
    "INSERT INTO tallies (question, day, source, n, version, tally)"
    " VALUES (1, ?, 'anonymous', ?, 1, ?)"
)
_REST = "INSERT INTO waiting (question, day, source, n, reports) VALUES (1, ?, 'anonymous', ?, ?)"
Figures = dict[str, object]


def reports(count: int, seed: int) -> np.ndarray:
    """Return simulated reports on uniform answers."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, DOMAIN, count, dtype=np.uint64)
    return QUESTION.protocol.privatize(values, rng)


def opened(url: str) -> Store:
    """Return a new store that asks the question."""
    store = open_store(url)
    store.ask(Asked(QUESTION.digest, QUESTION.to_json(), State.OPEN, write_terms(Terms())))
    return store


def timed(collector: Collector, query: str = "") -> float:
    """Return the seconds until all estimates have arrived."""
    path = f"/v1/questions/{QUESTION.digest}/estimates{query}"
    began = perf_counter()
    answer = collector.request("GET", path, role="viewer")
    took = perf_counter() - began
    assert answer.status == 200, answer.body
    return took


@contextmanager
def serving(folder: Path, url: str) -> Iterator[Collector]:
    """Run a collector on a store that asks the question, in a process of its own."""
    store = open_store(url)
    tokens = {
        role.value: str(create(store, TOKEN, role, name=role.value))
        for role in (Role.VIEWER, Role.RELAY)
    }
    store.close()
    process = Process(folder, url, free_port())
    process.start()
    try:
        yield Collector(None, process.address, Settings(), tokens)
    finally:
        process.stop()


def month(folder: Path) -> Figures:
    """Thirty folded days and a live one, ten million reports; all answers as JSON."""
    path, today = folder / "store.db", int(time() // 86400)
    store = opened(str(path))
    for k in range(30):
        tally = QUESTION.tally(reports(330_000, k))
        data = tally.to_bytes()
        store.upload(QUESTION.digest, Total(today - k - 1, f"upload:{k}", tally.n, data), data[:8])
    store.close()
    live = reports(100_000, 99).tobytes()
    with serving(folder, str(path)) as collector:
        assert collector.submit(QUESTION, live, role="relay").status == 204
        starting = timed(collector, "?candidate=1")
        first = timed(collector)
        cached = sorted(timed(collector) for _ in range(9))
        again = []
        for k in range(9):
            assert collector.submit(QUESTION, live[4 * k : 4 * k + 4]).status == 204
            again.append(timed(collector))
    return {
        "reports": 30 * 330_000 + 100_000,
        "first estimate, while the worker starts, s": round(starting, 2),
        "first of all answers, s": round(first, 2),
        "after new reports, median of nine, s": round(sorted(again)[4], 2),
        "after new reports, longest, s": round(max(again), 2),
        "unchanged, median of nine, ms": round(1e3 * cached[4], 1),
        "passed": max(first, *again) < 1 and cached[4] < 0.01,
    }


def fill(store: Store, kind: str) -> None:
    """Store eight open days with a million single reports each, some of them not folded yet."""
    today = int(time() // 86400)
    place = "?" if kind == "sqlite" else "%s"
    for day in range(today - 6, today + 2):
        tally = QUESTION.tally(reports(FOLDED, day)).to_bytes()
        rest, size = reports(WAITING, day + 1).tobytes(), 4 * GROUP
        connection = store.connection()
        connection.execute("BEGIN")
        connection.execute(_IDS[kind], (day,))
        connection.execute(_TALLY.replace("?", place), (day, FOLDED, tally))
        connection.cursor().executemany(
            _REST.replace("?", place),
            [(day, GROUP, rest[size * i : size * i + size]) for i in range(WAITING // GROUP)],
        )
        connection.execute("COMMIT")


def submitting(collector: Collector, going: Callable[[], bool]) -> tuple[list[float], list[float]]:
    """Submit one report after the other, and estimate now and then; return how long each took."""
    report, waits, estimates = reports(1, 7).tobytes(), [], []
    until = monotonic() + 60
    while going() and monotonic() < until:
        for _ in range(25):
            began = perf_counter()
            assert collector.submit(QUESTION, report).status == 204
            waits.append(perf_counter() - began)
        estimates.append(timed(collector, "?candidate=1"))
    return waits, estimates


def folded(collector: Collector) -> int:
    """Return how many reports were folded since the start."""
    return int(collector.request("GET", "/v1/counters", role="viewer").json["folded"])


def week(folder: Path, url: str, kind: str) -> Figures:
    """Submit and estimate while a rest of eight days is folded, and as often after it was."""
    store = opened(url)
    fill(store, kind)
    store.close()
    with serving(folder, url) as collector:
        # The first of each reads the question, and waits for the worker to be there.
        assert collector.submit(QUESTION, reports(1, 7).tobytes()).status == 204
        timed(collector, "?candidate=1")
        while_folding = submitting(collector, lambda: folded(collector) < 8 * WAITING)
        count, turns = folded(collector), iter(while_folding[1])
        afterwards = submitting(collector, lambda: next(turns, None) is not None)
    (busy, estimates), (usual, more) = while_folding, afterwards
    return {
        "submissions stored before": 8_000_000,
        "folded meanwhile": count,
        "estimates, longest, s": round(max(estimates + more), 2),
        "submissions during folding": len(busy),
        "longest of these, ms": round(1e3 * max(busy), 1),
        "longest of as many without folding, ms": round(1e3 * max(usual), 1),
        "passed": max(estimates + more) < 1 and max(busy) - max(usual) <= 0.1,
    }


def week_sqlite(folder: Path) -> Figures:
    """The week on SQLite."""
    return week(folder, str(folder / "store.db"), "sqlite")


def week_postgres(folder: Path) -> Figures:
    """The week on PostgreSQL."""
    with running() as server:
        return week(folder, server.url(), "postgres")
