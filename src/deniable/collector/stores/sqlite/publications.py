"""Published sums in SQLite."""

from __future__ import annotations

from deniable.collector.stores.records import MOST_PUBLISHED, Publication, Slice
from deniable.collector.stores.sqlite.file import Bounds, SqliteFile

_AT = "question = ? AND first = ? AND last = ?"
_OLD = (
    "DELETE FROM published WHERE question = ?1 AND no NOT IN"
    " (SELECT no FROM published WHERE question = ?1 ORDER BY no DESC LIMIT ?2)"
)


class Publications(SqliteFile):
    """Sums as they were last shown."""

    def published(self, part: Slice) -> Publication | None:
        """Return the sum of a range of days as it was last shown."""
        with self._reading():
            return self._find(self._bounds(part))

    def publish(self, part: Slice, new: Publication, before: Publication | None) -> Publication:
        """Show a new sum, unless another one was published meanwhile."""
        with self._writing() as connection:
            place = self._bounds(part)
            found = self._find(place)
            if place[0] is None or (found and not found.same(before)):
                return found or new
            connection.execute(f"DELETE FROM published WHERE {_AT}", place)
            connection.execute(
                "INSERT INTO published (question, first, last, n, edition, tally, days)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*place, new.n, new.edition, new.tally, new.days),
            )
            connection.execute(_OLD, (place[0], MOST_PUBLISHED))
            return new

    def _find(self, place: Bounds) -> Publication | None:
        found = (
            self.connection()
            .execute(f"SELECT n, edition, tally, days FROM published WHERE {_AT}", place)
            .fetchone()
        )
        return Publication(*found) if found else None
