"""Running sums of reports and tallies, one for each kind of statistic.

An accumulator adds reports, which have been checked before, and reads the statistic off the sum.
Tallies that were written are added one by one, or many of a kind at once: their integers are then
stacked, and held against the ``Footprint`` of a report all together. Whatever is not plainly sound
is read by itself, which says what is wrong with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from deniable.statistics import (
    DENSE_LIMIT,
    Cells,
    Collected,
    Counts,
    Integers,
    Reports,
    Statistic,
    Table,
    of_form,
)
from deniable.validation import Footprint, smallest_unsigned


class Sum(ABC):
    """The running sum of reports."""

    @abstractmethod
    def add(self, reports: Reports) -> None:
        """Add a batch of reports."""

    @abstractmethod
    def merge(self, statistic: Statistic) -> None:
        """Add what a tally of the same protocol holds."""

    def merge_encoded(self, data: Sequence[memoryview], counts: Sequence[int]) -> bool:
        """Add statistics of one length at once, if it can; ``counts`` are their numbers of reports.

        False, and nothing is added, unless every one of them is plainly sound.
        """
        return False

    @abstractmethod
    def statistic(self) -> Statistic:
        """Return the statistic of everything so far; the sum may go on."""


class CountsSum(Sum):
    """Adds up integers: ``add_counts`` adds those of a batch to all so far."""

    def __init__(
        self,
        length: int,
        add_counts: Callable[[Reports, Integers], None],
        footprint: Footprint | None = None,
    ) -> None:
        self._add_counts, self._footprint = add_counts, footprint
        self._total = np.zeros(length, dtype=np.int64)

    def add(self, reports: Reports) -> None:
        self._add_counts(reports, self._total)

    def merge(self, statistic: Statistic) -> None:
        self._total = (Counts(self._total) + statistic).values.copy()

    def merge_encoded(self, data: Sequence[memoryview], counts: Sequence[int]) -> bool:
        if self._footprint is None or len(data[0]) != 8 * self._footprint.length:
            return False
        stack = np.frombuffer(b"".join(data), dtype="<i8").reshape(len(data), -1)
        sound = self._footprint.holds(stack, counts)
        if sound:
            self.merge(Counts(stack.sum(axis=0, dtype=np.int64)))
        return sound

    def statistic(self) -> Counts:
        return Counts(self._total.copy())


class TableSum(Sum):
    """Counts the cells that ``place`` finds for each batch: sparse while few of them are hit."""

    def __init__(
        self,
        size: int,
        place: Callable[[Reports], Cells],
        footprint: Footprint | None = None,
    ) -> None:
        self.size, self._place, self._footprint = size, place, footprint
        self._dense: Integers | None = None
        self._parts = [Table.from_hits(size, np.empty(0, dtype=np.uint64))]

    def add(self, reports: Reports) -> None:
        self._take(Table.from_hits(self.size, self._place(reports)))

    def merge(self, statistic: Statistic) -> None:
        self._take(of_form(statistic, Table))

    def merge_encoded(self, data: Sequence[memoryview], counts: Sequence[int]) -> bool:
        """Add dense tables whose counts have one width, as tables with many hits do."""
        start, size = bytes(data[0][:3]), self.size
        width = start[-1]
        if (
            self._footprint is None
            or start not in (b"d\0\1", b"d\0\2", b"d\0\4")
            or len(data[0]) != 3 + size * width
            or any(each[:3] != start for each in data)
        ):
            return False
        stack = np.frombuffer(b"".join([each[3:] for each in data]), dtype=f"<u{width}")
        stack = stack.reshape(len(data), size)
        length, cell = self._footprint.length, smallest_unsigned(size - 1).itemsize
        used = np.count_nonzero(stack, axis=1)
        # The widest cell and count need their widths, and pairs of them would take no less.
        sound = (
            self._footprint.holds(stack[:, :length], counts)
            and not stack[:, length:].any()
            and bool(np.all(stack.max(axis=1) >= 256 ** (width // 2)))
            and bool(np.all(stack[:, 256 ** (cell // 2) :].any(axis=1)))
            and bool(np.all(size * width <= used * (cell + width)))
        )
        if sound:
            self._take(Table.from_dense(stack.sum(axis=0, dtype=np.int64)))
        return sound

    def add_dense(self, table: Integers) -> None:
        self._densely()[:] += table

    def statistic(self) -> Table:
        if self._dense is not None:
            return Table.from_dense(self._dense.copy())
        while len(self._parts) > 1:
            self._parts[-2:] = [self._parts[-2] + self._parts[-1]]
        return self._parts[0]

    def _take(self, table: Table) -> None:
        if self._dense is not None:
            table.add_to(self._dense)
            return
        self._parts.append(table)
        # Only tables of like size are merged, so that a hit is merged about log n times; each is
        # less than half of the one before, so that all are less than twice the first.
        while len(self._parts) > 1 and self._parts[-2].used <= 2 * self._parts[-1].used:
            self._parts[-2:] = [self._parts[-2] + self._parts[-1]]
        if self.size <= DENSE_LIMIT and 4 * self._parts[0].used > self.size:
            self._densely()

    def _densely(self) -> Integers:
        """Return the counts of all cells, which from now on are kept."""
        if self._dense is None:
            self._dense = np.zeros(self.size, dtype=np.int64)
            while self._parts:
                self._parts.pop().add_to(self._dense)
        return self._dense


class CollectedSum(Sum):
    """Keeps the reports: which candidates to count is decided afterwards."""

    def __init__(self, dtype: np.dtype[np.generic]) -> None:
        self._parts = [np.empty(0, dtype=dtype)]

    def add(self, reports: Reports) -> None:
        self._parts.append(reports.copy())

    def merge(self, statistic: Statistic) -> None:
        self._parts.append(of_form(statistic, Collected).reports)

    def statistic(self) -> Collected:
        collected = Collected.from_reports(np.concatenate(self._parts))
        self._parts = [collected.reports]
        return collected
