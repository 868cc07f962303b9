"""A file of answers: its name, its text in pieces of whole lines, and errors that name a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.group import InputError
from deniable.cli.streams import Digest, name_of, shorten
from deniable.files import Readable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LARGEST_FIELD = 1 << 26
_CHUNK = 1 << 20
_SEPARATORS = ";\t|,"


@dataclass(frozen=True)
class Batch:
    """Some answers, and the line of the file that each of them starts on.

    Where all of them are labels, found by their bytes, ``values`` says which and stands for them.
    """

    answers: list[str]
    lines: Sequence[int]
    values: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Source:
    """A file of answers: where it is, the column they are in, and what kind of file it is."""

    path: Path
    column: str | None = None
    kind: str | None = None
    delimiter: str | None = None
    option: str = "--column"
    """The option that names the column."""
    digest: Digest | None = None
    """Where the bytes that are read are noted."""
    textual: bool = True
    """Whether answers have to be texts or whole numbers; else any JSON value may be one."""

    @property
    def name(self) -> str:
        """What errors call the file."""
        return name_of(self.path)

    def wrong(self, line: int, message: str) -> InputError:
        """Return the error that names the file and the line."""
        return InputError(f"{self.name}:{line}: {message}")


def read_texts(source: Source, stream: Readable) -> Iterator[str]:
    """Yield the text of the stream in pieces of whole lines; only the last may lack its end."""
    for whole, line in read_pieces(source, stream):
        yield from decode(source, whole, line)


def read_pieces(source: Source, stream: Readable) -> Iterator[tuple[bytes, int]]:
    """Yield the bytes of whole lines, and the number of the first; the last may lack its end."""
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
            raise source.wrong(line, f"expected a line of at most {LARGEST_FIELD:,} bytes, got a "
                               "longer one; check that the file is text")  # fmt: skip
        if not data:
            return


def decode(source: Source, whole: bytes, line: int) -> Iterator[str]:
    """Yield the text of whole lines, as far as it is UTF-8; a mark of byte order is left out."""
    try:
        text = whole.decode()
    except UnicodeDecodeError as error:
        start = whole.rfind(b"\n", 0, error.start) + 1
        if start:
            yield from decode(source, whole[:start], line)
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
        raise source.wrong(1, f"expected {source.option} to name one of the columns "
                           f"{enumerate_names(head)}, got none")  # fmt: skip
    if head.count(source.column) != 1:
        remedy = (f"name one with {source.option}" if source.column not in head
                  else "rename all but one of that name, so that it comes once")  # fmt: skip
        raise source.wrong(1, f"expected the column {source.column!r}, got the columns "
                           f"{enumerate_names(head)}; {remedy}")  # fmt: skip
    return head.index(source.column)


def enumerate_names(names: object, most: int = 12) -> str:
    """Return names as an error lists them."""
    listed = [repr(name) for name in names] if isinstance(names, list | dict) else []
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "") or "none"
