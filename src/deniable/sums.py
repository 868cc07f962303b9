"""Statistics that grow: what an accumulator adds reports to, and reads a statistic off."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.mechanism import Reports
from deniable.statistic import DENSE_LIMIT, Collected, Counts, Statistic, Table, of_form


class Sum(ABC):
    """The running sum of a protocol's reports; they have been checked before."""

    @abstractmethod
    def add(self, reports: Reports) -> None:
        """Add a batch of reports."""

    @abstractmethod
    def merge(self, statistic: Statistic) -> None:
        """Add what a tally of the same protocol holds."""

    @abstractmethod
    def statistic(self) -> Statistic:
        """Return the statistic of everything so far; the sum may go on."""


class CountsSum(Sum):
    """Adds up integers: ``add_counts`` adds those of a batch to all so far."""

    def __init__(
        self, length: int, add_counts: Callable[[Reports, npt.NDArray[np.int64]], None]
    ) -> None:
        self._add_counts = add_counts
        self._total = np.zeros(length, dtype=np.int64)

    def add(self, reports: Reports) -> None:
        """Add the counts of a batch."""
        self._add_counts(reports, self._total)

    def merge(self, statistic: Statistic) -> None:
        """Add the counts of a tally."""
        self._total = (Counts(self._total) + statistic).values.copy()

    def statistic(self) -> Counts:
        """Return the counts so far."""
        return Counts(self._total.copy())


class TableSum(Sum):
    """Counts the cells that ``place`` finds for each batch: sparse while few of them are hit."""

    def __init__(self, size: int, place: Callable[[Reports], npt.NDArray[np.uint64]]) -> None:
        self.size = size
        self._place = place
        self._dense: npt.NDArray[np.int64] | None = None
        self._parts = [Table.from_hits(size, np.empty(0, dtype=np.uint64))]

    def add(self, reports: Reports) -> None:
        """Count the cells of a batch."""
        self._take(Table.from_hits(self.size, self._place(reports)))

    def merge(self, statistic: Statistic) -> None:
        """Add the table of a tally."""
        self._take(of_form(statistic, Table))

    def add_dense(self, table: npt.NDArray[np.int64]) -> None:
        """Add the counts of all cells."""
        self._densely()[:] += table

    def statistic(self) -> Table:
        """Return the table so far."""
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

    def _densely(self) -> npt.NDArray[np.int64]:
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
        """Keep a batch."""
        self._parts.append(reports.copy())

    def merge(self, statistic: Statistic) -> None:
        """Keep the reports of a tally."""
        self._parts.append(of_form(statistic, Collected).reports)

    def statistic(self) -> Collected:
        """Return the reports so far, in an order that tells nothing."""
        collected = Collected.from_reports(np.concatenate(self._parts))
        self._parts = [collected.reports]
        return collected
