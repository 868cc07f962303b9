"""How long estimates take over a month of tallies, and over a week of single reports."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter, time

import numpy as np

from deniable import OLH
from deniable.collector.questions import Terms, write_terms
from deniable.collector.settings import Settings
from deniable.collector.stores.sqlite import SqliteStore
from deniable.collector.stores.store import Asked, State, Total
from deniable.question import Question
from tests.collector.conftest import Collector, start

DOMAIN = 41_270
QUESTION = Question("pages", tuple(map(str, range(DOMAIN))), OLH(1.0, DOMAIN))
_IDS = (
    "INSERT INTO arrivals WITH RECURSIVE g (x, id) AS (SELECT 1, randomblob(16) UNION ALL"
    " SELECT x + 1, randomblob(16) FROM g WHERE x < ?) SELECT ?, ?, id, x FROM g ORDER BY id"
)


def reports(count: int, seed: int) -> np.ndarray:
    """Return simulated reports on uniform answers."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, DOMAIN, count, dtype=np.uint64)
    return QUESTION.protocol.privatize(values, rng)


def opened(path: Path) -> SqliteStore:
    """Return a new store that asks the question."""
    store = SqliteStore(path)
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


def month(folder: Path) -> dict[str, object]:
    """Thirty folded days and a live one, ten million reports; all answers as JSON."""
    path, today = folder / "store.db", int(time() // 86400)
    store = opened(path)
    for k in range(30):
        tally = QUESTION.tally(reports(330_000, k))
        data = tally.to_bytes()
        store.upload(QUESTION.digest, Total(today - k - 1, f"upload:{k}", tally.n, data), data[:8])
    store.close()
    for collector in start(Settings(store=str(path), port=0, minimum=1)):
        live = reports(100_000, 99).tobytes()
        assert collector.submit(QUESTION, live, role="relay").status == 204
        first = timed(collector)
        cached = min(timed(collector) for _ in range(5))
        again = []
        for k in range(3):
            assert collector.submit(QUESTION, live[4 * k : 4 * k + 4]).status == 204
            again.append(timed(collector))
    return {
        "reports": 30 * 330_000 + 100_000,
        "first estimate, child started, s": round(first, 2),
        "after new reports, s": round(min(again), 2),
        "unchanged, from cache, ms": round(1e3 * cached, 1),
        "passed": min(again) < 1 and cached < 0.01,
    }


def week(folder: Path) -> dict[str, object]:
    """Eight open days with the ids of a million single reports each, some not folded yet."""
    path, today = folder / "store.db", int(time() // 86400)
    store = opened(path)
    for day in range(today - 6, today + 2):
        tally = QUESTION.tally(reports(940_000, day)).to_bytes()
        rest = reports(60_000, day + 1).tobytes()
        connection = store.connection()
        connection.execute("BEGIN")
        connection.execute(_IDS, (1_000_000, 1, day))
        connection.execute(
            "INSERT INTO tallies VALUES (1, ?, 'anonymous', 940000, 1, NULL, ?)", (day, tally)
        )
        connection.executemany(
            "INSERT INTO waiting (question, day, source, n, reports) VALUES (1, ?, 'anonymous',"
            " 100, ?)",
            [(day, rest[400 * i : 400 * i + 400]) for i in range(600)],
        )
        connection.execute("COMMIT")
    store.close()
    longest, took = 0.0, []
    report = reports(1, 7).tobytes()
    for collector in start(Settings(store=str(path), port=0, minimum=1)):
        timed(collector, "?candidate=1")
        for _ in range(6):
            for _ in range(50):
                began = perf_counter()
                assert collector.submit(QUESTION, report).status == 204
                longest = max(longest, perf_counter() - began)
            took.append(timed(collector, "?candidate=1"))
        folded = collector.app.parts.counters.folded
    return {
        "submissions": 8_000_000,
        "folded meanwhile": folded,
        "estimates, s": round(max(took), 2),
        "longest submission meanwhile, ms": round(1e3 * longest, 1),
        "passed": max(took) < 1,
    }
