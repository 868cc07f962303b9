"""What a frame and a session must be like, checked on the driver before any task runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameter
from deniable.question import Question
from deniable.spark.partitions import COUNT, REASON, REPORT, SUM

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ARROW = "spark.sql.execution.arrow."
_LARGEST_BATCH = (1 << 31) - 1
_GROUPABLE = (
    "boolean", "byte", "short", "integer", "long", "string", "date", "timestamp", "timestamp_ntz",
    "decimal", "binary",
)  # fmt: skip


def check_answers(frame: DataFrame, question: Question, column: str) -> None:
    """Refuse a column of answers that is not there or is no text, and a name that is taken."""
    if question.answers.textual:
        _check_type(frame, column, "string", "cast it")
    elif column not in frame.columns:
        raise InvalidParameter.expected(f"a column among {', '.join(frame.columns)}", column)
    check_batches(frame, question)
    if REPORT in frame.columns and column != REPORT:
        raise InvalidParameter.expected(
            f"no column named {REPORT!r}, which takes the place of the answers",
            frame.columns,
            "drop or rename it",
        )


def _check_type(frame: DataFrame, column: str, wanted: str, remedy: str) -> dict[str, str]:
    types = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    if types.get(column) is None:
        raise InvalidParameter.expected(f"a column among {', '.join(types)}", column)
    if types[column] != wanted:
        raise InvalidParameter.expected(
            f"the column {column!r} to be {wanted}", types[column], remedy
        )
    return types


def check_columns(frame: DataFrame, column: str, by: Sequence[str]) -> None:
    """Refuse columns that are not there, of another type, or named like those of the result."""
    if isinstance(by, str):
        raise InvalidParameter.expected("a list of columns to group by", by, "pass a list of one")
    types = _check_type(frame, column, "binary", "decode text with unbase64 or unhex")
    for name in by:
        if types.get(name) is None:
            raise InvalidParameter.expected(f"a column among {', '.join(types)}", name)
    taken = [name for name in by if name in (COUNT, SUM, REASON)]
    if taken or len(set(by)) != len(by):
        raise InvalidParameter.expected(
            f"different columns to group by, none of them named {COUNT}, {SUM} or {REASON}",
            list(by),
            "rename them",
        )
    for name in by:
        if types[name].partition("(")[0] not in _GROUPABLE:
            raise InvalidParameter.expected(
                f"the column {name!r} to be of a type to group by: {', '.join(_GROUPABLE)}",
                types[name],
                "cast it",
            )


def check_frame(frame: DataFrame, question: Question, column: str, by: Sequence[str] = ()) -> None:
    """Refuse a frame without such columns, or a session whose batches cannot hold the reports."""
    check_columns(frame, column, by)
    check_batches(frame, question)


def check_batches(frame: DataFrame, question: Question) -> None:
    """Refuse a session whose Arrow batches could not hold as many reports as they have rows."""
    settings = frame.sparkSession.conf
    rows = int(settings.get(f"{_ARROW}maxRecordsPerBatch", "10000") or 0)
    size = question.protocol.report_dtype.itemsize
    large = settings.get(f"{_ARROW}useLargeVarTypes", "false") == "true"
    if rows * size > _LARGEST_BATCH and not large:
        raise InvalidParameter.expected(
            f"Arrow batches of at most 2 GiB, {_LARGEST_BATCH // size} reports of {size} bytes",
            rows,
            f"set {_ARROW}maxRecordsPerBatch to 10000",
            came=f"{_ARROW}maxRecordsPerBatch = {rows}",
        )
