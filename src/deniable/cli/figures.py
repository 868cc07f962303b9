"""Figures that ``estimate`` and ``compare`` write, with their origin inside the file."""

from __future__ import annotations

import warnings
from pathlib import Path

from deniable.cli.outputs import write_plot
from deniable.cli.streams import warn
from deniable.presentation import Presentable
from deniable.presentation.drawing import metadata


def write_figure(
    path: Path, shown: Presentable, top: int | None, *, level: float, alpha: float
) -> None:
    """Draw the largest rows; what could not be drawn is said on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        figure = shown.plot(top=top, level=level, alpha=alpha)
    for text in dict.fromkeys(str(each.message) for each in caught):
        warn(text)
    view = shown.top(top).view(level=level, alpha=alpha)
    write_plot(figure, path, metadata(view, path.suffix.lower().removeprefix(".")))
