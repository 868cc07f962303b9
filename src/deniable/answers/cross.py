"""A cross table: of each cell the share of all people, and that within its row.

The share within a row is N / D, a ratio of two estimates. Fieller's interval has every r for which
N - r D is as near to 0 as its own error allows: (N - r D)^2 <= z^2 (V_N - 2 r C + r^2 V_D). It
covers also where D is small. Where D cannot be told from none there is no such share, and its
interval is all from 0 to 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from deniable.estimates import Estimates
from deniable.law.normal import Floats, upper_normal
from deniable.law.samples import TableJoint
from deniable.presentation.tables import Columns
from deniable.presentation.view import NOT_KNOWN, Answer, View, percent
from deniable.rows import SEPARATOR, Grid
from deniable.validation import check_probability

_MOST_CELLS = 1 << 24
"""The most pairs of a shown cell and a cell of the table that are worked out."""


class Within(NamedTuple):
    """Shares of people within rows, with their intervals; not a number where there is none."""

    shares: Floats
    lower: Floats
    upper: Floats

    def __str__(self) -> str:
        """Return a line for each cell, in the order of the table's own rows."""
        return "\n".join(map(_written, *(column.tolist() for column in self)))

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False)
class _Cell(Answer):
    """A cell with its share within its row, as people read it."""

    within: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        return (*super().cells, self.within)


@dataclass(frozen=True, eq=False, repr=False)
class CrossEstimates(Estimates):
    """The cells of a table over some attributes; that at the place ``row`` makes the rows.

    ``axes`` has the labels of each attribute, which may hold the separator themselves.
    """

    row: int = 0
    row_name: str = ""
    axes: tuple[tuple[str, ...], ...] = ()

    def _split(self, separator: str) -> Sequence[Sequence[str]]:
        if separator != SEPARATOR or not isinstance(self.joint, TableJoint):
            return super()._split(separator)
        cells = list(product(*self.axes))
        return cells if self.joint.rows is None else [cells[place] for place in self.joint.rows]

    def within(self, level: float = 0.95) -> Within | None:
        """Return the share of each cell among the people of its row, or None for huge tables."""
        check_probability("level", level, "0.95 is usual")
        joint = self.joint
        if not isinstance(joint, TableJoint):
            return None
        if not len(self):  # the head of a page, which has no rows
            return Within(*np.zeros((3, 0)))
        tables, target, z = joint.tables, joint.target, upper_normal((1 - level) / 2)
        size = tables.size(target)
        if size * len(self) > _MOST_CELLS:
            return None
        radices = [tables.radices[digit] for digit in target]
        rows = np.unravel_index(np.arange(size), radices)[self.row]
        places = np.arange(size) if joint.rows is None else joint.rows
        cell = (places[:, None] == np.arange(size)).astype(np.float64)
        whole = (rows[places][:, None] == rows).astype(np.float64)
        found, spread = tables.figures(target, np.concatenate([cell, whole, cell + whole]))
        (n, d, _), (v_n, v_d, v_both) = found.reshape(3, -1), spread.reshape(3, -1)
        return _fieller(n, d, (z * z * v_n, z * z * (v_both - v_n - v_d) / 2, z * z * v_d))

    def overview(self) -> str:
        if len(self.axes) != 2 or len(self) < self.total or self.adjusted is not None:
            return ""
        grid = self.grid()
        if self.row:
            flipped = (each.T for each in (grid.shares, grid.lower, grid.upper))
            grid = Grid(grid.columns, grid.rows, *flipped)
        return f"share of all people, a row for each {self.row_name}\n{grid}"

    def columns(self, *, level: float = 0.95, alpha: float = 0.05) -> Columns:
        found = self.within(level) or (None, None, None)
        names = ("row_share", "row_lower", "row_upper")
        return {**super().columns(level=level, alpha=alpha), **dict(zip(names, found, strict=True))}

    def view(
        self, *, level: float = 0.95, alpha: float = 0.05, truth: np.typing.ArrayLike | None = None
    ) -> View:
        found, shown = self.within(level), super().view(level=level, alpha=alpha, truth=truth)
        if found is None:
            return shown
        rows = tuple(
            _Cell(**vars(row), within=_written(*each))
            for row, *each in zip(shown.rows, *(column.tolist() for column in found), strict=True)
        )
        heading = f"of its {self.row_name} ({percent(level)} interval)"
        return replace(shown, rows=rows, headings=(*shown.headings, heading))


def _fieller(n: Floats, d: Floats, errors: tuple[Floats, Floats, Floats]) -> Within:
    """Return the ratios n / d with the ends of all that the errors leave possible."""
    v_n, both, v_d = errors
    a, b, c = d * d - v_d, n * d - both, n * n - v_n
    known = (a > 0) & (d > 0)
    a = np.where(known, a, 1.0)
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    share = np.where(known, n / np.where(known, d, 1.0), np.nan)
    lower, upper = np.where(known, (b - root) / a, 0.0), np.where(known, (b + root) / a, 1.0)
    return Within(*(np.clip(each, 0.0, 1.0) for each in (share, lower, upper)))


def _written(share: float, lower: float, upper: float) -> str:
    if np.isnan(share):
        return NOT_KNOWN
    return f"{100 * share:.1f} % ({100 * lower:.1f} to {100 * upper:.1f})"
