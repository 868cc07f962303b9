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

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import kernel
from deniable.kernels.costs import choose, folded_size, level_start
from deniable.kernels.fields import LARGEST_POWER, LARGEST_TABLE, Field
from deniable.kernels.parallel import run_chunks, threads

Codes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

_CHUNK = 1 << 17
_SERIAL = 1 << 16
_BLOCK = 1024


class _Arithmetic(NamedTuple):
    """A field as kernels see it; tables that the field does not need are empty."""

    order: np.uint64
    characteristic: np.uint64
    shift: np.uint64  # log2 of the order where that is an integer, else 0
    logarithms: npt.NDArray[np.uint32]
    powers: npt.NDArray[np.uint32]
    sums: npt.NDArray[np.uint16]
    reciprocals: npt.NDArray[np.uint32]


@lru_cache(maxsize=16)
def _arithmetic(field: Field) -> _Arithmetic:
    g, p, k = field.order, field.characteristic, field.degree
    tabled = p > 2 and k > 1 and g <= LARGEST_TABLE
    return _Arithmetic(
        np.uint64(g),
        np.uint64(p),
        np.uint64(k if p == 2 else 0),
        (field.logarithms if k > 1 else np.empty(0)).astype(np.uint32),
        (field.powers if k > 1 else np.empty(0)).astype(np.uint32),
        (field.sums if tabled else np.empty((0, 0))).astype(np.uint16),
        (field.inverse(np.arange(g)) if g <= LARGEST_POWER else np.empty(0)).astype(np.uint32),
    )


@kernel
def _divide(x, f):  # type: ignore[no-untyped-def]
    if f.shift:
        return x >> f.shift, x & (f.order - np.uint64(1))
    return x // f.order, x % f.order


@kernel
def _times(a, b, f):  # type: ignore[no-untyped-def]
    if len(f.powers):
        return np.uint64(f.powers[f.logarithms[a] + f.logarithms[b]])
    return a * b % f.order


@kernel
def _plus(a, b, f):  # type: ignore[no-untyped-def]
    if f.characteristic == np.uint64(2):
        return a ^ b
    if f.characteristic == f.order:
        total = a + b
        return total - f.order if total >= f.order else total
    if f.sums.size:
        return np.uint64(f.sums[a, b])
    total, place = np.uint64(0), np.uint64(1)
    while place < f.order:
        total += (a // place + b // place % f.characteristic) % f.characteristic * place
        place *= f.characteristic
    return total


@kernel
def _negate(a, f):  # type: ignore[no-untyped-def]
    """-a = (p - 1) a, and the integer p - 1 also encodes the element p - 1."""
    return _times(a, f.characteristic - np.uint64(1), f)


@kernel
def _invert(a, f):  # type: ignore[no-untyped-def]
    """1/a from the table, or as a^(g-2) in a large prime field."""
    if len(f.reciprocals):
        return np.uint64(f.reciprocals[a])
    result, exponent = np.uint64(1), f.order - np.uint64(2)
    while exponent:
        if exponent & np.uint64(1):
            result = a * result % f.order
        a = a * a % f.order
        exponent >>= np.uint64(1)
    return result


@kernel
def _dot(u, v, f):  # type: ignore[no-untyped-def]
    total = np.uint64(0)
    if f.characteristic == f.order and not f.shift:
        # One remainder at the end: t (g-1)^2 < 2^64, because g < 2^31 and g^t < 2^64.
        while u and v:
            u, a = _divide(u, f)
            v, b = _divide(v, f)
            total += a * b
        return total % f.order
    while u and v:
        u, a = _divide(u, f)
        v, b = _divide(v, f)
        total = _plus(total, _times(a, b, f), f)
    return total


@kernel
def _perturb(values, words, f, step, weights, codes):  # type: ignore[no-untyped-def]
    one = np.uint64(1)
    p, q = weights
    # With g a power of two, step is one too.
    step_shift = np.uint64(64)
    if step & (step - one) == 0:
        step_shift = np.uint64(0)
        while one << step_shift < step:
            step_shift += one
    for i in range(len(values)):
        r = words[i, 0]
        u = r >> step_shift if step_shift < np.uint64(64) else r // step
        x = _dot(u, np.uint64(values[i]), f)
        r = words[i, 1]
        y = x + (np.uint64(0) if r < p else one + (r - p) // q)
        codes[i] = u * f.order + (y - f.order if y >= f.order else y)


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
    f, weights = _arithmetic(field), (np.uint64(p_weight), np.uint64(q_weight))

    def fill(start: int, stop: int) -> None:
        part = slice(start, stop)
        _perturb(values[part], words[part], f, np.uint64(step), weights, codes[part])

    run_chunks(fill, len(values), _CHUNK)
    return codes


@kernel
def _canonical(code, t, f):  # type: ignore[no-untyped-def]
    """The level and the cell of a report."""
    zero, one = np.uint64(0), np.uint64(1)
    u, y = _divide(code, f)
    if u == zero:
        return t, one if y else zero
    level = 0
    u, first = _divide(u, f)
    while first == zero:
        level += 1
        u, first = _divide(u, f)
    if first == one:
        return level, u * f.order + y
    scale = _invert(first, f)
    cell, place = _times(scale, y, f), f.order
    while u:
        u, digit = _divide(u, f)
        cell += _times(scale, digit, f) * place
        place *= f.order
    return level, cell


@kernel
def _fold_codes(codes, counts, t, f, starts, folded):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        level, cell = _canonical(codes[i], t, f)
        folded[starts[level] + cell] += counts[i]


def fold_codes(codes: Codes, counts: Counts, field: Field, t: int) -> Counts:
    """Count the reports of each cell; the levels 0 .. t follow each other."""
    size, m = folded_size(field.order, t), len(codes)
    starts = np.array([level_start(field.order, t, j) for j in range(t + 1)], np.uint64)
    # A copy of the cells for each thread pays only where there are more reports than cells.
    parts = threads() if m > max(size, _SERIAL) else 1

    def fold(start: int, stop: int) -> Counts:
        folded = np.zeros(size, np.int64)
        _fold_codes(codes[start:stop], counts[start:stop], t, _arithmetic(field), starts, folded)
        return folded

    folds = run_chunks(fold, m, -(-m // parts)) if m else [np.zeros(size, np.int64)]
    for other in folds[1:]:
        folds[0] += other
    return folds[0]


@kernel
def _fold_table(table, products, scale, folded, start, stop):  # type: ignore[no-untyped-def]
    """Fill rows start .. stop of one level: F[a, y] = sum over c != 0 of C[c (a, 1, 0..), c y]."""
    g = len(products)
    for a in range(start, stop):
        row = folded[a * g : a * g + g]
        row[:] = 0
        for c in range(1, g):
            times = products[c]
            u, rest, place = c, a, g
            while rest:
                u += np.int64(times[rest % g]) * place
                rest //= g
                place *= g
            reports = table[u * scale * g : u * scale * g + g]
            for y in range(g):
                row[y] += reports[times[y]]


def fold_table(table: Counts, field: Field, t: int) -> Counts:
    """Fold the counts of all g^(t+1) report codes, for g up to 1024."""
    g = field.order
    products = field.products.astype(np.uint16)
    folded = np.zeros(folded_size(g, t), np.int64)
    folded[-2:] = table[0], table[1:g].sum()
    for level in range(t):
        start = level_start(g, t, level)
        cells, rows = folded[start : start + g ** (t - level)], g ** (t - level - 1)

        def fold(start: int, stop: int, cells: Counts = cells, scale: int = g**level) -> None:
            _fold_table(table, products, scale, cells, start, stop)

        run_chunks(fold, rows, _share(rows, len(cells) * g))
    return folded


def _share(total: int, work: int, multiple: int = 1) -> int:
    """How many of the total each thread takes: all of them where the work is small."""
    parts = 1 if work < _SERIAL else threads()
    return max(1, -(-total // (parts * multiple))) * multiple


@kernel
def _shear(source, target, shape, products, sums, start, stop):  # type: ignore[no-untyped-def]
    """Shear a group of neighbouring digits, for the fibres start .. stop across the others.

    shape is (lanes, span, kept, inner): so many fibres go side by side, to fill vector registers; the
    group has span = g^h combinations, of which the first `kept` are wanted; inner counts what is below.
    """
    lanes, span, kept, inner = shape
    g = len(sums)
    block = np.zeros((span, g, lanes), target.dtype)
    result = np.empty((g, g, lanes), target.dtype)
    for first in range(start, stop, lanes):
        count = min(lanes, stop - first)
        for lane in range(count):
            outer, low = divmod(first + lane, inner)
            for a in range(span):
                base = ((outer * span + a) * inner + low) * g
                for y in range(g):
                    block[a, y, lane] = source[base + y]
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
                                total = result[w, y]
                                term = block[a + digit * stride, moved[y]]
                                for lane in range(lanes):
                                    total[lane] += term[lane]
                    for w in range(height):
                        block[a + w * stride] = result[w]
            stride, rows, height = stride // g, kept, g
        for lane in range(count):
            outer, low = divmod(first + lane, inner)
            for a in range(kept):
                base = ((outer * kept + a) * inner + low) * g
                for y in range(g):
                    target[base + y] = block[a, y, lane]


def _shear_digits(cells: Counts, field: Field, shape: tuple[int, int, int]) -> Counts:
    """Shear one group of digits of the whole level; shape is (span, kept, inner)."""
    g, (span, kept, inner) = field.order, shape
    products, sums = field.products.astype(np.uint16), field.sums.astype(np.uint16)
    fibres = len(cells) // (span * g)
    lanes = min(fibres, 64 if g <= 64 else 32)
    target = np.empty(fibres * kept * g, cells.dtype)

    def shear(start: int, stop: int) -> None:
        _shear(cells, target, (lanes, span, kept, inner), products, sums, start, stop)

    run_chunks(shear, fibres, _share(fibres, len(cells) * g, lanes))
    return target


def _shear_level(cells: Counts, field: Field, digits: int, wanted: int) -> Counts:
    """Turn the cells of one level into the supports of w g + v_j, at least the first `wanted`."""
    g = field.order
    # Half the bytes where no sum can overflow; the caller gets 64 bits back.
    narrow = cells.astype(np.int32 if cells.sum() < 2**31 else np.int64)
    # The top digits go first, because only those that occur below `wanted` have to be kept.
    top = -(-wanted // g**digits)
    while digits:
        group = 1
        while group < digits and g ** (group + 2) <= _BLOCK:
            group += 1
        digits -= group
        narrow = _shear_digits(narrow, field, (g**group, top * g ** (group - 1), g**digits))
        top = g
    return narrow[:wanted].astype(np.int64)


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


def decode_dense(table: Counts, field: Field, t: int, d: int) -> Counts:
    """Count the supports of each value from the counts of all g^(t+1) report codes."""
    if field.order > LARGEST_TABLE:
        codes = np.flatnonzero(table)
        return decode_codes(codes.astype(np.uint64), table[codes], field, t, d)
    return decode_folded(fold_table(table, field, t), field, t, d)


@kernel
def _canonicalise(codes, t, f, levels, cells):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        levels[i], cells[i] = _canonical(codes[i], t, f)


@kernel
def _solve(cells, counts, f, supports, start, stop):  # type: ignore[no-untyped-def]
    """Add the supports of w g + v_j for w in start .. stop: v_j = y - <a, w>."""
    g = np.int64(f.order)
    line = np.zeros(g, np.uint64)
    for i in range(len(cells)):
        a, y = _divide(cells[i], f)
        high, slope = _divide(a, f)
        slope = _negate(slope, f)
        low_start, low_stop = (start, stop) if stop <= g else (0, g)
        for low in range(low_start, low_stop):
            line[low] = _times(slope, np.uint64(low), f)
        for row in range(start // g, (stop - 1) // g + 1):
            base = _plus(y, _negate(_dot(high, np.uint64(row), f), f), f)
            first, last = max(start, row * g), min(stop, row * g + g)
            for w in range(first, last):
                v = w * g + np.int64(_plus(base, line[w - row * g], f))
                if v < len(supports):
                    supports[v] += counts[i]


def decode_codes(codes: Codes, counts: Counts, field: Field, t: int, d: int) -> Counts:
    """Count the supports of each value by solving for them, report by report, without a table."""
    g, f = field.order, _arithmetic(field)
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
        _solve(cells, counts, _arithmetic(field), supports, start, stop)

    run_chunks(solve, rows, chunk)


def decode(codes: Codes, counts: Counts, field: Field, t: int, d: int) -> Counts:
    """Count the supports of each value from distinct reports, in the cheapest way."""
    if choose(field, t, d, len(codes)) == "solve":
        return decode_codes(codes, counts, field, t, d)
    return decode_folded(fold_codes(codes, counts, field, t), field, t, d)
