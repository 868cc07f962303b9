"""What estimates and comparisons have in common: the ways out, all from one view and one table.

``to_csv``, ``to_json``, ``to_html``, ``to_parquet`` and ``plot`` return what they make. Given the
name of a file as their first argument they write it there instead, in place of what was there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sized
from typing import TYPE_CHECKING, ClassVar, Self, overload

from deniable.documents import PathName, returned
from deniable.presentation.data import (
    arrow_table,
    csv_text,
    json_text,
    pandas_frame,
    parquet_bytes,
    polars_frame,
)
from deniable.presentation.drawing import figure, save
from deniable.presentation.page import html_notebook, html_page
from deniable.presentation.rows import Column, View
from deniable.presentation.text import text_table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.figure import Figure

MOST_ROWS = 1000
"""As many rows a web page has unless more are asked for."""


class Presentable(Sized, ABC):
    """Something with rows that can be printed, exported and drawn."""

    rows_name: ClassVar[str]
    """What JSON calls the list of rows."""

    @abstractmethod
    def top(self, k: int | None = None) -> Self:
        """Return the ``k`` largest rows, or all of them, largest first."""

    @abstractmethod
    def columns(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, Column]:
        """Return the columns of the exports by name."""

    @abstractmethod
    def summary(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, object]:
        """Return what is said once about all rows, where they come from included."""

    @abstractmethod
    def constants(self) -> dict[str, object] | None:
        """Return where the rows come from, for exports that have no place but their rows."""

    @abstractmethod
    def view(self, *, level: float = 0.95, alpha: float = 0.05) -> View:
        """Return what is shown of all rows, in the order they have."""

    @abstractmethod
    def title(self) -> str:
        """Return what a page is called."""

    def __repr__(self) -> str:
        return self.table(top=10)

    def _repr_html_(self) -> str:
        return html_notebook(self.top(50).view())

    def table(
        self,
        top: int | None = 25,
        *,
        level: float = 0.95,
        alpha: float = 0.05,
        width: int | None = None,
    ) -> str:
        """Return the largest rows as a text table with bars, as the command line prints it.

        No label is cut, unless a ``width`` is given: then bars shrink first, and after them long
        labels lose their middle.
        """
        return text_table(self.top(top).view(level=level, alpha=alpha), width)

    @overload
    def to_csv(
        self, path: None = None, *, level: float = ..., alpha: float = ..., delimiter: str = ...
    ) -> str: ...
    @overload
    def to_csv(
        self, path: PathName, *, level: float = ..., alpha: float = ..., delimiter: str = ...
    ) -> None: ...
    def to_csv(
        self,
        path: PathName | None = None,
        *,
        level: float = 0.95,
        alpha: float = 0.05,
        delimiter: str = ",",
    ) -> str | None:
        r"""Return or write the columns as CSV, numbers in full, or as TSV with ``delimiter="\t"``.

        Where the rows come from stands in constant columns at the end. A label that a spreadsheet
        would take for a formula is written behind an apostrophe, which
        ``deniable.presentation.unguarded`` takes away.
        """
        text = csv_text(self.columns(level=level, alpha=alpha), self.constants(), delimiter)
        return returned(text, path)

    @overload
    def to_json(self, path: None = None, *, level: float = ..., alpha: float = ...) -> str: ...
    @overload
    def to_json(self, path: PathName, *, level: float = ..., alpha: float = ...) -> None: ...
    def to_json(
        self, path: PathName | None = None, *, level: float = 0.95, alpha: float = 0.05
    ) -> str | None:
        """Return or write the columns as JSON, an object for each row, with what is said once."""
        said = self.summary(level=level, alpha=alpha)
        text = json_text(self.columns(level=level, alpha=alpha), said, self.rows_name)
        return returned(text, path)

    @overload
    def to_html(
        self,
        path: None = None,
        *,
        title: str | None = ...,
        level: float = ...,
        alpha: float = ...,
        top: int | None = ...,
    ) -> str: ...
    @overload
    def to_html(
        self,
        path: PathName,
        *,
        title: str | None = ...,
        level: float = ...,
        alpha: float = ...,
        top: int | None = ...,
    ) -> None: ...
    def to_html(
        self,
        path: PathName | None = None,
        *,
        title: str | None = None,
        level: float = 0.95,
        alpha: float = 0.05,
        top: int | None = MOST_ROWS,
    ) -> str | None:
        """Return or write a web page that stands alone, called like the question unless told.

        Up to ``top`` rows come in the order they have here; of more, the largest, and the page says
        so. None is for all of them: a hundred thousand make some fifty megabytes.
        """
        shown = self if top is None or len(self) <= top else self.top(top)
        text = html_page(shown.view(level=level, alpha=alpha), title or self.title())
        return returned(text, path)

    @overload
    def to_parquet(self, path: None = None, *, level: float = ..., alpha: float = ...) -> bytes: ...
    @overload
    def to_parquet(self, path: PathName, *, level: float = ..., alpha: float = ...) -> None: ...
    def to_parquet(
        self, path: PathName | None = None, *, level: float = 0.95, alpha: float = 0.05
    ) -> bytes | None:
        """Return or write the columns as a Parquet file; needs the extra ``arrow``."""
        said = self.summary(level=level, alpha=alpha)
        data = parquet_bytes(self.columns(level=level, alpha=alpha), said)
        return returned(data, path)

    def to_pandas(self, *, level: float = 0.95, alpha: float = 0.05) -> pandas.DataFrame:
        """Return the columns as a pandas data frame; needs the extra ``frames``."""
        said = self.summary(level=level, alpha=alpha)
        return pandas_frame(self.columns(level=level, alpha=alpha), said)

    def to_polars(self, *, level: float = 0.95, alpha: float = 0.05) -> polars.DataFrame:
        """Return the columns as a Polars data frame; needs the extra ``frames``."""
        return polars_frame(self.columns(level=level, alpha=alpha))

    def to_arrow(self, *, level: float = 0.95, alpha: float = 0.05) -> pyarrow.Table:
        """Return the columns as an Arrow table; needs the extra ``arrow``."""
        said = self.summary(level=level, alpha=alpha)
        return arrow_table(self.columns(level=level, alpha=alpha), said)

    @overload
    def plot(
        self, path: None = None, *, top: int | None = ..., level: float = ..., alpha: float = ...
    ) -> Figure: ...
    @overload
    def plot(
        self, path: PathName, *, top: int | None = ..., level: float = ..., alpha: float = ...
    ) -> None: ...
    def plot(
        self,
        path: PathName | None = None,
        *,
        top: int | None = 25,
        level: float = 0.95,
        alpha: float = 0.05,
    ) -> Figure | None:
        """Return or write a matplotlib figure of the largest rows; needs the extra ``plot``.

        A notebook shows the figure; a file is PNG, SVG or PDF by its name. Few rows are drawn as
        bars, more than sixty as a curve over their rank.
        """
        return draw(self.top(top).view(level=level, alpha=alpha), path)


def draw(view: View, path: PathName | None) -> Figure | None:
    """Return the figure of a view, or write it."""
    drawn = figure(view)
    if path is None:
        return drawn
    save(drawn, view, path)
    return None
