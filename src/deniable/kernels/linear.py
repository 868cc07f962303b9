"""Linear hashing over GF(g): reports in bulk, and the number of supports of every value.

A value v and a hash function u are vectors of t base-g digits; the report u g + y supports v where
<u, v> = y. Two facts make decoding cheap.

Fold   (u, y) and (c u, c y) support the same values for each c != 0, so a report is replaced by the
       one of these whose lowest nonzero digit of u, at place j, is 1: "level j". What is left of u,
       the digits a above place j, and y make the cell a g + y, one of g^(t-j). At level t, u = 0.
Shear  A cell of level j supports v where v_j + <a, w> = y, with w = v // g^(j+1). So the supports
       at level j of w g + v_j are the sum over a of F[a, v_j + <a, w>], which is done digit by
       digit: F'[.. w_i .., y] = sum over a_i of F[.. a_i .., y + a_i w_i].

All levels together have less than 2 g^t cells, against g^(t+1) reports, and all shears of t - 1
digits cost (t - 1) g^(t+1) additions of integers. Where even g^t cells are too many, v_j is solved
for each report and each w instead (`decode_codes`).

Each function does its work in NumPy (`folding`, `shearing`, `solving`) or compiled, as pays.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels import costs, folding, shearing, solving, vectors
from deniable.kernels.compilation import pays
from deniable.kernels.fields import Field

Codes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

_STEP = 1 << 13
"""How many reports NumPy makes at once: all arrays in between stay in a core's cache."""


def perturb_linear(  # noqa: PLR0913, PLR0917 - one argument for each symbol of the formula
    values: npt.NDArray[np.int64],
    words: npt.NDArray[np.uint64],
    field: Field,
    t: int,
    step: int,
    p_weight: int,
    q_weight: int,
) -> Codes:
    """Make the report u g + y of each value v, with u = r0 // step and y = (<u, v> + k) mod g.

    The offset k, an integer and not an element of the field, is 0 where r1 < p_weight and
    1 + (r1 - p_weight) // q_weight elsewhere; words holds the rows (r0, r1) with r0 < step g^t.
    """
    if pays("perturb linear", costs.PERTURB_LINEAR * len(values)):
        from deniable.kernels.compiled import linear as compiled  # noqa: PLC0415 - imports Numba

        return compiled.perturb_linear(values, words, field, (step, p_weight, q_weight))
    codes = np.empty(len(values), np.uint64)
    g, p, q = np.uint64(field.order), np.uint64(p_weight), np.uint64(q_weight)

    for start in range(0, len(values), _STEP):
        part = slice(start, start + _STEP)
        u, r = vectors.divide(words[part, 0], step)[0], words[part, 1]
        y = vectors.dot(field, u, values[part].astype(np.uint64), t)
        y += (r >= p) * ((r - p) // q + np.uint64(1))
        codes[part] = u * g + (y - g * (y >= g))
    return codes


def fold_codes(codes: Codes, counts: Counts, field: Field, t: int) -> Counts:
    """Count the reports of each cell; the levels 0 .. t follow each other."""
    if pays("fold codes", costs.FOLD_CODE * len(codes)):
        from deniable.kernels.compiled import folding as compiled  # noqa: PLC0415 - imports Numba

        return compiled.fold_codes(codes, counts, field, t)
    return folding.fold_codes(codes, counts, field, t)


def fold_table(table: Counts, field: Field, t: int) -> Counts:
    """Fold the counts of all g^(t+1) report codes, for g up to 1024."""
    if pays("fold table", costs.FOLD_ENTRY * len(table)):
        from deniable.kernels.compiled import folding as compiled  # noqa: PLC0415 - imports Numba

        return compiled.fold_table(table, field, t)
    return folding.fold_table(table, field, t)


def fold_each(codes: Codes, field: Field, t: int) -> Codes:
    """Return the cell of each report, numbered through all levels as `fold_codes` counts them."""
    return folding.fold_each(codes, field, t)


def decode_cells(cells: Codes, counts: Counts, field: Field, t: int, d: int) -> Counts:
    """Count the supports of each value from the counts of some cells, in the cheapest way."""
    if costs.choose(field, t, d, len(cells)) == "solve":
        return _solve(cells, counts, field, t, d)
    folded = np.zeros(costs.folded_size(field.order, t), np.int64)
    np.add.at(folded, cells.astype(np.int64), counts)
    return decode_folded(folded, field, t, d)


def decode_folded(folded: Counts, field: Field, t: int, d: int) -> Counts:
    """Count the supports of each value from folded reports, for g up to 1024."""
    g = field.order
    # Half the bytes where no sum can overflow; the caller gets 64 bits back. The sum of all lines
    # of 10^18 reports would itself overflow as an integer.
    narrow = folded.sum(dtype=np.float64) < 2**31
    cells: shearing.Cells = folded.astype(np.int32 if narrow else np.int64)
    shear = shearing.shear_level
    if pays(f"shear {cells.dtype}", costs.shearing(field, t, d)):
        from deniable.kernels.compiled import shearing as compiled  # noqa: PLC0415 - imports Numba

        shear = compiled.shear_level
    levels = []
    for j in range(t):
        start, wanted = costs.level_start(g, t, j), -(-d // g**j)
        sheared = shear(cells[start : start + g ** (t - j)], field, t - 1 - j, wanted)
        levels.append(sheared.astype(np.int64))
    return _add_levels(levels, int(folded[-2]), g)


def decode_codes(codes: Codes, counts: Counts, field: Field, t: int, d: int) -> Counts:
    """Count the supports of each value by solving for them, report by report, without a table."""
    return _solve(fold_each(codes, field, t), counts, field, t, d)


def _solve(cells: Codes, counts: Counts, field: Field, t: int, d: int) -> Counts:
    g, solve = field.order, solving.solve_level
    if pays("solve", costs.solving(field, t, d, len(cells))):
        from deniable.kernels.compiled import solving as compiled  # noqa: PLC0415 - imports Numba

        solve = compiled.solve_level
    starts = np.array([costs.level_start(g, t, j) for j in range(t + 1)], np.uint64)
    kinds = np.searchsorted(starts, cells, side="right") - 1
    levels = []
    for j in range(t):
        here = np.flatnonzero(kinds == j)
        supports = np.zeros(-(-d // g**j), np.int64)
        if len(here):
            solve(cells[here] - starts[j], counts[here], field, supports)
        levels.append(supports)
    return _add_levels(levels, int(counts[cells == starts[t]].sum()), g)


def _add_levels(levels: list[Counts], everywhere: int, g: int) -> Counts:
    """Add the supports of v // g^j at all levels j, and those that every value has."""
    total = levels[-1] + everywhere
    for level in reversed(levels[:-1]):
        total = level + np.repeat(total, g)[: len(level)]
    return total
