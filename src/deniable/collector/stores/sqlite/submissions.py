"""Submissions into SQLite: one transaction for each group."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache

from deniable.collector.stores.group import Group, Openness, Row
from deniable.collector.stores.records import Outcome, State, Submission
from deniable.collector.stores.sqlite.file import SqliteFile

Fresh = tuple[int, int, bytes, int]
"""A row to insert: question, day, id, fingerprint."""
_LARGEST_CHUNK = 512
"""Rows of one statement: few different statements, and few calls for many rows."""


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
                    "INSERT INTO waiting (question, day, source, n, checksum, reports)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
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


def _insert(connection: sqlite3.Connection, rows: Sequence[Fresh]) -> set[Row]:
    """Insert the rows whose keys are new, and return these keys.

    What is there is asked for first, which is little. RETURNING would give every row to Python one
    by one, and each time wait for the event loop's turn to end.
    """
    inserted = {row[:3] for row in rows}
    for values in _chunks(rows):
        inserted.difference_update(connection.execute(_known(len(values) // 4), values).fetchall())
    for values in _chunks([row for row in rows if row[:3] in inserted]):
        connection.execute(_new(len(values) // 4), values)
    return inserted


def _chunks(rows: Sequence[Fresh]) -> Iterator[list[int | bytes]]:
    """Yield the values of some rows at a time, the last row repeated up to a power of two."""
    for start in range(0, len(rows), _LARGEST_CHUNK):
        chunk = rows[start : start + _LARGEST_CHUNK]
        values = [value for row in chunk for value in row]
        yield values + [*chunk[-1]] * ((1 << (len(chunk) - 1).bit_length()) - len(chunk))


@cache
def _known(size: int) -> str:
    places = ", ".join(["(?, ?, ?, ?)"] * size)
    return (
        f"WITH asked (question, day, id, fingerprint) AS (VALUES {places})"
        " SELECT a.question, a.day, a.id FROM asked CROSS JOIN arrivals AS a"
        " ON a.question = asked.question AND a.day = asked.day AND a.id = asked.id"
    )


@cache
def _new(size: int) -> str:
    places = ", ".join(["(?, ?, ?, ?)"] * size)
    return (
        f"INSERT INTO arrivals (question, day, id, fingerprint) VALUES {places}"
        " ON CONFLICT DO NOTHING"
    )
