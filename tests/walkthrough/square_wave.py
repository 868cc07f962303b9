"""Square wave (SW): a number moves to a cell near its own more often than to any other.

Encode   v -> the cell v + b of d + 2b cells in a row
Perturb  each of the 2b + 1 cells v..v + 2b with probability p, each of the d - 1 others with q,
         where p = e^eps q
Privacy  the worst ratio is p / q = e^eps

After Li, Wang, Skoruppa, Naor and Li, "Estimating Numerical Distributions under Local Differential
Privacy" (SIGMOD 2020), whose b is taken. Cells near each other are likely together, so that no p*
and q* hold for all pairs of values: the counts are those under which the reports are most likely,
found by expectation maximisation. They are biased, and their error has no closed form.

Random bytes: one word, rejected at or above L = (2b + 1) inside + (d - 1) outside. It is the place
of the report among the near cells, and after them among the others, both in ascending order.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.candidates import Chosen
from deniable.estimates import Estimates
from deniable.mechanism import Reports
from deniable.protocol import Closed
from deniable.randomness import WORD, Places, Words
from deniable.statistics import Counts, of_form
from deniable.tally import Counted, Tally
from deniable.validation import Footprint, check_below, smallest_unsigned

_MOST_STEPS, _ENOUGH = 10_000, 1e-9
"""When the iteration ends: after so many steps, or when no share moves by more than this."""


@dataclass(frozen=True)
class SquareWave(Closed, Counted):
    """The square wave over the numbers 0..d-1, for the shape of their distribution."""

    epsilon: float
    domain_size: int

    @cached_property
    def reach(self) -> int:
        """b, how many cells to either side of the true one are near."""
        eps = min(max(self.epsilon, 0.001), 300.0)  # beyond, b stays what it is there
        e = math.exp(eps)
        best = (eps * e - e + 1) / (2 * e * (e - 1 - eps))
        return max(1, math.floor(best * self.domain_size))

    @cached_property
    def _places(self) -> Places:
        near = 2 * self.reach + 1
        return Places.at(self.epsilon, self.domain_size - 1 + near, near)

    @property
    def worst_ratio(self) -> Fraction:
        return self._places.worst_ratio

    @cached_property
    def report_dtype(self) -> np.dtype[np.generic]:
        return smallest_unsigned(self._places.size - 1)

    @cached_property
    def words(self) -> Words:
        limit = self._places.limit
        return Words(1, {0: limit} if limit < WORD else {})

    def _details(self) -> dict[str, object]:
        return {"reach": self.reach} | self._places.document()

    def _perturb(self, values: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> Reports:
        place, near = self._places.draw(words[:, 0]), np.uint64(self._places.kept)
        other = place - near  # of those that are not near; computed for all, and used for some
        cells = np.where(place < near, values + place, other + near * (other >= values))
        return cells.astype(self.report_dtype)

    def _validate(self, reports: Reports) -> None:
        check_below("cells", int(reports.max(initial=0)), self._places.size)

    @property
    def _footprint(self) -> Footprint:
        """A report is one cell."""
        return Footprint(self._places.size, total=(1, 1))

    def _count(self, reports: Reports) -> npt.NDArray[np.int64]:
        return np.bincount(reports, minlength=self._places.size)

    def _estimate(self, tally: Tally, chosen: Chosen) -> Estimates:
        """Return the counts under which the reports are most likely, by iteration."""
        del chosen  # all are estimated together
        seen, d = of_form(tally.statistic, Counts).values / tally.n, self.domain_size
        shares = np.full(d, 1 / d)
        for _ in range(_MOST_STEPS):
            before, ratio = shares, seen / self._spread(shares)
            shares = shares * self._gather(ratio)
            if np.abs(shares - before).max() <= _ENOUGH:
                break
        counts = tally.n * shares / shares.sum()
        return Estimates(counts, None, tally.n, None, estimator="expectation maximisation")

    def _spread(self, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the chance of each cell, when numbers have these shares."""
        edge = np.zeros(2 * self.reach)
        return self._mixed(np.concatenate([edge, shares, edge]), shares.sum())

    def _gather(self, ratio: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return for each number the mean of what its cells have."""
        return self._mixed(ratio, ratio.sum())

    def _mixed(self, row: npt.NDArray[np.float64], total: float) -> npt.NDArray[np.float64]:
        """Return the sums over windows of near cells with weight p, and over all others with q."""
        sums = np.concatenate([[0.0], np.cumsum(row)])
        near = sums[self._places.kept :] - sums[: -self._places.kept]
        p, q = self._places.inside, self._places.outside
        return np.asarray((near * (p - q) + total * q) / self._places.limit)
