"""The law of shares that only some people, drawn by lot, have told of.

A row that one view tells by itself has supports that are binomial among the people who drew it:
its limits are Clopper and Pearson's. A row that several views tell together is a sum of many such
numbers, whose error is nearly normal. Both hold the error of the lot beside that of the noise, so
that they are about the population that the people were drawn from, and safe for the people alone.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from deniable.law.normal import Ends, Floats, Law, upper_normal
from deniable.law.pairs import Joint
from deniable.law.tables import Cells, Digits, Tables


@dataclass(frozen=True, eq=False)
class LotLaw(Law):
    """The law of each of some counts, by rows: of ``n`` people some told of each."""

    n: int
    std_errors: Floats
    """Not a number where nobody told of a row: its count may be anything."""
    null: float
    """The least standard error of a row that nobody holds."""
    trials: Floats
    """How many people told of the row, where one view tells it by itself, else 0."""
    successes: Floats
    p: Floats
    q: Floats

    @property
    def by_row(self) -> bool:
        return True

    @classmethod
    def over(cls, n: int, tables: "list[Cells | int]", null: float) -> Self:
        """Return the law of the cells of some tables, or of that many unknown cells."""
        columns = [_columns(cells) for cells in tables]
        errors, *rest = (np.concatenate(column) for column in zip(*columns, strict=True))
        return cls(n, n * errors, n * null, *rest)

    def interval(self, counts: Floats, tail: float) -> Ends:
        reach = upper_normal(tail) * self.std_errors
        lower, upper = counts - reach, counts + reach
        alone = np.flatnonzero(self.trials)
        if len(alone):
            from deniable.law.difference import chance_limits  # noqa: PLC0415 - slow to import

            low, high = chance_limits(self.successes[alone], self.trials[alone], tail)
            p, q = self.p[alone], self.q[alone]
            lower[alone] = np.minimum(self.n * (low - q) / (p - q), counts[alone])
            upper[alone] = np.maximum(self.n * (high - q) / (p - q), counts[alone])
        unknown = np.isnan(self.std_errors)
        lower[unknown], upper[unknown] = 0.0, self.n
        return lower, upper

    def threshold(self, tail: float) -> float:
        return upper_normal(tail) * self.null

    def population(self, counts: Floats, tail: float) -> Ends:
        """Return how far the share in the population may be: the lot is in these limits."""
        lower, upper = self.interval(counts, tail)
        return (counts - lower) / self.n, (upper - counts) / self.n

    def take(self, rows: np.typing.NDArray[np.int64]) -> "LotLaw":
        columns = (self.trials, self.successes, self.p, self.q)
        return LotLaw(
            self.n, self.std_errors[rows], self.null, *(column[rows] for column in columns)
        )


@dataclass(frozen=True, eq=False)
class TableJoint(Joint):
    """Some cells of one table, of which any sum has a variance by all views."""

    n: int
    tables: Tables
    target: Digits
    rows: np.typing.NDArray[np.int64] | None = None

    def variance(self, coefficients: Floats, counts: Floats) -> Floats:
        """Return variances by the shares that all views make plausible, and not by the counts."""
        del counts
        if self.rows is not None:
            every = np.zeros((len(coefficients), self.tables.size(self.target)))
            every[:, self.rows] = coefficients
            coefficients = every
        return self.n**2 * self.tables.figures(self.target, coefficients)[1]

    def take(self, rows: np.typing.NDArray[np.int64]) -> "TableJoint":
        return replace(self, rows=rows if self.rows is None else self.rows[rows])


def _columns(cells: "Cells | int") -> tuple[Floats, ...]:
    """Return errors of shares, trials, supports, p and q of the cells of a table."""
    if isinstance(cells, int):
        nothing = np.zeros(cells)
        return np.full(cells, np.nan), nothing, nothing, nothing, nothing
    view, size = cells.alone, len(cells.shares)
    errors = np.sqrt(cells.variances)
    if view is None:
        return errors, *(np.zeros(size) for _ in range(4))
    full = (np.full(size, float(x)) for x in (view.n, view.pairs.p, view.pairs.q))
    trials, p, q = full
    return errors, trials, view.supports.astype(np.float64), p, q
