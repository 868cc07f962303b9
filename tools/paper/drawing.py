"""How tables and curves are drawn, the same protocol in the same style in every figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from deniable.optional import load
from tools.paper.experiment import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = {
    "OLH": ("#1f6fb4", "o"),
    "BLH": ("#c0392b", "s"),
    "RAP(8)": ("#8a6d3b", "v"),
    "RAP(16)": ("#2e8b57", "^"),
    "RAP(32)": ("#7d4fa0", "D"),
    "RAP(64)": ("#e08a1e", "P"),
    "RAP(128)": ("#6b7280", "X"),
    "OUE": ("#2e8b57", "^"),
    "SUE": ("#e08a1e", "D"),
    "DE": ("#7d4fa0", "v"),
    "SHE": ("#6b7280", "X"),
    "THE (theta = 1)": ("#8a6d3b", "P"),
}


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


def names_in(rows: Sequence[Row]) -> list[str]:
    """Return the protocols of rows in the order in which they appear."""
    return list(dict.fromkeys(str(row["protocol"]) for row in rows))


def draw_curves(axes: Axes, rows: Sequence[Row], x: str, value: str, line: str = "-") -> None:
    """Draw for each protocol the mean of ``value`` over ``x``, with its standard deviation."""
    for name in names_in(rows):
        own = [row for row in rows if row["protocol"] == name]
        at, mean, std = (column(own, key) for key in (x, value, f"{value}_std"))
        colour, mark = _STYLES[name]
        axes.errorbar(at, mean, std, fmt=mark + line, color=colour, ms=5, lw=1.3, capsize=2,
                      elinewidth=0.9, label=name)  # fmt: skip


def draw_lines(axes: Axes, rows: Sequence[Row], x: str, value: str, line: str) -> None:
    """Draw for each protocol a line without marks, which the legend leaves out."""
    for name in names_in(rows):
        own = [row for row in rows if row["protocol"] == name]
        axes.plot(column(own, x), column(own, value), line, color=_STYLES[name][0], lw=1.2)


def column(rows: Sequence[Row], key: str) -> list[float]:
    """Return one column of rows."""
    return [cast("float", row[key]) for row in rows]


def finish_axes(axes: Axes, x: str, y: str, *, title: str = "", legend: bool = True) -> None:
    """Name the axes, and show a grid and the legend."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize="medium")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if legend:
        axes.legend(fontsize="small", frameon=False, ncols=5, loc="upper center",
                    bbox_to_anchor=(0.5, -0.14))  # fmt: skip
