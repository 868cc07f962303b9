"""Columns as CSV, JSON, Parquet and data frames, all with the same names.

Metadata goes where a format has a place for it: JSON's outer
object, the schema of an Arrow or Parquet file, the ``attrs`` of pandas. CSV has no place that every
reader skips (comment lines break pandas, R and spreadsheets alike), so there the provenance is
repeated in constant columns at the end. Files that are joined can still be told apart that way.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.optional import load
from deniable.presentation.view import plain

if TYPE_CHECKING:
    import pyarrow

Column = Sequence[str] | np.typing.NDArray[np.generic]
Columns = Mapping[str, Column | None]
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def csv_text(table: Columns, constants: Mapping[str, object] | None, delimiter: str = ",") -> str:
    """Return columns as CSV: a header, quotes only where needed, Unix line ends.

    The constants follow in columns of their own. Text that a spreadsheet would take for a formula
    is written behind an apostrophe, which ``unguarded`` removes. What is not known is left empty.
    """
    size = _size(table)
    cells = {name: _cells(column, size) for name, column in table.items()}
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


def _cells(column: Column | None, size: int) -> list[object]:
    """Return a column as CSV has it; what is no number is written once for each distinct value."""
    found = plain(column, size)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        return found
    written = {value: _cell(value) for value in set(found)}
    return [written[value] for value in found]


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
    """Return text as it was before it was ``guarded``."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def json_text(table: Columns, metadata: Mapping[str, object], name: str = "estimates") -> str:
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


def arrow_table(table: Columns, metadata: Mapping[str, object]) -> pyarrow.Table:
    arrow = load("pyarrow", "arrow")
    encoded = {f"deniable.{name}": json.dumps(value) for name, value in metadata.items()}
    # With from_pandas what is not a number is null.
    columns = {name: arrow.array(each, from_pandas=True) for name, each in owned(table).items()}
    return arrow.table(columns, metadata=encoded)


def _size(table: Columns) -> int:
    return len(next(column for column in table.values() if column is not None))


def owned(table: Columns) -> dict[str, Any]:
    """Return copies of the columns, which a data frame may write to."""
    return {
        name: column.copy() if isinstance(column, np.ndarray) else plain(column, _size(table))
        for name, column in table.items()
    }
