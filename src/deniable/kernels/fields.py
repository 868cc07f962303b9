"""Finite fields GF(g), the arithmetic behind linear hashing.

An element is an integer below g: sum of c_i p^i stands for the polynomial with coefficients c_i
over GF(p). Products are taken modulo the *smallest primitive* monic polynomial, where polynomials
are compared by the same integers, so that every implementation has the same field. The modulus is
kept as its coefficients, that of x^0 first and the leading 1 last; a prime field has none.

Only NumPy is used, because a client needs this. No branch depends on the elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter

Elements = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.uint64] | npt.NDArray[np.int64] | np.uint64 | int

Table = TypeVar("Table", bound=npt.NDArray[Any])

LARGEST_PRIME = 2**31
LARGEST_POWER = 2**16
LARGEST_TABLE = 1024


def is_prime(n: int) -> bool:
    """Tell whether n is prime, by a Miller-Rabin test that is certain below 2**64."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    if n < 2 or any(n % base == 0 for base in bases):
        return n in bases
    twos = ((n - 1) & (1 - n)).bit_length() - 1
    for base in bases:
        x = pow(base, (n - 1) >> twos, n)
        if x != 1 and all(pow(x, 1 << i, n) != n - 1 for i in range(twos)):
            return False
    return True


def prime_power(g: int) -> tuple[int, int] | None:
    """Write g as p**k with p prime, or answer None where that cannot be done."""
    for k in range(1, g.bit_length()):
        root = round(g ** (1 / k))
        for p in (root - 1, root, root + 1):
            if p**k == g and is_prime(p):
                return p, k
    return None


def next_prime_power(n: int) -> int:
    """Find the smallest prime power that is at least n."""
    return next(g for g in count(max(n, 2)) if prime_power(g))


@lru_cache(maxsize=64)
def field(g: int) -> Field:
    """Make the field with g elements; the same object each time."""
    factors = prime_power(g)
    if factors is None:
        raise InvalidParameter(
            f"the order of a field must be a prime power, not {g}; "
            f"the next one is {next_prime_power(g)}",
            value=g,
        )
    p, k = factors
    if k == 1 and g >= LARGEST_PRIME:
        raise InvalidParameter(f"a prime field must be smaller than 2**31, not {g}", value=g)
    if k > 1 and g > LARGEST_POWER:
        raise InvalidParameter(
            f"a field of {p}**{k} = {g} elements is too large: take at most 2**16, or a prime",
            value=g,
        )
    return Field(g, p, k, _smallest_primitive(p, k) if k > 1 else ())


@dataclass(frozen=True)
class Field:
    """The field with `order` elements; get one from `field(g)`, which chooses the modulus."""

    order: int
    characteristic: int
    degree: int
    modulus: tuple[int, ...]

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return field, (self.order,)

    def add(self, a: Integers, b: Integers) -> Elements:
        """Add elements: coefficient by coefficient modulo p."""
        a, b = _elements(a), _elements(b)
        p = self.characteristic
        if p == 2:
            return a ^ b
        places = [p**i for i in range(self.degree)]
        return _total([(a // place + b // place % p) % p * place for place in places])

    def negate(self, a: Integers) -> Elements:
        """Change the sign of elements."""
        a, p = _elements(a), self.characteristic
        return _total([(p - a // p**i % p) % p * p**i for i in range(self.degree)])

    def multiply(self, a: Integers, b: Integers) -> Elements:
        """Multiply elements."""
        a, b = _elements(a), _elements(b)
        if self.degree == 1:
            return a * b % self.order
        product: Elements = self.powers[self.logarithms[a] + self.logarithms[b]]
        return product

    def inverse(self, a: Integers) -> Elements:
        """Invert elements; the answer for zero, which has no inverse, is zero."""
        a = _elements(a)
        result = np.ones_like(a)
        # a^(g-2), by squaring: the exponent is public, so the work does not depend on a.
        for bit in f"{self.order - 2:b}":
            result = self.multiply(result, result)
            if bit == "1":
                result = self.multiply(result, a)
        return result if self.order > 2 else a

    def total(self, a: Elements) -> Elements:
        """Add the elements along the last axis."""
        p = self.characteristic
        if p == 2:
            return np.asarray(np.bitwise_xor.reduce(a, axis=-1), dtype=np.uint64)
        places = [p**i for i in range(self.degree)]
        return _total([(a // place % p).sum(axis=-1) % p * place for place in places])

    def dot(self, u_index: Integers, v_index: Integers, t: int) -> Elements:
        """Compute <u, v> for vectors whose coordinates are the t base-g digits of integers."""
        g, places = self.order, np.array([self.order**i for i in range(t)], dtype=np.uint64)
        u, v = (_elements(index)[..., None] // places % g for index in (u_index, v_index))
        return self.total(self.multiply(u, v))

    @cached_property
    def powers(self) -> Elements:
        """The powers of x, twice around, then zeros for exponents that contain log 0."""
        self._require_extension()
        p, k, g = self.characteristic, self.degree, self.order
        rows, step = np.eye(1, k, dtype=np.int64), _companion(self.modulus, p)
        # Rows hold the coefficients of x^0 .. x^(n-1); one matrix product by x^n doubles them.
        while len(rows) < g - 1:
            rows = np.concatenate([rows, rows @ step % p])
            step = step @ step % p
        cycle = (rows[: g - 1] @ p ** np.arange(k)).astype(np.uint64)
        return _frozen(np.concatenate([cycle, cycle, np.zeros(2 * g - 1, np.uint64)]))

    @cached_property
    def logarithms(self) -> npt.NDArray[np.int64]:
        """The exponent of each element as a power of x; that of zero points past the powers."""
        self._require_extension()
        g = self.order
        table = np.full(g, 2 * (g - 1), np.int64)
        table[self.powers[: g - 1]] = np.arange(g - 1)
        return _frozen(table)

    @cached_property
    def products(self) -> Elements:
        """The g x g table of products, for g up to 1024."""
        return _frozen(self.multiply(*self._pairs()))

    @cached_property
    def sums(self) -> Elements:
        """The g x g table of sums, for g up to 1024."""
        return _frozen(self.add(*self._pairs()))

    def _pairs(self) -> tuple[Elements, Elements]:
        if self.order > LARGEST_TABLE:
            raise InvalidParameter(
                f"tables are kept for at most {LARGEST_TABLE} elements, not {self.order}",
                value=self.order,
            )
        every = np.arange(self.order, dtype=np.uint64)
        return every[:, None], every[None, :]

    def _require_extension(self) -> None:
        if self.degree == 1:
            raise InvalidParameter("prime fields need no logarithms", value=self.order)


def _elements(a: Integers) -> Elements:
    return np.asarray(a, dtype=np.uint64)


def _total(terms: list[Elements]) -> Elements:
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def _frozen(table: Table) -> Table:
    table.setflags(write=False)
    return table


def _companion(modulus: tuple[int, ...], p: int) -> npt.NDArray[np.int64]:
    """The matrix that multiplies a row of coefficients by x, modulo the modulus."""
    k = len(modulus) - 1
    matrix = np.eye(k, k=1, dtype=np.int64)
    matrix[-1] = [-c % p for c in modulus[:-1]]
    return matrix


def _prime_factors(n: int) -> list[int]:
    return [r for r in range(2, n + 1) if n % r == 0 and is_prime(r)]


def _smallest_primitive(p: int, k: int) -> tuple[int, ...]:
    """Find the smallest monic polynomial of degree k over GF(p) modulo which x has order p**k - 1.

    Such an x has every nonzero residue among its powers, so the residues form a field.
    """
    order = p**k - 1
    cofactors = [order // r for r in _prime_factors(order)]
    for code in range(1, p**k):
        modulus = (*(code // p**i % p for i in range(k)), 1)
        # The norm of x, (-1)^k c_0, generates GF(p)* if x generates GF(p^k)*: a cheap first sieve.
        norm = (-1) ** k * modulus[0] % p
        if norm == 0 or any(pow(norm, (p - 1) // r, p) == 1 for r in _prime_factors(p - 1)):
            continue
        squares = [_companion(modulus, p)]
        while len(squares) < order.bit_length():
            squares.append(squares[-1] @ squares[-1] % p)
        if _is_one(squares, order, p) and not any(_is_one(squares, e, p) for e in cofactors):
            return modulus
    raise AssertionError(f"GF({p}**{k}) has a primitive polynomial")


def _is_one(squares: list[npt.NDArray[np.int64]], exponent: int, p: int) -> bool:
    """Tell whether x**exponent = 1, from the matrices of x**1, x**2, x**4 ..."""
    row = np.eye(1, len(squares[0]), dtype=np.int64)
    for i, square in enumerate(squares):
        if exponent >> i & 1:
            row = row @ square % p
    return bool(row[0, 0] == 1 and not row[0, 1:].any())
