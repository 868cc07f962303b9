"""``deniable serve``: a collector that starts with nothing set up."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import click

from deniable.cli.group import Command, InputError
from deniable.cli.inputs import read_question
from deniable.cli.options import FILE
from deniable.cli.settings import settings_options
from deniable.collector import demonstration
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
        "deniable serve --demo",
        "deniable serve --store postgresql://user@host/name --host 0.0.0.0 --port 8080",
        "DENIABLE_STORE=/var/lib/deniable/store.db deniable serve",
    ],
)
@click.argument("questions", nargs=-1, metavar="[QUESTION]...", type=FILE)
@click.option("--demo", is_flag=True,
              help=f"Ask {demonstration.PEOPLE:,} simulated people, in a store that is removed at "
              "the end.")  # fmt: skip
@settings_options()
def serve(
    questions: tuple[Path, ...], *, demo: bool, config: Path | None, **options: str | int | None
) -> None:
    """Collect reports on QUESTIONS over HTTP, and estimate from them.

    Creates the store, prints the address and a login link that works once. SIGTERM lets requests
    that run finish, writes what waits, and ends. With --demo simulated people send real reports
    over HTTP, so that one sees estimates move within seconds.
    """
    settings = read_settings(options, os.environ, config)
    if demo and options["store"] is not None:
        raise InputError("expected no --store with --demo, whose store is removed at the end")
    with ExitStack() as stack:
        if demo:
            store = stack.enter_context(demonstration.temporary_store())
            settings = replace(settings, store=store)
        login = _prepare(settings, questions, [demonstration.asked()] if demo else [])

        def announce(address: str) -> None:
            if demo:
                stack.enter_context(demonstration.people(address))
            _announce(address, settings.store, login, demo=demo)

        _run(settings, announce)


def _announce(address: str, store: str, login: str, *, demo: bool) -> None:
    click.echo(f"Collecting at {address} into {_shown(store)}")
    click.echo(f"Log in, once, within ten minutes: {address}/login?key={login}")
    if demo:
        question = demonstration.QUESTION
        click.echo(f"Answer yourself: {address}/try/{question.digest}")
        truth = ", ".join(
            f"{label} {100 * count / demonstration.PEOPLE:g} %"
            for label, count in demonstration.COUNTS.items()
        )
        click.echo(
            f"{demonstration.PEOPLE:,} simulated people answer {question.name!r}, "
            f"{demonstration.RATE} a second. Their true answers: {truth}."
        )


def _run(settings: Settings, announce: Callable[[str], None]) -> None:
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


def _prepare(settings: Settings, files: tuple[Path, ...], further: list[Asked]) -> str:
    """Create the store, ask the questions, and return the secret of a login link."""
    store = open_store(settings.store, window=settings.window)
    try:
        for asked in further:
            store.ask(asked)
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
