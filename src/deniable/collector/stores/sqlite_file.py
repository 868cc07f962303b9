"""Files of SQLite stores: opening one durably, copying it, and putting a copy in its place.

A copy is written under a temporary name in its own directory, synchronised, read back and only then
given its name. So whenever the process ends, the copy is whole or not there.
"""

import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from glob import escape
from pathlib import Path
from tempfile import mkstemp
from urllib.parse import quote

from deniable.collector.stores.dialect import pending
from deniable.collector.stores.records import StoreCorrupt, StoreError, StoreUnavailable
from deniable.documents import synchronise

AUTO_VACUUM = 2  # INCREMENTAL, which only a new file or one that is vacuumed takes
SETTINGS = {
    "journal_mode": "wal",
    "synchronous": 2,  # FULL: every commit is synchronised, not only every checkpoint
    "secure_delete": 1,
    "foreign_keys": 1,
    "busy_timeout": 5000,
    "cache_size": -32768,
    "wal_autocheckpoint": 4000,
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
_BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a file, by the ends of the names."""
_LOCK_BYTES = 0x4000_0000, 512
"""Where SQLite locks a file, and how many bytes; every open connection holds some of them."""


def connect(path: Path) -> sqlite3.Connection:
    """Open a file in autocommit, with the settings on which durability rests."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    # Damaged text is read as far as it goes, so that one bad row keeps no others from being read.
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    with _closed_on_error(connection):
        configure(connection)
    return connection


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


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
    except OSError:  # not without the directory
        return False


@dataclass(frozen=True)
class Copy:
    """A whole copy that has no name yet."""

    part: Path
    target: Path
    version: int

    def take_name(self, *, replace: bool = False) -> None:
        """Give the copy its name, on the disk when this returns."""
        if replace:
            os.replace(self.part, self.target)
        else:
            try:
                os.link(self.part, self.target)
            except FileExistsError:
                raise
            except OSError:  # a file system without hard links
                os.rename(self.part, self.target)
        synchronise(self.target.parent)


@contextmanager
def copy_of(connection: sqlite3.Connection, target: Path) -> Iterator[Copy]:
    """Write and verify a copy beside ``target``; unless it takes its name, it is removed."""
    part, held = _new_part(target)
    try:
        try:
            connection.execute("VACUUM INTO ?", (str(part),))
        except sqlite3.Error as error:
            found = describe(error, target)
            if isinstance(found, StoreCorrupt):
                found = StoreCorrupt(f"the store to be copied is damaged: {error}", value=error)
            raise found from error
        synchronise(part)
        yield Copy(part, target, _verify(part))
    finally:
        part.unlink(missing_ok=True)
        os.close(held)


def _new_part(target: Path) -> tuple[Path, int]:
    """Return a temporary file that is locked, after removing those of processes that ended."""
    for left in target.parent.glob(f".{escape(target.name)}.*.part"):
        with suppress(OSError):
            held = os.open(left, os.O_RDWR)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
            finally:
                os.close(held)
    held, name = mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    fcntl.flock(held, fcntl.LOCK_EX)
    return Path(name), held


def _verify(path: Path) -> int:
    """Read a finished copy as a whole, and return its schema version."""
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)
        try:
            said = [found for (found,) in connection.execute("PRAGMA integrity_check").fetchall()]
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if version:
                connection.execute("SELECT sealed_through FROM horizon").fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise describe(error, path) from error
    if said != ["ok"]:
        raise StoreCorrupt(f"the copy is damaged: {said[0]}", value=said[0])
    return version


def restore(copy: Path, path: Path) -> Path | None:
    """Put a copy in place of a store that nobody has open; return where the old one is kept.

    What the old store left beside it is removed: its log would be applied to the new one.
    """
    source = _open_copy(copy)
    try:
        with copy_of(source, path) as whole:
            if whole.version == 0:
                raise StoreCorrupt(f"{copy} is not a backup of a store", value=str(copy))
            pending("sqlite", whole.version)  # refuses one of a later release
            with _alone(path):
                kept = _put_away(path)
                whole.take_name(replace=True)
        return kept
    finally:
        source.close()


def _open_copy(copy: Path) -> sqlite3.Connection:
    if not copy.is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(copy))
    try:
        connection = sqlite3.connect(f"file:{quote(str(copy))}?mode=ro", uri=True)
        with _closed_on_error(connection):
            connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as error:
        raise describe(error, copy) from error
    return connection


def _put_away(path: Path) -> Path | None:
    """Give the old store a second name, and leave nothing beside the first one."""
    if not path.exists():
        _remove(path, _BESIDE)
        return None
    kept = path.with_name(f"{path.name}.replaced")
    _remove(kept, ("", *_BESIDE))
    log = path.with_name(f"{path.name}-wal")
    if log.exists():  # only where the old one is damaged: else it is in the file by now
        os.rename(log, kept.with_name(f"{kept.name}-wal"))
    _remove(path, _BESIDE)
    try:
        os.link(path, kept)
    except OSError:
        os.rename(path, kept)
    synchronise(path.parent)
    return kept


def _remove(path: Path, ends: tuple[str, ...]) -> None:
    for end in ends:
        path.with_name(path.name + end).unlink(missing_ok=True)


@contextmanager
def _alone(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Hold a store that nobody else has open, with its log written back unless it is damaged."""
    if not path.exists():
        yield None
        return
    connection = sqlite3.connect(path, isolation_level=None, timeout=1)
    try:
        try:
            connection.execute("PRAGMA secure_delete = 1").fetchall()
            # Leaving the write-ahead log takes every other connection's consent.
            (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
            if mode != "delete":
                raise _in_use(path)
            connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            found = describe(error, path)
            if found.kind == "busy":
                raise _in_use(path) from error
            if not isinstance(found, StoreCorrupt):
                raise found from error
            connection.close()
            with _locked(path):
                yield None
            return
        yield connection
    finally:
        connection.close()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a file that SQLite can no longer read, by the bytes that SQLite would lock."""
    held = os.open(path, os.O_RDWR)
    start, length = _LOCK_BYTES
    try:
        fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        yield
    except BlockingIOError:
        raise _in_use(path) from None
    finally:
        os.close(held)


def _in_use(path: Path) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} is open, here or in another process; stop the collector first",
        value=str(path),
        kind="busy",
    )


def vacuum(path: Path) -> None:
    """Rewrite a store that nobody has open, without its free pages."""
    with _alone(path) as connection:
        if connection is None:
            raise StoreCorrupt(f"{path} is damaged; restore a backup", value=str(path))
        try:
            connection.execute(f"PRAGMA auto_vacuum = {AUTO_VACUUM}").fetchall()
            connection.execute("VACUUM")
        except sqlite3.Error as error:
            raise describe(error, path) from error
