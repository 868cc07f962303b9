"""What arrives: groups of submissions, the rows in which they wait, and which rows are damaged.

The checksum of a row has two halves, so that its place can be trusted without reading its reports:
the CRC-32 of question, day, segment, number and source, and the same continued over the reports. It
finds every single bit and every burst of up to 32 that a disk or memory changes; it does not stop
an attacker.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from struct import pack
from typing import NamedTuple
from zlib import crc32

from deniable.collector.stores.dialect import Horizon
from deniable.collector.stores.records import Holding, Outcome, Submission, Total

ArrivalKey = tuple[int, int, bytes]
"""Under which a submission is counted once: number of the question, day, id."""
Arrival = tuple[int, int, bytes, int]
"""The key, and the fingerprint of what came under it."""
Questioned = Mapping[str, tuple[int, str]]
"""The number and the state of each question, by its digest."""
_REMEMBERED = (None, Outcome.CLOSED, Outcome.NOT_YET)
"""Refused or not, these may have been stored before, while the question or the day was open."""
Stored = tuple[object, ...]
"""A row as a database returns it: the columns of ``HEAD``, maybe with reports."""
HEAD = "no, question, day, source, segment, n, checksum"
"""The columns that say where a row belongs."""
_HALF = 0xFFFF_FFFF
_MISPLACED = "its checksum does not fit its question, day, source, segment and number of reports"
_LAST_DAY = 2_932_897
"""The first day of the year 10000, which has no date."""


class Row(NamedTuple):
    """A row that is as it was written."""

    no: int
    question: int
    day: int
    source: str
    segment: int
    n: int
    reports: bytes


def checksum(place: tuple[int, int, str, int], n: int, reports: bytes) -> int:
    """Return the checksum of a row at (question, day, source, segment), of 64 bits and signed."""
    head = crc32(pack("<qqqq", place[0], place[1], place[3], n) + place[2].encode())
    found = head << 32 | crc32(reports, head)
    return found - (1 << 64) if found >> 63 else found


def read_row(row: Stored) -> Row | str:
    found, damaged = sort_rows([row])
    return found[0] if found else next(iter(damaged.values()))


def sort_rows(rows: Iterable[Stored]) -> tuple[list[Row], dict[int, str]]:
    """Separate sound rows from damaged ones, which are named by number, with the reason.

    In one loop without calls: whoever looks at results waits for all rows that wait.
    """
    sound: list[Row] = []
    damaged: dict[int, str] = {}
    for row in rows:
        no, question, day, source, segment, n, mark = row[:7]
        reports = row[7] if len(row) > 7 else b""
        if not (
            isinstance(no, int)
            and isinstance(question, int)
            and isinstance(day, int)
            and isinstance(source, str)
            and isinstance(segment, int)
            and isinstance(n, int)
            and isinstance(mark, int | None)
            and isinstance(reports, bytes)
        ):
            damaged[int(str(no))] = "a field has the wrong type"
            continue
        try:
            head = crc32(pack("<qqqq", question, day, segment, n) + source.encode())
        except UnicodeEncodeError:
            damaged[no] = "its source is not text"
            continue
        if n < 1:
            damaged[no] = f"it claims to have {n} reports"
        elif mark is not None and head != mark >> 32 & _HALF:  # rows of 0.2.0 have no mark
            damaged[no] = _MISPLACED
        elif mark is not None and len(row) > 7 and crc32(reports, head) != mark & _HALF:
            damaged[no] = "its checksum does not fit its reports"
        else:
            sound.append(Row(no, question, day, source, segment, n, reports))
    return sound, damaged


def sound_rows(rows: Iterable[Stored]) -> list[Row]:
    return sort_rows(rows)[0]


def is_placed(row: Stored) -> bool:
    """Tell whether a row's question, day, source and number can be trusted."""
    return isinstance(read_row(row[:7]), Row)


Remains = tuple[int | None, int | None, str | None, int | None, int | None, bytes]


def remains(row: Stored) -> Remains:
    """Return what is known of a damaged row: its place, its number of reports, and its bytes.

    If its place cannot be trusted, the question is None: the row may be any question's.
    """
    _, question, day, source, segment, n, _ = row[:7]
    return (
        question if isinstance(question, int) and is_placed(row) else None,
        day if isinstance(day, int) and 0 <= day < _LAST_DAY else None,
        source if isinstance(source, str) and source.isprintable() else None,
        segment if isinstance(segment, int) else None,
        n if isinstance(n, int) else None,
        row[7] if isinstance(row[7], bytes) else str(row[7]).encode(errors="replace"),
    )


def holding(row: Stored) -> Holding:
    """Return a row as it is stored, with what is wrong with it, if anything is."""
    found = read_row(row)
    fault = found if isinstance(found, str) else None
    _, day, source, segment, n, reports = remains(row)
    no = row[0] if isinstance(row[0], int) else None
    total = Total(day or 0, source or "", n or 0, reports, segment or 0)
    return Holding("waiting", total, no, fault)


def ascending(rows: Sequence[Stored]) -> bool:
    """Tell whether the numbers of rows increase, as they do unless a page is damaged."""
    numbers = [row[0] if isinstance(row[0], int) else 0 for row in rows]
    return all(one < other for one, other in pairwise(numbers))


class Group:
    """Submissions in one transaction, by key and in the order of the keys.

    Sorting keeps two writers from waiting for each other in a circle. It is also the order in which
    reports are kept, and since ids are random, nothing tells who came first.
    """

    def __init__(
        self, submissions: Sequence[Submission], questions: Questioned, horizon: Horizon
    ) -> None:
        self._submissions = submissions
        self._refusals = [_refusal(each, questions, horizon) for each in submissions]
        self._keys: list[ArrivalKey | None] = []
        first: dict[ArrivalKey, Submission] = {}
        asked: list[ArrivalKey] = []
        for submission, refusal in zip(submissions, self._refusals, strict=True):
            key: ArrivalKey | None = None
            if refusal in _REMEMBERED:
                key = (questions[submission.question][0], submission.day, submission.id)
                if refusal is None:
                    first.setdefault(key, submission)
                else:
                    asked.append(key)
            self._keys.append(key)
        self._marks = {key: submission.fingerprint for key, submission in first.items()}
        self.fresh = [(*key, self._marks[key]) for key in sorted(first)]
        """Rows to insert unless the key is there: question, day, id, fingerprint."""
        self._first, self._asked = first, asked

    def doubtful(self, inserted: set[ArrivalKey]) -> list[ArrivalKey]:
        """Return the keys whose stored fingerprint decides: there before, or no longer open."""
        before = [key for key in self._first if key not in inserted]
        return sorted({*before, *self._asked})

    def bundles(
        self, inserted: set[ArrivalKey]
    ) -> list[tuple[int, int, str, int, int, int, bytes]]:
        """Join what was inserted: question, day, source, segment, number, checksum, bytes."""
        places: dict[tuple[int, int, str, int], list[tuple[int, bytes]]] = {}
        for key in sorted(inserted):
            submission = self._first[key]
            for segment, count, reports in submission.parts():
                place = (key[0], key[1], submission.source, segment)
                places.setdefault(place, []).append((count, reports))
        bundles = []
        for place, found in places.items():
            n, reports = sum([count for count, _ in found]), b"".join([each for _, each in found])
            bundles.append((*place, n, checksum(place, n, reports), reports))
        return bundles

    def outcomes(self, inserted: set[ArrivalKey], stored: Iterable[Arrival]) -> list[Outcome]:
        """Say what became of each; ``stored`` has the fingerprints of the doubtful keys."""
        known = {(question, day, id): mark for question, day, id, mark in stored}
        known.update((key, self._marks[key]) for key in inserted)
        untold = set(inserted)
        result = []
        for submission, refusal, key in zip(
            self._submissions, self._refusals, self._keys, strict=True
        ):
            if key is None or key not in known:
                result.append(refusal or Outcome.CONFLICT)
            elif key in untold:
                untold.remove(key)
                result.append(Outcome.STORED)
            elif submission.fingerprint == known[key]:
                result.append(Outcome.REPEATED)
            else:
                result.append(Outcome.CONFLICT)
        return result


def _refusal(submission: Submission, questions: Questioned, horizon: Horizon) -> Outcome | None:
    _, state = questions.get(submission.question, (0, "deleted"))
    if state == "deleted":
        return Outcome.UNKNOWN
    if submission.day <= horizon.sealed_through:
        return Outcome.SEALED
    if submission.day > horizon.today + 1:
        return Outcome.NOT_YET
    return Outcome.CLOSED if state == "closed" else None
