"""Rows of a public random bit matrix, compiled: the twin of `deniable.kernels.rows`."""

from __future__ import annotations

import numpy as np

from deniable.kernels.compilation import kernel
from deniable.kernels.splitmix import FIRST, GAMMA, SECOND, Words

_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)


@kernel
def fill_rows(states: Words, masks: Words, rows: Words) -> None:
    """Write the words of each row, complemented where the mask says so."""
    for i in range(len(rows)):
        z = states[i]
        for j in range(rows.shape[1]):
            z += GAMMA
            x = (z ^ (z >> _30)) * FIRST
            x = (x ^ (x >> _27)) * SECOND
            rows[i, j] = (x ^ (x >> _31)) ^ masks[i]
