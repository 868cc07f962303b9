"""Where a collector keeps what it acknowledged: one interface, two databases."""

from pathlib import Path

from deniable.collector.stores import sqlite, sqlite_file
from deniable.collector.stores.records import StoreUnavailable
from deniable.collector.stores.store import Store
from deniable.optional import load

__all__ = ["Store", "file_of", "is_postgres", "open_store", "restore", "vacuum"]


def open_store(url: str, *, window: int = 7) -> Store:
    """Open the store at a ``postgresql://`` address, or the SQLite file at a path.

    The schema is created or brought up to date. One store belongs to one thread.
    """
    if is_postgres(url):
        load("psycopg", "postgres")
        from deniable.collector.stores.postgres import PostgresStore  # noqa: PLC0415 - an extra

        return PostgresStore(url, window=window)
    path = file_of(url)
    if not path.parent.is_dir():
        raise StoreUnavailable(
            f"the store's directory {path.parent} does not exist; create it first",
            value=url,
            kind="missing",
        )
    return sqlite.SqliteStore(path, window=window)


def is_postgres(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://"))


def file_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite://"))


def restore(url: str, copy: Path) -> Path | None:
    """Put a copy in place of a store that nobody has open; return where the old one is kept."""
    _refuse_postgres(
        url,
        "has commands of its own; stop all collectors, then run psql -c 'DROP SCHEMA deniable "
        f"CASCADE' DATABASE, and pg_restore --single-transaction --dbname=DATABASE {copy}",
    )
    return sqlite_file.restore(copy, file_of(url))


def vacuum(url: str) -> None:
    """Give back the room that is free in a store that nobody has open."""
    _refuse_postgres(
        url,
        "vacuums by itself; to give back all room at once, run psql -c 'VACUUM FULL' DATABASE",
    )
    sqlite_file.vacuum(file_of(url))


def _refuse_postgres(url: str, said: str) -> None:
    if is_postgres(url):
        raise StoreUnavailable(f"this store is in PostgreSQL, which {said}", kind="unsuitable")
