"""``deniable token``: who may use a collector."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import click

from deniable.cli.group import Command, InputError
from deniable.cli.settings import settings_options
from deniable.collector.access import (
    LOGIN,
    LOGIN_SECONDS,
    TOKEN,
    TOKEN_ROLES,
    Role,
    create,
)
from deniable.collector.settings import Settings, read_settings
from deniable.collector.stores import Store, open_store

_ROLES = [role.value for role in TOKEN_ROLES]


def with_store(command: Callable[..., None]) -> Callable[..., None]:
    """Open the store that the settings name, and hand both to the command."""

    @settings_options("store", "url", "host", "port", "window")
    @wraps(command)
    def opened(
        *args: str, config: Path | None, store: str | None, url: str | None, host: str | None,
        port: int | None, window: int | None, **rest: str,
    ) -> None:  # fmt: skip
        options = {"store": store, "url": url, "host": host, "port": port, "window": window}
        settings = read_settings(options, os.environ, config)
        if "://" not in settings.store and not Path(settings.store).exists():
            raise InputError(
                f"{settings.store}: expected a store, got none; name it with --store, or create it "
                "with deniable serve"
            )
        found = open_store(settings.store, window=settings.window)
        try:
            command(found, settings, *args, **rest)
        finally:
            found.close()

    return opened


@click.group()
def token() -> None:
    """Create, list and revoke tokens, and make login links."""


@token.command("create", cls=Command, examples=["deniable token create dashboard --role viewer"])
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), required=True, help="What the token may do.")
@with_store
def create_token(store: Store, settings: Settings, name: str, *, role: str) -> None:
    """Create a token called NAME, and print it: it is shown this once."""
    del settings
    secret = create(store, TOKEN, Role(role), name=name)
    if secret is None:
        raise InputError(f"expected a new name, got {name!r}, which a token has; revoke it first")
    click.echo(secret)


@token.command("list", cls=Command, examples=["deniable token list"])
@with_store
def list_tokens(store: Store, settings: Settings) -> None:
    """List the tokens by name and role; the tokens themselves are not known any more."""
    del settings
    for key in store.keys(TOKEN):
        click.echo(f"{key.role:<7} {key.name}")


@token.command(cls=Command, examples=["deniable token revoke dashboard"])
@click.argument("name")
@with_store
def revoke(store: Store, settings: Settings, name: str) -> None:
    """Revoke the token called NAME; collectors stop taking it within two seconds."""
    del settings
    found = [key for key in store.keys(TOKEN) if key.name == name]
    if not found or store.drop(found[0].hash) is None:
        raise InputError(f"expected the name of a token, got {name!r}; see deniable token list")


@token.command(cls=Command, examples=["deniable token login --role viewer"])
@click.option("--role", type=click.Choice(["viewer", "admin"]), default="admin",
              show_default=True, help="What the session may do.")  # fmt: skip
@with_store
def login(store: Store, settings: Settings, *, role: str) -> None:
    """Print a login link that works once, for ten minutes."""
    secret = create(store, LOGIN, Role(role), seconds=LOGIN_SECONDS)
    address = settings.url.rstrip("/") or f"http://{settings.host}:{settings.port}"
    click.echo(f"{address}/login?key={secret}")
