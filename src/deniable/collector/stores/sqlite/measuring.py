"""Measures of a SQLite file, and a write to see whether it can be written."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from shutil import disk_usage

from deniable.collector.stores.records import Measures
from deniable.collector.stores.sqlite.file import SqliteFile


class Measuring(SqliteFile):
    """Whether the file can be written, and how full it is."""

    def probe(self) -> None:
        """Write something without meaning."""
        with self._writing() as connection:
            connection.execute("UPDATE heartbeat SET beats = beats + 1")

    def measure(self) -> Measures:
        """Return how full the file and its disk are."""
        with self._reading() as connection:
            waiting, oldest = connection.execute(
                "SELECT coalesce(sum(n), 0), min(day) FROM waiting"
            ).fetchone()
            (sealed,) = connection.execute("SELECT sealed_through FROM horizon").fetchone()
            (aside,) = connection.execute("SELECT count(*) FROM set_aside").fetchone()
        log = self.path.with_name(f"{self.path.name}-wal")
        free = disk_usage(self.path.parent).free
        return Measures(waiting, oldest, sealed, aside, _size(self.path), _size(log), free)


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
