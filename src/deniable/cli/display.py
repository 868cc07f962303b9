"""What the terminal shows: tables, bars with their errors, and progress on stderr."""

import errno
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from deniable.estimates import Estimates
from deniable.presentation.text import Line, Span, printable, table_lines
from deniable.presentation.view import View

_ASCII = str.maketrans({"█": "#", "▒": "-", "│": "|", "┊": ":", "✓": "*", "·": ".", "…": "~"})
_STYLES = {"head": "bold", "dim": "dim", "yes": "bold green", "no": "dim", "solid": "cyan",
           "shade": "blue", "tick": "bold yellow", "zero": "dim"}  # fmt: skip

Advance = Callable[[float], None]
"""Shows how much of some work is done."""
Column = tuple[str, ...]


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """End as every other output does when its reader is gone."""
        self.quiet = True
        raise BrokenPipeError(errno.EPIPE, "the reader of the output is gone")


def open_console() -> Console:
    return _Output(highlight=False, emoji=False, markup=False)


@contextmanager
def show_progress(description: str, total: float | None) -> Iterator[Advance]:
    """Show a progress bar on stderr while work goes on, and nothing if that is not a terminal."""
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


def shorten(text: str) -> str:
    """Return a label in quotes, cut when it is long."""
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}… ({len(text):,} characters)"


def width_of(columns: Sequence[Column]) -> int:
    return sum(max(map(len, column)) + 2 for column in columns) - 2


def print_columns(
    console: Console,
    columns: Sequence[Column],
    *,
    spared: Sequence[str] = (),
    left: Sequence[str] = (),
) -> None:
    """Print columns, each a heading and its cells, and leave out those of ``spared`` until all fit.

    Cells are never cut. All columns but the first and those of ``left`` hold numbers.
    """
    left_out: list[str] = []
    for head in spared:
        if width_of(columns) > console.width:
            columns = [column for column in columns if column[0] != head]
            left_out.append(head)
    padded = []
    for position, column in enumerate(columns):
        align = str.ljust if position == 0 or column[0] in left else str.rjust
        padded.append([align(cell, max(map(len, column))) for cell in column])
    for number, cells in enumerate(zip(*padded, strict=True)):
        line = Text("  ".join(cells).rstrip(), style="" if number else "bold")
        console.print(fit(console, line), soft_wrap=True)
    if left_out:
        console.print(f"Not shown at this width: {', '.join(left_out)}.")


def print_estimates(
    console: Console, shown: Estimates, truth: npt.NDArray[np.int64] | None = None
) -> None:
    """Print estimates as rows with bars, in the order they have, and what the bars mean.

    ``truth`` holds the true counts of the same rows, where a simulation knows them.
    """
    print_rows(console, shown.view(truth=truth))


def print_view(console: Console, view: View) -> None:
    """Print what the rows are and where they come from, then the rows."""
    print_line(console, (Span(printable(view.heading), "head"),))
    if view.source is not None:
        print_line(console, (Span(printable(view.source), "dim"),))
    print_rows(console, view)


def print_rows(console: Console, view: View) -> None:
    """Print headings, rows and legend; off a terminal nothing is cut, on one it is made to fit."""
    width = console.width if console.is_terminal else None
    encoding = console.encoding if console.options.ascii_only else "utf-8"
    for line in table_lines(view, width, encoding):
        print_line(console, line)


def print_line(console: Console, line: Line) -> None:
    """Print one line in colours, beyond the width of the terminal if need be."""
    text = Text.assemble(*((span.text, _STYLES.get(span.part, "")) for span in line))
    text.rstrip()
    console.print(fit(console, text), soft_wrap=True)


def fit(console: Console, text: Text) -> Text:
    """Return text that the console's encoding can write: what it lacks is replaced or escaped."""
    if console.options.ascii_only:
        plain = text.plain.translate(_ASCII)
        text.plain = plain.encode(console.encoding, "backslashreplace").decode(console.encoding)
    return text
