"""Files as commands open and name them, and files of answers read in pieces of whole lines.

A name of ``-`` is standard input, and gzip is decompressed. Errors name the file and the line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from deniable.cli.display import Advance, shorten
from deniable.cli.group import InputError
from deniable.cli.outputs import STDIO
from deniable.files import Readable, decompressed

if TYPE_CHECKING:
    from hashlib import _Hash

LARGEST_FIELD = 1 << 26
_CHUNK = 1 << 20
_SEPARATORS = ";\t|,"


@contextmanager
def open_raw(path: Path) -> Iterator[BinaryIO]:
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
    with open_raw(path) as stream:
        yield decompressed(stream, name=name_of(path))


def check_stdin(*paths: Path | None) -> None:
    """Refuse to read standard input for two purposes, or one file twice."""
    seen: set[Path] = set()
    for path in paths:
        if path is None:
            continue
        if (found := path if str(path) == STDIO else path.resolve()) in seen:
            name = "standard input (-)" if str(path) == STDIO else path
            raise click.UsageError(f"{name} was given more than once")
        seen.add(found)


def name_of(path: Path) -> str:
    return "standard input" if str(path) == STDIO else str(path)


def suffix_of(path: Path) -> str:
    """Return the suffix of a file's name, not counting .gz, in lower case.

    >>> suffix_of(Path("people.CSV.gz"))
    '.csv'
    """
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == ".gz" else suffix


class Watched:
    """A stream that is hashed as it is read; ``advance`` is told how many bytes are done."""

    def __init__(
        self, stream: Readable, hash: _Hash, advance: Advance | None = None, done: int = 0
    ) -> None:
        self._stream, self._hash, self._advance, self.done = stream, hash, advance, done

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size)
        self._hash.update(data)
        self.done += len(data)
        if self._advance is not None:
            self._advance(self.done)
        return data

    def seekable(self) -> bool:
        return False


class Digest:
    """The SHA-256 of an input's bytes: a file's at once, a pipe's when it has been read."""

    def __init__(self, path: Path) -> None:
        self.path, self._hash, self._known = path, sha256(), False
        self._again = sys.stdin.buffer.seekable() if str(path) == STDIO else path.is_file()
        if self._again:
            self.read()

    def read(self) -> None:
        """Read all of the input unless that was done; a file can be read again."""
        if self._known:
            return
        with open_raw(self.path) as stream:
            start = stream.tell() if self._again else 0
            while data := stream.read(_CHUNK):
                self._hash.update(data)
            if self._again:
                stream.seek(start)
        self._known = True

    def watch(self, stream: BinaryIO) -> BinaryIO:
        """Return the stream, hashed as it is read unless the digest is known."""
        return stream if self._known else cast("BinaryIO", Watched(stream, self._hash))

    def __call__(self) -> str:
        return self._hash.hexdigest()


@dataclass(frozen=True)
class Batch:
    """Some answers, and the line of the file that each of them starts on."""

    answers: list[str]
    lines: Sequence[int]


@dataclass(frozen=True)
class Source:
    """A file of answers: where it is, the column they are in, and what kind of file it is.

    ``option`` is the option that names the column, and ``digest`` notes the bytes that are read.
    Answers have to be texts or whole numbers if they are ``textual``; else any JSON value may be
    one.
    """

    path: Path
    column: str | None = None
    kind: str | None = None
    delimiter: str | None = None
    option: str = "--column"
    digest: Digest | None = None
    textual: bool = True

    @property
    def name(self) -> str:
        return name_of(self.path)

    def wrong(self, line: int, message: str) -> InputError:
        return InputError(f"{self.name}:{line}: {message}")


def read_texts(source: Source, stream: Readable) -> Iterator[str]:
    """Yield the text of the stream in pieces of whole lines; only the last may lack its end."""
    for whole, line in _read_pieces(source, stream):
        yield from _decode(source, whole, line)


def _read_pieces(source: Source, stream: Readable) -> Iterator[tuple[bytes, int]]:
    """Yield the bytes of whole lines, and the number of the first."""
    line, size = 1, 0
    parts: list[bytes] = []
    while True:
        data = stream.read(_CHUNK)
        cut = data.rfind(b"\n") + 1
        if cut or not data:
            whole = b"".join([*parts, data[:cut]])
            yield whole, line
            line += whole.count(b"\n")
            parts, size = [data[cut:]], len(data) - cut
        else:
            parts.append(data)
            size += len(data)
        if size > LARGEST_FIELD:
            raise source.wrong(line, f"this line has more than {LARGEST_FIELD:,} bytes; check that "
                               "the file is text")  # fmt: skip
        if not data:
            return


def _decode(source: Source, whole: bytes, line: int) -> Iterator[str]:
    """Yield the text of whole lines, as far as it is UTF-8; a byte order mark is left out."""
    try:
        text = whole.decode()
    except UnicodeDecodeError as error:
        start = whole.rfind(b"\n", 0, error.start) + 1
        if start:
            yield from _decode(source, whole[:start], line)
        raise source.wrong(
            line + whole.count(b"\n", 0, start),
            f"expected UTF-8, got the byte 0x{whole[error.start]:02x} at position "
            f"{error.start - start + 1}; save the file as UTF-8",
        ) from error
    text = text.removeprefix("\ufeff") if line == 1 else text
    if text:
        yield text


def split_lines(text: str) -> list[str]:
    r"""Return lines without their ends, which are \n or \r\n."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def find_column(source: Source, head: list[str], delimiter: str | None = None) -> int:
    """Return which of the columns is wanted, if the header leaves no doubt."""
    if len(head) == 1 and source.delimiter is None and delimiter is not None:
        mark = next((m for m in _SEPARATORS if m != delimiter and m in head[0]), None)
        if mark is not None and head[0] != source.column:
            raise source.wrong(
                1, f"expected columns separated by {delimiter!r}, got the one column "
                f"{shorten(head[0])}; pass --delimiter {mark!r}, or --delimiter {delimiter!r} "
                "if that is its name"
            )  # fmt: skip
    if source.column is None:
        if len(head) == 1:
            return 0
        raise source.wrong(1, f"the file has the columns {enumerate_names(head)}; choose one with "
                           f"{source.option}")  # fmt: skip
    if head.count(source.column) != 1:
        remedy = (f"choose one with {source.option}" if source.column not in head
                  else "rename all but one of that name")  # fmt: skip
        raise source.wrong(1, f"expected the column {source.column!r}, got the columns "
                           f"{enumerate_names(head)}; {remedy}")  # fmt: skip
    return head.index(source.column)


def enumerate_names(names: object, most: int = 12) -> str:
    listed = [repr(name) for name in names] if isinstance(names, list | dict) else []
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "") or "none"
