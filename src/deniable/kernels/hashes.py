"""Public hash functions: multiply-shift with the keys that reports support, and SplitMix64.

Multiply-shift is what a device evaluates on its answer. A 64-bit key is x = x_hi 2^32 + x_lo. A
report names a hash function by three 64-bit words:

    h(x) = (a1 x_lo + a2 x_hi + b) mod 2^64,    H(x) = floor((h(x) >> 32) g / 2^32)

so that H(x) = y exactly when h(x) lies in an interval that depends on y and g alone, 2 <= g < 2^32:
a report (a1, a2, b, y) supports x exactly when (h(x) - low) mod 2^64 < width, with (low, width) =
preimage(y, g). Subtracting low from b beforehand leaves two multiplications, two additions and a
comparison for a pair.

SplitMix64 gives public pseudo-random words that every implementation computes alike.

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

from typing import Any, NamedTuple

import numpy as np

from deniable.kernels.bits import Flags, Integers, Unsigned, Words, count_bits
from deniable.kernels.jit import kernel, pays
from deniable.kernels.parallel import iterate_chunks, run_chunks

Counts = np.typing.NDArray[np.integer[Any]]
Columns = tuple[Words, ...]
Word = Words | np.uint64
Halves = np.typing.NDArray[np.uint32]
Eight = tuple[np.uint64, ...]

# A task has at most SPAN keys and REPORTS reports, and about PAIRS pairs: some milliseconds.
SPAN = 1 << 14
REPORTS = 1 << 16
PAIRS = 1 << 25
STEP = 1 << 13
"""How many pairs or words NumPy goes through at once: they stay in a core's cache."""
BLOCK = 2048
"""How many keys a kernel goes through for every eight reports: they and their counts stay in L1."""

_PAIR = 4.0
"""Nanoseconds that NumPy takes on one core for a pair."""
ENDINGS = 1 << 17
"""How many endings are hashed at once, about."""

LOW, HALF = np.uint64(0xFFFF_FFFF), np.uint64(32)


def hash_keys(a1: Words, a2: Words, b: Words, keys: Words, g: int) -> Words:
    """Return H(x) for each row: key i hashed by the function (a1[i], a2[i], b[i])."""
    h = a1 * (keys & LOW) + a2 * (keys >> HALF) + b
    return ((h >> HALF) * np.uint64(g)) >> HALF


def preimage(y: Unsigned, g: int) -> tuple[Words, Words]:
    """Return (low, width) such that H(x) = y if and only if (h(x) - low) mod 2^64 < width."""
    # floor(t g / 2^32) = y iff ceil(y 2^32 / g) <= t < ceil((y + 1) 2^32 / g), and g < 2^32
    # keeps every numerator below 2^64.
    numerator = y.astype(np.uint64) << HALF
    first = _ceil_divide(numerator, g)
    beyond = _ceil_divide(numerator + np.uint64(1 << 32), g)
    return first << HALF, (beyond - first) << HALF


def _ceil_divide(numerator: Words, g: int) -> Words:
    return (numerator + np.uint64(g - 1)) // np.uint64(g)


def count_support(  # noqa: PLR0913, PLR0917 - the columns of a report, then keys and g
    a1: Words, a2: Words, b: Words, y: Unsigned, keys: Words, g: int
) -> Integers:
    """Return for each key how many of the reports (a1, a2, b, y) support it, on all cores."""
    total, n = np.zeros(len(keys), np.int64), len(y)
    if not len(keys):
        return total
    count = _count_some_compiled if pays("support", _PAIR * n * len(keys)) else _count_some
    reports = min(REPORTS, PAIRS // min(len(keys), SPAN))
    spans = -(-len(keys) // SPAN)

    def run(task: int, _: int) -> tuple[slice, Counts]:
        first, start = task // spans * reports, task % spans * SPAN
        some, span = slice(first, first + reports), slice(start, start + SPAN)
        low, width = preimage(y[some], g)
        return span, count((a1[some], a2[some], b[some] - low, width), keys[span])

    for span, counts in iterate_chunks(run, -(-n // reports) * spans, 1):
        total[span] += counts
    return total


def _count_some(columns: Columns, keys: Words) -> Counts:
    """Return for each key how many reports of columns a1, a2, c and width support it."""
    rows = [np.ascontiguousarray(column) for column in columns]
    halves = keys & LOW, keys >> HALF
    counts = np.zeros(len(keys), np.int64)
    # The loop in Python runs over the shorter side.
    if len(rows[0]) < len(keys):
        for report in zip(*rows, strict=True):
            for start in range(0, len(keys), STEP):
                part = slice(start, start + STEP)
                counts[part] += _support(report, (halves[0][part], halves[1][part]))
        return counts
    for start in range(0, len(rows[0]), STEP):
        a1, a2, c, width = (row[start : start + STEP] for row in rows)
        for k, half in enumerate(zip(*halves, strict=True)):
            counts[k] += np.count_nonzero(_support((a1, a2, c, width), half))
    return counts


def _support(report: tuple[Word, Word, Word, Word], key: tuple[Word, Word]) -> Flags:
    """Tell whether (a1, a2, c, width) supports (low, high); either side may be an array."""
    (a1, a2, c, width), (low, high) = report, key
    hashed = np.multiply(a1, low)
    if np.ndim(high) or high:
        hashed += np.multiply(a2, high)
    hashed += c
    return np.less(hashed, width)


def _count_some_compiled(columns: Columns, keys: Words) -> Halves:
    # Filled up to a multiple of eight: reports of zeros have width 0, hence support nothing.
    reports = np.zeros((len(columns), len(columns[0]) + -len(columns[0]) % 8), np.uint64)
    reports[:, : len(columns[0])] = columns
    # Halves as wide as the counts let LLVM use whole vectors for both.
    lows, highs = (keys & LOW).astype(np.uint32), (keys >> HALF).astype(np.uint32)
    counts = np.zeros(len(keys), np.uint32)
    _add_support(reports, lows, highs, counts)
    return counts


@kernel
def _add_support(reports: Words, lows: Halves, highs: Halves, counts: Halves) -> None:
    """Add to counts the support of each key by reports, whose rows are a1, a2, c, width."""
    for start in range(0, len(counts), BLOCK):
        part = slice(start, min(start + BLOCK, len(counts)))
        for i in range(0, reports.shape[1], 8):
            _add_eight(reports[:, i : i + 8], lows[part], highs[part], counts[part])


@kernel
def _add_eight(reports: Words, lows: Halves, highs: Halves, counts: Halves) -> None:
    """Add the support of each key by eight reports, which stay in registers."""
    a1, a2 = _eight(reports[0]), _eight(reports[1])
    c, width = _eight(reports[2]), _eight(reports[3])
    for j in range(len(counts)):
        low, high = np.uint64(lows[j]), np.uint64(highs[j])
        counts[j] += (
            np.uint32(a1[0] * low + a2[0] * high + c[0] < width[0])
            + np.uint32(a1[1] * low + a2[1] * high + c[1] < width[1])
            + np.uint32(a1[2] * low + a2[2] * high + c[2] < width[2])
            + np.uint32(a1[3] * low + a2[3] * high + c[3] < width[3])
            + np.uint32(a1[4] * low + a2[4] * high + c[4] < width[4])
            + np.uint32(a1[5] * low + a2[5] * high + c[5] < width[5])
            + np.uint32(a1[6] * low + a2[6] * high + c[6] < width[6])
            + np.uint32(a1[7] * low + a2[7] * high + c[7] < width[7])
        )


@kernel
def _eight(row: Words) -> Eight:
    """Return eight words as a tuple, which the compiler keeps apart from memory."""
    return row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]


GAMMA = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ONE, _27, _30, _31, _32 = (np.uint64(n) for n in (1, 27, 30, 31, 32))

# Rows are made and counted in blocks of about BLOCK_BYTES, by tasks of about TASK_BYTES.
BLOCK_BYTES = 1 << 25
TASK_BYTES = 1 << 18


def mix(words: Words) -> Words:
    """Return each word scrambled: a permutation of the 64-bit words."""
    z = (words ^ (words >> _30)) * FIRST
    z = (z ^ (z >> _27)) * SECOND
    return z ^ (z >> _31)


def words_of(seeds: Words, indices: Words) -> Words:
    """Return word(seed, i) for seeds and indices that broadcast against each other."""
    return mix(mix(seeds) + (indices + _ONE) * GAMMA)


class Beginnings(NamedTuple):
    """Beginnings of codes: their bits, their buckets, and which endings of a table they have."""

    words: Words
    buckets: Integers
    firsts: Integers
    counts: Integers

    def part(self, start: int, stop: int) -> "Beginnings":
        words, buckets, firsts, counts = self
        some = slice(start, stop)
        return Beginnings(words[some], buckets[some], firsts[some], counts[some])


class Endings(NamedTuple):
    """Endings of codes, which follow ``done`` bits: their bits, and how many each has."""

    bits: Words
    sizes: Integers
    done: int


def match_endings(
    rows: Beginnings, ends: Endings, salt: int, bucket_bits: int
) -> tuple[Integers, Integers]:
    """Return the pairs of a beginning and an ending that together have the beginning's bucket.

    It is the first bits of mix(mix(code ^ salt) + size GAMMA).
    """
    first, keys = 0, (np.uint64(salt), np.uint64(64 - bucket_bits))
    found, done = [np.empty((2, 0), np.int64)], np.cumsum(rows.counts)
    while first < len(done):
        before = int(done[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(done, before + ENDINGS, side="right")))
        pairs = _match(rows.part(first, last), ends, *keys)
        pairs[0] += first
        found.append(pairs)
        first = last
    owners, places = np.concatenate(found, axis=1)
    return owners, places


def _match(rows: Beginnings, ends: Endings, salt: np.uint64, shift: np.uint64) -> Integers:
    words, buckets, firsts, counts = rows
    place = np.repeat(firsts - np.cumsum(counts) + counts, counts)
    place += np.arange(len(place))
    codes = np.repeat(words, counts) | ends.bits.take(place) >> np.uint64(ends.done)
    sizes = (ends.sizes.take(place) + ends.done).astype(np.uint64)
    hashes = mix(mix(codes ^ salt) + sizes * GAMMA)
    good = np.flatnonzero(hashes >> shift == np.repeat(buckets.astype(np.uint64), counts))
    owner = np.searchsorted(np.cumsum(counts), good, side="right")
    return np.stack([owner, place[good]])


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


def _make_rows(keys: Words, complemented: Flags, width: int) -> np.typing.NDArray[np.uint8]:
    rows = np.empty((len(keys), width), np.uint64)
    states = mix(keys)
    masks = np.where(complemented, ~np.uint64(0), np.uint64(0))

    steps = np.arange(1, width + 1, dtype=np.uint64) * GAMMA
    height = max(1, STEP // width)

    def fill(start: int, stop: int) -> None:
        for first in range(start, stop, height):
            part = slice(first, min(first + height, stop))
            rows[part] = mix(states[part, None] + steps) ^ masks[part, None]

    run_chunks(fill, len(keys), max(1, TASK_BYTES // (8 * width)))
    return rows.astype("<u8", copy=False).view(np.uint8)
