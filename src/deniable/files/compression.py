"""Gzip, decompressed as it is read: what it grows to never stands in memory at once."""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING, BinaryIO, cast

from deniable.errors import InvalidDocument

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

GZIP = b"\x1f\x8b"
_WITH_HEADER = 31
_READ = 1 << 16
_BUFFER = 1 << 20


def decompressed(stream: BinaryIO, *, name: str = "the file") -> BinaryIO:
    """Return a stream of what is in gzip data, or of the same bytes where it is none.

    >>> import gzip
    >>> decompressed(io.BytesIO(gzip.compress(b"kiwi"))).read()
    b'kiwi'
    """
    start = stream.read(len(GZIP))
    if start and len(start) < len(GZIP):
        start += stream.read(1)
    if start == GZIP:
        raw: io.RawIOBase = _Gunzipped(start, stream, name)
    elif stream.seekable():
        stream.seek(-len(start), io.SEEK_CUR)
        return stream
    else:
        raw = _Resumed(start, stream)
    return cast("BinaryIO", io.BufferedReader(raw, _BUFFER))


class _Resumed(io.RawIOBase):
    """A stream whose first bytes were read already."""

    def __init__(self, start: bytes, stream: BinaryIO) -> None:
        super().__init__()
        self._start, self._stream = start, stream

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer as far as there is something."""
        view = memoryview(buffer)
        data = self._start[: len(view)] or self._stream.read(len(view))
        self._start = self._start[len(view) :]
        view[: len(data)] = data
        return len(data)


class _Gunzipped(io.RawIOBase):
    """The contents of one or more gzip members."""

    def __init__(self, start: bytes, stream: BinaryIO, name: str) -> None:
        super().__init__()
        self._waiting, self._stream, self._name = start, stream, name
        self._member = zlib.decompressobj(_WITH_HEADER)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Decompress no more than the buffer holds."""
        view = memoryview(buffer)
        while True:
            if self._member.eof:
                waiting = self._member.unused_data or self._stream.read(_READ)
                if not waiting:
                    return 0
                self._waiting, self._member = waiting, zlib.decompressobj(_WITH_HEADER)
            elif not self._waiting:
                self._waiting = self._stream.read(_READ)
                if not self._waiting:
                    raise self._wrong("a file cut short")
            try:
                data = self._member.decompress(self._waiting, len(view))
            except zlib.error as error:
                raise self._wrong("altered data, or more after its end") from error
            self._waiting = self._member.unconsumed_tail
            if data:
                view[: len(data)] = data
                return len(data)

    def _wrong(self, came: str) -> InvalidDocument:
        return InvalidDocument(
            f"{self._name}: expected gzip data, got {came}; copy the file again", value=self._name
        )
