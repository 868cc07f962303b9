"""Reports in a data lake: tallied, estimated and made where they lie.

A frame comes in, and a tally, estimates or another frame come out. The session is the caller's, and
is neither made nor configured nor stopped here. Executors reduce each partition to a few rows
(``deniable.spark.partitions``), and reports never move between them. The rows are added on the
driver while they are small, and by groups on the executors where they are not.

Rows that are not reports are refused with an error that names their files, unless ``refused`` is a
``Counter``: then they are left out, and counted there by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from deniable import division
from deniable.answers.record import Record
from deniable.candidates import Candidates, choose_open
from deniable.errors import InvalidParameter, InvalidReport, OutOfDomain
from deniable.estimates import Estimates
from deniable.optional import load
from deniable.protocol import Open, Pure
from deniable.question import Question
from deniable.spark import executors
from deniable.spark.executors import Work, send
from deniable.spark.partitions import COUNT, REASON, REPORT, SUM, added_supports, merged_tallies
from deniable.tally import Accumulator, Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ANSWER = "answer"
_ARROW = "spark.sql.execution.arrow."
_LARGEST_BATCH = (1 << 31) - 1
_GROUPABLE = (
    "boolean", "byte", "short", "integer", "long", "string", "date", "timestamp", "timestamp_ntz",
    "decimal", "binary",
)  # fmt: skip


def tally(
    frame: DataFrame,
    question: Question,
    column: str,
    by: Sequence[str] = (),
    *,
    refused: Counter[str] | None = None,
) -> Tally | DataFrame:
    """Tally a column of reports: one tally, or with ``by`` a frame of one for each group.

    The frame has the columns ``by``, the number ``n`` of reports, and ``tally``, the bytes that
    ``Tally.from_bytes`` reads: those of ``question.tally`` on the same reports. Where the tallies
    are too large for the driver they are kept on the executors' disks until ``unpersist``.
    """
    _check_columns(frame, column, by)
    _check_batches(frame, question)
    return _summed(frame, question, (column, *by), refused, tallies=False)


def merge(
    frame: DataFrame,
    question: Question,
    column: str = SUM,
    by: Sequence[str] = (),
    *,
    refused: Counter[str] | None = None,
) -> Tally | DataFrame:
    """Add up a column of stored tallies: all of them, or with ``by`` those of each group."""
    _check_columns(frame, column, by)
    return _summed(frame, question, (column, *by), refused, tallies=True)


def estimate(  # noqa: PLR0913 - what is read, and how it is judged
    frame: DataFrame,
    question: Question,
    candidates: Candidates | None = None,
    column: str = REPORT,
    *,
    refused: Counter[str] | None = None,
    rounds: int | str | None = None,
) -> Estimates:
    """Estimate how many people gave each answer, from a column of reports.

    Of an open question the executors count which reports support the ``candidates``, and only
    those counts come to the driver. Of any other the reports are tallied first.

    Where people may answer again (BasicRAPPOR) ``rounds`` is needed: how many there were, or the
    column that tells them apart, such as the day. None may have two reports of one person. Where
    the number of people is known, call ``question.estimate(tally(...), people=...)``.
    """
    protocol = question.protocol
    if not (isinstance(protocol, Open) and isinstance(protocol, Pure)):
        names = None if candidates is None else [str(candidate) for candidate in candidates]
        if protocol.memoises and rounds is None:
            question.estimate(question.tally([]), names)  # refuses, before anything is read
        if isinstance(rounds, str):
            _check_columns(frame, column, (rounds,))
            rounds = max(1, int(frame.select(rounds).distinct().count()))
        total = cast("Tally", tally(frame, question, column, refused=refused))
        return question.estimate(total, names, rounds=rounds)
    if rounds is not None:
        raise InvalidParameter(
            f"reports of {protocol.name} are independent; leave out rounds, and let a person "
            "answer once",
            value=rounds,
        )
    _check_columns(frame, column, ())
    _check_batches(frame, question)
    chosen = choose_open(candidates)
    size, strict = len(chosen.keys), refused is None
    work = send("partial_supports", question, column, keys=chosen.keys, strict=strict)
    again = send("added_supports", question, size=size)
    fetched = _sums(frame, question, [column], (work, again), refused)
    (added,) = added_supports(fetched, question, size=size)
    support, n = np.frombuffer(added.column(SUM)[0].as_py(), "<i8"), added.column(COUNT)[0].as_py()
    if not n:
        raise InvalidReport("the frame has no reports; check it", value=0)
    found = protocol.unbiased(support.astype(np.int64), n)
    return replace(chosen.of(found), provenance=question.provenance)


def divide(
    frame: DataFrame,
    question: Question,
    dimension: str,
    column: str = REPORT,
    *,
    refused: Counter[str] | None = None,
) -> division.Parts:
    """Estimate each value of a public dimension, from a column of reports and those of segments.

    The frame has a column of texts for each dimension of the question, of the same name. What is
    null there is not stated, and what is not listed stands for the dimension's ``other``.
    """
    names = [each.name for each in question.segments]
    question.segments.dimension(dimension)
    grouped = cast("DataFrame", tally(frame, question, column, by=names, refused=refused))
    cells: dict[int, Accumulator] = {}
    for row in grouped.collect():
        stated = {name: str(row[name]) for name in names if row[name] is not None}
        total = cells.setdefault(question.segments.cell(stated), question.accumulator())
        total.merge(Tally.from_bytes(bytes(row[SUM])))
    return division.divide(
        question, {cell: total.tally() for cell, total in cells.items()}, dimension
    )


def privatize(
    frame: DataFrame,
    question: Question,
    column: str | Sequence[str],
    path: str,
    *,
    refused: Counter[str] | None = None,
) -> DataFrame:
    """Turn a column of answers into reports, written to ``path`` as Parquet, and read them back.

    Records are structs, or several columns with the names of the attributes; sets are arrays. The
    column ``report`` takes the place of the answers; the other columns stay, so select first
    what may be kept. The result is never computed again: each evaluation, retry or speculative
    attempt would draw a second report of the same person. What is written comes from the one
    attempt of each task that was committed. Answers in a frame are for migrations and simulations;
    devices privatize their own.
    """
    types = load("pyspark.sql.types", "spark")
    if not isinstance(column, str):
        frame, column = _joined(frame, question, tuple(column)), _ANSWER
    keep = [name for name in frame.columns if name != column]
    _check_answers(frame, question, column)
    _refuse_answers(frame, question, column, refused)
    fields = [types.StructField(REPORT, types.BinaryType())]
    fields += [frame.schema[name] for name in keep]
    work = send("private_reports", question, column, keep=keep, strict=refused is None)
    drawn = executors.run(frame, work, fields)
    with executors.plain_errors():
        # With version 2 the files of an attempt that failed while committing could be read.
        drawn.write.option("mapreduce.fileoutputcommitter.algorithm.version", "1").parquet(path)
    return frame.sparkSession.read.schema(types.StructType(fields)).parquet(path)


def _summed(
    frame: DataFrame,
    question: Question,
    names: Sequence[str],
    refused: Counter[str] | None,
    *,
    tallies: bool,
) -> Tally | DataFrame:
    """Sum up reports or stored tallies, by the columns that follow the first of the names."""
    column, *by = names
    function = "merged_tallies" if tallies else "partial_tallies"
    work = send(function, question, column, by=by, strict=refused is None)
    again = send("merged_tallies", question, SUM, by=by, strict=True)
    fetched = _sums(frame, question, names, (work, again), refused, tallies=tallies)
    if not isinstance(fetched, list):
        return fetched
    totals = list(merged_tallies(fetched, question, SUM, by=by, strict=True))
    if by:
        return _frame_of(frame, totals, by)
    return Tally.from_bytes(totals[0].column(SUM)[0].as_py()) if totals else question.tally([])


def _sums(  # noqa: PLR0913 - one job: what is summed, how, and what becomes of bad rows
    frame: DataFrame,
    question: Question,
    names: Sequence[str],
    stages: tuple[Work, Work],
    refused: Counter[str] | None,
    *,
    tallies: bool = False,
) -> list[pa.RecordBatch] | DataFrame:
    """Run one stage or two, and return the sums; groups too large for the driver stay a frame."""
    column, *by = names
    with executors.kept(executors.sums_of(frame.select(*names), stages[0], by)) as partials:
        rows, size, found = executors.measure(partials)
        if found and refused is None:
            raise executors.refusal(frame, question, column, found, tallies=tallies)
        sums, large = partials.where(f"{REASON} is null"), size > executors.DRIVER_BYTES
        if large:
            sums = executors.second_stage(sums, stages[1], by, rows=rows, size=size)
        if large and by:
            sums = executors.on_disk(sums.drop(REASON))
            sums.count()
        result = sums if large and by else sums.toArrow().to_batches()
    if refused is not None:
        refused += found
    return result


def _frame_of(frame: DataFrame, sums: Sequence[pa.RecordBatch], by: Sequence[str]) -> DataFrame:
    types = load("pyspark.sql.types", "spark")
    kinds = ((COUNT, types.LongType()), (SUM, types.BinaryType()))
    fields = [frame.schema[name] for name in by]
    fields += [types.StructField(name, kind) for name, kind in kinds]
    rows = pa.Table.from_batches(sums).select([*by, COUNT, SUM]) if sums else []
    return frame.sparkSession.createDataFrame(rows, types.StructType(fields))


def _joined(frame: DataFrame, question: Question, columns: tuple[str, ...]) -> DataFrame:
    """Put the attributes of a record, each in a column of its name, into one column."""
    names = question.answers.names if isinstance(question.answers, Record) else ()
    if sorted(columns) != sorted(names):
        raise InvalidParameter.expected(
            f"a column for each attribute of {question.name!r}", columns, "name them all"
        )
    for name in columns:
        _check_present(frame.columns, name)
    functions = load("pyspark.sql.functions", "spark")
    return frame.withColumn(_ANSWER, functions.struct(*columns)).drop(*columns)


def _refuse_answers(
    frame: DataFrame, question: Question, column: str, refused: Counter[str] | None
) -> None:
    """Count the rows without an answer before anything is drawn; an error names no answer."""
    with executors.plain_errors():
        work = send("refused_answers", question, column)
        found = executors.measure(executors.sums_of(frame.select(column), work))[2]
    if refused is not None:
        refused += found
    elif found:
        why = ", ".join(f"{count} x {reason}" for reason, count in sorted(found.items()))
        raise OutOfDomain(
            f"{found.total()} rows have no answer to {question.name!r} ({why}); correct them, or "
            "pass refused=Counter() to leave them out and count them",
            value=dict(found),
        )


def _check_answers(frame: DataFrame, question: Question, column: str) -> None:
    """Refuse a column of answers that is not there or not text, and a name that is taken."""
    if question.answers.textual:
        _check_type(frame, column, "string", "cast it")
    else:
        _check_present(frame.columns, column)
    _check_batches(frame, question)
    if REPORT in frame.columns and column != REPORT:
        raise InvalidParameter(
            f"the column {REPORT!r} is to take the place of the answers, and the frame has one of "
            "that name; drop or rename it",
            value=frame.columns,
        )


def _check_present(columns: Collection[str], column: str) -> None:
    if column not in columns:
        raise InvalidParameter.expected(f"a column among {', '.join(columns)}", column)


def _check_type(frame: DataFrame, column: str, wanted: str, remedy: str) -> dict[str, str]:
    types = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    _check_present(types, column)
    if types[column] != wanted:
        raise InvalidParameter.expected(
            f"the column {column!r} to be {wanted}", types[column], remedy
        )
    return types


def _check_columns(frame: DataFrame, column: str, by: Sequence[str]) -> None:
    """Refuse columns that are not there, of another type, or named like those of the result."""
    if isinstance(by, str):
        raise InvalidParameter.expected("a list of columns to group by", by, "pass a list of one")
    types = _check_type(frame, column, "binary", "decode text with unbase64 or unhex")
    for name in by:
        _check_present(types, name)
        if types[name].partition("(")[0] not in _GROUPABLE:
            raise InvalidParameter.expected(
                f"the column {name!r} to be of a type to group by: {', '.join(_GROUPABLE)}",
                types[name],
                "cast it",
            )
    if {COUNT, SUM, REASON} & set(by) or len(set(by)) != len(by):
        raise InvalidParameter.expected(
            f"different columns to group by, none of them named {COUNT}, {SUM} or {REASON}",
            list(by),
            "rename them",
        )


def _check_batches(frame: DataFrame, question: Question) -> None:
    """Refuse a session whose Arrow batches could not hold as many reports as they have rows."""
    settings = frame.sparkSession.conf
    rows = int(settings.get(f"{_ARROW}maxRecordsPerBatch", "10000") or 0)
    size = question.protocol.report_dtype.itemsize
    large = settings.get(f"{_ARROW}useLargeVarTypes", "false") == "true"
    if rows * size > _LARGEST_BATCH and not large:
        raise InvalidParameter(
            f"{_ARROW}maxRecordsPerBatch = {rows} would make Arrow batches of more than 2 GiB from "
            f"reports of {size} bytes; set it to at most {_LARGEST_BATCH // size}",
            value=rows,
        )
