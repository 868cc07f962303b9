"""A disk that can lose power, fill up, and fail: a layer below SQLite that knows what was synced.

Every write goes to the real file and is also noted; a sync makes what was noted durable. When the
power goes, what was not synced may be there or not, each write by chance and the last one in part.
"""

from __future__ import annotations

import gc
import random
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import apsw

from deniable.collector.stores.sqlite_file import configure

SECTOR = 512
Write = tuple[int, bytes] | int
"""An offset with bytes, or a new length."""


class PowerCut(Exception):
    """The machine is off."""


@dataclass
class File:
    """What of a file is durable, and what was written since."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Write] = field(default_factory=list)

    def image(self, chance: random.Random) -> bytes:
        """Return the file as it may look when the power comes back."""
        content = bytearray(self.durable)
        for write in self.pending:
            fate = chance.random()
            if fate < 0.45:
                continue
            if fate < 0.6 and not isinstance(write, int):
                offset, data = write
                keep = SECTOR * chance.randrange(len(data) // SECTOR + 1)
                _apply(content, (offset, data[:keep]))
            else:
                _apply(content, write)
        return bytes(content)


def _apply(content: bytearray, write: Write) -> None:
    if isinstance(write, int):
        del content[write:]
        return
    offset, data = write
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


class Disk:
    """All files that SQLite writes, and what goes wrong with them."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.operations = 0
        self.cut_at: int | None = None
        self.fail_at: int | None = None
        self.failure = "full"
        self.off = False
        self.failures = 0
        self._lock = Lock()

    def touch(self, kind: str, length: int = 0) -> int:
        """Count an operation, and let it go wrong if its time has come.

        Returns how many bytes to write: fewer than asked for where the write is to be short.
        """
        with self._lock:
            self.operations += 1
            if self.off or (self.cut_at is not None and self.operations >= self.cut_at):
                self.off = True
                raise apsw.IOError("the machine is off")
            if self.fail_at is not None and self.operations >= self.fail_at:
                self.failures += 1
                if kind == "write" and self.failure == "full":
                    raise apsw.FullError("no space is left")
                if kind == "write" and self.failure == "short":
                    return length // 2
                if kind == "sync" or self.failure == "error":
                    raise apsw.IOError("the disk failed")
        return length

    def heal(self) -> None:
        """Let everything succeed from now on."""
        self.fail_at = None

    def images(self, chance: random.Random) -> dict[str, bytes]:
        """Return all files as they may look when the power comes back."""
        return {name: file.image(chance) for name, file in self.files.items()}


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore errors that SQLite cannot pass on: they are the ones that the test ordered."""
    before, sys.unraisablehook = sys.unraisablehook, lambda error: None
    try:
        yield
    finally:
        gc.collect()
        sys.unraisablehook = before


class _Handle(apsw.VFSFile):
    def __init__(self, disk: Disk, base: str, name: str | apsw.URIFilename, flags: list[int]):
        super().__init__(base, name, flags)
        path = name if isinstance(name, str) or name is None else name.filename()
        self._disk = disk
        self._file = disk.files.setdefault(str(path), File())

    def xWrite(self, data: bytes, offset: int) -> None:
        length = self._disk.touch("write", len(data))
        super().xWrite(data[:length], offset)
        self._file.pending.append((offset, bytes(data[:length])))
        if length < len(data):
            raise apsw.FullError("a short write")

    def xTruncate(self, newsize: int) -> None:
        self._disk.touch("truncate")
        super().xTruncate(newsize)
        self._file.pending.append(newsize)

    def xSync(self, flags: int) -> None:
        self._disk.touch("sync")
        for write in self._file.pending:
            _apply(self._file.durable, write)
        self._file.pending.clear()


class Layer(apsw.VFS):
    """The layer that SQLite is told to use; nothing is really synced, since the model knows."""

    def __init__(self, name: str, disk: Disk) -> None:
        super().__init__(name, "")
        self._disk = disk

    def xOpen(self, name: str | apsw.URIFilename, flags: list[int]) -> _Handle:
        return _Handle(self._disk, "", name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self._disk.files.pop(filename, None)


class Rows:
    """The result of a statement, as ``sqlite3`` gives it."""

    def __init__(self, rows: list[tuple[object, ...]], rowcount: int) -> None:
        self._rows, self.rowcount = rows, rowcount

    def fetchone(self) -> tuple[object, ...] | None:
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> list[tuple[object, ...]]:
        return self._rows

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        return iter(self._rows)


class Connection:
    """The few methods of a ``sqlite3.Connection`` that the store uses, on a disk of ours."""

    def __init__(self, path: Path, layer: str, synchronous: str | None = None) -> None:
        self._connection = apsw.Connection(str(path), vfs=layer)
        configure(self)
        if synchronous is not None:
            self.execute(f"PRAGMA synchronous = {synchronous}")

    def execute(self, statement: str, values: Sequence[object] = ()) -> Rows:
        try:
            rows = self._connection.execute(statement, tuple(values)).fetchall()
            return Rows(rows, self._connection.changes())
        except apsw.Error as error:
            raise _translated(error) from error

    def close(self) -> None:
        try:
            self._connection.close()
        except apsw.Error as error:
            raise _translated(error) from error


def _translated(error: apsw.Error) -> sqlite3.Error:
    found = sqlite3.OperationalError(str(error))
    usual = sqlite3.SQLITE_FULL if isinstance(error, apsw.FullError) else sqlite3.SQLITE_ERROR
    found.sqlite_errorcode = getattr(error, "extendedresult", getattr(error, "result", usual))
    return found
