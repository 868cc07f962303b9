"""``deniable estimate``: from a tally to counts with error bars."""

from __future__ import annotations

from pathlib import Path

import click

from deniable.cli.group import Command
from deniable.cli.inputs import check_repeats, read_candidates, read_question, read_tally
from deniable.cli.options import (
    FILE,
    candidates_column_option,
    candidates_option,
    export_options,
    question_argument,
)
from deniable.cli.outputs import Export
from deniable.cli.sources import check_stdin
from deniable.consistency import METHODS, adjust


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
@export_options(
    top="Only the N largest counts, largest first; 0 for all. [default: 25 in a table, else all in "
    "the question's order;",
    significant="Only answers above the threshold.",
    alpha="The chance that any answer nobody gave counts as significant.",
)
@click.option("--consistency", type=click.Choice(("none", *METHODS)), default="none",
              show_default=True,
              help="Adjust the counts; the intervals stay those of the unbiased ones.")  # fmt: skip
@click.option("--people", type=click.IntRange(1), metavar="N",
              help="How many people sent the reports, if they may have answered "
              "again.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(1), metavar="N",
              help="In how many rounds the reports came: for a collector's tally the days with "
              "reports; 1 if everybody answered once.")  # fmt: skip
@candidates_option
@candidates_column_option
def estimate(
    question_file: Path,
    files: tuple[Path, ...],
    *,
    export: Export,
    consistency: str,
    people: int | None,
    rounds: int | None,
    candidates: Path | None,
    candidates_column: str | None,
) -> None:
    """Estimate how many people gave each answer to QUESTION.

    TALLY is a tally file; report files do as well, and several files are merged. Counts are
    unbiased: an answer that nobody gave comes out negative about half the time.

    Where people may answer again (BasicRAPPOR), say in how many rounds the reports came, none with
    two reports of one person, or how many people sent about as many reports each.
    """
    check_stdin(question_file, *files, candidates)
    question = read_question(question_file)
    check_repeats(question, people, rounds)
    labels = read_candidates(question, candidates, candidates_column)
    if question.labels is None and consistency not in {"none", "base-cut"}:
        raise click.UsageError(
            f"--consistency {consistency} makes all answers add up, and the candidates of an open "
            "question need not; use none or base-cut"
        )
    total = read_tally(question, files)
    among = labels if question.labels is None else None
    found = question.estimate(total, among, people=people, rounds=rounds)
    adjusted = found if consistency == "none" else adjust(found, consistency, export.alpha)
    if labels is not None and question.labels is not None:
        adjusted = adjusted.select(labels)
    export.write(adjusted)
