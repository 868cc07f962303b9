"""``deniable privatize`` and ``deniable tally``: reports made of answers, and added up."""

import json
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from deniable.cli.answers import read_answers
from deniable.cli.display import shorten, show_progress
from deniable.cli.group import Command
from deniable.cli.inputs import collect, read_question
from deniable.cli.labels import Form, encode, match
from deniable.cli.options import (
    FILE,
    answers_options,
    output_option,
    question_argument,
    summary_option,
)
from deniable.cli.outputs import STDIO, check_summary, open_output, refuse_terminal
from deniable.cli.sources import Source, check_stdin
from deniable.files import write_reports, write_tally
from deniable.mechanism import Reports
from deniable.presentation.view import counted
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
@answers_options()
@output_option
@summary_option
def privatize(
    question_file: Path,
    *,
    source: Source,
    form: Form,
    output: Path,
    as_json: bool,
) -> None:
    """Turn the answers in INPUT into deniable reports on QUESTION.

    INPUT is a CSV, TSV, NDJSON or Parquet file, plain lines, or - for standard input; gzip is
    decompressed. Each answer becomes one report, made with the operating system's randomness; the
    report file reveals no answer. Deniability is per report: a person who answers twice spends
    epsilon twice.

    An answer is a label when all characters are the same. --strip, --fold-case and --normalise
    treat more of them as equal; an answer to an open question is changed to the one form that
    stands for all its equals.
    """
    check_stdin(question_file, source.path)
    check_summary(output, as_json)
    refuse_terminal(output)
    question = read_question(question_file)
    source = replace(source, textual=question.answers.textual)
    matcher = match(question, form)
    path = source.path
    size = path.stat().st_size if str(path) != STDIO and path.is_file() else None
    with show_progress("Privatizing", size) as advance, open_output(output) as stream:
        batches = read_answers(source, advance)
        values = (encode(question, matcher, batch, source) for batch in batches)
        count = write_reports(stream, question, _reports(question, values))
    if said := matcher.describe_unknown():
        click.echo(f"{source.name}: {said}", err=True)
    summary = {"reports": count, "other": matcher.unknown, "question": question.digest,
               "output": str(output)}  # fmt: skip
    if as_json:
        click.echo(json.dumps(summary))
    elif str(output) != STDIO:
        click.echo(f"{output}: {counted(count, 'report')} on {shorten(question.name)}", err=True)


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


@click.command(
    cls=Command,
    examples=[
        "deniable tally fruit.json reports.bin -o tally.bin",
        "deniable tally fruit.json monday.bin tuesday.bin tally.bin -o week.bin",
        "cat reports.bin | deniable tally fruit.json - | deniable estimate fruit.json -",
    ],
)
@question_argument
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--raw", is_flag=True, help="FILES are reports one after the other, as privatize "
              "returns them in Python: no header, no checksum, no question.")  # fmt: skip
@output_option
@summary_option
def tally(
    question_file: Path, files: tuple[Path, ...], *, raw: bool, output: Path, as_json: bool
) -> None:
    """Sum up FILES, report files and tally files on QUESTION in any order, into one tally.

    The tally is the same, byte for byte, however the reports were split among files. Every file is
    checked to its last byte before anything is written; gzip is decompressed. A file with the same
    content as another is counted too, with a warning.
    """
    check_summary(output, as_json)
    refuse_terminal(output)
    check_stdin(question_file, *files)
    question = read_question(question_file)
    total = collect(question, files, raw=raw)
    with open_output(output) as stream:
        write_tally(stream, total)
    summary = {"reports": total.n, "files": len(files), "question": question.digest,
               "output": str(output)}  # fmt: skip
    if as_json:
        click.echo(json.dumps(summary))
    elif str(output) != STDIO:
        parts = f"{counted(total.n, 'report')} in {counted(len(files), 'file')}"
        click.echo(f"{output}: {parts}", err=True)
