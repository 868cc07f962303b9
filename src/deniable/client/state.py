"""What a client keeps on the disk: the ledger of a person, and the outbox of a bulk sender.

Both are small SQLite files. A report is in one of them, with its id, before it is first sent, and
every change is on the disk when its method returns. Once a delivery has ended only its outcome
remains, since bytes kept any longer would be a pseudonym, and of a question that is asked again the
last turn that was taken. Files of version 0.2.0 can still be read: the columns that they lack are
added.
"""

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from deniable.client.delivery import Outcome, Parcel, State
from deniable.documents import synchronise
from deniable.errors import DeniableError, InvalidDocument
from deniable.policy import DUST
from deniable.rota import SECRET_BYTES

_LEDGER = """
CREATE TABLE IF NOT EXISTS answers (
    question TEXT PRIMARY KEY,
    epsilon REAL NOT NULL,
    outcome TEXT,
    id BLOB,
    day TEXT,
    report BLOB,
    doubt INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS opted_out (only_row INTEGER PRIMARY KEY CHECK (only_row = 1));
CREATE TABLE IF NOT EXISTS secret (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1), bytes BLOB NOT NULL
);
"""
_FORMAT = "deniable-outbox-1"
_OUTBOX = """
CREATE TABLE outbox (
    format TEXT NOT NULL, address TEXT NOT NULL, question TEXT NOT NULL, input TEXT
);
CREATE TABLE parcels (
    no INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    outcome TEXT,
    id BLOB,
    day TEXT,
    reports BLOB,
    doubt INTEGER NOT NULL DEFAULT 0,
    since TEXT
);
"""
_SPENT = "SELECT total(epsilon) FROM answers"
_SYNCHRONISED = "PRAGMA synchronous = FULL"
_FORGET = "day = NULL, doubt = 0, since = NULL"


class NoLedger(DeniableError):
    """The ledger cannot be written, so nothing may be sent."""


class Ledger:
    """Which questions a person answered, what was spent on them, and whether they opted out."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        with suppress(OSError):  # opening it will say what is wrong
            self.path.touch(mode=0o600)
        with self._open() as connection:
            connection.executescript(_LEDGER)
            noted = "INTEGER NOT NULL DEFAULT 0"
            added = {"since": "TEXT", "noted": noted, "address": "TEXT", "turn": "INTEGER"}
            _complete(connection, "answers", **added)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one change, which is on the disk afterwards and deletes for good."""
        try:
            with closing(sqlite3.connect(self.path, isolation_level=None, timeout=30)) as opened:
                opened.execute(_SYNCHRONISED)
                opened.execute("PRAGMA secure_delete = ON")
                yield opened
        except sqlite3.Error as error:
            raise NoLedger(
                f"the ledger at {self.path} cannot be written ({error}); without lasting storage "
                "nothing is sent: name a file in a folder that this program may write to",
                value=str(self.path),
            ) from error

    def _find(self, query: str, *values: str) -> tuple[Any, ...] | None:
        with self._open() as connection:
            row: tuple[Any, ...] | None = connection.execute(query, values).fetchone()
        return row

    def find(self, question: str) -> Outcome | Parcel | None:
        """Return the outcome of an answer, or what is still to be delivered; None without one."""
        row = self._find(
            "SELECT outcome, id, report, day, doubt, since, noted, address FROM answers"
            " WHERE question = ?",
            question,
        )
        if row is None:
            return None
        outcome, id, report, day, doubt, since, noted, address = row
        if id is None:
            return Outcome.read(outcome)
        return Parcel(id, report, State(day, bool(doubt), since), noted, address)

    def turn(self, question: str) -> int | None:
        """Return the last turn that was taken, -1 before the first one; None if there are none."""
        row = self._find("SELECT turn FROM answers WHERE question = ?", question)
        return row[0] if row else None

    def secret(self) -> bytes:
        """Return the secret that turns and arms are drawn from; it is made when first needed."""
        with self._open() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO secret VALUES (1, ?)", (secrets.token_bytes(SECRET_BYTES),)
            )
            return bytes(connection.execute("SELECT bytes FROM secret").fetchone()[0])

    def spent(self) -> float:
        row = self._find(_SPENT)
        return float(row[0]) if row else 0.0

    def opted_out(self) -> bool:
        return self._find("SELECT 1 FROM opted_out") is not None

    def begin(
        self, question: str, parcel: Parcel | None, *, epsilon: float, budget: float
    ) -> Outcome:
        """Enter a new answer, which then waits, or return why it was not entered.

        Without a parcel this reserves what all turns of a question that is asked again will spend,
        before anything is known about them. It is one transaction, so that two processes with one
        ledger cannot both answer.
        """
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            (spent,) = connection.execute(_SPENT).fetchone()
            if connection.execute("SELECT 1 FROM opted_out").fetchone():
                return Outcome.OPTED_OUT
            known = "SELECT 1 FROM answers WHERE question = ?"
            if connection.execute(known, (question,)).fetchone():
                return Outcome.ALREADY
            if not spent + epsilon <= budget + DUST:
                return Outcome.OVER_BUDGET
            values: tuple[object, ...] = (Outcome.NOT_NOW.value, -1, None, None, None)
            if parcel is not None:
                values = (None, None, parcel.id, parcel.reports, parcel.address)
            connection.execute(
                "INSERT INTO answers (question, epsilon, outcome, turn, id, report, address)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (question, epsilon, *values),
            )
            connection.execute("COMMIT")
        return Outcome.NOT_NOW if parcel is None else Outcome.WAITING

    def take(self, question: str, parcel: Parcel, turn: int) -> bool:
        """Enter the answer of a later turn than the last one; false if there was one as late.

        The turn counts as taken from now on, whatever becomes of the answer. What still waits of
        the turn before is given up.
        """
        with self._open() as connection:
            taken = connection.execute(
                f"UPDATE answers SET outcome = NULL, {_FORGET}, noted = noted + 1, turn = ?,"
                " id = ?, report = ?, address = ? WHERE question = ? AND turn < ?"
                " AND NOT EXISTS (SELECT 1 FROM opted_out)",
                (turn, parcel.id, parcel.reports, parcel.address, question, turn),
            )
            return taken.rowcount == 1

    def save(self, question: str, parcel: Parcel, noted: int) -> bool:
        """Note how far a delivery has come, unless somebody else has noted it since.

        False where the parcel is gone or another program has taken it over: then what this one
        learnt may be outdated, and must not undo a doubt.
        """
        state = parcel.state
        return self._note("day = ?, doubt = ?, since = ?, noted = noted + 1", question, noted,
                          state.day, state.doubt, state.since)  # fmt: skip

    def settle(self, question: str, outcome: Outcome, noted: int) -> bool:
        """Forget id, day and report, unless somebody else has noted something since."""
        change = f"outcome = ?, report = NULL, id = NULL, {_FORGET}"
        return self._note(change, question, noted, outcome.value)

    def _note(self, change: str, question: str, noted: int, *values: object) -> bool:
        with self._open() as connection:
            changed = connection.execute(
                f"UPDATE answers SET {change} WHERE question = ? AND id IS NOT NULL AND noted = ?",
                (*values, question, noted),
            )
            return changed.rowcount == 1

    def waiting(self, address: str) -> list[str]:
        """Return the questions whose answers are not delivered, and not for another collector."""
        with self._open() as connection:
            rows = connection.execute(
                "SELECT question FROM answers WHERE id IS NOT NULL"
                " AND (address IS NULL OR address = ?)",
                (address,),
            )
            return [row[0] for row in rows]

    def opt_out(self, out: bool) -> None:
        """Note whether the person opted out; what waits is forgotten when they do."""
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM opted_out")
            if out:
                connection.execute("INSERT INTO opted_out VALUES (1)")
                connection.execute(
                    f"UPDATE answers SET outcome = ?, report = NULL, id = NULL, {_FORGET}"
                    " WHERE id IS NOT NULL",
                    (Outcome.OPTED_OUT.value,),
                )
            connection.execute("COMMIT")


class Outbox:
    """A file of parcels for one question of one collector, for one sender at a time.

    ``input`` is the SHA-256 of the bytes that the parcels were made from, or None in an outbox of
    version 0.2.0, which did not note it. A sender that was interrupted goes on with the same ids,
    days and bytes, and never draws again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=1
        )
        try:
            self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._connection.execute(_SYNCHRONISED)
            self._connection.execute("PRAGMA secure_delete = ON")
            self._connection.execute("BEGIN IMMEDIATE")
            found = self._connection.execute("SELECT * FROM outbox").fetchone()
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            found = None
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                self.close()
                raise InvalidDocument(
                    f"another program is sending what is in {path}; wait until it has ended",
                    value=str(path),
                ) from error
        if found is None or found[0] != _FORMAT:
            self.close()
            raise InvalidDocument(f"{path} is not an outbox; name another file", value=str(path))
        _complete(self._connection, "outbox", input="TEXT")
        _complete(self._connection, "parcels", since="TEXT")
        self.address, self.question = str(found[1]), str(found[2])
        self.input: str | None = None if len(found) < 4 else found[3]

    @staticmethod
    def create(
        path: Path,
        *,
        address: str,
        question: str,
        input: Callable[[], str],
        parcels: Iterable[tuple[int, Parcel]],
    ) -> "Outbox":
        """Write a new outbox, which appears under its name only when all of it is on the disk.

        ``input`` gives the digest once the last parcel is made: that of a pipe is known only then.
        """
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.unlink(missing_ok=True)
        temporary.touch(mode=0o600)
        replaced = path.exists()
        try:
            with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                connection.execute(_SYNCHRONISED)
                connection.executescript(f"{_OUTBOX} BEGIN")
                connection.executemany(
                    "INSERT INTO parcels (count, id, reports) VALUES (?, ?, ?)",
                    ((count, parcel.id, parcel.reports) for count, parcel in parcels),
                )
                row = (_FORMAT, address, question, input())
                connection.execute("INSERT INTO outbox VALUES (?, ?, ?, ?)", row)
                connection.execute("COMMIT")
            if path.exists() and not replaced:  # two senders of a file would draw everything twice
                raise InvalidDocument(
                    f"another program has made {path} in the meantime; nothing was sent: run the "
                    "same command again",
                    value=str(path),
                )
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        synchronise(path.parent)
        return Outbox(path)

    def close(self) -> None:
        self._connection.close()

    def count(self, outcome: Outcome | None = None) -> int:
        """Return the number of reports, in all parcels or in those with one outcome."""
        rows = self._connection.execute("SELECT outcome, sum(count) FROM parcels GROUP BY outcome")
        found = [(Outcome.read(row[0] or "waiting"), int(row[1])) for row in rows]
        return sum(count for end, count in found if outcome in (None, end))

    def hold(self, most: int, day: str) -> list[tuple[int, int, Parcel]]:
        """Take some parcels that are not delivered, each with its number and count, to send now.

        Before this returns they are marked as doubtful, with ``day`` where they had none: a sender
        that dies now will not know what became of them.
        """
        with self._lock:
            rows = self._connection.execute(
                "SELECT no, count, id, reports, day, doubt, since FROM parcels"
                " WHERE outcome IS NULL ORDER BY no LIMIT ?",
                (most,),
            ).fetchall()
            self._change("day = ?, doubt = 1", [(row[4] or day, row[0]) for row in rows])
        return [
            (no, count, Parcel(id, reports, State(day, bool(doubt), since)))
            for no, count, id, reports, day, doubt, since in rows
        ]

    def save(self, no: int, parcel: Parcel) -> None:
        state = parcel.state
        with self._lock:
            self._change(
                "day = ?, doubt = ?, since = ?", [(state.day, state.doubt, state.since, no)]
            )

    def settle(self, ends: Iterable[tuple[int, Outcome]]) -> None:
        """Forget everything about some parcels but their outcome."""
        with self._lock:
            rows = [(outcome.value, no) for no, outcome in ends]
            self._change(f"outcome = ?, reports = NULL, id = NULL, {_FORGET}", rows)

    def _change(self, change: str, rows: Sequence[tuple[object, ...]]) -> None:
        self._connection.execute("BEGIN")
        self._connection.executemany(f"UPDATE parcels SET {change} WHERE no = ?", rows)
        self._connection.execute("COMMIT")


def _complete(connection: sqlite3.Connection, table: str, **columns: str) -> None:
    """Add the columns that a table of an earlier version lacks."""

    def lacking() -> list[str]:
        known = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        return [name for name in columns if name not in known]

    if lacking():
        connection.execute("BEGIN IMMEDIATE")
        for name in lacking():  # unless another process was faster
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {columns[name]}")
        connection.execute("COMMIT")
