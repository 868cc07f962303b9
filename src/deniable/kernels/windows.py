"""Windows of m elements of GF(g) over reports (u, s), and what lines of reports support.

The report (u, s) supports x where <u, x> + s is one of the elements 0, ..., m - 1. With c[u, s] the
number of such reports, the window sums D[u, z] = sum over j < m of c[u, z + j] tell how many
support an x with <u, x> = -z: all additions are the field's.

With one digit, <u, x> = u x. In the order of the powers of a generator a product is a rotation, so
that the supports are the sum of rotated rows D[u, ...]: one gather and one addition for each cell.
Where the field is large and the window small, the m points (j - s) / u of each report are counted.
"""

from functools import lru_cache
from itertools import count

import numpy as np

from deniable.kernels.fields import Field, prime_factors
from deniable.kernels.parallel import iterate_chunks, run_chunks

Codes = np.typing.NDArray[np.uint64]
Counts = np.typing.NDArray[np.int64]
Cells = np.typing.NDArray[np.int32] | np.typing.NDArray[np.int64]

_CELLS = 1 << 20
"""How many cells of rows are worked on at once: a few megabytes, which caches hold."""
_COUNTED = 1 << 23
"""Reports with at most this many different codes are counted in a table, others sorted."""
_ROTATE = 5.5
_DIVIDE, _POINT = 400.0, 10.0
"""Nanoseconds for one cell of a row, and for a report to be divided and each of its points."""


def window_sums(rows: Cells, field: Field, m: int) -> Cells:
    """Return D[i, z] = sum over j < m of rows[i, z + j], with the additions of the field."""
    if m == 1:
        return rows
    if field.degree == 1:
        return _cyclic_sums(rows, m)
    return _digit_sums(rows, field, m)


def _cyclic_sums(rows: Cells, m: int) -> Cells:
    """Sum windows of a prime field, where they are runs around a circle."""
    n, g = rows.shape
    until = np.empty((n, g + m), rows.dtype)
    np.cumsum(rows, axis=1, out=until[:, :g])
    np.add(until[:, :m], until[:, g - 1 : g], out=until[:, g:])
    # D[z] is the sum until z + m - 1 less that until z - 1.
    result = until[:, m - 1 : g + m - 1].copy()
    result[:, 1:] -= until[:, : g - 1]
    return result


def _digit_sums(rows: Cells, field: Field, m: int) -> Cells:
    """Sum windows of GF(p^k): blocks of p^i elements, each at one place of the digits above.

    The numbers below m are blocks of p^i that share their upper digits, at most p - 1 for each i.
    A block's sum does not depend on the lower i digits of z, which only change its order.
    """
    p, (n, g) = field.characteristic, rows.shape
    result, blocks, size = np.zeros_like(rows), rows, 1
    while size < g:
        every = np.arange(g // size, dtype=np.uint64)
        above, digit = divmod(m // size, p)
        level = np.zeros_like(blocks)
        for b in range(digit):
            # Shifting all digits up and down again makes upper digits into elements.
            moved = field.add(every * size, (above * p + b) * size) // np.uint64(size)
            level += blocks[:, moved]
        result += np.repeat(level, size, axis=1)
        blocks, size = blocks.reshape(n, -1, p).sum(axis=2, dtype=rows.dtype), size * p
    return result


def expand(codes: Codes, field: Field, m: int) -> Codes:
    """Return the codes u g + y of the m lines <u, x> = y that each report (u - 1) g + s stands for.

    They are y = j - s for j < m, and those of one report follow each other.
    """
    g = np.uint64(field.order)
    u, s = codes // g + np.uint64(1), codes % g
    y = field.add(np.arange(m, dtype=np.uint64)[None, :], field.negate(s)[:, None])
    return np.asarray(u[:, None] * g + y).ravel()


def spread(table: Counts, field: Field, m: int) -> Counts:
    """Return how often each code u g + y is a line of a report, from the counts of all reports."""
    g, rows = field.order, table.reshape(-1, field.order)
    result = np.zeros((len(rows) + 1, g), np.int64)
    negative = field.negate(np.arange(g, dtype=np.uint64))

    def fill(start: int, stop: int) -> None:
        sums = window_sums(rows[start:stop], field, m)
        result[1 + start : 1 + stop] = sums[:, negative]

    run_chunks(fill, len(rows), max(1, _CELLS // g))
    return result.ravel()


def count_supports(codes: Codes, field: Field, m: int, d: int) -> Counts:
    """Count the supports of 0..d-1 by reports (u - 1) g + s with one digit, fewer than 2^31."""
    g, n = field.order, len(codes)
    if field.degree == 1 and n * (_DIVIDE + _POINT * m) < _ROTATE * min(n, g) * g:
        return _count_points(codes, field, m)[:d]
    distinct, times = _distinct(codes, (g - 1) * g)
    rows, places = np.divmod(distinct, np.uint64(g))
    # The reports of each function stand together.
    starts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1])[: len(rows)])
    ends = np.append(starts[1:], len(rows))
    powers, logarithms = _cycle(field)
    turns = logarithms[field.negate(rows[starts] + np.uint64(1))]

    def rotate(start: int, stop: int) -> np.typing.NDArray[np.int32]:
        own = np.repeat(np.arange(stop - start), ends[start:stop] - starts[start:stop])
        here = slice(starts[start], ends[stop - 1])
        cells = np.zeros((stop - start, g), np.int32)
        cells[own, places[here].view(np.int64)] = times[here]
        total = np.zeros(g, np.int32)
        # Zero, which is no power, has a place of its own.
        for row, turn in zip(window_sums(cells, field, m), turns[start:stop], strict=True):
            total[0] += row[0]
            total[1:] += row.take(powers[turn : turn + g - 1], mode="wrap")
        return total

    result = np.zeros(g, np.int64)
    order = np.append(0, powers[: g - 1])
    for total in iterate_chunks(rotate, len(starts), max(1, _CELLS // g)):
        result[order] += total
    return result[:d]


def _count_points(codes: Codes, field: Field, m: int) -> Counts:
    """Count how often each element of a prime field is a point of a report."""
    g, steps = np.uint64(field.order), np.arange(m, dtype=np.uint64)

    def part(start: int, stop: int) -> Counts:
        rows, places = np.divmod(codes[start:stop], g)
        inverse = field.inverse(rows + np.uint64(1))
        first = inverse * ((g - places) % g) % g
        points = (first[:, None] + inverse[:, None] * steps) % g
        return np.bincount(points.ravel().view(np.int64), minlength=field.order)

    total = np.zeros(field.order, np.int64)
    # Adding up all elements must not take longer than counting the points of a chunk.
    for counted in iterate_chunks(part, len(codes), max(1, max(_CELLS, field.order) // m)):
        total += counted
    return total


def _distinct(codes: Codes, size: int) -> tuple[Codes, np.typing.NDArray[np.int32]]:
    """Return the different codes below a size in ascending order, and how often each comes."""
    if size <= min(_COUNTED, 64 * len(codes)):
        counts = np.bincount(codes.view(np.int64), minlength=size)
        distinct = np.flatnonzero(counts)
        return distinct.astype(np.uint64), counts[distinct].astype(np.int32)
    ordered, times = np.unique(codes, return_counts=True)
    return ordered, times.astype(np.int32)


@lru_cache(maxsize=8)
def _cycle(field: Field) -> tuple[np.typing.NDArray[np.int64], np.typing.NDArray[np.int64]]:
    """Return the powers of a generator, twice around, and the exponent of each element."""
    g = field.order
    if field.degree > 1:
        once = field.powers[: g - 1].astype(np.int64)
    else:
        root, once = _generator(g), np.ones(1, np.int64)
        while len(once) < g - 1:
            once = np.concatenate([once, once * pow(root, len(once), g) % g])
        once = once[: g - 1].astype(np.int64)
    logarithms = np.zeros(g, np.int64)
    logarithms[once] = np.arange(g - 1)
    return np.concatenate([once, once]), logarithms


def _generator(p: int) -> int:
    """Return the least number whose powers are all nonzero residues modulo a prime."""
    factors = prime_factors(p - 1)
    return next(a for a in count(1) if all(pow(a, (p - 1) // r, p) != 1 for r in factors))
