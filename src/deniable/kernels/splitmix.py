"""SplitMix64 in NumPy: public pseudo-random words that every implementation computes alike.

    mix(z):  z ^= z >> 30;  z *= 0xBF58476D1CE4E5B9
             z ^= z >> 27;  z *= 0x94D049BB133111EB;  return z ^ (z >> 31)        (mod 2^64)
    word(seed, i) = mix(mix(seed) + (i + 1) 0x9E3779B97F4A7C15)

so that word(seed, 0), word(seed, 1), ... is what SplitMix64 gives from the state mix(seed). It
spreads public things evenly, such as filter bits and matrix entries. It hides nothing: never use it
for noise.

Row r of a public random bit matrix has the key k_r = word(seed, r), and bit v of the row is bit
v mod 64 of word(k_r, v // 64): one scramble gives sixty-four entries. Rows are made when they are
needed and never kept.
"""

import numpy as np

from deniable.kernels.bits import count_bits
from deniable.kernels.parallel import run_chunks

Words = np.typing.NDArray[np.uint64]
Integers = np.typing.NDArray[np.int64]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ONE, _27, _30, _31, _32 = (np.uint64(n) for n in (1, 27, 30, 31, 32))

# Rows are made and counted in blocks of about BLOCK_BYTES, by tasks of about TASK_BYTES.
BLOCK_BYTES = 1 << 25
TASK_BYTES = 1 << 18
STEP = 1 << 13
"""How many words are made at once: they stay in a core's cache."""


def mix(words: Words) -> Words:
    """Return each word scrambled: a permutation of the 64-bit words."""
    z = (words ^ (words >> _30)) * FIRST
    z = (z ^ (z >> _27)) * SECOND
    return z ^ (z >> _31)


def words_of(seeds: Words, indices: Words) -> Words:
    """Return word(seed, i) for seeds and indices that broadcast against each other.

    >>> [hex(word) for word in words_of(np.array([0], np.uint64), np.arange(2, dtype=np.uint64))]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    return mix(mix(seeds) + (indices + _ONE) * GAMMA)


def scale(words: Words, size: int) -> Words:
    """Return floor((word >> 32) size / 2^32), spread over 0..size-1; needs size < 2^32."""
    return ((words >> _32) * np.uint64(size)) >> _32


def add_rows(keys: Words, weights: Integers, domain_size: int) -> Integers:
    """Return for each value the sum of the weights of the rows that have its bit set."""
    width = -(-domain_size // 64)
    block = max(1, BLOCK_BYTES // (8 * width))
    total = np.zeros(domain_size, np.int64)
    for start in range(0, len(keys), block):
        part = weights[start : start + block]
        rows = _make_rows(keys[start : start + block], part < 0, width)
        # w b = -|w| + |w| (1 - b) for w < 0: such rows come complemented, then all weights add.
        total += part[part < 0].sum()
        magnitude = np.abs(part)
        for plane in range(int(magnitude.max()).bit_length()):
            chosen = np.flatnonzero(magnitude >> plane & 1)
            total += count_bits(rows[chosen], domain_size) << plane
    return total


def _make_rows(
    keys: Words, complemented: np.typing.NDArray[np.bool_], width: int
) -> np.typing.NDArray[np.uint8]:
    rows = np.empty((len(keys), width), np.uint64)
    states = mix(keys)
    masks = np.where(complemented, ~np.uint64(0), np.uint64(0))

    def fill(start: int, stop: int) -> None:
        _fill_rows(states[start:stop], masks[start:stop], rows[start:stop])

    run_chunks(fill, len(keys), max(1, TASK_BYTES // (8 * width)))
    return rows.astype("<u8", copy=False).view(np.uint8)


def _fill_rows(states: Words, masks: Words, rows: Words) -> None:
    """Write the words of each row, complemented where the mask says so."""
    steps = np.arange(1, rows.shape[1] + 1, dtype=np.uint64) * GAMMA
    height = max(1, STEP // rows.shape[1])
    for start in range(0, len(rows), height):
        part = slice(start, start + height)
        rows[part] = mix(states[part, None] + steps) ^ masks[part, None]
