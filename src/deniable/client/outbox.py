"""The outbox: many reports on their way, on the disk before the first of them is sent.

A bulk sender that is interrupted goes on with the same ids, days and bytes, and never draws again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from deniable.client.courier import Outcome, Parcel
from deniable.errors import InvalidDocument

_FORMAT = "deniable-outbox-1"
_SCHEMA = """
CREATE TABLE outbox (format TEXT NOT NULL, address TEXT NOT NULL, question TEXT NOT NULL);
CREATE TABLE parcels (
    no INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    outcome TEXT,
    id BLOB,
    day TEXT,
    reports BLOB,
    doubt INTEGER NOT NULL DEFAULT 0
);
"""


class Outbox:
    """A file of parcels for one question of one collector."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA secure_delete = ON")
        try:
            found = self._connection.execute("SELECT * FROM outbox").fetchone()
        except sqlite3.Error:
            found = None
        if found is None or found[0] != _FORMAT:
            raise InvalidDocument(
                f"expected an outbox at {path}, got something else; name another file",
                value=str(path),
            )
        self.address, self.question = str(found[1]), str(found[2])

    @staticmethod
    def create(
        path: Path, *, address: str, question: str, parcels: Iterable[tuple[int, Parcel]]
    ) -> Outbox:
        """Write a new outbox, which takes its name only when all of it is on the disk."""
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.unlink(missing_ok=True)
        try:
            connection = sqlite3.connect(temporary, isolation_level=None)
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(_SCHEMA)
            connection.execute("BEGIN")
            connection.execute("INSERT INTO outbox VALUES (?, ?, ?)", (_FORMAT, address, question))
            connection.executemany(
                "INSERT INTO parcels (count, id, reports) VALUES (?, ?, ?)",
                ((count, parcel.id, parcel.reports) for count, parcel in parcels),
            )
            connection.execute("COMMIT")
            connection.close()
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
        return Outbox(path)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def count(self, outcome: Outcome | None = None) -> int:
        """Return the number of reports, of all parcels or of those that ended in one way."""
        condition = "" if outcome is None else " WHERE coalesce(outcome, 'pending') = ?"
        found = self._connection.execute(
            f"SELECT coalesce(sum(count), 0) FROM parcels{condition}",
            () if outcome is None else (outcome.value,),
        ).fetchone()
        return int(found[0])

    def hold(self, most: int, day: str) -> list[tuple[int, int, Parcel]]:
        """Take some parcels that are not delivered, each with number and count, to send them now.

        Before this returns they are noted as doubtful, with ``day`` where they had none: a sender
        that ends here does not know what became of them.
        """
        with self._lock:
            rows = self._connection.execute(
                "SELECT no, count, id, reports, coalesce(day, ?), doubt FROM parcels"
                " WHERE outcome IS NULL ORDER BY no LIMIT ?",
                (day, most),
            ).fetchall()
            self._connection.execute("BEGIN")
            self._connection.executemany(
                "UPDATE parcels SET day = ?, doubt = 1 WHERE no = ?",
                [(row[4], row[0]) for row in rows],
            )
            self._connection.execute("COMMIT")
        return [(row[0], row[1], Parcel(row[2], row[3], row[4], bool(row[5]))) for row in rows]

    def save(self, no: int, parcel: Parcel) -> None:
        """Note the day of a parcel, and whether an attempt may have been counted."""
        with self._lock:
            self._connection.execute(
                "UPDATE parcels SET day = ?, doubt = ? WHERE no = ?", (parcel.day, parcel.doubt, no)
            )

    def settle(self, ends: Iterable[tuple[int, Outcome]]) -> None:
        """Forget everything about some parcels but how they ended."""
        with self._lock:
            self._connection.execute("BEGIN")
            self._connection.executemany(
                "UPDATE parcels SET outcome = ?, id = NULL, day = NULL, reports = NULL, doubt = 0"
                " WHERE no = ?",
                [(outcome.value, no) for no, outcome in ends],
            )
            self._connection.execute("COMMIT")
