"""``deniable estimate``: from a tally to counts with error bars."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import click
import numpy as np

from deniable.cli.display import open_console, print_estimates
from deniable.cli.group import Command
from deniable.cli.inputs import check_stdin, read_labels, read_question
from deniable.cli.options import FILE, output_option, plot_option, question_argument
from deniable.cli.outputs import STDIO, refuse_terminal, write_atomically
from deniable.cli.tally import collect
from deniable.consistency import METHODS, adjust
from deniable.estimates import Estimates
from deniable.extras import load
from deniable.presentation.text import headline
from deniable.question import Question

FORMATS = ("table", "csv", "json", "parquet", "html")
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
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True,
              help="What to write.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@output_option
@click.option("--top", type=click.IntRange(0), metavar="N",
              help="Only the N largest counts, largest first; 0 for all. [default: 25 in a table, "
              "else all in the question's order]")  # fmt: skip
@click.option("--significant", is_flag=True, help="Only answers above the threshold.")
@click.option("--level", default=0.95, show_default=True, help="The level of the intervals.")
@click.option("--alpha", default=0.05, show_default=True,
              help="The chance that any answer nobody gave counts as significant.")  # fmt: skip
@click.option("--consistency", type=click.Choice(("none", *METHODS)), default="none",
              show_default=True,
              help="Adjust the counts; the intervals stay those of the unbiased ones.")  # fmt: skip
@click.option("--candidates", type=FILE, metavar="FILE",
              help="The answers to count, in a file of labels; for open questions.")  # fmt: skip
@plot_option
def estimate(
    question_file: Path,
    files: tuple[Path, ...],
    *,
    form: str,
    as_json: bool,
    output: Path,
    top: int | None,
    significant: bool,
    level: float,
    alpha: float,
    consistency: str,
    candidates: Path | None,
    plot: Path | None,
) -> None:
    """Estimate how many people gave each answer to QUESTION.

    TALLY is a tally file; report files do as well, and several files are merged. Counts are
    unbiased: an answer that nobody gave comes out negative about half the time.
    """
    check_stdin(question_file, *files, *([candidates] if candidates else []))
    check_plot(plot)
    form = "json" if as_json else form
    if form == "parquet":
        refuse_terminal(output)
    question = read_question(question_file)
    labels = _candidates(question, candidates, consistency)
    total = collect(question, files)
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


def check_plot(path: Path | None) -> None:
    """Refuse a plot in a format that cannot be drawn, before any work is done."""
    if path is not None and path.suffix.lower() not in {".png", ".svg", ".pdf"}:
        raise click.UsageError(f"a plot is written as .png, .svg or .pdf, not as {path.name!r}")


def write_plot(figure: object, path: Path) -> None:
    """Write a matplotlib figure in the format that the file's name says."""
    kind = path.suffix.lower().removeprefix(".")
    sink = BytesIO()
    figure.savefig(sink, format=kind, dpi=150)  # type: ignore[attr-defined]  # a matplotlib figure
    write_atomically(path, sink.getvalue())


def _candidates(question: Question, path: Path | None, method: str) -> tuple[str, ...] | None:
    """Return the candidates, when the question and the method of adjustment allow for them."""
    if question.labels is None and path is None:
        raise click.UsageError(
            f"the question {question.name!r} is open: list the answers to count with --candidates"
        )
    if question.labels is None and method not in {"none", "base-cut"}:
        raise click.UsageError(
            f"--consistency {method} takes all answers to add up, and the candidates of an open "
            "question need not; use none or base-cut"
        )
    return None if path is None else read_labels(path)


def _print(question: Question, shown: Estimates, level: float, alpha: float) -> None:
    console = open_console()
    protocol = question.protocol
    console.print(
        f"{question.name}: {headline(shown)} ({protocol.name}, epsilon = {protocol.epsilon:.6g})\n",
        style="bold",
    )
    print_estimates(console, shown, level=level, alpha=alpha)
    if shown.adjusted is not None:
        console.print(
            f"Counts adjusted by {shown.adjusted}; the intervals and what is significant are those "
            "of the unbiased counts."
        )
