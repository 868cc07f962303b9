"""Many vectors over GF(g) at once, in NumPy: scalar products and multiples, by few long steps.

A vector of base-g digits is cut into blocks of h digits, as many as keep G = g^h at most 128. The
scalar products of all pairs of blocks fill a table of G^2 entries, small enough for a core's
cache, so that several digits cost one look-up. Prime fields of which two digits fill no block
multiply instead: the sum of t products stays below 2^64 where g^(t+1) does.
"""

from __future__ import annotations

from functools import lru_cache, partial, reduce

import numpy as np
import numpy.typing as npt

from deniable.kernels.fields import LARGEST_TABLE, Field

Elements = npt.NDArray[np.uint64]
Small = npt.NDArray[np.uint16]

_LARGEST_BLOCK = 128


def divide(x: Elements, divisor: int) -> tuple[Elements, Elements]:
    """Return quotients and remainders: NumPy divides fast, but has no fast remainder."""
    if divisor & (divisor - 1) == 0:
        shift = np.uint64(divisor.bit_length() - 1)
        return x >> shift, x & np.uint64(divisor - 1)
    quotient = x // np.uint64(divisor)
    return quotient, x - quotient * np.uint64(divisor)


def dot(field: Field, u: Elements, v: Elements, t: int) -> Elements:
    """Return <u, v> for each pair of vectors with t digits; u and v broadcast."""
    g = field.order
    if field.degree > 1 and g > LARGEST_TABLE:
        return field.dot(u, v, t)
    if field.degree == 1 and g**2 > _LARGEST_BLOCK:
        return _dot_prime(g, u, v, t)
    digits, base, table = _block(field)
    parts = []
    for _ in range(0, t, digits):
        u, a = divide(u, base)
        v, b = divide(v, base)
        parts.append(look_up(table, a * np.uint64(base) + b))
    return reduce(partial(add, field), parts)


def scale(field: Field, factor: Elements, u: Elements, t: int) -> Elements:
    """Return factor u for each pair of an element and a vector with t digits."""
    g, table = field.order, None
    digits, base = 1, g
    if g**2 <= _LARGEST_BLOCK:
        digits, base, table = _multiples(field)
    result, place = np.zeros(len(u), np.uint64), 1
    for _ in range(0, t, digits):
        u, block = divide(u, base)
        if table is None:
            result += multiply(field, factor, block) * np.uint64(place)
        else:
            result += look_up(table, factor * np.uint64(base) + block) * np.uint64(place)
        place *= base
    return result


def add(field: Field, a: Elements, b: Elements) -> Elements:
    """Return the sum of each pair of elements."""
    g = np.uint64(field.order)
    if field.characteristic == 2:
        return a ^ b
    if field.degree == 1:
        total = a + b
        return total - g * (total >= g)
    if field.order > LARGEST_TABLE:
        return field.add(a, b)
    return look_up(_tables(field)[1], a * g + b)


def multiply(field: Field, a: Elements, b: Elements) -> Elements:
    """Return the product of each pair of elements."""
    if field.degree == 1:
        return divide(a * b, field.order)[1]
    if field.order > LARGEST_TABLE:
        return field.multiply(a, b)
    return look_up(_tables(field)[0], a * np.uint64(field.order) + b)


def look_up(table: Small, index: Elements) -> Elements:
    """Return table[index] as words."""
    # Indices are in range; "wrap" only spares NumPy a second pass that would make sure.
    return table.take(index.view(np.int64), mode="wrap").astype(np.uint64)


def _dot_prime(g: int, u: Elements, v: Elements, t: int) -> Elements:
    total: Elements = np.zeros(1, np.uint64)
    for place in range(t):
        (u, a), (v, b) = (divide(x, g) if place < t - 1 else (x, x) for x in (u, v))
        total = total + a * b
    return divide(total, g)[1]


@lru_cache(maxsize=16)
def _tables(field: Field) -> tuple[Small, Small]:
    """Return products and sums, flat and in two bytes each."""
    return field.products.astype(np.uint16).ravel(), field.sums.astype(np.uint16).ravel()


def _block_digits(g: int) -> int:
    digits = 1
    while g ** (digits + 1) <= _LARGEST_BLOCK:
        digits += 1
    return digits


@lru_cache(maxsize=16)
def _block(field: Field) -> tuple[int, int, Small]:
    """Return h, G = g^h and the scalar products of all pairs of blocks of h digits."""
    g, digits = field.order, _block_digits(field.order)
    every = np.arange(g**digits, dtype=np.uint64)
    products = field.dot(every[:, None], every[None, :], digits)
    return digits, g**digits, products.astype(np.uint16).ravel()


@lru_cache(maxsize=16)
def _multiples(field: Field) -> tuple[int, int, Small]:
    """Return h, G = g^h and the multiples of all blocks of h digits by each element."""
    g, digits = field.order, _block_digits(field.order)
    blocks, places = np.arange(g**digits), g ** np.arange(digits)
    factors = np.arange(g)[:, None, None]
    products = field.multiply(factors, blocks[:, None] // places % g)
    return digits, g**digits, (products.astype(np.int64) @ places).astype(np.uint16).ravel()
