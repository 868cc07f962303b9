"""Where a collector keeps what it acknowledged: one interface, two databases."""

from __future__ import annotations

from pathlib import Path

from deniable.collector.stores.store import Store, StoreUnavailable
from deniable.extras import load


def open_store(url: str, *, window: int = 7) -> Store:
    """Open the store at a ``postgresql://`` address, or the SQLite file at a path.

    The schema is created or brought up to date. One store belongs to one thread.
    """
    if url.startswith(("postgresql://", "postgres://")):
        load("psycopg", "postgres")
        from deniable.collector.stores.postgres import PostgresStore  # noqa: PLC0415 - an extra

        return PostgresStore(url, window=window)
    from deniable.collector.stores.sqlite import SqliteStore  # noqa: PLC0415 - only the one in use

    path = Path(url.removeprefix("sqlite://"))
    if not path.parent.is_dir():
        raise StoreUnavailable(
            f"expected the directory {path.parent} for the store, got none; create it first",
            value=url,
            kind="missing",
        )
    return SqliteStore(path, window=window)


__all__ = ["Store", "StoreUnavailable", "open_store"]
