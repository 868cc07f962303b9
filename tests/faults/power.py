"""Power cuts: a store is written until the power goes, and judged by what the disk still has."""

from __future__ import annotations

import random
import sqlite3
from contextlib import suppress
from pathlib import Path

from deniable.collector.stores.records import (
    Asked,
    Days,
    Outcome,
    Slice,
    State,
    StoreBroken,
    StoreUnavailable,
    Submission,
)
from deniable.collector.stores.sqlite import SqliteStore
from tests.faults.check import check
from tests.faults.disk import Connection, Disk, Layer, quiet
from tests.faults.history import History, Kept, Seen

DAY = 20_000
QUESTION = Asked("a" * 64, "{}", State.OPEN, "{}")


def work(store: SqliteStore, history: History, chance: random.Random, steps: int) -> None:
    """Add groups, repeat some, fold and checkpoint, until the store no longer answers."""
    sent: list[Submission] = []
    for _ in range(steps):
        new = [
            Submission(QUESTION.digest, DAY, chance.randbytes(16), chance.randbytes(8))
            for _ in range(chance.randint(1, 6))
        ]
        group = new + chance.sample(sent, min(len(sent), 2))
        try:
            outcomes = store.add(group)
        except StoreUnavailable:
            for submission in group:
                history.record(submission.id, submission.reports, Seen.UNKNOWN)
            return
        for submission, outcome in zip(group, outcomes, strict=True):
            assert outcome in (Outcome.STORED, Outcome.REPEATED)
            history.record(submission.id, submission.reports, Seen.ACKNOWLEDGED)
        sent += new
        with suppress(StoreUnavailable, sqlite3.Error):
            if chance.random() < 0.3 and (pile := store.pile(1, 1 << 20)):
                store.fold(pile, (pile.tally or b"") + pile.reports)
            if chance.random() < 0.2:
                store.connection().execute("PRAGMA wal_checkpoint(PASSIVE)")


def cut_once(directory: Path, seed: int, synchronous: str | None = None) -> list[str]:
    """Run one store until the power goes, and return what is wrong with what is left of it."""
    chance, disk, history = random.Random(seed), Disk(), History()
    layer = Layer(f"power-{seed}", disk)
    path = directory / f"{seed}.db"
    store = SqliteStore(
        path,
        today=lambda: DAY,
        connect=lambda found: Connection(found, f"power-{seed}", synchronous),
    )
    store.ask(QUESTION)
    disk.cut_at = disk.operations + chance.randint(1, 150)
    with quiet():
        with suppress(StoreUnavailable, StoreBroken):
            work(store, history, chance, 60)
        disk.off = True
        store.close()
        layer.unregister()
    return _judge(directory / f"{seed}-after", path.name, disk.images(chance), history)


def _judge(directory: Path, name: str, images: dict[str, bytes], history: History) -> list[str]:
    directory.mkdir()
    for file, content in images.items():
        (directory / Path(file).name).write_bytes(content)
    try:
        after = SqliteStore(directory / name, today=lambda: DAY)
        wrong = list(after.check())
        rows = after.connection().execute("SELECT id, fingerprint FROM arrivals").fetchall()
        found = Kept(dict(rows), after.snapshot(Slice(QUESTION.digest, Days(DAY, DAY))).n)
        after.close()
    except (StoreBroken, StoreUnavailable) as error:
        return [f"the store does not open: {error}"]
    return wrong + check(history, found)
