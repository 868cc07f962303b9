"""What the terminal shows: tables, bars that carry their error, and progress on stderr."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from deniable.presentation.text import one_line, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable.estimates import Estimates

_WIDEST_BAR, _NARROWEST_BAR = 44, 6
_NARROWEST_LABEL = 8
_UNLIMITED = 10_000
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


def print_table(console: Console, table: Table) -> None:
    """Print a table whose numbers are never cut: columns that may wrap do, else lines overflow."""
    unlimited, gaps = console.options.update(max_width=_UNLIMITED), 2 * (len(table.columns) - 1)
    for column in table.columns:
        found = [Measurement.get(console, unlimited, x) for x in (column.header, *column.cells)]
        column.max_width = max(each.maximum for each in found)
        shortest = max(each.minimum for each in found)
        column.width = column.max_width if column.no_wrap else shortest
    for column in table.columns:
        room = console.width - gaps - sum(each.width or 0 for each in table.columns)
        column.width = min(column.max_width or 0, (column.width or 0) + max(room, 0))
    table.width = gaps + sum(column.width or 0 for column in table.columns)
    console.print(table, crop=False)


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
    cells = [
        [f"{i + 1}", *([] if truth is None else [f"{truth[i]:,}"]), f"{shown.counts[i]:z,.0f}",
         f"{100 * shown.frequencies[i]:z.2f} %", f"{low[i]:z,.0f} to {high[i]:z,.0f}"]
        for i in range(len(shown))
    ]  # fmt: skip
    heads = ["", *([] if truth is None else ["true"]), "estimated", "share",
             f"{percent(level)} interval"]  # fmt: skip
    used = sum(max(Text(text).cell_len for text in column) + 2
               for column in zip(heads, *cells, strict=True)) + 3  # fmt: skip
    names, width = _share_out(console, keys, console.width - used)
    largest = max(float(high.max(initial=0.0)), float(shown.counts.max(initial=0.0)))
    table = new_table(heads[0], "answer", *heads[1:], "", *([""] if width else []), left=0)
    table.columns[1].justify = table.columns[-1].justify = "left"
    for i, (row, significant) in enumerate(zip(cells, shown.significant(alpha), strict=True)):
        mark = Text("✓", style="bold green") if significant else Text("·", style="dim")
        bar = interval_bar(low[i], high[i], largest, width)
        if truth is not None and width:
            bar = mark_truth(bar, truth[i] / largest, width)
        texts = [Text(row[0], style="dim"), names[i], *map(Text, row[1:-1]),
                 Text(row[-1], style="dim"), mark, *([bar] if width else [])]  # fmt: skip
        table.add_row(*(fit(console, text) for text in texts))
    print_table(console, table)
    tick: list[str | tuple[str, str]] = []
    if truth is not None:
        tick = [("│", "bold yellow"), " true  "]
    bars = (("█", "cyan"), " at least  ", ("▒", "blue"), f" {percent(level)} interval  ", *tick)
    legend = Text.assemble(
        *(bars if width else ()),
        ("✓", "bold green"),
        f" significant: above {shown.least_significant(alpha):,.0f} (alpha = {alpha:g})",
    )  # fmt: skip
    console.print(fit(console, legend))


def _share_out(console: Console, keys: Sequence[str], room: int) -> tuple[list[Text], int]:
    """Divide the room that the numbers leave: labels that fit, and the width of the bars or 0.

    The bars give way first, then the labels are cut, down to a few letters each.
    """
    most = 24 if console.width < 100 else 40

    def cut(width: int) -> list[Text]:
        writable = (fit(console, Text(key[: 4 * most + 1])).plain for key in keys)
        return [fit(console, Text(one_line(key, width))) for key in writable]

    names = cut(most)
    bar = room - max(name.cell_len for name in [*names, Text("answer")]) - 2
    if bar >= _NARROWEST_BAR:
        return names, min(bar, _WIDEST_BAR)
    return cut(min(max(room, _NARROWEST_LABEL), most)), 0


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


def fit(console: Console, text: Text) -> Text:
    """Return text that the console's encoding can write: what it lacks is replaced or escaped."""
    if console.options.ascii_only:
        plain = text.plain.translate(_ASCII)
        text.plain = plain.encode(console.encoding, "backslashreplace").decode(console.encoding)
    return text


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    >>> counted(1, "report"), counted(2000, "report")
    ('1 report', '2,000 reports')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _values(shown: Estimates) -> npt.NDArray[np.int64]:
    return np.arange(len(shown)) if shown.values is None else shown.values
