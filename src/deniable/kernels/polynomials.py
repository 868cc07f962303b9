"""Polynomials over a prime field GF(g): through given points, and how many are small at a point.

A polynomial of degree l is the row of its l + 1 coefficients, that of x^0 first. ``interpolate``
makes one of its values at l points and its leading coefficient, in steps that depend on the shapes
only, since devices run it. ``count_below`` counts for each point x the polynomials with h(x) < m.

Counting goes from one point to the next by forward differences: with D_k the k-th difference at x,
D_k + D_(k+1) is that at x + 1, so that a polynomial costs l additions at each point and no product.
Many polynomials stand side by side, in the narrowest integers that hold twice g.
"""

import numpy as np

from deniable.kernels.fields import Elements, divide, field
from deniable.kernels.jit import kernel, pays
from deniable.kernels.parallel import run_chunks

Coefficients = np.typing.NDArray[np.unsignedinteger]
Counts = np.typing.NDArray[np.int64]
Lanes = np.typing.NDArray[np.int16] | np.typing.NDArray[np.int32]

LARGEST = 1 << 20
"""The order of a field is below this: differences fit into 32 bits, and their products into 64."""
_NARROW = 1 << 15
"""Below this order the sum of two elements fits into 16 bits, and their difference with a sign."""
_LANES = 512
"""How many polynomials stand side by side: with their differences they stay in a core's cache."""
_CHUNK = 1 << 12
_ADDITION = 0.9
"""Nanoseconds that NumPy takes on one core for each difference of a polynomial at a point."""


def interpolate(points: Elements, values: Elements, leading: Elements, g: int) -> Elements:
    """Return the polynomials of degree l with these values at l points, and this leading term.

    ``points`` and ``values`` have a row for each polynomial. The points of a row are different.
    """
    order, degree = np.uint64(g), points.shape[1]
    # Newton's form: h = a_0 + a_1 (x - x_0) + a_2 (x - x_0) (x - x_1) + ..., one a_j a point.
    gaps = _reduce(points[:, None, :] + (order - points[:, :, None]), g)
    products = np.ones_like(points)
    for i in range(degree - 1):
        products[:, i + 1 :] = _reduce(products[:, i + 1 :] * gaps[:, i, i + 1 :], g)
    inverses = field(g).inverse(products)
    newton = np.empty((len(points), degree + 1), np.uint64)
    newton[:, degree] = leading
    for j in range(degree):
        at = np.zeros(len(points), np.uint64)
        for i in range(j - 1, -1, -1):
            at = _reduce(at * gaps[:, i, j] + newton[:, i], g)
        newton[:, j] = _reduce((values[:, j] + (order - at)) * inverses[:, j], g)
    found = np.zeros_like(newton)
    found[:, 0] = leading
    for j in range(degree - 1, -1, -1):
        # Times (x - x_j), plus the next term: the degree is top from here on.
        top, minus = degree - j, order - points[:, j : j + 1]
        lower = _reduce(found[:, :top] * minus, g)
        found[:, 1 : top + 1] = found[:, :top]
        found[:, 0] = newton[:, j]
        found[:, :top] += lower
    return _reduce(found, g)


def _reduce(numbers: Elements, g: int) -> Elements:
    return divide(numbers, g)[1]


def evaluate(coefficients: Coefficients, x: int, g: int) -> Elements:
    """Return the value of each polynomial at one point, by Horner's rule."""
    at = coefficients[:, -1].astype(np.uint64)
    for j in range(coefficients.shape[1] - 2, -1, -1):
        at = _reduce(at * np.uint64(x) + coefficients[:, j], g)
    return at


def count_below(coefficients: Coefficients, m: int, g: int, points: int) -> Counts:
    """Count for each of the points 0..points-1 the polynomials whose value is below m < g."""
    n, degree = len(coefficients), coefficients.shape[1] - 1
    compiled = pays("count polynomials", _ADDITION * degree * n * points)

    def count(start: int, stop: int) -> Counts:
        lanes = _differences(coefficients[start:stop], g)
        return _count_compiled(lanes, m, g, points) if compiled else _count(lanes, m, g, points)

    return sum(run_chunks(count, n, _CHUNK), np.zeros(points, np.int64))


def _differences(coefficients: Coefficients, g: int) -> Lanes:
    """Return the forward differences at 0 of each polynomial, a column for each.

    They are sums of coefficients times integers below g. Floats hold such sums exactly.
    """
    terms = coefficients.shape[1]
    of_powers = [[pow(x, j, g) for j in range(terms)] for x in range(terms)]
    for k in range(1, terms):
        later, earlier = of_powers[k:], of_powers[k - 1 : -1]
        of_powers[k:] = [
            [(a - b) % g for a, b in zip(*both, strict=True)]
            for both in zip(later, earlier, strict=True)
        ]
    sums = np.array(of_powers, np.float64) @ coefficients.T.astype(np.float64)
    found = _reduce(sums.astype(np.uint64), g)
    return found.astype(np.int16) if g < _NARROW else found.astype(np.int32)


def _count(lanes: Lanes, m: int, g: int, points: int) -> Counts:
    """Count point by point, all polynomials together; their differences are used up."""
    counts = np.zeros(points, np.int64)
    now = lanes.view(f"u{lanes.itemsize}")
    order, moved, wrapped = now.dtype.type(g), np.empty_like(now[1:]), np.empty_like(now[1:])
    for x in range(points):
        counts[x] = np.count_nonzero(now[0] < m)
        np.add(now[:-1], now[1:], out=moved)
        # What falls below zero wraps to a large number, so the smaller of both is the sum.
        np.subtract(moved, order, out=wrapped)
        np.minimum(moved, wrapped, out=now[:-1])
    return counts


def _count_compiled(lanes: Lanes, m: int, g: int, points: int) -> Counts:
    terms, n = lanes.shape
    counts, whole = np.zeros(points, np.int64), -(-n // _LANES) * _LANES
    # Polynomials that are added to fill the last block have the value m everywhere.
    padded = np.zeros((terms, whole), lanes.dtype)
    padded[0, n:] = m
    padded[:, :n] = lanes
    blocks = np.ascontiguousarray(padded.reshape(terms, -1, _LANES).transpose(1, 0, 2))
    kind = lanes.dtype.type
    _count_each(blocks, kind(m), kind(g), counts)
    return counts


@kernel
def _count_each(blocks: Lanes, m: np.signedinteger, g: np.signedinteger, counts: Counts) -> None:
    """Count block by block; through a buffer, or the compiler does not vectorise."""
    terms, lanes = blocks.shape[1], blocks.shape[2]
    buffer = np.empty(lanes, blocks.dtype)
    for i in range(len(blocks)):
        now = blocks[i]
        for x in range(len(counts)):
            below = 0
            for j in range(lanes):
                below += 1 if now[0, j] < m else 0
            counts[x] += below
            for k in range(terms - 1):
                for j in range(lanes):
                    buffer[j] = now[k, j] + now[k + 1, j] - g
                for j in range(lanes):
                    now[k, j] = buffer[j] + (g if buffer[j] < 0 else 0)
