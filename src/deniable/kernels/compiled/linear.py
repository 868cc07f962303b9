"""Reports of linear hashing in bulk, compiled: the twin of `deniable.kernels.linear`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import kernel
from deniable.kernels.compiled import frozen
from deniable.kernels.compiled.arithmetic import Numbers, Table, Word, arithmetic, dot
from deniable.kernels.fields import Field
from deniable.kernels.parallel import run_chunks

Codes = npt.NDArray[np.uint64]
Scheme = tuple[int, int, int]

_CHUNK = 1 << 17


def perturb_linear(
    values: npt.NDArray[np.int64], words: Codes, field: Field, scheme: Scheme
) -> Codes:
    """Make the report of each value; scheme is (step, p_weight, q_weight)."""
    codes = np.empty(len(values), np.uint64)
    numbers, table = arithmetic(field)
    step, p, q = scheme
    kinds = np.uint64(step), np.uint64(p), np.uint64(q)

    def fill(start: int, stop: int) -> None:
        rows = frozen(words[start:stop])
        _perturb(frozen(values[start:stop]), rows, numbers, table, kinds, codes[start:stop])

    run_chunks(fill, len(values), _CHUNK)
    return codes


@kernel
def _perturb(  # noqa: PLR0913, PLR0917 - tuples of arrays take Numba longer than arguments
    values: npt.NDArray[np.int64],
    words: Codes,
    f: Numbers,
    table: Table,
    scheme: tuple[Word, Word, Word],
    codes: Codes,
) -> None:
    step, p, q = scheme
    one, shift = np.uint64(1), np.uint64(0)
    # Where g is a power of two, so is the step, and a shift is faster than a division.
    while (one << shift) < step and shift < np.uint64(63):
        shift += one
    shifting = (one << shift) == step
    for i in range(len(values)):
        u = words[i, 0] >> shift if shifting else words[i, 0] // step
        r = words[i, 1]
        y = dot(u, np.uint64(values[i]), f, table)
        y += np.uint64(0) if r < p else one + (r - p) // q
        codes[i] = u * f[0] + (y - f[0] if y >= f[0] else y)
