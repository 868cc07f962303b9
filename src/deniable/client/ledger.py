"""The ledger: which questions a person answered, and the epsilon that was spent on them.

One row for each question. Until the answer is delivered the row holds id, day and report;
afterwards only the mark, since bytes sent again after delivery would be a pseudonym.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from deniable.client.courier import Parcel
from deniable.errors import DeniableError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    question TEXT PRIMARY KEY,
    epsilon REAL NOT NULL,
    outcome TEXT,
    id BLOB,
    day TEXT,
    report BLOB,
    doubt INTEGER NOT NULL DEFAULT 0
)
"""


class NoLedger(DeniableError):
    """The ledger cannot be written, so nothing may be sent."""


class Ledger:
    """A small SQLite file; every change is on the disk when its method returns."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            with closing(self._open()) as connection:
                connection.execute(_SCHEMA)
        except sqlite3.Error as error:
            raise NoLedger(
                f"expected a ledger that can be written at {self.path}, got: {error}; without "
                "lasting storage nothing is sent",
                value=str(path),
            ) from error

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=30)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    def find(self, question: str) -> tuple[str | None, Parcel | None] | None:
        """Return outcome and parcel of a question, or None if it was never answered."""
        with closing(self._open()) as connection:
            row = connection.execute(
                "SELECT outcome, id, report, day, doubt FROM answers WHERE question = ?",
                (question,),
            ).fetchone()
        if row is None:
            return None
        return row[0], None if row[1] is None else Parcel(row[1], row[2], row[3], bool(row[4]))

    def spent(self) -> float:
        """Return the sum of epsilon over all questions answered."""
        with closing(self._open()) as connection:
            return float(
                connection.execute("SELECT coalesce(sum(epsilon), 0) FROM answers").fetchone()[0]
            )

    def begin(self, question: str, parcel: Parcel, *, epsilon: float, budget: float) -> bool:
        """Enter a new answer; false if the question has one, or if epsilon goes beyond the budget.

        One transaction, so that two processes with one ledger cannot both answer.
        """
        with closing(self._open()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            entered = connection.execute(
                "INSERT INTO answers (question, epsilon, id, day, report)"
                " SELECT ?, ?, ?, ?, ? WHERE (SELECT coalesce(sum(epsilon), 0) FROM answers) + ?"
                " <= ? ON CONFLICT DO NOTHING",
                (question, epsilon, parcel.id, parcel.day, parcel.reports, epsilon, budget),
            ).rowcount
            connection.execute("COMMIT")
        return entered == 1

    def save(self, question: str, parcel: Parcel) -> None:
        """Note the day of a parcel, and whether an attempt may have been counted."""
        with closing(self._open()) as connection:
            connection.execute(
                "UPDATE answers SET day = ?, doubt = ? WHERE question = ?",
                (parcel.day, parcel.doubt, question),
            )

    def settle(self, question: str, outcome: str) -> None:
        """Forget id, day and report; what remains is that the question was answered."""
        with closing(self._open()) as connection:
            connection.execute(
                "UPDATE answers SET outcome = ?, id = NULL, day = NULL, report = NULL, doubt = 0"
                " WHERE question = ?",
                (outcome, question),
            )

    def pending(self) -> list[str]:
        """Return the questions whose answers are not delivered."""
        with closing(self._open()) as connection:
            rows = connection.execute("SELECT question FROM answers WHERE id IS NOT NULL")
            return [row[0] for row in rows]
