"""The linear hash family over GF(g), and the tally that all reports of linear functions share.

A value v and a hash function u are vectors of t base-g digits, least significant first, with
g^t >= d, and H(v) = <u, v> in GF(g). For different v and v' the difference is not zero, so a
uniform u maps it to zero with probability exactly 1/g: that is the collision probability.

A report is the single integer u g + y. Random bytes: two words. The first, redrawn at or above
g^t floor(2^64 / g^t), gives u = r0 // floor(2^64 / g^t), exactly uniform; the second gives the
offset k of direct encoding over g values, and y = (H(v) + k) mod g.

Such a report is a line, <u, x> = y. One of affine selection, (u, s), supports x where <u, x> is one
of the m elements j - s: it is m parallel lines. The tally counts lines up to common multiples of u
and y, which are the same line: about g^t cells instead of g^(t+1). One transform over them, digit
by digit, gives the support of every value with (t - 1) g^(t+1) additions instead of n d hash
evaluations (``deniable.kernels.linear``).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from deniable.kernels import fields, linear, windows
from deniable.kernels.bits import count_values
from deniable.kernels.decode_cost import line_time, window_time
from deniable.mechanism import Reports
from deniable.protocols.ranges import digits
from deniable.randomness import Direct, Integers, Uniform, Words
from deniable.statistics import DENSE_LIMIT, Statistic, Table, TableSum, of_form
from deniable.validation import Footprint, check_below, smallest_unsigned

_SMALL_BATCH = 1 << 14
_MOST_COUNTED = 1 << 23
_EXPANDED = 1 << 22
"""How many lines are folded at once."""


@dataclass(frozen=True)
class Lines:
    """The lines of GF(g)^t that reports over the values 0..domain_size-1 stand for.

    A report is one line or, with a ``window`` of m elements, m parallel lines.
    """

    g: int
    domain_size: int
    digits: int
    window: int | None = None

    @cached_property
    def field(self) -> fields.Field:
        return fields.field(self.g)

    @property
    def functions(self) -> int:
        """How many functions u there are; those of windows are never zero."""
        return int(self.g**self.digits) - (self.window is not None)

    @property
    def reports(self) -> int:
        return self.functions * self.g

    @cached_property
    def cells(self) -> int:
        """How many different lines there are, for the purposes of a tally."""
        return linear.folded_size(self.g, self.digits)

    @property
    def decoding_bytes(self) -> int:
        """How many bytes the folded table takes, where there may be one."""
        return linear.folding_bytes(self.field, self.digits)

    def decoding_time(self, n: int) -> float:
        g, t, m = (np.array(float(x)) for x in (self.g, self.digits, self.window or 1))
        time = line_time if self.window is None else window_time
        return float(time(g, t, m, self.domain_size, n))

    def validate(self, reports: Reports) -> None:
        check_below("report codes", int(reports.max(initial=0)), self.reports)

    def fold(self, codes: Integers) -> Integers:
        """Return the cell of each line: that of the one multiple which all are folded onto.

        For c != 0 the lines (u, y) and (c u, c y) are the same, so that a tally needs to know only
        the multiple whose lowest digit other than 0 is 1. Cells are numbered by the place of that
        digit, then by the digits above it and y; the last two are for u = 0.
        """
        return linear.fold_each(codes, self.field, self.digits)

    def new_sum(self) -> "LinesSum":
        return LinesSum(self)

    def read_statistic(self, data: memoryview, n: int) -> Table:
        """Read the table of n reports.

        Those with windows are m lines each, all parallel and no two the same: the g cells that
        follow each other from a multiple of g on are all lines parallel to each other. The last two
        cells are for the function zero, which is none of theirs.
        """
        if self.window is None:
            return Table.decode(data, n, Footprint(self.cells, total=(1, 1)))
        m = self.window
        # With m = 1 there are as many lines as reports, which the total already says.
        footprint = Footprint(self.cells - 2, total=(m, m), row=self.g if m > 1 else None)
        return Table.decode(data, n, footprint, self.cells)

    def support(self, statistic: Statistic) -> np.typing.NDArray[np.int64]:
        table, f, t, d = of_form(statistic, Table), self.field, self.digits, self.domain_size
        if linear.shears(f, t, d, table.used):
            return linear.decode_folded(table.dense(), f, t, d)
        cells, counts = table.hits()
        return linear.solve_cells(cells, counts, f, t, d)


class LinesSum(TableSum):
    """Counts the cells of lines, in the way that is fastest for the size of a batch."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(lines.cells, lines.fold)
        self._lines = lines
        self._raw = np.zeros(0, dtype=np.int64)
        self._counted = 0

    def add(self, reports: Reports) -> None:
        """Count a batch by report, by cell, or one by one where it is small for the table."""
        lines, n = self._lines, len(reports)
        counted = min(_MOST_COUNTED, 64 * n) if lines.g <= fields.LARGEST_TABLE else 0
        if n > _SMALL_BATCH and lines.reports <= counted:
            counts = count_values(reports, lines.reports)[0]
            self._raw = counts + self._raw if len(self._raw) else counts
            self._counted += n
            return
        most = max(1, _EXPANDED // (lines.window or 1))
        for start in range(0, n, most):
            codes = reports[start : start + most].astype(np.uint64)
            if lines.window is not None:
                codes = windows.expand(codes, lines.field, lines.window)
            self._add_lines(codes)

    def _add_lines(self, codes: Integers) -> None:
        if len(codes) > _SMALL_BATCH and self.size <= min(DENSE_LIMIT, 16 * len(codes)):
            ones = np.ones(len(codes), dtype=np.int64)
            self.add_dense(linear.fold_codes(codes, ones, self._lines.field, self._lines.digits))
        else:
            super().add(codes)

    def statistic(self) -> Table:
        if len(self._raw):
            lines, table = self._lines, self._raw
            if lines.window is not None:
                table = windows.spread(table, lines.field, lines.window)
            self.add_dense(linear.fold_table(table, lines.field, lines.digits, self._counted))
            self._raw, self._counted = np.zeros(0, dtype=np.int64), 0
        return super().statistic()


class LinearFamily(Lines):
    """H(v) = <u, v> over GF(g), for values 0..domain_size-1."""

    def __init__(self, g: int, domain_size: int) -> None:
        super().__init__(g, domain_size, digits(g, domain_size))

    @cached_property
    def _function(self) -> Uniform:
        return Uniform(self.functions)

    @property
    def collision(self) -> Fraction:
        """The probability that two different values hash alike."""
        return Fraction(1, self.g)

    @cached_property
    def report_dtype(self) -> np.dtype[np.generic]:
        return smallest_unsigned(self.reports - 1)

    @cached_property
    def words(self) -> Words:
        return Words(2, self._function.limits)

    def details(self) -> dict[str, object]:
        field = self.field.document()
        return {"family": "linear", "g": self.g, "digits": self.digits, "field": field}

    def perturb(self, values: Integers, words: Integers, direct: Direct) -> Reports:
        u = self._function.of(words[:, 0])
        y = direct.perturb(self.field.dot(u, values, self.digits), words[:, 1])
        return (u * np.uint64(self.g) + y).astype(self.report_dtype)

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        codes, g = reports.astype(np.uint64), np.uint64(self.g)
        every = np.array([value], dtype=np.uint64)
        return np.asarray(self.field.dot(codes // g, every, self.digits) == codes % g)
