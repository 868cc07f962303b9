"""Folding and sealing in SQLite."""

from __future__ import annotations

import json

from deniable.collector.stores.sealing import next_horizon, open_window
from deniable.collector.stores.sqlite.file import SqliteFile
from deniable.collector.stores.store import Pile, Window

_MOST_ROWS = 2000
"""How many groups of reports one fold takes at most: removing them must not keep others waiting."""

_FIRST_TALLY = (
    "INSERT INTO tallies SELECT ?1, ?2, ?3, ?4, 1, NULL, ?5 WHERE ?6 = 0 ON CONFLICT DO NOTHING"
)
_NEXT_TALLY = (
    "UPDATE tallies SET n = ?4, version = version + 1, tally = ?5"
    " WHERE question = ?1 AND day = ?2 AND source = ?3 AND version = ?6"
)


class _Outrun(Exception):
    """Somebody else folded some of a pile."""


class Folding(SqliteFile):
    """Turning reports into tallies, and days into sealed ones."""

    def pile(self, least: int, most: int) -> Pile | None:
        """Return what to fold next."""
        with self._reading() as connection:
            place = connection.execute(
                "SELECT w.question, w.day, w.source, q.digest FROM waiting w"
                " JOIN questions q ON q.no = w.question AND q.state != 'deleted'"
                " GROUP BY w.question, w.day, w.source"
                " HAVING w.day <= (SELECT sealed_through FROM horizon)"
                " OR sum(length(w.reports)) >= ? OR count(*) >= ?"
                " ORDER BY w.day LIMIT 1",
                (least, _MOST_ROWS),
            ).fetchone()
            if not place:
                return None
            rows = connection.execute(
                "SELECT no, n, reports FROM (SELECT no, n, reports,"
                " sum(length(reports)) OVER (ORDER BY no) AS size, row_number() OVER (ORDER BY no)"
                " AS position FROM waiting WHERE question = ? AND day = ? AND source = ?"
                " ORDER BY no LIMIT ?) WHERE size <= ? OR position = 1 ORDER BY no",
                (*place[:3], _MOST_ROWS, most),
            ).fetchall()
            tally = connection.execute(
                "SELECT tally, version FROM tallies WHERE question = ? AND day = ? AND source = ?",
                place[:3],
            ).fetchone()
        return Pile(
            question=place[3],
            day=place[1],
            source=place[2],
            rows=tuple(row[0] for row in rows),
            n=sum(row[1] for row in rows),
            reports=b"".join(row[2] for row in rows),
            tally=tally[0] if tally else None,
            version=tally[1] if tally else 0,
        )

    def fold(self, pile: Pile, tally: bytes, n: int) -> bool:
        """Replace a pile by its tally, unless anybody was faster."""
        try:
            with self._writing() as connection:
                no = self._number(pile.question)
                place = (no, pile.day, pile.source)
                removed = connection.execute(
                    "DELETE FROM waiting WHERE no IN (SELECT value FROM json_each(?))"
                    " AND question = ? AND day = ? AND source = ?",
                    (json.dumps(pile.rows), *place),
                ).rowcount
                written = connection.execute(
                    _FIRST_TALLY if pile.tally is None else _NEXT_TALLY,
                    (*place, n, tally, pile.version),
                ).rowcount
                if removed != len(pile.rows) or written != 1:
                    raise _Outrun
        except _Outrun:
            return False
        return True

    def seal(self, *, trust_clock: bool = False) -> Window:
        """Seal the days that are older than the window."""
        with self._writing() as connection:
            sealed, last_run = connection.execute(
                "SELECT sealed_through, last_run FROM horizon"
            ).fetchone()
            today = self._today()
            found = next_horizon(sealed, last_run, today, self._window, trust_clock=trust_clock)
            if found.alarm is None:
                connection.execute(
                    "UPDATE horizon SET sealed_through = ?, last_run = ?", (found.first - 1, today)
                )
            return found

    def window(self) -> Window:
        """Return the open days."""
        with self._reading() as connection:
            found = connection.execute("SELECT sealed_through, last_run FROM horizon").fetchone()
        return open_window(found[0], found[1], self._today())
