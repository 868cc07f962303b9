"""Rows of packed bits, counted by position; and small integers, counted by value.

Bit i of a row lives in byte i // 8 at position i % 8 (`np.packbits` with bitorder='little');
the bits past the last one pad the row to whole bytes and are zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels import costs
from deniable.kernels.compilation import pays
from deniable.kernels.parallel import iterate_chunks

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.unsignedinteger[npt.NBitBase]]

# Bytes can hold the sum of so many bits, and adding bytes is what NumPy does fastest. Blocks of so
# many rows have about as many bytes across, so that their bits, one to a byte, fill no cache.
ROWS = 255
WIDTH, WIDEST = 128, 512
COUNT_CHUNK = 1 << 22
VALUES_CHUNK = 1 << 18
OWN_TABLE = 1 << 18
"""A table of counts with more places than this is not worth one for each chunk."""


def count_bits(rows: Bytes, domain_size: int) -> Integers:
    """Return for each position how many rows have its bit set."""
    if pays("count bits", costs.COUNT_BYTE * rows.size):
        from deniable.kernels.compiled import bits as compiled  # noqa: PLC0415 - imports Numba

        return compiled.count_bits(rows, domain_size)

    width = rows.shape[1]
    # Short rows are counted several at a time, as one row.
    tile = max(1, WIDTH // width)

    def count(start: int, stop: int) -> Integers:
        part = np.ascontiguousarray(rows[start:stop])
        whole = len(part) // tile * tile
        counts = _count_columns(part[whole:])
        tiles = _count_columns(part[:whole].reshape(-1, tile * width))
        counts += tiles.reshape(tile, -1).sum(axis=0)
        return counts

    total = np.zeros(domain_size, np.int64)
    for part in iterate_chunks(count, len(rows), max(COUNT_CHUNK // width, ROWS)):
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


def count_values(values: Unsigned, size: int) -> tuple[Integers, int]:
    """Return how often each of 0..size-1 occurs, and how many values are none of them."""
    if pays(f"count values {values.dtype}", costs.COUNT_VALUE * len(values)):
        from deniable.kernels.compiled import bits as compiled  # noqa: PLC0415 - imports Numba

        return compiled.count_values(values, size)
    total = np.zeros(size + 1, np.int64)
    if size > OWN_TABLE:
        for start in range(0, len(values), VALUES_CHUNK):
            np.add.at(total, _places(values[start : start + VALUES_CHUNK], size), 1)
    else:

        def count(start: int, stop: int) -> Integers:
            return np.bincount(_places(values[start:stop], size), minlength=size + 1)

        for part in iterate_chunks(count, len(values), VALUES_CHUNK):
            total += part
    return total[:size], int(total[size])


def _places(values: Unsigned, size: int) -> Integers:
    """Return the places of values in a table whose last place is for all that are too large."""
    if size <= np.iinfo(values.dtype).max:
        values = np.minimum(values, values.dtype.type(size))
    return values.astype(np.int64)
