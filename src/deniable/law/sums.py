"""The sum of two binomials, Bin(k, p) + Bin(n - k, q): its tails and its quantiles.

Three ways, each where it is good:

- *terms*, exact: both laws term by term around their means, folded. For variances up to a few
  hundred; for many k at once.
- *saddle point*, for larger variances: Lugannani and Rice's formula with Daniels' correction for
  whole numbers. Its saddle point is the root of a quadratic, and its exponent a sum of deviances,
  so that nothing cancels for n up to 10^18. Above a variance of 100 its tails down to 10^-9 are
  within 1 % of the exact ones, above 10^4 within 0.01 %.
- the *beta* continued fraction, exact, for one binomial alone (k = 0 or k = n).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.binomial import deviance, upper_tail

Floats = npt.NDArray[np.float64]

FEW = 100.0
"""Up to this variance the law is summed term by term."""
_MANY = 1e4
"""From this variance on the saddle point stands for one binomial too."""
_REACH = 7.0
_MARGIN = 9
_LEAST = 1e-300


class Chance(NamedTuple):
    """A probability with its complement, each with its own digits."""

    yes: float
    no: float

    @property
    def flipped(self) -> Chance:
        """The probability of the opposite."""
        return Chance(self.no, self.yes)

    @property
    def variance(self) -> float:
        """The variance of one trial."""
        return self.yes * self.no


def at_least(n: float, k: Floats, s: Floats, p: Chance, q: Chance) -> Floats:
    """Return the probabilities of a sum of s or more, term by term, for many k and s at once.

    Memory grows with the largest standard deviation: for variances up to a few hundred.
    """
    first, terms = _terms(k, p)
    second, others = _terms(n - k, q)
    # tails[:, i] is the probability of second + i or more; the last, of all that was left out, 0.
    tails = np.zeros((len(s), others.shape[1] + 1))
    tails[:, :-1] = np.cumsum(others[:, ::-1], axis=1)[:, ::-1]
    where = (s - first - second)[:, None] - np.arange(terms.shape[1])
    places = np.clip(where, 0, others.shape[1]).astype(np.int64)
    found = (terms * np.take_along_axis(tails, places, axis=1)).sum(axis=1)
    return np.asarray(np.minimum(found, 1.0))


def _terms(trials: Floats, chance: Chance) -> tuple[Floats, Floats]:
    """Return where each row of terms of Bin(trials, chance) starts, and the terms."""
    mean, spread = trials * chance.yes, np.sqrt(trials * chance.variance)
    first = np.maximum(np.floor(mean - _REACH * spread - _MARGIN), 0.0)
    last = np.minimum(np.ceil(mean + _REACH * spread + _MARGIN), trials)
    steps = first[:, None] + np.arange(int((last - first).max()))
    odds = math.log(max(chance.yes, _LEAST)) - math.log(max(chance.no, _LEAST))
    logs = np.zeros((len(trials), steps.shape[1] + 1))
    with np.errstate(divide="ignore"):
        np.cumsum(
            np.log(np.maximum(trials[:, None] - steps, 0.0) / (steps + 1)) + odds,
            axis=1,
            out=logs[:, 1:],
        )
    terms = np.exp(logs - logs.max(axis=1, keepdims=True))
    return first, terms / terms.sum(axis=1, keepdims=True)


def tail_of(n: float, k: float, s: float, p: Chance, q: Chance) -> float:
    """Return the probability of a sum of s or more, in the way that suits it."""
    if s <= 0 or s > n:
        return float(s <= 0)
    variance = k * p.variance + (n - k) * q.variance
    if k in (0, n) and variance <= _MANY:
        return upper_tail(n, (p if k else q).yes, s)
    if variance <= FEW:
        return float(at_least(n, np.array([float(k)]), np.array([float(s)]), p, q)[0])
    return saddle_point(n, k, s, p, q)


def saddle_point(n: float, k: float, s: float, p: Chance, q: Chance) -> float:
    """Return the probability of a sum of s or more, 0 < s <= n, by Lugannani and Rice.

    The tilted law, whose mean is s, has chances c (1 + x) / (1 + c x) where the law itself has c.
    """
    variances = k * p.variance, (n - k) * q.variance
    excess = s - n * q.yes - k * (p.yes - q.yes)
    if s >= n:
        return math.exp(k * math.log(max(p.yes, _LEAST)) + (n - k) * math.log(max(q.yes, _LEAST)))
    x = _tilt(variances, excess, p.yes, q.yes)
    exponent = spread = 0.0
    for trials, chance in ((k, p), (n - k, q)):
        shift = chance.variance * x / (1 + chance.yes * x)
        exponent += trials * chance.yes * deviance(shift / chance.yes)
        exponent += trials * chance.no * deviance(-shift / chance.no)
        spread += trials * (chance.yes + shift) * (chance.no - shift)
    w = math.copysign(math.sqrt(2 * exponent), excess)
    density = math.exp(-exponent) / math.sqrt(2 * math.pi)
    if abs(w) < 1e-4:
        third = sum(v * (c.no - c.yes) for v, c in zip(variances, (p, q), strict=True))
        between = (0.5 - third / (6 * sum(variances))) / math.sqrt(sum(variances))
    else:
        between = (1 + x) / (x * math.sqrt(spread)) - 1 / w
    return min(max(math.erfc(w / math.sqrt(2)) / 2 + density * between, 0.0), 1.0)


def _tilt(variances: tuple[float, float], excess: float, p: float, q: float) -> float:
    """Solve sum of v x / (1 + c x) = excess for the x that is 0 where the excess is."""
    square = variances[0] * q + variances[1] * p - excess * p * q
    linear = sum(variances) - excess * (p + q)
    root = math.sqrt(max(linear**2 + 4 * square * excess, 0.0))
    return 2 * excess / (linear + root) if linear >= 0 else (root - linear) / (2 * square)


def upper_quantile(n: int, chance: Chance, tail: float) -> int:
    """Return the least s that Bin(n, chance) exceeds with probability of at most ``tail``.

    >>> upper_quantile(1000, Chance(0.5, 0.5), 0.05)
    526
    >>> upper_quantile(1000, Chance(0.001, 0.999), 1e-6)
    9
    """
    mean, spread = n * chance.yes, math.sqrt(n * chance.variance)
    low, high = max(-1, math.floor(mean - 2 * spread - 2)), min(n, math.ceil(mean + spread + 2))
    while low >= 0 and tail_of(n, 0, low + 1, chance, chance) <= tail:
        low = max(-1, low - math.ceil(4 * spread + 1))
    while high < n and tail_of(n, 0, high + 1, chance, chance) > tail:
        high = min(n, high + math.ceil(4 * spread + 4))
    while high - low > 1:
        middle = (low + high) // 2
        if tail_of(n, 0, middle + 1, chance, chance) <= tail:
            high = middle
        else:
            low = middle
    return high
