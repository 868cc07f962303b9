"""What a tally keeps of its reports: one of three statistics that add.

Counts     one integer per value                              (direct, histogram and unary encoding)
Table      how often each cell of a table was hit, dense or sparse   (linear local hashing)
Collected  the reports themselves, in an order that tells nothing   (local hashing, multiply-shift)

Each has one canonical form for the same content, so that equal tallies have equal bytes whatever
the order in which they were added.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from deniable.errors import IncompatibleTally, InvalidDocument, InvalidReport
from deniable.wire import exact_sum, smallest_unsigned

DENSE_LIMIT = 1 << 26
"""Tables with more cells than this (half a GiB) are only ever kept sparse."""

_WIDTHS = {1, 2, 4, 8}


class Statistic(ABC):
    """What is left of reports: adds, and has one canonical form."""

    form: ClassVar[str]

    @abstractmethod
    def __add__(self, other: Statistic) -> Self:
        """Return the statistic of both lots of reports."""

    @abstractmethod
    def encode(self) -> bytes:
        """Return the canonical bytes."""


Kind = TypeVar("Kind", bound=Statistic)


def of_form(statistic: Statistic, kind: type[Kind]) -> Kind:
    """Return the statistic as the kind that it has to be, or say that it is another."""
    if not isinstance(statistic, kind):
        raise IncompatibleTally.expected(
            f"a tally of {kind.form}",
            statistic.form,
            "check which protocol made it",
            came=f"one of {statistic.form}",
        )
    return statistic


@dataclass(frozen=True, eq=False)
class Counts(Statistic):
    """One integer per value: support counts, or sums of noisy histograms."""

    form: ClassVar[str] = "counts"
    values: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        self.values.setflags(write=False)

    def __add__(self, other: Statistic) -> Self:
        return type(self)(checked_sum(self.values, of_form(other, Counts).values))

    def encode(self) -> bytes:
        """Return the little-endian 64-bit integers."""
        return self.values.astype("<i8").tobytes()

    @classmethod
    def decode(
        cls, data: memoryview, length: int, low: int, high: int, total: int | None = None
    ) -> Counts:
        """Read ``length`` integers, each from ``low`` to ``high``, that add up to ``total``."""
        if len(data) != 8 * length:
            raise _payload(f"{8 * length} bytes of counts", f"{len(data)}")
        values = np.frombuffer(data, dtype="<i8").astype(np.int64)
        least, most = int(values.min()), int(values.max())
        if least < low or most > high:
            raise _payload(f"counts from {low} to {high}", f"{least} to {most}")
        if total is not None and exact_sum(values) != total:
            raise _payload(f"counts that add up to {total}", f"{exact_sum(values)}")
        return cls(values)


class Table(Statistic):
    """How often each cell below ``size`` was hit: all counts, or the cells that were hit at all."""

    form: ClassVar[str] = "table"

    def __init__(
        self, size: int, cells: npt.NDArray[np.uint64], counts: npt.NDArray[np.int64]
    ) -> None:
        """Keep ascending cells with their positive counts."""
        self.size = size
        self._all: npt.NDArray[np.int64] | None = None
        self._hit = cells, counts

    @classmethod
    def from_dense(cls, table: npt.NDArray[np.int64]) -> Self:
        """Return the table of a dense array of counts."""
        table.setflags(write=False)
        result = cls(len(table), np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64))
        result._all = table
        return result

    @classmethod
    def from_hits(cls, size: int, cells: npt.NDArray[np.uint64]) -> Self:
        """Return the table of cells that were hit one by one."""
        unique, counts = np.unique(cells, return_counts=True)
        return cls(size, unique.astype(np.uint64), counts.astype(np.int64))

    @property
    def used(self) -> int:
        """How many cells were hit."""
        return len(self._hit[0]) if self._all is None else int(np.count_nonzero(self._all))

    def hits(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """Return the cells that were hit, ascending, and their counts."""
        if self._all is None:
            return self._hit
        cells = np.flatnonzero(self._all)
        return cells.astype(np.uint64), self._all[cells]

    def dense(self) -> npt.NDArray[np.int64]:
        """Return the counts of all cells, zeros included, as an array of the caller's own."""
        if self._all is not None:
            return self._all.copy()
        table = np.zeros(self.size, dtype=np.int64)
        self.add_to(table)
        return table

    def add_to(self, table: npt.NDArray[np.int64]) -> None:
        """Add the counts to those of a dense array."""
        if self._all is not None:
            table += self._all
        else:
            table[self._hit[0].astype(np.int64)] += self._hit[1]

    def __add__(self, other: Statistic) -> Self:
        theirs = of_form(other, Table)
        if self.size <= DENSE_LIMIT and 4 * (self.used + theirs.used) > self.size:
            table = self.dense()
            theirs.add_to(table)
            return self.from_dense(table)
        (mine, ours), (others, more) = self.hits(), theirs.hits()
        cells, where = np.unique(np.concatenate([mine, others]), return_inverse=True)
        counts = np.zeros(len(cells), dtype=np.int64)
        np.add.at(counts, where, np.concatenate([ours, more]))
        return type(self)(self.size, cells, counts)

    def _widths(self) -> tuple[int, int, bool]:
        """Return the bytes of a cell and of a count, and whether all counts are the shorter."""
        if self._all is None:
            cells, counts = self._hit
            last, most = int(cells.max(initial=0)), int(counts.max(initial=0))
        else:
            most = int(self._all.max(initial=0))
            last = self.size - 1 - int(np.argmax(self._all[::-1] != 0)) if most else 0
        cell, count = smallest_unsigned(last).itemsize, smallest_unsigned(most).itemsize
        return cell, count, self.size * count <= self.used * (cell + count)

    def encode(self) -> bytes:
        """Return the shorter of all counts and the (cell, count) pairs, in narrow integers.

        One byte for the form, one each for the widths of a cell and of a count, then the numbers.
        """
        cell, count, whole = self._widths()
        if whole:
            table = self.dense() if self._all is None else self._all
            return b"d" + bytes([0, count]) + table.astype(f"<u{count}").tobytes()
        cells, counts = self.hits()
        pairs = cells.astype(f"<u{cell}").tobytes() + counts.astype(f"<u{count}").tobytes()
        return b"s" + bytes([cell, count]) + pairs

    @classmethod
    def decode(cls, data: memoryview, size: int, n: int) -> Self:
        """Read a table of ``n`` hits, refusing any but the canonical form of it."""
        if len(data) < 3:
            raise _payload("a dense or sparse table", f"{len(data)} bytes")
        kind, cell, count = bytes(data[:1]), data[1], data[2]
        body = data[3:]
        if kind == b"d" and cell == 0 and count in _WIDTHS and len(body) == size * count:
            table = cls.from_dense(np.frombuffer(body, dtype=f"<u{count}").astype(np.int64))
            least = 0 if table._all is None else int(table._all.min(initial=0))
        elif kind == b"s" and {cell, count} <= _WIDTHS and len(body) % (cell + count) == 0:
            cut = len(body) // (cell + count) * cell
            cells = np.frombuffer(body[:cut], dtype=f"<u{cell}").astype(np.uint64)
            counts = np.frombuffer(body[cut:], dtype=f"<u{count}").astype(np.int64)
            if np.any(cells[1:] <= cells[:-1]) or (len(cells) and cells[-1] >= size):
                raise _payload(f"ascending cells below {size}", "others")
            least = int(counts.min(initial=1)) - 1
            table = cls(size, cells, counts)
        else:
            raise _payload("a dense or sparse table", f"{len(data)} bytes of neither")
        held = table._hit[1] if table._all is None else table._all
        if least < 0 or exact_sum(held) != n:
            raise _payload(f"positive counts that add up to {n}", "others")
        narrow_cell, narrow_count, whole = table._widths()
        if (kind == b"d", cell, count) != (whole, 0 if whole else narrow_cell, narrow_count):
            raise _payload("a table in canonical form", "another form")
        return table


@dataclass(frozen=True, eq=False)
class Collected(Statistic):
    """The reports themselves, sorted: the order of arrival is nobody's business."""

    form: ClassVar[str] = "reports"
    reports: npt.NDArray[np.void]

    def __post_init__(self) -> None:
        self.reports.setflags(write=False)

    @classmethod
    def from_reports(cls, reports: npt.NDArray[np.void]) -> Self:
        """Return the reports in canonical order."""
        names = reports.dtype.names or ()
        first = reports[names[0]]
        order = np.argsort(first, kind="stable")
        ordered = first[order]
        if np.any(ordered[1:] == ordered[:-1]):
            order = np.lexsort([reports[name] for name in reversed(names)])
        return cls(reports[order])

    def __add__(self, other: Statistic) -> Self:
        theirs = of_form(other, Collected).reports
        return self.from_reports(np.concatenate([self.reports, theirs]))

    def encode(self) -> bytes:
        """Return the reports' own bytes."""
        return self.reports.tobytes()

    @classmethod
    def decode(
        cls,
        data: memoryview,
        n: int,
        dtype: np.dtype[np.generic],
        validate: Callable[[npt.NDArray[np.generic]], None],
    ) -> Collected:
        """Read ``n`` reports that pass ``validate`` and stand in canonical order."""
        if len(data) != n * dtype.itemsize:
            raise _payload(f"{n * dtype.itemsize} bytes of reports", f"{len(data)}")
        reports = np.frombuffer(bytes(data), dtype=dtype)
        try:
            validate(reports)
        except InvalidReport as error:
            raise InvalidDocument(f"{error} (in the tally)", value=error.value) from error
        collected = cls.from_reports(reports)
        if collected.encode() != bytes(data):
            raise _payload(f"{n} reports in canonical order", "another order")
        return collected


def checked_sum(
    mine: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the sums of counts, refusing those that 64 bits do not hold."""
    total = mine + theirs
    # A sum wraps where both summands have the sign that it has not.
    if np.any((mine ^ total) & (theirs ^ total) < 0):
        raise IncompatibleTally(
            "expected counts whose sums fit in 64 bits, got larger ones; no reports add up to "
            "so many: check where the tallies come from",
            value=None,
        )
    return total


def _payload(expected: str, came: str) -> InvalidDocument:
    return InvalidDocument(
        f"expected {expected} in the tally, got {came}; the file was not written by deniable",
        value=came,
    )
