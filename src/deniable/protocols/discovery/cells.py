"""Cells: which value of the closed protocol a text has in each piece.

With mix and GAMMA of SplitMix64 and the value (first, rest, size) of a text
(``deniable.protocols.discovery.code``)::

    h       = mix((mix(first ^ salt) ^ rest) + size GAMMA)
    bucket  = the first s bits of h
    filled  = first, its bits from ``size`` on replaced by those of mix(h + GAMMA)
    piece j = bucket 2^r + bits [j r, (j + 1) r) of filled          for the m payload pieces
    check i = the first s + r bits of mix(h + (2 + i) GAMMA)        for the c check pieces
"""

from typing import NamedTuple

import numpy as np

from deniable.kernels.hashes import GAMMA, mix

Words = np.typing.NDArray[np.uint64]

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

    def buckets(self, hashes: Words) -> np.typing.NDArray[np.int64]:
        return (hashes >> np.uint64(64 - self.bucket_bits)).astype(np.int64)

    def piece(self, filled: Words, j: int) -> np.typing.NDArray[np.int64]:
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
