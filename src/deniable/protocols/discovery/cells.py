"""Cells: which value of the closed protocol a text has in each piece, and what a tally holds.

With mix and GAMMA of SplitMix64 and the value (first, rest, size) of a text
(``deniable.protocols.discovery.code``)::

    h       = mix((mix(first ^ salt) ^ rest) + size GAMMA)
    bucket  = the first s bits of h
    filled  = first, its bits from ``size`` on replaced by those of mix(h + GAMMA)
    piece j = bucket 2^r + bits [j r, (j + 1) r) of filled          for the m payload pieces
    check i = the first s + r bits of mix(h + (2 + i) GAMMA)        for the c check pieces

A tally holds how many reports each piece has, and on which lines. An honest report falls into any
one line of its piece with probability of at most (g - 1) w1 / (L (g^t - 1)), whatever the text is.
Lines with more reports than that explains, at one in a million a piece, hold copies that honest
people do not make; they are cut to what it explains, and the others are left out of the number of
reports too.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deniable.kernels.hashes import GAMMA, mix
from deniable.kernels.linear import count_keys
from deniable.law.binomial_sum import Chance, upper_quantile
from deniable.law.samples import chi_square_tail
from deniable.protocols.linear import Lines
from deniable.statistics import Statistic, Table, of_form

Integers = np.typing.NDArray[np.int64]
Words = np.typing.NDArray[np.uint64]

RARE = 1e-6
"""The chance that honest reports of a piece are cut, and that honest pieces count as uneven."""
_FEW = 1 << 22
"""Up to this many pairs of a line and a cell are looked at one by one."""

_ONES = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_ZERO = np.uint64(0)


class Layout(NamedTuple):
    """How texts are cut: m payload and c check pieces, s bits of bucket and r bits of a piece."""

    payload: int
    check: int
    bucket_bits: int
    piece_bits: int
    salt: int

    @property
    def pieces(self) -> int:
        """L, how many pieces there are."""
        return self.payload + self.check

    @property
    def length(self) -> int:
        """How many bits of a code the payload holds."""
        return self.payload * self.piece_bits

    def hashes(self, first: Words, size: Words, rest: Words | np.uint64 = _ZERO) -> Words:
        """Return the hash of each text, from which everything that is spread evenly comes."""
        inner = mix(first ^ np.uint64(self.salt)) ^ rest
        return mix(inner + size * GAMMA)

    def filled(self, first: Words, size: Words, hashes: Words) -> Words:
        """Return the first words with what no bit of the code takes filled by the hash."""
        free = np.where(size < 64, _ONES >> np.minimum(size, np.uint64(63)), _ZERO)
        return first | (mix(hashes + GAMMA) & free)

    def buckets(self, hashes: Words) -> Integers:
        return (hashes >> np.uint64(64 - self.bucket_bits)).astype(np.int64)

    def piece(self, filled: Words, j: int) -> Integers:
        """Return the bits of a payload piece."""
        moved = filled >> np.uint64(64 - (j + 1) * self.piece_bits)
        return (moved & np.uint64((1 << self.piece_bits) - 1)).astype(np.int64)

    def cells(self, values: Words) -> Words:
        """Return the cells of values, a row for each with one cell for each piece."""
        first, rest, size = values[:, 0], values[:, 1], values[:, 2]
        h = self.hashes(first, size, rest)
        filled, bucket = self.filled(first, size, h), self.buckets(h) << self.piece_bits
        found = np.empty((len(values), self.pieces), dtype=np.uint64)
        for j in range(self.payload):
            found[:, j] = bucket | self.piece(filled, j)
        shift = np.uint64(64 - self.bucket_bits - self.piece_bits)
        for i in range(self.check):
            step = np.uint64((2 + i) * int(GAMMA) % (1 << 64))
            found[:, self.payload + i] = mix(h + step) >> shift
        return found


@dataclass(frozen=True, eq=False)
class Tables:
    """The pieces of a tally: ``sizes`` are their numbers of reports, without the ``clipped``."""

    lines: Lines
    hits: tuple[tuple[Words, Integers], ...]
    sizes: tuple[int, ...]
    clipped: int

    @property
    def n(self) -> int:
        """How many reports there are, without the clipped."""
        return sum(self.sizes)

    def support(self, piece: int) -> Integers:
        """Return how many reports on a piece support each cell."""
        return self.lines.support(Table(self.lines.cells, *self.hits[piece]))

    def supports(self, piece: int, cells: Integers) -> Integers:
        """Return how many reports on a piece support these cells, without all others if few do."""
        hits, lines = self.hits[piece], self.lines
        if len(hits[0]) * len(cells) > _FEW:
            return self.support(piece)[cells]
        return count_keys(*hits, lines.field, lines.digits, cells.astype(np.uint64))

    @cached_property
    def even(self) -> bool:
        """Whether the lot explains how many reports each piece has, at one in a million."""
        n, pieces = sum(self.sizes), len(self.sizes)
        if not n:
            return True
        square = sum((size - n / pieces) ** 2 for size in self.sizes) * pieces / n
        return chi_square_tail(square, pieces - 1) > RARE


def read(statistic: Statistic, lines: Lines, pieces: int, worst: float) -> Tables:
    """Read the pieces of a tally, each line cut to what honest people can reach.

    ``worst`` is the largest probability that a report has under any text.
    """
    cells, chance = lines.cells - 2, min(1.0, (lines.g - 1) * worst)
    hit, counts = of_form(statistic, Table).hits()
    starts = np.searchsorted(hit, np.arange(pieces + 1) * np.uint64(cells))
    parts, sizes, clipped = [], [], 0
    for j in range(pieces):
        some = slice(int(starts[j]), int(starts[j + 1]))
        own = counts[some]
        n = int(own.sum())
        kept = np.minimum(own, _reach(n, Chance(chance, 1 - chance), cells))
        clipped += n - int(kept.sum())
        parts.append((hit[some] - np.uint64(j * cells), kept))
        sizes.append(int(kept.sum()))
    return Tables(lines, tuple(parts), tuple(sizes), clipped)


def _reach(n: int, chance: Chance, cells: int) -> int:
    """Return how many of n honest reports fall into the fullest line, but for one in a million."""
    return upper_quantile(n, chance, RARE / cells) + 1 if n else 1
