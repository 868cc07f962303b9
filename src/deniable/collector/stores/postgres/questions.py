"""Questions, and what was counted of them, in PostgreSQL."""

from __future__ import annotations

from deniable.collector.stores.postgres.database import Connection, PostgresDatabase
from deniable.collector.stores.store import Asked, Outcome, Snapshot, Source, State, Total

_COUNTED = (
    "question = %(no)s AND day BETWEEN %(first)s AND %(last)s"
    " AND source NOT IN (SELECT source FROM exclusions WHERE question = %(no)s)"
)
_NEW_EDITION = "UPDATE questions SET edition = edition + 1 WHERE no = %s"


class Questions(PostgresDatabase):
    """Questions and their counts."""

    def ask(self, asked: Asked) -> bool:
        """Store a question, unless it is there."""

        def work(connection: Connection) -> bool:
            cursor = connection.execute(
                "INSERT INTO questions (digest, document, state, terms) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT DO NOTHING",
                (asked.digest, asked.document, asked.state.value, asked.terms),
            )
            return cursor.rowcount == 1

        return self._write(work)

    def asked(self, digest: str) -> Asked | None:
        """Return a question."""
        return next((asked for asked in self.all_asked(digest)), None)

    def all_asked(self, digest: str | None = None) -> list[Asked]:
        """Return all questions, or the one with a digest."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT digest, document, state, terms, edition FROM questions"
                " WHERE state != 'deleted' AND (%(digest)s::text IS NULL OR digest = %(digest)s)"
                " ORDER BY no",
                {"digest": digest},
            ).fetchall()
        return [Asked(row[0], row[1], State(row[2]), row[3], row[4]) for row in rows]

    def change(self, digest: str, *, state: State | None = None, terms: str | None = None) -> bool:
        """Change the state or the terms of a question."""

        def work(connection: Connection) -> bool:
            cursor = connection.execute(
                "UPDATE questions SET state = coalesce(%s, state), terms = coalesce(%s, terms),"
                " edition = edition + 1 WHERE digest = %s AND state != 'deleted'",
                (state.value if state else None, terms, digest),
            )
            return cursor.rowcount == 1

        return self._write(work)

    def standing(self, digest: str, first: int, last: int) -> tuple[int, int]:
        """Return the number of reports in a range of days, and the edition."""
        with self._reading() as connection:
            no = self._number(digest)
            n, edition = connection.execute(
                "SELECT (SELECT coalesce(sum(n), 0) FROM ("
                f"SELECT n FROM tallies WHERE {_COUNTED} UNION ALL "
                f"SELECT n FROM waiting WHERE {_COUNTED}) AS counted),"
                " (SELECT edition FROM questions WHERE no = %(no)s)",
                {"no": no, "first": first, "last": last},
            ).fetchone() or (0, 0)
        return int(n), edition or 0

    def daily(self, digest: str, first: int, last: int) -> list[tuple[int, int]]:
        """Return the number of reports on each day of a range that has any."""
        with self._reading() as connection:
            found = connection.execute(
                f"SELECT day, sum(n) FROM (SELECT day, n FROM tallies WHERE {_COUNTED} UNION ALL "
                f"SELECT day, n FROM waiting WHERE {_COUNTED}) AS counted"
                " GROUP BY day ORDER BY day",
                {"no": self._number(digest), "first": first, "last": last},
            )
            return [(day, int(n)) for day, n in found]

    def snapshot(self, digest: str, first: int, last: int) -> Snapshot:
        """Return tallies and waiting reports of one moment."""
        with self._reading() as connection:
            place = {"no": self._number(digest), "first": first, "last": last}
            tallies = connection.execute(
                f"SELECT day, source, n, tally FROM tallies WHERE {_COUNTED}", place
            ).fetchall()
            waiting = connection.execute(
                f"SELECT day, source, n, reports FROM waiting WHERE {_COUNTED}", place
            ).fetchall()
        return Snapshot(
            tuple(Total(*row) for row in tallies), tuple(Total(*row) for row in waiting)
        )

    def sources(self, digest: str) -> list[Source]:
        """Return who contributed."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT source, sum(n), source IN (SELECT source FROM exclusions WHERE question ="
                " %(no)s) FROM (SELECT source, n FROM tallies WHERE question = %(no)s UNION ALL"
                " SELECT source, n FROM waiting WHERE question = %(no)s) AS counted"
                ' GROUP BY source ORDER BY source COLLATE "C"',
                {"no": self._number(digest)},
            ).fetchall()
        return [Source(row[0], int(row[1]), row[2]) for row in rows]

    def exclude(self, digest: str, source: str, excluded: bool) -> bool:
        """Leave a source out, or take it in again."""
        if all(source != found.name for found in self.sources(digest)):
            return False

        def work(connection: Connection) -> None:
            no = self._number(digest)
            connection.execute(
                "INSERT INTO exclusions VALUES (%s, %s) ON CONFLICT DO NOTHING"
                if excluded
                else "DELETE FROM exclusions WHERE question = %s AND source = %s",
                (no, source),
            )
            connection.execute(_NEW_EDITION, (no,))

        self._write(work)
        return True

    def upload(self, digest: str, total: Total, fingerprint: bytes) -> Outcome:
        """Add a tally as a source of its own."""

        def work(connection: Connection) -> Outcome:
            # The lock makes two uploads of one id wait for each other, whatever their days.
            found = connection.execute(
                "SELECT no FROM questions WHERE digest = %s AND state != 'deleted' FOR UPDATE",
                (digest,),
            ).fetchone()
            if not found:
                return Outcome.UNKNOWN
            (no,) = found
            before = connection.execute(
                "SELECT day, fingerprint FROM tallies WHERE question = %s AND source = %s",
                (no, total.source),
            ).fetchone()
            if before:
                same = before == (total.day, fingerprint)
                return Outcome.REPEATED if same else Outcome.CONFLICT
            connection.execute(
                "INSERT INTO tallies VALUES (%s, %s, %s, %s, 1, %s, %s)",
                (no, total.day, total.source, total.n, fingerprint, total.data),
            )
            connection.execute(_NEW_EDITION, (no,))
            return Outcome.STORED

        return self._write(work)
