"""The arithmetic of GF(g) one element at a time, for kernels that loop over reports."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.kernels.compilation import kernel
from deniable.kernels.fields import LARGEST_POWER, LARGEST_TABLE, Field

Table = npt.NDArray[np.uint32]
Word = np.uint64
Numbers = tuple[Word, Word, Word]


class Arithmetic(NamedTuple):
    """A field as kernels see it: plain numbers, and one array with whatever tables it needs.

    The table has the reciprocals at 0, the logarithms at g, the powers at 2 g and the sums at 6 g.
    One array, kept apart from the numbers, spares the kernels from counting references.
    """

    numbers: Numbers  # g, p, and k where p = 2 or else 0
    table: Table


@lru_cache(maxsize=16)
def arithmetic(field: Field) -> Arithmetic:
    """Return a field as kernels see it."""
    g, p, k = field.order, field.characteristic, field.degree
    numbers = (np.uint64(g), np.uint64(p), np.uint64(k if p == 2 else 0))
    if g > LARGEST_POWER:
        return Arithmetic(numbers, np.empty(0, np.uint32))
    tables: list[npt.NDArray[np.uint64] | npt.NDArray[np.int64]] = [field.inverse(np.arange(g))]
    if k > 1:
        tables += [field.logarithms, field.powers, np.zeros(3, np.uint64)]
    if k > 1 and p > 2 and g <= LARGEST_TABLE:
        tables += [field.sums.ravel()]
    return Arithmetic(numbers, np.concatenate([part.astype(np.uint32) for part in tables]))


@kernel
def divide(x: Word, f: Numbers) -> tuple[Word, Word]:
    """The quotient and the remainder of an integer by g."""
    g, _, shift = f
    if shift:
        return x >> shift, x & (g - np.uint64(1))
    return x // g, x % g


@kernel
def times(a: Word, b: Word, f: Numbers, table: Table) -> Word:
    """The product of two elements."""
    g, p, _ = f
    if p == g:
        return a * b % g
    return np.uint64(table[np.uint64(2) * g + table[g + a] + table[g + b]])


@kernel
def plus(a: Word, b: Word, f: Numbers, table: Table) -> Word:
    """The sum of two elements."""
    g, p, shift = f
    if shift:
        return a ^ b
    if p == g:
        return a + b - g if a + b >= g else a + b
    if len(table) > np.uint64(6) * g:
        return np.uint64(table[np.uint64(6) * g + a * g + b])
    total, place = np.uint64(0), np.uint64(1)
    while place < g:
        total += (a // place + b // place % p) % p * place
        place *= p
    return total


@kernel
def negate(a: Word, f: Numbers, table: Table) -> Word:
    """-a = (p - 1) a, where the integer p - 1 is also the name of that element."""
    return times(a, f[1] - np.uint64(1), f, table)


@kernel
def invert(a: Word, f: Numbers, table: Table) -> Word:
    """1/a from the table, or in a large prime field as a^(g-2)."""
    if len(table):
        return np.uint64(table[a])
    result, exponent = np.uint64(1), f[0] - np.uint64(2)
    while exponent:
        if exponent & np.uint64(1):
            result = a * result % f[0]
        a = a * a % f[0]
        exponent >>= np.uint64(1)
    return result


@kernel
def dot(u: Word, v: Word, f: Numbers, table: Table) -> Word:
    """<u, v> of two vectors of digits."""
    g, p, _ = f
    total = np.uint64(0)
    # In a prime field one remainder at the end will do: t (g-1)^2 < 2^64 where g^t < 2^64.
    while u and v:
        u, a = divide(u, f)
        v, b = divide(v, f)
        if p == g:
            total += a * b
        else:
            total = plus(total, times(a, b, f, table), f, table)
    return total % g if p == g else total
