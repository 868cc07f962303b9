"""Questions, and what was counted of them, in SQLite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from deniable.collector.stores.records import (
    Asked,
    Holding,
    Outcome,
    Slice,
    Snapshot,
    Source,
    State,
    Total,
)
from deniable.collector.stores.sqlite.file import Bounds, SqliteFile
from deniable.collector.stores.waiting import HEAD, Row, holding, sound

_COUNTED = (
    "question = ? AND day BETWEEN ? AND ?"
    " AND (question, source) NOT IN (SELECT question, source FROM exclusions)"
    " AND (question, source, day) NOT IN (SELECT question, source, day FROM exclusions_by_day)"
)


class Questions(SqliteFile):
    """Questions and their counts."""

    def ask(self, asked: Asked) -> bool:
        """Store a question, unless it is there."""
        with self._writing() as connection:
            cursor = connection.execute(
                "INSERT INTO questions (digest, document, state, terms) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (asked.digest, asked.document, asked.state.value, asked.terms),
            )
            return cursor.rowcount == 1

    def asked(self, digest: str) -> Asked | None:
        """Return a question."""
        return next((asked for asked in self.all_asked(digest)), None)

    def all_asked(self, digest: str | None = None) -> list[Asked]:
        """Return all questions, or the one with a digest."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT digest, document, state, terms, edition FROM questions"
                " WHERE state != 'deleted' AND (?1 IS NULL OR digest = ?1) ORDER BY no",
                (digest,),
            ).fetchall()
        return [Asked(row[0], row[1], State(row[2]), row[3], row[4]) for row in rows]

    def change(self, digest: str, *, state: State | None = None, terms: str | None = None) -> bool:
        """Change the state or the terms of a question."""
        with self._writing() as connection:
            cursor = connection.execute(
                "UPDATE questions SET state = coalesce(?, state), terms = coalesce(?, terms),"
                " edition = edition + 1 WHERE digest = ? AND state != 'deleted'",
                (state.value if state else None, terms, digest),
            )
            return cursor.rowcount == 1

    def standing(self, part: Slice) -> tuple[int, int]:
        """Return the number of reports in a range of days, and the edition."""
        with self._reading() as connection:
            place = self._bounds(part)
            found = connection.execute(
                "SELECT edition FROM questions WHERE no = ?", place[:1]
            ).fetchone()
            if not found:
                return 0, 0
            (n,) = connection.execute(
                f"SELECT coalesce(sum(n), 0) FROM tallies WHERE {_COUNTED}", place
            ).fetchone()
            return int(n) + sum(row.n for row in self._waiting(place)), found[0]

    def _waiting(self, place: Bounds) -> list[Row]:
        """Return the sound rows that wait in a range of days, without their reports."""
        return sound(
            self.connection()
            .execute(f"SELECT {HEAD} FROM waiting WHERE {_COUNTED}", place)
            .fetchall()
        )

    def daily(self, part: Slice) -> list[tuple[int, int]]:
        """Return the number of reports on each day of a range that has any."""
        with self._reading() as connection:
            place = self._bounds(part)
            counts: Counter[int] = Counter()
            for day, n in connection.execute(
                f"SELECT day, sum(n) FROM tallies WHERE {_COUNTED} GROUP BY day", place
            ).fetchall():
                counts[day] = int(n)
            for row in self._waiting(place):
                counts[row.day] += row.n
            return sorted(counts.items())

    def snapshot(self, part: Slice) -> Snapshot:
        """Return tallies and waiting reports of one moment."""
        with self._reading() as connection:
            place = self._bounds(part)
            tallies = connection.execute(
                f"SELECT day, source, n, tally FROM tallies WHERE {_COUNTED}", place
            ).fetchall()
            waiting = connection.execute(
                f"SELECT {HEAD}, reports FROM waiting WHERE {_COUNTED}", place
            ).fetchall()
        return Snapshot(
            tuple(Total(*row) for row in tallies),
            tuple(Total(row.day, row.source, row.n, row.reports) for row in sound(waiting)),
        )

    def holdings(self, digest: str) -> Iterator[Holding]:
        """Yield all rows of one moment."""
        with self._reading() as connection:
            no = self._number(digest)
            for table, source in (("tallies", "day, source"), ("published", "first, ''")):
                query = f"SELECT {source}, n, tally FROM {table} WHERE question = ?"
                for row in connection.execute(query, (no,)):
                    yield Holding(table, Total(*row))
            query = f"SELECT {HEAD}, reports FROM waiting WHERE question = ? ORDER BY no"
            for row in connection.execute(query, (no,)):
                yield holding(row)

    def sources(self, digest: str) -> list[Source]:
        """Return who contributed."""
        with self._reading() as connection:
            no = self._number(digest)
            counts: Counter[str] = Counter()
            for source, n in connection.execute(
                "SELECT source, sum(n) FROM tallies WHERE question = ? GROUP BY source", (no,)
            ).fetchall():
                counts[source] = int(n)
            waiting = f"SELECT {HEAD} FROM waiting WHERE question = ?"
            for row in sound(connection.execute(waiting, (no,)).fetchall()):
                counts[row.source] += row.n
            excluded = {
                source
                for (source,) in connection.execute(
                    "SELECT source FROM exclusions WHERE question = ?", (no,)
                ).fetchall()
            }
            days: dict[str, list[int]] = {}
            for source, day in connection.execute(
                "SELECT source, day FROM exclusions_by_day WHERE question = ? ORDER BY day", (no,)
            ).fetchall():
                days.setdefault(source, []).append(day)
        return [
            Source(name, n, name in excluded, tuple(days.get(name, ())))
            for name, n in sorted(counts.items())
        ]

    def exclude(self, digest: str, source: str, excluded: bool, *, day: int | None = None) -> bool:
        """Leave a source out, or take it in again."""
        if all(source != found.name for found in self.sources(digest)):
            return False
        table, place = ("exclusions", ()) if day is None else ("exclusions_by_day", (day,))
        with self._writing() as connection:
            no = self._number(digest)
            values = (no, source, *place)
            connection.execute(
                f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(values))})"
                if excluded
                else f"DELETE FROM {table} WHERE question = ? AND source = ?"
                f"{' AND day = ?' if place else ''}",
                values,
            )
            connection.execute("UPDATE questions SET edition = edition + 1 WHERE no = ?", (no,))
        return True

    def upload(self, digest: str, total: Total, fingerprint: bytes) -> Outcome:
        """Add a tally as a source of its own."""
        with self._writing() as connection:
            no = self._number(digest)
            if no is None:
                return Outcome.UNKNOWN
            found = connection.execute(
                "SELECT day, fingerprint FROM tallies WHERE question = ? AND source = ?",
                (no, total.source),
            ).fetchone()
            if found:
                same = found == (total.day, fingerprint)
                return Outcome.REPEATED if same else Outcome.CONFLICT
            connection.execute(
                "INSERT INTO tallies VALUES (?, ?, ?, ?, 1, ?, ?)",
                (no, total.day, total.source, total.n, fingerprint, total.data),
            )
            connection.execute("UPDATE questions SET edition = edition + 1 WHERE no = ?", (no,))
            return Outcome.STORED
