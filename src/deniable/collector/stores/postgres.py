"""The store in PostgreSQL, shared by any number of collectors of the same schema version.

Question and day are locked ``FOR SHARE`` by the transaction that stores a submission, so that
closing, sealing and deleting wait for it and no collector's memory is trusted. The clock is the
database's. Everything lives in the schema ``deniable``.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from deniable.collector.stores.arrivals import Arrival, ArrivalKey
from deniable.collector.stores.dialect import POSTGRES, Horizon, Result, Transaction, pending
from deniable.collector.stores.records import StoreCorrupt, StoreError, StoreUnavailable
from deniable.collector.stores.store import Store

Connection = psycopg.Connection[psycopg.rows.TupleRow]

_SCHEMA_LOCK = 0x64656E6961626C65
"""The advisory lock under which one collector migrates, the letters of the package's name."""
_ATTEMPTS = 8
_IN_THE_WAY = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)
_SETTINGS = {
    "search_path": "deniable",
    "synchronous_commit": "on",
    "statement_timeout": "60s",
    "lock_timeout": "20s",
    "idle_in_transaction_session_timeout": "60s",
    "timezone": "UTC",
}
_DURABLE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
_KINDS = {
    "25006": "read-only",  # read_only_sql_transaction
    "42501": "read-only",  # insufficient_privilege
    "53100": "full",
    "55P03": "busy",  # lock_not_available
    "57014": "busy",  # query_canceled: a statement took too long
}
_CORRUPT = ("XX001", "XX002")
_HORIZON = "SELECT sealed_through, last_run, forgotten_through, today() FROM horizon"
_INSERT = (
    "INSERT INTO arrivals (question, day, id, fingerprint)"
    " SELECT * FROM unnest(?::integer[], ?::integer[], ?::bytea[], ?::bigint[])"
    " ON CONFLICT DO NOTHING RETURNING question, day, id"
)
_FIND = (
    "SELECT question, day, id, fingerprint FROM arrivals"
    " JOIN unnest(?::integer[], ?::integer[], ?::bytea[]) AS asked (question, day, id)"
    " USING (question, day, id)"
)
_SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'deniable'"
    " AND c.relkind IN ('r', 'm')"
)


def describe(error: psycopg.Error) -> StoreError:
    """Return the error of the store that an error of PostgreSQL means."""
    said = (str(error).splitlines() or [type(error).__name__])[0]
    if error.sqlstate in _CORRUPT:
        return StoreCorrupt(
            f"PostgreSQL found damaged tables: {said}; stop all collectors, and restore the last "
            "backup",
            value=error.sqlstate,
        )
    lost = error.sqlstate is None or error.sqlstate[:2] in ("08", "57")
    return StoreUnavailable(
        f"PostgreSQL failed: {said}; check that it runs and can be reached",
        value=error.sqlstate,
        kind=_KINDS.get(error.sqlstate or "", "unreachable" if lost else "failed"),
    )


class PostgresStore(Store):
    """A PostgreSQL database; see ``Store`` for what it promises."""

    def __init__(self, url: str, *, window: int = 7) -> None:
        self.url, self._window = url, window
        self._connection: Connection | None = None
        self._migrate()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()

    def connection(self) -> Connection:
        """Return the connection, opened again if the last one was given up."""
        if self._connection is None:
            connection = psycopg.connect(
                self.url, autocommit=True, connect_timeout=5, tcp_user_timeout=15_000
            )
            for name, value in _SETTINGS.items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
            self._connection = connection
        return self._connection

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        try:
            connection = self.connection()
            with connection.transaction():
                yield Transaction(
                    POSTGRES, lambda text, values: connection.execute(text.encode(), values)
                )
        except _IN_THE_WAY:
            raise
        except psycopg.Error as error:
            self.close()
            raise describe(error) from error

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        for _ in range(_ATTEMPTS):
            try:
                with self._transaction() as transaction:
                    return work(transaction)
            except _IN_THE_WAY:
                continue
        raise StoreUnavailable(
            f"a transaction met {_ATTEMPTS} deadlocks in a row and was given up",
            value=_ATTEMPTS,
            kind="busy",
        )

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._transaction() as transaction:
            transaction.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield transaction

    def horizon(self, transaction: Transaction, hold: str = "") -> Horizon:
        return Horizon(*transaction.execute(_HORIZON + hold).fetchone())

    def corrupt(self, said: str) -> StoreCorrupt:
        return StoreCorrupt(
            f"the database is damaged: {said}; stop all collectors, and check it with pg_amcheck",
            value=said,
        )

    def version(self) -> int:
        with self.reading() as transaction:
            ((table,),) = transaction.execute("SELECT to_regclass('deniable.schema')")
            found = table and transaction.execute("SELECT version FROM schema").fetchone()
            return int(found[0]) if found else 0

    def _migrate(self) -> None:
        if not pending("postgres", self.version()):
            return
        with self._transaction() as transaction:
            transaction.execute("SELECT pg_advisory_xact_lock(?)", (_SCHEMA_LOCK,))
            transaction.execute("CREATE SCHEMA IF NOT EXISTS deniable")
            transaction.execute("CREATE TABLE IF NOT EXISTS schema (version integer NOT NULL)")
            found = transaction.execute("SELECT version FROM schema").fetchone()
            for step in pending("postgres", found[0] if found else 0):
                self.connection().execute(step.script.encode())
                transaction.execute("DELETE FROM schema")
                transaction.execute("INSERT INTO schema VALUES (?)", (step.version,))
            transaction.execute(
                "INSERT INTO horizon (one, sealed_through, last_run)"
                " SELECT 1, today() - ? - 1, today() ON CONFLICT DO NOTHING",
                (self._window,),
            )

    def backup(self, target: Path) -> None:
        raise StoreUnavailable(
            "this store is in PostgreSQL, which has commands of its own: pg_dump --format=custom "
            f"--schema=deniable --file={target} DATABASE",
            value=str(target),
        )

    def erase(self) -> bool:
        """Do nothing: PostgreSQL overwrites by vacuum and by recycling its log."""
        return True

    def insert(self, transaction: Transaction, rows: Sequence[Arrival]) -> set[ArrivalKey]:
        columns = [list(column) for column in zip(*rows, strict=True)]
        return set(transaction.execute(_INSERT, columns))

    def fingerprints(self, transaction: Transaction, keys: Sequence[ArrivalKey]) -> list[Arrival]:
        # Another statement sees what the first one waited for and then found in its way.
        columns = [list(column) for column in zip(*keys, strict=True)]
        return transaction.execute(_FIND, columns).fetchall()

    def flaws(self, transaction: Transaction) -> Iterator[str]:
        for name, wanted in _DURABLE.items():
            ((found,),) = transaction.execute("SELECT current_setting(?)", (name,))
            if found != wanted:
                yield f"{name} is {found}: acknowledged submissions can be lost"

    def sizes(self, transaction: Transaction) -> tuple[float, ...]:
        """Return the size of the tables; the disk is the database's own business."""
        ((size,),) = transaction.execute(_SIZE)
        return (float(size),)
