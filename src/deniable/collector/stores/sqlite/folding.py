"""Folding and sealing in SQLite."""

from __future__ import annotations

import json

from deniable.collector.stores.base import StoreCorrupt
from deniable.collector.stores.records import Pile, Window
from deniable.collector.stores.sealing import jumped, next_sealed, open_window, reopened
from deniable.collector.stores.sqlite.file import SqliteFile
from deniable.collector.stores.waiting import sort

MOST_ROWS = 2000
"""How many groups of reports one fold takes at most: removing them must not keep others waiting."""

# Damaged rows may hold anything, and IS finds NULL too.
_PLACE = (
    "SELECT w.question, w.day, w.source, q.digest FROM waiting w"
    " JOIN questions q ON q.no = w.question AND q.state != 'deleted'"
    " GROUP BY w.question, w.day, w.source"
    " HAVING w.day <= (SELECT sealed_through FROM horizon)"
    " OR sum(length(w.reports)) >= ? OR count(*) >= ?"
    " ORDER BY w.day LIMIT 1"
)
_ROWS = (
    "SELECT no, question, day, source, n, checksum, reports FROM (SELECT *,"
    " sum(length(reports)) OVER (ORDER BY no) AS size, row_number() OVER (ORDER BY no)"
    " AS position FROM waiting WHERE question IS ? AND day IS ? AND source IS ?"
    " ORDER BY no LIMIT ?) WHERE size <= ? OR position = 1 ORDER BY no"
)
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
            place = connection.execute(_PLACE, (least, MOST_ROWS)).fetchone()
            if not place:
                return None
            found = connection.execute(_ROWS, (*place[:3], MOST_ROWS, most)).fetchall()
            rows, damaged = sort(found)
            if len({row[0] for row in found}) != max(1, len(found)):
                raise self._corrupt("rows that wait are there twice, or listed and not there")
            tally = connection.execute(
                "SELECT tally, n, version FROM tallies"
                " WHERE question = ? AND day = ? AND source = ?",
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
        try:
            with self._writing() as connection:
                no = self._number(pile.question)
                place, rows = (no, pile.day, pile.source), json.dumps(pile.rows)
                removed = connection.execute(
                    "DELETE FROM waiting WHERE no IN (SELECT value FROM json_each(?))"
                    " AND question = ? AND day = ? AND source = ?",
                    (rows, *place),
                ).rowcount
                if removed != len(pile.rows):
                    if no is not None and self._listed(rows):
                        raise self._corrupt("rows that wait are listed and cannot be found")
                    raise _Outrun
                written = connection.execute(
                    _FIRST_TALLY if pile.tally is None else _NEXT_TALLY,
                    (*place, n, tally, pile.version),
                ).rowcount
                if written != 1:
                    raise _Outrun
        except _Outrun:
            return False
        return True

    def _listed(self, rows: str) -> bool:
        """Tell whether reading the whole table finds any of these rows, within a transaction."""
        (count,) = (
            self.connection()
            .execute(
                "SELECT count(*) FROM waiting WHERE +no IN (SELECT value FROM json_each(?))",
                (rows,),
            )
            .fetchone()
        )
        return bool(count)

    def _corrupt(self, said: str) -> StoreCorrupt:
        return StoreCorrupt(
            f"{self.path} is damaged: {said}; stop, keep a copy, and restore the last backup",
            value=said,
        )

    def seal(self, *, trust_clock: bool = False) -> Window:
        """Seal the days that are older than the window."""
        with self._writing() as connection:
            sealed, last_run = connection.execute(
                "SELECT sealed_through, last_run FROM horizon"
            ).fetchone()
            today = self._today()
            if trust_clock or not jumped(last_run, today):
                sealed, last_run = next_sealed(sealed, today, self._window), today
                connection.execute(
                    "UPDATE horizon SET sealed_through = ?, last_run = ?", (sealed, last_run)
                )
            return open_window(sealed, last_run, today, self._window)

    def reopen(self) -> Window:
        """Open the days again whose ids are all there."""
        with self._writing() as connection:
            sealed, forgotten = connection.execute(
                "SELECT sealed_through, forgotten_through FROM horizon"
            ).fetchone()
            today = self._today()
            sealed = reopened(sealed, forgotten, today, self._window)
            connection.execute(
                "UPDATE horizon SET sealed_through = ?, last_run = ?", (sealed, today)
            )
            return open_window(sealed, today, today, self._window)

    def window(self) -> Window:
        """Return the open days."""
        with self._reading() as connection:
            found = connection.execute("SELECT sealed_through, last_run FROM horizon").fetchone()
        return open_window(found[0], found[1], self._today(), self._window)
