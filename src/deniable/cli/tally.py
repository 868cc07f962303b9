"""``deniable tally``: any number of report files and tally files in, one tally file out."""

from __future__ import annotations

import json
from pathlib import Path

import click

from deniable.cli.group import Command
from deniable.cli.inputs import collect, read_question
from deniable.cli.options import FILE, output_option, question_argument, summary_option
from deniable.cli.outputs import STDIO, check_summary, open_output, refuse_terminal
from deniable.cli.sources import check_stdin
from deniable.files import write_tally
from deniable.presentation.view import counted


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
