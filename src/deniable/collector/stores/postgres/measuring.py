"""Measures of a PostgreSQL database, and a write to see whether it can be written."""

from __future__ import annotations

from deniable.collector.stores.postgres.database import Connection, PostgresDatabase
from deniable.collector.stores.records import Measures

_SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'deniable'"
    " AND c.relkind IN ('r', 'm')"
)


class Measuring(PostgresDatabase):
    """Whether the database can be written, and how full it is."""

    def probe(self) -> None:
        """Write something without meaning; of several collectors one is enough at a time."""

        def work(connection: Connection) -> None:
            connection.execute("UPDATE heartbeat SET beats = beats + 1")

        self._write(work)

    def measure(self) -> Measures:
        """Return how full the tables are; the disk is the database's own business."""
        with self._reading() as connection:
            ((waiting, oldest),) = connection.execute(
                "SELECT coalesce(sum(n), 0), min(day) FROM waiting"
            )
            ((sealed,),) = connection.execute("SELECT sealed_through FROM horizon")
            ((aside,),) = connection.execute("SELECT count(*) FROM set_aside")
            ((size,),) = connection.execute(_SIZE)
        return Measures(int(waiting), oldest, sealed, aside, float(size))
