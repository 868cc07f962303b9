"""Estimates and comparisons as columns: CSV, JSON, pandas, Polars, Arrow, all with the same names.

Where a format has a place for what is said once, that goes there: JSON's outer object, the
metadata of an Arrow or Parquet schema, the ``attrs`` of pandas. CSV has none that every reader
skips (comment lines break pandas, R and spreadsheets alike), so where the rows come from is
repeated in constant columns at the end; files that are put together stay told apart that way.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.optional import load
from deniable.presentation.rows import Column, Columns

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from deniable.estimates import Estimates

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
EXPLANATIONS = {
    "threshold": "the count that a significant answer exceeds: any of the answers that nobody gave "
    "comes out above it with probability of at most alpha",
    "null_std_error": "the standard error of the count of an answer that nobody gave",
    "significant": "about all answers at once, while lower and upper are about one answer by "
    "itself: an interval that leaves out 0 need not be significant",
}


def columns(estimates: Estimates, level: float, alpha: float) -> dict[str, Column]:
    """Return the columns of the exports by name."""
    found = Columns.of(estimates, level, alpha)
    prefix = "" if estimates.adjusted is None else "unbiased_"
    before = {} if estimates.adjusted is None else {"unbiased_count": estimates.unbiased_counts}
    return {
        "value" if estimates.labels is None else "label": found.keys,
        "count": found.counts,
        "share": found.shares,
        **before,
        f"{prefix}std_error": found.std_errors,
        f"{prefix}lower": found.lower,
        f"{prefix}upper": found.upper,
        "significant": found.significant,
    }


def summary(estimates: Estimates, level: float, alpha: float) -> dict[str, object]:
    """Return what is said once about all rows."""
    return {
        "provenance": provenance_of(estimates),
        "n": estimates.n,
        "answers": estimates.total,
        "level": level,
        "interval_of": "unbiased count",
        "adjusted": estimates.adjusted,
        "alpha": alpha,
        "threshold": estimates.threshold(alpha),
        "null_std_error": estimates.null_std_error,
        "explanations": EXPLANATIONS,
    }


def provenance_of(estimates: Estimates) -> dict[str, object] | None:
    """Return where estimates come from, by the names that all exports use.

    Of people who may have answered again it is also said how many reports they sent, and by what
    law they are judged.
    """
    provenance, repeats = estimates.provenance, estimates.repeats
    if provenance is None:
        return None
    said = {} if repeats is None else {"reports": repeats.reports, "law": str(repeats)}
    return {
        "question": provenance.question,
        "digest": provenance.digest,
        "protocol": provenance.protocol,
        "epsilon": provenance.epsilon,
        "n": estimates.n,
        "version": provenance.version,
        **said,
    }


def csv_text(
    table: Mapping[str, Column], constants: Mapping[str, object] | None, delimiter: str = ","
) -> str:
    """Return columns as CSV: a header, quotes only where needed, Unix line ends.

    The constants stand in columns of their own after the others. Text that a spreadsheet would
    take for a formula is written behind an apostrophe; ``unguarded`` takes it away again.
    """
    listed = {name: _plain(column) for name, column in table.items()}
    size = len(next(iter(listed.values())))
    for name, value in (constants or {}).items():
        listed[name] = ["" if value is None else value] * size
    cells = {name: _cells(column) for name, column in listed.items()}
    lines = _Lines()
    # Only this line end makes every version of Python quote both \r and \n.
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(cells)
    writer.writerows(zip(*cells.values(), strict=True))
    return "".join(lines)


def guarded(text: str) -> str:
    """Return text that no spreadsheet takes for a formula: behind an apostrophe, if it must be.

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
    table: Mapping[str, Column], said: Mapping[str, object], name: str = "estimates"
) -> str:
    """Return one JSON object: what is said once, then one object for each row under ``name``."""
    head = json.dumps(said, indent=2, ensure_ascii=False)[:-2]
    names = [json.dumps(key, ensure_ascii=False).replace("%", "%%") for key in table]
    row = "    {" + ", ".join(f"{key}: %s" for key in names) + "}"
    lines = ",\n".join(map(row.__mod__, zip(*map(_json_cells, table.values()), strict=True)))
    return f'{head},\n  "{name}": [\n{lines}\n  ]\n}}\n'


def pandas_frame(table: Mapping[str, Column], said: Mapping[str, object]) -> pandas.DataFrame:
    """Return a pandas data frame, with what is said once in its ``attrs``."""
    frame = load("pandas", "frames").DataFrame(_owned(table))
    frame.attrs.update(said)
    return frame


def polars_frame(table: Mapping[str, Column]) -> polars.DataFrame:
    """Return a Polars data frame."""
    return load("polars", "frames").DataFrame(_owned(table))  # type: ignore[no-any-return]  # loaded by name


def arrow_table(table: Mapping[str, Column], said: Mapping[str, object]) -> pyarrow.Table:
    """Return an Arrow table, with what is said once in the metadata of its schema."""
    metadata = {f"deniable.{name}": json.dumps(value) for name, value in said.items()}
    return load("pyarrow", "arrow").table(_owned(table), metadata=metadata)


def parquet_bytes(table: Mapping[str, Column], said: Mapping[str, object]) -> bytes:
    """Return a Parquet file of the Arrow table."""
    sink = BytesIO()
    load("pyarrow.parquet", "arrow").write_table(arrow_table(table, said), sink)
    return sink.getvalue()


def _plain(column: Column) -> list[object]:
    """Return a column as a list of plain Python objects, whose text is exact."""
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _json_cells(column: Column) -> list[str]:
    """Return the values of a column as JSON, made in one call: no value has a line end in it."""
    text = json.dumps(_plain(column), ensure_ascii=False, separators=("\n", ": "))
    return text[1:-1].split("\n") if len(column) else []


def _cells(column: list[object]) -> list[object]:
    """Return a column as CSV has it; what is no text and no truth value stays as it is."""
    if not column or not isinstance(column[0], str | bool):
        return column
    return [guarded(value) if isinstance(value, str) else str(value).lower() for value in column]


class _Lines(list[str]):
    """A file of lines, each with a Unix line end whatever it was written with."""

    def write(self, line: str) -> None:
        """Take one line."""
        self.append(line.removesuffix("\r\n") + "\n")


def _owned(table: Mapping[str, Column]) -> dict[str, Any]:
    """Return columns that a data frame may write to."""
    return {
        name: column.copy() if isinstance(column, np.ndarray) else list(column)
        for name, column in table.items()
    }
