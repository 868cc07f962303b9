"""Streams of bytes: what readers and writers need of them, and gzip decompressed as it is read."""

import gzip
import io
import zlib
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from deniable.errors import InvalidDocument

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_AT_ONCE = 1 << 20
_GZIP = b"\x1f\x8b"


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
