"""Intervals of counts from the law of their supports, by inversion.

An interval holds each k of which the support is in neither tail. Where the law at its end has a
variance of more than 100 the end is the score interval's with half a report for the continuity and
(z^2 - 1) / 6 times the skewness (Cornish and Fisher), else the exact end. Beyond 0 and n, where
there are no counts to accept, the law of 0 or n is shifted, so that an interval stays an interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.law.normal import Floats, upper_normal
from deniable.law.sums import FEW, at_least, upper_quantile

if TYPE_CHECKING:
    from deniable.law.support import SupportLaw

_MANY = 1e6
"""From this variance on the skewness is not worth its time."""
_BLOCK = 1 << 14
_NEIGHBOURS = 128
_SAMPLE = 4096


@dataclass(frozen=True)
class Inverse:
    """The end of an interval as a function of the support."""

    law: SupportLaw
    tail: float

    def upper(self, supports: Floats) -> Floats:
        """Return the largest counts that the supports are not too small for.

        Who do not hold the answer are those who hold its opposite, which the others support.
        """
        mirrored = Inverse(self.law.flipped(), self.tail)
        return self.law.n - mirrored.lower(self.law.n - supports)

    def lower(self, supports: Floats) -> Floats:
        """Return the smallest counts that the supports are not too large for."""
        law = self.law
        ends = self._normal(supports)
        if min(law.supported.variance, law.by_chance.variance) * law.n > FEW:
            return ends
        held = np.clip(ends, 0, law.n)
        few = np.flatnonzero(
            held * law.supported.variance + (law.n - held) * law.by_chance.variance <= FEW
        )
        if len(few):
            values, where = np.unique(supports[few], return_inverse=True)
            ends[few] = self._exact(values)[where]
        return ends

    def _normal(self, supports: Floats) -> Floats:
        law, z = self.law, upper_normal(self.tail)
        moved = supports - law.mean
        moved = moved - 0.5 - (z**2 - 1) / 6 * self._skewness(moved)
        moved = moved / law.gap
        return law.variance.score_end(moved, -z)

    def _skewness(self, excess: Floats) -> Floats | float:
        """Return the ratios of the third to the second cumulants of the supports."""
        law, p, q = self.law, self.law.supported, self.law.by_chance
        if min(p.variance, q.variance) * law.n > _MANY:
            return q.no - q.yes  # any value would do: it is at most 1, against 1000
        share = np.clip(excess / (law.gap * law.n), 0.0, 1.0)
        second = q.variance + share * (p.variance - q.variance)
        third = q.variance * (q.no - q.yes) * (1 - share) + p.variance * (p.no - p.yes) * share
        return np.asarray(third / np.maximum(second, 1e-300))

    def _exact(self, supports: Floats) -> Floats:
        law = self.law
        first = float(upper_quantile(law.n, law.by_chance, self.tail))
        last = float(upper_quantile(law.n, law.supported, self.tail))
        ends = np.where(supports <= first, 0.0, float(law.n))
        ends += (supports - np.where(supports <= first, first, last)) / law.gap
        between = np.flatnonzero((supports > first) & (supports <= last))
        # Neighbours have like variances, which decide how many terms there are.
        for start in range(0, len(between), _NEIGHBOURS):
            rows = between[start : start + _NEIGHBOURS]
            ends[rows] = self._search(supports[rows])
        return ends

    def _search(self, supports: Floats) -> Floats:
        """Return the smallest k of which each support is not in the upper tail, by bisection."""
        law = self.law
        guess = np.clip(np.ceil(self._normal(supports)), 1, law.n)
        step = np.maximum(1.0, np.ceil(0.1 * (supports - law.mean) / law.gap - 0.1 * guess))
        low, high = np.maximum(guess - step, 0.0), np.minimum(guess + step, float(law.n))
        while np.any(short := self._accepted(low, supports) & (low > 0)):
            high = np.where(short, low, high)
            low, step = np.where(short, np.maximum(low - step, 0.0), low), 2 * step
        while np.any(short := ~self._accepted(high, supports) & (high < law.n)):
            low = np.where(short, high, low)
            high = np.where(short, np.minimum(high + step, float(law.n)), high)
            step = 2 * step
        while len(rows := np.flatnonzero(high - low > 1)):
            middle = np.floor((low[rows] + high[rows]) / 2)
            fits = self._accepted(middle, supports[rows])
            high[rows[fits]], low[rows[~fits]] = middle[fits], middle[~fits]
        return np.asarray(high)

    def _accepted(self, held: Floats, supports: Floats) -> npt.NDArray[np.bool_]:
        law = self.law
        return at_least(law.n, held, supports, law.supported, law.by_chance) > self.tail


def by_value(supports: Floats, *ends: Callable[[Floats], Floats]) -> list[Floats]:
    """Return each end of each support; where many are equal, each is computed once."""
    start, size = _crowded(supports)
    if size == 0:
        return [_by_blocks(supports, end) for end in ends]
    places = (supports - start).astype(np.int64)
    outside = np.flatnonzero((places < 0) | (places >= size))
    places[outside] = size
    present = np.flatnonzero(np.bincount(places, minlength=size + 1)[:size])
    found = []
    for end in ends:
        table = np.empty(size + 1)
        table[present] = end(present.astype(np.float64) + start)
        values = table[places]
        values[outside] = _by_blocks(supports[outside], end)
        found.append(values)
    return found


def _by_blocks(supports: Floats, end: Callable[[Floats], Floats]) -> Floats:
    """Compute the ends in blocks that stay in the processor's caches."""
    found = np.empty(len(supports))
    for i in range(0, len(supports), _BLOCK):
        found[i : i + _BLOCK] = end(supports[i : i + _BLOCK])
    return found


def _crowded(supports: Floats) -> tuple[float, int]:
    """Return the start and the size of a range that holds most supports, each many times.

    The size is 0 where there is none. A few frequent answers have supports far from all others.
    """
    if len(supports) == 0:
        return 0.0, 0
    low, high = float(supports.min()), float(supports.max())
    if high - low < len(supports):
        return low, int(high - low) + 1
    sample = supports[:: len(supports) // _SAMPLE + 1]
    first, last = np.quantile(sample, [0.01, 0.99])
    margin = last - first + 1
    first, last = np.floor(first - margin), np.ceil(last + margin)
    return (float(first), int(last - first)) if last - first < len(supports) / 4 else (0.0, 0)
