"""SplitMix64 in NumPy: public pseudo-random words that every implementation computes alike.

    mix(z):  z ^= z >> 30;  z *= 0xBF58476D1CE4E5B9
             z ^= z >> 27;  z *= 0x94D049BB133111EB;  return z ^ (z >> 31)        (mod 2^64)
    word(seed, i) = mix(mix(seed) + (i + 1) 0x9E3779B97F4A7C15)

so that word(seed, 0), word(seed, 1), ... is what SplitMix64 gives from the state mix(seed). It
spreads public things evenly, such as filter bits and matrix entries. It hides nothing: never use it
for noise.
"""

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ONE, _27, _30, _31, _32 = (np.uint64(n) for n in (1, 27, 30, 31, 32))


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
