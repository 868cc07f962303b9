"""Access keys, sweeping and checking in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from deniable.collector.stores.records import Key
from deniable.collector.stores.sealing import open_window
from deniable.collector.stores.sqlite.connection import SETTINGS, describe
from deniable.collector.stores.sqlite.file import SqliteFile

_FEW_PAGES = 1024
"""Pages that are given back at once, and that may be free without anybody minding."""


class Upkeep(SqliteFile):
    """What keeps a store in order."""

    def sweep(self, most: int, retention: int | None = None) -> int:
        """Remove rows that nobody needs any more."""
        with self._writing() as connection:
            sealed, last_run = connection.execute(
                "SELECT sealed_through, last_run FROM horizon"
            ).fetchone()
            for no, state in connection.execute("SELECT no, state FROM questions").fetchall():
                removed = (
                    _remove_question(connection, no, most)
                    if state == "deleted"
                    else _remove_ids(connection, no, most, sealed)
                )
                if removed:
                    return removed
            today = self._today()
            if retention is None or open_window(sealed, last_run, today, self._window).alarm:
                return _shrink(connection)
            removed = connection.execute(
                "DELETE FROM tallies WHERE rowid IN (SELECT rowid FROM tallies WHERE day < ?"
                " AND day <= ? AND source NOT LIKE 'upload:%' LIMIT ?)",
                (today - retention, sealed, most),
            ).rowcount
            if removed:  # the sums hold what must go
                connection.execute("DELETE FROM published")
            return removed or _shrink(connection)

    def erase(self) -> bool:
        """Empty the write-ahead log, where removed rows are still to be found."""
        self._place.look()
        try:
            connection = self.connection()
            connection.execute("PRAGMA busy_timeout = 0").fetchall()
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {SETTINGS['busy_timeout']}").fetchall()
        except sqlite3.Error as error:
            self._give_up()
            raise describe(error, self.path) from error
        return not busy

    def keep(self, key: Key) -> bool:
        """Store an access key."""
        with self._writing() as connection:
            cursor = connection.execute(
                "INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (key.hash, key.kind, key.role, key.name, key.expires, key.last_used),
            )
            return cursor.rowcount == 1

    def key(self, hash: bytes) -> Key | None:
        """Return the key with this hash."""
        with self._reading() as connection:
            found = connection.execute("SELECT * FROM keys WHERE hash = ?", (hash,)).fetchone()
        return Key(*found) if found else None

    def keys(self, kind: str) -> list[Key]:
        """Return all keys of a kind."""
        with self._reading() as connection:
            rows = connection.execute("SELECT * FROM keys WHERE kind = ? ORDER BY name", (kind,))
            return [Key(*row) for row in rows.fetchall()]

    def use(self, hash: bytes, day: int) -> None:
        """Note the last day on which a key was used."""
        with self._writing() as connection:
            connection.execute("UPDATE keys SET last_used = ? WHERE hash = ?", (day, hash))

    def drop(self, hash: bytes) -> Key | None:
        """Remove a key and return it."""
        with self._writing() as connection:
            found = connection.execute(
                "DELETE FROM keys WHERE hash = ? RETURNING *", (hash,)
            ).fetchone()
        return Key(*found) if found else None

    def check(self) -> Iterator[str]:
        """Yield a sentence for each thing that is wrong."""
        with self._reading() as connection:
            for (said,) in connection.execute("PRAGMA integrity_check").fetchall():
                if said != "ok":
                    yield said
            for table in (
                "arrivals",
                "waiting",
                "tallies",
                "published",
                "exclusions",
                "exclusions_by_day",
            ):
                (count,) = connection.execute(
                    f"SELECT count(*) FROM {table} WHERE question NOT IN (SELECT no FROM questions)"
                ).fetchone()
                if count:
                    yield f"{count} rows of {table} belong to no question"


def _shrink(connection: sqlite3.Connection) -> int:
    """Give some free pages back if there are many, and return how many; ids will need the rest."""
    pages, free = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count")
    )
    if free < max(_FEW_PAGES, pages // 4):
        return 0
    connection.execute(f"PRAGMA incremental_vacuum({_FEW_PAGES})").fetchall()
    (left,) = connection.execute("PRAGMA freelist_count").fetchone()
    return free - int(left)


def _remove_ids(connection: sqlite3.Connection, no: int, most: int, sealed: int) -> int:
    """Remove ids of the question's oldest day, if it is sealed and all of it is folded."""
    (day,) = connection.execute(
        "SELECT min(day) FROM arrivals WHERE question = ?", (no,)
    ).fetchone()
    if day is None or day > sealed:
        return 0
    if connection.execute(
        "SELECT 1 FROM waiting WHERE question = ? AND day = ? LIMIT 1", (no, day)
    ).fetchone():
        return 0
    connection.execute("UPDATE horizon SET forgotten_through = max(forgotten_through, ?)", (day,))
    return connection.execute(
        "DELETE FROM arrivals WHERE question = ?1 AND day = ?2 AND id IN"
        " (SELECT id FROM arrivals WHERE question = ?1 AND day = ?2 LIMIT ?3)",
        (no, day, most),
    ).rowcount


def _remove_question(connection: sqlite3.Connection, no: int, most: int) -> int:
    """Remove some rows of a deleted question, and itself when nothing else is left."""
    (day,) = connection.execute(
        "SELECT min(day) FROM arrivals WHERE question = ?", (no,)
    ).fetchone()
    if day is not None:
        return connection.execute(
            "DELETE FROM arrivals WHERE question = ?1 AND day = ?2 AND id IN"
            " (SELECT id FROM arrivals WHERE question = ?1 AND day = ?2 LIMIT ?3)",
            (no, day, most),
        ).rowcount
    for table in ("waiting", "tallies", "published"):
        removed = connection.execute(
            f"DELETE FROM {table} WHERE rowid IN"
            f" (SELECT rowid FROM {table} WHERE question = ? LIMIT ?)",
            (no, min(most, 100)),
        ).rowcount
        if removed:
            return removed
    for table in ("exclusions", "exclusions_by_day", "set_aside"):
        connection.execute(f"DELETE FROM {table} WHERE question = ?", (no,))
    # Of some rows it cannot be told whose they were: what they have may be this question's.
    connection.execute(
        "UPDATE set_aside SET day = NULL, source = NULL, n = NULL, content = x''"
        " WHERE question IS NULL"
    )
    return connection.execute("DELETE FROM questions WHERE no = ?", (no,)).rowcount
