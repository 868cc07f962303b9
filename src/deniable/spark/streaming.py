"""A table of tallies that a stream of reports is added to, each batch exactly once.

Spark repeats a batch after a failure, with the same number and the same rows. The table remembers
the last batch of each query in the transaction that adds the batch's tallies, and so recognises a
repetition. It is one SQLite file; where the driver's disk does not outlive the driver, put it on
one that does, beside the checkpoint.
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
_HELD = "SELECT tally FROM tallies WHERE grouping = ?"
_REFUSE = "INSERT INTO refused VALUES (?, ?) ON CONFLICT (reason) DO UPDATE SET n = n + excluded.n"


class TallyTable:
    """The tallies of one question by group, in one file, and which batches they contain."""

    def __init__(self, path: str | Path, question: Question, by: Sequence[str] = ()) -> None:
        if isinstance(question.protocol, Open) and isinstance(question.protocol, Pure):
            raise InvalidParameter(
                f"the tallies of {question.protocol.name} are the reports themselves, and would "
                "grow with the stream; write the reports to Parquet, and estimate from there",
                value=question.protocol,
            )
        self.path, self.question, self.by = Path(path), question, tuple(by)
        mine = (question.digest, json.dumps(self.by))
        with self._transaction() as connection:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            found = connection.execute("SELECT digest, grouped FROM question").fetchone()
            if found is None:
                connection.execute("INSERT INTO question VALUES (?, ?)", mine)
            elif found != mine:
                raise InvalidDocument(
                    f"{self.path} is the table of the question {found[0]} by {found[1]}, not of "
                    f"{mine[0]} by {mine[1]}; use another file",
                    value=found,
                )

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """Do all of it or nothing, and have it on the disk; the lock is taken first."""
        with closing(
            sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(begin)
            yield connection
            connection.execute("COMMIT")

    def add(
        self,
        query: str,
        batch: int,
        tallies: Iterable[tuple[Group, Tally]],
        refused: Mapping[str, int] | None = None,
    ) -> bool:
        """Add a batch's tallies, and tell whether they were new."""
        with self._transaction() as connection:
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
                row = (name, accumulator.tally().to_bytes())
                connection.execute("INSERT OR REPLACE INTO tallies VALUES (?, ?)", row)
            connection.executemany(_REFUSE, list((refused or {}).items()))
            connection.execute("INSERT OR REPLACE INTO batches VALUES (?, ?)", (query, batch))
        return True

    def holds(self, query: str, batch: int) -> bool:
        with self._transaction("BEGIN") as connection:
            last = connection.execute(_LAST, (query,)).fetchone()
        return last is not None and batch <= last[0]

    def tallies(self) -> dict[Group, Tally]:
        """Return the tally of each group; without groups it is that of ``()``."""
        with self._transaction("BEGIN") as connection:
            rows = connection.execute("SELECT grouping, tally FROM tallies").fetchall()
        return {tuple(json.loads(name)): Tally.from_bytes(data) for name, data in rows}

    def refused(self) -> Counter[str]:
        with self._transaction("BEGIN") as connection:
            return Counter(dict(connection.execute("SELECT reason, n FROM refused").fetchall()))


def count_batches(
    table: TallyTable, column: str, *, query: str | None = None
) -> Callable[[DataFrame, int], None]:
    """Return a function for ``foreachBatch`` that counts each batch of reports once.

    Rows that are not reports are left out and counted by reason in the table: a stream that stopped
    at one would stop there for ever. ``query`` names the stream, by default with Spark's own id,
    which lives in the checkpoint; give a name up together with its checkpoint.
    """

    def count(frame: DataFrame, batch: int) -> None:
        # Spark's id is in the checkpoint too.
        context = frame.sparkSession.sparkContext
        name = query or context.getLocalProperty("sql.streaming.queryId")
        if not name:
            raise InvalidParameter(
                "this batch does not say of which stream it is; pass query= to count_batches"
            )
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
