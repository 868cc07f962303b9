"""The binomial law in its tails, where the normal law is no guide.

All terms come from deviances, b ((1 + y) ln(1 + y) - y) with y = a / b - 1, and not from the
differences of large logarithms that factorials are (Loader, "Fast and Accurate Computation of
Binomial Probabilities", 2000): so they keep their digits for 10^18 trials.
"""

from __future__ import annotations

import math

_SERIES = 0.1
_STIRLING = 15.0


def upper_tail(trials: float, chance: float, least: float) -> float:
    """Return the probability of at least so many successes, exact to the last digits of a float.

    >>> upper_tail(10, 0.5, 9) * 1024
    11.0...
    """
    if least <= 0 or least > trials:
        return float(least <= 0)
    return beta_cdf(chance, least, trials - least + 1)


def clopper_pearson(successes: int, trials: int, failure: float) -> tuple[float, float]:
    """Return exact limits of a probability, each wrong with probability of at most ``failure``.

    >>> low, high = clopper_pearson(50, 100, 0.025)
    >>> round(low, 4), round(high, 4)
    (0.3983, 0.6017)
    """
    low = 0.0 if successes == 0 else _beta_quantile(failure, successes, trials - successes + 1)
    high = (
        1.0
        if successes == trials
        else _beta_quantile(1 - failure, successes + 1, trials - successes)
    )
    return low, high


def _beta_quantile(probability: float, a: float, b: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if beta_cdf(middle, a, b) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by Lentz's continued fraction.

    For whole numbers it is the probability of at least a successes in a + b - 1 trials. The
    fraction takes about as many steps as the law has standard deviations in trials; beyond 10^4
    of them use ``deniable.law.sums``.
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
