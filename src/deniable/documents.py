"""JSON in and out: one canonical form, and one careful reader for what others wrote."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import cast

from deniable.errors import InvalidDocument


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
