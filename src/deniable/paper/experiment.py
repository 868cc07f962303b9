"""What the modules of this package have in common."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deniable.presentation.data import load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, object]
"""One line of a result: column name to a number or a text."""


def _silent(done: float, what: str) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class Context:
    """How an experiment is to be run: its randomness, its size, and who hears of its progress.

    ``progress`` is called with the share of the work that is done and what is being done.
    """

    seed: int = 0
    quick: bool = False
    progress: Callable[[float, str], None] = _silent

    def rng(self, *key: int) -> np.random.Generator:
        """Return the generator of one part of the work, whatever order the parts are done in."""
        return np.random.default_rng([self.seed, *key])


class Experiment(Protocol):
    """The module of one table or figure."""

    NAME: str
    TITLE: str
    NOTES: tuple[str, ...]

    @staticmethod
    def rows(context: Context) -> list[Row]:
        """Compute the data."""

    @staticmethod
    def figure(rows: Sequence[Row]) -> Figure:
        """Draw the data."""


@dataclass(frozen=True)
class Result:
    """The data of an experiment, with what a reader has to know about them."""

    name: str
    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    def to_csv(self) -> str:
        """Return the rows as CSV, with the columns of the first."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(self.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return out.getvalue()


def blank_figure(width: float, height: float) -> Figure:
    """Return an empty matplotlib figure, made without pyplot."""
    figure: Figure = load("matplotlib.figure", "plot").Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure


def draw_table(figure: Figure, cells: Sequence[Sequence[str]], title: str) -> None:
    """Draw a table whose first row and first column are headings."""
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_title(title)
    whole = load("matplotlib.transforms", "plot").Bbox.unit()
    table = axes.table(
        cellText=[list(row) for row in cells], loc="center", cellLoc="center", bbox=whole
    )
    table.auto_set_font_size(False)
    table.set_fontsize(10)
    for (line, column), cell in table.get_celld().items():
        cell.set_edgecolor("#bbbbbb")
        if line == 0 or column == 0:
            cell.set_facecolor("#eef2f7")
