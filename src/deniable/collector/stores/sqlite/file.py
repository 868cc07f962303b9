"""The SQLite file itself: its connection, its transactions, its schema."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deniable.collector.stores.migration import pending
from deniable.collector.stores.sqlite.connection import connect, describe

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
        self._migrate()

    def close(self) -> None:
        """Let go of the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def connection(self) -> sqlite3.Connection:
        """Return the connection, opened anew if the last one was given up."""
        if self._connection is None:
            self._connection = self._connect(self.path)
        return self._connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """Run a transaction; after any error of SQLite the connection is not trusted again."""
        try:
            connection = self.connection()
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
            self.close()
            raise describe(error, self.path) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

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
            copy = self.path.with_name(f"{self.path.name}.schema-{version}")
            if not copy.exists():
                self.backup(copy)
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
                    "INSERT OR IGNORE INTO horizon (one, sealed_through, last_run) VALUES (1, ?, ?)",
                    (today - self._window - 1, today),
                )

    def backup(self, target: Path) -> None:
        """Write a consistent copy to a new file while the collector goes on."""
        if target.exists():
            raise FileExistsError(17, "expected a new file for the copy, got one", str(target))
        try:
            self.connection().execute("VACUUM INTO ?", (str(target),))
        except sqlite3.Error as error:
            self.close()
            raise describe(error, target) from error


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements, since ``executescript`` would commit in between."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
