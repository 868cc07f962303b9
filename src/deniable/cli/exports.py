"""The formats in which commands write estimates and comparisons, and the names that choose them."""

from __future__ import annotations

from pathlib import Path

import click

from deniable.cli.display import open_console, print_view
from deniable.cli.outputs import PLOTS, STDIO, refuse_terminal, write_atomically
from deniable.presentation.exports import MOST_ROWS, Presentable

FORMATS = ("table", "csv", "tsv", "json", "parquet", "html")
_SUFFIXES = {"": "table", ".txt": "table", ".csv": "csv", ".tsv": "tsv", ".json": "json",
             ".parquet": "parquet", ".pq": "parquet", ".html": "html", ".htm": "html"}  # fmt: skip

format_option = click.option(
    "--format", "form", type=click.Choice(FORMATS),
    help="What to write. [default: by the name of the output, else table]",
)  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")


def choose_form(form: str | None, as_json: bool, output: Path) -> str:
    """Return the format that the options or the name of the output say, or refuse it early."""
    chosen = "json" if as_json else form or _form_of(output)
    if chosen == "parquet":
        refuse_terminal(output)
    return chosen


def write_export(
    shown: Presentable, form: str, output: Path, *, level: float, alpha: float, top: int | None
) -> None:
    """Write rows in one of the formats; ``top`` is as many as were asked for, or 0 for all."""
    if form == "table" and str(output) == STDIO:
        print_view(open_console(), shown.view(level=level, alpha=alpha))
        return
    write_atomically(output, _encoded(shown, form, level=level, alpha=alpha, top=top))


def _encoded(
    shown: Presentable, form: str, *, level: float, alpha: float, top: int | None
) -> bytes:
    match form:
        case "parquet":
            return shown.to_parquet(level=level, alpha=alpha)
        case "html":
            most = MOST_ROWS if top is None else None
            return shown.to_html(level=level, alpha=alpha, top=most).encode()
        case "table":
            return f"{shown.table(None, level=level, alpha=alpha)}\n".encode()
        case "json":
            return shown.to_json(level=level, alpha=alpha).encode()
    delimiter = "\t" if form == "tsv" else ","
    return shown.to_csv(level=level, alpha=alpha, delimiter=delimiter).encode()


def _form_of(output: Path) -> str:
    """Return the format that the name of the output says."""
    if str(output) == STDIO:
        return "table"
    suffix = output.suffix.lower()
    if suffix in PLOTS:
        raise click.UsageError(f"{output} is the name of a figure; draw it with --plot {output}")
    if suffix not in _SUFFIXES:
        known = ", ".join(filter(None, _SUFFIXES))
        raise click.UsageError(
            f"expected an output whose name ends with {known}, got {str(output)!r}; rename it, or "
            "say with --format what to write"
        )
    return _SUFFIXES[suffix]
