"""The law of two binomial counts of one chance, given their sum: Fisher's exact test.

Of n and m trials with the same chance, x and s - x succeed. Given s, whatever the chance, x has
the hypergeometric law: a test by its tail raises false alarms no more often than it says, for any
n and m. Where each trial has a chance of its own, but of the same mean in both groups, the counts
vary less and the test is only safer (Hoeffding 1956).

Where one of the four counts is small the tail is summed term by term. Elsewhere the double saddle
point (Skovgaard 1987) at half a count less, in the form r* of Barndorff-Nielsen, is within 1.5 %.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_FEW = 20.0
_MOST_TERMS = 100_000
_NEGLIGIBLE = 1e-12
# ln x! is x ln x - x + ln(2 pi x) / 2 + 1 / (12 x) - ... (Stirling); what the series gives of 0
# to 9 differs, so that they have their own values.
_SMALL = np.array(
    [0.0]
    + [math.lgamma(x + 1) - (x * math.log(x) - x + math.log(2 * math.pi * x) / 2)
       for x in range(1, 10)]
)  # fmt: skip


def upper_tail(x: Floats, n: int, y: Floats, m: int) -> Floats:
    """Return the probability of x or more of the x + y successes among the first n trials.

    It is meant for x / n > y / m; elsewhere 1 is returned.

    >>> upper_tail(np.array([3.0]), 4, np.array([1.0]), 4).round(4)
    array([0.2429])
    """
    result = np.ones(len(x))
    above = x * m > y * n
    cells = np.array([x, n - x, y, m - y])[:, above]
    tails = np.empty(cells.shape[1])
    few = cells.min(axis=0) < _FEW
    tails[few] = _summed(*cells[:, few])
    tails[~few] = _saddle_point(*cells[:, ~few])
    result[above] = np.minimum(tails, 1.0)
    return result


def _summed(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """Add up the probabilities of this table and of all with more in its first cell."""
    term, total = np.ones_like(a), np.ones_like(a)
    for step in range(_MOST_TERMS):
        term = term * ((b - step) * (c - step)).clip(0) / ((a + step + 1) * (d + step + 1))
        total += term
        if np.all(term <= _NEGLIGIBLE * total):
            break
    return np.asarray(np.exp(_log_probability(a, b, c, d)) * total)


def _log_probability(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """Return the logarithm of the probability of a table, given its margins.

    As deviances from what the margins let expect, which cancel nothing for large counts.
    """
    margins = a + b, c + d, a + c, b + d
    whole = a + b + c + d
    logs = sum((_stirling(x) for x in margins), np.zeros_like(a)) - _stirling(whole)
    logs -= sum((_stirling(x) for x in (a, b, c, d)), np.zeros_like(a))
    return np.asarray(logs - _deviance(a, b, c, d))


def _deviance(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """Return the sum of x ln(x / expected) over the four cells."""
    n, m = a + b, c + d
    yes = (a + c) / (n + m)
    no = (b + d) / (n + m)
    pairs = ((a, n * yes), (b, n * no), (c, m * yes), (d, m * no))
    return sum((_above(x, mean) for x, mean in pairs), np.zeros_like(a))


def _above(x: Floats, mean: Floats) -> Floats:
    """Return x ln(x / mean) - x + mean, stable for x near its mean, and for 0."""
    share = (x - mean) / np.where(mean > 0, mean, 1.0)
    logs = np.log1p(np.where(x > 0, share, 0.0))
    return np.asarray(mean * ((1 + share) * logs - share))


def _stirling(x: Floats) -> Floats:
    """Return ln x! - (x ln x - x), the first and the later terms of Stirling's series."""
    large = np.maximum(x, 10.0)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / large**2) / large**2) / large**2) / large
    small = _SMALL[np.minimum(x, 9).astype(np.int64)]
    return np.asarray(
        np.where(x < 10, small, series) + np.log(2 * math.pi * np.maximum(x, 1)) / 2 * (x > 0)
    )


def _saddle_point(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    n, m = a + b, c + d
    variance = (a + c) * (b + d) / (n + m)
    a, b, c, d = a - 0.5, b + 0.5, c + 0.5, d - 0.5
    odds = np.log(a) - np.log(b) - np.log(c) + np.log(d)
    # Half a count may lift a table onto its mean or beyond, where the root would be of no sign.
    odds = np.maximum(odds, 1e-9)
    w = np.sqrt(2 * np.maximum(_deviance(a, b, c, d), 1e-12))
    u = 2 * np.sinh(odds / 2) * np.sqrt((a * b / n) * (c * d / m) / variance)
    root = w + np.log(u / w) / w
    found = np.array([math.erfc(z / math.sqrt(2)) / 2 for z in root.tolist()])
    # Near the mean the root is without digits, and without need of any.
    return np.where(w < 0.1, 0.5, found)


def with_drawn(shares: Floats, noise: Floats, k: float) -> Floats:
    """Return how far above each share the share in the population may be.

    People were drawn from that population, and their share is known up to the noise. Wilson's limit
    e of the draw, with the noise beside it: (e - share)^2 is the square of the noise plus
    k e (1 - e). Nobody is drawn beyond 0 and 1, and near 1 the share itself has more variance than
    the limit.
    """
    inside = shares.clip(0, 1)
    root = np.sqrt(noise**2 * (1 + k) + k * inside * (1 - inside) + k**2 / 4)
    limit = ((inside + k / 2 + root) / (1 + k)).clip(0, 1)
    spread = np.maximum(limit * (1 - limit), inside * (1 - inside))
    return np.asarray(np.sqrt(noise**2 + k * spread))
