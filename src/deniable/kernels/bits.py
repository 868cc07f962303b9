"""Rows of packed bits: perturb them, count them by position; and count small integers.

Bit i of a row lives in byte i // 8 at position i % 8 (`np.packbits` with bitorder='little');
the bits past the last one pad the row to whole bytes and are zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import kernel
from deniable.kernels.parallel import iterate_chunks, run_chunks, threads

if TYPE_CHECKING:
    from collections.abc import Sequence

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.unsignedinteger[npt.NBitBase]]

# Random bytes drawn at once: they stay in a core's cache until they have been compared.
PERTURB_CHUNK = 1 << 20
COUNT_CHUNK = 1 << 23
LEAST_ROWS = 1 << 12
VALUES_CHUNK = 1 << 18
INTERLEAVED = 1 << 14

# Sixteen words are added at a time into sixteen bit planes, COLUMNS words side by side.
DEPTH = 16
COLUMNS = 64
MOST_BLOCKS = (1 << 16) // DEPTH - 1

LOW_BITS = np.uint64(0x0101_0101_0101_0101)
HIGH_BITS = np.uint64(0x8080_8080_8080_8080)
SEVEN_BITS = np.uint64(0x7F7F_7F7F_7F7F_7F7F)
# Multiplying by sum of 2^(56 - 7k) moves bit 8k to bit 56 + k, without a carry, for k = 0..7.
GATHER = np.uint64(0x0102_0408_1020_4080)
ZERO, ONE, SEVEN, EIGHT, TOP = (np.uint64(shift) for shift in (0, 1, 7, 8, 56))


class Source(Protocol):
    """Where random bytes come from; each part of a split is independent of the others."""

    def bytes(self, count: int) -> Bytes:
        """Return uniform random bytes."""

    def split(self, count: int) -> Sequence[Source]:
        """Return independent sources, each for the use of one thread."""


def perturb_bits(
    values: Integers, p_weight: int, q_weight: int, domain_size: int, source: Source
) -> Bytes:
    """Return one row of independent bits per value: unary encoding in bulk.

    Bit i of row j is 1 with probability exactly w / 2^64, where w = p_weight if i = values[j] and
    q_weight otherwise. Each chunk of `perturb_rows(domain_size)` rows has its own part of the
    source and draws from it, in order (words are little-endian):

    1. one word per row; the true bit is word < p_weight
    2. eight bytes per byte of each row, one for each bit: 1 if below the top byte of q_weight, 0
       if above, and a tie if equal; those of the true bit and of the padding are ignored
    3. one word per tie, by row and then by bit: (word >> 8) < q_weight mod 2^56
    """
    rows = np.empty((len(values), -(-domain_size // 8)), np.uint8)
    if not len(values):
        return rows
    chunk = perturb_rows(domain_size)
    sources = source.split(-(-len(values) // chunk))
    weights = np.array([p_weight, q_weight], np.uint64)

    def perturb(start: int, stop: int) -> None:
        part = rows[start:stop]
        own = sources[start // chunk]
        drawn = as_words(own.bytes(8 * (len(part) + part.size)))
        ties = np.zeros(-(-part.size // 8), np.uint64)
        tie_rows = ties.view(np.uint8)[: part.size].reshape(part.shape)
        compare_bytes(drawn[len(part) :], weights[1], part.reshape(-1), tie_rows.reshape(-1))
        padding = np.uint8(0xFF >> (-domain_size % 8))
        set_true_bits(part, tie_rows, values[start:stop], drawn[: len(part)] < weights[0], padding)
        tied = count_ones(ties)
        if tied:
            break_ties(part.reshape(-1), ties, as_words(own.bytes(8 * tied)), weights[1])

    run_chunks(perturb, len(values), chunk)
    return rows


def as_words(data: Bytes) -> Words:
    """Return bytes as aligned little-endian words, copied only if need be."""
    return np.require(data.view("<u8"), requirements="A")


def perturb_rows(domain_size: int) -> int:
    """Return how many rows make a chunk of `perturb_bits`: a function of the domain alone."""
    return max(1, PERTURB_CHUNK // (8 * -(-domain_size // 8)))


@kernel
def compare_bytes(drawn: Words, weight: np.uint64, less: Bytes, ties: Bytes) -> None:
    """Compare eight random bytes at a time with the top byte of the weight, one bit for each."""
    top = (weight >> TOP) * LOW_BITS
    for i in range(len(less)):
        x = drawn[i]
        # The high bit of each byte of `carry` says whether its low seven bits reach those of
        # `top`; the high bits themselves then decide unless they are equal.
        carry = (x | HIGH_BITS) - (top & SEVEN_BITS)
        reached = (x & ~top) | (~(x ^ top) & carry)
        less[i] = (((~reached & HIGH_BITS) >> SEVEN) * GATHER) >> TOP
        differ = x ^ top
        differ |= (differ & SEVEN_BITS) + SEVEN_BITS
        ties[i] = (((~differ & HIGH_BITS) >> SEVEN) * GATHER) >> TOP


@kernel
def set_true_bits(
    rows: Bytes, ties: Bytes, values: Integers, true_bits: npt.NDArray[np.bool_], padding: np.uint8
) -> None:
    """Give each row its true bit and clean padding, neither of them left as a tie."""
    last = rows.shape[1] - 1
    for j in range(len(rows)):
        rows[j, last] &= padding
        ties[j, last] &= padding
        byte = values[j] >> 3
        bit = np.uint8(1 << (values[j] & 7))
        rows[j, byte] = (rows[j, byte] & ~bit) | (bit * true_bits[j])
        ties[j, byte] &= ~bit


@kernel
def count_ones(words: Words) -> int:
    """Count the ones of words that are mostly zero."""
    count = 0
    for word in words:
        left = word
        while left != ZERO:
            left &= left - ONE
            count += 1
    return count


@kernel
def break_ties(flat: Bytes, ties: Words, drawn: Words, weight: np.uint64) -> None:
    """Decide each tie by 56 further bits, in the order of the bits."""
    low = weight & ((ONE << TOP) - ONE)
    used = 0
    for i in range(len(ties)):
        left = ties[i]
        while left != ZERO:
            lowest = left & (~left + ONE)
            left ^= lowest
            if (drawn[used] >> EIGHT) < low:
                byte = 0
                while lowest > np.uint64(0xFF):
                    lowest >>= EIGHT
                    byte += 1
                flat[8 * i + byte] |= np.uint8(lowest)
            used += 1


def padding_is_clean(rows: Bytes, domain_size: int) -> bool:
    """Tell whether every bit past the domain is zero."""
    return domain_size % 8 == 0 or not (rows[:, -1] >> (domain_size % 8)).any()


def count_bits(rows: Bytes, domain_size: int) -> Integers:
    """Return for each position how many rows have its bit set."""
    width = rows.shape[1]
    # Short rows are counted several at a time, as one row that fills the columns of the kernel.
    tile = max(1, 8 * COLUMNS // width)

    def count(start: int, stop: int) -> Integers:
        part = np.ascontiguousarray(rows[start:stop])
        whole = len(part) // tile * tile
        counts = np.zeros(8 * tile * width, np.int64)
        add_bits(part[:whole].reshape(-1, tile * width), counts)
        add_bits(part[whole:].reshape(1, -1), counts)
        return counts

    total = np.zeros(domain_size, np.int64)
    for part in iterate_chunks(count, len(rows), max(COUNT_CHUNK // width, LEAST_ROWS)):
        total += part.reshape(tile, -1).sum(axis=0)[:domain_size]
    return total


@kernel
def add_bits(rows: Bytes, counts: Integers) -> None:
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
                copy_bytes(block_bytes[at : at + columns], rows[first + k, left : left + columns])
            if n - first < DEPTH:
                block[COLUMNS * (n - first) :] = ZERO
            add_block(block, planes)
            blocks += 1
            if blocks == MOST_BLOCKS or n - first <= DEPTH:
                flush_planes(planes, counts[8 * left : 8 * (left + columns)], blocks)
                blocks = 0


@kernel
def copy_bytes(target: Bytes, data: Bytes) -> None:
    """Copy bytes by a loop that LLVM turns into a call of memcpy or vector moves."""
    for i in range(len(target)):
        target[i] = data[i]


@kernel
def add_block(block: Words, planes: Words) -> None:
    """Add sixteen words per column to its bit planes: plane k holds bit k of each count."""
    for j in range(COLUMNS):
        ones, twos, fours = planes[j], planes[COLUMNS + j], planes[2 * COLUMNS + j]
        ones, twos, fours, first = add_eight(block, j, ones, twos, fours)
        ones, twos, fours, second = add_eight(block, 8 * COLUMNS + j, ones, twos, fours)
        planes[j], planes[COLUMNS + j], planes[2 * COLUMNS + j] = ones, twos, fours
        planes[3 * COLUMNS + j], carry = add_bitwise(planes[3 * COLUMNS + j], first, second)
        for k in range(4, DEPTH):
            plane = planes[k * COLUMNS + j]
            planes[k * COLUMNS + j] = plane ^ carry
            carry &= plane


@kernel
def add_eight(
    block: Words, at: int, ones: np.uint64, twos: np.uint64, fours: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Add eight words of one column to three planes and return them with the carry, the eights."""
    ones, a = add_bitwise(ones, block[at], block[at + COLUMNS])
    ones, b = add_bitwise(ones, block[at + 2 * COLUMNS], block[at + 3 * COLUMNS])
    twos, c = add_bitwise(twos, a, b)
    ones, a = add_bitwise(ones, block[at + 4 * COLUMNS], block[at + 5 * COLUMNS])
    ones, b = add_bitwise(ones, block[at + 6 * COLUMNS], block[at + 7 * COLUMNS])
    twos, d = add_bitwise(twos, a, b)
    fours, eights = add_bitwise(fours, c, d)
    return ones, twos, fours, eights


@kernel
def add_bitwise(x: np.uint64, y: np.uint64, z: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the sum and the carry of three bits, sixty-four times over."""
    return x ^ y ^ z, (x & y) | ((x ^ y) & z)


@kernel
def flush_planes(planes: Words, counts: Integers, blocks: int) -> None:
    """Move what the planes hold after so many blocks into counts, and clear them."""
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
    """Return how often each of 0..size-1 occurs, and how many values are none of them."""
    # A chunk is worth its own table if it is several times longer; thirty-two bits must hold it.
    share = -(-len(values) // (4 * threads()))
    chunk = min(max(VALUES_CHUNK, 8 * size, share), (1 << 32) - 1)
    total = np.zeros(size + 1, np.int64)

    def count(start: int, stop: int) -> npt.NDArray[np.uint32]:
        part = np.ascontiguousarray(values[start:stop], values.dtype.newbyteorder("="))
        tables = np.zeros((4 if size <= INTERLEAVED else 1, size + 1), np.uint32)
        tabulate(part, tables)
        return tables

    for tables in iterate_chunks(count, len(values), chunk):
        for table in tables:
            total += table
    return total[:size], int(total[size])


@kernel
def tabulate(values: Unsigned, tables: npt.NDArray[np.uint32]) -> None:
    """Count each value in one of the tables, whose last place stands for all that are too large."""
    limit = np.uint64(tables.shape[1] - 1)
    mask = len(tables) - 1
    for i in range(len(values)):
        # Neighbours use different tables, so that equal ones do not wait for each other's store.
        tables[i & mask, min(np.uint64(values[i]), limit)] += np.uint32(1)
