"""Options that several commands share."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

import click

from deniable.cli.answers import KINDS
from deniable.cli.group import InputPath, OutputPath
from deniable.cli.outputs import STDIO

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
answers_argument = click.argument("answers", metavar="INPUT", type=FILE)


def token_option(help: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
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


column_option = click.option(
    "--column", metavar="NAME", help="The column, or key, that holds the answers."
)
input_format_option = click.option(
    "--input-format",
    type=click.Choice(KINDS),
    help="What INPUT is. [default: by its name; else CSV when a column is named, else lines]",
)
delimiter_option = click.option(
    "--delimiter", metavar="CHAR", help="What separates the columns of a CSV file. [default: ,]"
)
strip_option = click.option(
    "--strip", is_flag=True, help="Ignore white space around answers and labels."
)
fold_case_option = click.option(
    "--fold-case", is_flag=True, help="Take large and small letters for the same."
)
normalise_option = click.option(
    "--normalise",
    is_flag=True,
    help="Take different codings of the same character for the same (Unicode's form NFC).",
)
output_option = click.option(
    "-o", "--output", type=OUTPUT, default=STDIO, help="Where to write. [default: standard output]"
)
summary_option = click.option(
    "--json", "as_json", is_flag=True, help="Print a summary as JSON; needs -o."
)
goal_option = click.option(
    "--goal",
    type=click.Choice(["mean", "rare"]),
    default="mean",
    show_default=True,
    help="Whose variance is to be least: the mean over all answers, or that of rare answers, which "
    "makes more of them significant.",
)
plot_option = click.option(
    "--plot", type=OUTPUT, metavar="FILE", help="Draw a figure as well: .png, .svg or .pdf."
)
