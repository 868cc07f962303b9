"""Submissions into SQLite: one transaction for each group."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from deniable.collector.stores.group import Group, Openness, Row
from deniable.collector.stores.sqlite.file import SqliteFile
from deniable.collector.stores.store import Outcome, State, Submission

_CHUNKS = (128, 32, 8, 1)
"""Rows of one INSERT: few different statements, and few calls for many rows."""


class Submissions(SqliteFile):
    """Adding submissions."""

    def add(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Store submissions in one transaction."""
        with self._writing() as connection:
            group = Group(submissions, self._openness(connection, submissions))
            inserted = _insert(connection, group.fresh)
            stored = []
            for key in group.doubtful(inserted):
                found = connection.execute(
                    "SELECT fingerprint FROM arrivals WHERE question = ? AND day = ? AND id = ?",
                    key,
                ).fetchone()
                if found:
                    stored.append((*key, found[0]))
            for bundle in group.bundles(inserted):
                connection.execute(
                    "INSERT INTO waiting (question, day, source, n, reports)"
                    " VALUES (?, ?, ?, ?, ?)",
                    bundle,
                )
        return group.outcomes(inserted, stored)

    def _openness(
        self, connection: sqlite3.Connection, submissions: Sequence[Submission]
    ) -> Openness:
        questions: dict[str, tuple[int, State]] = {}
        for digest in {submission.question for submission in submissions}:
            found = connection.execute(
                "SELECT no, state FROM questions WHERE digest = ?", (digest,)
            ).fetchone()
            if found:
                questions[digest] = found[0], State(found[1])
        (sealed,) = connection.execute("SELECT sealed_through FROM horizon").fetchone()
        return Openness(questions, sealed, self._today() + 1)


def _insert(
    connection: sqlite3.Connection, rows: Sequence[tuple[int, int, bytes, int]]
) -> set[Row]:
    """Insert the rows whose keys are new, and return these keys."""
    inserted: set[Row] = set()
    start = 0
    while start < len(rows):
        size = next(size for size in _CHUNKS if size <= len(rows) - start)
        places = ", ".join(["(?, ?, ?, ?)"] * size)
        values = [value for row in rows[start : start + size] for value in row]
        inserted.update(
            connection.execute(
                "INSERT INTO arrivals (question, day, id, fingerprint)"
                f" VALUES {places} ON CONFLICT DO NOTHING RETURNING question, day, id",
                values,
            ).fetchall()
        )
        start += size
    return inserted
