"""A store that falls ill under a running collector: who says so, how soon, and how it ends.

A client submits all the time. Within five seconds of the fault ``/readyz`` must be 503 with the
reason, and the log must have one line about it; when it is over, another one. Corruption ends the
collector with a status other than 0.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from deniable.collector.access import TOKEN, Role, create
from deniable.collector.stores import open_store
from tests.faults.check import check
from tests.faults.fault import QUESTION, Process, free_port, kept
from tests.faults.hostile import submission_path
from tests.faults.traffic import Traffic
from tests.stores.server import Server, running

SOON, PATIENCE = 5.0, 30.0
BEGUN, OVER, STOPPED = "no reports are stored", "reports are stored again", "the collector stops"
NOTHING: Callable[[], None] = lambda: None  # noqa: E731 - a name for doing nothing


MARKER = "read-only"
SERVE = f"""
from pathlib import Path
from deniable.cli import main
from deniable.collector.stores.sqlite import SqliteStore
original = SqliteStore.connection
def connection(self):
    found = original(self)
    refusing = self.path.with_name("{MARKER}").exists()
    found.execute(f"PRAGMA query_only = {{int(refusing)}}")
    return found
SqliteStore.connection = connection
main()
"""
"""A collector whose SQLite refuses to write while a file of that name is beside the store."""


@dataclass(frozen=True)
class Illness:
    """What goes wrong, of which kind it is, and how it is mended; corruption is not."""

    name: str
    kind: str
    begin: Callable[[], object]
    end: Callable[[], object] | None = None
    before: Callable[[], object] = NOTHING
    """What is done while the collector is stopped, before it starts again."""
    meet: str = ""
    """An address to ask for, so that a reader meets it."""


@dataclass
class Ward:
    """One collector, and the illnesses that it can have on its store."""

    folder: Path
    process: Process
    server: Server | None = None
    token: str = field(init=False)

    def __post_init__(self) -> None:
        self.path = Path(self.process.store)

    def ready(self) -> tuple[int, dict[str, object]]:
        """Return what /readyz says; 0 if nobody answers."""
        try:
            with urlopen(f"{self.process.address}/readyz", timeout=10) as answer:
                return answer.status, json.loads(answer.read())
        except HTTPError as error:
            return error.code, json.loads(error.read())
        except (OSError, HTTPException):
            return 0, {}

    def read(self, path: str) -> bytes:
        """Ask for something with a token, whatever comes of it."""
        request = Request(f"{self.process.address}{path}")
        request.add_header("Authorization", f"Bearer {self.token}")
        with suppress(OSError, HTTPException), urlopen(request, timeout=10) as answer:
            return bytes(answer.read())
        return b""

    def lines(self, said: str) -> int:
        """Return how many lines of the log say something."""
        return self.process.log.read_text().count(said)


def full(ward: Ward) -> Illness:
    """Fill the file system of the store to the last byte."""
    junk = ward.path.with_name("junk")

    def fill() -> None:
        with suppress(OSError), junk.open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                with suppress(OSError):
                    while file.write(bytes(size)):
                        pass

    return Illness("disk full", "full", fill, junk.unlink)


def read_only(ward: Ward) -> Illness:
    """Let SQLite answer as on a read-only file system.

    The kernel makes none read-only while a file of it is open for writing, but after errors.
    """
    marker = ward.path.with_name(MARKER)
    return Illness("read-only", "read-only", marker.touch, marker.unlink)


def deleted(ward: Ward) -> Illness:
    """Move the file away, and back."""
    away = ward.path.with_name("away.db")
    return Illness(
        "file deleted", "missing", lambda: ward.path.rename(away), lambda: away.rename(ward.path)
    )


def replaced(ward: Ward) -> Illness:
    """Put a copy in the place of the file, and the file back."""
    away, copy = ward.path.with_name("away.db"), ward.path.with_name("copy.db")

    def begin() -> None:
        shutil.copy(ward.path, copy)
        ward.path.rename(away)
        copy.rename(ward.path)

    return Illness("file replaced", "replaced", begin, lambda: away.rename(ward.path))


def refusing(ward: Ward) -> Illness:
    """Let PostgreSQL take no writes."""
    import psycopg  # noqa: PLC0415 - an extra

    server = ward.server
    assert server is not None

    def alter(how: str) -> None:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {how}")
            connection.execute("SELECT pg_reload_conf()")

    name = "PostgreSQL read-only"
    return Illness(name, "read-only", lambda: alter("on"), lambda: alter("off"))


def corrupt(table: str, meet: str = "") -> Callable[[Ward], Illness]:
    """Overwrite the first page of a table while the collector is stopped."""

    def illness(ward: Ward) -> Illness:
        def overwrite() -> None:
            with closing(sqlite3.connect(ward.path)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                (page,) = connection.execute(
                    "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
                ).fetchone()
                (size,) = connection.execute("PRAGMA page_size").fetchone()
            with ward.path.open("r+b") as file:
                file.seek((page - 1) * size)
                file.write(b"\xee" * size)

        name = f"corrupt page of {table}"
        return Illness(name, "corrupt", NOTHING, before=overwrite, meet=meet)

    return illness


ESTIMATES = f"/v1/questions/{QUESTION.digest}/estimates"
BY_FOLDING, BY_WRITER = corrupt("waiting"), corrupt("arrivals")
BY_READER = corrupt("published", ESTIMATES)
ON_DISK = {
    "deleted": deleted,
    "replaced": replaced,
    "read-only": read_only,
    "corrupt, met by folding": BY_FOLDING,
    "corrupt, met by the writer": BY_WRITER,
    "corrupt, met by a reader": BY_READER,
}


@contextmanager
def mounted(folder: Path, size: str = "24m") -> Iterator[Path | None]:
    """Mount a small file system in memory, where one may; else yield nothing."""
    place = folder / "mounted"
    place.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


async def undergo(ward: Ward, make: Callable[[Ward], Illness]) -> list[str]:
    """Let a collector have an illness while a client submits, and return what is wrong then."""
    illness = make(ward)
    ward.process.start()
    store = open_store(ward.process.store)
    ward.token = create(store, TOKEN, Role.VIEWER) or ""
    store.close()
    traffic, until = Traffic(submission_path(), 8, seed=1), asyncio.Event()
    clients = asyncio.create_task(traffic.run([ward.process.address], 2, until))
    await asyncio.sleep(0.5)
    if illness.end is None:
        await _restart(ward, illness.before)
    await asyncio.to_thread(illness.begin)
    wrong = await _notice(ward, illness)
    if illness.end is None:
        process = ward.process.process
        assert process is not None
        if await asyncio.to_thread(process.wait, PATIENCE) == 0:
            wrong.append("the status was 0")
        until.set()
        await clients
        lines, expected = (ward.lines(STOPPED), ward.lines(BEGUN)), (1, 0)
    else:
        await asyncio.sleep(2)
        await asyncio.to_thread(illness.end)
        wrong += await _recover(ward)
        until.set()
        await clients
        await traffic.settle([ward.process.address])
        lines, expected = (ward.lines(BEGUN), ward.lines(OVER)), (1, 1)
        if (code := await asyncio.to_thread(ward.process.stop)) != 0:
            wrong.append(f"the status was {code}")
        wrong += check(traffic.history, kept(ward.process.store))
    if lines != expected:
        wrong.append(f"the log had {lines} lines: {ward.process.log.read_text()[-2000:]}")
    return [f"{illness.name}: {said}" for said in wrong]


async def _restart(ward: Ward, work: Callable[[], object]) -> None:
    """Do something to the store while the collector is stopped; return at its first answer."""
    await asyncio.to_thread(ward.process.stop)
    work()
    ward.process.start_anyway()
    until = time.monotonic() + PATIENCE
    while not (await asyncio.to_thread(ward.ready))[0] and time.monotonic() < until:
        await asyncio.sleep(0.01)


async def _notice(ward: Ward, illness: Illness) -> list[str]:
    """Wait until /readyz says what is wrong; return what it does not say."""
    began = time.monotonic()
    while True:
        if illness.meet:
            await asyncio.to_thread(ward.read, illness.meet)
        status, said = await asyncio.to_thread(ward.ready)
        if status == 503 and said.get("kind") == illness.kind and said.get("reason"):
            return []
        if time.monotonic() - began > SOON:
            return [f"/readyz was {status} after {SOON:g} seconds: {said}"]
        await asyncio.sleep(0.05)


async def _recover(ward: Ward) -> list[str]:
    """Wait until the collector is ready again."""
    mended = time.monotonic()
    while (await asyncio.to_thread(ward.ready))[0] != 200:
        if time.monotonic() - mended > PATIENCE:
            return [f"/readyz was not 200 again after {PATIENCE:g} seconds"]
        await asyncio.sleep(0.05)
    return []


def bad_row(folder: Path) -> list[str]:
    """Damage one row that waits: ready all the time, and a metric counts it."""
    process = Process(folder, str(folder / "store.db"), free_port())
    ward, wrong = Ward(folder, process), []
    process.start()
    store = open_store(process.store)
    ward.token = create(store, TOKEN, Role.VIEWER) or ""
    parts = urlsplit(process.address)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    connection.request("POST", submission_path(), b"i" * 16 + b"\1")
    assert connection.getresponse().status == 204
    connection.close()
    process.stop()
    store.connection().execute("UPDATE waiting SET reports = x'ff'")
    store.close()
    process.start()
    until = time.monotonic() + PATIENCE
    while b"\ndeniable_rows_set_aside 1\n" not in ward.read("/metrics"):
        if ward.ready()[0] != 200:
            wrong.append("a bad row: /readyz was not 200")
            break
        if time.monotonic() > until:
            wrong.append("a bad row: no metric counted it")
            break
        time.sleep(0.05)
    process.stop()
    return wrong


def suffer(folder: Path, make: Callable[[Ward], Illness], place: Path | None = None) -> list[str]:
    """Have an illness of a file, which may be elsewhere than the log."""
    store = (place or folder) / "store.db"
    process = Process(folder, str(store), free_port(), code=SERVE)
    try:
        return asyncio.run(undergo(Ward(folder, process), make))
    finally:
        process.end()


def suffer_mounted(folder: Path) -> list[str] | None:
    """Have a full disk; None where no small file system can be mounted."""
    with mounted(folder) as place:
        return None if place is None else suffer(folder, full, place)


def suffer_postgres(folder: Path) -> list[str]:
    """Have the illness of a database."""
    with running() as server:
        process = Process(folder, server.url(), free_port())
        try:
            return asyncio.run(undergo(Ward(folder, process, server), refusing))
        finally:
            process.end()
