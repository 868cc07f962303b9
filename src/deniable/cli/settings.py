"""The collector's settings as options, and the store that they name, for several commands."""

import os
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path

import click

from deniable.cli.group import InputError
from deniable.cli.options import FILE
from deniable.optional import load

for _name in ("msgspec", "starlette", "uvicorn"):  # before the import of any of them fails
    load(_name, "server")

from deniable.collector.settings import Settings, read_settings, variable  # noqa: E402
from deniable.collector.stores import file_of, is_postgres, open_store  # noqa: E402

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
        file = click.option("--config", type=FILE, metavar="FILE", help="A TOML file of settings.")
        return file(command)

    return decorate


def with_settings(command: Callable[..., None]) -> Callable[..., None]:

    @settings_options(*_NAMED)
    @wraps(command)
    def set_up(*args: str, config: Path | None, **rest: str | int | None) -> None:
        options = {name: rest.pop(name) for name in _NAMED}
        settings = read_settings(options, os.environ, config)
        command(settings, *args, **rest)

    return set_up


def with_store(command: Callable[..., None]) -> Callable[..., None]:
    """Open the store that the settings name, and hand both to the command."""

    @with_settings
    @wraps(command)
    def opened(settings: Settings, *args: str, **rest: str) -> None:
        if not is_postgres(settings.store) and not file_of(settings.store).exists():
            raise InputError(
                f"{settings.store}: there is no store; name it with --store, or create it with "
                "deniable serve"
            )
        found = open_store(settings.store, window=settings.window)
        try:
            command(found, settings, *args, **rest)
        finally:
            found.close()

    return opened
