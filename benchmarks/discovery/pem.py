"""PEM with optimized local hashing, by its law, on the same code: the method to compare with.

People are split into groups; group j reports the first bits of the code by OLH, and only what
begins with one of the k best prefixes of the group before is looked at, 2^20 prefixes at most
(Wang, Li and Jha, "Locally Differentially Private Heavy Hitter Identification").
Supports of prefixes are
drawn from their law, two binomials, which is exact but for the dependence between prefixes.
"""

import math
import time

import numpy as np
import numpy.typing as npt

from deniable.kernels.hashes import count_support

Integers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

WIDTH, BUDGET = 48, 20
"""How many bits of a code count, and the binary logarithm of the prefixes that are looked at."""
SAMPLE = 256
"""How many reports are hashed to tell how long all of them take."""


def extend(
    keys: Keys, counts: Integers, epsilon: float, k: int, rng: np.random.Generator
) -> list[int]:
    """Return the k keys that PEM finds, the largest count first."""
    power = math.exp(epsilon)
    g = max(2, round(power) + 1)
    p, q = power / (power + g - 1), 1 / g
    first = math.ceil(math.log2(k))
    step = BUDGET - first
    groups = max(1, math.ceil((WIDTH - first) / step))
    kept, done, left = np.zeros(1, dtype=np.uint64), 0, counts.copy()
    for j in range(groups):
        own = rng.binomial(left, 1 / (groups - j))
        left = left - own
        size = WIDTH if j == groups - 1 else first + step * (j + 1)
        prefixes, where = np.unique(keys >> np.uint64(WIDTH - size), return_inverse=True)
        true = np.bincount(where, own).astype(np.int64)
        more = np.arange(1 << (size - done), dtype=np.uint64)
        tried = (kept[:, None] << np.uint64(size - done) | more).ravel()
        places = np.minimum(np.searchsorted(prefixes, tried), len(prefixes) - 1)
        held = np.where(prefixes[places] == tried, true[places], 0)
        support = rng.binomial(held, p) + rng.binomial(int(own.sum()) - held, q)
        kept, done = tried[np.argsort(-support, kind="stable")[:k]], size
    return [int(key) for key in kept]


def cost(n: int, epsilon: float, rng: np.random.Generator) -> tuple[float, int]:
    """Return about the processor time and the MB of a real search of n reports, by a sample.

    Each report is held against all prefixes of its group, and takes three words and a value.
    """
    g = max(2, round(math.exp(epsilon)) + 1)
    words = rng.integers(0, 1 << 64, (3, SAMPLE), dtype=np.uint64)
    y, prefixes = (
        rng.integers(0, g, SAMPLE, dtype=np.uint32),
        np.arange(1 << BUDGET, dtype=np.uint64),
    )
    count_support(*words, y, prefixes, g)
    start = time.process_time()
    count_support(*words, y, prefixes, g)
    seconds = (time.process_time() - start) * n / SAMPLE
    return seconds, (28 * n + 32 * (1 << BUDGET)) >> 20
