"""Options that several commands share, alone or as a group that becomes one argument."""

import math
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from deniable.cli.answers import KINDS
from deniable.cli.group import InputPath, OutputPath
from deniable.cli.labels import Form
from deniable.cli.outputs import FORMATS, STDIO, Export, check_plot, choose_form
from deniable.cli.sources import Source

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FILE = InputPath(path_type=Path, allow_dash=True)
OUTPUT = OutputPath(path_type=Path, allow_dash=True)


def probability(text: str) -> float:
    """Return a number between 0 and 1, so far from 1 that normal quantiles are finite."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not (found > 0 and (1 + found) / 2 < 1):
        raise click.BadParameter(f"expected a number above 0 and below 1, got {text!r}")
    return found


question_argument = click.argument("question_file", metavar="QUESTION", type=FILE)
output_option = click.option(
    "-o", "--output", type=OUTPUT, default=STDIO, help="Where to write. [default: standard output]"
)
summary_option = click.option(
    "--json", "as_json", is_flag=True, help="Print a summary as JSON; needs -o."
)
goal_option = click.option(
    "--goal", type=click.Choice(["mean", "rare"]), default="mean", show_default=True,
    help="Whose variance is to be least: the mean over all answers, or that of rare answers, which "
    "makes more of them significant.",
)  # fmt: skip
plot_option = click.option(
    "--plot", type=OUTPUT, metavar="FILE", help="Draw a figure as well: .png, .svg or .pdf."
)


def token_option(help: str) -> Decorator:
    """Return the option of a token, which may also stand in a file."""
    return click.option(
        "--token", envvar="DENIABLE_TOKEN", callback=_read_token,
        help=f"{help} [DENIABLE_TOKEN, or DENIABLE_TOKEN_FILE for a file that holds it]",
    )  # fmt: skip


def _read_token(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    file = os.environ.get("DENIABLE_TOKEN_FILE")
    if value is not None or not file:
        return value
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"DENIABLE_TOKEN_FILE: {error}", context, parameter) from error


_PLACE = (
    click.argument("answers", metavar="INPUT", type=FILE),
    click.option("--column", metavar="NAME", help="The column, or key, that holds the answers."),
    click.option(
        "--input-format", "kind", type=click.Choice(KINDS),
        help="What INPUT is. [default: by its name; else CSV when a column is named, else lines]",
    ),
)  # fmt: skip
_FORM = (
    click.option(
        "--delimiter", metavar="CHAR", help="What separates the columns of a CSV file. [default: ,]"
    ),
    click.option("--strip", is_flag=True, help="Ignore white space around answers and labels."),
    click.option("--fold-case", is_flag=True, help="Treat upper and lower case as equal."),
    click.option(
        "--normalise", is_flag=True,
        help="Treat different encodings of a character as equal (Unicode's form NFC).",
    ),
)  # fmt: skip


def answers_options(*, form: bool = True) -> Decorator:
    """Hand the answers in INPUT to a command as ``source``, and how to match them as ``form``."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @_all_of((*_PLACE, *_FORM) if form else _PLACE)
        @wraps(command)
        def read(*, answers: Path, column: str | None, kind: str | None, **rest: Any) -> Any:
            source = Source(answers, column, kind, rest.pop("delimiter", None))
            if form:
                rest["form"] = Form(*(rest.pop(x) for x in ("strip", "fold_case", "normalise")))
            return command(source=source, **rest)

        return read

    return decorate


def candidates_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return _all_of((
        click.option("--candidates", type=FILE, metavar="FILE",
                     help="The answers to count, in a file of labels; for open questions."),
        click.option("--candidates-column", metavar="NAME",
                     help="The column of --candidates to take."),
    ))(command)  # fmt: skip


def export_options(*, top: str, significant: str, alpha: str) -> Decorator:
    """Hand the options of a command that writes rows to it, as ``export``; the texts are help."""
    options = (
        click.option("--format", "form", type=click.Choice(FORMATS),
                     help="What to write. [default: by the name of the output, else table]"),
        click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
        output_option,
        click.option("--top", type=click.IntRange(0), metavar="N", help=f"{top} HTML has at most "
                     "1000]"),
        click.option("--significant", is_flag=True, help=significant),
        click.option("--level", type=probability, default=0.95, show_default=True,
                     help="The level of the intervals."),
        click.option("--alpha", type=probability, default=0.05, show_default=True, help=alpha),
        plot_option,
    )  # fmt: skip

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @_all_of(options)
        @wraps(command)
        def read(*, form: str | None, as_json: bool, output: Path, **rest: Any) -> Any:
            given = {name: rest.pop(name) for name in ("top", "significant", "level", "alpha")}
            plot = rest.pop("plot")
            check_plot(plot)
            form = choose_form(form, as_json, output)
            return command(export=Export(form, output, **given, plot=plot), **rest)

        return read

    return decorate


def _all_of(options: tuple[Decorator, ...]) -> Decorator:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
