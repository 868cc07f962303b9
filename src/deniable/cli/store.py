"""``deniable store`` and ``deniable token``: what a collector holds, and who may use it.

The collector's settings are options of these commands, and of ``deniable serve``.
"""

import os
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path

import click

from deniable.cli import options, outputs
from deniable.cli.group import Group, InputError
from deniable.optional import load
from deniable.presentation.text import one_line
from deniable.presentation.view import counted

for _name in ("msgspec", "starlette", "uvicorn"):  # before the import of any of them fails
    load(_name, "server")

from deniable.collector import access, housekeeping, stores  # noqa: E402
from deniable.collector.settings import Settings, read_settings, variable  # noqa: E402
from deniable.collector.stores import Store, records  # noqa: E402

_DAY = 86400
_NAMED = ("store", "url", "host", "port", "window")
"""The settings that a command on a store needs."""


def settings_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the options of some settings, or of all, and of a file with the rest."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for setting in reversed(fields(Settings)):
            if names and setting.name not in names:
                continue
            text = isinstance(setting.default, str)
            option = click.option(
                f"--{setting.name.replace('_', '-')}",
                setting.name,
                type=str if text else int,
                metavar="TEXT" if text else "NUMBER",
                help=f"{setting.metadata['help']} [{variable(setting.name)}; default: "
                f"{setting.default or 'none'}]",
            )
            command = option(command)
        file = click.option(
            "--config", type=options.FILE, metavar="FILE", help="A TOML file of settings."
        )
        return file(command)

    return decorate


def with_settings(command: Callable[..., None]) -> Callable[..., None]:

    @settings_options(*_NAMED)
    @wraps(command)
    def set_up(*args: str, config: Path | None, **rest: str | int | None) -> None:
        given = {name: rest.pop(name) for name in _NAMED}
        settings = read_settings(given, os.environ, config)
        command(settings, *args, **rest)

    return set_up


def with_store(command: Callable[..., None]) -> Callable[..., None]:
    """Open the store that the settings name, and hand both to the command."""

    @with_settings
    @wraps(command)
    def opened(settings: Settings, *args: str, **rest: str) -> None:
        if not stores.is_postgres(settings.store) and not stores.file_of(settings.store).exists():
            raise InputError(
                f"{settings.store}: there is no store; name it with --store, or create it with "
                "deniable serve"
            )
        found = stores.open_store(settings.store, window=settings.window)
        try:
            command(found, settings, *args, **rest)
        finally:
            found.close()

    return opened


@click.group(cls=Group, examples=["deniable store backup copy.db", "deniable store check"])
def store() -> None:
    """Back up, restore, check or tidy a collector's store.

    The collector may run meanwhile, except for restore and vacuum, which refuse.
    """


@click.group(
    cls=Group, examples=["deniable token create dashboard --role viewer", "deniable token list"]
)
def token() -> None:
    """Create, list and revoke tokens, and make login links."""


@store.command(examples=["deniable store backup copy.db --store deniable.db"])
@click.argument("target", type=options.FILE)
@with_store
def backup(store: Store, _: Settings, target: Path) -> None:
    """Write a consistent copy of a SQLite store to TARGET; for PostgreSQL use pg_dump.

    TARGET appears only when the whole copy is on the disk and was read back.
    """
    store.backup(target)
    click.echo(f"{target}: {target.stat().st_size:,} bytes", err=True)


@store.command(examples=["deniable store restore copy.db --store deniable.db"])
@click.argument("copy", type=options.FILE)
@with_settings
def restore(settings: Settings, copy: Path) -> None:
    """Replace the store with COPY, which `store backup` wrote.

    Refuses while anybody has the store open. The old file is kept as STORE.replaced, and the rest
    of the old store, its log too, is removed.
    """
    kept = stores.restore(settings.store, copy)
    click.echo(f"{settings.store}: restored from {copy}", err=True)
    if kept is not None:
        click.echo(f"{kept}: the old store; delete it when you no longer need it", err=True)


@store.command(examples=["deniable store check --store deniable.db"])
@with_store
def check(store: Store, settings: Settings) -> None:
    """Read every question, tally and report, and say what is wrong and what is open."""
    wrong = list(housekeeping.check(store))
    for said in wrong:
        click.echo(said)
    window = store.window()
    click.echo(_describe_window(window))
    if window.alarm:
        click.echo(window.alarm)
    for asked in store.all_asked():
        n = store.standing(records.Slice(asked.digest)).n
        click.echo(f"{asked.digest} {asked.state.value}: {counted(n, 'report')}")
    if wrong:
        raise InputError(f"{settings.store}: {counted(len(wrong), 'error')}; see above")


def _describe_window(window: records.Window) -> str:
    first, last = records.write_day(window.first), records.write_day(window.last)
    if window.first > window.last:
        return f"no reports are accepted before {first}"
    return f"reports are accepted for {first} to {last}"


@store.command(examples=["deniable store fold --store deniable.db"])
@click.option("--trust-clock", is_flag=True, help="Seal days although the clock has jumped.")
@with_store
def fold(store: Store, settings: Settings, *, trust_clock: bool) -> None:
    """Seal old days, add all waiting reports to tallies, and remove what is no longer needed."""
    window = store.seal(trust_clock=trust_clock)
    folded = housekeeping.fold_all(store)
    while store.sweep(2000, settings.retention or None):
        pass
    store.erase()
    click.echo(f"{counted(folded, 'report')} folded", err=True)
    if aside := store.aside():
        click.echo(f"{counted(len(aside), 'row')} set aside: see deniable store check", err=True)
    if window.alarm:
        raise InputError(f"{settings.store}: {window.alarm}")


@store.command(examples=["deniable store reopen --store deniable.db"])
@with_store
def reopen(store: Store, settings: Settings) -> None:
    """Reopen the days that were sealed because the clock was wrong; correct the clock first.

    A day stays sealed once ids of it, or of a later day, were removed: a submission that was
    counted could no longer be told from a new one. Nothing is ever counted twice.
    """
    window = store.reopen()
    click.echo(_describe_window(window))
    if window.alarm:
        raise InputError(
            f"{settings.store}: today stays sealed, since the ids of days up to "
            f"{records.write_day(window.first - 1)} were removed; reports are accepted from "
            f"{records.write_day(window.first)} on"
        )


@store.command(examples=["deniable store vacuum --store deniable.db"])
@with_settings
def vacuum(settings: Settings) -> None:
    """Rewrite a SQLite store without its free space, and give that back.

    Refuses while anybody has the store open. Needs as much free space as the store has content.
    """
    path = stores.file_of(settings.store)
    before = 0 if stores.is_postgres(settings.store) else path.stat().st_size
    stores.vacuum(settings.store)
    click.echo(f"{path}: {before:,} bytes before, {path.stat().st_size:,} now", err=True)


@store.command(examples=["deniable store export 50d049cc… -o fruit.zip"])
@click.argument("digest", metavar="DIGEST")
@options.output_option
@with_store
def export(store: Store, settings: Settings, digest: str, *, output: Path) -> None:
    """Write everything about the question DIGEST to a ZIP file.

    The file has the question, its settings, excluded sources and a tally for each day and source,
    which `deniable estimate` reads. Reports that wait are in the tallies.
    """
    outputs.refuse_terminal(output)
    asked = store.asked(digest)
    if asked is None:
        raise InputError(f"{settings.store} has no question with the digest {digest!r}")
    packed = housekeeping.pack(housekeeping.gather(store, asked))
    outputs.write_atomically(output, packed)
    outputs.announce(output, f"{len(packed):,} bytes")


@token.command(examples=["deniable token create dashboard --role viewer"])
@click.argument("name")
@click.option("--role", type=click.Choice([role.value for role in access.TOKEN_ROLES]),
              required=True, help="What the token may do.")  # fmt: skip
@click.option("--days", type=click.IntRange(1, 36_500),
              help="After how many days it expires. [default: never]")  # fmt: skip
@with_store
def create(store: Store, _: Settings, name: str, *, role: str, days: int | None) -> None:
    """Create a token called NAME, and print it: it is never shown again."""
    seconds = None if days is None else days * _DAY
    secret = access.create(store, access.TOKEN, access.Role(role), name=name, seconds=seconds)
    if secret is None:
        raise InputError(f"a token called {name!r} exists already; revoke it first")
    click.echo(secret)


@token.command("list", examples=["deniable token list"])
@with_store
def list_tokens(store: Store, _: Settings) -> None:
    """List the tokens by role, expiry, day of the last use and name; none itself is shown."""
    for key in store.keys(access.TOKEN):
        click.echo(_key_line(key))


def _key_line(key: records.Key) -> str:
    """Return what is known of a token or a session, which is not the secret itself."""
    end, used = "never expires", "never used"
    if key.expires is not None:
        day = records.write_day(key.expires // _DAY)
        end = f"expired {day}" if access.expired(key) else f"until {day}"
    if key.last_used is not None:
        used = f"used {records.write_day(key.last_used)}"
    return f"{key.role:<7} {end:<18} {used:<15} {one_line(key.name)}"


@token.command(examples=["deniable token revoke dashboard"])
@click.argument("name")
@with_store
def revoke(store: Store, _: Settings, name: str) -> None:
    """Revoke the token called NAME; collectors stop taking it within two seconds."""
    if access.revoke(store, access.TOKEN, name) is None:
        raise InputError(f"no token is called {name!r}; see deniable token list")


@token.command(examples=["deniable token login --role viewer"])
@click.option("--role", type=click.Choice(["viewer", "admin"]), default="admin",
              show_default=True, help="What the session may do.")  # fmt: skip
@with_store
def login(store: Store, settings: Settings, *, role: str) -> None:
    """Print a login link that works once, for ten minutes.

    It is for the collector at --url or, without, at the host and the port of the settings.
    """
    secret = access.create(store, access.LOGIN, access.Role(role), seconds=access.LOGIN_SECONDS)
    address = settings.url.rstrip("/") or f"http://{settings.host}:{settings.port}"
    click.echo(f"{address}/login?key={secret}")
    if not settings.url:
        said = (
            f"assumed that the collector is at {address}; if it is not, name its address by --url"
        )
        click.echo(f"deniable: {said}", err=True)


@token.command(examples=["deniable token sessions"])
@with_store
def sessions(store: Store, _: Settings) -> None:
    """List the sessions of people who are logged in: role, expiry, day of the last use, name."""
    for key in store.keys(access.SESSION):
        if not access.expired(key):
            click.echo(_key_line(key))


@token.command(examples=["deniable token end 3f09c2a7b1d45e68"])
@click.argument("name")
@with_store
def end(store: Store, _: Settings, name: str) -> None:
    """End the session called NAME; collectors stop taking it within two seconds."""
    if access.revoke(store, access.SESSION, name) is None:
        raise InputError(f"no session is called {name!r}; see deniable token sessions")
