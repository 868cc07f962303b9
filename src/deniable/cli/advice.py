"""``deniable recommend`` and ``deniable plan``: what to know before anything is collected."""

import json

import click

from deniable.advice import meaning
from deniable.advice import plan as solve
from deniable.advice import recommend as rank
from deniable.advice.ranking import Goal, find_protocols
from deniable.cli.display import open_console, print_columns
from deniable.cli.group import Command, InputError
from deniable.cli.options import goal_option
from deniable.cli.protocol_names import check_privacy, complete_protocols

_HEADS = ("protocol", "variance", "relative", "std error", "bytes", "client", "server", "paper")
_SPARED = ("server", "client", "paper", "relative")
"""The columns that a narrow terminal does without, in this order."""
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
    that of an answer which nobody gives, which decides what is significant. Protocols within
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
    console, best = open_console(), advice.best.noise(goal)
    rows = [_HEADS, *(_compact(option.cells(best, goal)) for option in advice.options)]
    columns = [column for column in zip(*rows, strict=True) if users or column[0] != "std error"]
    print_columns(console, columns, spared=_SPARED, left=("client", "server", "paper"))
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


@click.command(
    cls=Command,
    examples=[
        "deniable plan --domain-size 12 --users 20000 --error 0.01",
        "deniable plan --domain-size 41270 --users 1000000 --epsilon 1",
        "deniable plan --domain-size 100 --epsilon 1 --significant 0.005 --json",
    ],
)
@click.option("--domain-size", type=int, required=True, help="How many answers there are.")
@click.option("--users", type=int, help="How many people send a report.")
@click.option("--epsilon", type=float, help="The privacy loss of one report.")
@click.option("--error", type=float, help="The typical standard error of an estimated share "
              "(root mean square over all answers): 0.01 is one percentage point.")  # fmt: skip
@click.option("--significant", type=float, help="In place of --error: the smallest share that will "
              "be significant with a probability of at least 95 %, among this many people or "
              "more.")  # fmt: skip
@click.option("--protocol", "name", shell_complete=complete_protocols,
              help="Plan with this protocol. [default: the best one]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
def plan(
    *,
    domain_size: int,
    users: int | None,
    epsilon: float | None,
    error: float | None,
    significant: float | None,
    name: str | None,
    as_json: bool,
) -> None:
    """Solve for people, epsilon or error, given the other two.

    Give two of --users, --epsilon and one of --error and --significant.
    """
    given = sum(x is not None for x in (users, epsilon, error, significant))
    if given != 2 or None not in (error, significant):
        raise click.UsageError(
            "give two of --users, --epsilon and one of --error and --significant; the third is "
            "solved for"
        )
    check_privacy(epsilon, domain_size)
    found = solve(
        domain_size,
        users=users,
        epsilon=epsilon,
        error=error,
        significant=significant,
        protocol=None if name is None else _plannable(name),
    )
    if epsilon is None and found.reachable:
        check_privacy(found.epsilon)
    # What cannot be reached at the largest epsilon is not worth an explanation of that epsilon.
    reached = found.epsilon if found.reachable else epsilon
    said = None if reached is None else meaning(reached)
    if as_json:
        click.echo(json.dumps({**found.row(), "meaning": said}, indent=2))
        return
    console = open_console()
    console.print(found.explanation, style="bold" if found.reachable else "bold red")
    if said is not None:
        console.print(f"\n{said}")


def _plannable(name: str) -> str:
    """Return the protocol of that name, if it is made of an epsilon and a number of answers."""
    able = [protocol.name for protocol in find_protocols(1.0, 2)]
    known = {each.lower(): each for each in able} | {"grr": "DE"}
    if name.lower() not in known:
        raise InputError(
            f"expected a protocol without settings for a plan, one of {', '.join(able)}, got "
            f"{name!r}; name one of them, or try others with deniable simulate"
        )
    return known[name.lower()]
