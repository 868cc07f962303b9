"""Days as clients write them and as stores count them."""

from __future__ import annotations

from datetime import date
from re import compile
from time import time

from deniable.collector.problems import InvalidRequest

_EPOCH = date(1970, 1, 1).toordinal()
_FORM = compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def read_day(text: str, name: str = "day") -> int:
    """Return the number of a day that is written as YYYY-MM-DD.

    >>> read_day("1970-01-02")
    1
    """
    try:
        if not _FORM.fullmatch(text):
            raise ValueError(text)
        return date.fromisoformat(text).toordinal() - _EPOCH
    except ValueError:
        raise InvalidRequest(
            f"expected {name} as YYYY-MM-DD, got {text[:40]!r}", value=text[:40]
        ) from None


def write_day(day: int) -> str:
    """Return a day as YYYY-MM-DD.

    >>> write_day(19_675)
    '2023-11-14'
    """
    return date.fromordinal(day + _EPOCH).isoformat()


def today() -> int:
    """Return the number of this day, in UTC, as all days are."""
    return int(time() // 86400)
