"""Copies of stores whose writers are killed or meet a full disk, and restoring over a crash."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from deniable.collector.stores.dialect import migrations
from deniable.collector.stores.records import Asked, State, StoreUnavailable
from deniable.collector.stores.sqlite import SqliteStore
from tests.faults.disk import Connection, Disk, Layer, quiet

QUESTION = Asked("a" * 64, "{}", State.OPEN, "{}")
_DENIABLE = "from deniable.cli import main; main()"
_PATIENCE = 60.0
_WRITER = """
import sys
from pathlib import Path
from deniable.collector.stores.sqlite import SqliteStore
from deniable.collector.stores.records import Asked, State, Submission
import os
store = SqliteStore(Path(sys.argv[1]))
store.ask(Asked("a" * 64, "{}", State.OPEN, "{}"))
for number in range(1_000_000):
    day = store.window().last - 1
    store.add([Submission("a" * 64, day, os.urandom(16), b"r") for _ in range(20)])
    if number == 20:
        store.backup(Path(sys.argv[2]))
        print("copied", flush=True)
"""


def contents(path: Path) -> str:
    """Return a digest of all rows of all tables of a file, after an integrity check."""
    connection = sqlite3.connect(path)
    try:
        said = connection.execute("PRAGMA integrity_check").fetchall()
        assert said == [("ok",)], said
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
        ).fetchall()
        found = sha256(str(version).encode())
        for (table,) in tables:
            for row in connection.execute(f"SELECT * FROM {table}"):
                found.update(repr(row).encode())
        return found.hexdigest()
    finally:
        connection.close()


def old_store(path: Path, ids: int) -> None:
    """Write a store of the schema of 0.2.0 with some days of ids and reports."""
    connection = sqlite3.connect(path)
    for step in migrations("sqlite")[:2]:
        connection.executescript(step.script)
    today = int(time.time() // 86400)
    connection.execute("PRAGMA user_version = 2")
    connection.execute("INSERT INTO horizon VALUES (1, ?, ?)", (today - 8, today))
    connection.execute(
        "INSERT INTO questions (digest, document, state, terms) VALUES (?, '{}', 'open', '{}')",
        ("a" * 64,),
    )
    chance = random.Random(1)
    connection.executemany(
        "INSERT INTO arrivals VALUES (1, ?, ?, ?)",
        ((today - i % 7, chance.randbytes(16), chance.getrandbits(60)) for i in range(ids)),
    )
    connection.execute(
        "INSERT INTO waiting (question, day, source, n, reports) VALUES (1, ?, 'anonymous', ?, ?)",
        (today, ids, bytes(ids)),
    )
    connection.commit()
    connection.execute("PRAGMA journal_mode = wal")
    connection.close()


def command(*words: object) -> subprocess.Popen[bytes]:
    """Start a command of deniable."""
    return subprocess.Popen(
        [sys.executable, "-c", _DENIABLE, *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={key: value for key, value in os.environ.items() if not key.startswith("DENIABLE_")},
    )


def begin(start: Callable[[], subprocess.Popen[bytes]], folder: Path) -> subprocess.Popen[bytes]:
    """Start a command, and return when its temporary file is there."""
    left = set(folder.glob(".*.part"))
    process, until = start(), time.monotonic() + _PATIENCE
    while process.poll() is None and not set(folder.glob(".*.part")) - left:
        assert time.monotonic() < until, "no copy was begun"
        time.sleep(0.001)
    return process


def kill_while_copying(
    start: Callable[[], subprocess.Popen[bytes]], folder: Path, wait: float
) -> bool:
    """Kill a command some time after its temporary file appeared; false if it had ended."""
    process = begin(start, folder)
    time.sleep(wait)
    ended = process.poll() is not None
    process.kill()
    process.wait()
    return not ended


def time_of(start: Callable[[], subprocess.Popen[bytes]], folder: Path) -> float:
    """Return how long a command takes from its temporary file to its end."""
    process = begin(start, folder)
    began = time.monotonic()
    assert process.wait(_PATIENCE) == 0
    return time.monotonic() - began


def kill_backups(folder: Path, count: int, seed: int, ids: int = 100_000) -> Counter[str]:
    """Kill ``store backup`` at many moments: the copy is absent or whole."""
    store, target, chance = folder / "store.db", folder / "copy.db", random.Random(seed)
    old_store(store, ids)
    SqliteStore(store).close()  # brings it up to date

    def start() -> subprocess.Popen[bytes]:
        return command("store", "backup", target, "--store", store)

    took, whole, found = time_of(start, folder), contents(target), Counter[str]()
    while found["killed"] < count:
        target.unlink(missing_ok=True)
        found["killed"] += kill_while_copying(start, folder, took * chance.random() ** 2)
        found[state_of(target, whole)] += 1
    found["parts left"] = len(list(folder.glob(".*.part"))) - 1  # each start removes the last one
    return found


def state_of(target: Path, whole: str) -> str:
    """Say whether a file is absent, whole or neither."""
    if not target.exists():
        return "absent"
    try:
        return "whole" if contents(target) == whole else "another"
    except (sqlite3.Error, AssertionError):
        return "broken"


def kill_upgrades(folder: Path, count: int, seed: int, ids: int = 100_000) -> Counter[str]:
    """Kill the first start on an old store at many moments: no upgrade without a whole copy."""
    old, store, chance = folder / "old.db", folder / "store.db", random.Random(seed)
    copy = folder / "store.db.schema-2"
    old_store(old, ids)
    whole = contents(old)

    def start() -> subprocess.Popen[bytes]:
        for left in folder.glob("store.db*"):
            left.unlink()
        shutil.copy(old, store)
        return command("token", "list", "--store", store)

    took, found = time_of(start, folder), Counter[str]()
    while found["killed"] < count:
        found["killed"] += kill_while_copying(start, folder, took * chance.random() ** 2)
        state = state_of(copy, whole)
        found[state] += 1
        found["upgraded without a copy"] += version_of(store) > 2 and state != "whole"
        if chance.random() < 0.2:  # what a kill left does not keep the next start from its work
            copy.touch()
            SqliteStore(store).close()
            found["broken"] += state_of(copy, whole) != "whole" and state != "whole"
    return found


def version_of(path: Path) -> int:
    """Return the schema version of a store, after what a crash left was applied."""
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def fill_disks(folder: Path, ids: int = 2000) -> Counter[str]:
    """Let each write of a backup, and of an upgrade, meet a full disk."""
    found, old = Counter[str](), folder / "old.db"
    old_store(old, ids)
    whole = contents(old)
    for place in range(1, 10_000):
        path = folder / f"full-{place}.db"
        shutil.copy(old, path)
        with full_disk(f"full-{place}", place) as (disk, connect):
            try:
                SqliteStore(path, connect=connect).close()
            except StoreUnavailable as error:
                found[f"refused: {error.kind}"] += 1
            failed = bool(disk.failures)
        copy = folder / f"{path.name}.schema-2"
        state = state_of(copy, whole)
        found[state] += 1
        found["upgraded without a copy"] += version_of(path) > 2 and state != "whole"
        found["parts left"] += bool(list(folder.glob(".*.part")))
        for left in folder.glob(f"{path.name}*"):
            left.unlink()
        if not failed:
            break
    SqliteStore(old).close()
    whole = contents(old)
    for place in range(1, 10_000):
        target = folder / f"copy-{place}.db"
        with full_disk(f"copy-{place}", 0) as (disk, connect):
            store = SqliteStore(old, connect=connect)
            disk.fail_at = disk.operations + place
            try:
                store.backup(target)
            except StoreUnavailable as error:
                found[f"refused: {error.kind}"] += 1
            failed = bool(disk.failures)
            disk.heal()
            store.close()
        found[state_of(target, whole)] += 1
        found["parts left"] += bool(list(folder.glob(".*.part")))
        target.unlink(missing_ok=True)
        if not failed:
            break
    return +found


@contextmanager
def full_disk(name: str, place: int) -> Iterator[tuple[Disk, Callable[[Path], Connection]]]:
    """Give a disk that is full from its ``place``-th operation on."""
    disk = Disk()
    disk.failure = "full"
    disk.fail_at = place or None
    with quiet():
        layer = Layer(name, disk)
        try:
            yield disk, lambda path: Connection(path, name)
        finally:
            layer.unregister()


def crash_and_restore(folder: Path, count: int, seed: int) -> Counter[str]:
    """Kill a writer, and restore its last backup over what it left, its log too."""
    chance, found = random.Random(seed), Counter[str]()
    for number in range(count):
        store, copy = folder / f"{number}.db", folder / f"{number}.copy"
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(store), str(copy)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"copied\n"
        if number % 5 == 0:
            refused = command("store", "restore", copy, "--store", store).wait(_PATIENCE)
            found["refused while open"] += refused == 2
            found["open"] += 1
        time.sleep(chance.uniform(0.01, 0.1))
        writer.kill()
        writer.communicate()
        log = folder / f"{number}.db-wal"
        found["with a log"] += log.exists() and log.stat().st_size > 0
        before, whole = number % 2, contents(copy)
        if before:  # the restore itself is killed, and made again
            process = command("store", "restore", copy, "--store", store)
            time.sleep(chance.uniform(0.2, 0.6))
            process.kill()
            process.wait()
            found["restores killed"] += 1
        assert command("store", "restore", copy, "--store", store).wait(_PATIENCE) == 0
        found["restored"] += 1
        found["as it was backed up"] += contents(store) == whole
        found["log left"] += log.exists()
        opened = SqliteStore(store)
        opened.close()
        for left in folder.glob(f"{number}.*"):
            left.unlink()
    return found


def backups(folder: Path, count: int, seed: int) -> dict[str, object]:
    """Kill backups and upgrades, and let them meet a full disk."""
    places = [folder / name for name in ("backups", "upgrades", "full")]
    for place in places:
        place.mkdir()
    killed = kill_backups(places[0], count, seed)
    upgraded = kill_upgrades(places[1], count, seed)
    full = fill_disks(places[2])
    wrong = sum(
        found[state]
        for found in (killed, upgraded, full)
        for state in ("another", "broken", "upgraded without a copy")
    )
    return {
        "backups killed": killed["killed"],
        "of these copies, absent and whole": f"{killed['absent']} and {killed['whole']}",
        "upgrades killed": upgraded["killed"],
        "of their copies, absent and whole": f"{upgraded['absent']} and {upgraded['whole']}",
        "writes that met a full disk": full["refused: full"] + full["refused: failed"],
        "copies that were neither absent nor whole": wrong,
        "temporary files of more than the last kill": max(0, killed["parts left"]),
        "passed": wrong == 0
        and killed["parts left"] <= 0
        and not full["parts left"]
        and min(full["refused: full"], killed["killed"]) > 0,
    }


def restores(folder: Path, count: int, seed: int) -> dict[str, object]:
    """Restore over crashed stores."""
    found = crash_and_restore(folder, count, seed)
    return {
        "crashed stores": count,
        "of these, with a log": found["with a log"],
        "restores killed, and made again": found["restores killed"],
        "as they were backed up": found["as it was backed up"],
        "attempts while the store was open": found["open"],
        "of these, refused": found["refused while open"],
        "passed": found["as it was backed up"] == count
        and found["open"] == found["refused while open"]
        and not found["log left"],
    }
