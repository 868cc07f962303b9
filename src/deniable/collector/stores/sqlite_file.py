"""The file of a SQLite store: opening it durably, and noticing when it is replaced.

A commit into a file that was deleted or replaced would be lost, and the log of one file would be
applied to another. So the file is checked before anybody is told that something is stored: another
file has another device or inode, and a copy written over the file has other first bytes.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import ClassVar

from deniable.collector.stores.base import StoreCorrupt, StoreError, StoreReplaced, StoreUnavailable

AUTO_VACUUM = 2  # INCREMENTAL, which only a new file or one that is vacuumed takes
SETTINGS = {
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
_OWNER_ONLY, _OTHERS = 0o600, 0o007
_VERSIONS, _LOGGED = slice(18, 20), b"\2\2"
"""Where a file says that it has a write-ahead log: a store in use has one, and a copy has none."""


def connect(path: Path) -> sqlite3.Connection:
    """Open a file in autocommit, with the settings on which durability rests."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    # Damaged text is read as far as it goes, so that one bad row keeps no others from being read.
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    configure(connection)
    return connection


def configure(connection: sqlite3.Connection) -> None:
    """Apply the settings, and refuse a file system that does not take them."""
    if not connection.execute("PRAGMA page_count").fetchone()[0]:  # else it waits for writers
        connection.execute(f"PRAGMA auto_vacuum = {AUTO_VACUUM}").fetchall()
    for name, value in SETTINGS.items():
        connection.execute(f"PRAGMA {name} = {value}").fetchall()
    for name in ("journal_mode", "synchronous"):
        (found,) = connection.execute(f"PRAGMA {name}").fetchone()
        if found != SETTINGS[name]:
            raise StoreUnavailable(
                f"SQLite cannot set {name} = {SETTINGS[name]} where the store is (it is {found}); "
                "keep the store on a local disk, where SQLite can have a write-ahead log",
                value=found,
                kind="unsuitable",
            )


def make_private(path: Path) -> None:
    """Create a file that only its owner can read, or make it so if everybody can read it.

    A mode that lets in a group and nobody else was chosen on purpose, and stays.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _OWNER_ONLY))
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            beside = path.with_name(path.name + end)
            if beside.stat().st_mode & _OTHERS:
                beside.chmod(_OWNER_ONLY)


def describe(error: sqlite3.Error, path: Path) -> StoreError:
    """Return the error of the store that an error of SQLite means."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else 0
    if primary in _CORRUPT:
        return StoreCorrupt(
            f"{path} is not a sound SQLite file: {error}; stop the collector, keep a copy of the "
            "file, and restore the last backup",
            value=code,
        )
    return StoreUnavailable(
        f"SQLite cannot use {path}: {error}; check the disk and its free space",
        value=code,
        kind=_KINDS.get(primary) or ("read-only" if _is_read_only(path) else "failed"),
    )


def _is_read_only(path: Path) -> bool:
    """Tell whether the file system is read-only, which SQLite reports as a failing disk."""
    try:
        return bool(os.statvfs(path.parent).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):  # not on every system, and not without the directory
        return False


class Place:
    """One file that some handles of this process have open."""

    _lock: ClassVar[Lock] = Lock()
    _open: ClassVar[dict[str, Place]] = {}

    def __init__(self, path: Path) -> None:
        self.path, self._key = str(path), os.path.realpath(path)
        self._handles = 0
        self._identity: tuple[int, int] | None = None
        self._file: int | None = None
        self._changed = 0

    @classmethod
    def enter(cls, path: Path) -> Place:
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
                if hasattr(os, "pread"):
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
