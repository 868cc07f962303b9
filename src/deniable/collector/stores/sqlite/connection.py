"""Opening a SQLite file so that a commit is on the disk, and naming what goes wrong with it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from deniable.collector.stores.base import StoreCorrupt, StoreError, StoreUnavailable

SETTINGS = {
    "auto_vacuum": 2,  # INCREMENTAL, which only a new file or one that is vacuumed takes
    "journal_mode": "wal",
    "synchronous": 2,  # FULL: every commit is synchronised, not only every checkpoint
    "secure_delete": 1,
    "foreign_keys": 1,
    "busy_timeout": 5000,
    "cache_size": -32768,
    "wal_autocheckpoint": 1000,
    "journal_size_limit": 1 << 24,
    "cell_size_check": 1,  # damaged pages are found when they are read
}
_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_KINDS = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read-only",
    sqlite3.SQLITE_PERM: "read-only",
    sqlite3.SQLITE_CANTOPEN: "missing",
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
}


def connect(path: Path) -> sqlite3.Connection:
    """Open a file in autocommit, with the settings on which durability rests."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.text_factory = _read_text
    configure(connection)
    return connection


def _read_text(data: bytes) -> str:
    """Read text that may be damaged, so that one bad row does not keep others from being read."""
    return data.decode(errors="surrogateescape")


def configure(connection: sqlite3.Connection) -> None:
    """Apply the settings, and refuse a file system that does not take them."""
    for name, value in SETTINGS.items():
        connection.execute(f"PRAGMA {name} = {value}").fetchall()
    for name in ("journal_mode", "synchronous"):
        (found,) = connection.execute(f"PRAGMA {name}").fetchone()
        if found != SETTINGS[name]:
            raise StoreUnavailable(
                f"expected {name} = {SETTINGS[name]} for the store, got {found}; keep it on a "
                "local disk, where SQLite can have a write-ahead log",
                value=found,
                kind="unsuitable",
            )


def describe(error: sqlite3.Error, path: Path) -> StoreError:
    """Return the error of the store that an error of SQLite means."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else 0
    if primary in _CORRUPT:
        return StoreCorrupt(
            f"expected a sound SQLite file at {path}, got: {error}; stop, keep a copy, and restore "
            "the last backup",
            value=code,
        )
    return StoreUnavailable(
        f"expected to write to {path}, got: {error}; check the disk and its free space",
        value=code,
        kind=_KINDS.get(primary) or ("read-only" if _is_read_only(path) else "failed"),
    )


def _is_read_only(path: Path) -> bool:
    """Tell whether a file system has become read-only, which SQLite takes for a failing disk."""
    try:
        return bool(os.statvfs(path.parent).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):  # not on every system, and not without the directory
        return False
