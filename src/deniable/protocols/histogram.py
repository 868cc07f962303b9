"""Histogram encoding (HE): a report is a noisy histogram of one person's answer.

Encode   v -> B, the histogram with 1 at v and 0 elsewhere
Perturb  B'[i] = B[i] + Lap(2 / eps), on a grid of 1/16
Support  SHE: none, the noisy histograms are summed, which fits p* = 1 and q* = 0;
         THE: {i : B'[i] > theta}, hence p* = 1 - F(theta - 1) and q* = 1 - F(theta)
Privacy  two histograms differ by 1 in two places, each costs eps / 2          [thm:hist-ldp]
         (docs/proofs.md#histogram-encoding)

Floating-point Laplace noise is not private: which floats can be sums of 1 and a noise differs from
which can be noises, and one report can give the value away (Mironov 2012). SHE therefore draws
from a table of integer weights on the grid, built so that every ratio of weights is exactly at most
e^(eps/2), the mean is exactly 0 and the total is exactly 2^64. THE only ever sends the thresholded
bits, so it is unary encoding with other p and q, and because thresholding discards information its
``realised_epsilon`` is well below ``epsilon``.

Random bytes, SHE: d words. With y running over the grid from -J to J + 16 and W[y] its weights,
word r[i] picks the y with W[-J] + ... + W[y - 1] <= r[i] < W[-J] + ... + W[y]; the report holds y
where i != v, and 16 - y where i = v. THE: as unary encoding.

A report of SHE is d signed integers in units of 1/16, of 2 bytes where J + 16 < 2^15, else of 4;
the counts of its tally, their sums, are in units of 1/16 too. J is the ``reach`` of the
specification, which has all that it takes to rebuild W: docs/formats.md says how.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from operator import mul
from typing import Self

import numpy as np

from deniable.candidates import Chosen
from deniable.errors import InvalidParameter, InvalidReport
from deniable.estimates import Estimates
from deniable.kernels.parallel import run_chunks
from deniable.law import Apart, LaplaceLaw
from deniable.law.counts import UNIT
from deniable.mechanism import Reports
from deniable.protocol import Closed, Share
from deniable.protocols.unary import _Unary
from deniable.randomness import WORD, Integers, Source, Weights, Words, exponential_bounds
from deniable.statistics import Counts, checked_sum, of_form
from deniable.tally import Counted, Tally
from deniable.validation import Footprint, check_number, check_shares

_SCALE, _TAIL_BITS = 128, 50
_MIN_EPSILON, _MIN_THRESHOLDED = 1e-2, 1e-12
_MAX_VALUES = 1 << 28
_CHUNK = 1 << 18
_OPEN = 1 << 30


@lru_cache(maxsize=8)
def laplace_weights(epsilon: float) -> tuple[int, ...]:
    """Return the weights W[-J], ..., W[J + 16] of the noise on the grid, over 2^64.

    W[-j] falls off as e^(-j eps / 32) and W[16 + j] = ceil(W[-j] e^(-eps/2)), so that the ratio of
    the two, the only one that the privacy of y <= 0 and y >= 16 rests on, is at most e^(eps/2).
    The values in between have slack: two of them absorb what rounding and the cut tails left over,
    so that the total is exactly 2^64 and the mean exactly 0.
    """
    one, tail, (decay, half) = 1 << _SCALE, _reach(epsilon), _ratios(epsilon)
    mass = one * (one - decay) // (one + decay)
    masses = [mass]
    for _ in range(tail):
        mass = mass * decay >> _SCALE
        masses.append(mass)
    below = [max(1, m >> (_SCALE - 64)) for m in masses]
    below[tail] = max(1, (mass << 64) // (one - decay))  # everything beyond the grid lands here
    above = [-(-w * half >> _SCALE) for w in below]
    inside = [max(1, m >> (_SCALE - 64)) for m in masses[1:UNIT]]
    weights = [*reversed(below), *inside, *above]
    lacking = WORD - sum(weights)
    moment = sum((i - tail) * w for i, w in enumerate(weights))
    middle = UNIT // 2
    to_middle = -moment - (middle - 1) * lacking
    weights[tail + middle] += to_middle
    weights[tail + middle - 1] += lacking - to_middle
    return tuple(weights)


def _ratios(epsilon: float) -> tuple[int, int]:
    """Return e^(-eps/32), rounded down, and e^(-eps/2), rounded up, in units of 2^-128."""
    step, _ = exponential_bounds(-Fraction(epsilon) / (2 * UNIT))
    _, half = exponential_bounds(-Fraction(epsilon) / 2)
    return math.floor(step * (1 << _SCALE)), math.ceil(half * (1 << _SCALE))


def _reach(epsilon: float) -> int:
    """Return J, the largest noise below zero, in grid steps: the weights themselves take longer."""
    return max(UNIT, math.ceil(_TAIL_BITS * math.log(2) * 2 * UNIT / epsilon))


@dataclass(frozen=True)
class SHE(Closed, Counted):
    """Summation with histogram encoding: the baseline that central noise would suggest.

    >>> round(SHE(epsilon=1.0, domain_size=4).variance(1), 2)
    8.0
    """

    epsilon: float
    domain_size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon < _MIN_EPSILON:
            raise InvalidParameter(
                f"expected epsilon of at least {_MIN_EPSILON} for SHE, got {self.epsilon!r}: its "
                "table of noise weights would be too long; use OUE, which is better at every "
                "epsilon",
                value=self.epsilon,
            )
        if self.domain_size > _MAX_VALUES:
            raise InvalidParameter(
                f"expected at most {_MAX_VALUES} values for SHE, got {self.domain_size}: a report "
                "holds a number for each; use OLH, whose report is one integer",
                value=self.domain_size,
            )

    @property
    def _reach(self) -> int:
        return _reach(self.epsilon)

    @cached_property
    def _cumulative(self) -> Integers:
        """The upper ends of all intervals of words but the last."""
        weights = np.array(laplace_weights(self.epsilon)[:-1], dtype=np.uint64)
        return np.cumsum(weights, dtype=np.uint64)

    @cached_property
    def worst_ratio(self) -> Fraction:
        weights = laplace_weights(self.epsilon)
        pairs = zip(weights, reversed(weights), strict=True)  # a true bit mirrors the grid
        best, other = 1, 1
        for weight, mirrored in pairs:
            if weight * other > best * mirrored:
                best, other = weight, mirrored
        return Fraction(best, other) ** 2

    @cached_property
    def report_dtype(self) -> np.dtype[np.generic]:
        small = self._reach + UNIT < 1 << 15
        return np.dtype(("<i2" if small else "<i4", (self.domain_size,)))

    @cached_property
    def words(self) -> Words:
        return Words(self.domain_size)

    def _details(self) -> dict[str, object]:
        """Give the constants from which integers alone rebuild the table of weights."""
        decay, half = _ratios(self.epsilon)
        weights = {"decay": str(decay), "half": str(half)}
        return {"unit": UNIT, "reach": self._reach, "weights": weights}

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        noise = np.searchsorted(self._cumulative, words, side="right") - self._reach
        true = np.arange(self.domain_size, dtype=np.uint64) == values[:, None]
        # Mirrored by arithmetic, which leaves no branch on which value is the true one.
        mirrored = noise + true * (UNIT - 2 * noise)
        return np.asarray(mirrored, dtype=self.report_dtype.base)

    @cached_property
    def _table(self) -> np.typing.NDArray[np.int32]:
        """The noise that the first 16 bits of a word decide, or _OPEN where they do not."""
        firsts = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
        lasts = firsts | np.uint64((1 << 48) - 1)
        low, high = (np.searchsorted(self._cumulative, w, side="right") for w in (firsts, lasts))
        return np.where(low == high, low - self._reach, _OPEN).astype(np.int32)

    def _privatize_bulk(self, values: Integers, source: Source) -> Reports:
        """Draw 16 bits of each word first, and the other 48 only where they matter."""
        chunk = max(1, _CHUNK // self.domain_size)
        sources = source.split(-(-len(values) // chunk))
        reports = np.empty(len(values), dtype=self.report_dtype)

        def fill(start: int, stop: int) -> None:
            part, own = reports[start:stop], sources[start // chunk]
            leading = own.bytes(2 * part.size).view("<u2")
            noise = self._table[leading]
            places = np.flatnonzero(noise == _OPEN)
            further = own.bytes(8 * len(places)).view("<u8") >> np.uint64(16)
            words = leading[places].astype(np.uint64) << np.uint64(48) | further
            drawn = np.searchsorted(self._cumulative, words, side="right")
            noise[places] = drawn - self._reach
            part[:] = noise.reshape(part.shape)
            rows, true = np.arange(stop - start), values[start:stop].astype(np.int64)
            part[rows, true] = UNIT - part[rows, true]

        run_chunks(fill, len(values), chunk)
        return reports

    def _validate(self, reports: Reports) -> None:
        if reports.size == 0:
            return
        low, high = int(reports.min()), int(reports.max())
        if low < -self._reach or high > self._reach + UNIT:
            raise InvalidReport(
                f"expected noisy counts from {-self._reach} to {self._reach + UNIT} grid steps, "
                f"got {low} to {high}; check that the sender answers the same question",
                value=(low, high),
            )

    def _count(self, reports: Reports) -> np.typing.NDArray[np.int64]:
        """Sum the noisy histograms, in grid steps of 1/16."""
        return np.asarray(reports.sum(axis=0, dtype=np.int64))

    def _add_counts(self, reports: Reports, total: np.typing.NDArray[np.int64]) -> None:
        """Add a batch; 16 steps a person fill 64 bits from 5.7e17 people on, which is refused."""
        total[:] = checked_sum(total, self._count(reports))

    def _estimate(self, tally: Tally, chosen: Chosen) -> Estimates:
        """Take the sums for the counts: the noise has the mean 0."""
        counts = of_form(tally.statistic, Counts).values / UNIT
        error = math.sqrt(tally.n * self._report_variance)
        errors = np.full(len(counts), error)
        joint = Apart(error**2)
        return Estimates(counts, errors, tally.n, error, law=self.law(tally.n), joint=joint)

    def influence(self, values: Sequence[int]) -> float:
        """Return J / 16 + 1 people for each of the values: the largest noise, and one person."""
        return len(self._check_values(list(values))) * (self._reach + UNIT) / UNIT

    def law(self, n: int) -> LaplaceLaw:
        return LaplaceLaw(n, self.epsilon)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return small instances; the noise table of a small epsilon is long."""
        return [cls(2.0, 3), cls(4.0, 4)]

    @property
    def _footprint(self) -> Footprint:
        """A report adds to each number from -J to J + 16 grid steps."""
        return Footprint(self.domain_size, -self._reach, self._reach + UNIT)

    @cached_property
    def _report_variance(self) -> float:
        squares = (y * y for y in range(-self._reach, self._reach + UNIT + 1))
        second = sum(map(mul, squares, laplace_weights(self.epsilon)))
        return float(Fraction(second, WORD * UNIT**2))

    def variance(self, n: int, share: Share = 0.0) -> Share:
        """Return the variance of an estimated count, the same for every share: n 8 / eps^2.

        [thm:hist], where the paper writes the Laplace variance with its scale inverted.
        """
        shares = check_shares(n, share)
        result = n * self._report_variance * np.ones_like(shares)
        return float(result) if np.ndim(result) == 0 else result


@dataclass(frozen=True)
class THE(_Unary):
    """Thresholding with histogram encoding: only which noisy counts are above theta is sent.

    ``theta=None`` takes the threshold that minimises the variance; the paper's tables use 1.

    >>> round(THE(epsilon=1.0, domain_size=32, theta=1.0).variance(1), 2)
    5.46
    >>> 0.5 < THE(epsilon=1.0, domain_size=32).theta < 1
    True
    """

    epsilon: float
    domain_size: int
    theta: float | None = None

    def __post_init__(self) -> None:
        Closed.__post_init__(self)
        if self.epsilon < _MIN_THRESHOLDED:
            raise InvalidParameter(
                f"expected epsilon of at least {_MIN_THRESHOLDED:g} for THE, got "
                f"{self.epsilon!r}: no threshold would tell a true count from noise; 1 or 2 is "
                "usual",
                value=self.epsilon,
            )
        theta = best_threshold(self.epsilon) if self.theta is None else self.theta
        if not abs(check_number("theta", theta, "None takes the best one")) <= 1e3:
            raise InvalidParameter.expected(
                "theta as a number near (1/2, 1)", theta, "None takes the best one"
            )
        object.__setattr__(self, "theta", float(theta))
        self._check_weights()

    @cached_property
    def _weights(self) -> Weights:
        theta = Fraction(0 if self.theta is None else self.theta)
        p_low, _ = _upper_tail(Fraction(self.epsilon) / 2, theta - 1)
        _, q_high = _upper_tail(Fraction(self.epsilon) / 2, theta)
        return Weights(math.floor(p_low * WORD), math.ceil(q_high * WORD))


def _upper_tail(rate: Fraction, x: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals below and above 1 - F(x) for the Laplace law with the given rate."""
    low, high = exponential_bounds(-rate * abs(x))
    return (low / 2, high / 2) if x >= 0 else (1 - high / 2, 1 - low / 2)


@lru_cache(maxsize=256)
def best_threshold(epsilon: float) -> float:
    """Return the theta in (1/2, 1) that minimises Var* [eq:ohe:var], to nine digits."""

    def variance(theta: float) -> float:
        p = 1 - math.exp(epsilon / 2 * (theta - 1)) / 2
        q = math.exp(-epsilon / 2 * theta) / 2
        return q * (1 - q) / (p - q) ** 2

    low, high = 0.5, 1.0
    shrink = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - shrink * (high - low), low + shrink * (high - low)
        if variance(left) < variance(right):
            high = right
        else:
            low = left
    return round((low + high) / 2, 9)
