"""The file at a path as this process has opened it: is it still the same?

A commit into a file that was deleted or replaced would be lost, and the log of one file would be
applied to another. So the file is looked at before anybody is told that something is stored: device
and inode tell another file, and a copy that was written over it is told by its first bytes.
"""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock
from typing import ClassVar

from deniable.collector.stores.base import StoreReplaced

_VERSIONS, _LOGGED = slice(18, 20), b"\2\2"
"""Where a file says that it has a write-ahead log: a store in use has one, and a copy has none."""


class Place:
    """One file that some handles of this process have open."""

    _lock: ClassVar[Lock] = Lock()
    _open: ClassVar[dict[str, Place]] = {}

    def __init__(self, path: Path) -> None:
        self.path, self._key = path, os.path.realpath(path)
        self._handles = 0
        self._identity: tuple[int, int] | None = None
        self._file: int | None = None
        self._changed = 0

    @classmethod
    def enter(cls, path: Path) -> Place:
        """Return the place that all handles at a path share, until as many have left it."""
        with cls._lock:
            new = cls(path)
            place = cls._open.setdefault(new._key, new)
            place._handles += 1
            return place

    def leave(self) -> None:
        """Forget the file when the last one leaves.

        Closing any descriptor of a file lets go of all locks that SQLite holds on it, so the one
        of this place stays open as long as a connection may.
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
        """Whether it is known which file it is."""
        return self._identity is not None

    def note(self) -> None:
        """Remember which file it is that was opened, unless that is known."""
        with self._lock:
            if self._identity is None:
                found = os.stat(self.path)
                if hasattr(os, "pread"):
                    self._file = os.open(self.path, os.O_RDONLY)
                self._identity, self._changed = (found.st_dev, found.st_ino), found.st_mtime_ns

    def look(self) -> None:
        """Refuse to go on when the file that was opened is no longer there as it was."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            raise StoreReplaced(
                f"the file of the store is no longer at {self.path}; put it back, or stop the "
                "collector and restore a backup with `deniable store restore`",
                value=str(self.path),
                kind="missing",
            ) from None
        except OSError:  # SQLite will meet it too
            return
        if (found.st_dev, found.st_ino) != self._identity or (
            found.st_mtime_ns != self._changed and self._overwritten(found.st_mtime_ns)
        ):
            raise StoreReplaced(
                f"the file at {self.path} is another one than was opened; put the first one back, "
                "or stop the collector and start it again to go on with the other",
                value=str(self.path),
            )

    def _overwritten(self, changed: int) -> bool:
        """Tell whether somebody else than SQLite wrote into the file."""
        if self._file is not None and os.pread(self._file, 20, 0)[_VERSIONS] != _LOGGED:
            return True
        self._changed = changed
        return False
