"""Rows that cannot be used, in PostgreSQL: found, set aside, and listed."""

from __future__ import annotations

from collections.abc import Mapping

from deniable.collector.stores.postgres.database import Connection, PostgresDatabase
from deniable.collector.stores.records import Aside, Pile
from deniable.collector.stores.waiting import HEAD, Row, read, remains, sort

_ASIDE = (
    "INSERT INTO set_aside (question, day, source, n, content, origin, reason)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s)"
)
_NEW_EDITION = "UPDATE questions SET edition = edition + 1 WHERE no = %s"


class Damage(PostgresDatabase):
    """What is done about rows that cannot be used."""

    def damaged(self) -> dict[int, str]:
        """Say which rows belong nowhere."""
        with self._reading() as connection:
            rows = connection.execute(f"SELECT {HEAD} FROM waiting ORDER BY no").fetchall()
            known = {no for (no,) in connection.execute("SELECT no FROM questions")}
        sound, damaged = sort(rows)
        for row in sound:
            if row.question not in known:
                damaged[row.no] = "it belongs to no question"
        return damaged

    def set_aside(self, rows: Mapping[int, str]) -> int:
        """Move rows, with the reasons."""

        def work(connection: Connection) -> int:
            found = connection.execute(
                f"DELETE FROM waiting WHERE no = ANY(%s) RETURNING {HEAD}, reports", (list(rows),)
            ).fetchall()
            for row in sorted(found):
                connection.execute(_ASIDE, (*remains(row), "waiting", rows[row[0]]))
                if isinstance(read(row[:6]), Row):
                    connection.execute(_NEW_EDITION, (row[1],))
            return len(found)

        return self._write(work)

    def set_tally_aside(self, pile: Pile, reason: str) -> bool:
        """Move the tally of a pile."""

        def work(connection: Connection) -> bool:
            no = self._number(pile.question)
            found = connection.execute(
                "DELETE FROM tallies WHERE question = %s AND day = %s AND source = %s"
                " AND version = %s RETURNING question, day, source, n, tally",
                (no, pile.day, pile.source, pile.version),
            ).fetchone()
            if found is None:
                return False
            connection.execute(_ASIDE, (*found, "tallies", reason))
            connection.execute(_NEW_EDITION, (no,))
            return True

        return self._write(work)

    def aside(self) -> list[Aside]:
        """Return what was set aside."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT origin, q.digest, day, source, n, reason FROM set_aside"
                " LEFT JOIN questions q ON q.no = question ORDER BY set_aside.no"
            ).fetchall()
        return [Aside(*row) for row in rows]
