"""``deniable token``: who may use a collector."""

from __future__ import annotations

import click

from deniable.cli.group import Command, InputError, Lazy, LazyGroup
from deniable.cli.settings import with_store
from deniable.collector import access
from deniable.collector.access import LOGIN, LOGIN_SECONDS, TOKEN, TOKEN_ROLES, Role
from deniable.collector.settings import Settings
from deniable.collector.stores import Store

_ROLES = [role.value for role in TOKEN_ROLES]


@click.group(
    cls=LazyGroup,
    lazy={
        "create": Lazy("token", "Create a token, and print it once."),
        "list": Lazy("token", "List the tokens by name and role."),
        "revoke": Lazy("token", "Revoke a token."),
        "login": Lazy("token", "Print a login link that works once."),
    },
    examples=["deniable token create dashboard --role viewer", "deniable token list"],
)
def token() -> None:
    """Create, list and revoke tokens, and make login links."""


@click.command(cls=Command, examples=["deniable token create dashboard --role viewer"])
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), required=True, help="What the token may do.")
@with_store
def create(store: Store, settings: Settings, name: str, *, role: str) -> None:
    """Create a token called NAME, and print it: it is shown this once."""
    del settings
    secret = access.create(store, TOKEN, Role(role), name=name)
    if secret is None:
        raise InputError(f"expected a new name, got {name!r}, which a token has; revoke it first")
    click.echo(secret)


@click.command(cls=Command, examples=["deniable token list"])
@with_store
def list(store: Store, settings: Settings) -> None:
    """List the tokens by name and role; the tokens themselves are not known any more."""
    del settings
    for key in store.keys(TOKEN):
        click.echo(f"{key.role:<7} {key.name}")


@click.command(cls=Command, examples=["deniable token revoke dashboard"])
@click.argument("name")
@with_store
def revoke(store: Store, settings: Settings, name: str) -> None:
    """Revoke the token called NAME; collectors stop taking it within two seconds."""
    del settings
    found = [key for key in store.keys(TOKEN) if key.name == name]
    if not found or store.drop(found[0].hash) is None:
        raise InputError(f"expected the name of a token, got {name!r}; see deniable token list")


@click.command(cls=Command, examples=["deniable token login --role viewer"])
@click.option("--role", type=click.Choice(["viewer", "admin"]), default="admin",
              show_default=True, help="What the session may do.")  # fmt: skip
@with_store
def login(store: Store, settings: Settings, *, role: str) -> None:
    """Print a login link that works once, for ten minutes."""
    secret = access.create(store, LOGIN, Role(role), seconds=LOGIN_SECONDS)
    address = settings.url.rstrip("/") or f"http://{settings.host}:{settings.port}"
    click.echo(f"{address}/login?key={secret}")
