"""Reports of affine selection in bulk, compiled: the twin of `deniable.kernels.windows`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import kernel
from deniable.kernels.compiled import frozen
from deniable.kernels.compiled.arithmetic import (
    Numbers,
    Table,
    Word,
    arithmetic,
    dot,
    negate,
    plus,
)
from deniable.kernels.fields import Field
from deniable.kernels.parallel import run_chunks, threads

Codes = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]
Times = npt.NDArray[np.int32]
Scheme = tuple[int, int, int, int]

_CHUNK = 1 << 17


def perturb_affine(values: Codes, words: Codes, field: Field, scheme: Scheme) -> Codes:
    """Make the report of each value; scheme is (step, m, inside, outside)."""
    codes = np.empty(len(values), np.uint64)
    numbers, table = arithmetic(field)
    step, m, inside, outside = scheme
    kinds = np.uint64(step), np.uint64(m), np.uint64(inside), np.uint64(outside)

    def fill(start: int, stop: int) -> None:
        rows = frozen(words[start:stop])
        _perturb(frozen(values[start:stop]), rows, numbers, table, kinds, codes[start:stop])

    run_chunks(fill, len(values), _CHUNK)
    return codes


@kernel
def _perturb(  # noqa: PLR0913, PLR0917 - tuples of arrays take Numba longer than arguments
    values: Codes,
    words: Codes,
    f: Numbers,
    table: Table,
    scheme: tuple[Word, Word, Word, Word],
    codes: Codes,
) -> None:
    step, m, inside, outside = scheme
    one, edge = np.uint64(1), m * inside
    for i in range(len(values)):
        before, r = words[i, 0] // step, words[i, 1]
        y = r // inside if r < edge else m + (r - edge) // outside
        hashed = dot(before + one, values[i], f, table)
        codes[i] = before * f[0] + plus(y, negate(hashed, f, table), f, table)


def rotate_rows(
    groups: tuple[Integers, Integers, Integers, Times], turns: Integers, powers: Integers, m: int
) -> Integers:
    """Add up the rows of window sums of a prime field, each rotated by its turn."""
    g, count = len(powers) // 2 + 1, len(turns)
    starts, ends = groups[0], groups[1]
    places, times = frozen(groups[2]), frozen(groups[3])

    def part(start: int, stop: int) -> Integers:
        total = np.zeros(g, np.int64)
        first, last, turn = (frozen(part[start:stop]) for part in (starts, ends, turns))
        _rotate(first, last, turn, places, times, frozen(powers), m, total)
        return total

    chunk = max(1, -(-count // (4 * threads())))
    return sum(run_chunks(part, count, chunk), np.zeros(g, np.int64))


@kernel
def _rotate(  # noqa: PLR0913, PLR0917 - tuples of arrays take Numba longer than arguments
    starts: Integers,
    ends: Integers,
    turns: Integers,
    places: Integers,
    times: Times,
    powers: Integers,
    m: int,
    total: Integers,
) -> None:
    g = len(total)
    cells, sums = np.zeros(g, np.int32), np.zeros(g, np.int32)
    for row in range(len(turns)):
        for z in range(g):
            cells[z] = 0
        for i in range(starts[row], ends[row]):
            cells[places[i]] = times[i]
        window = np.int32(0)
        for z in range(m):
            window += cells[z]
        for z in range(g):
            sums[z] = window
            ahead = z + m
            window += cells[ahead - g if ahead >= g else ahead] - cells[z]
        total[0] += sums[0]
        turn = turns[row]
        for i in range(g - 1):
            total[i + 1] += sums[powers[turn + i]]
