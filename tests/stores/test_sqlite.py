"""What is special to SQLite: durability settings, one file, migrations with a copy kept."""

from __future__ import annotations

import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

from deniable.collector.stores import open_store
from deniable.collector.stores.migration import Migration, migrations
from deniable.collector.stores.sqlite import SqliteStore, file
from deniable.collector.stores.sqlite.connection import describe
from deniable.collector.stores.store import StoreBroken, StoreUnavailable, Submission
from tests.stores.conftest import DAY, QUESTION

RELEASED = {
    "sqlite/0001_first.sql":
        "13793ac5756cae1cb84a19d6fd33fe00e4fa7be4693db98f50359dde150d2b99",
    "sqlite/0002_published.sql":
        "7d8d70bba031f18a8a511f86f89f77fb1723ff30432abda0cde2b4b23fd0ab4e",
    "postgres/0001_first.sql":
        "cae41271b7b3f0cc9ac5857e85bedc3ebca0910b473cb897265b232c9b45b8cb",
    "postgres/0002_published.sql":
        "efc7f3b1ef27167832e43bd554315fd604deb215745f8e37ebfe5b21cd99783d",
}  # fmt: skip


def test_commits_are_synchronised(tmp_path: Path) -> None:
    """The connection that writes has the settings on which durability rests."""
    store = SqliteStore(tmp_path / "store.db")
    found = {
        name: store.connection().execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "secure_delete")
    }
    assert found == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}
    store.close()


def test_deleted_reports_are_overwritten(tmp_path: Path) -> None:
    """After folding, the bytes of a report are in no file of the store."""
    path = tmp_path / "store.db"
    store = SqliteStore(path, today=lambda: DAY)
    store.ask(QUESTION)
    store.add([Submission(QUESTION.digest, DAY, b"i" * 16, b"CANARY-REPORT-0815")])
    pile = store.pile(1, 100)
    assert pile is not None
    assert store.fold(pile, b"1|", 1)
    store.close()
    assert all(b"CANARY-REPORT" not in found.read_bytes() for found in tmp_path.iterdir())


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    """Another file, a store of a later version, and a directory that is not there."""
    path = tmp_path / "text.db"
    path.write_bytes(b"this is not a database at all, but long enough to be read as one" * 20)
    with pytest.raises(StoreBroken, match="expected a sound SQLite file"):
        SqliteStore(path)
    later = tmp_path / "later.db"
    SqliteStore(later).close()
    with sqlite3.connect(later) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreBroken, match="upgrade deniable"):
        SqliteStore(later)
    with pytest.raises(StoreUnavailable, match="create it first"):
        open_store(str(tmp_path / "nowhere" / "store.db"))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_FULL, "full"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, "read-only"),
        (sqlite3.SQLITE_CANTOPEN, "missing"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "busy"),
        (sqlite3.SQLITE_CORRUPT_INDEX, "corrupt"),
        (sqlite3.SQLITE_IOERR_FSYNC, "failed"),
    ],
)
def test_errors_have_a_kind(code: int, kind: str) -> None:
    """Each error of SQLite is of a kind, whose reason names no file."""
    error = sqlite3.OperationalError("said")
    error.sqlite_errorcode = code
    found = describe(error, Path("/secret/place"))
    assert found.kind == kind
    assert "secret" in str(found)
    assert "secret" not in found.reason
    assert isinstance(found, StoreBroken) == (kind == "corrupt")


def test_a_migration_keeps_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of an earlier version is brought up to date, and stays as it was beside it."""
    path = tmp_path / "store.db"
    store = SqliteStore(path, today=lambda: DAY)
    store.ask(QUESTION)
    store.close()
    last = migrations("sqlite")[-1].version
    step = Migration(last + 1, "next.sql", "ALTER TABLE questions ADD COLUMN note TEXT;")
    monkeypatch.setattr(file, "pending", lambda dialect, version: [step] if version == last else [])
    store = SqliteStore(path, today=lambda: DAY)
    assert store.version() == last + 1
    assert store.asked(QUESTION.digest) == QUESTION
    store.close()
    monkeypatch.undo()
    before = SqliteStore(tmp_path / f"store.db.schema-{last}", today=lambda: DAY)
    assert before.asked(QUESTION.digest) == QUESTION
    before.close()


def test_released_migrations_never_change() -> None:
    """A store in the field was made by exactly these bytes; at most one step is not released."""
    found = {
        f"{dialect}/{step.name}": sha256(step.script.encode()).hexdigest()
        for dialect in ("sqlite", "postgres")
        for step in migrations(dialect)
    }
    assert {name: found.get(name) for name in RELEASED} == RELEASED
    assert len(found) <= len(RELEASED) + 2


def test_a_backup_is_a_store(tmp_path: Path) -> None:
    """A copy made while the store is open has everything in it, and replaces no file."""
    store = SqliteStore(tmp_path / "store.db", today=lambda: DAY)
    store.ask(QUESTION)
    store.add([Submission(QUESTION.digest, DAY, b"i" * 16, b"r")])
    store.backup(tmp_path / "copy.db")
    with pytest.raises(FileExistsError):
        store.backup(tmp_path / "copy.db")
    store.close()
    copy = SqliteStore(tmp_path / "copy.db", today=lambda: DAY)
    assert copy.snapshot(QUESTION.digest, DAY, DAY).n == 1
    assert list(copy.check()) == []
    copy.close()
