"""Estimates as columns: CSV, JSON, pandas, Polars and Arrow, all with the same names."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.extras import load

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from deniable.estimates import Estimates

Column = Sequence[str] | npt.NDArray[np.generic]


def columns(estimates: Estimates, level: float, alpha: float) -> dict[str, Column]:
    """Return the columns of the exports by name."""
    key = keys(estimates)
    lower, upper = estimates.interval(level)
    result: dict[str, Column] = {
        "value" if estimates.labels is None else "label": key,
        "count": estimates.counts,
        "frequency": estimates.frequencies,
    }
    prefix = ""
    if estimates.adjusted is not None:
        prefix = "unbiased_"
        result["unbiased_count"] = estimates.unbiased_counts
    result[f"{prefix}std_error"] = estimates.std_errors
    result[f"{prefix}lower"] = lower
    result[f"{prefix}upper"] = upper
    result["significant"] = estimates.significant(alpha)
    return result


def keys(estimates: Estimates) -> Column:
    """Return what the rows are about: labels, or values where there are none."""
    if estimates.labels is not None:
        return estimates.labels
    return np.arange(len(estimates)) if estimates.values is None else estimates.values


def summary(estimates: Estimates, level: float, alpha: float) -> dict[str, object]:
    """Return what is said once about all rows."""
    return {
        "n": estimates.n,
        "answers": estimates.total,
        "level": level,
        "interval_of": "unbiased count",
        "adjusted": estimates.adjusted,
        "alpha": alpha,
        "threshold": estimates.threshold(alpha),
        "least_significant": estimates.least_significant(alpha),
        "null_std_error": estimates.null_std_error,
    }


def _lists(estimates: Estimates, level: float, alpha: float) -> dict[str, list[object]]:
    """Return the columns as lists of plain Python objects, whose text is exact."""
    return {
        name: column.tolist() if isinstance(column, np.ndarray) else list(column)
        for name, column in columns(estimates, level, alpha).items()
    }


def csv_text(estimates: Estimates, level: float, alpha: float) -> str:
    """Return the columns as CSV: a header, quotes only where needed, Unix line ends."""
    listed = _lists(estimates, level, alpha)
    listed["significant"] = ["true" if flag else "false" for flag in listed["significant"]]
    return "".join(map(_csv_line, [listed, *zip(*listed.values(), strict=True)]))


def _csv_line(fields: Iterable[object]) -> str:
    out = io.StringIO()
    # Only this line end makes every version of Python quote both \r and \n.
    csv.writer(out, lineterminator="\r\n").writerow(fields)
    return out.getvalue().removesuffix("\r\n") + "\n"


def json_text(estimates: Estimates, level: float, alpha: float) -> str:
    """Return one JSON object: what is said once, then one object for each row."""
    listed = _lists(estimates, level, alpha)
    rows = [dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True)]
    head = json.dumps(summary(estimates, level, alpha), indent=2, ensure_ascii=False)[:-2]
    lines = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{head},\n  "estimates": [\n{lines}\n  ]\n}}\n'


def pandas_frame(estimates: Estimates, level: float, alpha: float) -> pandas.DataFrame:
    """Return a pandas data frame, with what is said once in its ``attrs``."""
    frame = load("pandas", "frames").DataFrame(_owned(estimates, level, alpha))
    frame.attrs.update(summary(estimates, level, alpha))
    return frame


def polars_frame(estimates: Estimates, level: float, alpha: float) -> polars.DataFrame:
    """Return a Polars data frame."""
    return load("polars", "frames").DataFrame(_owned(estimates, level, alpha))  # type: ignore[no-any-return]  # loaded by name


def arrow_table(estimates: Estimates, level: float, alpha: float) -> pyarrow.Table:
    """Return an Arrow table, with what is said once in the metadata of its schema."""
    said = summary(estimates, level, alpha)
    metadata = {f"deniable.{name}": json.dumps(value) for name, value in said.items()}
    return load("pyarrow", "arrow").table(_owned(estimates, level, alpha), metadata=metadata)


def _owned(estimates: Estimates, level: float, alpha: float) -> dict[str, Any]:
    """Return columns that a data frame may write to."""
    return {
        name: column.copy() if isinstance(column, np.ndarray) else list(column)
        for name, column in columns(estimates, level, alpha).items()
    }
