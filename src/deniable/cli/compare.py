"""``deniable compare``: what changed between two tallies of one question."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from deniable.cli.exports import choose_form, format_option, json_option, write_export
from deniable.cli.figures import write_figure
from deniable.cli.group import Command
from deniable.cli.inputs import check_stdin, name_of, read_question, warn
from deniable.cli.options import FILE, output_option, plot_option, probability, question_argument
from deniable.cli.outputs import check_plot
from deniable.cli.reading import (
    candidates_column_option,
    candidates_option,
    read_candidates,
    read_tally,
)
from deniable.comparison import compare as compare_estimates

_TOP = 25


@click.command(
    cls=Command,
    examples=[
        "deniable compare fruit.json monday.bin tuesday.bin",
        "deniable compare fruit.json monday.bin tuesday.bin --significant -o changes.csv",
        "deniable compare fruit.json monday.bin tuesday.bin --plot changes.png --top 10",
    ],
)
@question_argument
@click.argument("first", metavar="FIRST", type=FILE)
@click.argument("second", metavar="SECOND", type=FILE)
@format_option
@json_option
@output_option
@click.option("--top", type=click.IntRange(0), metavar="N",
              help="Only the N largest changes; 0 for all. [default: 25 in a table, else all; "
              "HTML has at most 1000]")  # fmt: skip
@click.option("--significant", is_flag=True, help="Only answers whose share changed.")
@click.option("--level", type=probability, default=0.95, show_default=True,
              help="The level of the intervals.")  # fmt: skip
@click.option("--alpha", type=probability, default=0.05, show_default=True,
              help="The chance that any answer that did not change counts as changed.")  # fmt: skip
@candidates_option
@candidates_column_option
@plot_option
def compare(
    question_file: Path,
    first: Path,
    second: Path,
    *,
    form: str | None,
    as_json: bool,
    output: Path,
    top: int | None,
    significant: bool,
    level: float,
    alpha: float,
    candidates: Path | None,
    candidates_column: str | None,
    plot: Path | None,
) -> None:
    """Tell which answers to QUESTION changed their share from FIRST to SECOND.

    Both are tally files or report files, of different people: a week and one of its days cannot be
    compared, one day and the next can. The largest change comes first.
    """
    check_stdin(question_file, first, second, *([candidates] if candidates else []))
    check_plot(plot)
    form = choose_form(form, as_json, output)
    question = read_question(question_file)
    labels = read_candidates(question, candidates, candidates_column)
    tallies = [read_tally(question, [path]) for path in (first, second)]
    if tallies[0] == tallies[1]:
        warn(f"{name_of(second)} has the same content as {name_of(first)}; the reports are to be "
             "those of different people")  # fmt: skip
    found = compare_estimates(*(question.estimate(tally, labels) for tally in tallies))
    most = _TOP if top is None else top or None
    if plot is not None:
        write_figure(plot, found, most, level=level, alpha=alpha)
    shown = found.take(np.flatnonzero(found.significant(alpha))) if significant else found
    if form == "table" or top is not None:
        shown = shown.top(most)
    write_export(shown, form, output, level=level, alpha=alpha, top=top)
