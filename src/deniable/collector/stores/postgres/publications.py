"""Published sums in PostgreSQL."""

from __future__ import annotations

from deniable.collector.stores.postgres.database import Bounds, Connection, PostgresDatabase
from deniable.collector.stores.records import MOST_PUBLISHED, Publication, Slice

_FIND = (
    "SELECT n, edition, tally, days FROM published WHERE question = %s AND first = %s AND last = %s"
)
_REPLACE = (
    "DELETE FROM published WHERE question = %s AND first = %s AND last = %s AND n = %s"
    " AND edition = %s"
)
_INSERT = (
    "INSERT INTO published (question, first, last, n, edition, tally, days)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
)
_OLD = (
    "DELETE FROM published WHERE question = %(no)s AND no NOT IN"
    " (SELECT no FROM published WHERE question = %(no)s ORDER BY no DESC LIMIT %(most)s)"
)


class Publications(PostgresDatabase):
    """Sums as they were last shown."""

    def published(self, part: Slice) -> Publication | None:
        """Return the sum of a range of days as it was last shown."""
        with self._reading() as connection:
            return _find(connection, self._bounds(part))

    def publish(self, part: Slice, new: Publication, before: Publication | None) -> Publication:
        """Show a new sum, unless another one was published meanwhile."""

        def work(connection: Connection) -> Publication:
            place = self._bounds(part)
            if place[0] is None:
                return new
            # Of two who replace the same row the second finds it gone, and then the first's.
            if before is not None:
                connection.execute(_REPLACE, (*place, before.n, before.edition))
            connection.execute(_INSERT, (*place, new.n, new.edition, new.tally, new.days))
            connection.execute(_OLD, {"no": place[0], "most": MOST_PUBLISHED})
            return _find(connection, place) or new

        return self._write(work)


def _find(connection: Connection, place: Bounds) -> Publication | None:
    found = connection.execute(_FIND, place).fetchone()
    return Publication(*found) if found else None
