"""Rows of random bits, eight at a time: patterns drawn from a table, exact to the last bit.

Eight independent bits that are 1 with probability q / 2^64 form the pattern b with probability
W[b] / 2^512, W[b] = q^k (2^64 - q)^(8 - k) for its k ones. Patterns in order of their integers
divide 0 .. 2^512 into intervals, and a uniform number R of 512 bits falls into the one of the
pattern to take. Nearly always its first 16 bits tell which one: a table of 2^16 entries has the
answer. Only where an interval ends inside what 16 bits leave open, for at most 255 entries of
the table, are 48 bits more drawn, and the last 448 only where even 64 do not decide.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np

from deniable.kernels.jit import frozen, kernel, pays
from deniable.kernels.parallel import run_chunks

Bytes = np.typing.NDArray[np.uint8]
Words = np.typing.NDArray[np.uint64]
Integers = np.typing.NDArray[np.int64]
Places = np.typing.NDArray[np.int32] | np.typing.NDArray[np.int64]

# Random bytes drawn at once: they stay in a core's cache until they have been looked up.
PERTURB_CHUNK = 1 << 19
STEP = 1 << 15
UNDECIDED = 256
_BYTE = 5.0
"""Nanoseconds that NumPy takes on one core for a byte of a row."""


class Source(Protocol):
    """Where random bytes come from; each part of a split is independent of the others."""

    def bytes(self, count: int) -> Bytes: ...
    def split(self, count: int) -> "Sequence[Source]": ...


class Patterns(NamedTuple):
    """The intervals of all patterns, at three resolutions."""

    table: np.typing.NDArray[np.uint16]  # the pattern that 16 bits decide, or UNDECIDED
    starts: Words  # where patterns 1 .. start, rounded up to 64 bits
    open: Words  # 64 bits that do not decide
    exact: tuple[int, ...]  # where patterns 1 .. 255 start, in units of 2^-512


@lru_cache(maxsize=8)
def patterns(weight: int) -> Patterns:
    """Divide 0 .. 2^512 among the patterns of eight bits of the given weight over 2^64."""
    ones = [b.bit_count() for b in range(255)]
    shares = (weight**k * ((1 << 64) - weight) ** (8 - k) for k in ones)
    exact = tuple(accumulate(shares))
    # Beyond 255 entries of 16 bits nothing is open; a start that rounds up to 2^64 is never passed.
    entries = np.searchsorted([-(-c >> 496) for c in exact], np.arange(1 << 16), side="right")
    table = entries.astype(np.uint16)
    table[[c >> 496 for c in exact if c % (1 << 496)]] = UNDECIDED
    starts = [-(-c >> 448) for c in exact]
    open_ = sorted({c >> 448 for c in exact if c % (1 << 448)})
    return Patterns(
        table,
        np.array([start for start in starts if start < 1 << 64], np.uint64),
        np.array(open_, np.uint64),
        exact,
    )


def perturb_bits(
    values: Integers, p_weight: int, q_weight: int, domain_size: int, source: Source
) -> Bytes:
    """Return one row of independent bits per value: unary encoding in bulk.

    Bit i of row j is 1 with probability exactly w / 2^64, where w = p_weight if i = values[j] and
    q_weight otherwise. Each chunk of `perturb_rows(domain_size)` rows has its own part of the
    source and draws from it, in order (all integers are little-endian):

    1. one word per row; the true bit is word < p_weight
    2. two bytes per byte of each row, the first 16 bits of its number R
    3. one word for each byte that these leave open: R goes on with its upper 48 bits
    4. 56 bytes for each byte that is still open: the last 448 bits of R
    """
    rows = np.empty((len(values), -(-domain_size // 8)), np.uint8)
    if not len(values):
        return rows
    chunk, found = perturb_rows(domain_size), patterns(q_weight)
    sources = source.split(-(-len(values) // chunk))
    padding = np.uint8(0xFF >> (-domain_size % 8))
    look_up = _look_up
    if pays("perturb bits", _BYTE * rows.size):
        look_up = _look_up_compiled

    def perturb(start: int, stop: int) -> None:
        part, own = rows[start:stop], sources[start // chunk]
        drawn = own.bytes(8 * len(part) + 2 * part.size)
        words, leading = drawn[: 8 * len(part)].view("<u8"), drawn[8 * len(part) :].view("<u2")
        flat = part.reshape(-1)
        undecided = look_up(leading, found.table, flat)
        if len(undecided):
            settle(flat, undecided, leading, found, own)
        _set_true_bits(part, values[start:stop], words < np.uint64(p_weight), padding)

    run_chunks(perturb, len(values), chunk)
    return rows


def perturb_rows(domain_size: int) -> int:
    """Return how many rows make a chunk of `perturb_bits`: a function of the domain alone."""
    return max(1, PERTURB_CHUNK // (2 * -(-domain_size // 8)))


def _look_up(
    leading: np.typing.NDArray[np.uint16], table: np.typing.NDArray[np.uint16], flat: Bytes
) -> Places:
    """Fill in the patterns that 16 bits decide, and return the other places."""
    undecided = []
    for start in range(0, len(flat), STEP):
        found = table.take(leading[start : start + STEP], mode="wrap")
        flat[start : start + STEP] = found
        undecided.append(np.flatnonzero(found == UNDECIDED) + start)
    return np.concatenate(undecided)


def _look_up_compiled(
    leading: np.typing.NDArray[np.uint16], table: np.typing.NDArray[np.uint16], flat: Bytes
) -> Places:
    """Look up as `_look_up` does, compiled."""
    places = np.empty(len(flat), np.int32)
    return places[: _look_up_each(frozen(leading), frozen(table), flat, places)]


@kernel
def _look_up_each(
    leading: np.typing.NDArray[np.uint16],
    table: np.typing.NDArray[np.uint16],
    flat: Bytes,
    places: np.typing.NDArray[np.int32],
) -> int:
    """Fill in the patterns; list the places that are open and count them."""
    count = 0
    for i in range(len(flat)):
        pattern = table[leading[i]]
        flat[i] = np.uint8(pattern)
        # Written each time and kept where it matters: no branch to mispredict.
        places[count] = i
        count += pattern >> 8
    return count


def settle(
    flat: Bytes,
    places: Places,
    leading: np.typing.NDArray[np.uint16],
    found: Patterns,
    source: Source,
) -> None:
    """Decide the places that 16 bits leave open by 48 bits more, or all 512."""
    further = source.bytes(8 * len(places)).view("<u8")
    numbers = leading[places].astype(np.uint64) << np.uint64(48) | further >> np.uint64(16)
    flat[places] = np.searchsorted(found.starts, numbers, side="right")
    for k in np.flatnonzero(np.isin(numbers, found.open)):
        last = int.from_bytes(source.bytes(56).tobytes(), "little")
        flat[places[k]] = bisect_right(found.exact, int(numbers[k]) << 448 | last)


def _set_true_bits(
    rows: Bytes, values: Integers, true_bits: np.typing.NDArray[np.bool_], padding: np.uint8
) -> None:
    """Set the true bit of each row, and clear the padding."""
    rows[:, -1] &= padding
    place = np.arange(0, rows.size, rows.shape[1]) + (values >> 3)
    bits = np.left_shift(1, values & 7).astype(np.uint8)
    flat = rows.reshape(-1)
    flat[place] = (flat[place] & ~bits) | (bits * true_bits)
