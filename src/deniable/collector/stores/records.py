"""What goes in and out of stores: plain, frozen, the same for every database; and the errors.

Days are whole numbers, counted from 1970-01-01 in UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from hashlib import sha256
from math import nan
from time import time
from typing import NamedTuple

import numpy as np

from deniable.errors import DeniableError

ANONYMOUS = "anonymous"
"""The source of submissions that came without a token."""
EVER = 1 << 40
"""A day after all days."""
EPOCH = date(1970, 1, 1).toordinal()
"""The day from which days are counted, in UTC."""
MOST_PUBLISHED = 128
"""How many published sums of one question are kept: those that were shown last."""


def date_of(day: int) -> date:
    return date.fromordinal(day + EPOCH)


def write_day(day: int) -> str:
    """Return a day as YYYY-MM-DD."""
    return date_of(day).isoformat()


def today() -> int:
    """Return the number of this day, in UTC, as all days are."""
    return int(time() // 86400)


@dataclass(frozen=True, slots=True, order=True)
class Days:
    """A range of days, both ends included; without bounds it is all days."""

    first: int = 0
    last: int = EVER

    def __contains__(self, day: int) -> bool:
        return self.first <= day <= self.last

    def overlaps(self, other: "Days") -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a question's reports that a count, a sum or an estimate is about.

    ``question`` is the digest. All segments are in it, since they are published at one moment.
    """

    question: str
    days: Days = Days()


class Outcome(Enum):
    """What became of a submission."""

    STORED = "stored"
    REPEATED = "repeated"
    CONFLICT = "conflict"
    UNKNOWN = "unknown question"
    CLOSED = "closed question"
    SEALED = "sealed day"
    NOT_YET = "day not yet open"


class State(Enum):
    """Whether a question takes reports; a deleted one goes as soon as its data are gone."""

    OPEN = "open"
    CLOSED = "closed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Submission:
    """Reports under an id that the client drew: counted once, however often they come.

    ``cells`` has the segment of each report, one byte each, where the question has segments.
    """

    question: str
    day: int
    id: bytes
    reports: bytes
    count: int = 1
    source: str = ANONYMOUS
    cells: bytes = b""

    def parts(self) -> list[tuple[int, int, bytes]]:
        """Return each segment with the number and the bytes of its reports."""
        if len(set(self.cells)) < 2:
            return [(self.cells[0] if self.cells else 0, self.count, self.reports)]
        cells = np.frombuffer(self.cells, dtype=np.uint8)
        rows = np.frombuffer(self.reports, dtype=np.uint8).reshape(self.count, -1)
        found = ((cell, rows[cells == cell]) for cell in sorted(set(self.cells)))
        return [(cell, len(mine), mine.tobytes()) for cell, mine in found]

    @property
    def fingerprint(self) -> int:
        """64 bits that tell the same bytes from others once the reports are folded."""
        head = sha256(self.id + self.cells + self.reports).digest()[:8]
        return int.from_bytes(head, "big", signed=True)


@dataclass(frozen=True)
class Asked:
    """A question as the store keeps it; ``edition`` grows with every change to what it counts."""

    digest: str
    document: str
    state: State
    terms: str
    edition: int = 0


class Total(NamedTuple):
    """A tally of one source and segment on one day, or its reports that are not folded yet."""

    day: int
    source: str
    n: int
    data: bytes
    segment: int = 0


@dataclass(frozen=True)
class Publication:
    """The sum of a slice as readers were shown it, at an edition of the question.

    ``days`` are those on which its reports came; 0: not known, of what version 0.2.0 published.
    ``cells`` has the sums of all segments, as ``folding.pack_cells`` joins them. ``looks`` counts
    the states in which a sum that is searched was shown, this one included.
    """

    n: int
    edition: int
    tally: bytes
    days: int = 0
    cells: bytes = b""
    looks: int = 0


@dataclass(frozen=True)
class Standing:
    """How a slice stands at one moment, and what readers were last shown of its question."""

    edition: int
    daily: list[tuple[int, int]]
    """The days on which reports were counted, in order, and how many."""
    published: Mapping[Days, Publication]
    """The published sums of all ranges of days, without their tallies."""
    segments: Mapping[int, int] = field(default_factory=dict)
    """How many reports each segment has."""

    @property
    def n(self) -> int:
        return sum(n for _, n in self.daily)


@dataclass(frozen=True)
class Snapshot:
    """What was counted in slices at one moment, without excluded sources, and published sums."""

    tallies: tuple[Total, ...]
    waiting: tuple[Total, ...]
    published: Mapping[Slice, Publication] = field(default_factory=dict)
    months: tuple[Total, ...] = ()
    """Sums of whole months, each at its first day, in place of the tallies of its days."""
    days: frozenset[int] = frozenset()
    """The days of the reports in those sums."""

    @property
    def n(self) -> int:
        return sum(total.n for total in (*self.months, *self.tallies, *self.waiting))


@dataclass(frozen=True)
class Pile:
    """Some waiting reports of one question, day, source and segment, and the tally they belong to.

    ``parts`` has the number and the bytes of the reports in each row, and ``counted`` the number in
    the tally; ``damaged`` says why further rows of the same place cannot be used.
    """

    question: str
    day: int
    source: str
    rows: tuple[int, ...]
    parts: tuple[tuple[int, bytes], ...]
    tally: bytes | None
    counted: int
    version: int
    damaged: Mapping[int, str] = field(default_factory=dict)
    segment: int = 0

    @property
    def n(self) -> int:
        return sum(n for n, _ in self.parts)

    @property
    def total(self) -> int:
        """The number of reports once they are folded."""
        return self.counted + self.n

    @property
    def tallies(self) -> list[bytes]:
        return [] if self.tally is None else [self.tally]

    @property
    def reports(self) -> bytes:
        return b"".join([reports for _, reports in self.parts])


@dataclass(frozen=True)
class Aside:
    """A row that could not be read and was set aside; None stands for what is not known of it."""

    origin: str
    question: str | None
    day: int | None
    source: str | None
    n: int | None
    reason: str


@dataclass(frozen=True)
class Holding:
    """A row of a question as it is stored: the table, and the number of a waiting row.

    ``fault`` says what is wrong with the row, if anything is.
    """

    table: str
    total: Total
    row: int | None = None
    fault: str | None = None


@dataclass(frozen=True)
class Source:
    """Who contributed to a question, how much, and whether that is left out, always or on days."""

    name: str
    n: int
    excluded: bool
    excluded_days: tuple[int, ...] = ()


@dataclass(frozen=True)
class Window:
    """The days that take reports now; ``alarm`` says what is wrong with the clock, if anything."""

    first: int
    last: int
    alarm: str | None = None


@dataclass(frozen=True)
class Key:
    """A token, session or login link: what it allows, and of the secret only the hash."""

    hash: bytes
    kind: str
    role: str
    name: str
    expires: int | None = None
    last_used: int | None = None  # the day


@dataclass(frozen=True)
class Measures:
    """How full a store is, with sizes in bytes; NaN is what a database does not tell."""

    waiting: int  # reports that are in no tally yet
    oldest: int | None  # the first day that has such reports
    sealed_through: int
    set_aside: int  # rows that could not be read
    size: float
    log_size: float = nan  # of SQLite's write-ahead log
    free: float = nan  # what the file system has left


KINDS = {
    "full": "the store's disk is full",
    "read-only": "the store is read-only",
    "missing": "the store's file is gone",
    "replaced": "the store's file was replaced by another one",
    "corrupt": "the store is corrupt",
    "busy": "the store is locked or too slow",
    "unreachable": "the database does not answer",
    "unsuitable": "this release cannot use the store, or not where it is kept",
    "failed": "the store failed",
}
"""What can be wrong with a store: a label for metrics, and what anybody may be told."""


class StoreError(DeniableError):
    """Something is wrong with the store; ``kind`` is one of ``KINDS``.

    The message is for the operator's log and may name files; ``reason`` is for everybody.
    """

    usual = "failed"

    def __init__(self, message: str, *, value: object = None, kind: str | None = None) -> None:
        super().__init__(message, value=value)
        self.kind = kind or self.usual

    @property
    def reason(self) -> str:
        """What is wrong, without the names of files or servers."""
        return KINDS[self.kind]


class StoreUnavailable(StoreError):
    """The store cannot be reached or written at the moment: nothing was acknowledged."""


class StoreReplaced(StoreUnavailable):
    """The file at the store's path is gone, or is not the one that was opened."""

    usual = "replaced"


class StoreBroken(StoreError):
    """The store can no longer be trusted: the collector must stop."""

    usual = "unsuitable"


class StoreCorrupt(StoreBroken):
    """What the store holds is not what was written to it."""

    usual = "corrupt"
