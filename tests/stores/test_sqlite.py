"""What is special to SQLite: durability settings, one file, migrations with a copy kept."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import psutil
import pytest

from deniable.collector.stores import open_store, sqlite, sqlite_file
from deniable.collector.stores.dialect import Migration, migrations
from deniable.collector.stores.records import (
    Outcome,
    Slice,
    StoreBroken,
    StoreCorrupt,
    StoreReplaced,
    StoreUnavailable,
    Submission,
)
from deniable.collector.stores.sqlite import SqliteStore
from deniable.collector.stores.sqlite_file import describe, restore, vacuum
from tests.faults.copies import contents, old_store, version_of
from tests.stores.conftest import DAY, QUESTION, TODAY

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
    assert store.fold(pile, b"1|")
    store.close()
    assert all(b"CANARY-REPORT" not in found.read_bytes() for found in tmp_path.iterdir())


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    """Another file, a store of a later version, and a directory that is not there."""
    path = tmp_path / "text.db"
    path.write_bytes(b"this is not a database at all, but long enough to be read as one" * 20)
    with pytest.raises(StoreBroken, match="not a sound SQLite file"):
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
    monkeypatch.setattr(
        sqlite, "pending", lambda dialect, version: [step] if version == last else []
    )
    store = SqliteStore(path, today=lambda: DAY)
    assert store.version() == last + 1
    assert store.asked(QUESTION.digest) == QUESTION
    store.close()
    monkeypatch.undo()
    before = SqliteStore(tmp_path / f"store.db.schema-{last}", today=lambda: DAY)
    assert before.asked(QUESTION.digest) == QUESTION
    before.close()


def test_a_copy_that_a_kill_left_is_no_copy(tmp_path: Path) -> None:
    """An upgrade writes its copy anew where an empty or a broken file has the name."""
    for number, left in enumerate((b"", b"SQLite format 3\0 and nothing more")):
        path = tmp_path / f"{number}.db"
        old_store(path, 100)
        whole = contents(path)
        copy = tmp_path / f"{number}.db.schema-2"
        copy.write_bytes(left)
        SqliteStore(path).close()
        assert contents(copy) == whole
    assert not list(tmp_path.glob(".*"))


def test_without_a_copy_there_is_no_upgrade(tmp_path: Path) -> None:
    """Where the copy cannot be written the store stays as it is."""
    path = tmp_path / "store.db"
    old_store(path, 100)
    (tmp_path / "store.db.schema-2").mkdir()
    with pytest.raises(OSError, match="schema-2"):
        SqliteStore(path)
    assert version_of(path) == 2


def test_what_a_store_of_the_last_release_had_is_served_on(tmp_path: Path) -> None:
    """Ids, reports that wait and days are those from before; the ids of sealed days are lost."""
    path = tmp_path / "store.db"
    old_store(path, 100)
    store = SqliteStore(path)
    (waiting,) = store.snapshot(Slice(QUESTION.digest)).waiting
    assert (waiting.n, len(waiting.data)) == (100, 100)
    assert store.damaged() == {}
    sealed = store.window().first - 1
    (forgotten,) = store.connection().execute("SELECT forgotten_through FROM horizon").fetchone()
    assert forgotten == sealed
    store.close()
    assert path.stat().st_size > 0


@pytest.mark.parametrize("kind", ["deleted", "replaced"])
def test_nothing_is_acknowledged_into_a_file_that_is_gone(tmp_path: Path, kind: str) -> None:
    """A file that was deleted or replaced takes nothing, and goes on when it is back."""
    path, away = tmp_path / "store.db", tmp_path / "away.db"
    writer, reader = (SqliteStore(path, today=lambda: DAY) for _ in range(2))
    writer.ask(QUESTION)
    group = [Submission(QUESTION.digest, DAY, b"i" * 16, b"r")]
    path.rename(away)
    if kind == "replaced":
        other = SqliteStore(tmp_path / "other.db", today=lambda: DAY)
        other.close()
        (tmp_path / "other.db").rename(path)
    for work in (lambda: writer.add(group), reader.all_asked, lambda: writer.backup(away)):
        with pytest.raises(StoreReplaced) as caught:
            work()
        assert caught.value.kind == ("missing" if kind == "deleted" else "replaced")
    with pytest.raises(StoreReplaced):  # a further reader does not take another file for it
        SqliteStore(path, today=lambda: DAY)
    away.replace(path)
    assert writer.add(group) == [Outcome.STORED]
    assert reader.snapshot(TODAY).n == 1
    writer.close()
    reader.close()


def test_a_commit_into_a_file_that_went_meanwhile_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is looked at between the commit and the answer."""
    path = tmp_path / "store.db"
    store = SqliteStore(path, today=lambda: DAY)
    store.ask(QUESTION)
    stat, looked = os.stat, []

    def unlink_after_a_look(found: Path) -> os.stat_result:
        looked.append(stat(found))
        if len(looked) == 1:
            path.unlink()
        return looked[-1]

    monkeypatch.setattr(sqlite_file.os, "stat", unlink_after_a_look)
    with pytest.raises(StoreReplaced):
        store.add([Submission(QUESTION.digest, DAY, b"i" * 16, b"r")])
    monkeypatch.undo()
    assert len(looked) == 1
    store.close()
    assert not path.exists()


def test_the_log_of_a_file_that_was_replaced_is_put_away(tmp_path: Path) -> None:
    """It would be applied to the file that took its place, which another start goes on with."""
    path = tmp_path / "store.db"
    new = SqliteStore(tmp_path / "new.db", today=lambda: DAY)
    new.ask(QUESTION)
    new.close()
    old, reader = (SqliteStore(path, today=lambda: DAY) for _ in range(2))
    old.ask(QUESTION)
    old.add([Submission(QUESTION.digest, DAY, b"i" * 16, b"r")])
    assert reader.snapshot(TODAY).n == 1
    whole = contents(tmp_path / "new.db")
    (tmp_path / "new.db").rename(path)
    old.close()
    reader.close()
    assert contents(path) == whole
    assert (tmp_path / "store.db.replaced-wal").stat().st_size > 0
    again = SqliteStore(path, today=lambda: DAY)
    assert again.snapshot(TODAY).n == 0
    again.close()


def test_a_copy_over_a_store_in_use_is_noticed(tmp_path: Path) -> None:
    """A backup that was written into the open file is not mixed with it, and comes back whole."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    store = SqliteStore(path, today=lambda: DAY)
    store.ask(QUESTION)
    store.backup(copy)
    group = [Submission(QUESTION.digest, DAY, b"i" * 16, b"r")]
    assert store.add(group) == [Outcome.STORED]
    path.write_bytes(copy.read_bytes())
    for _ in range(2):
        with pytest.raises(StoreReplaced, match="not the one that was opened"):
            store.add(group)
    store.close()
    assert contents(path) == contents(copy)


def test_only_the_owner_reads_a_store(tmp_path: Path) -> None:
    """The file, its log and its copies can be read by nobody else."""
    store = SqliteStore(tmp_path / "store.db", today=lambda: DAY)
    store.ask(QUESTION)
    store.backup(tmp_path / "copy.db")
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    store.close()


def test_a_reader_opens_a_store_that_is_being_written(tmp_path: Path) -> None:
    """Opening and reading wait for no writer, however long it takes."""
    path = tmp_path / "store.db"
    writer = SqliteStore(path, today=lambda: DAY)
    writer.ask(QUESTION)
    writer.connection().execute("BEGIN IMMEDIATE")
    reader = SqliteStore(path, today=lambda: DAY)
    assert reader.asked(QUESTION.digest) == QUESTION
    writer.connection().execute("ROLLBACK")
    reader.close()
    writer.close()


@pytest.mark.parametrize(("mode", "then"), [(0o644, 0o600), (0o666, 0o600), (0o640, 0o640)])
def test_a_store_that_everybody_could_read_is_closed(tmp_path: Path, mode: int, then: int) -> None:
    """Opening takes it from the others; a group that was let in alone stays."""
    path = tmp_path / "store.db"
    SqliteStore(path, today=lambda: DAY).close()
    path.chmod(mode)
    log = tmp_path / "store.db-wal"
    log.touch()
    log.chmod(mode)
    store = SqliteStore(path, today=lambda: DAY)
    store.ask(QUESTION)
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {then}
    store.close()


def test_a_restore_replaces_everything(tmp_path: Path) -> None:
    """What was backed up is there again, the log of the old store is not, the old store is kept."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    store = SqliteStore(path, today=lambda: DAY)
    store.ask(QUESTION)
    store.backup(copy)
    store.add([Submission(QUESTION.digest, DAY, b"i" * 16, b"r")])
    with pytest.raises(StoreUnavailable, match="stop the collector first"):
        restore(copy, path)
    with pytest.raises(StoreUnavailable, match="stop the collector first"):
        vacuum(path)
    assert store.snapshot(TODAY).n == 1
    store.close()
    assert restore(copy, path) == tmp_path / "store.db.replaced"
    assert contents(path) == contents(copy)
    kept = SqliteStore(tmp_path / "store.db.replaced", today=lambda: DAY)
    assert kept.snapshot(TODAY).n == 1
    kept.close()


def test_a_restore_over_what_is_no_store_any_more(tmp_path: Path) -> None:
    """A file that SQLite cannot read, or none at all, is replaced as well, and kept."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    store = SqliteStore(tmp_path / "first.db", today=lambda: DAY)
    store.ask(QUESTION)
    store.backup(copy)
    store.close()
    assert restore(copy, path) is None
    path.write_bytes(b"rubbish" * 1000)
    (tmp_path / "store.db-wal").write_bytes(b"its log")
    kept = restore(copy, path)
    assert kept is not None
    assert kept.read_bytes() == b"rubbish" * 1000
    assert not (tmp_path / "store.db-wal").exists()
    assert contents(path) == contents(copy)


def test_a_file_that_is_refused_is_closed(tmp_path: Path) -> None:
    """Neither opening nor restoring what is no store leaves it open."""
    path = tmp_path / "text.db"
    path.write_bytes(b"this is not a database at all" * 40)
    for attempt in (SqliteStore, lambda wrong: restore(wrong, tmp_path / "store.db")):
        with pytest.raises(StoreBroken) as refused:  # whose frames keep what they had open
            attempt(path)
        assert str(path) not in {file.path for file in psutil.Process().open_files()}, refused


def test_only_a_whole_store_is_restored(tmp_path: Path) -> None:
    """Half a copy, another database and one of a later release leave the store as it is."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    store = SqliteStore(path, today=lambda: DAY)
    store.ask(QUESTION)
    store.backup(copy)
    store.close()
    before = contents(path)
    half, other, later = (tmp_path / name for name in ("half.db", "other.db", "later.db"))
    half.write_bytes(copy.read_bytes()[: copy.stat().st_size // 2])
    later.write_bytes(copy.read_bytes())
    for wrong, script in ((other, "CREATE TABLE t (x)"), (later, "PRAGMA user_version = 99")):
        with closing(sqlite3.connect(wrong)) as connection:
            connection.executescript(script)
    for wrong in (half, other, later):
        with pytest.raises(StoreBroken):
            restore(wrong, path)
    with pytest.raises(FileNotFoundError):
        restore(tmp_path / "nowhere.db", path)
    assert contents(path) == before


def test_a_vacuum_gives_room_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of the last release becomes as small as what it has, and then shrinks by itself."""
    monkeypatch.setattr(sqlite, "_FEW_PAGES", 16)
    path = tmp_path / "store.db"
    old_store(path, 15_000)
    store = SqliteStore(path)
    store.connection().execute("DELETE FROM arrivals WHERE fingerprint % 10 > 0")
    store.close()
    before = path.stat().st_size
    vacuum(path)
    small = path.stat().st_size
    assert small < before / 3
    store = SqliteStore(path)
    store.add(
        [Submission(QUESTION.digest, store.window().last, b"%016d" % i, b"") for i in range(10_000)]
    )
    store.connection().execute("DELETE FROM arrivals WHERE day > ?", (store._today(),))
    while store.sweep(100):
        pass
    assert store.erase()
    assert path.stat().st_size < 2 * small
    assert list(store.check()) == []
    store.close()


def test_rows_that_cannot_be_found_again_are_corruption(tmp_path: Path) -> None:
    """A number that flips puts a row where no search finds it: folding says so, and stops."""
    path = tmp_path / "store.db"
    store = SqliteStore(path, today=lambda: DAY)
    store.ask(QUESTION)
    for number in range(3):
        store.add([Submission(QUESTION.digest, DAY, bytes([number] * 16), b"CANARY%d" % number)])
    store.close()
    content = bytearray(path.read_bytes())
    place = content.index(b"CANARY0") - 8 - 9 - 2 - 9
    assert content[place - 1 : place + 1] == bytes([content[place - 1], 9])
    content[place - 1] ^= 8  # the number of the row, after the length
    path.write_bytes(content)
    store = SqliteStore(path, today=lambda: DAY)
    pile = store.pile(1, 1000)
    assert pile is not None
    with pytest.raises(StoreCorrupt):
        store.fold(pile, b"3|")
    with pytest.raises(StoreCorrupt):
        store.damaged()
    store.close()


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
    assert copy.snapshot(TODAY).n == 1
    assert list(copy.check()) == []
    copy.close()
