"""Rows that cannot be used, in SQLite: found, set aside, and listed."""

from __future__ import annotations

from collections.abc import Mapping

from deniable.collector.stores.records import Aside, Pile
from deniable.collector.stores.sqlite.folding import Folding
from deniable.collector.stores.waiting import HEAD, Row, ascending, read, remains, sort

_ASIDE = (
    "INSERT INTO set_aside (question, day, source, n, content, origin, reason)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)


class Damage(Folding):
    """What is done about rows that cannot be used."""

    def damaged(self) -> dict[int, str]:
        """Say which rows belong nowhere."""
        with self._reading() as connection:
            rows = connection.execute(f"SELECT {HEAD} FROM waiting ORDER BY no").fetchall()
            known = {no for (no,) in connection.execute("SELECT no FROM questions").fetchall()}
        if not ascending(rows):
            raise self._corrupt("the rows that wait are not in order")
        sound, damaged = sort(rows)
        for row in sound:
            if row.question not in known:
                damaged[row.no] = "it belongs to no question"
        return damaged

    def set_aside(self, rows: Mapping[int, str]) -> int:
        """Move rows, with the reasons."""
        moved = 0
        with self._writing() as connection:
            for no, reason in rows.items():
                row = connection.execute(
                    f"SELECT {HEAD}, reports FROM waiting WHERE no = ?", (no,)
                ).fetchone()
                if row is None:
                    if self._listed(f"[{no:d}]"):
                        raise self._corrupt("rows that wait are listed and cannot be found")
                    continue  # another process was faster
                connection.execute(_ASIDE, (*remains(row), "waiting", reason))
                connection.execute("DELETE FROM waiting WHERE no = ?", (no,))
                if isinstance(read(row[:6]), Row):
                    connection.execute(
                        "UPDATE questions SET edition = edition + 1 WHERE no = ?", (row[1],)
                    )
                moved += 1
        return moved

    def set_tally_aside(self, pile: Pile, reason: str) -> bool:
        """Move the tally of a pile."""
        with self._writing() as connection:
            no = self._number(pile.question)
            found = connection.execute(
                "DELETE FROM tallies WHERE question = ? AND day = ? AND source = ?"
                " AND version = ? RETURNING question, day, source, n, tally",
                (no, pile.day, pile.source, pile.version),
            ).fetchone()
            if found is None:
                return False
            connection.execute(_ASIDE, (*found, "tallies", reason))
            connection.execute("UPDATE questions SET edition = edition + 1 WHERE no = ?", (no,))
        return True

    def aside(self) -> list[Aside]:
        """Return what was set aside."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT origin, q.digest, day, source, n, reason FROM set_aside"
                " LEFT JOIN questions q ON q.no = question ORDER BY set_aside.no"
            ).fetchall()
        return [Aside(*row) for row in rows]
