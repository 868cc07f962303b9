"""``deniable token``: who may use a collector."""

import click

from deniable.cli.group import Command, InputError, Lazy, LazyGroup
from deniable.cli.settings import with_store
from deniable.collector import access
from deniable.collector.access import LOGIN, LOGIN_SECONDS, SESSION, TOKEN, TOKEN_ROLES, Role
from deniable.collector.settings import Settings
from deniable.collector.stores.records import Key, write_day
from deniable.collector.stores.store import Store
from deniable.presentation.text import one_line

_DAY = 86400
_ROLES = [role.value for role in TOKEN_ROLES]


@click.group(
    cls=LazyGroup,
    lazy={
        "create": Lazy("token", "Create a token, and print it once."),
        "list": Lazy("token", "List the tokens by name and role."),
        "revoke": Lazy("token", "Revoke a token."),
        "login": Lazy("token", "Print a login link that works once."),
        "sessions": Lazy("token", "List the sessions of people who are logged in."),
        "end": Lazy("token", "End a session."),
    },
    examples=["deniable token create dashboard --role viewer", "deniable token list"],
)
def token() -> None:
    """Create, list and revoke tokens, and make login links."""


@click.command(cls=Command, examples=["deniable token create dashboard --role viewer"])
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), required=True, help="What the token may do.")
@click.option("--days", type=click.IntRange(1, 36_500),
              help="After how many days it expires. [default: never]")  # fmt: skip
@with_store
def create(store: Store, _: Settings, name: str, *, role: str, days: int | None) -> None:
    """Create a token called NAME, and print it: it is never shown again."""
    seconds = None if days is None else days * _DAY
    secret = access.create(store, TOKEN, Role(role), name=name, seconds=seconds)
    if secret is None:
        raise InputError(f"a token called {name!r} exists already; revoke it first")
    click.echo(secret)


@click.command(cls=Command, examples=["deniable token list"])
@with_store
def list(store: Store, _: Settings) -> None:
    """List the tokens by role, expiry, day of the last use and name; none itself is shown."""
    for key in store.keys(TOKEN):
        click.echo(f"{key.role:<7} {_end(key):<18} {_last_use(key):<15} {one_line(key.name)}")


def _end(key: Key) -> str:
    if key.expires is None:
        return "never expires"
    day = write_day(key.expires // _DAY)
    return f"expired {day}" if access.expired(key) else f"until {day}"


def _last_use(key: Key) -> str:
    return "never used" if key.last_used is None else f"used {write_day(key.last_used)}"


@click.command(cls=Command, examples=["deniable token revoke dashboard"])
@click.argument("name")
@with_store
def revoke(store: Store, _: Settings, name: str) -> None:
    """Revoke the token called NAME; collectors stop taking it within two seconds."""
    if access.revoke(store, TOKEN, name) is None:
        raise InputError(f"no token is called {name!r}; see deniable token list")


@click.command(cls=Command, examples=["deniable token login --role viewer"])
@click.option("--role", type=click.Choice(["viewer", "admin"]), default="admin",
              show_default=True, help="What the session may do.")  # fmt: skip
@with_store
def login(store: Store, settings: Settings, *, role: str) -> None:
    """Print a login link that works once, for ten minutes."""
    secret = access.create(store, LOGIN, Role(role), seconds=LOGIN_SECONDS)
    address = settings.url.rstrip("/") or f"http://{settings.host}:{settings.port}"
    click.echo(f"{address}/login?key={secret}")


@click.command(cls=Command, examples=["deniable token sessions"])
@with_store
def sessions(store: Store, _: Settings) -> None:
    """List the sessions of people who are logged in: role, expiry, day of the last use, name."""
    for key in store.keys(SESSION):
        if not access.expired(key):
            click.echo(f"{key.role:<7} {_end(key):<18} {_last_use(key):<15} {key.name}")


@click.command(cls=Command, examples=["deniable token end 3f09c2a7b1d45e68"])
@click.argument("name")
@with_store
def end(store: Store, _: Settings, name: str) -> None:
    """End the session called NAME; collectors stop taking it within two seconds."""
    if access.revoke(store, SESSION, name) is None:
        raise InputError(f"no session is called {name!r}; see deniable token sessions")
