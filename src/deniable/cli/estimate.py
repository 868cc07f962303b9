"""``deniable estimate``: from a tally to counts with error bars."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import click
import numpy as np
from rich.text import Text

from deniable.cli.collection import collect
from deniable.cli.display import fit, open_console, print_estimates
from deniable.cli.group import Command, InputError
from deniable.cli.inputs import check_stdin, name_of, read_labels, read_question, shorten
from deniable.cli.options import (
    FILE,
    output_option,
    plot_option,
    probability,
    question_argument,
)
from deniable.cli.outputs import (
    PLOTS,
    STDIO,
    check_plot,
    refuse_terminal,
    write_atomically,
    write_plot,
)
from deniable.consistency import METHODS, adjust
from deniable.estimates import Estimates
from deniable.extras import load
from deniable.presentation.text import headline, one_line
from deniable.question import Question

FORMATS = ("table", "csv", "json", "parquet", "html")
_SUFFIXES = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".pq": "parquet",
             ".html": "html", ".htm": "html"}  # fmt: skip
_TOP = 25


@click.command(
    cls=Command,
    examples=[
        "deniable estimate fruit.json tally.bin",
        "deniable estimate fruit.json tally.bin --significant --format csv -o fruit.csv",
        "deniable estimate fruit.json reports.bin --top 10 --plot fruit.svg",
        "deniable estimate site.json sites.bin --candidates candidates.txt --json",
    ],
)
@question_argument
@click.argument("files", metavar="TALLY...", nargs=-1, required=True, type=FILE)
@click.option("--format", "form", type=click.Choice(FORMATS),
              help="What to write. [default: by the name of the output, else table]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@output_option
@click.option("--top", type=click.IntRange(0), metavar="N",
              help="Only the N largest counts, largest first; 0 for all. [default: 25 in a table, "
              "else all in the question's order]")  # fmt: skip
@click.option("--significant", is_flag=True, help="Only answers above the threshold.")
@click.option("--level", type=probability, default=0.95, show_default=True,
              help="The level of the intervals.")  # fmt: skip
@click.option("--alpha", type=probability, default=0.05, show_default=True,
              help="The chance that any answer nobody gave counts as significant.")  # fmt: skip
@click.option("--consistency", type=click.Choice(("none", *METHODS)), default="none",
              show_default=True,
              help="Adjust the counts; the intervals stay those of the unbiased ones.")  # fmt: skip
@click.option("--candidates", type=FILE, metavar="FILE",
              help="The answers to count, in a file of labels; for open questions.")  # fmt: skip
@click.option("--candidates-column", metavar="NAME", help="The column of --candidates to take.")
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
    candidates: Path | None,
    candidates_column: str | None,
    plot: Path | None,
) -> None:
    """Estimate how many people gave each answer to QUESTION.

    TALLY is a tally file; report files do as well, and several files are merged. Counts are
    unbiased: an answer that nobody gave comes out negative about half the time.
    """
    check_stdin(question_file, *files, *([candidates] if candidates else []))
    check_plot(plot)
    if candidates is None and candidates_column is not None:
        raise click.UsageError("--candidates-column is about the file of --candidates; name one")
    form = "json" if as_json else form or _form_of(output)
    if form == "parquet":
        refuse_terminal(output)
    question = read_question(question_file)
    labels = _candidates(question, candidates, candidates_column, consistency)
    total = collect(question, files)
    if not total.n:
        names = ", ".join(name_of(path) for path in files)
        raise InputError(f"{names}: expected reports to estimate from, got an empty tally; "
                         "collect some first")  # fmt: skip
    found = question.estimate(total, labels if question.labels is None else None)
    adjusted = found if consistency == "none" else adjust(found, consistency, alpha)
    if labels is not None and question.labels is not None:
        adjusted = adjusted.select(labels)
    most = _TOP if top is None else top or None
    if plot is not None:
        write_plot(adjusted.plot(most, level=level, alpha=alpha), plot)
    shown = adjusted.take(np.flatnonzero(adjusted.significant(alpha))) if significant else adjusted
    if form == "table" or top is not None:
        shown = shown.top(most)
    if form == "table" and str(output) == STDIO:
        _print(question, shown, level, alpha)
    else:
        write_atomically(output, export(shown, form, question.name, level=level, alpha=alpha))


def export(shown: Estimates, form: str, name: str, *, level: float, alpha: float) -> bytes:
    """Return estimates in one of the formats."""
    if form == "parquet":
        sink = BytesIO()
        table = shown.to_arrow(level=level, alpha=alpha)
        load("pyarrow.parquet", "arrow").write_table(table, sink)
        return sink.getvalue()
    if form == "html":
        return shown.to_html(name, level=level, alpha=alpha).encode()
    if form == "table":
        return f"{shown.table(None, level=level, alpha=alpha)}\n".encode()
    write = shown.to_csv if form == "csv" else shown.to_json
    return write(level=level, alpha=alpha).encode()


def _form_of(output: Path) -> str:
    """Return the format that the name of the output says."""
    if output.suffix.lower() in PLOTS:
        raise click.UsageError(f"{output} is the name of a figure; draw it with --plot {output}")
    return _SUFFIXES.get(output.suffix.lower(), "table")


def _candidates(
    question: Question, path: Path | None, column: str | None, method: str
) -> tuple[str, ...] | None:
    """Return the candidates, when the question and the method of adjustment allow for them."""
    if question.labels is None and path is None:
        raise click.UsageError(
            f"the question {shorten(question.name)} is open: list the answers to count with "
            "--candidates"
        )
    if question.labels is None and method not in {"none", "base-cut"}:
        raise click.UsageError(
            f"--consistency {method} takes all answers to add up, and the candidates of an open "
            "question need not; use none or base-cut"
        )
    if path is None:
        return None
    found = read_labels(path, column, "--candidates-column", question.labels)
    if not found:
        raise InputError(f"{name_of(path)}: expected answers to count, got none; list some")
    return found


def _print(question: Question, shown: Estimates, level: float, alpha: float) -> None:
    console = open_console()
    protocol = question.protocol
    console.print(
        fit(console, Text(f"{one_line(question.name, 200)}: {headline(shown)} "
                          f"({protocol.name}, epsilon = {protocol.epsilon:.6g})\n")),
        style="bold",
    )  # fmt: skip
    print_estimates(console, shown, level=level, alpha=alpha)
    if shown.adjusted is not None:
        console.print(
            f"Counts adjusted by {shown.adjusted}; the intervals and what is significant are those "
            "of the unbiased counts."
        )
