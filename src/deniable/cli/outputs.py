"""Where results go: a file that appears whole or not at all, or standard output."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, cast

import click

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STDIO = "-"
PLOTS = (".png", ".svg", ".pdf")


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


def check_outputs(outputs: Sequence[Path], inputs: Sequence[Path], *, force: bool) -> None:
    """Refuse outputs that are inputs or each other, and those that exist unless ``force``."""
    for position, path in enumerate(outputs):
        if str(path) == STDIO:
            continue
        if any(_same(path, other) for other in inputs):
            raise click.UsageError(f"{path} is also an input; name another file for the output")
        if any(_same(path, other) for other in outputs[:position]):
            raise click.UsageError(f"{path} is the name of two outputs; name another file for one")
        check_replaceable(path, force=force)


def check_replaceable(path: Path, *, force: bool) -> None:
    """Refuse a file that exists, unless ``force``, and one that may not be written at all."""
    if not path.is_file():  # nothing is lost in a device or a pipe
        return
    if not force:
        raise click.UsageError(f"{path} exists already; name another file, or pass --force")
    # Whoever may do everything is not asked by the system, but the file says what is meant.
    if not os.access(path, os.W_OK) or not path.stat().st_mode & 0o222:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def check_summary(output: Path, as_json: bool) -> None:
    """Refuse a summary on the same stream as the output."""
    if as_json and str(output) == STDIO:
        raise click.UsageError("--json prints to standard output; name a file with -o")


def check_plot(path: Path | None) -> None:
    """Refuse a plot in a format that cannot be drawn, before any work is done."""
    if path is not None and path.suffix.lower() not in PLOTS:
        raise click.UsageError(f"a plot is written as .png, .svg or .pdf, not as {path.name!r}")


def write_plot(figure: Figure, path: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write a matplotlib figure in the format that the file's name says."""
    sink, kind = BytesIO(), path.suffix.lower().removeprefix(".")
    figure.savefig(sink, format=kind, dpi=150, metadata=dict(metadata or {}))
    write_atomically(path, sink.getvalue())


def _same(path: Path, other: Path) -> bool:
    """Tell whether two names are of one file: the same path, or links to it."""
    if path.exists() and not path.is_file():
        return False  # a device or a pipe may well be both
    try:
        return path.resolve() == other.resolve() or path.samefile(other)
    except OSError:
        return False


def refuse_terminal(path: Path) -> None:
    """Refuse to write binary data to a terminal."""
    if str(path) == STDIO and _is_terminal():
        raise click.UsageError("the output is binary; name a file with -o, or pipe it on")


def _is_terminal() -> bool:
    return sys.stdout.isatty()


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
