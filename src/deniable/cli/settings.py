"""The collector's settings as options, made from the fields of the one dataclass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import click

from deniable.cli.options import FILE
from deniable.extras import load

load("msgspec", "server")

from deniable.collector.settings import Settings, variable  # noqa: E402 - an extra


def settings_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the options of some settings, or of all, and of the file with the rest."""

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
