"""Options that several commands share."""

from __future__ import annotations

import math
from pathlib import Path

import click

from deniable.cli.inputs import KINDS
from deniable.cli.outputs import STDIO

FILE = click.Path(path_type=Path, allow_dash=True)


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
column_option = click.option(
    "--column", metavar="NAME", help="The column, or key, that holds the answers."
)
input_format_option = click.option(
    "--input-format",
    type=click.Choice(KINDS),
    help="What INPUT is. [default: by its name; else CSV when a column is named, else lines]",
)
output_option = click.option(
    "-o", "--output", type=FILE, default=STDIO, help="Where to write. [default: standard output]"
)
summary_option = click.option(
    "--json", "as_json", is_flag=True, help="Print a summary as JSON; needs -o."
)
plot_option = click.option(
    "--plot", type=FILE, metavar="FILE", help="Draw a figure as well: .png, .svg or .pdf."
)
