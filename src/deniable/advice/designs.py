"""Designs: which views of a record or a number to draw, and how often each.

The variance of what is wanted is a sum over the parts of tables that depend on some digits u and on
no fewer: part u has c_u / W_u, where W_u is the sum of lot / (sigma2 size) over the views that hold
u, and c_u says how much of what is wanted lies in it (``deniable.law.tables``). That is convex in
the lots, and multiplying each lot by the root of its gradient leads to the least.

Goals of a survey. "share": the mean variance of a cell, averaged over the wanted tables; "table":
the total squared error of all their cells, for which large tables get more people. A number is
designed for the mean variance of its distribution function.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from math import prod
from typing import Literal, NamedTuple, get_args

import numpy as np

from deniable.errors import InvalidParameter
from deniable.law.normal import Floats
from deniable.law.tables import Digits, contrast_variance
from deniable.protocols.levels import Levels
from deniable.protocols.parts import Lots, Part, Selection, best_part
from deniable.protocols.views import Views

SurveyGoal = Literal["share", "table"]
"""Whose error is to be least: that of a typical cell, or that of all cells together."""
_STEPS = 200
_LEAST_LOT = 0.01
"""Views that fewer people would draw are left out."""
_PAIRS_FROM = 3.0
"""From this epsilon on pairs may tell more of margins than single attributes do."""
_MOST_PAIRED, _LARGEST_PAIR = 12, 1 << 12
LARGEST_RANGES = 1 << 12
"""Into how many ranges a distribution is told at most: more would take long to add up."""
MEAN_LOT = 0.3
"""The lot of levels, where a mean is wanted beside the distribution."""


class Design(NamedTuple):
    """Views with the share of people who draw each."""

    views: tuple[Digits, ...]
    parts: tuple[Part, ...]
    lots: Floats

    def protocol(self, epsilon: float, radices: Sequence[int]) -> Views:
        weights = tuple(map(str, Lots.near(self.lots.tolist()).weights))
        return Views(epsilon, tuple(radices), self.views, weights, self.parts)


def survey(
    epsilon: float, sizes: Sequence[int], tables: Sequence[Digits], goal: SurveyGoal = "share"
) -> Views:
    """Return the views that tell the wanted tables over some attributes best.

    >>> made = survey(1.0, (4, 3, 2), [(0,), (1,), (2,), (0, 1)])
    >>> made.views
    ((0,), (1,), (2,), (0, 1))
    """
    if goal not in get_args(SurveyGoal):
        raise InvalidParameter.expected('the goal "share" or "table"', goal)
    wanted = {tuple(sorted(table)) for table in tables}
    candidates = wanted | {(d,) for table in wanted for d in table}
    if epsilon >= _PAIRS_FROM and len(sizes) <= _MOST_PAIRED:
        pairs = combinations(range(len(sizes)), 2)
        candidates |= {(i, j) for i, j in pairs if sizes[i] * sizes[j] <= _LARGEST_PAIR}
    costs: dict[Digits, float] = {}
    for table in wanted:
        size = prod(sizes[d] for d in table)
        scale = 1 / size if goal == "table" else 1 / size**2 / len(wanted)
        for part in subsets_of(table):
            costs[part] = costs.get(part, 0.0) + scale * prod(sizes[d] - 1 for d in part)
    views = sorted(candidates, key=lambda view: (len(view), view))
    return best_design(epsilon, sizes, views, costs).protocol(epsilon, sizes)


def number(epsilon: float, steps: int, *, distribution: bool, mean: bool) -> Views:
    """Return the views of a number with ``steps`` values: prefixes of its digits, and levels."""
    radices = tree_radices(steps)
    everything = tuple(range(len(radices)))
    levels = Design((everything,), (Levels(epsilon, prod(radices)),), np.ones(1))
    if not distribution:
        return levels.protocol(epsilon, radices)
    views = [everything[: i + 1] for i in range(len(radices))]
    costs = dict(zip(views, tree_costs(radices, steps), strict=True))
    while prod(radices[: len(views)]) > LARGEST_RANGES:
        costs.pop(views.pop())
    tree = best_design(epsilon, radices, views, costs)
    if not mean:
        return tree.protocol(epsilon, radices)
    lots = np.append((1 - MEAN_LOT) * tree.lots, MEAN_LOT)
    both = Design((*tree.views, everything), (*tree.parts, *levels.parts), lots)
    return both.protocol(epsilon, radices)


def tree_radices(steps: int) -> tuple[int, ...]:
    """Return digits for ``steps`` values, the last ones binary, with at most a quarter to spare.

    >>> tree_radices(64), tree_radices(101), tree_radices(20)
    ((2, 2, 2, 2, 2, 2), (7, 2, 2, 2, 2), (5, 2, 2))
    """
    halvings = max(0, steps.bit_length() - 3)
    first = -(-steps // (1 << halvings))
    start = {4: (2, 2), 6: (2, 3), 8: (2, 2, 2)}.get(first, (first,))
    return (*start, *(2,) * halvings)


def tree_costs(radices: Sequence[int], steps: int) -> list[float]:
    """Return how much of the steps' distribution function lies in each further digit, on average.

    Averaged over nodes of w steps, that up to step t has floor(t / w) w + (t mod w)^2 / w squares.
    """
    size, until = prod(radices), np.arange(1, steps)
    squares = [float(np.mean(until**2)) / size]
    for i in range(len(radices)):
        width = prod(radices[i + 1 :])
        squares.append(float(np.mean(until // width * width + (until % width) ** 2 / width)))
    return [(after - before) / size for before, after in pairwise(squares)]


def best_design(
    epsilon: float, radices: Sequence[int], views: Sequence[Digits], costs: dict[Digits, float]
) -> Design:
    """Return the lots of least cost; parts of tables have one, by their digits."""
    parts = [best_part(epsilon, prod(radices[d] for d in view)) for view in views]
    rates = np.array([view_rate(part) for part in parts])
    kept = list(range(len(views)))
    holds = np.array([[set(part) <= set(view) for view in views] for part in costs])
    price = np.array(list(costs.values()))
    while True:
        lots, own = np.full(len(kept), 1 / len(kept)), holds[:, kept] * rates[kept]
        for _ in range(_STEPS):
            lots = lots * np.sqrt(own.T @ (price / (own @ lots) ** 2))
            lots /= lots.sum()
        # Some part may be told by no other view: then this one stays, however rarely drawn.
        spare = [np.all(np.delete(own, i, axis=1).any(axis=1)) for i in range(len(kept))]
        least = min(_LEAST_LOT, 0.2 / len(kept))
        few = [int(i) for i in np.argsort(lots) if spare[i] and lots[i] < least]
        if not few:
            break
        del kept[few[0]]
    return Design(tuple(views[i] for i in kept), tuple(parts[i] for i in kept), lots)


def view_rate(part: Selection) -> float:
    """Return how much one person tells of the parts of a view, 1 / (sigma2 size)."""
    return 1 / contrast_variance(part.pairs, part.domain_size) / part.domain_size


def part_variances(protocol: Views, wanted: Iterable[Digits]) -> dict[Digits, float]:
    """Return n times the variance of parts of tables, 1 / W, infinite where no view tells them."""
    every = zip(protocol.views, protocol.protocols or (), protocol.lots or (), strict=True)
    tree = [(view, part, lot) for view, part, lot in every if not isinstance(part, Levels)]
    told = [(view, int(lot) / 2**64 * view_rate(part)) for view, part, lot in tree]
    sums = {part: sum(rate for view, rate in told if set(part) <= set(view)) for part in wanted}
    return {part: 1 / rate if rate else np.inf for part, rate in sums.items()}


def cell_variance(protocol: Views, table: Digits) -> float:
    """Return n times the mean variance of a share of a table, at even shares."""
    parts = part_variances(protocol, subsets_of(table))
    freedom = {u: prod(protocol.radices[d] - 1 for d in u) for u in parts}
    size = prod(protocol.radices[d] for d in table)
    return sum(freedom[u] * parts[u] for u in parts) / size**2


def threshold_variance(protocol: Views, steps: int) -> float:
    """Return n times the variance of the distribution function, averaged over its steps."""
    views = [tuple(range(i + 1)) for i in range(len(protocol.radices))]
    variances, costs = part_variances(protocol, views), tree_costs(protocol.radices, steps)
    # What lies below the finest view is told by nobody, and is not an error of chance.
    told = zip(variances.values(), costs, strict=True)
    return float(sum(cost * variance for variance, cost in told if variance < np.inf))


def subsets_of(table: Digits) -> list[Digits]:
    """Return the digits that parts of a table depend on: all subsets but the empty one."""
    return [part for k in range(1, len(table) + 1) for part in combinations(table, k)]
