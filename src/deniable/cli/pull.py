"""``deniable pull`` and ``deniable question publish``: what an analyst asks of a collector."""

from pathlib import Path

import click

from deniable import client
from deniable.cli.display import shorten
from deniable.cli.group import Command, InputError
from deniable.cli.inputs import read_question
from deniable.cli.options import output_option, question_argument, token_option
from deniable.cli.outputs import STDIO, refuse_terminal, write_atomically
from deniable.presentation.view import counted


@click.command(
    cls=Command,
    examples=[
        "deniable pull http://127.0.0.1:8000 fruit -o tally.bin",
        "deniable pull http://127.0.0.1:8000 50d049cc… -o tally.bin",
        "deniable pull https://counts.example.org 50d049cc… --from 2025-01-01 -o tally.bin",
    ],
)
@click.argument("address", metavar="ADDRESS")
@click.argument("question", metavar="QUESTION")
@click.option("--from", "first", metavar="DAY", help="The first day. [default: all days]")
@click.option("--to", "last", metavar="DAY", help="The last day.")
@token_option("A token of the role viewer.")
@output_option
def pull(
    address: str,
    question: str,
    *,
    first: str | None,
    last: str | None,
    token: str | None,
    output: Path,
) -> None:
    """Fetch the tally of QUESTION from the collector at ADDRESS.

    QUESTION is its name, its digest, or the first digits of its digest. What comes is an ordinary
    tally file, for `deniable estimate` and `deniable tally`. In Python it is deniable.client.pull.
    """
    refuse_terminal(output)
    tally, days = client.pull_days(address, question, first=first, last=last, token=token)
    write_atomically(output, tally.to_bytes())
    if str(output) != STDIO:
        on = f" on {counted(days, 'day')}" if days else ""
        again = tally.protocol.memoises
        hint = f"; people may answer again, so estimate with --rounds {days or 'N'}"
        click.echo(f"{output}: {counted(tally.n, 'report')}{on}{hint if again else ''}", err=True)


@click.command(
    cls=Command,
    examples=["DENIABLE_TOKEN=dn_… deniable question publish http://127.0.0.1:8000 fruit.json"],
)
@click.argument("address", metavar="ADDRESS")
@question_argument
@token_option("A token of the role admin.")
def publish(address: str, question_file: Path, *, token: str | None) -> None:
    """Let the collector at ADDRESS ask the question in the file QUESTION, and print its digest.

    A question that is asked there already stays as it is, and the command fails. In Python it is
    deniable.client.publish.
    """
    question = read_question(question_file)
    if not client.publish(address, question, token=token):
        raise InputError(
            f"{address}: {shorten(question.name)} ({question.digest}) is asked there already; "
            "nothing was changed"
        )
    click.echo(f"{address}: asks {shorten(question.name)} from now on", err=True)
    click.echo(question.digest)
