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
from deniable.kernels.parallel import run_chunks

Codes = npt.NDArray[np.uint64]
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
