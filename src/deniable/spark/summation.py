"""Partitions summed up: a first stage on the executors, a second where the sums are large.

The rows that the first stage makes are kept on the executors' disks, so that the reports are read
once: one small job tells how large the sums are and whether anything was refused, and the next
fetches them or adds them up where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from deniable.errors import InvalidReport
from deniable.optional import load
from deniable.question import Question
from deniable.spark.partitions import COUNT, REASON, SUM
from deniable.spark.workers import Work, plain_errors, send

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DRIVER_BYTES = 1 << 28
"""Sums of partitions that take more than this together are added on the executors first."""

_FILE = "deniable_file"
_MOST_NAMED = 5


def run(frame: DataFrame, work: Work, fields: Sequence[object]) -> DataFrame:
    """Return the frame that workers make of each partition: the one way to them."""
    types = load("pyspark.sql.types", "spark")
    return frame.mapInArrow(work, types.StructType(list(fields)))


def sums_of(frame: DataFrame, work: Work, by: Sequence[str] = ()) -> DataFrame:
    """Return the frame of sums and refusals that workers make of each partition."""
    types = load("pyspark.sql.types", "spark")
    kinds = ((COUNT, types.LongType()), (SUM, types.BinaryType()), (REASON, types.StringType()))
    groups = [types.StructField(name, frame.schema[name].dataType) for name in by]
    return run(frame, work, [*groups, *(types.StructField(name, kind) for name, kind in kinds)])


@contextmanager
def kept(partials: DataFrame) -> Iterator[DataFrame]:
    """Keep what the first stage makes on the executors' disks for as long as it is needed."""
    levels = load("pyspark", "spark").StorageLevel
    held = partials.persist(levels.DISK_ONLY)
    try:
        with plain_errors():
            yield held
    finally:
        held.unpersist()


def measure(partials: DataFrame) -> tuple[int, int, Counter[str]]:
    """Run the first stage, and tell how many sums it made, their bytes, and what it refused."""
    rows, size, refused = 0, 0, Counter[str]()
    for batch in partials.selectExpr(f"length({SUM})", COUNT, REASON).toArrow().to_batches():
        for length, count, reason in zip(*batch.to_pydict().values(), strict=True):
            if reason is None:
                rows, size = rows + 1, size + length
            else:
                refused[reason] += count
    return rows, size, refused


def refusals(partials: DataFrame) -> Counter[str]:
    """Return how many rows were refused, by reason."""
    refused = Counter[str]()
    for reason, count in partials.where(f"{REASON} is not null").select(REASON, COUNT).collect():
        refused[reason] += count
    return refused


def second_stage(
    partials: DataFrame, work: Work, by: Sequence[str], *, rows: int, size: int
) -> DataFrame:
    """Bring the sums of each group together on an executor, and add them there.

    Without groups there are as many parts as the driver has room for the sums of.
    """
    parts = -(-size // DRIVER_BYTES) + 1 if by else max(1, rows * DRIVER_BYTES // size)
    moved = partials.where(f"{REASON} is null").repartition(parts, *by)
    return sums_of(moved.sortWithinPartitions(*by) if by else moved, work, by)


def materialised(sums: DataFrame) -> DataFrame:
    """Compute sums that are too large for the driver, and leave them on the executors' disks."""
    held = sums.persist(load("pyspark", "spark").StorageLevel.DISK_ONLY)
    held.count()
    return held


def fetch(frame: DataFrame) -> Iterable[pa.RecordBatch]:
    """Bring the sums in a frame to the driver."""
    fetched: Iterable[pa.RecordBatch] = frame.where(f"{REASON} is null").toArrow().to_batches()
    return fetched


def returned(frame: DataFrame, sums: Sequence[pa.RecordBatch], by: Sequence[str]) -> DataFrame:
    """Make a frame of sums that were added on the driver."""
    types = load("pyspark.sql.types", "spark")
    fields = [frame.schema[name] for name in by]
    fields += [
        types.StructField(COUNT, types.LongType()),
        types.StructField(SUM, types.BinaryType()),
    ]
    names = [*by, COUNT, SUM]
    rows = pa.Table.from_batches(sums).select(names) if sums else []
    return frame.sparkSession.createDataFrame(rows, types.StructType(fields))


def refusal(refused: Counter[str], by_file: Counter[tuple[str, str]]) -> InvalidReport:
    """Compose the error about rows that are refused: how many, why, and in which files."""
    reasons, files = Counter[str](), Counter[str]()
    for (file, reason), count in by_file.items():
        reasons[reason] += count
        files[file] += count
    reasons = reasons or refused
    why = ", ".join(f"{count} x {reason}" for reason, count in reasons.most_common())
    named = ", ".join(f"{file} ({n})" for file, n in files.most_common(_MOST_NAMED) if file)
    more = f" and {len(files) - _MOST_NAMED} other files" if len(files) > _MOST_NAMED else ""
    return InvalidReport.expected(
        "sound rows only",
        dict(reasons),
        "correct them, or pass refused=Counter() to leave them out and count them",
        came=f"{reasons.total()} others ({why}){f' in {named}' if named else ''}{more}",
    )


def count_by_file(
    frame: DataFrame, question: Question, column: str, *, tallies: bool
) -> Counter[tuple[str, str]]:
    """Read everything once more, to say how many rows of which file are refused and why."""
    functions = load("pyspark.sql.functions", "spark")
    errors = load("pyspark.errors", "spark")
    work = send("refused_rows", question, column, file=_FILE, tallies=tallies)
    try:
        named = frame.select(column, functions.input_file_name().alias(_FILE))
        rows = sums_of(named, work, [_FILE]).select(_FILE, REASON, COUNT).collect()
    except errors.AnalysisException:  # rows of several sources have no file
        return Counter()
    found = Counter[tuple[str, str]]()
    for file, reason, count in rows:
        found[file, reason] += count
    return found
