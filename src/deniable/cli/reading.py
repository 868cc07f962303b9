"""What ``estimate`` and ``compare`` read: tallies, the answers to count, and who sent reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from deniable.cli.collection import collect
from deniable.cli.group import InputError
from deniable.cli.inputs import name_of, read_labels, shorten
from deniable.cli.options import FILE
from deniable.question import Question
from deniable.tally import Tally

candidates_option = click.option(
    "--candidates", type=FILE, metavar="FILE",
    help="The answers to count, in a file of labels; for open questions.",
)  # fmt: skip
candidates_column_option = click.option(
    "--candidates-column", metavar="NAME", help="The column of --candidates to take."
)


people_option = click.option(
    "--people", type=click.IntRange(1), metavar="N",
    help="How many people sent the reports, if they may have answered again.",
)  # fmt: skip
rounds_option = click.option(
    "--rounds", type=click.IntRange(1), metavar="N",
    help="In how many rounds the reports came: of a collector's tally the days with reports; 1 if "
    "everybody answered once.",
)  # fmt: skip


def check_repeats(question: Question, people: object, rounds: object) -> None:
    """Ask for people or rounds where people may have answered again, and nowhere else."""
    name, given = question.protocol.name, [each for each in (people, rounds) if each is not None]
    if len(given) > 1:
        raise click.UsageError("--people and --rounds say the same thing; give one of them")
    if given and not question.protocol.memoises:
        raise click.UsageError(
            f"--people and --rounds are for protocols whose people may answer again; reports of "
            f"{name} are independent, so leave them out"
        )
    if not given and question.protocol.memoises:
        raise click.UsageError(
            f"people may answer {shorten(question.name)} again ({name}), so its reports are not "
            "independent, and a file does not say when they came: give --rounds, the number of "
            "days with reports if a collector has them, or 1 if everybody answered once; or "
            "--people if you know how many there are"
        )


def read_tally(question: Question, files: Sequence[Path]) -> Tally:
    """Return the tally of report files and tally files, which is not empty."""
    total = collect(question, files)
    if not total.n:
        names = ", ".join(name_of(path) for path in files)
        raise InputError(f"{names}: expected reports to estimate from, got an empty tally; "
                         "collect some first")  # fmt: skip
    return total


def read_candidates(
    question: Question, path: Path | None, column: str | None
) -> tuple[str, ...] | None:
    """Return the answers to count, which an open question needs and a closed one must have."""
    if path is None and column is not None:
        raise click.UsageError("--candidates-column is about the file of --candidates; name one")
    if question.labels is None and path is None:
        raise click.UsageError(
            f"the question {shorten(question.name)} is open: list the answers to count with "
            "--candidates"
        )
    if path is None:
        return None
    found = read_labels(path, column, "--candidates-column", question.labels)
    if not found:
        raise InputError(f"{name_of(path)}: expected answers to count, got none; list some")
    return found
