"""What a tally of affine selection with several digits counts: lines, folded into cells.

A report (u, s) supports x where <u, x> is one of the m elements j - s: it is m lines <u, x> = y,
each of which is a report of linear hashing. They are folded as those are, onto one multiple of
(u, y), and the same transform decodes them (``deniable.protocols.hashing.linear``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.kernels import fields, linear, windows
from deniable.kernels.bits import count_values
from deniable.kernels.costs import choose, folded_size, folding_bytes
from deniable.statistics import DENSE_LIMIT, Statistic, Table, TableSum, of_form
from deniable.validation import Footprint

if TYPE_CHECKING:
    from deniable.mechanism import Reports
    from deniable.protocols.affine.settings import Settings

_SMALL_BATCH = 1 << 14
_RAW_LIMIT = 1 << 23
_EXPANDED = 1 << 22
"""How many lines are folded at once."""


@dataclass(frozen=True)
class Lines:
    """The lines of reports with given settings, over the values 0..domain_size-1."""

    settings: Settings
    domain_size: int

    @cached_property
    def field(self) -> fields.Field:
        """The field with g elements."""
        return fields.field(self.settings.g)

    @property
    def cells(self) -> int:
        """How many lines there are up to multiples, as linear hashing numbers them."""
        return folded_size(self.settings.g, self.settings.digits)

    @property
    def decoding_bytes(self) -> int:
        """How many bytes the folded table takes, at most: larger ones are solved without it."""
        return folding_bytes(self.field, self.settings.digits)

    def fold(self, codes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Return the cell of each line u g + y."""
        return linear.fold_each(codes, self.field, self.settings.digits)

    def read(self, data: memoryview, n: int) -> Table:
        """Read the table of n reports: m lines of each, all parallel and no two the same.

        The g cells that follow each other from a multiple of g on are all lines parallel to each
        other. The last two cells are for the function zero, which is no report's.
        """
        g, _, m = self.settings
        # A single line is always as many lines as reports, row by row.
        footprint = Footprint(self.cells - 2, total=(m, m), row=g if m > 1 else None)
        return Table.decode(data, n, footprint, self.cells)

    def support(self, statistic: Statistic) -> npt.NDArray[np.int64]:
        """Count for every value the lines that it is on."""
        table, t, d = of_form(statistic, Table), self.settings.digits, self.domain_size
        if choose(self.field, t, d, table.used) == "fold":
            return linear.decode_folded(table.dense(), self.field, t, d)
        cells, counts = table.hits()
        return linear.decode_cells(cells, counts, self.field, t, d)


class LinesSum(TableSum):
    """Counts the cells of lines, in the way that costs least for so many reports at a time."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(lines.cells, lines.fold)
        self._lines = lines
        self._raw = np.zeros(0, dtype=np.int64)

    def add(self, reports: Reports) -> None:
        """Count a batch by code, or the lines of its reports by cell."""
        size, n = self._lines.settings.size, len(reports)
        if n > _SMALL_BATCH and size <= min(_RAW_LIMIT, 64 * n):
            counts = count_values(reports, size)[0]
            self._raw = counts + self._raw if len(self._raw) else counts
            return
        most = max(1, _EXPANDED // self._lines.settings.window)
        for start in range(0, n, most):
            self._add_lines(reports[start : start + most].astype(np.uint64))

    def _add_lines(self, codes: npt.NDArray[np.uint64]) -> None:
        f, (_, t, m) = self._lines.field, self._lines.settings
        lines = windows.expand(codes, f, m)
        if len(lines) > _SMALL_BATCH and self.size <= min(DENSE_LIMIT, 16 * len(lines)):
            self.add_dense(linear.fold_codes(lines, np.ones(len(lines), dtype=np.int64), f, t))
        else:
            super().add(lines)

    def statistic(self) -> Table:
        """Return the table so far."""
        if len(self._raw):
            f, (_, t, m) = self._lines.field, self._lines.settings
            self.add_dense(linear.fold_table(windows.spread(self._raw, f, m), f, t))
            self._raw = np.zeros(0, dtype=np.int64)
        return super().statistic()
