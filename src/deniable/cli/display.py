"""What the terminal shows: tables, bars that carry their error, and progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from deniable.presentation.text import one_line, percent

if TYPE_CHECKING:
    from deniable.estimates import Estimates

_WIDEST_BAR = 44
_ASCII = str.maketrans({"█": "#", "▒": "-", "│": "|", "✓": "*", "·": " ", "…": "~"})


class Advance(Protocol):
    """Tells how far some work has come."""

    def __call__(self, completed: float) -> None:
        """Show that ``completed`` of the total is done."""


def open_console() -> Console:
    """Return the console of standard output."""
    return Console(highlight=False, emoji=False, markup=False)


@contextmanager
def show_progress(description: str, total: float | None) -> Iterator[Advance]:
    """Show a progress bar on stderr while work goes on, and nothing when that is no terminal."""
    if not sys.stderr.isatty():
        yield lambda completed: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %" if total else "{task.completed:,.0f}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=total)
        yield lambda completed: progress.update(task, completed=completed)


def new_table(*columns: str, left: int = 1) -> Table:
    """Return a table without lines; all columns but the first ``left`` hold numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position < left else "right", no_wrap=True)
    return table


def print_estimates(
    console: Console,
    shown: Estimates,
    *,
    truth: npt.NDArray[np.int64] | None = None,
    level: float = 0.95,
    alpha: float = 0.05,
) -> None:
    """Print estimates as rows with bars, in the order they have, and what the bars mean.

    ``truth`` holds the true counts of the same rows, where a simulation knows them.
    """
    low, high = shown.interval(level)
    keys = shown.labels or tuple(str(v) for v in _values(shown))
    names = [one_line(key, 24 if console.width < 100 else 40) for key in keys]
    cells = [
        [f"{rank}", name, *([] if truth is None else [f"{truth[i]:,}"]), f"{shown.counts[i]:,.0f}",
         f"{shown.frequencies[i]:.2%}", f"{low[i]:,.0f} … {high[i]:,.0f}"]
        for i, (rank, name) in enumerate(enumerate(names, start=1))
    ]  # fmt: skip
    heads = ["", "answer", *([] if truth is None else ["true"]), "estimated", "share",
             f"{percent(level)} interval"]  # fmt: skip
    used = sum(max(Text(text).cell_len for text in column) + 2
               for column in zip(heads, *cells, strict=True)) + 3  # fmt: skip
    width = min(max(console.width - used, 6), _WIDEST_BAR)
    largest = max(float(high.max(initial=0.0)), float(shown.counts.max(initial=0.0)))
    table = new_table(*heads, "", "", left=0)
    table.columns[1].justify = table.columns[-1].justify = "left"
    for i, (row, significant) in enumerate(zip(cells, shown.significant(alpha), strict=True)):
        mark = Text("✓", style="bold green") if significant else Text("·", style="dim")
        bar = interval_bar(low[i], high[i], largest, width)
        if truth is not None:
            bar = mark_truth(bar, truth[i] / largest, width)
        texts = [Text(row[0], style="dim"), *map(Text, row[1:-1]), Text(row[-1], style="dim")]
        table.add_row(*(_fit(console, text) for text in (*texts, mark, bar)))
    console.print(table)
    tick: list[str | tuple[str, str]] = []
    if truth is not None:
        tick = [("│", "bold yellow"), " true  "]
    legend = Text.assemble(
        ("█", "cyan"), " at least  ", ("▒", "blue"), f" {percent(level)} interval  ", *tick,
        ("✓", "bold green"),
        f" significant: above {shown.threshold(alpha):,.0f} (alpha = {alpha:g})",
    )  # fmt: skip
    console.print(_fit(console, legend))


def interval_bar(low: float, high: float, largest: float, width: int) -> Text:
    """Return a bar that is solid up to ``low`` and shaded up to ``high``."""
    scale = width / largest if largest > 0 else 0.0
    solid, end = (round(min(max(x, 0.0) * scale, width)) for x in (low, high))
    return Text.assemble(("█" * solid, "cyan"), ("▒" * (end - solid), "blue"))


def mark_truth(bar: Text, share: float, width: int) -> Text:
    """Return the bar with a tick at ``share`` of its width."""
    tick = min(max(int(share * width), 0), width - 1)
    bar.pad_right(tick + 1 - len(bar))
    return Text.assemble(bar[:tick], ("│", "bold yellow"), bar[tick + 1 :])


def _values(shown: Estimates) -> npt.NDArray[np.int64]:
    return np.arange(len(shown)) if shown.values is None else shown.values


def _fit(console: Console, text: Text) -> Text:
    """Return text that the console's encoding can write."""
    if console.options.ascii_only:
        text.plain = text.plain.translate(_ASCII)
    return text
