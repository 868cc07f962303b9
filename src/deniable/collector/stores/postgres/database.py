"""The PostgreSQL database itself: its connection, its transactions, its schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import psycopg
from psycopg import errors
from psycopg.rows import TupleRow

from deniable.collector.stores.base import StoreCorrupt, StoreError, StoreUnavailable
from deniable.collector.stores.migration import pending
from deniable.collector.stores.records import Slice
from deniable.errors import InvalidParameter

Connection = psycopg.Connection[TupleRow]
Bounds = tuple[int | None, int, int]
"""The number of a question, the first and the last day."""
Result = TypeVar("Result")

_SCHEMA_LOCK = 0x64656E6961626C65
"""The advisory lock under which one collector migrates, the letters of the package's name."""
_ATTEMPTS = 8
_SETTINGS = {
    "search_path": "deniable",
    "synchronous_commit": "on",
    "statement_timeout": "60s",
    "lock_timeout": "20s",
    "idle_in_transaction_session_timeout": "60s",
    "timezone": "UTC",
}


_KINDS = {
    "25006": "read-only",  # read_only_sql_transaction
    "42501": "read-only",  # insufficient_privilege
    "53100": "full",
    "55P03": "busy",  # lock_not_available
    "57014": "busy",  # query_canceled: a statement took too long
}
_CORRUPT = ("XX001", "XX002")


def describe(error: psycopg.Error) -> StoreError:
    """Return the error of the store that an error of PostgreSQL means."""
    said = (str(error).splitlines() or [type(error).__name__])[0]
    if error.sqlstate in _CORRUPT:
        return StoreCorrupt(
            f"expected sound tables in PostgreSQL, got: {said}; stop, and restore the last backup",
            value=error.sqlstate,
        )
    lost = error.sqlstate is None or error.sqlstate[:2] in ("08", "57")
    return StoreUnavailable(
        f"expected an answer of PostgreSQL, got: {said}; check that it runs and can be reached",
        value=error.sqlstate,
        kind=_KINDS.get(error.sqlstate or "", "unreachable" if lost else "failed"),
    )


class PostgresDatabase:
    """A database with the current schema, and transactions on it."""

    def __init__(self, url: str, *, window: int = 7) -> None:
        self.url, self._window = url, window
        self._connection: Connection | None = None
        self._migrate()

    def close(self) -> None:
        """Let go of the database."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()

    def connection(self) -> Connection:
        """Return the connection, opened anew if the last one was given up."""
        if self._connection is None:
            connection = psycopg.connect(
                self.url, autocommit=True, connect_timeout=5, tcp_user_timeout=15_000
            )
            for name, value in _SETTINGS.items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
            self._connection = connection
        return self._connection

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        try:
            connection = self.connection()
            with connection.transaction():
                yield connection
        except (errors.DeadlockDetected, errors.SerializationFailure):
            raise
        except psycopg.Error as error:
            self.close()
            raise describe(error) from error

    def _write(self, work: Callable[[Connection], Result]) -> Result:
        """Run a transaction, again if another one stood in its way."""
        for _ in range(_ATTEMPTS):
            try:
                with self._transaction() as connection:
                    return work(connection)
            except (errors.DeadlockDetected, errors.SerializationFailure):
                continue
        raise StoreUnavailable(
            f"expected a transaction to end within {_ATTEMPTS} attempts, got as many deadlocks",
            value=_ATTEMPTS,
            kind="busy",
        )

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Run a transaction that sees one moment."""
        with self._transaction() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield connection

    def version(self) -> int:
        """Return the version of the schema; 0 where there is none."""
        with self._reading() as connection:
            if connection.execute("SELECT to_regclass('deniable.schema')").fetchone() == (None,):
                return 0
            found = connection.execute("SELECT version FROM schema").fetchone()
            return int(found[0]) if found else 0

    def _migrate(self) -> None:
        if not pending("postgres", self.version()):
            return
        with self._transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
            connection.execute("CREATE SCHEMA IF NOT EXISTS deniable")
            connection.execute("CREATE TABLE IF NOT EXISTS schema (version integer NOT NULL)")
            found = connection.execute("SELECT version FROM schema").fetchone()
            for step in pending("postgres", found[0] if found else 0):
                connection.execute(step.script.encode())
                connection.execute("DELETE FROM schema")
                connection.execute("INSERT INTO schema VALUES (%s)", (step.version,))
            connection.execute(
                "INSERT INTO horizon (one, sealed_through, last_run)"
                " SELECT 1, today() - %s - 1, today() ON CONFLICT DO NOTHING",
                (self._window,),
            )

    def _bounds(self, part: Slice) -> Bounds:
        """Return a slice as queries take it, within a transaction."""
        if part.segment is not None:
            raise InvalidParameter("this store keeps no segments", value=part.segment)
        return self._number(part.question), part.days.first, part.days.last

    def _number(self, digest: str) -> int | None:
        """Return the number of a question that is not deleted, within a transaction."""
        found = (
            self.connection()
            .execute("SELECT no FROM questions WHERE digest = %s AND state != 'deleted'", (digest,))
            .fetchone()
        )
        return found[0] if found else None

    def backup(self, target: Path) -> None:
        """Refuse: PostgreSQL has tools of its own."""
        raise StoreUnavailable(
            "this store is in PostgreSQL, which has commands of its own: pg_dump --format=custom "
            f"--schema=deniable --file={target} DATABASE",
            value=str(target),
        )
