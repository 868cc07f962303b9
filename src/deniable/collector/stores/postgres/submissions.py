"""Submissions into PostgreSQL: one transaction for each group."""

from __future__ import annotations

from collections.abc import Sequence

from deniable.collector.stores.group import Group, Openness, Row
from deniable.collector.stores.postgres.database import Connection, PostgresDatabase
from deniable.collector.stores.records import Outcome, State, Submission

_HOLD_DAYS = "SELECT sealed_through, today() + 1 FROM horizon FOR SHARE"
_HOLD_QUESTIONS = (
    "SELECT digest, no, state FROM questions WHERE digest = ANY(%s) ORDER BY no FOR SHARE"
)
_INSERT = (
    "INSERT INTO arrivals (question, day, id, fingerprint)"
    " SELECT * FROM unnest(%s::integer[], %s::integer[], %s::bytea[], %s::bigint[])"
    " ON CONFLICT DO NOTHING RETURNING question, day, id"
)
_FIND = (
    "SELECT question, day, id, fingerprint FROM arrivals"
    " JOIN unnest(%s::integer[], %s::integer[], %s::bytea[]) AS asked (question, day, id)"
    " USING (question, day, id)"
)
_KEEP = (
    "INSERT INTO waiting (question, day, source, n, checksum, reports)"
    " VALUES (%s, %s, %s, %s, %s, %s)"
)


class Submissions(PostgresDatabase):
    """Adding submissions."""

    def add(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Store submissions in one transaction."""

        def work(connection: Connection) -> list[Outcome]:
            group = Group(submissions, _openness(connection, submissions))
            inserted: set[Row] = set()
            if group.fresh:
                columns = [list(column) for column in zip(*group.fresh, strict=True)]
                inserted = set(connection.execute(_INSERT, columns))
            stored: Sequence[tuple[int, int, bytes, int]] = ()
            if doubtful := group.doubtful(inserted):
                # Another statement sees what the first one waited for and then found in its way.
                columns = [list(column) for column in zip(*doubtful, strict=True)]
                stored = connection.execute(_FIND, columns).fetchall()
            for bundle in group.bundles(inserted):
                connection.execute(_KEEP, bundle)
            return group.outcomes(inserted, stored)

        return self._write(work)


def _openness(connection: Connection, submissions: Sequence[Submission]) -> Openness:
    digests = sorted({submission.question for submission in submissions})
    questions = {
        digest: (no, State(state))
        for digest, no, state in connection.execute(_HOLD_QUESTIONS, (digests,))
    }
    ((sealed, last),) = connection.execute(_HOLD_DAYS)
    return Openness(questions, sealed, last)
