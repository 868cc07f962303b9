"""``deniable serve``: a collector that starts with nothing set up."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import click

from deniable.cli.group import Command, InputError
from deniable.cli.inputs import read_question
from deniable.cli.options import FILE
from deniable.cli.settings import settings_options
from deniable.collector.access import LOGIN, LOGIN_SECONDS, Role, create
from deniable.collector.app import create_app
from deniable.collector.questions import Terms, write_terms
from deniable.collector.server import Server
from deniable.collector.settings import Settings, read_settings
from deniable.collector.stores import open_store
from deniable.collector.stores.store import Asked, State


@click.command(
    cls=Command,
    examples=[
        "deniable serve fruit.json",
        "deniable serve --store postgresql://user@host/name --host 0.0.0.0 --port 8080",
        "DENIABLE_STORE=/var/lib/deniable/store.db deniable serve",
    ],
)
@click.argument("questions", nargs=-1, metavar="[QUESTION]...", type=FILE)
@settings_options()
def serve(questions: tuple[Path, ...], *, config: Path | None, **options: str | int | None) -> None:
    """Collect reports on QUESTIONS over HTTP, and estimate from them.

    Creates the store, prints the address and a login link that works once. SIGTERM lets requests
    that run finish, writes what waits, and ends.
    """
    settings = read_settings(options, os.environ, config)
    login = _prepare(settings, questions)

    def announce(address: str) -> None:
        click.echo(f"Collecting at {address} into {_shown(settings.store)}")
        click.echo(f"Log in, once, within ten minutes: {address}/login?key={login}")

    # uvicorn restores this handler and raises the signal again when it has ended in good order.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server = Server(create_app(settings), settings, announce)
    try:
        server.run()
    except SystemExit:  # which is how uvicorn says that it cannot listen
        raise InputError(
            f"expected to listen on {settings.host}:{settings.port}, got a refusal; take another "
            "--port, or end what listens there"
        ) from None


def _prepare(settings: Settings, files: tuple[Path, ...]) -> str:
    """Create the store, ask the questions, and return the secret of a login link."""
    store = open_store(settings.store, window=settings.window)
    try:
        for file in files:
            question = read_question(file)
            store.ask(Asked(question.digest, question.to_json(), State.OPEN, write_terms(Terms())))
            click.echo(f"Asking {question.name!r}: {question.digest}")
        return create(store, LOGIN, Role.ADMIN, seconds=LOGIN_SECONDS) or ""
    finally:
        store.close()


def _shown(store: str) -> str:
    """Return the address of a store without a password."""
    head, at, tail = store.rpartition("@")
    return f"{head.split('://')[0]}://…@{tail}" if at else store
