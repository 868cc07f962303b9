"""``deniable pull``: a collector's tally as a file."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import click

from deniable.cli.display import counted
from deniable.cli.group import Command, InputError
from deniable.cli.options import output_option
from deniable.cli.outputs import STDIO, refuse_terminal, write_atomically
from deniable.client import Transport
from deniable.tally import Tally


@click.command(
    cls=Command,
    examples=[
        "deniable pull http://127.0.0.1:8000 50d049cc… -o tally.bin",
        "deniable pull https://counts.example.org 50d049cc… --from 2025-01-01 -o tally.bin",
    ],
)
@click.argument("address", metavar="ADDRESS")
@click.argument("digest", metavar="DIGEST")
@click.option("--from", "first", metavar="DAY", help="The first day. [default: all days]")
@click.option("--to", "last", metavar="DAY", help="The last day.")
@click.option("--token", envvar="DENIABLE_TOKEN", help="A token of the role viewer.")
@output_option
def pull(
    address: str,
    digest: str,
    *,
    first: str | None,
    last: str | None,
    token: str | None,
    output: Path,
) -> None:
    """Fetch the tally of the question DIGEST from the collector at ADDRESS.

    It is an ordinary tally file, for `deniable estimate` and `deniable tally`.
    """
    refuse_terminal(output)
    days = {name: day for name, day in (("from", first), ("to", last)) if day is not None}
    transport = Transport(address, token=token)
    reply = transport.request("GET", f"/v1/questions/{digest}/tally?{urlencode(days)}")
    if reply.status != 200:
        said = reply.problem.get("detail") or f"status {reply.status}"
        raise InputError(f"{address}: {said}")
    tally = Tally.from_bytes(reply.body)
    if tally.question != digest:
        raise InputError(f"{address}: expected a tally of {digest}, got one of {tally.question}")
    write_atomically(output, reply.body)
    if str(output) != STDIO:
        click.echo(f"{output}: {counted(tally.n, 'report')}", err=True)
