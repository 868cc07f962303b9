"""``deniable reproduce``: the tables and figures of the paper, computed again."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.cli.display import new_table, open_console, show_progress
from deniable.cli.group import Command
from deniable.cli.outputs import write_atomically
from deniable.paper import EXPERIMENTS, Context, Result, load, run

if TYPE_CHECKING:
    from rich.table import Table

ALL = "all"


@click.command(
    cls=Command,
    examples=[
        "deniable reproduce table2",
        "deniable reproduce table1 -o paper",
        "deniable reproduce fig1 -o paper --json",
    ],
)
@click.argument("name", type=click.Choice([*EXPERIMENTS, ALL]))
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Write NAME.csv and NAME.png there. [default: print the rows]")  # fmt: skip
@click.option("--quick", is_flag=True, help="A smaller experiment, for a first look.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True,
              help="The seed of simulations.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def reproduce(name: str, *, output: Path | None, quick: bool, seed: int, as_json: bool) -> None:
    """Recompute a table or figure of the paper, or all of them."""
    results = [_run(each, quick, seed) for each in (EXPERIMENTS if name == ALL else [name])]
    for result in results:
        if output is not None:
            _write(result, output)
        elif not as_json:
            _print(result)
    if as_json:
        documents = [{"name": r.name, "title": r.title, "notes": r.notes, "rows": r.rows}
                     for r in results]  # fmt: skip
        click.echo(json.dumps(documents, indent=2))


def _run(name: str, quick: bool, seed: int) -> Result:
    with show_progress(f"Computing {name}", 1.0) as advance:
        return run(name, Context(seed, quick, lambda done, what: advance(done)))


def _write(result: Result, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    sink = BytesIO()
    load(result.name).figure(result.rows).savefig(sink, format="png", dpi=150)
    write_atomically(directory / f"{result.name}.csv", result.to_csv().encode())
    write_atomically(directory / f"{result.name}.png", sink.getvalue())
    click.echo(f"{directory / result.name}.csv and .png: {result.title}", err=True)


def _print(result: Result) -> None:
    console = open_console()
    console.print(f"{result.title}\n", style="bold")
    cells = [list(result.rows[0]), *([_cell(x) for x in row.values()] for row in result.rows)]
    wide = _table(cells)
    tall = _table([list(column) for column in zip(*cells, strict=True)])
    unlimited = console.options.update(max_width=10_000)
    widths = [console.measure(table, options=unlimited).maximum for table in (wide, tall)]
    turned = widths[1] <= console.width < widths[0]
    # What fits neither way is printed in full all the same: it can be piped or scrolled.
    console.width = max(console.width, widths[turned])
    console.print(tall if turned else wide)
    for note in result.notes:
        console.print(f"\n{note}")


def _table(cells: list[list[str]]) -> Table:
    table = new_table(*cells[0])
    for row in cells[1:]:
        table.add_row(*row)
    return table


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
