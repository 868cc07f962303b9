"""The binomial law in its tails, where the normal law is no guide."""

from __future__ import annotations

import math


def upper_quantile(trials: int, chance: float, tail: float) -> int:
    """Return the least k that more than k successes exceed with probability of at most ``tail``.

    >>> upper_quantile(1000, 0.5, 0.05), upper_quantile(1000, 0.001, 1e-6)
    (526, 9)
    """
    low, high = -1, trials
    while high - low > 1:
        middle = (low + high) // 2
        if beta_cdf(chance, middle + 1, trials - middle) <= tail:
            high = middle
        else:
            low = middle
    return high


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

    For whole numbers it is the probability of at least a successes in a + b - 1 trials.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    tiny = 1e-300
    fraction, c, d = 1.0, 1.0, 0.0
    for i in range(10_000):
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
    return min(1.0, math.exp(log_front) * (fraction - 1) / a)
