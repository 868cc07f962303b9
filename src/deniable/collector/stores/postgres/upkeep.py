"""Access keys, sweeping and checking in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

from deniable.collector.stores.postgres.database import Connection, PostgresDatabase
from deniable.collector.stores.records import Key
from deniable.collector.stores.sealing import open_window

_SOME_IDS = (
    "DELETE FROM arrivals WHERE question = %(no)s AND day = %(day)s AND id IN"
    " (SELECT id FROM arrivals WHERE question = %(no)s AND day = %(day)s LIMIT %(most)s)"
)
_OLDEST_IDS = "SELECT min(day) FROM arrivals WHERE question = %s"
_DURABLE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}


class Upkeep(PostgresDatabase):
    """What keeps a store in order."""

    def sweep(self, most: int, retention: int | None = None) -> int:
        """Remove rows that nobody needs any more."""

        def work(connection: Connection) -> int:
            ((sealed, last_run, today),) = connection.execute(
                "SELECT sealed_through, last_run, today() FROM horizon"
            )
            for no, state in connection.execute("SELECT no, state FROM questions").fetchall():
                removed = (
                    _remove_question(connection, no, most)
                    if state == "deleted"
                    else _remove_ids(connection, no, most, sealed)
                )
                if removed:
                    return removed
            if retention is None or open_window(sealed, last_run, today, self._window).alarm:
                return 0
            removed = connection.execute(
                "DELETE FROM tallies WHERE (question, day, source) IN (SELECT question, day, source"
                " FROM tallies WHERE day < %s AND day <= %s AND source NOT LIKE 'upload:%%'"
                " LIMIT %s)",
                (today - retention, sealed, most),
            ).rowcount
            if removed:  # the sums hold what must go
                connection.execute("DELETE FROM published")
            return removed

        return self._write(work)

    def erase(self) -> bool:
        """Do nothing: PostgreSQL overwrites by vacuum and by recycling its log."""
        return True

    def keep(self, key: Key) -> bool:
        """Store an access key."""

        def work(connection: Connection) -> bool:
            cursor = connection.execute(
                "INSERT INTO keys VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (key.hash, key.kind, key.role, key.name, key.expires, key.last_used),
            )
            return cursor.rowcount == 1

        return self._write(work)

    def key(self, hash: bytes) -> Key | None:
        """Return the key with this hash."""
        with self._reading() as connection:
            found = connection.execute("SELECT * FROM keys WHERE hash = %s", (hash,)).fetchone()
        return Key(*found) if found else None

    def keys(self, kind: str) -> list[Key]:
        """Return all keys of a kind."""
        with self._reading() as connection:
            rows = connection.execute(
                'SELECT * FROM keys WHERE kind = %s ORDER BY name COLLATE "C"', (kind,)
            )
            return [Key(*row) for row in rows]

    def use(self, hash: bytes, day: int) -> None:
        """Note the last day on which a key was used."""

        def work(connection: Connection) -> None:
            connection.execute("UPDATE keys SET last_used = %s WHERE hash = %s", (day, hash))

        self._write(work)

    def drop(self, hash: bytes) -> Key | None:
        """Remove a key and return it."""

        def work(connection: Connection) -> Key | None:
            found = connection.execute(
                "DELETE FROM keys WHERE hash = %s RETURNING *", (hash,)
            ).fetchone()
            return Key(*found) if found else None

        return self._write(work)

    def check(self) -> Iterator[str]:
        """Yield a sentence for each thing that is wrong."""
        with self._reading() as connection:
            for name, wanted in _DURABLE.items():
                ((found,),) = connection.execute("SELECT current_setting(%s)", (name,))
                if found != wanted:
                    yield f"{name} is {found}: acknowledged submissions can be lost"
            for table in (
                "arrivals",
                "waiting",
                "tallies",
                "published",
                "exclusions",
                "exclusions_by_day",
            ):
                ((count,),) = connection.execute(
                    f"SELECT count(*) FROM {table} WHERE question NOT IN (SELECT no FROM questions)"
                )
                if count:
                    yield f"{count} rows of {table} belong to no question"


def _remove_ids(connection: Connection, no: int, most: int, sealed: int) -> int:
    """Remove ids of the question's oldest day, if it is sealed and all of it is folded."""
    ((day,),) = connection.execute(_OLDEST_IDS, (no,))
    if day is None or day > sealed:
        return 0
    if connection.execute(
        "SELECT 1 FROM waiting WHERE question = %s AND day = %s LIMIT 1", (no, day)
    ).fetchone():
        return 0
    # Once a day is forgotten nobody opens it again; until then it is held against that.
    if (
        not connection.execute(
            "SELECT 1 FROM horizon WHERE forgotten_through >= %s", (day,)
        ).fetchone()
        and not connection.execute(
            "UPDATE horizon SET forgotten_through = %(day)s WHERE sealed_through >= %(day)s"
            " AND forgotten_through < %(day)s",
            {"day": day},
        ).rowcount
    ):
        return 0
    return connection.execute(_SOME_IDS, {"no": no, "day": day, "most": most}).rowcount


def _remove_question(connection: Connection, no: int, most: int) -> int:
    """Remove some rows of a deleted question, and itself when nothing else is left."""
    ((day,),) = connection.execute(_OLDEST_IDS, (no,))
    if day is not None:
        return connection.execute(_SOME_IDS, {"no": no, "day": day, "most": most}).rowcount
    keys = {"waiting": "no", "tallies": "(question, day, source)", "published": "no"}
    for table, key in keys.items():
        removed = connection.execute(
            f"DELETE FROM {table} WHERE {key} IN (SELECT {key.strip('()')} FROM {table}"
            " WHERE question = %s LIMIT %s)",
            (no, min(most, 100)),
        ).rowcount
        if removed:
            return removed
    for table in ("exclusions", "exclusions_by_day", "set_aside"):
        connection.execute(f"DELETE FROM {table} WHERE question = %s", (no,))
    # Of some rows it cannot be told whose they were: what they have may be this question's.
    connection.execute(
        "UPDATE set_aside SET day = NULL, source = NULL, n = NULL, content = ''"
        " WHERE question IS NULL"
    )
    return connection.execute("DELETE FROM questions WHERE no = %s", (no,)).rowcount
