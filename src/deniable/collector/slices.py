"""Days and slices as addresses name them, and as stores count them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from re import compile
from time import time

from deniable.collector.problems import InvalidRequest
from deniable.collector.stores.records import EVER, Days, Slice

NAMES = ("day", "from", "to")
"""The parameters by which an address names a slice; those of a second one begin with compare_."""
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


def read_slice(question: str, query: Mapping[str, str | None], start: str = "") -> Slice:
    """Return the slice that parameters name: one day, a range of days, or everything.

    >>> read_slice("…", {"day": "1970-01-02"}).days
    Days(first=1, last=1)
    """
    day, first, last = [query.get(f"{start}{name}") for name in NAMES]
    if day is not None and (first is not None or last is not None):
        raise InvalidRequest(f"{start}day is a day by itself; leave out {start}from and {start}to")
    if day is not None:
        first = last = day
    days = Days(
        0 if first is None else read_day(first, f"{start}from"),
        EVER if last is None else read_day(last, f"{start}to"),
    )
    if days.first > days.last:
        raise InvalidRequest(f"{start}from must not be later than {start}to")
    return Slice(question, days)


def is_named(query: Mapping[str, str | None], start: str = "") -> bool:
    """Tell whether parameters name any day."""
    return any(query.get(f"{start}{name}") for name in NAMES)
