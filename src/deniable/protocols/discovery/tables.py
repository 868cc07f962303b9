"""What a tally of discovery holds: how many reports each piece has, and the supports of its cells.

An honest report falls into any one line of its piece with probability of at most
(g - 1) w1 / (L (g^t - 1)), whatever the text is. Lines with more reports than that explains, at one
in a million a piece, hold copies that honest people do not make; they are cut to what it explains,
and the others are left out of the number of reports too.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.kernels.linear import count_keys
from deniable.law.binomial_sum import Chance, upper_quantile
from deniable.law.samples import chi_square_tail
from deniable.protocols.linear import Lines
from deniable.statistics import Statistic, Table, of_form

RARE = 1e-6
"""The chance that honest reports of a piece are cut, and that honest pieces count as uneven."""

_FEW = 1 << 22
"""Up to so many pairs of a line and a cell are looked at one by one."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tables:
    """The pieces of a tally: ``sizes`` are their numbers of reports, without the ``clipped``."""

    lines: Lines
    hits: tuple[tuple[npt.NDArray[np.uint64], Integers], ...]
    sizes: tuple[int, ...]
    clipped: int

    @property
    def n(self) -> int:
        """How many reports there are, without the clipped."""
        return sum(self.sizes)

    def support(self, piece: int) -> Integers:
        """Return how many reports on a piece support each cell."""
        return self.lines.support(Table(self.lines.cells, *self.hits[piece]))

    def supports(self, piece: int, cells: Integers) -> Integers:
        """Return how many reports on a piece support these cells, without all others if few do."""
        hits, lines = self.hits[piece], self.lines
        if len(hits[0]) * len(cells) > _FEW:
            return self.support(piece)[cells]
        return count_keys(*hits, lines.field, lines.digits, cells.astype(np.uint64))

    @cached_property
    def even(self) -> bool:
        """Whether the lot explains how many reports each piece has, at one in a million."""
        n, pieces = sum(self.sizes), len(self.sizes)
        if not n:
            return True
        square = sum((size - n / pieces) ** 2 for size in self.sizes) * pieces / n
        return chi_square_tail(square, pieces - 1) > RARE


def read(statistic: Statistic, lines: Lines, pieces: int, worst: float) -> Tables:
    """Read the pieces of a tally, each line cut to what honest people can reach.

    ``worst`` is the largest probability that a report has under any text.
    """
    cells, chance = lines.cells - 2, min(1.0, (lines.g - 1) * worst)
    hit, counts = of_form(statistic, Table).hits()
    starts = np.searchsorted(hit, np.arange(pieces + 1) * np.uint64(cells))
    parts, sizes, clipped = [], [], 0
    for j in range(pieces):
        some = slice(int(starts[j]), int(starts[j + 1]))
        own = counts[some]
        n = int(own.sum())
        kept = np.minimum(own, _reach(n, Chance(chance, 1 - chance), cells))
        clipped += n - int(kept.sum())
        parts.append((hit[some] - np.uint64(j * cells), kept))
        sizes.append(int(kept.sum()))
    return Tables(lines, tuple(parts), tuple(sizes), clipped)


def _reach(n: int, chance: Chance, cells: int) -> int:
    """Return how many of n honest reports fall into the fullest line, but for one in a million."""
    return upper_quantile(n, chance, RARE / cells) + 1 if n else 1
