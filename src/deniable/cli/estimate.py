"""``deniable estimate``: from a tally to counts with error bars."""

from __future__ import annotations

from pathlib import Path

import click

from deniable.cli.exports import choose_form, format_option, json_option, write_export
from deniable.cli.figures import write_figure
from deniable.cli.group import Command
from deniable.cli.inputs import check_stdin, read_question
from deniable.cli.options import (
    FILE,
    output_option,
    plot_option,
    probability,
    question_argument,
)
from deniable.cli.outputs import check_plot
from deniable.cli.reading import (
    candidates_column_option,
    candidates_option,
    check_repeats,
    people_option,
    read_candidates,
    read_tally,
    rounds_option,
)
from deniable.consistency import METHODS, adjust

_TOP = 25


@click.command(
    cls=Command,
    examples=[
        "deniable estimate fruit.json tally.bin",
        "deniable estimate fruit.json tally.bin --significant --format csv -o fruit.csv",
        "deniable estimate fruit.json reports.bin --top 10 --plot fruit.svg",
        "deniable estimate site.json sites.bin --candidates candidates.txt --json",
        "deniable estimate daily.json june.bin --rounds 30",
    ],
)
@question_argument
@click.argument("files", metavar="TALLY...", nargs=-1, required=True, type=FILE)
@format_option
@json_option
@output_option
@click.option("--top", type=click.IntRange(0), metavar="N",
              help="Only the N largest counts, largest first; 0 for all. [default: 25 in a table, "
              "else all in the question's order; HTML has at most 1000]")  # fmt: skip
@click.option("--significant", is_flag=True, help="Only answers above the threshold.")
@click.option("--level", type=probability, default=0.95, show_default=True,
              help="The level of the intervals.")  # fmt: skip
@click.option("--alpha", type=probability, default=0.05, show_default=True,
              help="The chance that any answer nobody gave counts as significant.")  # fmt: skip
@click.option("--consistency", type=click.Choice(("none", *METHODS)), default="none",
              show_default=True,
              help="Adjust the counts; the intervals stay those of the unbiased ones.")  # fmt: skip
@people_option
@rounds_option
@candidates_option
@candidates_column_option
@plot_option
def estimate(
    question_file: Path,
    files: tuple[Path, ...],
    *,
    form: str | None,
    as_json: bool,
    output: Path,
    top: int | None,
    significant: bool,
    level: float,
    alpha: float,
    consistency: str,
    people: int | None,
    rounds: int | None,
    candidates: Path | None,
    candidates_column: str | None,
    plot: Path | None,
) -> None:
    """Estimate how many people gave each answer to QUESTION.

    TALLY is a tally file; report files do as well, and several files are merged. Counts are
    unbiased: an answer that nobody gave comes out negative about half the time.

    Where people may answer again (BasicRAPPOR), say in how many rounds the reports came, none with
    two reports of one person, or how many people sent about as many reports each.
    """
    check_stdin(question_file, *files, *([candidates] if candidates else []))
    check_plot(plot)
    form = choose_form(form, as_json, output)
    question = read_question(question_file)
    check_repeats(question, people, rounds)
    labels = read_candidates(question, candidates, candidates_column)
    if question.labels is None and consistency not in {"none", "base-cut"}:
        raise click.UsageError(
            f"--consistency {consistency} takes all answers to add up, and the candidates of an "
            "open question need not; use none or base-cut"
        )
    total = read_tally(question, files)
    among = labels if question.labels is None else None
    found = question.estimate(total, among, people=people, rounds=rounds)
    adjusted = found if consistency == "none" else adjust(found, consistency, alpha)
    if labels is not None and question.labels is not None:
        adjusted = adjusted.select(labels)
    most = _TOP if top is None else top or None
    if plot is not None:
        write_figure(plot, adjusted, most, level=level, alpha=alpha)
    shown = adjusted.only_significant(alpha) if significant else adjusted
    if form == "table" or top is not None:
        shown = shown.top(most)
    write_export(shown, form, output, level=level, alpha=alpha, top=top)
