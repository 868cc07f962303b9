"""The laws of samples: people drawn by lot, and answers that are shown because of their support.

Of n people a lot makes a sample of N. Of these C support an answer with the share f, and C is
Bin(N, q* + f (p* - q*)): it holds the error of the lot too. An answer that is shown only because C
reached a limit c, which was fixed before, has the law of C given C >= c. Its interval holds the f
for which C is in neither tail of that law, so that it covers f as often as it says among the
answers that are shown. A plain interval does not: those come out high.

A row that one view tells by itself has supports that are binomial among the people who drew it:
its limits are Clopper and Pearson's. A row that several views tell together is a sum of many such
numbers, whose error is nearly normal. Both hold the error of the lot beside that of the noise, so
that they are about the population that the people were drawn from, and safe for the people alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from deniable.law.binomial_sum import Chance, tail_of
from deniable.law.counts import SupportLaw
from deniable.law.normal import Ends, Floats, Law, upper_normal
from deniable.law.pairs import Joint
from deniable.law.tables import Cells, Digits, Tables

_STEPS = 60


@dataclass(frozen=True)
class SampleLaw(Law):
    """The law of the count of an answer among ``n`` people, of whom ``people`` were asked.

    >>> law = SampleLaw(8000, 3000, Fraction(1, 2), Fraction(1, 9))
    >>> [round(end) for end in law.shown(500, 400, 0.025)]
    [872, 1427]
    >>> round(float(law.counts(np.array([500]))[0]))
    1143
    """

    n: int
    people: int
    p: Fraction
    q: Fraction

    @cached_property
    def asked(self) -> SupportLaw:
        """The law of the supports among those who were asked."""
        return SupportLaw(self.people, self.p, self.q)

    def counts(self, supports: np.typing.NDArray[np.integer] | Floats) -> Floats:
        """Return the unbiased counts among all people."""
        moved = supports - self.asked.mean
        return np.asarray(moved / self.asked.gap * (self.n / self.people), dtype=np.float64)

    def variance(self, shares: Floats) -> Floats:
        chance = float(self.q) + shares * self.asked.gap
        return np.asarray(self.n**2 / self.people * chance * (1 - chance) / self.asked.gap**2)

    def tail(self, support: int) -> float:
        """Return the chance that an answer nobody gave has ``support`` supports or more."""
        chance = self.asked.by_chance
        return tail_of(self.people, 0, support, chance, chance)

    def least(self, tail: float) -> int:
        """Return the least support that an answer nobody gave reaches with at most ``tail``."""
        return self.asked.limit(tail) + 1

    def threshold(self, tail: float) -> float:
        return float(self.counts(np.array([self.least(tail) - 0.5]))[0])

    def interval(self, counts: Floats, tail: float) -> Ends:
        moved = counts * (self.asked.gap * self.people / self.n) + self.asked.mean
        supports, where = np.unique(np.rint(moved).astype(np.int64), return_inverse=True)
        ends = np.array([self._ends(int(s), tail) for s in supports]).reshape(-1, 2)
        lower, upper = (self.counts(self.people * column) for column in ends.T)
        return np.minimum(lower[where], counts), np.maximum(upper[where], counts)

    def shown(self, support: int, least: int, tail: float) -> tuple[float, float]:
        """Return the interval of a count that is shown because its support reached ``least``."""
        first, last = self._ends(support, tail, least)
        p, q = float(self.p), float(self.q)
        return self.n * (first - q) / (p - q), self.n * (last - q) / (p - q)

    def _ends(self, support: int, tail: float, least: int = 0) -> tuple[float, float]:
        """Return the least and largest chances of a support that leave it in neither tail.

        With a limit they are those of shares from 0 to 1; else all from 0 to 1.
        """
        low, high = (float(self.q), float(self.p)) if least else (0.0, 1.0)

        def reached(support: int) -> Callable[[float], float]:
            def chance(yes: float) -> float:
                own = Chance(yes, 1 - yes)
                shown = tail_of(self.people, 0, least, own, own)
                return tail_of(self.people, 0, support, own, own) / max(shown, 1e-300)

            return chance

        first, _ = _solve(reached(support), tail, low, high)
        _, last = _solve(reached(support + 1), 1 - tail, low, high)
        return first, last


def _solve(
    rising: Callable[[float], float], target: float, low: float, high: float
) -> tuple[float, float]:
    """Return what is just below and above where a function that rises meets a target.

    Where it does not, one of them is ``low`` or ``high`` itself.
    """
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < target else (low, middle)
        if high - low <= 1e-9 * high:
            break
    return low, high


def chi_square_tail(square: float, freedom: int) -> float:
    """Return the chance that chi-square with these degrees of freedom exceeds a number.

    >>> round(chi_square_tail(14.07, 7), 3), round(chi_square_tail(3.841, 1), 3)
    (0.05, 0.05)
    """
    half = square / 2
    shape = 0.5 if freedom % 2 else 1.0
    total = math.erfc(math.sqrt(half)) if freedom % 2 else math.exp(-half)
    while shape < freedom / 2:
        total += math.exp(shape * math.log(max(half, 1e-300)) - half - math.lgamma(shape + 1))
        shape += 1
    return min(total, 1.0)


@dataclass(frozen=True, eq=False)
class LotLaw(Law):
    """The law of each of some counts, by rows: of ``n`` people some told of each."""

    n: int
    std_errors: Floats
    """Not a number where nobody told of a row: its count may be anything."""
    slopes: Floats
    """By how much more the variance of a count grows than the count."""
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
        """Return the law of the cells of tables; a number stands for as many unknown cells."""
        columns = [_columns(cells) for cells in tables]
        errors, slopes, *rest = (np.concatenate(column) for column in zip(*columns, strict=True))
        return cls(n, n * errors, n * slopes, n * null, *rest)

    def interval(self, counts: Floats, tail: float) -> Ends:
        # The score interval, but nowhere narrower than by the standard error alone.
        z = upper_normal(tail)
        shift = z * z / 2 * self.slopes
        reach = np.hypot(z * self.std_errors, shift)
        lower, upper = counts - reach, counts + reach + np.maximum(shift, 0)
        lower -= np.maximum(-shift, 0)
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
        rest = (column[rows] for column in columns)
        return LotLaw(self.n, self.std_errors[rows], self.slopes[rows], self.null, *rest)


@dataclass(frozen=True, eq=False)
class TableJoint(Joint):
    """Some cells of one table; all views together give the variance of any sum of them."""

    n: int
    tables: Tables
    target: Digits
    rows: np.typing.NDArray[np.int64] | None = None

    def variance(self, coefficients: Floats, counts: Floats) -> Floats:
        """Return variances by the shares that all views make plausible, and not by the counts."""
        del counts
        return self.n**2 * self.tables.figures(self.target, self._every(coefficients))[1]

    def law(self, coefficients: Floats, errors: Floats, null: float) -> LotLaw:
        slopes = self.n * self.tables.slopes(self.target, self._every(coefficients))
        return LotLaw(self.n, errors, slopes, null, *np.zeros((4, len(errors))))

    def _every(self, coefficients: Floats) -> Floats:
        if self.rows is None:
            return coefficients
        every = np.zeros((len(coefficients), self.tables.size(self.target)))
        every[:, self.rows] = coefficients
        return every

    def take(self, rows: np.typing.NDArray[np.int64]) -> "TableJoint":
        return replace(self, rows=rows if self.rows is None else self.rows[rows])


def _columns(cells: "Cells | int") -> tuple[Floats, ...]:
    """Return errors of shares, slopes, trials, supports, p and q of the cells of a table."""
    if isinstance(cells, int):
        return np.full(cells, np.nan), *np.zeros((5, cells))
    view, size = cells.alone, len(cells.shares)
    errors = np.sqrt(cells.variances), cells.slopes
    if view is None:
        return *errors, *np.zeros((4, size))
    full = (np.full(size, float(x)) for x in (view.n, view.pairs.p, view.pairs.q))
    trials, p, q = full
    return *errors, trials, view.supports.astype(np.float64), p, q
