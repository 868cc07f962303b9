"""Disks that fail: at the n-th write or sync everything fails until the disk is mended."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from pathlib import Path
from time import monotonic

from deniable.collector.app import create_app
from deniable.collector.problems import QueueFull
from deniable.collector.settings import Settings
from deniable.collector.stores.sqlite import SqliteStore
from tests.faults.application import ask, submit
from tests.faults.check import check
from tests.faults.disk import Connection, Disk, Layer, quiet
from tests.faults.fault import kept
from tests.faults.history import History, Seen

KINDS = ("full", "error", "short")
_MOST_GROUPS = 600
_PATIENCE = 5.0


def fail_once(directory: Path, kind: str, place: int) -> list[str]:
    """Let the ``place``-th operation after the start fail, and those after it until it is seen.

    Returns what is wrong: with the answers, the time until service is back, or what is stored.
    """
    disk, name = Disk(), f"failing-{kind}-{place}"
    disk.failure = kind
    path = directory / f"{name}.db"
    with quiet():
        layer = Layer(name, disk)
        wrong, history = asyncio.run(_drive(path, name, disk, place))
        layer.unregister()
    return wrong + check(history, kept(str(path)))


async def _drive(path: Path, layer: str, disk: Disk, place: int) -> tuple[list[str], History]:
    chance, history, wrong = random.Random(place), History(), []
    app = create_app(
        Settings(store=str(path)),
        lambda: SqliteStore(path, connect=lambda found: Connection(found, layer)),
    )

    async def group() -> set[int]:
        """Submit a few at once, some of them again, and note what is told."""
        ids = [chance.randbytes(16) for _ in range(3)]
        known = list(history.seen)
        ids += chance.sample(known, min(1, len(known)))
        for id in ids:
            history.reports.setdefault(id, bytes([chance.randrange(8)]))
        statuses = await asyncio.gather(*(submit(app, id, history.reports[id]) for id in ids))
        for id, status in zip(ids, statuses, strict=True):
            told = Seen.ACKNOWLEDGED if status == 204 else Seen.UNKNOWN
            history.record(id, history.reports[id], told)
        return set(statuses)

    async with app.services.running():
        await ask(app)
        await group()
        disk.fail_at = disk.operations + place
        for _ in range(_MOST_GROUPS):
            if (statuses := await group()) != {204}:
                if not statuses <= {204, 503}:
                    wrong.append(f"the answers were {statuses}")
                break
        else:
            wrong.append("nothing failed")
        await group()
        disk.heal()
        mended = monotonic()
        while await group() != {204}:
            if monotonic() - mended > _PATIENCE:
                wrong.append(f"no service {_PATIENCE} s after the disk was mended")
                break
        with suppress(QueueFull):
            await group()
    return wrong, history
