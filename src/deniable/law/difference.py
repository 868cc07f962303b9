"""The difference of two chances, from two binomial counts: Fisher's test and melded intervals.

*Test.* Of n and m trials with the same chance, x and s - x succeed. Given s, whatever the chance,
x has the hypergeometric law: a test by its tail raises false alarms no more often than it says, for
any n and m. If each trial has a chance of its own, with the same mean in both groups, the counts
vary less and the test is only safer (Hoeffding 1956). If one of the four counts is small the tail
is summed term by term. Otherwise the double saddle point (Skovgaard 1987) at half a count less, in
the form r* of Barndorff-Nielsen, is within 1.5 %.

*Limits.* Of n trials x succeed, of m trials y. Clopper and Pearson's limits of one chance are
quantiles of beta variables: of B(x, n - x + 1) below and of B(x + 1, n - x) above. Melded (Fay,
Proschan and Brittain 2015), the upper limit of the difference is the quantile at 1 - tail of

    B(y + 1, m - y) - B(x, n - x + 1)

with independent variables, and the lower limit is the same with the samples exchanged. An interval
holds 0 unless Fisher's exact test finds a change at the same tail. For many trials it is the root
of the squares of Clopper and Pearson's limits.

Since 1 - B(a, b) is B(b, a), this is the quantile of a sum of two variables B(s + 1, N - s), s = y
of N = m and s = n - x of N = n, less 1. If all four parameters are large it follows from their
cumulants (Cornish and Fisher). Otherwise the law is integrated: one variable has a parameter below
40, so that its tail is a sum of fewer than 40 binomial terms, and the other one has its density.
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from deniable.law.normal import Floats, upper_normal

_FEW_COUNTED = 20.0
_MOST_TERMS, _NEGLIGIBLE = 100_000, 1e-12
_SMALL = np.array([math.lgamma(x + 1) - (x * math.log(x or 1) - x) for x in range(10)])
_FEW = 40
"""Below this parameter the law of a sum is integrated."""
_REACH = 10.0
"""What lies beyond this many standard deviations of an angle is neglected."""
_WIDE = 40.0
"""The quantiles lie within this many standard deviations of a sum."""
_BLOCK = 256
_STEPS, _CLOSE = 90, 1e-7


def fisher_tail(x: Floats, n: int | Floats, y: Floats, m: int | Floats) -> Floats:
    """Return the probability of x or more of the x + y successes among the first n trials.

    This is for x / n > y / m; otherwise it returns 1.
    """
    result = np.ones(len(x))
    above = x * m > y * n
    cells = np.array([x, n - x, y, m - y])[:, above]
    tails = np.empty(cells.shape[1])
    few = cells.min(axis=0) < _FEW_COUNTED
    tails[few] = _summed_tail(*cells[:, few])
    tails[~few] = _saddle_point(*cells[:, ~few])
    result[above] = np.minimum(tails, 1.0)
    return result


def _summed_tail(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """Add up the probabilities of this table and of all tables with more in the first cell."""
    term, total = np.ones_like(a), np.ones_like(a)
    for step in range(_MOST_TERMS):
        term = term * ((b - step) * (c - step)).clip(0) / ((a + step + 1) * (d + step + 1))
        total += term
        if np.all(term <= _NEGLIGIBLE * total):
            break
    # Deviances from what the margins lead to expect cancel nothing for large counts.
    margins, whole = (a + b, c + d, a + c, b + d), a + b + c + d
    logs = sum((_stirling(x) for x in margins), np.zeros_like(a)) - _stirling(whole)
    logs -= sum((_stirling(x) for x in (a, b, c, d)), np.zeros_like(a))
    logs -= _deviance(a, b, c, d)
    return np.asarray(np.exp(logs) * total)


def _deviance(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """Return the sum of x ln(x / expected) over the four cells."""
    n, m = a + b, c + d
    yes = (a + c) / (n + m)
    no = (b + d) / (n + m)
    pairs = ((a, n * yes), (b, n * no), (c, m * yes), (d, m * no))
    return sum((_excess(x, mean) for x, mean in pairs), np.zeros_like(a))


def _excess(x: Floats, mean: Floats) -> Floats:
    """Return x ln(x / mean) - x + mean, stable for x near its mean, and for 0."""
    share = (x - mean) / np.where(mean > 0, mean, 1.0)
    logs = np.log1p(np.where(x > 0, share, 0.0))
    return np.asarray(mean * ((1 + share) * logs - share))


def _stirling(x: Floats) -> Floats:
    """Return ln x! - (x ln x - x) of whole numbers, from 10 on by Stirling's series."""
    large = np.maximum(x, 10.0)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / large**2) / large**2) / large**2) / large
    small = _SMALL[np.minimum(x, 9).astype(np.int64)]
    return np.where(x < 10, small, series + np.log(2 * math.pi * large) / 2)


def _saddle_point(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    n, m = a + b, c + d
    variance = (a + c) * (b + d) / (n + m)
    a, b, c, d = a - 0.5, b + 0.5, c + 0.5, d - 0.5
    odds = np.log(a) - np.log(b) - np.log(c) + np.log(d)
    # Half a count may lift a table onto its mean or beyond, where the root would have no sign.
    odds = np.maximum(odds, 1e-9)
    w = np.sqrt(2 * np.maximum(_deviance(a, b, c, d), 1e-12))
    u = 2 * np.sinh(odds / 2) * np.sqrt((a * b / n) * (c * d / m) / variance)
    root = w + np.log(u / w) / w
    found = np.array([math.erfc(z / math.sqrt(2)) / 2 for z in root.tolist()])
    # Near the mean the root has no digits, and needs none.
    return np.where(w < 0.1, 0.5, found)


def with_drawn(shares: Floats, noise: Floats, k: float) -> Floats:
    """Return how far above each share the share in the population may be.

    People were drawn from that population, and their share is known up to the noise. This is
    Wilson's limit e of the draw with the noise added: (e - share)^2 is the square of the noise plus
    k e (1 - e). Nobody is drawn beyond 0 and 1, and near 1 the share itself has more variance than
    the limit.
    """
    inside = shares.clip(0, 1)
    root = np.sqrt(noise**2 * (1 + k) + k * inside * (1 - inside) + k**2 / 4)
    limit = ((inside + k / 2 + root) / (1 + k)).clip(0, 1)
    spread = np.maximum(limit * (1 - limit), inside * (1 - inside))
    return np.asarray(np.sqrt(noise**2 + k * spread))


def upper_limits(x: Floats, n: int, y: Floats, m: int, tail: float) -> Floats:
    """Return the upper limits of the second chance less the first."""
    first, second = Betas(n - x + 1, x), Betas(y + 1, m - y)
    limits = _cornish_fisher(first, second, tail)
    few = np.flatnonzero(np.minimum(first.least, second.least) < _FEW)
    if len(few):
        table = np.array([first.a, first.b, second.a, second.b])[:, few]
        cells, where = np.unique(table, axis=1, return_inverse=True)
        blocks = (cells[:, i : i + _BLOCK] for i in range(0, cells.shape[1], _BLOCK))
        found = [_integrated(Betas(*part[:2]), Betas(*part[2:]), tail) for part in blocks]
        limits[few] = np.concatenate(found)[where.ravel()]
    return limits - 1.0


def chance_limits(x: Floats, n: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return Clopper and Pearson's limits of a chance by which x of n trials succeeded.

    >>> np.round(chance_limits(np.array([3.0]), np.array([9.0]), 0.025), 4).ravel()
    array([0.0749, 0.7007])
    """
    return 1 - _upper_chance(n - x, n, tail), _upper_chance(x, n, tail)


def _upper_chance(x: Floats, n: Floats, tail: float) -> Floats:
    found, certain = Betas(x + 1, n - x), Betas(np.full_like(x, 2.0), np.zeros_like(x))
    limits = _cornish_fisher(certain, found, tail)
    few = np.flatnonzero(found.least < _FEW)
    for start in range(0, len(few), _BLOCK):
        rows = few[start : start + _BLOCK]
        limits[rows] = _integrated(
            Betas(certain.a[rows], certain.b[rows]), Betas(found.a[rows], found.b[rows]), tail
        )
    return limits - 1.0


@dataclass(frozen=True)
class Betas:
    """Beta variables B(a, b), one for each row; those with b = 0 are 1."""

    a: Floats
    b: Floats

    @property
    def least(self) -> Floats:
        return np.minimum(self.a, self.b)

    @cached_property
    def mean(self) -> Floats:
        return self.a / (self.a + self.b)

    @cached_property
    def variance(self) -> Floats:
        total = self.a + self.b
        return self.mean * (self.b / total) / (total + 1)

    @cached_property
    def higher(self) -> tuple[Floats, Floats]:
        a, b = self.a, np.maximum(self.b, 1.0)
        total = a + b
        skewness = 2 * (b - a) / (total + 2) * np.sqrt((total + 1) / a / b)
        excess = (a - b) ** 2 / a / b * (total + 1) - (total + 2)
        excess *= 6 / (total + 2) / (total + 3)
        return skewness * self.variance**1.5, excess * self.variance**2

    @cached_property
    def peak(self) -> Floats:
        """The mode of the angle whose squared sine is the variable."""
        return np.arctan2(np.sqrt(2 * self.a - 1), np.sqrt(np.maximum(2 * self.b - 1, 0.0)))

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """The angles between which the variable lies, except for a negligible part."""
        reach = np.where(self.b > 0, _REACH / 2 / np.sqrt(self.a + self.b - 1), 0.0)
        return (
            np.maximum(self.peak - reach, 0.0),
            np.where(self.b > 0, np.minimum(self.peak + reach, math.pi / 2), math.pi / 2),
        )

    def density(self, angles: Floats) -> Floats:
        """Return the densities of angles, by rows, relative to the largest."""
        a, b, peak = (each[:, None] for each in (self.a - 0.5, self.b - 0.5, self.peak))
        moved = np.sin(angles - peak) * np.sin(angles + peak)
        up = np.maximum(moved / np.sin(peak) ** 2, -1.0)
        down = np.minimum(moved / np.cos(peak) ** 2, 1.0)
        with np.errstate(divide="ignore"):
            logs = a * (np.log1p(up) - up) + b * (np.log1p(-down) + down)
        return np.asarray(np.exp(logs))

    @cached_property
    def mass(self) -> Floats:
        """The integral of ``density``."""
        pieces = ((self.ends[0], self.peak), (self.peak, self.ends[1]))
        return np.asarray(sum(_panel(self, *ends)[1].sum(axis=1) for ends in pieces))

    def above(self, values: Floats) -> Floats:
        """Return the probabilities of exceeding values, by rows; one parameter is small."""
        turned = (self.b < self.a)[:, None]
        few = np.minimum(self.a, self.b)[:, None]
        trials = (self.a + self.b)[:, None] - 1
        yes = np.clip(np.where(turned, 1 - values, values), 0.0, 1.0 - 1e-16)
        # The probability of fewer than ``few`` successes, term by term.
        term = np.exp(trials * np.log1p(-yes))
        odds, total = yes / (1 - yes), np.where(few > 0, term, 0.0)
        for i in range(1, int(few.max(initial=0))):
            term = term * odds * ((trials - i + 1) / i)
            total += np.where(i < few, term, 0.0)
        return np.where(turned, 1 - total, total)


def _cornish_fisher(first: Betas, second: Betas, tail: float) -> Floats:
    """Return quantiles of the sums from four cumulants."""
    variance = np.maximum(first.variance + second.variance, 1e-100)
    third, fourth = (one + other for one, other in zip(first.higher, second.higher, strict=True))
    z, spread = upper_normal(tail), np.sqrt(variance)
    skewness, excess = third / (variance * spread), fourth / variance**2
    bend = skewness * (z**2 - 1) / 6 + excess * (z**3 - 3 * z) / 24
    bend -= skewness**2 * (2 * z**3 - 5 * z) / 36
    return np.asarray(first.mean + second.mean + spread * (z + bend))


def _integrated(first: Betas, second: Betas, tail: float) -> Floats:
    """Return quantiles of the sums by their law, with bisection and interpolation in turn."""
    swap = second.least < first.least
    counted = Betas(np.where(swap, second.a, first.a), np.where(swap, second.b, first.b))
    certain = np.where(swap, first.b, second.b) == 0  # then both are 1
    other = Betas(np.where(swap, first.a, second.a), np.where(swap, first.b, second.b) + certain)
    mean, spread = first.mean + second.mean, np.sqrt(first.variance + second.variance)
    low, high = np.maximum(mean - _WIDE * spread, 0.0), np.minimum(mean + _WIDE * spread, 2.0)
    left, right = np.full(len(low), 1.0 - tail), np.full(len(low), -tail)
    for step in range(_STEPS):
        share = np.clip(left / (left - right), 0.01, 0.99) if step % 3 else 0.5
        middle = low + share * (high - low)
        found = _above(counted, other, middle) - tail
        short = found > 0
        low, left = np.where(short, middle, low), np.where(short, found, left)
        high, right = np.where(short, high, middle), np.where(short, right, found)
        if np.all(high - low <= _CLOSE * spread):
            break
    return np.where(certain, 2.0, high)


def _above(counted: Betas, other: Betas, sums: Floats) -> Floats:
    """Return the probabilities of larger sums, integrated over the angle of the other variable.

    Up to one angle even the largest value of the counted variable is too small; from another one
    on the smallest is enough; between them its tail counts.
    """
    start, end = other.ends
    least, most = (np.sin(angle) ** 2 for angle in counted.ends)
    never, always = (
        np.clip(np.arcsin(np.sqrt(np.clip(sums - value, 0.0, 1.0))), start, end)
        for value in (most, least)
    )
    angles, parts = _panel(other, never, always)
    between = (parts * counted.above(sums[:, None] - np.sin(angles) ** 2)).sum(axis=1)
    middle = np.clip(other.peak, always, end)
    rest = sum(_panel(other, *ends)[1].sum(axis=1) for ends in ((always, middle), (middle, end)))
    return np.asarray((between + rest) / other.mass)


def _panel(betas: Betas, start: Floats, end: Floats) -> tuple[Floats, Floats]:
    """Return the angles of the Gauss-Legendre rule, by rows, and their contributions."""
    half = ((end - start) / 2)[:, None]
    nodes, weights = _gauss_legendre()
    angles = start[:, None] + half * (1 + nodes)
    return angles, half * weights * betas.density(angles)


@cache
def _gauss_legendre() -> tuple[Floats, Floats]:
    """Return 40 nodes and weights; NumPy's polynomials are loaded only where they are needed."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    return nodes, weights
