"""Figures that ``estimate`` and ``compare`` write, with their origin inside the file."""

from __future__ import annotations

import warnings
from pathlib import Path

from deniable.cli.outputs import write_plot
from deniable.cli.streams import warn
from deniable.optional import load
from deniable.presentation.exports import Presentable


def write_figure(
    path: Path, shown: Presentable, top: int | None, *, level: float, alpha: float
) -> None:
    """Draw the largest rows; what could not be drawn is said on stderr."""
    load("matplotlib.figure", "plot")
    from deniable.presentation import figure  # noqa: PLC0415 - needs the extra

    view = shown.top(top).view(level=level, alpha=alpha)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        picture = figure.draw(view)
    for text in dict.fromkeys(str(each.message) for each in caught):
        warn(text)
    write_plot(picture, path, figure.metadata(view, path.suffix.lower().removeprefix(".")))
