"""Limits of the difference of two chances, from two binomial counts: melded intervals.

Of n trials x succeed, of m trials y. The limits of each chance by itself are Clopper and Pearson's,
which are quantiles of beta variables: of B(x, n - x + 1) below and of B(x + 1, n - x) above. Melded
(Fay, Proschan and Brittain 2015), the upper limit of the difference is the quantile at 1 - tail of

    B(y + 1, m - y) - B(x, n - x + 1)

with independent variables, and the lower limit is the same with the samples exchanged. An interval
holds 0 unless Fisher's exact test (``deniable.law.contrast``) finds a change at the same tail. For
many trials it is the root of the squares of Clopper and Pearson's limits.

Since 1 - B(a, b) is B(b, a), this is the quantile of a sum of two variables B(s + 1, N - s), s = y
of N = m and s = n - x of N = n, less 1. Where all four parameters are large it follows from their
cumulants (Cornish and Fisher). Elsewhere the law is integrated: one variable has a parameter below
40, so that its tail is a sum of fewer than 40 binomial terms, and the other one has its density.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.law.normal import Floats, upper_normal

_FEW = 40
"""Below this parameter the law is integrated."""
_REACH = 10.0
"""Nothing is looked for beyond so many standard deviations of an angle."""
_WIDE = 40.0
"""The quantiles lie within so many standard deviations of a sum."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_BLOCK = 256
_STEPS = 90
_CLOSE = 1e-7


def upper_limits(x: Floats, n: int, y: Floats, m: int, tail: float) -> Floats:
    """Return the upper limits of the second chance less the first.

    >>> upper_limits(np.array([0.0]), 1, np.array([1.0]), 1, 0.025)
    array([1.])
    >>> upper_limits(np.array([30.0]), 50, np.array([20.0]), 50, 0.025).round(4)
    array([0.0155])
    """
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


@dataclass(frozen=True)
class Betas:
    """Beta variables B(a, b), as many as there are rows; those whose b is 0 are 1."""

    a: Floats
    b: Floats

    @property
    def least(self) -> Floats:
        """The smaller parameter."""
        return np.minimum(self.a, self.b)

    @cached_property
    def mean(self) -> Floats:
        """The means."""
        return self.a / (self.a + self.b)

    @cached_property
    def variance(self) -> Floats:
        """The variances."""
        total = self.a + self.b
        return self.mean * (self.b / total) / (total + 1)

    @cached_property
    def higher(self) -> tuple[Floats, Floats]:
        """The third and fourth cumulants."""
        a, b = self.a, np.maximum(self.b, 1.0)
        total = a + b
        skewness = 2 * (b - a) / (total + 2) * np.sqrt((total + 1) / a / b)
        excess = (a - b) ** 2 / a / b * (total + 1) - (total + 2)
        excess *= 6 / (total + 2) / (total + 3)
        return skewness * self.variance**1.5, excess * self.variance**2

    @cached_property
    def peak(self) -> Floats:
        """Where the density of the angle, whose squared sine the variable is, is largest."""
        return np.arctan2(np.sqrt(2 * self.a - 1), np.sqrt(np.maximum(2 * self.b - 1, 0.0)))

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """The angles between which the variable lies, but for what is negligible."""
        reach = np.where(self.b > 0, _REACH / 2 / np.sqrt(self.a + self.b - 1), 0.0)
        return (
            np.maximum(self.peak - reach, 0.0),
            np.where(self.b > 0, np.minimum(self.peak + reach, math.pi / 2), math.pi / 2),
        )

    def density(self, angles: Floats) -> Floats:
        """Return the densities of angles, by rows, each relative to the largest."""
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
        """Return the probabilities of more than the values, by rows; one parameter is small."""
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
    """Return quantiles of the sums by their law, by bisection and the rule of three in turns."""
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

    Up to one angle even the largest value of the counted variable is too small, from another one
    on the smallest will do, and between them its tail is asked for.
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
    """Return the angles of Gauss and Legendre's rule, by rows, and what each contributes."""
    half = ((end - start) / 2)[:, None]
    angles = start[:, None] + half * (1 + _NODES)
    return angles, half * _WEIGHTS * betas.density(angles)
