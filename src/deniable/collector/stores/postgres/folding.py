"""Folding and sealing in PostgreSQL."""

from __future__ import annotations

from deniable.collector.stores.base import StoreCorrupt
from deniable.collector.stores.postgres.database import Connection, PostgresDatabase
from deniable.collector.stores.records import Pile, Window
from deniable.collector.stores.sealing import jumped, next_sealed, open_window, reopened
from deniable.collector.stores.waiting import sort

_MOST_ROWS = 2000
"""How many groups of reports one fold takes at most: removing them must not keep others waiting."""
_PLACE = (
    "SELECT w.question, w.day, w.source, q.digest FROM waiting w"
    " JOIN questions q ON q.no = w.question AND q.state != 'deleted'"
    " GROUP BY w.question, w.day, w.source, q.digest"
    " HAVING w.day <= (SELECT sealed_through FROM horizon)"
    " OR sum(length(w.reports)) >= %s OR count(*) >= %s"
    " ORDER BY w.day LIMIT 1"
)
_ROWS = (
    "SELECT no, question, day, source, n, checksum, reports FROM (SELECT *,"
    " sum(length(reports)) OVER (ORDER BY no) AS size, row_number() OVER (ORDER BY no) AS position"
    " FROM waiting WHERE question = %s AND day = %s AND source = %s ORDER BY no LIMIT %s) AS rows"
    " WHERE size <= %s OR position = 1 ORDER BY no"
)
_FIRST_TALLY = (
    "INSERT INTO tallies SELECT %(no)s, %(day)s, %(source)s, %(n)s, 1, NULL, %(tally)s"
    " WHERE %(version)s = 0 ON CONFLICT DO NOTHING"
)
_NEXT_TALLY = (
    "UPDATE tallies SET n = %(n)s, version = version + 1, tally = %(tally)s WHERE question = %(no)s"
    " AND day = %(day)s AND source = %(source)s AND version = %(version)s"
)

_MOVE = "UPDATE horizon SET sealed_through = %s, last_run = %s"


class _Outrun(Exception):
    """Somebody else folded some of a pile."""


class Folding(PostgresDatabase):
    """Turning reports into tallies, and days into sealed ones."""

    def pile(self, least: int, most: int) -> Pile | None:
        """Return what to fold next."""
        with self._reading() as connection:
            place = connection.execute(_PLACE, (least, _MOST_ROWS)).fetchone()
            if not place:
                return None
            rows, damaged = sort(
                connection.execute(_ROWS, (*place[:3], _MOST_ROWS, most)).fetchall()
            )
            if not rows and not damaged:
                raise StoreCorrupt(
                    "expected rows that wait where PostgreSQL counts some, got none; check the "
                    "database with pg_amcheck",
                    value=place[:3],
                )
            tally = connection.execute(
                "SELECT tally, n, version FROM tallies"
                " WHERE question = %s AND day = %s AND source = %s",
                place[:3],
            ).fetchone()
        return Pile(
            question=place[3],
            day=place[1],
            source=place[2],
            rows=tuple(row.no for row in rows),
            parts=tuple((row.n, row.reports) for row in rows),
            tally=tally[0] if tally else None,
            counted=tally[1] if tally else 0,
            version=tally[2] if tally else 0,
            damaged=damaged,
        )

    def fold(self, pile: Pile, tally: bytes, n: int) -> bool:
        """Replace a pile by its tally, unless anybody was faster."""

        def work(connection: Connection) -> None:
            no = self._number(pile.question)
            removed = connection.execute(
                "DELETE FROM waiting WHERE no = ANY(%s) AND question = %s AND day = %s"
                " AND source = %s",
                (list(pile.rows), no, pile.day, pile.source),
            ).rowcount
            written = connection.execute(
                _FIRST_TALLY if pile.tally is None else _NEXT_TALLY,
                {
                    "no": no,
                    "day": pile.day,
                    "source": pile.source,
                    "n": n,
                    "tally": tally,
                    "version": pile.version,
                },
            ).rowcount
            if removed != len(pile.rows) or written != 1:
                raise _Outrun

        try:
            self._write(work)
        except _Outrun:
            return False
        return True

    def seal(self, *, trust_clock: bool = False) -> Window:
        """Seal the days that are older than the window."""

        def work(connection: Connection) -> Window:
            ((sealed, last_run, today),) = connection.execute(
                "SELECT sealed_through, last_run, today() FROM horizon FOR UPDATE"
            )
            if trust_clock or not jumped(last_run, today):
                after = next_sealed(sealed, today, self._window)
                if (after, today) != (sealed, last_run):
                    connection.execute(_MOVE, (after, today))
                sealed, last_run = after, today
            return open_window(sealed, last_run, today, self._window)

        return self._write(work)

    def reopen(self) -> Window:
        """Open the days again whose ids are all there."""

        def work(connection: Connection) -> Window:
            ((sealed, forgotten, today),) = connection.execute(
                "SELECT sealed_through, forgotten_through, today() FROM horizon FOR UPDATE"
            )
            sealed = reopened(sealed, forgotten, today, self._window)
            connection.execute(_MOVE, (sealed, today))
            return open_window(sealed, today, today, self._window)

        return self._write(work)

    def window(self) -> Window:
        """Return the open days."""
        with self._reading() as connection:
            (found,) = connection.execute(
                "SELECT sealed_through, last_run, today() FROM horizon"
            ).fetchall()
        return open_window(found[0], found[1], found[2], self._window)
