"""What a tally keeps of its reports: one of three statistics.

Counts     one integer per value                              (direct, histogram and unary encoding)
Table      how often each cell of a table was hit, dense or sparse   (linear local hashing)
Collected  the reports themselves, in an order that tells nothing   (local hashing, multiply-shift)

Each has one canonical form for the same content, so that equal tallies have equal bytes whatever
the order in which they were added. Integers that are read are held against the ``Footprint`` of a
report: what n reports cannot have left is refused.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from deniable.errors import IncompatibleTally, InvalidDocument, InvalidReport
from deniable.validation import Footprint, forged, smallest_unsigned

DENSE_LIMIT = 1 << 26
"""Tables with more cells than this (half a GiB) are only ever kept sparse."""

_WIDTHS = {1, 2, 4, 8}
_BLOCK = 1 << 16
"""How many cells of a dense table are looked at together."""
_LOWER = 0xFFFF_FFFF

Integers = np.typing.NDArray[np.int64]
Cells = np.typing.NDArray[np.uint64]
Reports = np.typing.NDArray[Any]


class Statistic(ABC):
    """What is left of reports: adds, and has one canonical form."""

    form: ClassVar[str]

    @abstractmethod
    def __add__(self, other: "Statistic") -> Self:
        """Return the statistic of both lots of reports."""

    @abstractmethod
    def encode(self) -> bytes:
        """Return the canonical bytes."""


Kind = TypeVar("Kind", bound=Statistic)


def of_form(statistic: Statistic, kind: type[Kind]) -> Kind:
    """Return the statistic as the kind that it has to be, or say that it is another."""
    if not isinstance(statistic, kind):
        raise IncompatibleTally(
            f"expected a tally of {kind.form}, got one of {statistic.form}; check which protocol "
            "made it",
            value=statistic.form,
        )
    return statistic


@dataclass(frozen=True, eq=False)
class Counts(Statistic):
    """One integer per value: support counts, or sums of noisy histograms."""

    form: ClassVar[str] = "counts"
    values: Integers

    def __post_init__(self) -> None:
        self.values.setflags(write=False)

    def __add__(self, other: Statistic) -> Self:
        return type(self)(checked_sum(self.values, of_form(other, Counts).values))

    def encode(self) -> bytes:
        return self.values.astype("<i8").tobytes()

    @classmethod
    def decode(cls, data: memoryview, n: int, footprint: Footprint) -> "Counts":
        """Read the integers of ``n`` reports, refusing those that they cannot have left."""
        if len(data) != 8 * footprint.length:
            raise forged(f"{8 * footprint.length} bytes of counts", f"{len(data)}")
        values = np.frombuffer(data, dtype="<i8").astype(np.int64)
        footprint.check(values, n)
        if footprint.numbered:
            rows = values.reshape(-1, footprint.row or 1)
            footprint.check_rows(iter([(rows[:, 0], rows.max(axis=1))]), n)
        return cls(values)


class Table(Statistic):
    """How often each cell below ``size`` was hit: all counts, or the cells that were hit at all."""

    form: ClassVar[str] = "table"

    def __init__(self, size: int, cells: Cells, counts: Integers) -> None:
        self.size = size
        self._all: Integers | None = None
        self._hit = cells, counts

    @classmethod
    def from_dense(cls, table: Integers) -> Self:
        table.setflags(write=False)
        result = cls(len(table), np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64))
        result._all = table
        return result

    @classmethod
    def from_hits(cls, size: int, cells: Cells) -> Self:
        unique, counts = np.unique(cells, return_counts=True)
        return cls(size, unique.astype(np.uint64), counts.astype(np.int64))

    @property
    def used(self) -> int:
        return len(self._hit[0]) if self._all is None else int(np.count_nonzero(self._all))

    def hits(self) -> tuple[Cells, Integers]:
        """Return the cells that were hit, ascending, and their counts."""
        if self._all is None:
            return self._hit
        cells = np.flatnonzero(self._all)
        return cells.astype(np.uint64), self._all[cells]

    def dense(self) -> Integers:
        """Return the counts of all cells, zeros included, as an array of the caller's own."""
        table = np.zeros(self.size, dtype=np.int64)
        self.add_to(table)
        return table

    def add_to(self, table: Integers) -> None:
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

    @property
    def last(self) -> int:
        if self._all is None:
            return int(self._hit[0].max(initial=0))
        back = int(np.argmax(self._all[::-1] != 0))
        return self.size - 1 - back if self._all[self.size - 1 - back] else 0

    def _widths(self) -> tuple[int, int, bool]:
        """Return the bytes of a cell and of a count, and whether all counts are the shorter."""
        most = int((self._hit[1] if self._all is None else self._all).max(initial=0))
        cell, count = smallest_unsigned(self.last).itemsize, smallest_unsigned(most).itemsize
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

    def rows(self, footprint: Footprint) -> Iterator[tuple[Integers, Integers]]:
        """Yield, for blocks of rows, the number of reports of each row and its largest count."""
        width = footprint.row or 1
        if self._all is not None:
            step = width * max(1, _BLOCK // width)
            for start in range(0, footprint.length, step):
                block = self._all[start : min(start + step, footprint.length)].reshape(-1, width)
                upper, lower = (block >> 32).sum(axis=1), (block & _LOWER).sum(axis=1)
                yield footprint.reports(upper, lower), block.max(axis=1)
        elif len(self._hit[0]):
            cells, counts = self._hit
            rows = cells // np.uint64(width)
            starts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
            upper, lower = (np.add.reduceat(h, starts) for h in (counts >> 32, counts & _LOWER))
            yield footprint.reports(upper, lower), np.maximum.reduceat(counts, starts)

    @classmethod
    def decode(
        cls, data: memoryview, n: int, footprint: Footprint, size: int | None = None
    ) -> Self:
        """Read the table of ``n`` reports in its one form, refusing what they cannot have left.

        The table has ``size`` cells, by default those that reports fall into.
        """
        size = footprint.length if size is None else size
        if len(data) < 3:
            raise forged("a dense or sparse table", f"{len(data)} bytes")
        kind, cell, count, body = bytes(data[:1]), data[1], data[2], data[3:]
        if kind == b"d" and cell == 0 and count in _WIDTHS and len(body) == size * count:
            table = cls.from_dense(np.frombuffer(body, dtype=f"<u{count}").astype(np.int64))
            least = 0 if table._all is None else int(table._all.min(initial=0))
        elif kind == b"s" and {cell, count} <= _WIDTHS and len(body) % (cell + count) == 0:
            cut = len(body) // (cell + count) * cell
            cells = np.frombuffer(body[:cut], dtype=f"<u{cell}").astype(np.uint64)
            counts = np.frombuffer(body[cut:], dtype=f"<u{count}").astype(np.int64)
            if np.any(cells[1:] <= cells[:-1]) or (len(cells) and cells[-1] >= size):
                raise forged(f"ascending cells below {size}", "others")
            least = int(counts.min(initial=1)) - 1
            table = cls(size, cells, counts)
        else:
            raise forged("a dense or sparse table", f"{len(data)} bytes of neither")
        if least < 0 or (size > footprint.length and table.last >= footprint.length):
            raise forged("positive counts in cells that reports fall into", "others")
        footprint.check(table._hit[1] if table._all is None else table._all, n)
        if footprint.row is not None:
            footprint.check_rows(table.rows(footprint), n)
        narrow_cell, narrow_count, whole = table._widths()
        if (kind == b"d", cell, count) != (whole, 0 if whole else narrow_cell, narrow_count):
            raise forged("a table in canonical form", "another form")
        return table


@dataclass(frozen=True, eq=False)
class Collected(Statistic):
    """The reports themselves, sorted, so that the order of arrival is lost."""

    form: ClassVar[str] = "reports"
    reports: Reports

    def __post_init__(self) -> None:
        self.reports.setflags(write=False)

    @classmethod
    def from_reports(cls, reports: Reports) -> Self:
        names = reports.dtype.names
        columns = [reports[name] for name in names] if names else list(reports.T)
        order = np.argsort(columns[0], kind="stable")
        ordered = columns[0][order]
        if np.any(ordered[1:] == ordered[:-1]):
            order = np.lexsort(columns[::-1])
        return cls(reports[order])

    def __add__(self, other: Statistic) -> Self:
        theirs = of_form(other, Collected).reports
        return self.from_reports(np.concatenate([self.reports, theirs]))

    def encode(self) -> bytes:
        return self.reports.tobytes()

    @classmethod
    def decode(
        cls,
        data: memoryview,
        n: int,
        dtype: np.dtype[np.generic],
        validate: Callable[[Reports], None],
    ) -> "Collected":
        """Read ``n`` reports that pass ``validate`` and stand in canonical order."""
        if len(data) != n * dtype.itemsize:
            raise forged(f"{n * dtype.itemsize} bytes of reports", f"{len(data)}")
        reports = np.frombuffer(bytes(data), dtype=dtype)
        try:
            validate(reports)
        except InvalidReport as error:
            raise InvalidDocument(f"{error} (in the tally)", value=error.value) from error
        collected = cls.from_reports(reports)
        if collected.encode() != bytes(data):
            raise forged(f"{n} reports in canonical order", "another order")
        return collected


def checked_sum(mine: Integers, theirs: Integers) -> Integers:
    """Return the sums of counts, refusing those that 64 bits do not hold."""
    total = mine + theirs
    # A sum wraps where both summands have the sign that it has not.
    if np.any((mine ^ total) & (theirs ^ total) < 0):
        raise IncompatibleTally(
            "the counts of these tallies exceed 64 bits, which no reports add up to: check "
            "where the tallies come from"
        )
    return total
