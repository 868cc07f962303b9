"""Rows of packed bits and small integers, counted: the twin of `deniable.kernels.bits`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import kernel
from deniable.kernels.compiled import frozen
from deniable.kernels.parallel import iterate_chunks, threads

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.unsignedinteger[npt.NBitBase]]

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


def count_bits(rows: Bytes, domain_size: int) -> Integers:
    """Return for each position how many rows have its bit set."""
    width = rows.shape[1]
    # Short rows are counted several at a time, as one row that fills the columns of the kernel.
    tile = max(1, 8 * COLUMNS // width)

    def count(start: int, stop: int) -> Integers:
        part = frozen(rows[start:stop])
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
        part = frozen(values[start:stop].astype(values.dtype.newbyteorder("="), copy=False))
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
