"""Files as they are opened and named: standard input for -, decompressed where they are gzip."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from deniable.cli.outputs import STDIO
from deniable.files import decompressed


@contextmanager
def open_raw(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading as it is; - is standard input."""
    if str(path) == STDIO:
        try:
            yield sys.stdin.buffer
        except OSError as error:
            error.filename = error.filename or name_of(path)
            raise
        return
    with path.open("rb") as stream:
        yield stream


@contextmanager
def open_input(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed where it is gzip; - is standard input."""
    with open_raw(path) as stream:
        yield decompressed(stream, name=name_of(path))


def check_stdin(*paths: Path) -> None:
    """Refuse to read standard input for two purposes, or one file twice."""
    if sum(str(path) == STDIO for path in paths) > 1:
        raise click.UsageError("standard input (-) was given more than once")
    seen: set[Path] = set()
    for path in paths:
        if (resolved := path.resolve()) in seen:
            raise click.UsageError(f"{path} was given more than once")
        seen.add(resolved)


def name_of(path: Path) -> str:
    """Return what messages call a file."""
    return "standard input" if str(path) == STDIO else str(path)


def suffix_of(path: Path) -> str:
    """Return what the name of a file ends with, .gz aside, in small letters.

    >>> suffix_of(Path("people.CSV.gz"))
    '.csv'
    """
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == ".gz" else suffix


def shorten(text: str) -> str:
    """Return a label quoted, and cut when it is long."""
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}… ({len(text):,} characters)"


def warn(message: str) -> None:
    """Say on stderr, in one line, what is not wrong but probably not meant."""
    click.echo(f"deniable: warning: {' '.join(message.split())}", err=True)
