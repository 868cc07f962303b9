"""The ways out of a result: ``Presentable``, with its exports and figures.

``to_csv``, ``to_json``, ``to_html``, ``to_parquet`` and ``plot`` return what they make. Given the
name of a file as their first argument they write it there instead, replacing what was there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence, Sized
from io import BytesIO
from typing import TYPE_CHECKING, ClassVar, Self, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from deniable import presentation
from deniable.documents import PathName, returned
from deniable.errors import InvalidParameter
from deniable.optional import load
from deniable.presentation import tables
from deniable.presentation.view import View

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from deniable.presentation.parts import Beside, Part
    from deniable.presentation.trend import Reading

MOST_ROWS = 1000
"""The number of rows on a web page, unless another is asked for."""


class Limits(TypedDict, total=False):
    """The level of the intervals and the chance of a false alarm."""

    level: float
    alpha: float


class PageOptions(Limits, total=False):
    """What a web page takes besides."""

    title: str | None
    top: int | None


class PlotOptions(Limits, total=False):
    """What a figure takes besides."""

    top: int | None
    truth: npt.ArrayLike | None
    ax: Axes | None


class Presentable(Sized, ABC):
    """Something with rows that can be printed, exported and drawn."""

    rows_name: ClassVar[str]
    """What JSON calls the list of rows."""

    @abstractmethod
    def take(self, rows: Sequence[int] | npt.NDArray[np.integer]) -> Self:
        """Return some rows by their places; their significance stays that among all rows."""

    def largest(self, k: int | None = None) -> npt.NDArray[np.integer]:
        """Return the places of the ``k`` largest rows, or of all, where they have an order."""
        return np.arange(len(self))[:k]

    @property
    @abstractmethod
    def unknown(self) -> str | None:
        """Why there are no intervals and no significance, where there are none."""

    @abstractmethod
    def significant(self, alpha: float = 0.05) -> npt.NDArray[np.bool_] | None:
        """Tell which rows are significant, or None where that is not known."""

    @abstractmethod
    def columns(self, *, level: float = 0.95, alpha: float = 0.05) -> tables.Columns:
        """Return the columns of the exports by name; one that is not known is None."""

    @abstractmethod
    def summary(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, object]:
        """Return what holds for all rows: the metadata of the exports, with the provenance."""

    @abstractmethod
    def constants(self) -> dict[str, object] | None:
        """Return the provenance, for exports that can only repeat it in every row."""

    def repeated(self, level: float = 0.95) -> dict[str, object]:
        """Return what CSV repeats in every row: the provenance, and what is told beside rows."""
        found = {**(self.constants() or {}), **self.told(level)}
        return {name.replace(" ", "_"): x for name, x in found.items()}

    def told(self, level: float = 0.95) -> dict[str, object]:
        """Return what is told beside rows, each figure by the names of its three columns."""
        told = self.figures(level).items()
        ends = {f"{name} {end}": x for name, each in told for end, x in each.row.items()}
        return {name.replace(" ", "_"): x for name, x in ends.items()}

    @abstractmethod
    def view(
        self, *, level: float = 0.95, alpha: float = 0.05, truth: npt.ArrayLike | None = None
    ) -> View:
        """Return what text, page and figure show; ``truth`` has the true value of each row."""

    @abstractmethod
    def title(self) -> str:
        """Return the title of a page."""

    def top(self, k: int | None = None) -> Self:
        """Return the ``k`` largest rows, or all of them, largest first.

        Their significance stays that among all rows.
        """
        return self.take(self.largest(k))

    def shown(self, k: int | None = None) -> Self:
        """Return at most ``k`` rows to look at: the largest ones, or wider bins of numbers."""
        return self.top(k)

    def followed(self, k: int | None = None) -> Self:
        """Return the rows whose shares are followed from day to day: the ``k`` largest, or all."""
        return self.top(k)

    def readings(self, level: float = 0.95) -> tuple[Reading, ...]:
        """Return what is followed from day to day beside rows, the most important first."""
        del level
        return ()

    def figures(self, level: float = 0.95) -> dict[str, presentation.view.Figure]:
        """Return what is told beside rows: the mean of numbers, and quartiles if known."""
        del level
        return {}

    def overview(self) -> str:
        """Return what a terminal shows above the rows: of two attributes their shares as a grid."""
        return ""

    def only_significant(self, alpha: float = 0.05) -> Self:
        """Return the significant rows, or say why they are not known."""
        found = self.significant(alpha)
        if found is None:
            raise InvalidParameter(f"{self.unknown}; show all rows instead")
        return self.take(np.flatnonzero(found))

    def __repr__(self) -> str:
        return self.table(top=10)

    def _repr_html_(self) -> str:
        return presentation.html.notebook(presentation.parts.render(self.parts()))

    def parts(self, beside: Beside | None = None) -> tuple[Part, ...]:
        """Return what a page, a notebook or an export shows: here all numbers of the rows."""
        beside = beside or presentation.parts.Beside()
        shown = self.top(beside.rows)
        view = shown.view(level=beside.level, alpha=beside.alpha)
        return (presentation.parts.Listing(self.rows_name, view.headline, view=view),)

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
        return presentation.text.text_table(self.shown(top).view(level=level, alpha=alpha), width)

    @overload
    def to_csv(
        self, path: None = None, *, delimiter: str = ..., **limits: Unpack[Limits]
    ) -> str: ...
    @overload
    def to_csv(self, path: PathName, *, delimiter: str = ..., **limits: Unpack[Limits]) -> None: ...
    def to_csv(
        self,
        path: PathName | None = None,
        *,
        level: float = 0.95,
        alpha: float = 0.05,
        delimiter: str = ",",
    ) -> str | None:
        r"""Return or write the columns as CSV, numbers in full, or as TSV with ``delimiter="\t"``.

        The provenance stands in constant columns at the end. A label that a spreadsheet would take
        for a formula is written behind an apostrophe, which ``deniable.presentation.unguarded``
        removes.
        """
        columns = self.columns(level=level, alpha=alpha)
        return returned(tables.csv_text(columns, self.repeated(level), delimiter), path)

    @overload
    def to_json(self, path: None = None, **limits: Unpack[Limits]) -> str: ...
    @overload
    def to_json(self, path: PathName, **limits: Unpack[Limits]) -> None: ...
    def to_json(
        self, path: PathName | None = None, *, level: float = 0.95, alpha: float = 0.05
    ) -> str | None:
        """Return or write the columns as JSON: an object for each row, after the metadata."""
        return returned(tables.json_text(*self._both(level, alpha), self.rows_name), path)

    @overload
    def to_html(self, path: None = None, **options: Unpack[PageOptions]) -> str: ...
    @overload
    def to_html(self, path: PathName, **options: Unpack[PageOptions]) -> None: ...
    def to_html(
        self,
        path: PathName | None = None,
        *,
        title: str | None = None,
        level: float = 0.95,
        alpha: float = 0.05,
        top: int | None = MOST_ROWS,
    ) -> str | None:
        """Return or write a web page that stands alone, titled like the question by default.

        It has the ``top`` largest rows, and says so where there are more. With None it has all of
        them: a hundred thousand rows make some fifty megabytes.
        """
        return returned(self.page(title, presentation.parts.Beside(top, level, alpha)), path)

    def page(
        self, title: str | None = None, beside: Beside | None = None, sheet: str | None = None
    ) -> str:
        """Return the page of ``to_html``, with its style at an address if one is given."""
        html, parts = presentation.html, presentation.parts
        beside = parts.Beside(MOST_ROWS) if beside is None else beside
        about = html.metas(self.take([]).view(level=beside.level, alpha=beside.alpha))
        return html.page(title or self.title(), parts.render(self.parts(beside)), about, sheet)

    @overload
    def to_parquet(self, path: None = None, **limits: Unpack[Limits]) -> bytes: ...
    @overload
    def to_parquet(self, path: PathName, **limits: Unpack[Limits]) -> None: ...
    def to_parquet(
        self, path: PathName | None = None, *, level: float = 0.95, alpha: float = 0.05
    ) -> bytes | None:
        """Return or write the columns as a Parquet file; needs the extra ``arrow``."""
        sink, table = BytesIO(), self.to_arrow(level=level, alpha=alpha)
        load("pyarrow.parquet", "arrow").write_table(table, sink)
        return returned(sink.getvalue(), path)

    def to_pandas(self, *, level: float = 0.95, alpha: float = 0.05) -> pandas.DataFrame:
        """Return a pandas data frame, metadata in its ``attrs``; needs the extra ``frames``."""
        columns, metadata = self._both(level, alpha)
        frame: pandas.DataFrame = load("pandas", "frames").DataFrame(tables.owned(columns))
        frame.attrs.update(metadata)
        return frame

    def to_polars(self, *, level: float = 0.95, alpha: float = 0.05) -> polars.DataFrame:
        """Return the columns as a Polars data frame; needs the extra ``frames``."""
        columns = tables.owned(self.columns(level=level, alpha=alpha))
        frame: polars.DataFrame = load("polars", "frames").DataFrame(columns, nan_to_null=True)
        return frame

    def to_arrow(self, *, level: float = 0.95, alpha: float = 0.05) -> pyarrow.Table:
        """Return an Arrow table, metadata in its schema; needs the extra ``arrow``."""
        return tables.arrow_table(*self._both(level, alpha))

    def _both(self, level: float, alpha: float) -> tuple[tables.Columns, dict[str, object]]:
        return self.columns(level=level, alpha=alpha), self.summary(level=level, alpha=alpha)

    @overload
    def plot(self, path: None = None, **options: Unpack[PlotOptions]) -> Figure: ...
    @overload
    def plot(self, path: PathName, **options: Unpack[PlotOptions]) -> None: ...
    def plot(  # noqa: PLR0913 - a place, what is drawn, and how
        self,
        path: PathName | None = None,
        *,
        top: int | None = 25,
        level: float = 0.95,
        alpha: float = 0.05,
        truth: npt.ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Figure | None:
        """Return or write a matplotlib figure of the largest rows; needs the extra ``plot``.

        A notebook shows the figure; a file is PNG, SVG or PDF by its name. Few rows are drawn as
        bars, more than sixty as a curve over their rank. ``truth``, the true values of all rows in
        a simulation, is drawn beside them. ``ax`` has the axes of a figure of yours to draw on.
        """
        load("matplotlib.figure", "plot")
        from deniable.presentation import figure  # noqa: PLC0415 - needs the extra

        shown = self.shown(top)
        if truth is not None:
            order = self.largest(top)
            shown, truth = self.take(order), _one_each(truth, len(self))[order]
        view = shown.view(level=level, alpha=alpha, truth=truth)
        picture = figure.draw(view, self.caption(), ax)
        if path is None:
            return picture
        figure.save(picture, view, path)
        return None

    def caption(self) -> str:
        """Return what stands over a figure: the most important finding."""
        return "".join(self.findings()[:1])

    def findings(self) -> tuple[str, ...]:
        """Return what the rows say in sentences, the most important first, where that is known."""
        return ()


def _one_each(truth: npt.ArrayLike, size: int) -> npt.NDArray[np.float64]:
    true = np.asarray(truth, dtype=np.float64)
    if true.shape != (size,):
        raise InvalidParameter.expected(
            f"{size} true values, one for each row",
            true.shape,
            "count the answers with numpy.bincount(values, minlength=domain_size)",
        )
    return true
