"""Streams of bytes: what readers and writers need of them."""

from __future__ import annotations

from typing import Protocol

_AT_ONCE = 1 << 20


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
