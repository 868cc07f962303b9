"""The ways out of a result: ``Presentable`` with its exports, and the formats that they write.

``to_csv``, ``to_json``, ``to_html``, ``to_parquet`` and ``plot`` return what they make. Given the
name of a file as their first argument they write it there instead, replacing what was there.

All formats have the same columns. Metadata goes where a format has a place for it: JSON's outer
object, the schema of an Arrow or Parquet file, the ``attrs`` of pandas. CSV has no place that every
reader skips (comment lines break pandas, R and spreadsheets alike), so there the provenance is
repeated in constant columns at the end. Files that are joined can still be told apart that way.
"""

from __future__ import annotations

import csv
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Sized
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from deniable.documents import PathName, returned
from deniable.errors import InvalidParameter
from deniable.optional import load
from deniable.presentation.html import html_notebook, html_page
from deniable.presentation.text import text_table
from deniable.presentation.view import View, plain

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.figure import Figure

Column = Sequence[str] | npt.NDArray[np.generic]
Columns = dict[str, Column | None]
MOST_ROWS = 1000
"""The number of rows on a web page, unless another is asked for."""
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


class Limits(TypedDict, total=False):
    """The level of the intervals and the chance of a false alarm."""

    level: float
    alpha: float


class Presentable(Sized, ABC):
    """Something with rows that can be printed, exported and drawn."""

    rows_name: ClassVar[str]
    """What JSON calls the list of rows."""

    @abstractmethod
    def take(self, rows: Sequence[int] | npt.NDArray[np.integer]) -> Self:
        """Return some rows by their places; their significance stays that among all rows."""

    @abstractmethod
    def largest(self, k: int | None = None) -> npt.NDArray[np.integer]:
        """Return the places of the ``k`` largest rows, or of all of them, largest first."""

    @property
    @abstractmethod
    def unknown(self) -> str | None:
        """Why there are no intervals and no significance, where there are none."""

    @abstractmethod
    def significant(self, alpha: float = 0.05) -> npt.NDArray[np.bool_] | None:
        """Tell which rows are significant, or None where that is not known."""

    @abstractmethod
    def columns(self, *, level: float = 0.95, alpha: float = 0.05) -> Columns:
        """Return the columns of the exports by name; one that is not known is None."""

    @abstractmethod
    def summary(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, object]:
        """Return what holds for all rows: the metadata of the exports, with the provenance."""

    @abstractmethod
    def constants(self) -> dict[str, object] | None:
        """Return the provenance, for exports that can only repeat it in every row."""

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

    def only_significant(self, alpha: float = 0.05) -> Self:
        """Return the significant rows, and refuse results of which they are not known."""
        found = self.significant(alpha)
        if found is None:
            raise InvalidParameter(self.unknown or "significance is not known", value=None)
        return self.take(np.flatnonzero(found))

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
        return returned(csv_text(columns, self.constants(), delimiter), path)

    @overload
    def to_json(self, path: None = None, **limits: Unpack[Limits]) -> str: ...
    @overload
    def to_json(self, path: PathName, **limits: Unpack[Limits]) -> None: ...
    def to_json(
        self, path: PathName | None = None, *, level: float = 0.95, alpha: float = 0.05
    ) -> str | None:
        """Return or write the columns as JSON: an object for each row, after the metadata."""
        return returned(json_text(*self._both(level, alpha), self.rows_name), path)

    @overload
    def to_html(
        self,
        path: None = None,
        *,
        title: str | None = ...,
        top: int | None = ...,
        **limits: Unpack[Limits],
    ) -> str: ...
    @overload
    def to_html(
        self,
        path: PathName,
        *,
        title: str | None = ...,
        top: int | None = ...,
        **limits: Unpack[Limits],
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
        """Return or write a web page that stands alone, titled like the question by default.

        Up to ``top`` rows keep their order; of more, the page has the largest and says so. With
        None it has all of them: a hundred thousand rows make some fifty megabytes.
        """
        shown = self if top is None or len(self) <= top else self.top(top)
        page = html_page(shown.view(level=level, alpha=alpha), title or self.title())
        return returned(page, path)

    @overload
    def to_parquet(self, path: None = None, **limits: Unpack[Limits]) -> bytes: ...
    @overload
    def to_parquet(self, path: PathName, **limits: Unpack[Limits]) -> None: ...
    def to_parquet(
        self, path: PathName | None = None, *, level: float = 0.95, alpha: float = 0.05
    ) -> bytes | None:
        """Return or write the columns as a Parquet file; needs the extra ``arrow``."""
        return returned(parquet_bytes(*self._both(level, alpha)), path)

    def to_pandas(self, *, level: float = 0.95, alpha: float = 0.05) -> pandas.DataFrame:
        """Return a pandas data frame, metadata in its ``attrs``; needs the extra ``frames``."""
        return pandas_frame(*self._both(level, alpha))

    def to_polars(self, *, level: float = 0.95, alpha: float = 0.05) -> polars.DataFrame:
        """Return the columns as a Polars data frame; needs the extra ``frames``."""
        return polars_frame(self.columns(level=level, alpha=alpha))

    def to_arrow(self, *, level: float = 0.95, alpha: float = 0.05) -> pyarrow.Table:
        """Return an Arrow table, metadata in its schema; needs the extra ``arrow``."""
        return arrow_table(*self._both(level, alpha))

    def _both(self, level: float, alpha: float) -> tuple[Columns, dict[str, object]]:
        return self.columns(level=level, alpha=alpha), self.summary(level=level, alpha=alpha)

    @overload
    def plot(
        self,
        path: None = None,
        *,
        top: int | None = ...,
        truth: npt.ArrayLike | None = ...,
        **limits: Unpack[Limits],
    ) -> Figure: ...
    @overload
    def plot(
        self,
        path: PathName,
        *,
        top: int | None = ...,
        truth: npt.ArrayLike | None = ...,
        **limits: Unpack[Limits],
    ) -> None: ...
    def plot(
        self,
        path: PathName | None = None,
        *,
        top: int | None = 25,
        level: float = 0.95,
        alpha: float = 0.05,
        truth: npt.ArrayLike | None = None,
    ) -> Figure | None:
        """Return or write a matplotlib figure of the largest rows; needs the extra ``plot``.

        A notebook shows the figure; a file is PNG, SVG or PDF by its name. Few rows are drawn as
        bars, more than sixty as a curve over their rank. ``truth``, the true values of all rows in
        a simulation, is drawn beside them.
        """
        load("matplotlib.figure", "plot")
        from deniable.presentation import figure  # noqa: PLC0415 - needs the extra

        order = self.largest(top)
        if truth is not None:
            truth = _one_each(truth, len(self))[order]
        view = self.take(order).view(level=level, alpha=alpha, truth=truth)
        picture = figure.draw(view)
        if path is None:
            return picture
        figure.save(picture, view, path)
        return None


def _one_each(truth: npt.ArrayLike, size: int) -> npt.NDArray[np.float64]:
    true = np.asarray(truth, dtype=np.float64)
    if true.shape != (size,):
        raise InvalidParameter.expected(
            f"{size} true values, one for each row",
            true.shape,
            "count the answers with numpy.bincount(values, minlength=domain_size)",
        )
    return true


def csv_text(
    table: Mapping[str, Column | None], constants: Mapping[str, object] | None, delimiter: str = ","
) -> str:
    """Return columns as CSV: a header, quotes only where needed, Unix line ends.

    The constants follow in columns of their own. Text that a spreadsheet would take for a formula
    is written behind an apostrophe, which ``unguarded`` removes. What is not known is left empty.
    """
    size = _size(table)
    cells = {name: list(map(_cell, plain(column, size))) for name, column in table.items()}
    cells |= {name: [_cell(value)] * size for name, value in (constants or {}).items()}
    lines = _Lines()
    # Only this line end makes every version of Python quote both \r and \n.
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(cells)
    writer.writerows(zip(*cells.values(), strict=True))
    return "".join(lines)


class _Lines(list[str]):
    """A file of lines, which turns every line end into that of Unix."""

    def write(self, line: str) -> None:
        self.append(line.removesuffix("\r\n") + "\n")


def _cell(value: object) -> object:
    if isinstance(value, str):
        return guarded(value)
    return str(value).lower() if isinstance(value, bool) else value


def guarded(text: str) -> str:
    """Return text behind an apostrophe if a spreadsheet would take it for a formula.

    Such text begins, after any apostrophes, with one of = + - @, a tab or a carriage return.

    >>> guarded("=1+1"), guarded("kiwi"), guarded("'tis"), guarded("'=1")
    ("'=1+1", 'kiwi', "'tis", "''=1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """Return text as it was before it was ``guarded``.

    >>> all(unguarded(guarded(x)) == x for x in ("=1+1", "kiwi", "'tis", "'=1", "", "-"))
    True
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def json_text(
    table: Mapping[str, Column | None], metadata: Mapping[str, object], name: str = "estimates"
) -> str:
    """Return one JSON object: the metadata, then a list under ``name`` with an object per row.

    What is not known is null.
    """
    head = json.dumps(metadata, indent=2, ensure_ascii=False, allow_nan=False)[:-2]
    names = [json.dumps(key, ensure_ascii=False).replace("%", "%%") for key in table]
    row = "    {" + ", ".join(f"{key}: %s" for key in names) + "}"
    cells = (_json_cells(plain(column, _size(table))) for column in table.values())
    lines = ",\n".join(map(row.__mod__, zip(*cells, strict=True)))
    return f'{head},\n  "{name}": [\n{lines}\n  ]\n}}\n'


def _json_cells(column: list[object]) -> list[str]:
    """Return the values of a column as JSON, made in one call: JSON escapes any line end."""
    text = json.dumps(column, ensure_ascii=False, allow_nan=False, separators=("\n", ": "))
    return text[1:-1].split("\n") if len(column) else []


def pandas_frame(
    table: Mapping[str, Column | None], metadata: Mapping[str, object]
) -> pandas.DataFrame:
    frame = load("pandas", "frames").DataFrame(_owned(table))
    frame.attrs.update(metadata)
    return frame


def polars_frame(table: Mapping[str, Column | None]) -> polars.DataFrame:
    made: polars.DataFrame = load("polars", "frames").DataFrame(_owned(table), nan_to_null=True)
    return made


def arrow_table(
    table: Mapping[str, Column | None], metadata: Mapping[str, object]
) -> pyarrow.Table:
    arrow = load("pyarrow", "arrow")
    encoded = {f"deniable.{name}": json.dumps(value) for name, value in metadata.items()}
    # With from_pandas what is not a number is null.
    columns = {name: arrow.array(each, from_pandas=True) for name, each in _owned(table).items()}
    return arrow.table(columns, metadata=encoded)


def parquet_bytes(table: Mapping[str, Column | None], metadata: Mapping[str, object]) -> bytes:
    sink = BytesIO()
    load("pyarrow.parquet", "arrow").write_table(arrow_table(table, metadata), sink)
    return sink.getvalue()


def _size(table: Mapping[str, Column | None]) -> int:
    return len(next(column for column in table.values() if column is not None))


def _owned(table: Mapping[str, Column | None]) -> dict[str, Any]:
    """Return copies of the columns, which a data frame may write to."""
    return {
        name: column.copy() if isinstance(column, np.ndarray) else plain(column, _size(table))
        for name, column in table.items()
    }
