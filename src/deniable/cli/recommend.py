"""``deniable recommend``: the protocols ranked for one epsilon and one domain size."""

from __future__ import annotations

import json

import click

from deniable.advice import meaning
from deniable.advice import recommend as rank
from deniable.advice.ranking import Goal, find_protocols
from deniable.cli.choice import check_privacy
from deniable.cli.display import fitting, new_table, open_console, print_table
from deniable.cli.group import Command
from deniable.cli.options import goal_option

_HEADS = ("protocol", "variance", "relative", "std error", "bytes", "client", "server", "paper")
_SPARED = ("server", "client", "paper", "relative")
"""The columns that give way on a narrow terminal, in this order."""
_SHORTER = (("random word", "word"), (" a report, then decode", " + decoding"), (" a report", ""))


@click.command(
    cls=Command,
    examples=[
        "deniable recommend --epsilon 1 --domain-size 1000",
        "deniable recommend --epsilon 4 --domain-size 41270 --users 8000000 --json",
        "deniable recommend --epsilon 1 --domain-size 1000 --max-report-bytes 16",
        "deniable recommend --epsilon 2 --domain-size 12 --goal rare",
    ],
)
@click.option("--epsilon", type=float, required=True, help="The privacy loss of one report.")
@click.option("--domain-size", type=int, required=True, help="How many answers there are.")
@click.option("--users", type=int, help="How many people send a report.")
@click.option("--max-report-bytes", type=int, help="The largest report that is acceptable.")
@goal_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def recommend(
    *,
    epsilon: float,
    domain_size: int,
    users: int | None,
    max_report_bytes: int | None,
    goal: Goal,
    as_json: bool,
) -> None:
    """Rank the protocols for an epsilon and a domain size, by exact variance.

    The variance is that of a count for one person: averaged over all answers, or with --goal rare
    that of an answer which nobody gives, on which it depends what is significant. Protocols within
    half a percent of each other count as equal: the one that decodes fastest comes first. The last
    column tells which protocol the guideline of the paper takes.
    """
    check_privacy(epsilon, domain_size)
    advice = rank(epsilon, domain_size, users, max_report_bytes, goal=goal)
    usual = (protocol.name for protocol in find_protocols(1.0, 2))
    possible = {*(option.name for option in advice.options), *advice.unranked}
    impossible = sorted({*usual} - possible)
    if as_json:
        document = {
            "epsilon": advice.epsilon,
            "domain_size": advice.domain_size,
            "users": advice.users,
            "max_report_bytes": advice.max_report_bytes,
            "goal": advice.goal,
            "best": advice.best.name,
            "guideline": advice.guideline,
            "reason": advice.reason,
            "options": [option.row() for option in advice.options],
            "unranked": list(advice.unranked),
            "impossible": impossible,
        }
        click.echo(json.dumps(document, indent=2))
        return
    console = open_console()
    rows = [
        _HEADS,
        *(_compact(option.cells(advice.best.noise(goal), goal)) for option in advice.options),
    ]
    columns = [column for column in zip(*rows, strict=True) if users or column[0] != "std error"]
    columns, left_out = fitting(columns, _SPARED, console.width)
    table = new_table(*(column[0] for column in columns))
    for position, column in enumerate(columns):
        if column[0] in {"client", "server", "paper"}:
            table.columns[position].justify = "left"
    for cells in list(zip(*columns, strict=True))[1:]:
        table.add_row(*cells)
    print_table(console, table)
    if left_out:
        console.print(f"Not shown at this width: {', '.join(left_out)}.")
    if impossible:
        console.print(f"Impossible at this epsilon and domain size: {', '.join(impossible)}.")
    for note in advice.notes:
        console.print(note)
    console.print(f"\n{advice.reason}", style="bold")
    console.print(f"\n{meaning(epsilon)}")


def _compact(cells: tuple[str, ...]) -> tuple[str, ...]:
    """Return the cells of an option with fewer letters, so that most fit into 80 columns."""
    text = "\n".join(cells)
    for long, short in _SHORTER:
        text = text.replace(long, short)
    return tuple(text.split("\n"))
