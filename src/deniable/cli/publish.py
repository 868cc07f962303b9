"""``deniable question publish``: let a running collector ask a question."""

from __future__ import annotations

from pathlib import Path

import click

from deniable import client
from deniable.cli.group import Command, InputError
from deniable.cli.inputs import check_stdin, read_question, shorten
from deniable.cli.options import question_argument, token_option


@click.command(
    cls=Command,
    examples=["DENIABLE_TOKEN=dn_… deniable question publish http://127.0.0.1:8000 fruit.json"],
)
@click.argument("address", metavar="ADDRESS")
@question_argument
@token_option("A token of the role admin.")
def publish(address: str, question_file: Path, *, token: str | None) -> None:
    """Let the collector at ADDRESS ask the question in the file QUESTION, and print its digest.

    One that is asked there already stays as it is, which is an error. In Python it is
    deniable.client.publish.
    """
    check_stdin(question_file)
    question = read_question(question_file)
    if not client.publish(address, question, token=token):
        raise InputError(
            f"{address}: {shorten(question.name)} ({question.digest}) is asked there already; "
            "nothing was changed"
        )
    click.echo(f"{address}: asks {shorten(question.name)} from now on", err=True)
    click.echo(question.digest)
