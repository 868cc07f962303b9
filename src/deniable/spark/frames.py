"""Reports in a data lake: tallied, estimated and made where they lie.

A frame comes in, and a tally, estimates or another frame come out; the session is the caller's and
is neither made nor configured nor stopped here. Executors reduce each partition to a few rows
(``deniable.spark.partitions``), and reports are never moved between them. The rows are added on the
driver while they are small, and by groups on the executors where they are not.

Rows that are no reports are refused with an error that names their files, unless ``refused`` is a
``Counter``: then they are left out, and it is given their number by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.candidates import Candidates, Chosen, choose_open
from deniable.errors import InvalidParameter, InvalidReport, OutOfDomain
from deniable.estimates import Estimates
from deniable.optional import load
from deniable.protocol import Open, Pure
from deniable.question import Question
from deniable.spark import summation
from deniable.spark.checks import check_answers, check_columns, check_frame
from deniable.spark.partitions import (
    COUNT,
    REASON,
    REPORT,
    SUM,
    added_supports,
    merged_tallies,
)
from deniable.spark.workers import plain_errors, send
from deniable.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
    check_frame(frame, question, column, by)
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
    check_columns(frame, column, by)
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

    Where people may answer again (BasicRAPPOR) ``rounds`` is asked for: how many there were, or
    the column that tells them apart, such as the day. None may have two reports of one person.
    Who knows the number of people calls ``question.estimate(tally(...), people=...)``.
    """
    protocol = question.protocol
    if not (isinstance(protocol, Open) and isinstance(protocol, Pure)):
        names = None if candidates is None else [str(candidate) for candidate in candidates]
        if protocol.memoises and rounds is None:
            question.estimate(question.tally([]), names)  # refuses, before anything is read
        number = _count_rounds(frame, column, rounds) if isinstance(rounds, str) else rounds
        total = _one(tally(frame, question, column, refused=refused))
        return question.estimate(total, names, rounds=number)
    if rounds is not None:
        raise InvalidParameter.expected(
            f"no rounds for {protocol.name}, whose reports are independent",
            rounds,
            "let a person answer once",
        )
    check_frame(frame, question, column)
    chosen = choose_open(candidates)
    support, n = _supports(frame, question, column, chosen, refused)
    if not n:
        raise InvalidReport.expected("at least one report", 0, "check the frame")
    return replace(chosen.of(protocol.unbiased(support, n)), provenance=question.provenance)


def privatize(
    frame: DataFrame,
    question: Question,
    column: str,
    path: str,
    *,
    refused: Counter[str] | None = None,
) -> DataFrame:
    """Turn a column of answers into reports, written to ``path`` as Parquet, and read them back.

    The column ``report`` takes the place of the answers; the other columns stay, so select before
    what may be kept. The result is never computed again: each evaluation, retry or speculative
    attempt would draw a second report of the same person. What is written has the one attempt of
    each task that was committed. Answers are for migrations and simulations; devices privatize
    their own.
    """
    types = load("pyspark.sql.types", "spark")
    keep = [name for name in frame.columns if name != column]
    check_answers(frame, question, column)
    _refuse_answers(frame, question, column, refused)
    fields = [types.StructField(REPORT, types.BinaryType())]
    fields += [frame.schema[name] for name in keep]
    work = send("private_reports", question, column, keep=keep, strict=refused is None)
    drawn = summation.run(frame, work, fields)
    with plain_errors():
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
    (column, *by), strict = names, refused is None
    function = "merged_tallies" if tallies else "partial_tallies"
    work = send(function, question, column, by=by, strict=strict)
    with summation.kept(summation.sums_of(frame.select(*names), work, by)) as partials:
        rows, size, found = summation.measure(partials)
        if found and refused is None:
            files = summation.count_by_file(frame, question, column, tallies=tallies)
            raise summation.refusal(found, files)
        sums = partials
        if size > summation.DRIVER_BYTES:
            again = send("merged_tallies", question, SUM, by=by, strict=True)
            sums = summation.second_stage(partials, again, by, rows=rows, size=size)
        large = by and size > summation.DRIVER_BYTES
        result = summation.materialised(sums.drop(REASON)) if large else None
        fetched = [] if large else summation.fetch(sums)
    if refused is not None:
        refused += found
    if result is not None:
        return result
    totals = list(merged_tallies(fetched, question, SUM, by=by, strict=True))
    if by:
        return summation.returned(frame, totals, by)
    return Tally.from_bytes(totals[0].column(SUM)[0].as_py()) if totals else question.tally([])


def _count_rounds(frame: DataFrame, column: str, rounds: str) -> int:
    """Return how many different values the column of rounds has."""
    check_columns(frame, column, (rounds,))
    return max(1, int(frame.select(rounds).distinct().count()))


def _supports(
    frame: DataFrame,
    question: Question,
    column: str,
    chosen: Chosen,
    refused: Counter[str] | None,
) -> tuple[npt.NDArray[np.int64], int]:
    """Return how many reports support each of the chosen keys, and how many reports there are."""
    keys = chosen.keys
    work = send("partial_supports", question, column, keys=keys, strict=refused is None)
    with summation.kept(summation.sums_of(frame.select(column), work)) as partials:
        rows, size, found = summation.measure(partials)
        if found and refused is None:
            files = summation.count_by_file(frame, question, column, tallies=False)
            raise summation.refusal(found, files)
        sums = partials
        if size > summation.DRIVER_BYTES:
            again = send("added_supports", question, size=len(keys))
            sums = summation.second_stage(partials, again, (), rows=rows, size=size)
        fetched = summation.fetch(sums)
    if refused is not None:
        refused += found
    (total,) = added_supports(fetched, question, size=len(keys))
    support = np.frombuffer(total.column(SUM)[0].as_py(), dtype="<i8").astype(np.int64)
    return support, total.column(COUNT)[0].as_py()


def _refuse_answers(
    frame: DataFrame, question: Question, column: str, refused: Counter[str] | None
) -> None:
    """Count the rows without an answer before anything is drawn; an error names no answer."""
    with plain_errors():
        work = send("refused_answers", question, column)
        found = summation.refusals(summation.sums_of(frame.select(column), work))
    if refused is not None:
        refused += found
    elif found:
        why = ", ".join(f"{count} x {reason}" for reason, count in sorted(found.items()))
        raise OutOfDomain.expected(
            f"answers to {question.name!r} in every row",
            dict(found),
            "correct them, or pass refused=Counter() to leave them out and count them",
            came=f"{found.total()} rows without ({why})",
        )


def _one(found: Tally | DataFrame) -> Tally:
    """Return what was summed up without groups as the tally that it is."""
    if not isinstance(found, Tally):
        raise TypeError(f"expected a tally, got {type(found).__name__}")
    return found
