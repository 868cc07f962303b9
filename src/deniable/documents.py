"""JSON in and out: one canonical form, and one careful reader for what others wrote."""

from __future__ import annotations

import json
from typing import cast

from deniable.errors import InvalidDocument


def canonical_json(document: object) -> bytes:
    """Return the one JSON form of a document: sorted keys, no spaces, UTF-8."""
    text = json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def parse_json(data: bytes) -> object:
    """Read untrusted JSON, refusing repeated keys and whatever is not JSON."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        result = dict(pairs)
        if len(result) != len(pairs):
            raise InvalidDocument("expected each key once in a JSON object", value=pairs[0][0])
        return result

    try:
        return cast("object", json.loads(data.decode(), object_pairs_hook=unique))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidDocument):
            raise
        raise InvalidDocument(f"expected JSON, got {error}", value=len(data)) from error


def as_bytes(data: object) -> bytes:
    """Return bytes-like data as bytes, or say that it is none."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InvalidDocument(f"expected bytes, got {type(data).__name__}", value=type(data))
    return bytes(data)
