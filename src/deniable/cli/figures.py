"""Figures that commands write: checked before the work, with their origin inside the file."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.cli.outputs import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLOTS = (".png", ".svg", ".pdf")


def check_plot(path: Path | None) -> None:
    """Refuse a plot in a format that cannot be drawn, before any work is done."""
    if path is not None and path.suffix.lower() not in PLOTS:
        raise click.UsageError(f"a plot is written as .png, .svg or .pdf, not as {path.name!r}")


def kind_of(path: Path) -> str:
    """Return the kind of figure that a file's name says."""
    return path.suffix.lower().removeprefix(".")


def write_plot(figure: Figure, path: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write a matplotlib figure in the format that the file's name says."""
    sink = BytesIO()
    figure.savefig(sink, format=kind_of(path), dpi=150, metadata=dict(metadata or {}))
    write_atomically(path, sink.getvalue())


def draw(make: Callable[[], Figure]) -> Figure:
    """Make a figure and say in one line on stderr what it could not draw."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        figure = make()
    for text in dict.fromkeys(str(each.message) for each in caught):
        click.echo(f"deniable: warning: {text}", err=True)
    return figure
