"""``deniable plan``: how many people, what epsilon or what error, before anything is collected."""

from __future__ import annotations

import json

import click

from deniable.advice import meaning
from deniable.advice import plan as solve
from deniable.advice.ranking import find_protocols
from deniable.cli.choice import check_privacy, complete_protocols
from deniable.cli.display import open_console
from deniable.cli.group import Command, InputError


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
@click.option("--significant", type=float, help="In place of --error: the smallest share that "
              "will be significant, with a probability of at least 95 %, among as many people and "
              "any more.")  # fmt: skip
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
    if sum(x is not None for x in (users, epsilon, error, significant)) != 2 or None not in (
        error,
        significant,
    ):
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
    """Return the protocol of that name, if an epsilon and a number of answers make it."""
    able = [protocol.name for protocol in find_protocols(1.0, 2)]
    known = {each.lower(): each for each in able} | {"grr": "DE"}
    if name.lower() not in known:
        raise InputError(
            f"expected a protocol without settings for a plan, one of {', '.join(able)}, got "
            f"{name!r}; name one of them, or try others with deniable simulate"
        )
    return known[name.lower()]
