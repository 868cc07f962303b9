"""The exact law of the supports of an answer, slow and obvious: two binomials, folded."""

import math

import numpy as np
from scipy import stats

from deniable import Estimates, Protocol


def support_law(protocol: Protocol, n: int, held: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the supports that n reports can have, but for 10^-12, and their probabilities."""
    p, q = protocol.parameters.p, protocol.parameters.q
    first, terms = _binomial(held, p)
    second, others = _binomial(n - held, q)
    folded = np.convolve(terms, others)
    return np.arange(len(folded)) + first + second, folded


def _binomial(trials: int, chance: float) -> tuple[int, np.ndarray]:
    spread = 8 * math.sqrt(trials * chance * (1 - chance)) + 20
    low = max(0, math.floor(trials * chance - spread))
    high = min(trials, math.ceil(trials * chance + spread))
    return low, stats.binom.pmf(np.arange(low, high + 1), trials, chance)


def estimates_of(
    protocol: Protocol, supports: np.ndarray, n: int, answers: int | None = None
) -> Estimates:
    """Return what these supports lead to, as some of so many answers."""
    counts = (supports - n * protocol.parameters.q) / protocol.parameters.gap
    return Estimates(counts, np.ones(len(counts)), n, 1.0, tested=answers, law=protocol.law(n))
