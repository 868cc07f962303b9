"""``deniable audit``: prove or measure the epsilon of a protocol, ours or anyone's."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

import click

from deniable.auditing import Audit
from deniable.auditing import audit as run_audit
from deniable.auditing.probe import Privatizer
from deniable.cli.choice import choose_protocol
from deniable.cli.display import show_progress
from deniable.cli.foreign import is_foreign, load_foreign
from deniable.cli.group import Command, InputError
from deniable.cli.inputs import read_question
from deniable.progress import listening

_DOMAIN_SIZE = 4


@click.command(
    cls=Command,
    examples=[
        "deniable audit fruit.json",
        "deniable audit OUE --epsilon 1 --domain-size 4",
        "deniable audit LH:g=4 --epsilon 1 --domain-size 5 --calls 1000 --json",
    ],
)
@click.argument("target", metavar="QUESTION|PROTOCOL|MODULE:CLASS")
@click.option("--epsilon", type=float, help="The privacy loss that is claimed.")
@click.option("--domain-size", type=int, help=f"How many values.  [default: {_DOMAIN_SIZE}]")
@click.option("--calls", type=click.IntRange(32), default=8192, show_default=True,
              help="How many single calls to make of each value.")  # fmt: skip
@click.option("--samples", type=click.IntRange(1000), default=200_000, show_default=True,
              help="How many reports to draw where the law cannot be enumerated.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
def audit(
    target: str,
    *,
    epsilon: float | None,
    domain_size: int | None,
    calls: int,
    samples: int,
    as_json: bool,
) -> int:
    """Prove or measure the epsilon of a protocol, from the code that clients run.

    It is the protocol of a question file, one of ours by its name with settings after it (LH:g=16,
    THE:theta=1, UE:p=0.5:q=0.2), or a class of yours: MODULE:CLASS is imported, from the current
    directory too, and made with the epsilon and the domain size where it takes them.

    Single calls, batches and copies must make the same reports from the same random words. On small
    domains the law of the reports is enumerated and the answer is exact; elsewhere it is a lower
    bound. The exit code is 1 when the protocol is BROKEN: when it spends more than it claims, or
    its calls differ.
    """
    protocol = _choose(target, epsilon, domain_size)
    with show_progress("Auditing", 100) as advance, listening(lambda done, _: advance(done)):
        found = run_audit(protocol, calls=calls, samples=samples)
    if as_json:
        click.echo(json.dumps(_document(protocol, found)))
    else:
        click.echo(f"{protocol}: {found}")
    return 0 if found.holds else 1


def _choose(target: str, epsilon: float | None, domain_size: int | None) -> Privatizer:
    if target.endswith(".json") or Path(target).is_file():
        if epsilon is not None or domain_size is not None:
            raise InputError(
                f"expected no --epsilon and no --domain-size with the question {target}, which has "
                "its own; leave them out"
            )
        return read_question(Path(target)).protocol
    if is_foreign(target):
        return load_foreign(target, epsilon, domain_size)
    return choose_protocol(target, epsilon, _DOMAIN_SIZE if domain_size is None else domain_size)


def _document(protocol: Privatizer, found: Audit) -> dict[str, object]:
    ratio = found.worst_ratio
    specification = getattr(protocol, "specification", None)
    return {
        **asdict(found),
        "epsilon": found.epsilon if math.isfinite(found.epsilon) else None,
        "holds": found.holds,
        "protocol": specification() if specification else repr(protocol),
        "worst_ratio": None if ratio is None else str(ratio),
    }
