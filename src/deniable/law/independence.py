"""A test of independence of two attributes, by a parametric bootstrap of the protocol itself.

The distance of a cross table from the product of its margins is larger than 0 by noise alone. How
large it comes out where the attributes are independent is found by letting people who are (with the
same margins) answer the same views, by the same number of people each.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from deniable.law.normal import Floats, nearest_shares
from deniable.law.pairs import Pairs
from deniable.law.tables import Tables, ViewTable

EXACT = 5000
"""Up to this many reports of a view they are drawn one by one, above that by their normal law."""
_AT_ONCE = 1 << 21
"""How many cells and reports are held at once."""

Draw = Callable[[Floats, int, int, "np.random.Generator"], np.typing.NDArray[np.int64]]
"""Supports of the cells of a view, a row for each crowd, from shares, people and crowds."""


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


def independence(
    tables: Tables,
    pair: tuple[int, int],
    draws: Sequence[Draw],
    runs: int,
    rng: "np.random.Generator",
) -> Independence:
    """Test two digits by the views that hold both, of which ``draws`` makes new supports."""
    (found,), rows, columns = _distances(tables, pair)
    margins = nearest_shares(rows.ravel()), nearest_shares(columns.ravel())
    null = [_independent(tables, view.digits, pair, *margins) for view in tables.views]
    step = max(1, _AT_ONCE // max(len(view.supports) + EXACT for view in tables.views))
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


def normal_supports(
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
