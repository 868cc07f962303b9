"""``deniable serve``: a collector that starts with nothing set up."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import click

from deniable.cli import demonstration, inputs, options, outputs
from deniable.cli.group import InputError, command
from deniable.cli.store import settings_options
from deniable.collector import access, log, stores
from deniable.collector.app import create_app
from deniable.collector.questions import Terms, opened
from deniable.collector.server import Server, configure_log
from deniable.collector.settings import Settings, read_settings
from deniable.collector.stores.records import StoreUnavailable

_PAUSE = 1.0
"""Seconds between two attempts to reach the database."""


@command(
    "deniable serve fruit.json",
    "deniable serve --demo",
    "deniable serve --store postgresql://user@host/name --host 0.0.0.0 --port 8080",
    "DENIABLE_STORE=/var/lib/deniable/store.db deniable serve",
)
@click.argument("questions", nargs=-1, metavar="[QUESTION]...", type=options.FILE)
@click.option("--demo", is_flag=True,
              help=f"Show seven questions with {demonstration.HISTORY} days of simulated history, "
              "in a store that is removed at the end.")  # fmt: skip
@settings_options()
def serve(
    questions: tuple[Path, ...], *, demo: bool, config: Path | None, **given: str | int | None
) -> None:
    """Collect reports on QUESTIONS over HTTP, and estimate from them.

    Creates the store, prints the address and, on a terminal, a login link that works once. On
    SIGTERM the collector finishes the requests that run, writes what waits, and ends. It ends with
    exit code 1 when the store is corrupt. With --demo simulated people send real reports over HTTP,
    and the estimates move within seconds.
    """
    settings = read_settings(given, os.environ, config)
    if demo and given["store"] is not None:
        raise InputError("--demo has a store of its own, which is removed; leave out --store")
    with ExitStack() as stack:
        if demo:
            store = stack.enter_context(demonstration.temporary_store())
            settings = replace(settings, store=store, window=demonstration.HISTORY + 1)
        configure_log(settings.log_format, settings.log_level)
        login = _prepare(settings, questions, demo=demo)

        def announce(address: str) -> None:
            if demo:
                stack.enter_context(demonstration.people(address))
            _announce(address, settings, login, demo=demo)

        _run(settings, announce)


def _announce(address: str, settings: Settings, login: str | None, *, demo: bool) -> None:
    if settings.log_format == "json":
        log.info("collecting at %s into %s", address, _without_password(settings.store))
        return
    console = outputs.open_console()
    click.echo(f"Collecting at {address} into {_without_password(settings.store)}")
    if login is None:  # a log must not hold a secret
        place = f"--store {_without_password(settings.store)} --url {address}"
        click.echo(f"Log in by the link that this prints:\n  deniable token login {place}")
    else:
        click.echo(f"Log in, once, within ten minutes:\n  {address}/login?key={login}")
    if demo:
        click.echo(f"Answer yourself:\n  {address}/try/{demonstration.QUESTION.digest}")
        outputs.say(
            console,
            f"Seven questions with {demonstration.HISTORY} days of history. Simulated people go on "
            f"answering, {demonstration.RATE} a second; {demonstration.CHANGED} days ago more of "
            "them began to drink tea, and today one source sends made-up reports.",
        )


def _run(settings: Settings, announce: Callable[[str], None]) -> None:
    # uvicorn restores this handler and raises the signal again once it has shut down.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    app = create_app(settings)
    server = Server(app, settings, announce)
    try:
        server.run()
    except SystemExit:  # how uvicorn says that it cannot listen
        raise InputError(
            f"cannot listen on {settings.host}:{settings.port}; take another --port, or stop what "
            "listens there"
        ) from None
    if app.services.health.broken is not None:
        raise click.ClickException(f"the collector has stopped: {app.services.health.broken}")


def _prepare(settings: Settings, files: tuple[Path, ...], *, demo: bool) -> str | None:
    """Create the store, ask the questions, and return a login secret if there is a terminal."""
    store = _open_patiently(settings)
    try:
        if demo:
            demonstration.fill(store)
        for file in files:
            question = inputs.read_question(file)
            store.ask(opened(question, Terms()))
            if settings.log_format == "json":
                log.info("asking %r: %s", question.name, question.digest)
            else:
                click.echo(f"Asking {outputs.title(question.name)}: {question.digest}")
        if not sys.stdout.isatty():
            return None
        return access.create(store, access.LOGIN, access.Role.ADMIN, seconds=access.LOGIN_SECONDS)
    finally:
        store.close()


def _open_patiently(settings: Settings) -> stores.Store:
    until, said = monotonic() + settings.wait_seconds, False
    while True:
        try:
            return stores.open_store(settings.store, window=settings.window)
        except StoreUnavailable as error:
            if error.kind != "unreachable" or monotonic() >= until:
                raise
            if not said:
                log.warning("waiting for the database: %s", error)
                said = True
            sleep(_PAUSE)


def _without_password(store: str) -> str:
    head, at, tail = store.rpartition("@")
    return f"{head.split('://')[0]}://…@{tail}" if at else store
