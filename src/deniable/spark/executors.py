"""Work that is sent to executors, its sums brought back, and errors in plain words.

What Spark pickles must not need deniable to be unpickled: a worker without it, or with another
version of it, would fail with a traceback about modules. So a closure travels that refers to
nothing of ours by name, looks for the package itself, and only then unpickles its arguments.

What the first stage makes stays on the executors' disks, so that the reports are read once. One
small job tells how large the sums are and what was refused; the next fetches the sums, or adds
them up where they are.
"""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from deniable.errors import DeniableError, InvalidReport
from deniable.optional import load
from deniable.question import Question
from deniable.spark.partitions import COUNT, REASON, SUM
from deniable.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

DRIVER_BYTES = 1 << 28
"""Sums of partitions that take more than this together are added on the executors first."""

_FILE = "deniable_file"
_MOST_NAMED = 5
_MARK = "deniable on the executor"
_MESSAGE = re.compile(rf"{_MARK} [^\n]+")
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_PYTHONS = re.compile(
    r"Python in worker has different version: (\S+) than that in driver: ([\d.]+)"
)


def send(function: str, question: Question, *names: str, **options: object) -> Work:
    """Return a generator of ``deniable.spark.partitions`` as something that Spark can send."""
    arguments, wanted, mark = pickle.dumps((question, names, options)), __version__, _MARK

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib  # noqa: PLC0415 - the closure brings nothing along
        import pickle  # noqa: PLC0415
        import socket  # noqa: PLC0415

        host = socket.gethostname()
        remedy = f"run there: pip install 'deniable[spark]=={wanted}'"
        try:
            found = importlib.import_module("deniable").__version__
            partitions = importlib.import_module("deniable.spark.partitions")
            threads = importlib.import_module("deniable.kernels.parallel")
            context = importlib.import_module("pyspark").TaskContext.get()
        except ImportError as error:
            raise RuntimeError(
                f"{mark} {host}: deniable {wanted} and all it needs must be on every executor "
                f"({error}); {remedy}"
            ) from None
        if found != wanted:
            raise RuntimeError(
                f"{mark} {host}: expected the driver's version {wanted}, got {found}; {remedy}"
            )
        # Spark runs as many workers as there are cores: each may use the cores of its task only.
        threads.set_threads(context.cpus() if context else None)
        question, names, options = pickle.loads(arguments)
        try:
            yield from getattr(partitions, function)(batches, question, *names, **options)
        except ValueError as error:
            raise RuntimeError(f"{mark} {host}: {error}") from error

    return work


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what workers said into errors of ours, out of Spark's tracebacks."""
    errors = load("pyspark.errors", "spark")
    try:
        yield
    except errors.PySparkException as error:
        found = _plain(str(error))
        if found is None:
            raise
        raise found from error


def _plain(said: str) -> DeniableError | None:
    if ours := _MESSAGE.search(said):
        return DeniableError(ours[0])
    if pythons := _PYTHONS.search(said):
        return DeniableError(
            f"expected Python {pythons[2]} on every executor, as on the driver, got {pythons[1]}; "
            "set PYSPARK_PYTHON to an interpreter of that version there",
            value=pythons[1],
        )
    if missing := _MISSING.search(said):
        return DeniableError(
            f"{missing[1]} is missing on an executor; install 'deniable[spark]=={__version__}' "
            "there, and set PYSPARK_PYTHON to the interpreter that has it",
            value=missing[1],
        )
    return None


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
    held = on_disk(partials)
    try:
        with plain_errors():
            yield held
    finally:
        held.unpersist()


def on_disk(frame: DataFrame) -> DataFrame:
    return frame.persist(load("pyspark", "spark").StorageLevel.DISK_ONLY)


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


def second_stage(
    partials: DataFrame, work: Work, by: Sequence[str], *, rows: int, size: int
) -> DataFrame:
    """Bring the sums of each group together on an executor, and add them there.

    Without groups there are as many parts as the driver has room for their sums.
    """
    parts = -(-size // DRIVER_BYTES) + 1 if by else max(1, rows * DRIVER_BYTES // size)
    moved = partials.repartition(parts, *by)
    return sums_of(moved.sortWithinPartitions(*by) if by else moved, work, by)


def refusal(
    frame: DataFrame, question: Question, column: str, refused: Counter[str], *, tallies: bool
) -> InvalidReport:
    """Compose the error about rows that are refused: how many, why, and in which files.

    Everything is read once more for it.
    """
    functions, errors = load("pyspark.sql.functions", "spark"), load("pyspark.errors", "spark")
    work = send("refused_rows", question, column, file=_FILE, tallies=tallies)
    try:
        named = frame.select(column, functions.input_file_name().alias(_FILE))
        rows = sums_of(named, work, [_FILE]).select(_FILE, REASON, COUNT).collect()
    except errors.AnalysisException:  # rows of several sources have no file
        rows = []
    reasons, files = Counter[str](), Counter[str]()
    for file, reason, count in rows:
        reasons[reason] += count
        files[file] += count
    reasons = reasons or refused
    why = ", ".join(f"{count} x {reason}" for reason, count in reasons.most_common())
    named = ", ".join(f"{file} ({n})" for file, n in files.most_common(_MOST_NAMED) if file)
    more = f" and {len(files) - _MOST_NAMED} other files" if len(files) > _MOST_NAMED else ""
    return InvalidReport(
        f"{reasons.total()} rows cannot be used ({why}){f' in {named}' if named else ''}{more}; "
        "correct them, or pass refused=Counter() to leave them out and count them",
        value=dict(reasons),
    )
