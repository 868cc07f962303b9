"""The exact law of the supports of an answer, slow and obvious, and the normal law beside it."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import stats

from deniable import Estimates, Protocol
from deniable.auditing.report_law import Law as ReportLaw
from deniable.law import Law, Variance, upper_normal


def total_chance(law: ReportLaw) -> Fraction:
    """Return the probability of all reports of a law together, which has to be exactly 1."""
    sums = (Fraction(sum(w.values()), t) for w, t in zip(law.weights, law.totals, strict=True))
    return math.prod(sums, start=Fraction(1))


@dataclass(frozen=True)
class NormalLaw(Law):
    """Decisions by the normal law: the score interval and the paper's threshold T_s."""

    variance: Variance

    def interval(self, counts: np.ndarray, tail: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the score interval of each count."""
        z = upper_normal(tail)
        return self.variance.score_end(counts, -z), self.variance.score_end(counts, z)

    def threshold(self, tail: float) -> float:
        """Return what a count that nobody gave exceeds with probability ``tail``. [sec:eval]."""
        return upper_normal(tail) * math.sqrt(self.variance.none)


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
