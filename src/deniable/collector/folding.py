"""Folding: adding up reports and tallies, in the worker process or by an operator's hand.

The functions are pure, documents and bytes in, bytes out.

Segments are published all at one moment, in one row. Hiding a small one protects nobody, since the
total less the others gives it; what counts is that nobody can watch single arrivals. So a segment
moves with the minimum of new reports, or together with others that have it together.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from struct import Struct
from typing import NamedTuple

from deniable.collector.stores.records import Pile, Total
from deniable.errors import DeniableError, InvalidDocument
from deniable.question import Question
from deniable.tally import MAGIC, Tally

Cells = Mapping[int, Tally]
"""The tallies of segments, by the numbers of their cells."""
_PART = Struct("<BI")
_BATCH = 1 << 20
"""Bytes of reports that are added at once."""


class DamagedMonth(InvalidDocument):
    """The kept sum of a month cannot be read; the tallies of its days are still there."""


@lru_cache(maxsize=32)
def question_of(document: str) -> Question:
    return Question.from_json(document)


def pack(tally: Tally) -> bytes:
    """Return a tally as stores keep it: a day's is mostly small numbers in wide integers."""
    return zlib.compress(tally.to_bytes(), 1)


def unpack(data: bytes) -> bytes:
    """Return a tally that a store has kept; version 0.2.0 and uploads keep them as they are."""
    try:
        return data if data.startswith(MAGIC) else zlib.decompress(data)
    except zlib.error as error:
        raise InvalidDocument(f"this is not a tally: {error}", value=len(data)) from error


class Faults(NamedTuple):
    """What of a pile cannot be added, and why: rows by their numbers, and the tally."""

    rows: Mapping[int, str]
    tally: str | None = None


def fold(document: str, pile: Pile) -> bytes | Faults:
    """Add the reports of a pile to its tally; return the new tally, or why there is none."""
    if pile.damaged:
        return Faults(pile.damaged)
    try:
        total = _sum(question_of(document), pile.tallies, [pile.reports])
    except DeniableError:
        return _find_faults(document, pile)
    return pack(total) if total.n == pile.total else _find_faults(document, pile)


def _find_faults(document: str, pile: Pile) -> Faults:
    """Find out why a pile does not fold; if nothing in it is to blame alone, all of it is."""
    rows: dict[int, str] = {}
    for no, (n, reports) in zip(pile.rows, pile.parts, strict=True):
        if (said := find_fault(document, n, [], [reports])) is not None:
            rows[no] = said
    unread = find_fault(document, pile.counted, pile.tallies, []) if pile.tallies else None
    if not rows and unread is None:
        rows = dict.fromkeys(pile.rows, "it cannot be added to the others")
    return Faults(rows, unread)


def find_fault(
    document: str, n: int, tallies: Sequence[bytes], waiting: Sequence[bytes]
) -> str | None:
    """Say why tallies and reports cannot be added up to ``n`` reports, if so."""
    try:
        found = _sum(question_of(document), tallies, waiting).n
    except DeniableError as error:
        return f"it cannot be read: {error}"
    return None if found == n else f"it has {found} reports and says {n}"


def add_up(document: str, tallies: Sequence[bytes], waiting: Sequence[bytes]) -> bytes:
    return readable_sum(question_of(document), tallies, waiting).to_bytes()


def readable_sum(question: Question, tallies: Sequence[bytes], waiting: Sequence[bytes]) -> Tally:
    try:
        return _sum(question, tallies, waiting)
    except DeniableError:  # housekeeping will set it aside; whoever reads need not wait for that
        return _sum(
            question,
            [tally for tally in tallies if _readable(question, [tally], [])],
            [reports for reports in waiting if _readable(question, [], [reports])],
        )


def _readable(question: Question, tallies: Sequence[bytes], waiting: Sequence[bytes]) -> bool:
    try:
        _sum(question, tallies, waiting)
    except DeniableError:
        return False
    return True


def _sum(question: Question, tallies: Sequence[bytes], waiting: Sequence[bytes]) -> Tally:
    total = question.accumulator()
    for reports in _joined(waiting):
        total.add(question.parse(reports, None))
    total.merge_bytes(map(unpack, tallies))
    return total.tally()


def _joined(waiting: Sequence[bytes]) -> Iterator[bytes]:
    """Yield groups of reports joined into larger ones: adding each by itself costs more."""
    start, size = 0, 0
    for end, reports in enumerate(waiting, 1):
        size += len(reports)
        if size >= _BATCH or end == len(waiting):
            yield b"".join(waiting[start:end])
            start, size = end, 0


def check_upload(document: str, data: bytes) -> tuple[bytes, int]:
    """Read a tally that was collected elsewhere, and return it with its number of reports.

    Merging refuses a tally that names another question, or none.
    """
    total = merge(question_of(document), [Tally.from_bytes(data)])
    if total.n == 0:
        raise InvalidDocument("the tally is empty; upload one of at least one report", value=0)
    return total.to_bytes(), total.n


def sum_month(document: str, tallies: Sequence[Total]) -> list[Total] | None:
    """Return the sum of each source and segment; None if a tally cannot be read."""
    question, sums = question_of(document), []
    for (source, segment), rows in groupby(sorted(tallies, key=_place), key=_place):
        found = [*rows]
        try:
            total = _sum(question, [row.data for row in found], [])
        except DeniableError:
            return None
        if total.n != sum(row.n for row in found):
            return None
        sums.append(Total(found[0].day, source, total.n, pack(total), segment))
    return sums


def _place(total: Total) -> tuple[str, int]:
    return total.source, total.segment


def check_months(document: str, months: Sequence[Total]) -> None:
    for month in months:
        said = find_fault(document, month.n, [month.data], [])
        if said is not None:
            raise DamagedMonth(f"the sum of a month is damaged: {said}", value=month.day)


def merge(question: Question, tallies: Sequence[Tally]) -> Tally:
    total = question.accumulator()
    for tally in tallies:
        total.merge(tally)
    return total.tally()


def ripe(before: Cells, found: Cells, counts: Mapping[int, int], minimum: int) -> dict[int, Tally]:
    """Return the segments as they are published now, all of them at one moment.

    A segment moves when it has the minimum of new reports; those with fewer move together when they
    have the minimum together, and else stay as they were. The total is the sum of what is shown.
    """
    new = {cell: counts[cell] - (before[cell].n if cell in before else 0) for cell in found}
    few = {cell for cell in found if 0 < new[cell] < minimum}
    if sum(new[cell] for cell in few) >= minimum or min(new.values(), default=0) < 0:
        few = set()
    shown = {cell: (before.get(cell) if cell in few else found[cell]) for cell in found}
    return {cell: tally for cell, tally in shown.items() if tally is not None}


def pack_cells(cells: Cells) -> bytes:
    """Join the tallies of segments: for each the number of its cell, a length, and the tally."""
    parts = [(cell, cells[cell].to_bytes()) for cell in sorted(cells)]
    return b"".join([_PART.pack(cell, len(data)) + data for cell, data in parts])


def unpack_cells(data: bytes) -> dict[int, Tally]:
    cells, place = {}, 0
    while place < len(data):
        cell, size = _PART.unpack_from(data, place)
        place += _PART.size + size
        cells[cell] = Tally.from_bytes(data[place - size : place])
    return cells
