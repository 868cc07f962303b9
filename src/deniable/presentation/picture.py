"""A matplotlib figure that shows itself in a notebook; only where matplotlib is."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure that needs neither pyplot nor a notebook's inline mode to be seen."""

    def _repr_png_(self) -> bytes:
        sink = BytesIO()
        self.savefig(sink, format="png")
        return sink.getvalue()
