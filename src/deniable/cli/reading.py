"""What ``estimate`` and ``compare`` read: the tally of some files, and the answers to count."""

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
