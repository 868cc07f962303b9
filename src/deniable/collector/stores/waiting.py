"""Waiting rows: their checksum, and telling sound rows from damaged ones.

The checksum has two halves, so that a row's place can be trusted without reading its reports: the
CRC-32 of question, day, number and source, and the same continued over the reports. It finds every
single bit and every burst of up to 32 that a disk or memory changes; it does not stop an attacker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from struct import pack
from typing import NamedTuple
from zlib import crc32

from deniable.collector.stores.records import Holding, Total

Stored = tuple[object, ...]
"""A row as a database returns it: no, question, day, source, n, checksum, maybe reports."""
HEAD = "no, question, day, source, n, checksum"
"""The columns that say where a row belongs."""
_HALF = 0xFFFF_FFFF
_MISPLACED = "its checksum does not fit its question, day, source and number of reports"
_LAST_DAY = 2_932_897
"""The first day of the year 10000, which has no date."""


class Row(NamedTuple):
    """A row that is as it was written."""

    no: int
    question: int
    day: int
    source: str
    n: int
    reports: bytes


def checksum(place: tuple[int, int, str], n: int, reports: bytes) -> int:
    """Return the checksum of a row at (question, day, source), a signed number of 64 bits."""
    head = crc32(pack("<qqq", place[0], place[1], n) + place[2].encode())
    found = head << 32 | crc32(reports, head)
    return found - (1 << 64) if found >> 63 else found


def read(row: Stored) -> Row | str:
    """Return a row, or why it cannot be used."""
    found, damaged = sort([row])
    return found[0] if found else next(iter(damaged.values()))


def sort(rows: Iterable[Stored]) -> tuple[list[Row], dict[int, str]]:
    """Separate sound rows from damaged ones, which are named by number, with the reason.

    In one loop without calls: whoever looks at results waits for all rows that wait.
    """
    sound: list[Row] = []
    damaged: dict[int, str] = {}
    for row in rows:
        no, question, day, source, n, mark = row[:6]
        reports = row[6] if len(row) > 6 else b""
        if not (
            isinstance(no, int)
            and isinstance(question, int)
            and isinstance(day, int)
            and isinstance(source, str)
            and isinstance(n, int)
            and isinstance(mark, int | None)
            and isinstance(reports, bytes)
        ):
            damaged[int(str(no))] = "a field has the wrong type"
            continue
        try:
            head = crc32(pack("<qqq", question, day, n) + source.encode())
        except UnicodeEncodeError:
            damaged[no] = "its source is not text"
            continue
        if n < 1:
            damaged[no] = f"it claims to have {n} reports"
        elif mark is not None and head != mark >> 32 & _HALF:  # rows of 0.2.0 have no mark
            damaged[no] = (
                "its checksum does not fit its question, day, source and number of reports"
            )
        elif mark is not None and len(row) > 6 and crc32(reports, head) != mark & _HALF:
            damaged[no] = "its checksum does not fit its reports"
        else:
            sound.append(Row(no, question, day, source, n, reports))
    return sound, damaged


def sound(rows: Iterable[Stored]) -> list[Row]:
    return sort(rows)[0]


def is_placed(row: Stored) -> bool:
    """Tell whether a row's question, day, source and number can be trusted."""
    return isinstance(read(row[:6]), Row)


def remains(row: Stored) -> tuple[int | None, int | None, str | None, int | None, bytes]:
    """Return what is known of a damaged row: question, day, source, number, and its bytes.

    If its place cannot be trusted, the question is None: the row may be any question's.
    """
    if is_placed(row):
        _, question, day, source, n, _ = row[:6]
    else:
        question, (_, _, day, source, n, _) = None, row[:6]
    return (
        question if isinstance(question, int) else None,
        day if isinstance(day, int) and 0 <= day < _LAST_DAY else None,
        source if isinstance(source, str) and source.isprintable() else None,
        n if isinstance(n, int) else None,
        row[6] if isinstance(row[6], bytes) else str(row[6]).encode(errors="replace"),
    )


def holding(row: Stored) -> Holding:
    """Return a row as it is stored, with what is wrong with it, if anything is."""
    found = read(row)
    fault = found if isinstance(found, str) else None
    _, day, source, n, reports = remains(row)
    no = row[0] if isinstance(row[0], int) else None
    return Holding("waiting", Total(day or 0, source or "", n or 0, reports), no, fault)


def ascending(rows: Sequence[Stored]) -> bool:
    """Tell whether the numbers of rows increase, as they do unless a page is damaged."""
    numbers = [row[0] if isinstance(row[0], int) else 0 for row in rows]
    return all(one < other for one, other in pairwise(numbers))
