"""Rows of a public random bit matrix, made from their keys when needed and never kept.

Row r has the key k_r = word(seed, r) of `deniable.kernels.splitmix`; bit v of the row is bit
v mod 64 of word(k_r, v // 64). One scramble so gives sixty-four entries.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels import costs
from deniable.kernels.bits import count_bits
from deniable.kernels.compilation import pays
from deniable.kernels.parallel import run_chunks
from deniable.kernels.splitmix import GAMMA, Words, mix

Integers = npt.NDArray[np.int64]

# Rows are made and counted in blocks of about so many bytes, by tasks of about so many.
BLOCK_BYTES = 1 << 25
TASK_BYTES = 1 << 18
STEP = 1 << 13
"""How many words NumPy makes at once: they stay in a core's cache."""


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
    keys: Words, complemented: npt.NDArray[np.bool_], width: int
) -> npt.NDArray[np.uint8]:
    rows = np.empty((len(keys), width), np.uint64)
    states = mix(keys)
    masks = np.where(complemented, ~np.uint64(0), np.uint64(0))
    fill_rows = _fill_rows
    if pays("fill rows", costs.FILL_WORD * rows.size):
        from deniable.kernels.compiled import rows as compiled  # noqa: PLC0415 - imports Numba

        fill_rows = compiled.fill_rows

    def fill(start: int, stop: int) -> None:
        fill_rows(states[start:stop], masks[start:stop], rows[start:stop])

    run_chunks(fill, len(keys), max(1, TASK_BYTES // (8 * width)))
    return rows.astype("<u8", copy=False).view(np.uint8)


def _fill_rows(states: Words, masks: Words, rows: Words) -> None:
    """Write the words of each row, complemented where the mask says so."""
    steps = np.arange(1, rows.shape[1] + 1, dtype=np.uint64) * GAMMA
    height = max(1, STEP // rows.shape[1])
    for start in range(0, len(rows), height):
        part = slice(start, start + height)
        rows[part] = mix(states[part, None] + steps) ^ masks[part, None]
