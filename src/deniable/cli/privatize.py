"""``deniable privatize``: answers in, a report file out."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from deniable.answers import Choice
from deniable.cli.answers import read_answers
from deniable.cli.display import Advance, counted, show_progress
from deniable.cli.group import Command
from deniable.cli.inputs import check_stdin, read_question, shorten
from deniable.cli.matching import Form, Matcher, encode, match
from deniable.cli.options import (
    answers_argument,
    column_option,
    delimiter_option,
    fold_case_option,
    input_format_option,
    normalise_option,
    output_option,
    question_argument,
    strip_option,
    summary_option,
)
from deniable.cli.outputs import STDIO, check_summary, open_output, refuse_terminal
from deniable.cli.source import Source
from deniable.cli.spelling import Spellings
from deniable.files import write_reports
from deniable.mechanism import Reports
from deniable.question import Question

_CHUNK_WORDS = 1 << 21
_CHUNK_PEOPLE = 1 << 18
_AHEAD = 1


@click.command(
    cls=Command,
    examples=[
        "deniable privatize fruit.json answers.txt -o reports.bin",
        "deniable privatize fruit.json people.csv --column fruit --strip -o reports.bin",
        "cat answers.txt | deniable privatize fruit.json - | deniable tally fruit.json - -o t.bin",
    ],
)
@question_argument
@answers_argument
@column_option
@input_format_option
@delimiter_option
@strip_option
@fold_case_option
@normalise_option
@output_option
@summary_option
def privatize(
    question_file: Path,
    answers: Path,
    *,
    column: str | None,
    input_format: str | None,
    delimiter: str | None,
    strip: bool,
    fold_case: bool,
    normalise: bool,
    output: Path,
    as_json: bool,
) -> None:
    """Turn the answers in INPUT into deniable reports on QUESTION.

    INPUT is a CSV, TSV, NDJSON or Parquet file, plain lines, or - for standard input; gzip is
    decompressed. Each answer becomes one report, made with the operating system's randomness; the
    report file reveals no answer. Deniability is per report: a person who answers twice spends
    epsilon twice.

    An answer is a label when all their characters are the same. --strip, --fold-case and
    --normalise take more of them for the same; answers to an open question are changed to the form
    that stands for all these.
    """
    check_stdin(question_file, answers)
    check_summary(output, as_json)
    refuse_terminal(output)
    question = read_question(question_file)
    textual = question.answers.textual
    source = Source(answers, column, input_format, delimiter, textual=textual)
    form = Form(strip=strip, fold_case=fold_case, normalise=normalise)
    matcher = match(question, form)
    size = answers.stat().st_size if str(answers) != STDIO and answers.is_file() else None
    with show_progress("Privatizing", size) as advance, open_output(output) as stream:
        values = _values(question, source, matcher, advance)
        count = write_reports(stream, question, _reports(question, values))
    if said := matcher.describe_unknown():
        click.echo(f"{source.name}: {said}", err=True)
    summary = {"reports": count, "other": matcher.unknown, "question": question.digest,
               "output": str(output)}  # fmt: skip
    if as_json:
        click.echo(json.dumps(summary))
    elif str(output) != STDIO:
        click.echo(f"{output}: {counted(count, 'report')} on {shorten(question.name)}", err=True)


def _values(
    question: Question, source: Source, matcher: Matcher, advance: Advance
) -> Iterator[npt.NDArray[np.uint64]]:
    spellings = None
    if isinstance(question.answers, Choice):
        spellings = Spellings(question.answers.labels)
    for batch in read_answers(source, advance, spellings):
        yield encode(question, matcher, batch, source)


def _reports(question: Question, values: Iterator[npt.NDArray[np.uint64]]) -> Iterator[Reports]:
    """Yield reports in order, made while the next answers are read."""
    with ThreadPoolExecutor(max_workers=1) as worker:
        waiting: deque[Future[Reports]] = deque()
        for part in _parts(values, question):
            waiting.append(worker.submit(question.protocol.privatize, part))
            if len(waiting) > _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _parts(
    values: Iterator[npt.NDArray[np.uint64]], question: Question
) -> Iterator[npt.NDArray[np.uint64]]:
    """Yield values in parts that keep all cores busy, and of a size that memory can hold."""
    size = min(max(_CHUNK_WORDS // question.protocol.words.count, 1), _CHUNK_PEOPLE)
    waiting: list[npt.NDArray[np.uint64]] = []
    people = 0
    for each in values:
        waiting.append(each)
        people += len(each)
        if people >= size:
            whole = np.concatenate(waiting)
            end = len(whole) - len(whole) % size
            yield from (whole[start : start + size] for start in range(0, end, size))
            waiting, people = [whole[end:]], len(whole) - end
    if people:
        yield np.concatenate(waiting)
