"""Where results go: a file that appears whole or not at all, or standard output."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, cast

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

STDIO = "-"


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only when everything is on the disk.

    The bytes go to a temporary file in the same directory, which is synchronised and renamed at
    the end; on any error it is removed, and what was there before stays. - is standard output.
    """
    if str(path) == STDIO:
        yield cast("BinaryIO", sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    # Through a link, the file it points to is replaced and not the link.
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        code = errno.ENOTDIR if target.parent.exists() else errno.ENOENT
        raise OSError(code, os.strerror(code), str(path.parent))
    if target.exists() and not target.is_file():
        with _named(path), target.open("wb") as stream:  # a device or a pipe has no temporary twin
            yield stream
        return
    with _named(path, "nothing was written under that name"):
        temporary = NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False)  # noqa: SIM115 - renamed below
        try:
            with temporary:
                yield cast("BinaryIO", temporary)
                temporary.flush()
                os.fsync(temporary.fileno())
            os.chmod(temporary.name, _mode(target))
            os.replace(temporary.name, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary.name)
            raise
    _synchronise(target.parent)


@contextmanager
def _named(path: Path, *notes: str) -> Iterator[None]:
    """Let errors name the file that the user named, and not the temporary one or none."""
    try:
        yield
    except OSError as error:
        start = f".{Path(os.path.realpath(path)).name}."
        own = error.filename is None or Path(str(error.filename)).name.startswith(start)
        if own and not isinstance(error, BrokenPipeError):
            error.filename = str(path)
            for note in notes:
                error.add_note(note)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file, or standard output for -."""
    with open_output(path) as stream:
        stream.write(data)


def refuse_terminal(path: Path) -> None:
    """Refuse to write binary data to a terminal."""
    if str(path) == STDIO and sys.stdout.isatty():
        raise click.UsageError("the output is binary; name a file with -o, or pipe it on")


def _mode(target: Path) -> int:
    """Return the permissions a new file would have: a temporary file is its owner's alone."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _synchronise(directory: Path) -> None:
    """Make a rename durable; systems that cannot open directories have no need to."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
