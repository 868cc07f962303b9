"""Tables from views: any table over some digits of a value, by all views that tell of it.

A view is a table over some digits of a mixed-radix value, estimated from the reports of the people
who drew it. The noise of a view is exchangeable over its cells, so the parts of a table that depend
on the digits u, and on no fewer, have independent errors for different u (analysis of variance).
Generalised least squares is then one weighted mean for each u, with weights n_v / (sigma2_v size_v)
over the views v that hold u: no matrices.

All u that the same views hold share their weights. They are taken together: their union is an
intersection of views, and there are few of these, as many as views for a tree of prefixes. A cell
is thus a sum of margins of views with known coefficients, and its variance that of each view's sum
(``deniable.law.pairs``), with the nearest possible shares put in for the true ones.

Whether two digits are independent is tested by a parametric bootstrap of the protocol itself: the
distance of their table from the product of its margins is held against the distances of people for
whom they are independent, with the same margins, and as many of them in each view.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt
from typing import NamedTuple, Self

import numpy as np

from deniable.law.normal import Floats, nearest_shares
from deniable.law.pairs import Pairs

Digits = tuple[int, ...]
_MOST_CELLS, _AT_ONCE = 1 << 22, 1 << 21
"""How many coefficients are held at once, and how many cells and reports."""
_FITTING_STEPS = 400
_EXACT = 5000
"""Up to this many reports of a view they are drawn one by one, above that by their normal law."""
_SOME = 1e-6
"""The least share of people who can still move to a cell."""

Draw = Callable[[Floats, int, int, "np.random.Generator"], np.typing.NDArray[np.int64]]
"""Supports of the cells of a view, a row for each crowd, from shares, people and crowds."""


@dataclass(frozen=True, eq=False)
class ViewTable:
    """What one view found: supports of its cells among n people, and how these come about.

    Supports may be those of several crowds of n people, a row for each; so are shares then.
    """

    digits: Digits
    n: int
    supports: np.typing.NDArray[np.int64]
    pairs: Pairs

    @cached_property
    def shares(self) -> Floats:
        """Unbiased shares of the cells, moved by one amount so that they add up to 1."""
        p, q = float(self.pairs.p), float(self.pairs.q)
        found = (self.supports / self.n - q) / (p - q)
        return np.asarray(found + (1 - found.sum(axis=-1, keepdims=True)) / found.shape[-1])

    @cached_property
    def weight(self) -> float:
        """How much the view counts, n / (sigma2 size), sigma2 being the variance of contrasts."""
        cells: int = self.supports.shape[-1]
        return self.n / contrast_variance(self.pairs, cells) / cells


def contrast_variance(pairs: Pairs, size: int) -> float:
    """Return n times the variance of a contrast of unit length, averaged over the cells."""
    a, b = pairs.contrast
    return a + b / size


class Cells(NamedTuple):
    """The shares of the cells of a table, their variances, and the one view they stem from.

    ``null`` is the variance of a cell that nobody holds. ``slopes`` are by how much more variances
    grow than shares where more people hold a cell.
    """

    shares: Floats
    variances: Floats
    slopes: Floats
    null: float
    alone: ViewTable | None


@dataclass(frozen=True, eq=False)
class Tables:
    """All views with people, and the tables that follow from them."""

    radices: tuple[int, ...]
    views: tuple[ViewTable, ...]

    @classmethod
    def of(cls, radices: Sequence[int], views: Iterable[ViewTable]) -> Self:
        """Return the tables of the views that have people."""
        return cls(tuple(radices), tuple(view for view in views if view.n > 0))

    @cached_property
    def _plausible(self) -> dict[Digits, Floats]:
        return {}

    @cached_property
    def _fitted(self) -> dict[int, Floats]:
        return {}

    def size(self, digits: Iterable[int]) -> int:
        return prod(self.radices[d] for d in digits)

    def tells(self, target: Digits) -> bool:
        """Tell whether some view with people holds all digits of a table."""
        return any(set(target) <= set(view.digits) for view in self.views)

    def cells(self, target: Digits) -> Cells:
        """Return the table over some digits, in their order, least significant last."""
        used = self._terms(target)
        found = [self._cell_variance(*each, target) for each in used]
        total = np.sum([each for each, _ in found], axis=0)
        slopes = total[1] / np.maximum(total[2], _SOME)
        alone = used[0][0] if len(used) == 1 and used[0][0].digits == target else None
        null = sum(least for _, least in found)
        return Cells(self.shares(target), np.maximum(total[0], 0.0), slopes, null, alone)

    def _cell_variance(
        self, view: ViewTable, terms: dict[Digits, float], target: Digits
    ) -> tuple[Floats, float]:
        """Return what a view adds to the variance of each cell, and of one that nobody holds.

        With the first stand by how much that and the share rise as people move to the cell.

        The coefficient of a view's cell j in that of the cell i is the sum of the terms of which
        i and j share the digits, so that sums over j are margins.
        """
        size, f = len(view.supports), self._shares_of(view.digits)
        mean = sum(gamma / self.size(c) for c, gamma in terms.items())
        pairs: dict[Digits, float] = {}
        for c, gamma in terms.items():
            for other, delta in terms.items():
                both = tuple(sorted({*c, *other}))
                pairs[both] = pairs.get(both, 0.0) + gamma * delta
        squares = sum(product * size / self.size(both) for both, product in pairs.items())
        first, second = (
            sum((k * self._margin(f, view.digits, c, target) for c, k in each.items()), np.zeros(1))
            for each in (terms, pairs)
        )
        a, b = view.pairs.contrast
        always = a * (squares - size * mean**2)
        around = second - 2 * mean * first + mean**2
        spread = always + b * around - (first - mean) ** 2
        own = sum(terms.values())
        steeper = b * ((own - mean) ** 2 - around) - 2 * (first - mean) * (own - first)
        found = np.stack([spread / view.n, steeper / view.n, own - first])
        return found, (always + (b - 1) * mean**2) / view.n

    def figures(self, target: Digits, coefficients: Floats) -> tuple[Floats, Floats]:
        """Return sums of the shares of a table, one for each row of coefficients, and variances."""
        found = coefficients @ self.shares(target)
        step = max(1, _MOST_CELLS // coefficients.shape[1])
        parts = [
            self._figure_variances(target, coefficients[start : start + step])
            for start in range(0, len(coefficients), step)
        ]
        return found, np.concatenate([np.zeros(0), *parts])

    def slopes(self, target: Digits, coefficients: Floats) -> Floats:
        """Return by how much more variances grow than sums, as people move to the largest cells."""
        steeper, moved = np.zeros((2, len(coefficients)))
        for view, common, c in self._contrasts(target, coefficients):
            f = self._margin(self._shares_of(view.digits), view.digits, common, common)
            (_, b), most, mean = view.pairs.contrast, c.max(axis=1), c @ f
            rises = b * (most**2 - (c * c) @ f) - 2 * mean * (most - mean)
            steeper, moved = steeper + rises / view.n, moved + most - mean
        return steeper / np.maximum(moved, _SOME)

    def _figure_variances(self, target: Digits, coefficients: Floats) -> Floats:
        total = np.zeros(len(coefficients))
        for view, common, c in self._contrasts(target, coefficients):
            f = self._margin(self._shares_of(view.digits), view.digits, common, common)
            (a, b), repeated = view.pairs.contrast, len(view.supports) / c.shape[1]
            spread = a * repeated * (c * c).sum(axis=1) + b * (c * c) @ f
            total += (spread - (c @ f) ** 2) / view.n
        return np.maximum(total, 0.0)

    def largest_variances(self, target: Digits, coefficients: Floats) -> Floats:
        """Return what the variances of such sums do not exceed, whatever the true shares are.

        Among people with the mean m of their coefficients the mean square is largest where all have
        the least or the largest one, (low + high) m - low high, and then m is chosen.
        """
        total = np.zeros(len(coefficients))
        for view, _, c in self._contrasts(target, coefficients):
            (a, b), repeated = view.pairs.contrast, len(view.supports) / c.shape[1]
            low, high, slope = c.min(axis=1), c.max(axis=1), max(b, 0.0)
            m = np.clip(slope * (low + high) / 2, low, high)
            spread = a * repeated * (c * c).sum(axis=1) + slope * ((low + high) * m - low * high)
            total += (spread - m * m) / view.n
        return total

    def _contrasts(
        self, target: Digits, coefficients: Floats
    ) -> Iterator[tuple[ViewTable, Digits, Floats]]:
        """Yield views with the digits that count, and the centred coefficients of these cells."""
        for view, terms in self._terms(target):
            common = tuple(d for d in target if d in view.digits)
            c = np.zeros((len(coefficients), self.size(common)))
            for digits, gamma in terms.items():
                c += gamma * self._margin(coefficients, target, digits, common)
            yield view, common, c - c.mean(axis=1, keepdims=True)

    def _terms(self, target: Digits) -> list[tuple[ViewTable, dict[Digits, float]]]:
        """Return the coefficient of each margin of each view in a cell of the table."""
        parts = self._components(target)
        found: list[dict[Digits, float]] = [{} for _ in self.views]
        for closed, combined in parts.items():
            holders = [i for i, v in enumerate(self.views) if set(closed) <= set(v.digits)]
            whole = sum(self.views[i].weight for i in holders)
            for i in holders if closed else ():
                share = self.views[i].weight / whole
                for digits, sign in combined.items():
                    scaled = share * sign * self.size(digits) / self.size(target)
                    found[i][digits] = found[i].get(digits, 0.0) + scaled
        return [(v, terms) for v, terms in zip(self.views, found, strict=True) if terms]

    def _components(self, target: Digits) -> dict[Digits, dict[Digits, int]]:
        """Return the intersections of views with the target, each as a sum of margins with signs.

        Each is what its margin has beyond all smaller ones.
        """
        wanted = frozenset(target)
        closed = {wanted & set(view.digits) for view in self.views}
        while True:
            more = {a & b for a in closed for b in closed} | closed | {frozenset[int]()}
            if more == closed:
                break
            closed = more
        ordered = sorted((tuple(sorted(c)) for c in closed), key=len)
        parts: dict[Digits, dict[Digits, int]] = {}
        for digits in ordered:
            own = {digits: 1}
            for smaller, terms in parts.items():
                if set(smaller) < set(digits):
                    for c, sign in terms.items():
                        own[c] = own.get(c, 0) - sign
            parts[digits] = {c: sign for c, sign in own.items() if sign}
        return parts

    def _shares_of(self, digits: Digits) -> Floats:
        """Return the nearest possible shares of the cells of a view, by all views."""
        if digits not in self._plausible:
            self._plausible[digits] = nearest_shares(self.shares(digits))
        return self._plausible[digits]

    def shares(self, target: Digits) -> Floats:
        """Return the shares of the cells of a table."""
        shares = np.full(self.size(target), 1 / self.size(target))
        for view, terms in self._terms(target):
            for kept, gamma in terms.items():
                shares = shares + gamma * self._margin(view.shares, view.digits, kept, target)
        return shares

    def nearest(self, steps: int) -> Floats:
        """Return the most fitting shares of the first cells of the finest view, by leading digits.

        Least squares over all views, none negative and 1 in all, by an accelerated projected
        gradient; the same numbers each time.
        """
        if steps not in self._fitted:
            self._fitted[steps] = self._fit(steps)
        return self._fitted[steps]

    def _fit(self, steps: int) -> Floats:
        size, views = max(len(view.supports) for view in self.views), []
        for view in self.views:
            cells = len(view.supports)
            views.append((view.n / contrast_variance(view.pairs, cells), cells, view.shares))
        scaled = sum(weight * size / cells for weight, cells, _ in views)
        x = y = np.full(steps, 1 / steps)
        t, padded = 1.0, np.zeros(size)
        for _ in range(_FITTING_STEPS):
            padded[:steps] = y
            slope = np.zeros(size)
            for weight, cells, shares in views:
                excess = padded.reshape(cells, -1).sum(axis=1) - shares
                slope += weight * np.repeat(excess, size // cells)
            after = nearest_shares(y - slope[:steps] / scaled)
            following = (1 + sqrt(1 + 4 * t * t)) / 2
            x, y, t = after, after + (t - 1) / following * (after - x), following
        return x

    def _margin(self, tables: Floats, digits: Digits, kept: Digits, target: Digits) -> Floats:
        """Sum tables, flat ones along the last axis, down to some digits; repeat for the target's.

        Leading digits are the usual case, and many axes would be slow.
        """
        rows, places = tables.shape[:-1], range(-len(digits), 0)
        if kept == digits[: len(kept)]:
            summed = tables.reshape(*rows, self.size(kept), -1).sum(axis=-1)
        else:
            shape = [self.radices[d] for d in digits]
            gone = tuple(i for i, d in zip(places, digits, strict=True) if d not in kept)
            summed = tables.reshape(*rows, *shape).sum(axis=gone).reshape(*rows, -1)
        if kept == target[: len(kept)]:
            return np.repeat(summed, self.size(target) // self.size(kept), axis=-1)
        ones = [self.radices[d] if d in kept else 1 for d in target]
        full = (*rows, *(self.radices[d] for d in target))
        return np.broadcast_to(summed.reshape(*rows, *ones), full).reshape(*rows, -1)


class Independence(NamedTuple):
    """What the test found: a p-value, and the distance that it is about."""

    p_value: float
    distance: float
    expected: float
    """The median distance of attributes that are independent."""
    runs: int

    def __str__(self) -> str:
        verdict = "depend on each other" if self.p_value <= 0.05 else "may be independent"
        return f"the two attributes {verdict} (p = {self.p_value:.3g}, {self.runs} runs)"

    def __repr__(self) -> str:
        return str(self)


def independence(
    tables: Tables,
    pair: tuple[int, int],
    draws: Sequence[Draw],
    runs: int,
    rng: "np.random.Generator",
) -> Independence:
    """Test two digits by the views that hold both; ``draws`` makes new supports of each view."""
    (found,), rows, columns = _distances(tables, pair)
    margins = nearest_shares(rows.ravel()), nearest_shares(columns.ravel())
    null = [_independent(tables, view.digits, pair, *margins) for view in tables.views]
    step = max(1, _AT_ONCE // max(len(view.supports) + _EXACT for view in tables.views))
    parts = []
    for start in range(0, runs, step):
        crowds = min(step, runs - start)
        drawn = [
            ViewTable(view.digits, view.n, draw(shares, view.n, crowds, rng), view.pairs)
            for view, draw, shares in zip(tables.views, draws, null, strict=True)
        ]
        parts.append(_distances(Tables.of(tables.radices, drawn), pair)[0])
    distances = np.concatenate(parts)
    above = int((distances >= found).sum())
    return Independence((1 + above) / (1 + runs), float(found), float(np.median(distances)), runs)


def _distances(tables: Tables, pair: tuple[int, int]) -> tuple[Floats, Floats, Floats]:
    """Return squared distances from the products of the margins, and these, for each crowd."""
    table = tables.shares(pair).reshape(-1, *(tables.radices[d] for d in pair))
    rows, columns = table.sum(axis=2, keepdims=True), table.sum(axis=1, keepdims=True)
    return ((table - rows * columns) ** 2).sum(axis=(1, 2)), rows, columns


def _independent(
    tables: Tables, view: tuple[int, ...], pair: tuple[int, int], rows: Floats, columns: Floats
) -> Floats:
    """Return shares of a view in which the pair is independent, and of all others too."""
    shares = np.ones(1)
    for digit in view:
        own = {pair[0]: rows, pair[1]: columns}.get(digit)
        own = nearest_shares(tables.shares((digit,))) if own is None else own
        shares = np.multiply.outer(shares, own)
    return shares.ravel()


def drawing(pairs: Pairs, one_by_one: Draw) -> Draw:
    """Return what draws the supports of a view: one by one, or many by their normal law."""

    def draw(
        shares: Floats, n: int, runs: int, rng: "np.random.Generator"
    ) -> np.typing.NDArray[np.int64]:
        if n <= _EXACT:
            return one_by_one(shares, n, runs, rng)
        return _normal_supports(pairs, shares, n, runs, rng)

    return draw


def _normal_supports(
    pairs: Pairs, shares: Floats, n: int, runs: int, rng: "np.random.Generator"
) -> np.typing.NDArray[np.int64]:
    """Draw supports of n reports by their normal law, but for what moves all cells alike, often.

    Their covariance, over n (p - q)^2, is that of A + B f independently, less f f'.
    """
    a, b = pairs.contrast
    spread = np.sqrt(a + b * shares)
    u = shares / spread
    norm = min(float(u @ u), 1.0)
    z = rng.standard_normal((runs, len(shares)))
    z -= np.outer(z @ u, u) * ((1 - np.sqrt(1 - norm)) / max(norm, 1e-300))
    p, q = float(pairs.p), float(pairs.q)
    found = n * (q + (p - q) * (shares + spread * z / np.sqrt(n)))
    return np.asarray(np.rint(found), dtype=np.int64)
