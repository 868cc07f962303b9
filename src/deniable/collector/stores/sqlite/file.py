"""The SQLite file itself: its connection, its transactions, its schema."""

from __future__ import annotations

import ctypes
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import finalize

from deniable.collector.stores.base import StoreReplaced
from deniable.collector.stores.migration import pending
from deniable.collector.stores.records import Slice
from deniable.collector.stores.sqlite.connection import connect, describe
from deniable.collector.stores.sqlite.copies import copy_of, write_copy
from deniable.collector.stores.sqlite.place import Place
from deniable.errors import InvalidParameter

Bounds = tuple[int | None, int, int]
"""The number of a question, the first and the last day."""
Connect = Callable[[Path], sqlite3.Connection]


def utc_day() -> int:
    """Return today, in days since 1970-01-01, by the clock of this machine."""
    return int(time.time() // 86400)


class SqliteFile:
    """A file with the current schema, and transactions on it."""

    def __init__(
        self,
        path: Path,
        *,
        window: int = 7,
        today: Callable[[], int] = utc_day,
        connect: Connect = connect,
    ) -> None:
        self.path = path
        self._window, self._today, self._connect = window, today, connect
        self._connection: sqlite3.Connection | None = None
        self._place = Place.enter(path)
        self._leave = finalize(self, self._place.leave)
        try:
            self._migrate()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        if self._give_up() == "replaced":
            # Whoever opens the file that took the place must not find the log of the old one.
            for end in ("-wal", "-shm"):
                beside = self.path.with_name(self.path.name + end)
                with suppress(OSError):
                    beside.rename(self.path.with_name(f"{self.path.name}.replaced{end}"))
        self._leave()

    def _give_up(self) -> str | None:
        """Close the connection; it is opened anew when it is needed. Say where the file went."""
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
        """Return the connection, opened anew if the last one was given up."""
        if self._connection is None:
            if not self._leave.alive:
                self._place = Place.enter(self.path)
                self._leave = finalize(self, self._place.leave)
            if self._place.known:
                self._place.look()
            elif not self.path.exists():
                with suppress(OSError):  # which SQLite will name
                    os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._connection = self._connect(self.path)
            self._place.note()
        return self._connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """Run a transaction; after any error of SQLite the connection is not trusted again."""
        try:
            connection = self.connection()
            self._place.look()
            connection.execute(begin)
            try:
                yield connection
            except sqlite3.Error:
                raise
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._give_up()
            raise describe(error, self.path) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection
        self._place.look()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._transaction("BEGIN") as connection:
            yield connection

    def _bounds(self, part: Slice) -> Bounds:
        """Return a slice as queries take it, within a transaction."""
        if part.segment is not None:
            raise InvalidParameter("this store keeps no segments", value=part.segment)
        return self._number(part.question), part.days.first, part.days.last

    def _number(self, digest: str) -> int | None:
        """Return the number of a question that is not deleted, within a transaction."""
        found = (
            self.connection()
            .execute("SELECT no FROM questions WHERE digest = ? AND state != 'deleted'", (digest,))
            .fetchone()
        )
        return int(found[0]) if found else None

    def version(self) -> int:
        """Return the version of the schema."""
        with self._reading() as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])

    def _migrate(self) -> None:
        version = self.version()
        steps = pending("sqlite", version)
        if steps and version:
            self._keep_copy(version)
        for step in steps:
            with self._writing() as connection:
                if connection.execute("PRAGMA user_version").fetchone()[0] >= step.version:
                    continue  # another process was faster
                for statement in _statements(step.script):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {step.version:d}")
        with self._reading() as connection:
            known = connection.execute("SELECT count(*) FROM horizon").fetchone()[0]
        if not known:
            with self._writing() as connection:
                today = self._today()
                connection.execute(
                    "INSERT OR IGNORE INTO horizon (one, sealed_through, last_run)"
                    " VALUES (1, ?, ?)",
                    (today - self._window - 1, today),
                )

    def _keep_copy(self, version: int) -> None:
        """Keep the store as it is before an upgrade: without a whole copy there is none."""
        target = self.path.with_name(f"{self.path.name}.schema-{version}")
        with copy_of(self.connection(), target) as copy:
            if copy.version == version:  # else another process was faster, and has kept it
                copy.take_name(replace=True)

    def backup(self, target: Path) -> None:
        """Write a consistent copy to a new file while the collector goes on."""
        self._place.look()
        write_copy(self.connection(), target)


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements, since ``executescript`` would commit in between."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
