"""The store in one SQLite file, for one collector.

WAL with ``synchronous=FULL``: a commit has returned from fsync before anybody is told. Deleted
content is overwritten (``secure_delete``). After any error of the disk the connection is given up
and opened anew, so that no half-finished state of it is trusted.

A commit into a file that was deleted or replaced would be lost, and the log of one file would be
applied to another. So the file is checked before anybody is told that something is stored: another
file has another device or inode, and a copy written over the file has other first bytes.
"""

import ctypes
import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from errno import EEXIST
from functools import cache
from pathlib import Path
from shutil import disk_usage
from threading import Lock
from typing import ClassVar
from weakref import finalize

from deniable.collector.stores.arrivals import Arrival, ArrivalKey
from deniable.collector.stores.dialect import SQLITE, Horizon, Result, Transaction, pending
from deniable.collector.stores.records import StoreCorrupt, StoreReplaced, today
from deniable.collector.stores.sqlite_file import SETTINGS, connect, copy_of, describe, make_private
from deniable.collector.stores.store import Store

_WRITE = "BEGIN IMMEDIATE"
_HORIZON = "SELECT sealed_through, last_run, forgotten_through FROM horizon"
_FIRST_HORIZON = (
    "INSERT INTO horizon (one, sealed_through, last_run) VALUES (1, ?, ?) ON CONFLICT DO NOTHING"
)
_FEW_PAGES = 1024
"""Pages that are given back at once, and that may be free without being given back."""
_LARGEST_CHUNK = 512
"""Rows in one statement: few calls for many rows, by few different statements."""
_VERSIONS, _LOGGED = slice(18, 20), b"\2\2"
"""Where a file says that it has a write-ahead log: a store in use has one, and a copy has none."""


class Place:
    """One file that some handles of this process have open."""

    _lock: ClassVar[Lock] = Lock()
    _open: ClassVar[dict[str, "Place"]] = {}

    def __init__(self, path: Path) -> None:
        self.path, self._key = str(path), os.path.realpath(path)
        self._handles = 0
        self._identity: tuple[int, int] | None = None
        self._file: int | None = None
        self._changed = 0

    @classmethod
    def enter(cls, path: Path) -> "Place":
        """Return the place that all handles at a path share until the last one leaves."""
        with cls._lock:
            new = cls(path)
            place = cls._open.setdefault(new._key, new)
            place._handles += 1
            return place

    def leave(self) -> None:
        """Forget the file when the last handle leaves.

        Closing any descriptor of a file releases all locks that SQLite holds on it, so the
        descriptor here stays open for as long as any connection may be.
        """
        with self._lock:
            self._handles -= 1
            if self._handles:
                return
            self._open.pop(self._key, None)
            file, self._file, self._identity = self._file, None, None
        if file is not None:
            os.close(file)

    @property
    def known(self) -> bool:
        return self._identity is not None

    def note(self) -> None:
        """Remember which file was opened, unless that is known."""
        with self._lock:
            if self._identity is None:
                found = os.stat(self.path)
                self._file = os.open(self.path, os.O_RDONLY)
                self._identity, self._changed = (found.st_dev, found.st_ino), found.st_mtime_ns

    def look(self) -> None:
        """Refuse to go on if the file that was opened is gone or was replaced."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            raise StoreReplaced(
                f"the file of the store is no longer at {self.path}; put it back, or stop the "
                "collector and restore a backup with `deniable store restore`",
                value=self.path,
                kind="missing",
            ) from None
        except OSError:  # SQLite will meet it too
            return
        if (found.st_dev, found.st_ino) != self._identity or (
            found.st_mtime_ns != self._changed and self._overwritten(found.st_mtime_ns)
        ):
            raise StoreReplaced(
                f"the file at {self.path} is not the one that was opened; put that one back, or "
                "restart the collector to go on with this one",
                value=self.path,
            )

    def _overwritten(self, changed: int) -> bool:
        """Tell whether something other than SQLite wrote into the file."""
        if self._file is not None and os.pread(self._file, 20, 0)[_VERSIONS] != _LOGGED:
            return True
        self._changed = changed
        return False


class SqliteStore(Store):
    """A SQLite file; see ``Store`` for what it promises."""

    def __init__(
        self,
        path: Path,
        *,
        window: int = 7,
        today: Callable[[], int] = today,
        connect: Callable[[Path], sqlite3.Connection] = connect,
    ) -> None:
        self.path = path
        self._window, self._today, self._connect = window, today, connect
        self._connection: sqlite3.Connection | None = None
        self._enter()
        try:
            self._migrate()
        except BaseException:
            self.close()
            raise

    def _enter(self) -> None:
        self._place = Place.enter(self.path)
        self._leave = finalize(self, self._place.leave)

    def close(self) -> None:
        if self._give_up() == "replaced":
            # Whoever opens the file that took the place must not find the log of the old one.
            for end in ("-wal", "-shm"):
                beside = self.path.with_name(self.path.name + end)
                with suppress(OSError):
                    beside.rename(self.path.with_name(f"{self.path.name}.replaced{end}"))
        self._leave()

    def _give_up(self) -> str | None:
        """Close the connection, to be reopened when needed; return what happened to the file."""
        connection, self._connection = self._connection, None
        if connection is None:
            return None
        try:
            self._place.look()
        except StoreReplaced as error:
            # Closing would remove a log that may be another file's: leave it to the system.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
            return error.kind
        with suppress(sqlite3.Error):
            connection.close()
        return None

    def connection(self) -> sqlite3.Connection:
        """Return the connection, opened again if the last one was given up."""
        if self._connection is None:
            if not self._leave.alive:
                self._enter()
            if self._place.known:
                self._place.look()
            else:
                with suppress(OSError):  # which SQLite will name
                    make_private(self.path)
            self._connection = self._connect(self.path)
            self._place.note()
        return self._connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        """Run a transaction; after any error of SQLite the connection is not trusted again."""
        try:
            connection = self.connection()
            self._place.look()
            connection.execute(begin)
            try:
                yield Transaction(SQLITE, connection.execute)
            except sqlite3.Error:
                raise
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._give_up()
            raise describe(error, self.path) from error

    def reading(self) -> AbstractContextManager[Transaction]:
        return self._transaction("BEGIN")

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        with self._transaction(_WRITE) as transaction:
            result = work(transaction)
        self._place.look()
        return result

    def horizon(self, transaction: Transaction, hold: str = "") -> Horizon:
        sealed, last_run, forgotten = transaction.execute(_HORIZON).fetchone()
        return Horizon(sealed, last_run, forgotten, self._today())

    def corrupt(self, said: str) -> StoreCorrupt:
        return StoreCorrupt(
            f"{self.path} is damaged: {said}; stop the collector, keep a copy of the file, and "
            "restore the last backup",
            value=said,
        )

    def version(self) -> int:
        with self.reading() as transaction:
            return int(transaction.execute("PRAGMA user_version").fetchone()[0])

    def _migrate(self) -> None:
        version = self.version()
        steps = pending("sqlite", version)
        if steps and version:
            self._keep_copy(version)
        for step in steps:
            with self._transaction(_WRITE) as transaction:
                if transaction.execute("PRAGMA user_version").fetchone()[0] >= step.version:
                    continue  # another process was faster
                for statement in _statements(step.script):
                    self.connection().execute(statement)
                self.connection().execute(f"PRAGMA user_version = {step.version:d}")
                today = self._today()
                transaction.execute(_FIRST_HORIZON, (today - self._window - 1, today))

    def _keep_copy(self, version: int) -> None:
        """Keep the store as it is before an upgrade: without a whole copy there is none."""
        target = self.path.with_name(f"{self.path.name}.schema-{version}")
        with copy_of(self.connection(), target) as copy:
            if copy.version == version:  # else another process was faster, and has kept it
                copy.take_name(replace=True)

    def backup(self, target: Path) -> None:
        self._place.look()
        if target.exists():
            raise FileExistsError(EEXIST, "a backup replaces no file; name a new one", str(target))
        with copy_of(self.connection(), target) as copy:
            copy.take_name()

    def erase(self) -> bool:
        """Empty the write-ahead log, where removed rows are still to be found."""
        self._place.look()
        try:
            connection = self.connection()
            connection.execute("PRAGMA busy_timeout = 0").fetchall()
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {SETTINGS['busy_timeout']}").fetchall()
        except sqlite3.Error as error:
            self._give_up()
            raise describe(error, self.path) from error
        return not busy

    def insert(self, transaction: Transaction, rows: Sequence[Arrival]) -> set[ArrivalKey]:
        # Asking for the known keys first returns few rows. RETURNING would hand every row to Python
        # one by one, and wait for the event loop each time.
        inserted, chunks = {row[:3] for row in rows}, _chunks(rows)
        for values in chunks:
            known = transaction.execute(_texts(len(values) // 4)[0], values)
            inserted.difference_update(known.fetchall())
        if len(inserted) < len(rows):
            chunks = _chunks([row for row in rows if row[:3] in inserted])
        for values in chunks:
            transaction.execute(_texts(len(values) // 4)[1], values)
        return inserted

    def fingerprints(self, transaction: Transaction, keys: Sequence[ArrivalKey]) -> list[Arrival]:
        text = "SELECT fingerprint FROM arrivals WHERE question = ? AND day = ? AND id = ?"
        found = [(key, transaction.execute(text, key).fetchone()) for key in keys]
        return [(*key, row[0]) for key, row in found if row]

    def overlooked(self, transaction: Transaction, rows: Collection[int]) -> bool:
        # The sign keeps SQLite from looking where the row should be: it reads the whole table.
        text = "SELECT 1 FROM waiting WHERE +no = ANY(?) LIMIT 1"
        return transaction.execute(text, (SQLITE.array(rows),)).fetchone() is not None

    def give_back(self, transaction: Transaction) -> int:
        pages, free = (
            int(transaction.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count")
        )
        if free < max(_FEW_PAGES, pages // 4):  # ids will need what is free
            return 0
        transaction.execute(f"PRAGMA incremental_vacuum({_FEW_PAGES})").fetchall()
        return free - int(transaction.execute("PRAGMA freelist_count").fetchone()[0])

    def flaws(self, transaction: Transaction) -> Iterator[str]:
        found = transaction.execute("PRAGMA integrity_check").fetchall()
        return (said for (said,) in found if said != "ok")

    def sizes(self, transaction: Transaction) -> tuple[float, ...]:
        log = self.path.with_name(f"{self.path.name}-wal")
        size = log.stat().st_size if log.exists() else 0
        return self.path.stat().st_size, size, disk_usage(self.path.parent).free


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements, since ``executescript`` would commit in between."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _chunks(rows: Sequence[Arrival]) -> list[list[int | bytes]]:
    """Return the values of some rows at a time, the last row repeated up to a power of two."""
    chunks = []
    for start in range(0, len(rows), _LARGEST_CHUNK):
        chunk = rows[start : start + _LARGEST_CHUNK]
        values = [value for row in chunk for value in row]
        values += [*chunk[-1]] * ((1 << (len(chunk) - 1).bit_length()) - len(chunk))
        chunks.append(values)
    return chunks


@cache
def _texts(size: int) -> tuple[str, str]:
    """Return the statements that find and that insert as many rows."""
    places = ", ".join(["(?, ?, ?, ?)"] * size)
    return (
        f"WITH asked (question, day, id, fingerprint) AS (VALUES {places})"
        " SELECT a.question, a.day, a.id FROM asked CROSS JOIN arrivals AS a"
        " ON a.question = asked.question AND a.day = asked.day AND a.id = asked.id",
        f"INSERT INTO arrivals (question, day, id, fingerprint) VALUES {places}"
        " ON CONFLICT DO NOTHING",
    )
