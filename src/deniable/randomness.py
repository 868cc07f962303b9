"""Where random bytes come from, and how probabilities become integers.

A probability is an integer weight over 2^64, computed with directed rounding from ``decimal``, so
the law that clients run is known to the last bit and never spends more than epsilon. A *word* is
eight random bytes read as a little-endian unsigned integer; it falls below the weight w with
probability exactly w / 2^64.

The default source is the operating system's generator, read anew at every call: nothing is buffered
in the process, so forked workers and threads never share noise.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from deniable.errors import InvalidParameter

Integers = np.typing.NDArray[np.uint64]

WORD = 1 << 64
BULK_WORDS = 1 << 16
"""From this many words on, reports are made in chunks on all cores."""
_CONTEXT = Context(prec=80)
_MARGIN = Decimal(10) ** -75


class Source(Protocol):
    """Anything that gives uniform random bytes."""

    def bytes(self, count: int) -> np.typing.NDArray[np.uint8]:
        """Return ``count`` uniform random bytes."""

    def split(self, count: int) -> "list[Source]":
        """Return independent sources, one for each of ``count`` threads or chunks."""


class OperatingSystem:
    """The operating system's generator, safe across fork and threads."""

    def bytes(self, count: int) -> np.typing.NDArray[np.uint8]:
        return np.frombuffer(os.urandom(count), dtype=np.uint8)

    def split(self, count: int) -> list[Source]:
        """Return the same source: the system's generator is shared safely."""
        return [self] * count


class Seeded:
    """A NumPy generator, for simulation only: anyone who knows the seed can undo the noise."""

    def __init__(self, generator: "np.random.Generator") -> None:
        self._generator = generator

    def bytes(self, count: int) -> np.typing.NDArray[np.uint8]:
        words = self._generator.integers(0, WORD, -(-count // 8), dtype=np.uint64)
        words.setflags(write=False)  # as the operating system's bytes are
        return words.astype("<u8", copy=False).view(np.uint8)[:count]

    def split(self, count: int) -> list[Source]:
        """Return generators seeded from this one, the same whatever the number of threads."""
        seeds = np.frombuffer(self._generator.bytes(32 * count), dtype="<u8").reshape(count, 4)
        return [Seeded(np.random.Generator(np.random.SFC64(seed))) for seed in seeds]


class Replayed:
    """Given bytes, in order: what test vectors and audits feed to a protocol."""

    def __init__(self, data: bytes | np.typing.NDArray[np.uint8]) -> None:
        self._data = np.frombuffer(data, dtype=np.uint8)
        self.position = 0

    def bytes(self, count: int) -> np.typing.NDArray[np.uint8]:
        taken = self._data[self.position : self.position + count]
        if len(taken) < count:
            raise InvalidParameter(
                f"{count} more random bytes are needed and only {len(taken)} are left to replay; "
                "give at least 8 bytes for each word of each report",
                value=len(taken),
            )
        self.position += count
        return taken

    def split(self, count: int) -> list[Source]:
        """Return itself: replayed bytes are read by one reader, in order."""
        return [self] * count


def open_source(rng: "np.random.Generator | Source | None") -> Source:
    """Return the source that ``rng`` stands for: None is the operating system."""
    if rng is None:
        return OperatingSystem()
    if isinstance(rng, np.random.Generator):
        return Seeded(rng)
    if callable(getattr(rng, "bytes", None)) and callable(getattr(rng, "split", None)):
        return rng
    raise InvalidParameter(
        "expected rng to be None, for the operating system, or a numpy.random.Generator, got "
        f"{type(rng).__name__}; for a repeatable simulation pass numpy.random.default_rng(seed)",
        value=rng,
    )


@dataclass(frozen=True)
class Words:
    """The random words that one report takes.

    ``limits`` bounds those that must be uniform below less than 2^64, by position; ``public`` are
    the positions of words that a report shows as they are, such as a hash function.
    """

    count: int = 1
    limits: Mapping[int, int] = field(default_factory=dict)
    public: tuple[int, ...] = ()

    def draw(self, source: Source, rows: int) -> Integers:
        """Draw the words of ``rows`` reports, a row for each.

        All words are read first, row by row; then words at or above their limit are replaced, in
        the same order, by the next words read, until none is left.
        """
        words = source.bytes(8 * rows * self.count).view("<u8").reshape(rows, self.count)
        if not self.limits:
            return words
        columns, bounds = self._bounds
        rejected = words[:, columns] >= bounds
        if True in rejected:
            words = words.copy()
            while True in rejected:
                hits, which = np.nonzero(rejected)
                words[hits, columns[which]] = source.bytes(8 * len(hits)).view("<u8")
                rejected = words[:, columns] >= bounds
        return words

    @cached_property
    def _bounds(self) -> tuple[np.typing.NDArray[np.int64], Integers]:
        """The positions of words with a limit, ascending, and their limits."""
        columns = sorted(self.limits)
        bounds = [self.limits[column] for column in columns]
        return np.array(columns, dtype=np.int64), np.array(bounds, dtype=np.uint64)


class Randomised(Protocol):
    """What makes reports of values and random words: a mechanism."""

    @property
    def words(self) -> Words:
        """The random words that one report takes."""

    def _perturb(self, values: Integers, words: Integers) -> np.typing.NDArray[Any]: ...

    def _privatize_bulk(self, values: Integers, source: Source) -> np.typing.NDArray[Any]: ...


def randomise(
    mechanism: Randomised, values: Integers, rng: "np.random.Generator | Source | None" = None
) -> np.typing.NDArray[Any]:
    """Draw words for each value, which has been checked, and make its report of them."""
    source, n, words = open_source(rng), len(values), mechanism.words
    if n * words.count <= BULK_WORDS or n == 1 or isinstance(source, Replayed):
        return mechanism._perturb(values, words.draw(source, n))
    return mechanism._privatize_bulk(values, source)


@dataclass(frozen=True)
class Uniform:
    """A uniform integer below ``size`` from one word: its leading part, after rejection.

    >>> Uniform(10).of(np.array([0, 2**64 - 7], dtype=np.uint64))
    array([0, 9], dtype=uint64)
    """

    size: int

    @cached_property
    def step(self) -> int:
        """How many words stand for each integer."""
        return WORD // self.size

    @property
    def limits(self) -> dict[int, int]:
        """The limit of a first word that is drawn for this; a power of two needs none."""
        limit = self.step * self.size
        return {0: limit} if limit < WORD else {}

    def of(self, words: Integers) -> Integers:
        """Return the integer that each word, below the limit, stands for."""
        return words // np.uint64(self.step) if self.size > 1 else np.zeros_like(words)


def exponential_bounds(exponent: Fraction | float) -> tuple[Fraction, Fraction]:
    """Return rationals strictly below and above e^exponent, about 1e-75 of it apart.

    >>> low, high = exponential_bounds(1.0)
    >>> float(low), low < high
    (2.718281828459045, True)
    """
    fraction = Fraction(exponent)
    power = _CONTEXT.exp(
        _CONTEXT.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))
    )
    slack = Fraction(1, 10**70)  # the power is off by at most (1 + |exponent|) 1e-79 of it
    return Fraction(power) * (1 - slack), Fraction(power) * (1 + slack)


def log_above(ratio: Fraction) -> float:
    """Return the smallest float that is not below ln(ratio)."""
    if ratio == 1:
        return 0.0
    quotient = _CONTEXT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    exact = _CONTEXT.add(_CONTEXT.ln(quotient), _MARGIN)
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def _too_small(epsilon: float, over: str, instead: str = "") -> InvalidParameter:
    return InvalidParameter(
        f"expected an epsilon that 64-bit probabilities can express over {over}, got {epsilon!r}: "
        f"the true answer would be no likelier than any other; use a larger epsilon{instead}",
        value=epsilon,
    )


@dataclass(frozen=True)
class Weights:
    """Two probabilities p > q, as integers over 2^64."""

    p: int
    q: int

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.p, WORD), Fraction(self.q, WORD)

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.p, self.q)

    def document(self) -> dict[str, object]:
        """Return the weights as a specification has them: strings, since JSON numbers may round."""
        return {"weights": {"p": str(self.p), "q": str(self.q)}}


@dataclass(frozen=True)
class Direct(Weights):
    """Direct encoding over ``size`` values: the true one with weight p, each other with weight q.

    p + (size - 1) q = 2^64, and rounding q up keeps p / q at or below e^epsilon.

    >>> direct = Direct.at(1.0, 2)
    >>> direct.p + direct.q == 2**64, round(direct.p / direct.q, 12)
    (True, 2.718281828459)
    """

    size: int

    @classmethod
    def at(cls, epsilon: float, size: int) -> Self:
        """Return the weights at ``epsilon``, or say that 64 bits cannot express them."""
        low, _ = exponential_bounds(epsilon)
        q = math.ceil(WORD / (low + size - 1))
        p = WORD - (size - 1) * q
        if p <= q:
            raise _too_small(epsilon, f"{size} values", " or local hashing (OLH)")
        return cls(p, q, size)

    def perturb(self, values: Integers, words: Integers) -> Integers:
        """Return (v + k) mod size, k being 0 with weight p and each other with weight q.

        Arithmetic takes the place of branches, so that the work tells nothing.
        """
        p, q, size = np.uint64(self.p), np.uint64(self.q), np.uint64(self.size)
        shifted = values + (words >= p) * ((words - p) // q + np.uint64(1))
        return shifted - size * (shifted >= size)


@dataclass(frozen=True)
class Places:
    """One of ``size`` places is drawn, each of the first ``kept`` with a larger weight.

    Those have the weight ``inside`` and the others ``outside``, w1 and w0, as integers over 2^64:
    w0 = floor(2^64 / (kept E + size - kept)) and w1 = floor(E w0) with E the lower bound of e^eps.
    They add up to L = kept w1 + (size - kept) w0 <= 2^64, and words at or above L are drawn again,
    because for most sizes no weights with w1 / w0 <= e^eps add up to 2^64. Where w0 would be 0,
    beyond epsilon 44 less ln(kept), it is 1, and w1 = floor((2^64 - size + kept) / kept).
    """

    size: int
    kept: int
    inside: int
    outside: int

    @classmethod
    def at(cls, epsilon: float, size: int, kept: int) -> Self:
        """Return the weights at ``epsilon``, or say that 64 bits cannot express them."""
        low, _ = exponential_bounds(epsilon)
        outside = math.floor(WORD / (kept * low + size - kept)) or 1
        inside = min(math.floor(low * outside), (WORD - (size - kept) * outside) // kept)
        if inside <= outside:
            raise _too_small(epsilon, f"{size} places")
        return cls(size, kept, inside, outside)

    @property
    def limit(self) -> int:
        """L, the sum of all weights."""
        return self.kept * self.inside + (self.size - self.kept) * self.outside

    @property
    def worst_ratio(self) -> Fraction:
        """By how much the weights of two places differ."""
        return Fraction(self.inside, self.outside)

    def words_after(self, first: Uniform) -> Words:
        """Return the words of a report: one for a uniform integer, and one for the place."""
        limit = {1: self.limit} if self.limit < WORD else {}
        return Words(2, {**first.limits, **limit})

    def draw(self, words: Integers) -> Integers:
        """Return the place of each word below L.

        Both cases are computed for every word, so that the work tells nothing.
        """
        edge = np.uint64(self.kept * self.inside)
        outside = words >= edge
        near = words // np.uint64(self.inside)
        far = np.uint64(self.kept) + (words - edge) // np.uint64(self.outside)
        return near * ~outside + far * outside

    def shares(self, supported: int, points: int) -> tuple[Fraction, Fraction]:
        """Return p* and q* of reports that support this many of all points, all others alike.

        A report supports p* + (points - 1) q* points on average, hence q*.
        """
        p = Fraction(self.kept * self.inside, self.limit)
        return p, (supported - p) / (points - 1)

    def document(self) -> dict[str, object]:
        return {"weights": {"inside": str(self.inside), "outside": str(self.outside)}}
