"""Rows of packed bits, counted by position or drawn at random; small integers, counted by value.

Bit i of a row lives in byte i // 8 at position i % 8 (`np.packbits` with bitorder='little');
the bits past the last one pad the row to whole bytes and are zero.

Random bits are drawn eight at a time from a table of patterns, exact to the last bit. Eight
independent bits that are 1 with probability q / 2^64 form the pattern b with probability
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
from deniable.kernels.parallel import iterate_chunks, run_chunks, threads

Bytes = np.typing.NDArray[np.uint8]
Words = np.typing.NDArray[np.uint64]
Integers = np.typing.NDArray[np.int64]
Halves = np.typing.NDArray[np.uint16]
Flags = np.typing.NDArray[np.bool_]
Places = np.typing.NDArray[np.int32] | np.typing.NDArray[np.int64]
Tables = np.typing.NDArray[np.int64] | np.typing.NDArray[np.uint32]
Unsigned = np.typing.NDArray[np.unsignedinteger[np.typing.NBitBase]]

# A byte holds the sum of 255 bits, and NumPy adds bytes fastest. Blocks of that many rows are about
# as many bytes wide, so that their bits, unpacked to a byte each, stay in a cache.
ROWS = 255
WIDTH, WIDEST = 128, 512
COUNT_CHUNK, VALUES_CHUNK = 1 << 22, 1 << 18
OWN_TABLE = 1 << 18
"""Above this size, chunks share one table of counts instead of having their own."""

# Nanoseconds that NumPy takes on one core for a byte of bits and for a value.
_BYTE, _VALUE = 1.2, 4.0

# Compiled, sixteen words are added at a time into sixteen bit planes, COLUMNS words side by side.
COMPILED_CHUNK, LEAST_ROWS = 1 << 23, 1 << 12
INTERLEAVED = 1 << 14
DEPTH, COLUMNS = 16, 64
MOST_BLOCKS = (1 << 16) // DEPTH - 1
ZERO = np.uint64(0)

# Random bytes drawn at once: they stay in a core's cache until they have been looked up.
PERTURB_CHUNK = 1 << 19
STEP = 1 << 15
UNDECIDED = 256
_DRAWN_BYTE = 5.0
"""Nanoseconds that NumPy takes on one core for a byte of a row."""


def count_bits(rows: Bytes, domain_size: int) -> Integers:
    """Return for each position how many rows have its bit set."""
    width, compiled = rows.shape[1], pays("count bits", _BYTE * rows.size)
    # Short rows are counted several at a time, as one row that fills a cache or the kernel.
    tile = max(1, (8 * COLUMNS if compiled else WIDTH) // width)
    count_columns = _count_columns_compiled if compiled else _count_columns

    def count(start: int, stop: int) -> Integers:
        part = np.ascontiguousarray(rows[start:stop])
        whole = len(part) // tile * tile
        tiles = count_columns(part[:whole].reshape(-1, tile * width))
        counts = count_columns(part[whole:])
        counts += tiles.reshape(tile, -1).sum(axis=0)
        return counts

    chunk, least = (COMPILED_CHUNK, LEAST_ROWS) if compiled else (COUNT_CHUNK, ROWS)
    total = np.zeros(domain_size, np.int64)
    for part in iterate_chunks(count, len(rows), max(chunk // width, least)):
        total += part[:domain_size]
    return total


def _count_columns(rows: Bytes) -> Integers:
    total = np.zeros(8 * rows.shape[1], np.int64)
    for start in range(0, len(rows), ROWS):
        for left in range(0, rows.shape[1], WIDEST):
            part = rows[start : start + ROWS, left : left + WIDEST]
            bits = np.unpackbits(part, axis=1, bitorder="little")
            counts = np.add.reduce(bits, axis=0, dtype=np.uint8)
            total[8 * left : 8 * left + len(counts)] += counts
    return total


def _count_columns_compiled(rows: Bytes) -> Integers:
    counts = np.zeros(8 * rows.shape[1], np.int64)
    _add_bits(frozen(rows), counts)
    return counts


@kernel
def _add_bits(rows: Bytes, counts: Integers) -> None:
    """Add the bits of each column of bytes to counts, eight per byte."""
    n, width = rows.shape
    # A copy with constant strides lets LLVM prove that no load meets a store, and vectorise.
    block = np.zeros(DEPTH * COLUMNS, np.uint64)
    block_bytes = block.view(np.uint8)
    planes = np.zeros(DEPTH * COLUMNS, np.uint64)
    for left in range(0, width, 8 * COLUMNS):
        columns = min(8 * COLUMNS, width - left)
        blocks = 0
        for first in range(0, n, DEPTH):
            for k in range(min(DEPTH, n - first)):
                at = 8 * COLUMNS * k
                _copy_bytes(block_bytes[at : at + columns], rows[first + k, left : left + columns])
            if n - first < DEPTH:
                block[COLUMNS * (n - first) :] = ZERO
            _add_block(block, planes)
            blocks += 1
            if blocks == MOST_BLOCKS or n - first <= DEPTH:
                _flush_planes(planes, counts[8 * left : 8 * (left + columns)], blocks)
                blocks = 0


@kernel
def _copy_bytes(target: Bytes, data: Bytes) -> None:
    """Copy bytes by a loop that LLVM turns into a call of memcpy or vector moves."""
    for i in range(len(target)):
        target[i] = data[i]


@kernel
def _add_block(block: Words, planes: Words) -> None:
    """Add sixteen words per column to its bit planes: plane k holds bit k of each count."""
    for j in range(COLUMNS):
        ones, twos, fours = planes[j], planes[COLUMNS + j], planes[2 * COLUMNS + j]
        ones, twos, fours, first = _add_eight(block, j, ones, twos, fours)
        ones, twos, fours, second = _add_eight(block, 8 * COLUMNS + j, ones, twos, fours)
        planes[j], planes[COLUMNS + j], planes[2 * COLUMNS + j] = ones, twos, fours
        planes[3 * COLUMNS + j], carry = _add_bitwise(planes[3 * COLUMNS + j], first, second)
        for k in range(4, DEPTH):
            plane = planes[k * COLUMNS + j]
            planes[k * COLUMNS + j] = plane ^ carry
            carry &= plane


@kernel
def _add_eight(
    block: Words, at: int, ones: np.uint64, twos: np.uint64, fours: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Add eight words of one column to three planes and return them with the carry, the eights."""
    ones, a = _add_bitwise(ones, block[at], block[at + COLUMNS])
    ones, b = _add_bitwise(ones, block[at + 2 * COLUMNS], block[at + 3 * COLUMNS])
    twos, c = _add_bitwise(twos, a, b)
    ones, a = _add_bitwise(ones, block[at + 4 * COLUMNS], block[at + 5 * COLUMNS])
    ones, b = _add_bitwise(ones, block[at + 6 * COLUMNS], block[at + 7 * COLUMNS])
    twos, d = _add_bitwise(twos, a, b)
    fours, eights = _add_bitwise(fours, c, d)
    return ones, twos, fours, eights


@kernel
def _add_bitwise(x: np.uint64, y: np.uint64, z: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the sum and the carry of three bits, sixty-four times over."""
    return x ^ y ^ z, (x & y) | ((x ^ y) & z)


@kernel
def _flush_planes(planes: Words, counts: Integers, blocks: int) -> None:
    """Add what the planes hold, after this many blocks, to the counts, and clear them."""
    plane_bytes = planes.view(np.uint8)
    k = 0
    while DEPTH * blocks >> k:
        for j in range(len(counts) // 8):
            byte = np.int64(plane_bytes[8 * COLUMNS * k + j])
            for bit in range(8):
                counts[8 * j + bit] += ((byte >> bit) & 1) << k
        k += 1
    planes[:] = ZERO


def count_values(values: Unsigned, size: int) -> tuple[Integers, int]:
    """Return how often each of 0..size-1 occurs, and how many values are larger."""
    compiled = pays(f"count values {values.dtype}", _VALUE * len(values))
    total, chunk = np.zeros(size + 1, np.int64), VALUES_CHUNK
    if size > OWN_TABLE and not compiled:
        for start in range(0, len(values), chunk):
            np.add.at(total, _places(values[start : start + chunk], size), 1)
        return total[:size], int(total[size])
    if compiled:
        # A chunk is worth its own table if it is several times longer; 32 bits must hold it.
        share = -(-len(values) // (4 * threads()))
        chunk = min(max(chunk, 8 * size, share), (1 << 32) - 1)

    def count(start: int, stop: int) -> Tables:
        if not compiled:
            return np.bincount(_places(values[start:stop], size), minlength=size + 1)[None, :]
        part = frozen(values[start:stop].astype(values.dtype.newbyteorder("="), copy=False))
        tables = np.zeros((4 if size <= INTERLEAVED else 1, size + 1), np.uint32)
        _tabulate(part, tables)
        return tables

    for tables in iterate_chunks(count, len(values), chunk):
        for table in tables:
            total += table
    return total[:size], int(total[size])


def _places(values: Unsigned, size: int) -> Integers:
    """Return the places of values in a table whose last place counts all larger ones."""
    if size <= np.iinfo(values.dtype).max:
        values = np.minimum(values, values.dtype.type(size))
    return values.astype(np.int64)


@kernel
def _tabulate(values: Unsigned, tables: np.typing.NDArray[np.uint32]) -> None:
    """Count each value in one of the tables; their last place counts all larger values."""
    limit = np.uint64(tables.shape[1] - 1)
    mask = len(tables) - 1
    for i in range(len(values)):
        # Neighbours use different tables, so that equal ones do not wait for each other's store.
        tables[i & mask, min(np.uint64(values[i]), limit)] += np.uint32(1)


class Source(Protocol):
    """Where random bytes come from; each part of a split is independent of the others."""

    def bytes(self, count: int) -> Bytes: ...
    def split(self, count: int) -> "Sequence[Source]": ...


class Patterns(NamedTuple):
    """The intervals of all patterns, at three resolutions."""

    table: Halves  # the pattern that 16 bits decide, or UNDECIDED
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
    if pays("perturb bits", _DRAWN_BYTE * rows.size):
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


def _look_up(leading: Halves, table: Halves, flat: Bytes) -> Places:
    """Fill in the patterns that 16 bits decide, and return the other places."""
    undecided = []
    for start in range(0, len(flat), STEP):
        found = table.take(leading[start : start + STEP], mode="wrap")
        flat[start : start + STEP] = found
        undecided.append(np.flatnonzero(found == UNDECIDED) + start)
    return np.concatenate(undecided)


def _look_up_compiled(leading: Halves, table: Halves, flat: Bytes) -> Places:
    places = np.empty(len(flat), np.int32)
    return places[: _look_up_each(frozen(leading), frozen(table), flat, places)]


@kernel
def _look_up_each(leading: Halves, table: Halves, flat: Bytes, places: Places) -> int:
    """Fill in the patterns; list the places that are open and count them."""
    count = 0
    for i in range(len(flat)):
        pattern = table[leading[i]]
        flat[i] = np.uint8(pattern)
        # Written each time and kept where it matters: no branch to mispredict.
        places[count] = i
        count += pattern >> 8
    return count


def settle(flat: Bytes, places: Places, leading: Halves, found: Patterns, source: Source) -> None:
    """Decide the places that 16 bits leave open by 48 bits more, or all 512."""
    further = source.bytes(8 * len(places)).view("<u8")
    numbers = leading[places].astype(np.uint64) << np.uint64(48) | further >> np.uint64(16)
    flat[places] = np.searchsorted(found.starts, numbers, side="right")
    for k in np.flatnonzero(np.isin(numbers, found.open)):
        last = int.from_bytes(source.bytes(56).tobytes(), "little")
        flat[places[k]] = bisect_right(found.exact, int(numbers[k]) << 448 | last)


def _set_true_bits(rows: Bytes, values: Integers, true_bits: Flags, padding: np.uint8) -> None:
    """Set the true bit of each row, and clear the padding."""
    rows[:, -1] &= padding
    place = np.arange(0, rows.size, rows.shape[1]) + (values >> 3)
    bits = np.left_shift(1, values & 7).astype(np.uint8)
    flat = rows.reshape(-1)
    flat[place] = (flat[place] & ~bits) | (bits * true_bits)
