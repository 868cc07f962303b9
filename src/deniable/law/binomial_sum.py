"""The binomial law, and the sum of two, Bin(k, p) + Bin(n - k, q): tails, quantiles, limits.

Three ways to a tail, each where it is good:

- *terms*, exact: both laws term by term around their means, folded. For variances up to a few
  hundred, and for many k at once.
- *saddle point*, for larger variances: Lugannani and Rice's formula with Daniels' correction for
  whole numbers. Its saddle point is the root of a quadratic and its exponent a sum of deviances,
  so that nothing cancels for n up to 10^18. Above a variance of 100 its tails down to 10^-9 are
  within 1 % of the exact ones, above 10^4 within 0.01 %.
- the *beta* continued fraction, exact, for one binomial alone (k = 0 or k = n).

All terms come from deviances, b ((1 + y) ln(1 + y) - y) with y = a / b - 1, and not from the
differences of large logarithms that factorials are (Loader, "Fast and Accurate Computation of
Binomial Probabilities", 2000). That is why they keep their digits for 10^18 trials.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from deniable.law.normal import Floats, upper_normal

FEW = 100.0
"""Up to this variance the law is summed term by term."""
_MANY = 1e4
"""From this variance on the saddle point stands for one binomial too."""
_REACH, _MARGIN = 7.0, 9
_LEAST = 1e-300
_SERIES, _STIRLING = 0.1, 15.0
MOST = 10**18
"""No search goes beyond this number of people."""


class Chance(NamedTuple):
    """A probability with its complement, each with its own digits."""

    yes: float
    no: float

    @property
    def variance(self) -> float:
        return self.yes * self.no


def at_least(n: float, k: Floats, s: Floats, p: Chance, q: Chance) -> Floats:
    """Return the probabilities of a sum of s or more, term by term, for many k and s at once.

    Memory grows with the largest standard deviation, so this is for variances up to a few hundred.
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
    """Return the probability of a sum of s or more, by the way that suits it."""
    if s <= 0 or s > n:
        return float(s <= 0)
    variance = k * p.variance + (n - k) * q.variance
    if k in (0, n) and variance <= _MANY:
        return beta_cdf((p if k else q).yes, s, n - s + 1)
    if variance <= FEW:
        return float(at_least(n, np.array([float(k)]), np.array([float(s)]), p, q)[0])
    return saddle_point(n, k, s, p, q)


def saddle_point(n: float, k: float, s: float, p: Chance, q: Chance) -> float:
    """Return the probability of a sum of s or more, 0 < s <= n, by Lugannani and Rice.

    The tilted law, whose mean is s, has chances c (1 + x) / (1 + c x) instead of c.
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
    """Solve sum of v x / (1 + c x) = excess for the x that is 0 if the excess is 0."""
    square = variances[0] * q + variances[1] * p - excess * p * q
    linear = sum(variances) - excess * (p + q)
    root = math.sqrt(max(linear**2 + 4 * square * excess, 0.0))
    return 2 * excess / (linear + root) if linear >= 0 else (root - linear) / (2 * square)


def upper_quantile(n: int, chance: Chance, tail: float) -> int:
    """Return the least s that Bin(n, chance) exceeds with probability of at most ``tail``."""
    guess = n * chance.yes + upper_normal(tail) * math.sqrt(n * chance.variance)
    return last_true(lambda s: tail_of(n, 0, s, chance, chance) > tail, math.ceil(guess))


def last_true(holds: Callable[[int], bool], guess: int) -> int:
    """Return the last number up to which a property holds, or 0 if it does not hold for 1."""
    low, high, step = 0, MOST, 1
    middle = min(max(guess, 1), MOST)
    # Steps that double, away from the guess, until the end lies between two numbers.
    while low < middle < high:
        if holds(middle):
            low, middle = middle, min(middle + step, high)
        else:
            high, middle = middle, max(middle - step, low)
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def clopper_pearson(successes: int, trials: int, failure: float) -> tuple[float, float]:
    """Return exact limits of a chance, each wrong with probability of at most ``failure``."""
    failed = trials - successes
    low = _beta_quantile(failure, successes, failed + 1) if successes else 0.0
    return low, _beta_quantile(1 - failure, successes + 1, failed) if failed else 1.0


def _beta_quantile(probability: float, a: float, b: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        below = beta_cdf(middle, a, b) < probability
        low, high = (middle, high) if below else (low, middle)
    return (low + high) / 2


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by Lentz's continued fraction.

    For whole numbers it is the probability of at least a successes in a + b - 1 trials. The
    fraction takes about as many steps as the law has standard deviations in trials; beyond 10^4
    of them use ``tail_of``.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    tiny = 1e-300
    fraction, c, d = 1.0, 1.0, 0.0
    for i in range(20_000):
        m = i // 2
        if i == 0:
            numerator = 1.0
        elif i % 2 == 0:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 + numerator * d
        d = 1 / (d if abs(d) > tiny else tiny)
        c = 1 + numerator / (c if abs(c) > tiny else tiny)
        fraction *= c * d
        if abs(1 - c * d) < 1e-14:
            break
    return min(1.0, _beta_front(x, a, b) * (fraction - 1) / a)


def _beta_front(x: float, a: float, b: float) -> float:
    """Return x^a (1 - x)^b / B(a, b): a b / (a + b) times a binomial term of a + b trials."""
    total = a + b
    exponent = (
        _stirling_error(total)
        - _stirling_error(a)
        - _stirling_error(b)
        - total * x * deviance((a - total * x) / (total * x))
        - total * (1 - x) * deviance((b - total * (1 - x)) / (total * (1 - x)))
    )
    return math.sqrt(a * b / (2 * math.pi * total)) * math.exp(exponent)


def deviance(y: float) -> float:
    """Return (1 + y) ln(1 + y) - y for y >= -1, without cancellation near 0."""
    if abs(y) < _SERIES:
        total = 0.0
        for j in range(16, -1, -1):
            total = 1 / ((j + 1) * (j + 2)) - y * total
        return y * y * total
    return (1 + y) * math.log1p(y) - y if y > -1 else 1.0


def _stirling_error(x: float) -> float:
    """Return how much ln x! exceeds Stirling's (x + 1/2) ln x - x + ln(2 pi) / 2."""
    if x < _STIRLING:
        return math.lgamma(x + 1) - (x + 0.5) * math.log(x) + x - math.log(2 * math.pi) / 2
    square = x * x
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / x
