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
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.kernels.arithmetic import (
    Arithmetic,
    Numbers,
    Table,
    Word,
    arithmetic,
    divide,
    dot,
    invert,
    negate,
    plus,
    times,
)
from deniable.kernels.compilation import kernel
from deniable.kernels.costs import folded_size, level_start
from deniable.kernels.parallel import run_chunks, threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable.kernels.fields import Field

Codes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]
Cells = npt.NDArray[np.signedinteger[Any]]
Small = npt.NDArray[np.uint16]

_CHUNK = 1 << 17
_SERIAL = 1 << 20
"""Less work than this, some milliseconds of it, is not worth starting threads for."""
_BLOCK = 1024
"""How many cells of a fibre are sheared at once: with all lanes, they fit in the cache."""


@kernel
def _perturb(
    values: Counts, words: Codes, field: Arithmetic, scheme: tuple[Word, Word, Word], codes: Codes
) -> None:
    (f, table), (step, p, q) = field, scheme
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
    codes = np.empty(len(values), np.uint64)
    scheme = np.uint64(step), np.uint64(p_weight), np.uint64(q_weight)

    def fill(start: int, stop: int) -> None:
        part = slice(start, stop)
        _perturb(values[part], words[part], arithmetic(field), scheme, codes[part])

    run_chunks(fill, len(values), _CHUNK)
    return codes


@kernel
def _normalise(u: Word, f: Numbers, table: Table) -> tuple[int, Word, Word]:
    """The level of u != 0, the start of its g cells there, and the scale for it and for y."""
    level = 0
    u, first = divide(u, f)
    while not first:
        level += 1
        u, first = divide(u, f)
    scale = invert(first, f, table)
    base, place = np.uint64(0), f[0]
    while u:
        u, digit = divide(u, f)
        base += times(scale, digit, f, table) * place
        place *= f[0]
    return level, base, scale


@kernel
def _canonical(code: Word, t: int, f: Numbers, table: Table) -> tuple[int, Word]:
    """The level and the cell of a report."""
    u, y = divide(code, f)
    if not u:
        return t, np.uint64(1 if y else 0)
    level, base, scale = _normalise(u, f, table)
    return level, base + times(scale, y, f, table)


@kernel
def _fold_codes(
    codes: Codes, counts: Counts, field: Arithmetic, starts: Codes, folded: Counts
) -> None:
    f, table = field
    previous, start, scale = np.uint64(0), np.uint64(0), np.uint64(0)
    for i in range(len(codes)):
        u, y = divide(codes[i], f)
        if not u:
            folded[len(folded) - (1 if y else 2)] += counts[i]
            continue
        # Codes are sorted, so that those with the same u follow each other.
        if u != previous:
            level, base, scale = _normalise(u, f, table)
            previous, start = u, starts[level] + base
        folded[start + times(scale, y, f, table)] += counts[i]


@kernel
def _fold_rows(
    rows: Counts, first: Word, field: Arithmetic, tables: tuple[Small, Codes], folded: Counts
) -> None:
    """Fold the rows C[u, ...] for u = first, first + 1, ...; none of them is zero."""
    (f, table), (products, starts) = field, tables
    for i in range(len(rows)):
        level, base, scale = _normalise(first + np.uint64(i), f, table)
        cells, counts, moved = folded[starts[level] + base :], rows[i], products[scale]
        for y in range(len(counts)):
            cells[moved[y]] += counts[y]


def _starts(field: Field, t: int) -> Codes:
    return np.array([level_start(field.order, t, j) for j in range(t + 1)], np.uint64)


def _fold(fold: Callable[[int, int, Counts], None], total: int, work: int, size: int) -> Counts:
    """Fold a range in parts, each thread into its own cells, and add them."""

    def part(start: int, stop: int) -> Counts:
        folded = np.zeros(size, np.int64)
        fold(start, stop, folded)
        return folded

    # A copy of the cells for a thread pays only where it has more to fold than there are cells.
    most = 1 if work < _SERIAL else 1 + work // (2 * size)
    parts = run_chunks(part, total, -(-total // min(threads(), most)) or 1)
    return sum(parts[1:], parts[0]) if parts else np.zeros(size, np.int64)


def fold_codes(codes: Codes, counts: Counts, field: Field, t: int) -> Counts:
    """Count the reports of each cell; the levels 0 .. t follow each other."""
    f, starts = arithmetic(field), _starts(field, t)

    def fold(start: int, stop: int, folded: Counts) -> None:
        _fold_codes(codes[start:stop], counts[start:stop], f, starts, folded)

    return _fold(fold, len(codes), len(codes), folded_size(field.order, t))


def fold_table(table: Counts, field: Field, t: int) -> Counts:
    """Fold the counts of all g^(t+1) report codes, for g up to 1024."""
    g, f, starts = field.order, arithmetic(field), _starts(field, t)
    rows, products = table.reshape(-1, g), field.products.astype(np.uint16)

    def fold(start: int, stop: int, folded: Counts) -> None:
        part = rows[1 + start : 1 + stop]
        _fold_rows(part, np.uint64(1 + start), f, (products, starts), folded)

    folded = _fold(fold, len(rows) - 1, len(table), folded_size(g, t))
    folded[-2:] = table[0], table[1:g].sum()
    return folded


def _share(total: int, work: int, multiple: int = 1) -> int:
    """How many of the total each thread takes: all of them where the work is small."""
    parts = 1 if work < _SERIAL else threads()
    return max(1, -(-total // (parts * multiple))) * multiple


@kernel
def _load(source: Cells, block: Cells, first: int, count: int, inner: int) -> None:
    """Put the cells [outer, a, low, y] of the fibres (outer, low) side by side in [a, y, lane]."""
    span, g, _ = block.shape
    for lane in range(count):
        outer, low = divmod(first + lane, inner)
        for a in range(span):
            base = ((outer * span + a) * inner + low) * g
            for y in range(g):
                block[a, y, lane] = source[base + y]


@kernel
def _store(block: Cells, target: Cells, first: int, count: int, shape: tuple[int, int]) -> None:
    """Put the first rows of a block where `_load` would look for them."""
    (kept, inner), g = shape, block.shape[1]
    for lane in range(count):
        outer, low = divmod(first + lane, inner)
        for a in range(kept):
            base = ((outer * kept + a) * inner + low) * g
            for y in range(g):
                target[base + y] = block[a, y, lane]


@kernel
def _shear_block(block: Cells, result: Cells, kept: int, tables: tuple[Small, Small]) -> None:
    """Shear a block [a, y, lane] along each digit of a, top digit first."""
    products, sums = tables
    span, g, lanes = block.shape
    stride, rows = span // g, span
    height = kept // stride
    while stride > 0:
        for corner in range(0, rows, stride * g):
            for a in range(corner, corner + stride):
                for w in range(height):
                    result[w] = block[a]
                    for digit in range(1, g):
                        moved = sums[products[digit, w]]
                        for y in range(g):
                            total, term = result[w, y], block[a + digit * stride, moved[y]]
                            for lane in range(lanes):
                                total[lane] += term[lane]
                for w in range(height):
                    block[a + w * stride] = result[w]
        stride, rows, height = stride // g, kept, g


@kernel
def _shear(
    source: Cells,
    target: Cells,
    shape: tuple[int, int, int, int],
    tables: tuple[Small, Small],
    fibres: tuple[int, int],
) -> None:
    """Shear a group of neighbouring digits, for a range of fibres across the other digits.

    shape is (lanes, span, kept, inner): so many fibres go side by side, to fill vector registers;
    the group has span = g^h combinations, of which the first `kept` are wanted; inner is the
    number of combinations of the digits below.
    """
    lanes, span, kept, inner = shape
    start, stop = fibres
    g = len(tables[0])
    block = np.zeros((span, g, lanes), target.dtype)
    result = np.empty((g, g, lanes), target.dtype)
    for first in range(start, stop, lanes):
        count = min(lanes, stop - first)
        _load(source, block, first, count, inner)
        _shear_block(block, result, kept, tables)
        _store(block, target, first, count, (kept, inner))


def _shear_digits(cells: Cells, field: Field, shape: tuple[int, int, int]) -> Cells:
    """Shear one group of digits of the whole level; shape is (span, kept, inner)."""
    g, (span, kept, _) = field.order, shape
    tables = field.products.astype(np.uint16), field.sums.astype(np.uint16)
    fibres = len(cells) // (span * g)
    lanes = min(fibres, 64 if g <= 64 else 32)
    target = np.empty(fibres * kept * g, cells.dtype)

    def shear(start: int, stop: int) -> None:
        _shear(cells, target, (lanes, *shape), tables, (start, stop))

    run_chunks(shear, fibres, _share(fibres, len(cells) * g, lanes))
    return target


def _shear_level(counts: Counts, field: Field, digits: int, wanted: int) -> Counts:
    """Turn the cells of one level into the supports of w g + v_j, the first `wanted` of them."""
    g = field.order
    # Half the bytes where no sum can overflow; the caller gets 64 bits back.
    cells: Cells = counts.astype(np.int32) if counts.sum() < 2**31 else counts
    # The top digits go first, because only those that occur below `wanted` have to be kept.
    top = -(-wanted // g**digits)
    while digits:
        group = 1
        while group < digits and g ** (group + 2) <= _BLOCK:
            group += 1
        digits -= group
        cells = _shear_digits(cells, field, (g**group, top * g ** (group - 1), g**digits))
        top = g
    return cells[:wanted].astype(np.int64)


def _add_levels(levels: list[Counts], everywhere: int, g: int) -> Counts:
    """Add the supports of v // g^j at all levels j, and those that every value has."""
    total = levels[-1] + everywhere
    for level in reversed(levels[:-1]):
        total = level + np.repeat(total, g)[: len(level)]
    return total


def decode_folded(folded: Counts, field: Field, t: int, d: int) -> Counts:
    """Count the supports of each value from folded reports, for g up to 1024."""
    g = field.order
    levels = []
    for j in range(t):
        start = level_start(g, t, j)
        cells = folded[start : start + g ** (t - j)]
        levels.append(_shear_level(cells, field, t - 1 - j, -(-d // g**j)))
    return _add_levels(levels, int(folded[-2]), g)


@kernel
def _canonicalise(
    codes: Codes, t: int, field: Arithmetic, levels: npt.NDArray[np.uint8], cells: Codes
) -> None:
    f, table = field
    for i in range(len(codes)):
        levels[i], cells[i] = _canonical(codes[i], t, f, table)


@kernel
def _solve(
    cells: Codes, counts: Counts, field: Arithmetic, supports: Counts, part: tuple[int, int, int]
) -> None:
    """Add the supports of w g + v_j, where v_j = y - <a, w>, for a range of w."""
    (f, table), (start, stop, g) = field, part
    line = np.zeros(min(g, stop), np.uint64)
    for i in range(len(cells)):
        a, y = divide(cells[i], f)
        high, slope = divide(a, f)
        slope = negate(slope, f, table)
        # The lowest digit of w runs along a line, worked out once for all the digits above it.
        for low in range(min(stop, g)):
            line[low] = times(slope, np.uint64(low), f, table)
        for row in range(start // g, (stop - 1) // g + 1):
            base = plus(y, negate(dot(high, np.uint64(row), f, table), f, table), f, table)
            for w in range(max(start, row * g), min(stop, row * g + g)):
                v = w * g + np.int64(plus(base, line[w - row * g], f, table))
                if v < len(supports):
                    supports[v] += counts[i]


def decode_codes(codes: Codes, counts: Counts, field: Field, t: int, d: int) -> Counts:
    """Count the supports of each value by solving for them, report by report, without a table."""
    g, f = field.order, arithmetic(field)
    kinds, cells = np.empty(len(codes), np.uint8), np.empty(len(codes), np.uint64)

    def canonicalise(start: int, stop: int) -> None:
        _canonicalise(codes[start:stop], t, f, kinds[start:stop], cells[start:stop])

    run_chunks(canonicalise, len(codes), _CHUNK)
    levels = []
    for j in range(t):
        here = np.flatnonzero(kinds == j)
        supports = np.zeros(-(-d // g**j), np.int64)
        _solve_level(cells[here], counts[here], field, supports)
        levels.append(supports)
    return _add_levels(levels, int(counts[(kinds == t) & (cells == 0)].sum()), g)


def _solve_level(cells: Codes, counts: Counts, field: Field, supports: Counts) -> None:
    g = field.order
    rows = -(-len(supports) // g)
    # Each chunk owns the supports it adds to, few enough for the second-level cache.
    chunk = min(_share(rows, rows * len(cells)), max(1, _CHUNK // g))

    def solve(start: int, stop: int) -> None:
        _solve(cells, counts, arithmetic(field), supports, (start, stop, g))

    run_chunks(solve, rows, chunk)
