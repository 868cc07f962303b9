"""``deniable audit``: prove or measure the epsilon of a protocol."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from deniable.auditing import audit as run_audit
from deniable.cli.choice import choose_protocol
from deniable.cli.group import Command


@click.command(
    cls=Command,
    examples=[
        "deniable audit OUE --epsilon 1 --domain-size 4",
        "deniable audit LH:g=4 --epsilon 1 --domain-size 10 --json",
    ],
)
@click.argument("protocol_name", metavar="PROTOCOL")
@click.option("--epsilon", type=float, help="The privacy loss that is claimed.")
@click.option("--domain-size", type=int, default=4, show_default=True, help="How many values.")
@click.option("--samples", type=click.IntRange(1000), default=200_000, show_default=True,
              help="How many reports to draw where the law cannot be enumerated.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a sentence.")
def audit(
    protocol_name: str, *, epsilon: float | None, domain_size: int, samples: int, as_json: bool
) -> int:
    """Prove or measure the epsilon of PROTOCOL, from the code that clients run.

    On small domains the law of the reports is enumerated and the answer is exact; on large ones it
    is a lower bound from samples. Settings follow the name: LH:g=16, THE:theta=1, UE:p=0.5:q=0.2.
    The exit code is 1 when the protocol spends more than it claims.
    """
    protocol = choose_protocol(protocol_name, epsilon, domain_size)
    found = run_audit(protocol, samples=samples)
    if as_json:
        ratio = found.worst_ratio
        document = {**asdict(found), "holds": found.holds, "protocol": protocol.specification(),
                    "worst_ratio": None if ratio is None else str(ratio)}  # fmt: skip
        click.echo(json.dumps(document))
    else:
        click.echo(f"{protocol}: {found}")
    return 0 if found.holds else 1
