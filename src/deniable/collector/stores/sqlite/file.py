"""The SQLite file itself: its connection, its transactions, its schema.

The file must stay where it is. A commit into a file that was deleted or replaced would be lost, so
device and inode are looked at before anybody is told that something is stored.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from weakref import WeakSet

from deniable.collector.stores.migration import pending
from deniable.collector.stores.sqlite.connection import connect, describe
from deniable.collector.stores.sqlite.copies import copy_of, write_copy
from deniable.collector.stores.store import StoreReplaced

Connect = Callable[[Path], sqlite3.Connection]
_handles: WeakSet[SqliteFile] = WeakSet()
"""All that are open in this process: those at one path must have the same file."""
_lock = Lock()


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
        with _lock:
            known = [handle._identity for handle in _handles if handle.path == path]
            self._identity: tuple[int, int] | None = next(filter(None, known), None)
            _handles.add(self)
        self._migrate()

    def close(self) -> None:
        """Let go of the file."""
        with _lock:
            _handles.discard(self)
        self._give_up()

    def _give_up(self) -> None:
        """Close the connection; it is opened anew when it is needed."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            self._stay()
        except StoreReplaced:
            # Closing would remove the log of the file that now is there: leave it to the system.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
            return
        with suppress(sqlite3.Error):
            connection.close()

    def connection(self) -> sqlite3.Connection:
        """Return the connection, opened anew if the last one was given up."""
        if self._connection is None:
            if self._identity is not None:
                self._stay()
            elif not self.path.exists():
                with suppress(OSError):  # which SQLite will name
                    os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._connection = self._connect(self.path)
            if self._identity is None:
                found = self.path.stat()
                self._identity = found.st_dev, found.st_ino
        return self._connection

    def _stay(self) -> None:
        """Refuse to go on when the file that was opened is no longer where it was."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            raise StoreReplaced(
                f"expected the store at {self.path}, where it was opened, and found no file; put "
                "it back, or stop the collector and restore a backup with `deniable store restore`",
                value=str(self.path),
                kind="missing",
            ) from None
        except OSError:  # SQLite will meet it too
            return
        if (found.st_dev, found.st_ino) != self._identity:
            raise StoreReplaced(
                f"expected the file at {self.path} that was opened, and found another one; restart "
                "the collector to go on with it, and next time use `deniable store restore`",
                value=str(self.path),
            )

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """Run a transaction; after any error of SQLite the connection is not trusted again."""
        try:
            connection = self.connection()
            self._stay()
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
        self._stay()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._transaction("BEGIN") as connection:
            yield connection

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
        self._stay()
        write_copy(self.connection(), target)


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements, since ``executescript`` would commit in between."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
