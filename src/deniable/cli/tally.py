"""``deniable tally``: any number of report files and tally files in, one tally file out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from deniable.cli.display import counted, show_progress
from deniable.cli.group import Command, InputError
from deniable.cli.inputs import check_stdin, name_of, open_input, read_question
from deniable.cli.options import FILE, output_option, question_argument, summary_option
from deniable.cli.outputs import STDIO, refuse_terminal, write_atomically
from deniable.cli.privatize import check_summary
from deniable.cli.reports import MAGIC, read_reports
from deniable.errors import DeniableError
from deniable.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deniable.mechanism import Reports
    from deniable.question import Question


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
@output_option
@summary_option
def tally(question_file: Path, files: tuple[Path, ...], *, output: Path, as_json: bool) -> None:
    """Sum up FILES, report files and tally files on QUESTION in any order, into one tally.

    The tally is the same, byte for byte, however the reports were split among files. Every file is
    checked to its last byte before anything is written.
    """
    check_summary(output, as_json)
    refuse_terminal(output)
    check_stdin(question_file, *files)
    question = read_question(question_file)
    total = collect(question, files)
    write_atomically(output, total.to_bytes())
    summary = {"reports": total.n, "files": len(files), "question": question.digest,
               "output": str(output)}  # fmt: skip
    if as_json:
        click.echo(json.dumps(summary))
    elif str(output) != STDIO:
        parts = f"{counted(total.n, 'report')} in {counted(len(files), 'file')}"
        click.echo(f"{output}: {parts}", err=True)


def collect(question: Question, files: Sequence[Path]) -> Tally:
    """Return the tally of all reports in report files and tally files."""
    others = question.tally(iter(()))

    def batches() -> Iterator[Reports]:
        nonlocal others
        size = sum(path.stat().st_size for path in files if path.is_file())
        with show_progress("Tallying", size or None) as advance:
            done = 0
            for path in files:
                with open_input(path) as stream:
                    start = stream.read(len(MAGIC))
                    if start == MAGIC:
                        for batch in read_reports(stream, question, name_of(path)):
                            done += batch.nbytes
                            advance(done)
                            yield batch
                    else:
                        others += _read_tally(start + stream.read(), question, path)

    total = question.tally(batches())
    return total + others


def _read_tally(data: bytes, question: Question, path: Path) -> Tally:
    try:
        found = Tally.from_bytes(data)
    except DeniableError as error:
        raise InputError(f"{name_of(path)}: {error}") from error
    if found.question != question.digest:
        raise InputError(
            f"{name_of(path)}: expected a tally of the question {question.digest}, got one of "
            f"{found.question or 'no question'}; use the question file that it was made with"
        )
    return found
