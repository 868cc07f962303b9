"""A table of tallies that a stream of reports is added to, each batch exactly once.

Spark repeats a batch after a failure, with the same number and the same rows. The table remembers
the last batch of each query in the transaction that adds the batch's tallies, so that a repeated
one finds itself there already. It is one SQLite file; where the driver's disk does not outlive the
driver, it belongs on one that does, beside the checkpoint.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.errors import InvalidDocument, InvalidParameter
from deniable.protocol import Open, Pure
from deniable.question import Question
from deniable.spark.frames import tally
from deniable.spark.partitions import SUM
from deniable.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Group = tuple[str | None, ...]

_WAIT_SECONDS = 60.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS question (digest TEXT NOT NULL, grouped TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS batches (query TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tallies (grouping TEXT PRIMARY KEY, tally BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS refused (reason TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
"""
_LAST = "SELECT last FROM batches WHERE query = ?"
_REMEMBER = (
    "INSERT INTO batches VALUES (?, ?) ON CONFLICT (query) DO UPDATE SET last = excluded.last"
)
_HELD = "SELECT tally FROM tallies WHERE grouping = ?"
_HOLD = (
    "INSERT INTO tallies VALUES (?, ?) ON CONFLICT (grouping) DO UPDATE SET tally = excluded.tally"
)
_REFUSE = "INSERT INTO refused VALUES (?, ?) ON CONFLICT (reason) DO UPDATE SET n = n + excluded.n"


class TallyTable:
    """The tallies of one question by group, in one file, and which batches they contain."""

    def __init__(self, path: str | Path, question: Question, by: Sequence[str] = ()) -> None:
        if isinstance(question.protocol, Open) and isinstance(question.protocol, Pure):
            raise InvalidParameter.expected(
                "a question whose tallies do not grow with the reports",
                question.protocol,
                "write the reports to Parquet, and estimate from there",
                came=f"one of {question.protocol.name}, whose tallies are the reports",
            )
        self.path, self.question, self.by = Path(path), question, tuple(by)
        with self._connection() as connection:
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT")
            self._identify(connection)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one piece of work; acknowledged means on disk."""
        with closing(
            sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            yield connection

    def _identify(self, connection: sqlite3.Connection) -> None:
        """Mark a new file as the question's, and refuse that of another."""
        mine = (self.question.digest, json.dumps(self.by))
        with _transaction(connection):
            found = connection.execute("SELECT digest, grouped FROM question").fetchone()
            if found is None:
                connection.execute("INSERT INTO question VALUES (?, ?)", mine)
            elif found != mine:
                raise InvalidDocument.expected(
                    f"a table of the question {mine[0]} by {mine[1]}",
                    found,
                    "use another file",
                    came=f"one of {found[0]} by {found[1]}",
                )

    def add(
        self,
        query: str,
        batch: int,
        tallies: Iterable[tuple[Group, Tally]],
        refused: Mapping[str, int] | None = None,
    ) -> bool:
        """Add a batch's tallies, and tell whether they were new: all of it happens, or nothing."""
        with self._connection() as connection, _transaction(connection):
            last = connection.execute(_LAST, (query,)).fetchone()
            if last is not None and batch <= last[0]:
                return False
            for group, tally in tallies:
                name = json.dumps(group, ensure_ascii=False)
                accumulator = self.question.accumulator()
                accumulator.merge(tally)
                held = connection.execute(_HELD, (name,)).fetchone()
                if held is not None:
                    accumulator.merge(Tally.from_bytes(held[0]))
                connection.execute(_HOLD, (name, accumulator.tally().to_bytes()))
            connection.executemany(_REFUSE, list((refused or {}).items()))
            connection.execute(_REMEMBER, (query, batch))
        return True

    def holds(self, query: str, batch: int) -> bool:
        """Tell whether a batch of a query has been added."""
        with self._connection() as connection:
            last = connection.execute(_LAST, (query,)).fetchone()
        return last is not None and batch <= last[0]

    def tallies(self) -> dict[Group, Tally]:
        """Return the tally of each group; without groups it is that of ``()``."""
        with self._connection() as connection:
            rows = connection.execute("SELECT grouping, tally FROM tallies").fetchall()
        return {tuple(json.loads(name)): Tally.from_bytes(data) for name, data in rows}

    def refused(self) -> Counter[str]:
        """Return how many rows were left out, by reason."""
        with self._connection() as connection:
            return Counter(dict(connection.execute("SELECT reason, n FROM refused").fetchall()))


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do all of it or nothing; the lock is taken first, so that what is read stays true."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def count_batches(
    table: TallyTable, column: str, *, query: str | None = None
) -> Callable[[DataFrame, int], None]:
    """Return a function for ``foreachBatch`` that counts each batch of reports once.

    Rows that are no reports are left out and counted by reason in the table: a stream that stops
    at one would stop at it for ever. ``query`` names the stream, by default Spark's own id of it,
    which lives in the checkpoint; a name must be given up together with its checkpoint.
    """

    def count(frame: DataFrame, batch: int) -> None:
        name = query or _query_id(frame)
        if table.holds(name, batch):
            return
        refused = Counter[str]()
        found = tally(frame, table.question, column, table.by, refused=refused)
        table.add(name, batch, _grouped(found, table.by), refused)

    return count


def _grouped(found: Tally | DataFrame, by: Sequence[str]) -> Iterator[tuple[Group, Tally]]:
    if isinstance(found, Tally):
        yield (), found
        return
    for row in found.toLocalIterator():
        group = tuple(None if row[name] is None else str(row[name]) for name in by)
        yield group, Tally.from_bytes(bytes(row[SUM]))


def _query_id(frame: DataFrame) -> str:
    """Return the id of the query that a batch belongs to, as its checkpoint has it."""
    found = frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    if not found:
        raise InvalidParameter.expected(
            "a batch of a stream that says which it is", None, "pass query= to count_batches"
        )
    return str(found)
