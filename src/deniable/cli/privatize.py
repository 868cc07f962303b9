"""``deniable privatize``: answers in, a report file out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from deniable.cli.display import Advance, counted, show_progress
from deniable.cli.group import Command
from deniable.cli.inputs import Source, check_stdin, read_question, shorten, values_of
from deniable.cli.options import (
    answers_argument,
    column_option,
    input_format_option,
    output_option,
    question_argument,
    summary_option,
)
from deniable.cli.outputs import STDIO, open_output, refuse_terminal
from deniable.cli.reports import write_reports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deniable.mechanism import Reports
    from deniable.question import Question


@click.command(
    cls=Command,
    examples=[
        "deniable privatize fruit.json answers.txt -o reports.bin",
        "deniable privatize fruit.json people.csv --column fruit -o reports.bin",
        "cat answers.txt | deniable privatize fruit.json - | deniable tally fruit.json - -o t.bin",
    ],
)
@question_argument
@answers_argument
@column_option
@input_format_option
@output_option
@summary_option
def privatize(
    question_file: Path,
    answers: Path,
    *,
    column: str | None,
    input_format: str | None,
    output: Path,
    as_json: bool,
) -> None:
    """Turn the answers in INPUT into deniable reports on QUESTION.

    INPUT is a CSV, TSV, NDJSON or Parquet file, plain lines, or - for standard input. Each answer
    becomes one report, made with the operating system's randomness; the report file reveals no
    answer. Deniability is per report: a person who answers twice spends epsilon twice.
    """
    check_stdin(question_file, answers)
    check_summary(output, as_json)
    refuse_terminal(output)
    question = read_question(question_file)
    source = Source(answers, column, input_format)
    size = answers.stat().st_size if str(answers) != STDIO and answers.is_file() else None
    with show_progress("Privatizing", size) as advance, open_output(output) as stream:
        count = write_reports(stream, question, _reports(question, source, advance))
    summary = {"reports": count, "question": question.digest, "output": str(output)}
    if as_json:
        click.echo(json.dumps(summary))
    elif str(output) != STDIO:
        click.echo(f"{output}: {counted(count, 'report')} on {shorten(question.name)}", err=True)


def check_summary(output: Path, as_json: bool) -> None:
    """Refuse a summary on the same stream as the output."""
    if as_json and str(output) == STDIO:
        raise click.UsageError("--json prints to standard output; name a file with -o")


def _reports(question: Question, source: Source, advance: Advance) -> Iterator[Reports]:
    for batch in source.batches(advance):
        yield question.protocol.privatize(values_of(question, batch, source))
