"""Files as they are opened and named: standard input for -, decompressed where they are gzip."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from deniable.cli.outputs import STDIO
from deniable.files import decompressed

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_PIECE = 1 << 20


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


class Digest:
    """The SHA-256 of an input's bytes: of a file at once, of a pipe when it has been read."""

    def __init__(self, path: Path) -> None:
        self.path, self._hash, self._known = path, hashlib.sha256(), False
        self._again = sys.stdin.buffer.seekable() if str(path) == STDIO else path.is_file()
        if self._again:
            self.read()

    def read(self) -> None:
        """Read all of the input, unless that was done; a file is left as it was."""
        if self._known:
            return
        with open_raw(self.path) as stream:
            start = stream.tell() if self._again else 0
            while data := stream.read(_PIECE):
                self._hash.update(data)
            if self._again:
                stream.seek(start)
        self._known = True

    def watch(self, stream: BinaryIO) -> BinaryIO:
        """Return the stream, hashed as it is read unless the digest is known."""
        if self._known:
            return stream
        return cast("BinaryIO", io.BufferedReader(_Watched(stream, self._hash)))

    def __call__(self) -> str:
        """Return the digest, in hexadecimal."""
        return self._hash.hexdigest()


class _Watched(io.RawIOBase):
    """A stream whose bytes are hashed as they are read."""

    def __init__(self, stream: BinaryIO, hash: hashlib._Hash) -> None:
        super().__init__()
        self._stream, self._hash = stream, hash

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer as far as there is something."""
        view = memoryview(buffer)
        data = self._stream.read(len(view))
        self._hash.update(data)
        view[: len(data)] = data
        return len(data)


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
