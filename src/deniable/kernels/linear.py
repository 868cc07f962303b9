"""Linear hashing over GF(g): the number of reports that support every value.

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
for each report and each w instead.

How long that takes is estimated roughly, to choose settings by: in nanoseconds, for one setting or
for an array of them. It may be changed: what was chosen by it is stored with the question.
"""

from typing import Any

import numpy as np

from deniable.kernels.fields import LARGEST_POWER, LARGEST_TABLE, Field, divide
from deniable.kernels.parallel import run_chunks, threads

Codes = np.typing.NDArray[np.uint64]
Counts = np.typing.NDArray[np.int64]
Cells = np.typing.NDArray[np.number[Any]]
Floats = np.typing.NDArray[np.float64]

MEMORY_LIMIT = 1 << 32
"""The most bytes that a folded table may take; beyond that, values are solved for without one."""
_STEP = 1 << 13
"""How many reports, or pairs of a report and a w, are worked on at once, to stay in a cache."""
_PART = 1 << 20
"""How many entries of a table are moved at once."""
_SERIAL = 1 << 21
"""Below this, a few milliseconds of work, threads are not worth starting."""
_LONG = 1 << 13

_MOST_CODES = 1 << 23
_MOST_CELLS = 1 << 26
"""Tables with more cells, at 24 bytes each while they are decoded, are solved instead."""
# Nanoseconds on one core at 2.3 GHz.
_COUNT, _SORT, _SPREAD = 5.0, 60.0, 8.0
_ROTATE, _DIVIDE, _POINT = 6.0, 400.0, 10.0
_NORMALISE, _FOLD = 35.0, 6.0
_MOVE, _ADD, _ADD_ALONE = 1.5, 0.2, 1.7
_SOLVE, _SOLVE_ROW = 2.0, 14.0


def level_start(g: int, t: int, level: int) -> int:
    """Return where the cells of a level begin: after those of the levels before, g^t, g^(t-1)..."""
    return sum(g ** (t - j) for j in range(level))


def folded_size(g: int, t: int) -> int:
    """Return how many cells there are; the last two are for u = 0, with y = 0 and with y != 0."""
    return level_start(g, t, t) + 2


def folding_bytes(field: Field, t: int) -> int:
    """Return how many bytes folding takes, 0 where it takes too many and values are solved for."""
    size = 24 * folded_size(field.order, t)
    return size if field.order <= LARGEST_TABLE and size <= MEMORY_LIMIT else 0


def fold_each(codes: Codes, field: Field, t: int) -> Codes:
    """Return the cell of each report, numbered through all levels."""
    cells, starts = np.empty(len(codes), np.uint64), _starts(field, t)
    for start in range(0, len(codes), _STEP):
        part = slice(start, start + _STEP)
        cells[part] = _fold_some(codes[part], field, starts)
    return cells


def _starts(field: Field, t: int) -> Codes:
    return np.array([level_start(field.order, t, j) for j in range(t + 1)], np.uint64)


def _fold_some(codes: Codes, field: Field, starts: Codes) -> Codes:
    g = field.order
    u, y = divide(codes, g)
    levels, zero = np.zeros(len(codes), np.uint8), np.flatnonzero(u == 0)
    rest, first = divide(u, g)
    low = np.flatnonzero((first == 0) & (u > 0))
    while len(low):
        levels[low] += 1
        rest[low], first[low] = divide(rest[low], g)
        low = low[first[low] == 0]
    factor = field.inverse(first) if g > LARGEST_POWER else field.reciprocals[first]
    cells = field.scale(factor, rest, len(starts) - 2) * np.uint64(g)
    cells += field.multiply(factor, y)
    cells += starts[levels]
    cells[zero] = starts[-1] + (y[zero] > 0)
    return cells


def fold_table(table: Counts, field: Field, t: int, most: int = 1 << 62) -> Counts:
    """Fold the counts of all g^(t+1) report codes, none above ``most``, for g up to 1024.

    The reports that fold onto (u, y) are (c u, c y): for each c the vectors u = (a, 1, 0, ...) of
    a level are found in one piece, and so are their multiples.
    """
    g, products = field.order, field.products.astype(np.int64)
    # Half the bytes where all counts fit: fetching rows from memory takes most of the time.
    counts: Cells = table.astype(np.int32) if most < 2**31 else table
    rows = counts.reshape(-1, g)
    folded = np.zeros(folded_size(g, t), np.int64)
    step = max(1, _PART // g)
    for c in range(1, g):
        above = _multiples(products[c], t - 1)
        for j in range(t):
            start, count = level_start(g, t, j), g ** (t - 1 - j)
            cells = folded[start : start + count * g].reshape(-1, g)
            for first in range(0, count, step):
                u = (above[first : min(first + step, count)] * g + c) * g**j
                found = rows.take(u, axis=0, mode="wrap")
                cells[first : first + step] += found.take(products[c], axis=1, mode="wrap")
    folded[-2:] = table[0], table[1:g].sum()
    return folded


def _multiples(products: np.typing.NDArray[np.int64], digits: int) -> np.typing.NDArray[np.int64]:
    """Return c a for all vectors a with this many digits, given c times each element."""
    multiples, place = np.zeros(1, np.int64), 1
    for _ in range(digits):
        multiples = (products[:, None] * place + multiples).ravel()
        place *= len(products)
    return multiples


def shears(field: Field, t: int, d: int, m: int) -> bool:
    """Tell whether m cells are decoded by shearing the whole table, which must fit in memory."""
    if not folding_bytes(field, t):
        return False
    g, digits, lines = (np.array(float(x)) for x in (field.order, t, m))
    return bool(shear_time(g, digits, d) < solve_time(g, lines, d))


def decode_folded(folded: Counts, field: Field, t: int, d: int) -> Counts:
    """Count the supports of each value from folded reports, for g up to 1024."""
    g = field.order
    # Half the bytes where no sum can overflow; the caller gets 64 bits back. The sum of all lines
    # of 10^18 reports would itself overflow as an integer.
    narrow = folded.sum(dtype=np.float64) < 2**31
    cells: Cells = folded.astype(np.int32 if narrow else np.int64)
    levels = []
    for j in range(t):
        start, wanted, digits = level_start(g, t, j), -(-d // g**j), t - 1 - j
        # The top digit goes first, because only what occurs below `wanted` has to be kept.
        kept, own = -(-wanted // g**digits), cells[start : start + g ** (t - j)]
        levels.append(_shear_digits(own, field, digits, kept)[:wanted].astype(np.int64))
    return _add_levels(levels, int(folded[-2]), g)


def _shear_digits(cells: Cells, field: Field, digits: int, kept: int) -> Cells:
    """Turn the cells of a level into supports, one digit after the other, of the top one `kept`.

    Each is sheared in an array [a, y, lane] where the lanes are all combinations of other digits.
    """
    g = field.order
    for place in reversed(range(digits)):
        lines = cells.reshape(-1, g, g**place, g)
        outer, _, inner, _ = lines.shape
        block = np.ascontiguousarray(lines.transpose(1, 3, 0, 2)).reshape(g, g, -1)
        sheared = _shear(block, field, kept).reshape(kept, g, outer, inner)
        cells = np.ascontiguousarray(sheared.transpose(2, 0, 3, 1)).reshape(-1)
        kept = g
    return cells


def line_sums(tables: Floats, field: Field, t: int) -> Floats:
    """Sum tables of the g^t points, one in each row, over all lines <u, x> = y, for g up to 1024.

    Of all multiples of a u there is one, and its g lines follow each other: those of all u that
    differ from 0, in an order that is the same for all tables.
    """
    rows, g = len(tables), field.order
    levels = []
    for j in range(t):
        sheared = _shear_digits(tables, field, t - 1 - j, g)
        levels.append(sheared.reshape(rows, -1))
        tables = tables.reshape(rows, -1, g).sum(axis=-1)
    return np.concatenate(levels, axis=1)


def _shear(block: Cells, field: Field, kept: int) -> Cells:
    """Return the sums over a of block[a, y + a w], for each w below `kept` and each y."""
    g, _, lanes = block.shape
    products, sums = field.products.astype(np.int64), field.sums.astype(np.int64)
    result = np.empty((kept, g, lanes), block.dtype)
    # Rows are added one at a time where they are long, all at once where calls cost more.
    add = _add_long if g * lanes >= _LONG else _add_short

    def shear(start: int, stop: int) -> None:
        for w in range(start, stop):
            add(block, sums[products[:, w]], result[w])

    parts = 1 if block.size * kept < _SERIAL else threads()
    run_chunks(shear, kept, -(-kept // parts))
    return result


def _add_long(block: Cells, moved: np.typing.NDArray[np.int64], total: Cells) -> None:
    total[:] = block[0]
    for line, places in zip(block[1:], moved[1:], strict=True):
        total += line.take(places, axis=0)


def _add_short(block: Cells, moved: np.typing.NDArray[np.int64], total: Cells) -> None:
    g, _, lanes = block.shape
    places = moved + np.arange(0, g * g, g)[:, None]
    np.add.reduce(block.reshape(g * g, lanes).take(places, axis=0), axis=0, out=total)


def solve_cells(cells: Codes, counts: Counts, field: Field, t: int, d: int) -> Counts:
    """Count the supports of each value by solving for them, cell by cell, without a table."""
    g, starts = field.order, _starts(field, t)
    kinds = np.searchsorted(starts, cells, side="right") - 1
    levels = []
    for j in range(t):
        here = np.flatnonzero(kinds == j)
        supports = np.zeros(-(-d // g**j), np.int64)
        if len(here):
            _solve_level(cells[here] - starts[j], counts[here], field, supports)
        levels.append(supports)
    return _add_levels(levels, int(counts[cells == starts[t]].sum()), g)


def count_keys(cells: Codes, counts: Counts, field: Field, t: int, keys: Codes) -> Counts:
    """Count the supports of a few values, each by a look at all cells."""
    g, starts = field.order, _starts(field, t)
    kinds, found = np.searchsorted(starts, cells, side="right") - 1, np.zeros(len(keys), np.int64)
    minus_one = np.full(1, field.characteristic - 1, np.uint64)
    for j in range(t):
        here = np.flatnonzero(kinds == j)
        a, y = divide(cells[here] - starts[j], g)
        minus, own = field.scale(minus_one, a, t), counts[here]
        rest, digits = divide(divide(keys, g**j)[0], g)
        for i, (w, digit) in enumerate(zip(rest[:, None], digits, strict=True)):
            found[i] += own[field.add(field.dot(minus, w, t), y) == digit].sum()
    return found + int(counts[cells == starts[t]].sum())


def _solve_level(cells: Codes, counts: Counts, field: Field, supports: Counts) -> None:
    """Add to the supports of w g + v_j at one level, with v_j = y - <a, w>, those by its cells."""
    g, rows = field.order, -(-len(supports) // field.order)
    t, reach = 1, g
    while reach < rows:
        t, reach = t + 1, reach * g
    a, y = divide(cells, g)
    # -a, so that <-a, w> is added: -1 is the element p - 1. Digits that no w has do not matter.
    minus = field.scale(np.full(1, field.characteristic - 1, np.uint64), divide(a, reach)[1], t)
    width = max(1, _STEP // max(1, len(cells)))
    for first in range(0, rows, width):
        w = np.arange(first, min(first + width, rows), dtype=np.uint64)[:, None]
        for start in range(0, len(cells), _STEP):
            part = slice(start, start + _STEP)
            dots = field.dot(minus[part], w, t)
            v = (w * np.uint64(g) + field.add(dots, y[part])).view(np.int64).ravel()
            times = np.tile(counts[part], len(w))
            # The last row may be longer than the supports.
            if (first + width) * g > len(supports):
                inside = np.flatnonzero(v < len(supports))
                v, times = v[inside], times[inside]
            np.add.at(supports, v, times)


def _add_levels(levels: list[Counts], everywhere: int, g: int) -> Counts:
    """Add the supports of v // g^j at all levels j, and those that every value has."""
    total = levels[-1] + everywhere
    for level in reversed(levels[:-1]):
        total = level + np.repeat(total, g)[: len(level)]
    return total


def window_time(g: Floats, t: Floats, m: Floats, d: int, n: int) -> Floats:
    """Estimate tallying and decoding n windows of m elements; of one digit, points are counted."""
    each = np.where(g * g <= min(_MOST_CODES, 64 * n), _COUNT, _SORT)
    rows = each * n + _ROTATE * np.minimum(n, g) * g
    points = np.minimum(rows, n * (_DIVIDE + _POINT * m) + g)
    return np.where(t == 1, points, line_time(g, t, m, d, n))


def line_time(g: Floats, t: Floats, m: Floats, d: int, n: int) -> Floats:
    """Estimate tallying and decoding n reports of m lines each, with t digits over GF(g)."""
    codes, folded = g ** (t + 1), n * (_NORMALISE + _FOLD * m)
    # All codes are counted where there are few, else the m lines of each report are folded.
    counted = np.minimum(_COUNT * n + _SPREAD * codes, folded)
    tallied = np.where(codes <= min(_MOST_CODES, 64 * n), counted, folded)
    cells = _cells(g, t)
    solve = solve_time(g, np.minimum(n * m, cells), d)
    shears = (g <= LARGEST_TABLE) & (cells <= _MOST_CELLS)
    return tallied + np.where(shears, np.minimum(shear_time(g, t, d), solve), solve)


def shear_time(g: Floats, t: Floats, d: int) -> Floats:
    """Estimate turning a folded table into the supports of d values."""
    kept = np.ceil(d / g ** (t - 1)) / g
    # With two digits there is one fibre only, so that vector registers stay empty.
    return (t - 1) * _cells(g, t) * kept * (_MOVE + g * np.where(t > 2, _ADD, _ADD_ALONE))


def solve_time(g: Floats, lines: Floats, d: int) -> Floats:
    """Estimate finding the values on each of some lines, among d."""
    return lines * (_NORMALISE + np.ceil(d / g) * (_SOLVE + _SOLVE_ROW / g))


def _cells(g: Floats, t: Floats) -> Floats:
    return g**t * g / (g - 1)
