"""Documents in and out: one canonical form of JSON, and one careful reader for what others wrote.

Files are touched here alone, and only where a caller names one. Of streams there is what readers
and writers need, and gzip is decompressed as it is read.
"""

import errno
import gzip
import io
import json
import os
import zlib
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar, cast

from deniable.errors import InvalidDocument, InvalidParameter

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_DEEPEST = 32
"""How deep lists and objects may nest: far more than any document of ours does."""
MOST_BYTES = 1 << 26
"""How large a document may be, unless its reader says otherwise: a question of a million answers
has a quarter of this."""
_AT_ONCE = 1 << 20
_GZIP = b"\x1f\x8b"
PathName = str | os.PathLike[str]
"""The name of a file."""
Content = TypeVar("Content", str, bytes)


def read_file(path: PathName, most: int = MOST_BYTES) -> bytes:
    """Return what a file holds, unless that is more than ``most`` bytes."""
    with check_path(path).open("rb") as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise InvalidDocument(
            f"the file has more than {most:,} bytes; check what it is", value=str(path)
        )
    return data


def returned(content: Content, path: PathName | None) -> Content | None:
    """Return content, or write it to a file if one is named, in place of what is there.

    Text is written as UTF-8, with the line ends it has.
    """
    if path is None:
        return content
    check_path(path).write_bytes(content.encode() if isinstance(content, str) else content)
    return None


def synchronise(path: Path) -> None:
    """Wait until a file, or the names in a directory, are on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not path.is_dir():
            raise
    finally:
        os.close(opened)


def check_path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        remedy = "pass it as text or as a path, and everything else by name"
        raise InvalidParameter.expected("the name of a file", path, remedy)
    return Path(path)


def canonical_json(document: object) -> bytes:
    """Return the one JSON form of a document: sorted keys, no spaces, UTF-8.

    Numbers are written as JavaScript writes them, so that a client in a browser gets the same
    bytes, and so the same digest, from the parsed document (RFC 8785).

    >>> canonical_json({"b": 1.0, "a": [0.5, 1e-9, None]})
    b'{"a":[0.5,1e-9,null],"b":1}'
    """
    return _canonical(document).encode()


def _canonical(item: object) -> str:
    if isinstance(item, dict):
        pairs = (f"{_canonical(key)}:{_canonical(item[key])}" for key in sorted(item))
        return "{" + ",".join(pairs) + "}"
    if isinstance(item, list | tuple):
        if all(type(part) is str for part in item):  # a million labels, in one call
            return json.dumps(item, ensure_ascii=False, separators=(",", ":"))
        return "[" + ",".join(map(_canonical, item)) + "]"
    if isinstance(item, float):
        return _javascript_number(item)
    return json.dumps(item, ensure_ascii=False)


def _javascript_number(number: float) -> str:
    """Write a float as ECMAScript's Number::toString does."""
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    if not isinstance(exponent, int):
        raise InvalidDocument(f"expected a finite number, got {number!r}", value=number)
    text, point = "".join(map(str, digits)), len(digits) + exponent
    if text == "0":
        return "0"
    if 0 < point <= 21:
        text = text.ljust(point, "0")
        text = text if len(text) == point else f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{text}"
    else:
        mantissa = text if len(text) == 1 else f"{text[0]}.{text[1:]}"
        text = f"{mantissa}e{point - 1:+d}"
    return f"{'-' if sign else ''}{text}"


def parse_json(data: object, most: int = MOST_BYTES) -> object:
    """Read untrusted JSON, refusing repeated keys and whatever has no canonical form."""
    text = as_bytes(data)
    if len(text) > most:
        raise InvalidDocument(
            f"the document has {len(text):,} bytes, more than {most:,}; check where it comes from, "
            "or raise the limit by name",
            value=len(text),
        )

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        result = dict(pairs)
        if len(result) != len(pairs):
            raise InvalidDocument("expected each key once in a JSON object", value=pairs[0][0])
        return result

    try:
        document = cast("object", json.loads(text.decode(), object_pairs_hook=unique))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidDocument):
            raise
        path = len(text) < 1024 and text.strip().endswith(b".json")
        remedy = "check the file"
        if path:
            remedy = "pass what the file holds, or open it by its name with Question.open"
        raise InvalidDocument(
            f"expected JSON, got {fault(error)}; {remedy}", value=len(text)
        ) from error
    _check_items(document)
    return document


def read_document(data: object, most: int, form: str, versions: tuple[int, ...]) -> dict[str, Any]:
    """Read a JSON object that says it is of the given format and one of the versions.

    What its fields hold is for the caller to check, before anything is digested.
    """
    document = parse_json(data, most)
    if not isinstance(document, dict) or document.get("format") != form:
        raise InvalidDocument(f"this is not a document of the format {form}; check the file")
    if document.get("version") not in versions:
        raise InvalidDocument.expected(
            f"version {' or '.join(map(str, versions))} of the format {form}",
            document.get("version"),
            "upgrade deniable",
        )
    return document


def check_fields(document: dict[str, Any], fields: set[str], most: int) -> None:
    """Refuse a document with other fields, without a name, or with more than ``most`` values.

    Then its canonical form takes no longer than reading it did: strings, and little else.
    """
    small = extent(document, most) <= most
    if set(document) != fields or not small or not isinstance(document["name"], str):
        raise InvalidDocument.expected(
            f"the fields {', '.join(sorted(fields))}, with at most {most} values in all beside "
            "lists of strings",
            sorted(document),
            "check the file",
        )


def extent(item: object, most: int) -> int:
    """Return how many values a document holds, or any number above ``most`` if there are more.

    A list of strings counts as one: its canonical form takes no longer than reading it did.
    """
    count, waiting = 0, [item]
    while waiting and count <= most:
        part = waiting.pop()
        count += 1
        if isinstance(part, dict):
            count, waiting = count + len(part), [*waiting, *part.values()]
        elif isinstance(part, list) and not all(isinstance(each, str) for each in part):
            count, waiting = count + len(part), [*waiting, *part]
    return count


def fault(error: ValueError | RecursionError) -> str:
    """Say what is wrong with JSON, without Python's advice to programmers."""
    if isinstance(error, json.JSONDecodeError):
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        said = f"{error.msg[:1].lower()}{error.msg[1:]}"
        return f"something else at {line}column {error.colno} ({said})"
    if isinstance(error, UnicodeDecodeError):
        return f"bytes that are not UTF-8 at position {error.start + 1}"
    if isinstance(error, RecursionError):
        return "values nested too deep"
    return "a number of thousands of digits"


def _check_items(document: object) -> None:
    """Refuse nesting that recursion could not follow, and strings that UTF-8 cannot encode."""
    level: list[object] = [document]
    for _ in range(_DEEPEST):
        text = "".join(item for item in level if isinstance(item, str))
        if not encodes(text):
            raise InvalidDocument(
                "a string has half of a surrogate pair, which UTF-8 cannot encode; write the "
                "character itself"
            )
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner += [*item, *item.values()]
            elif isinstance(item, list):
                inner += item
        if not inner:
            return
        level = inner
    raise InvalidDocument(f"the JSON is nested more than {_DEEPEST} deep; check the file")


def encodes(text: str) -> bool:
    """Tell whether UTF-8 can encode a string, as it cannot with half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_bytes(data: object) -> bytes:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InvalidDocument(
            f"expected bytes, got {type(data).__name__}; pass the content of the file as it is",
            value=type(data),
        )
    return bytes(data)


class Readable(Protocol):
    """A stream of bytes that can be read: an open file, a pipe, a ``BytesIO``."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next ``size`` bytes, fewer at the end, or all that is left."""


class Writable(Protocol):
    """A stream of bytes that can be written."""

    def write(self, data: bytes, /) -> object:
        """Write all of the data."""


def read_fully(stream: Readable, count: int) -> bytes:
    """Return the next ``count`` bytes, fewer only at the end of the stream."""
    parts, lacking = [], count
    # A stream may make room for all that is asked for before it knows how much there is.
    while lacking and (part := stream.read(min(lacking, _AT_ONCE))):
        parts.append(part)
        lacking -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def decompressed(stream: BinaryIO, *, name: str = "the file") -> BinaryIO:
    """Return a stream of what is in gzip data, or of the same bytes where it is not gzip.

    What it grows to is never in memory at once.
    """
    start = stream.read(len(_GZIP))
    if start and len(start) < len(_GZIP):
        start += stream.read(1)
    if start != _GZIP and stream.seekable():
        stream.seek(-len(start), io.SEEK_CUR)
        return stream
    raw: io.RawIOBase = _Resumed(start, stream)
    if start == _GZIP:
        raw = _Gunzipped(_buffered(raw), name)
    return _buffered(raw)


def _buffered(raw: io.RawIOBase) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(raw, _AT_ONCE))


class _Resumed(io.RawIOBase):
    """A stream whose first bytes were read already."""

    def __init__(self, start: bytes, stream: BinaryIO) -> None:
        super().__init__()
        self._start, self._stream = start, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data = self._next(len(view))
        view[: len(data)] = data
        return len(data)

    def _next(self, size: int) -> bytes:
        data, self._start = self._start[:size], self._start[size:]
        return data or self._stream.read(size)


class _Gunzipped(_Resumed):
    """The contents of gzip data, with errors that name the file."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        super().__init__(b"", stream)
        self._file, self._name = gzip.GzipFile(fileobj=stream), name

    def _next(self, size: int) -> bytes:
        try:
            return self._file.read1(size)
        except EOFError as error:
            raise self._wrong("was cut short") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self._wrong("was altered, or has more after its end") from error

    def _wrong(self, came: str) -> InvalidDocument:
        return InvalidDocument(
            f"{self._name}: the gzip data {came}; copy the file again", value=self._name
        )
