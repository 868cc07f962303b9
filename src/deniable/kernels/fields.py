"""Finite fields GF(g), and vectors over them: the arithmetic behind linear hashing.

An element is an integer below g: sum of c_i p^i stands for the polynomial with coefficients c_i
over GF(p). Products are taken modulo the *smallest primitive* monic polynomial, where polynomials
are compared by the same integers, so that every implementation has the same field. The modulus is
kept as its coefficients, that of x^0 first and the leading 1 last; a prime field has none.

A vector is the integer whose base-g digits are its coordinates. It is cut into blocks of h digits,
as many as keep G = g^h at most 128: the scalar products of all pairs of blocks fill a table of G^2
entries, small enough for a core's cache, so that several digits cost one look-up. Prime fields of
which two digits fill no block multiply instead, and larger fields that are not prime use
logarithms.

Devices run this, on one answer, as servers do on many: NumPy alone, in steps that depend on the
shapes only. No branch depends on the elements.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, TypeVar

import numpy as np

from deniable.errors import InvalidParameter

Elements = np.typing.NDArray[np.uint64]
Integers = np.typing.NDArray[np.uint64] | np.typing.NDArray[np.int64] | np.uint64 | int
Small = np.typing.NDArray[np.uint16]

Table = TypeVar("Table", bound=np.typing.NDArray[Any])

LARGEST_PRIME, LARGEST_POWER, LARGEST_TABLE = 2**31, 2**16, 1024
_LARGEST_BLOCK = 128


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


def next_prime(n: int) -> int:
    while not is_prime(n):
        n += 1
    return n


def next_prime_power(n: int) -> int:
    """Find the smallest prime power that is at least n."""
    return next(g for g in count(max(n, 2)) if prime_power(g))


@lru_cache(maxsize=64)
def field(g: int) -> "Field":
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

    def document(self) -> dict[str, object]:
        named = {"characteristic": self.characteristic, "degree": self.degree}
        return {**named, "modulus": list(self.modulus)}

    def add(self, a: Integers, b: Integers) -> Elements:
        """Add elements: coefficient by coefficient modulo p."""
        a, b = np.asarray(a, np.uint64), np.asarray(b, np.uint64)
        g, p = self.order, self.characteristic
        if p == 2:
            return a ^ b
        if self.degree == 1:
            total = a + b
            return total - np.uint64(g) * (total >= g)
        if g <= _LARGEST_BLOCK:
            index = (a * g + b).view(np.int64)
            return self.sums.ravel().take(index, mode="wrap").astype(np.uint64)
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape), np.uint64)
        for i in range(self.degree):
            result += (a // p**i + b // p**i % p) % p * p**i
        return result

    def negate(self, a: Integers) -> Elements:
        a, p = np.asarray(a, np.uint64), self.characteristic
        if self.degree == 1:
            return (self.order - a) * (a > 0)
        # The integer p - 1 is also the name of the element -1.
        return a if p == 2 else self.multiply(a, p - 1)

    def multiply(self, a: Integers, b: Integers) -> Elements:
        a, b = np.asarray(a, np.uint64), np.asarray(b, np.uint64)
        g = self.order
        if self.degree == 1:
            product = a * b
            return product - product // g * g
        if g <= _LARGEST_BLOCK:
            index = (a * g + b).view(np.int64)
            return self.products.ravel().take(index, mode="wrap").astype(np.uint64)
        found: Elements = self.powers[self.logarithms[a] + self.logarithms[b]]
        return found

    def inverse(self, a: Integers) -> Elements:
        """Invert elements; the answer for zero, which has no inverse, is zero."""
        a = np.asarray(a, np.uint64)
        result = np.ones_like(a)
        # a^(g-2), by squaring: the exponent is public, so the work does not depend on a.
        for bit in f"{self.order - 2:b}":
            result = self.multiply(result, result)
            if bit == "1":
                result = self.multiply(result, a)
        return result if self.order > 2 else a

    def dot(self, u: Integers, v: Integers, t: int) -> Elements:
        """Compute <u, v> for vectors of t digits, which broadcast against each other."""
        g, (digits, base, table) = self.order, self._blocks
        count, total = -(-t // digits), np.zeros((), np.uint64)
        even, prime = self.characteristic == 2, self.degree == 1
        for a, b in zip(cut(u, base, count), cut(v, base, count), strict=True):
            if table is not None:
                # Indices are in range; "wrap" only spares NumPy a pass that would make sure.
                index = (a * base + b).view(np.int64)
                term = table.take(index, mode="wrap").astype(np.uint64)
            else:
                term = a * b if prime else self.multiply(a, b)
            # In a prime field one remainder at the end will do: t (g-1)^2 < 2^64.
            if even:
                total = total ^ term
            elif prime:
                total = total + term
            else:
                total = self.add(total, term)
        return total - total // g * g if prime else total

    def scale(self, factor: Elements, u: Elements, t: int) -> Elements:
        """Multiply each vector of t digits by its factor."""
        result = np.zeros(len(u), np.uint64)
        for i, digit in enumerate(cut(u, self.order, t)):
            result += self.multiply(factor, digit) * np.uint64(self.order**i)
        return result

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
    def logarithms(self) -> np.typing.NDArray[np.int64]:
        """The exponent of each element as a power of x; that of zero points past the powers."""
        self._require_extension()
        g = self.order
        table = np.full(g, 2 * (g - 1), np.int64)
        table[self.powers[: g - 1]] = np.arange(g - 1)
        return _frozen(table)

    @cached_property
    def reciprocals(self) -> Elements:
        """The inverse of each element, for g up to 2^16."""
        return _frozen(self.inverse(np.arange(self.order)))

    @cached_property
    def products(self) -> Small:
        """The g x g table of products, for g up to 1024."""
        every = self._few_elements()
        if self.degree == 1:
            return _frozen((every[:, None] * every % self.order).astype(np.uint16))
        logarithms = self.logarithms
        return _frozen(self.powers[logarithms[:, None] + logarithms].astype(np.uint16))

    @cached_property
    def sums(self) -> Small:
        """The g x g table of sums, for g up to 1024."""
        every, p = self._few_elements(), self.characteristic
        table = np.zeros((self.order, self.order), np.uint64)
        for place in (p**i for i in range(self.degree)):
            table += (every[:, None] // place + every // place) % p * place
        return _frozen(table.astype(np.uint16))

    def _few_elements(self) -> Elements:
        if self.order > LARGEST_TABLE:
            raise InvalidParameter(
                f"tables are kept for at most {LARGEST_TABLE} elements, not {self.order}",
                value=self.order,
            )
        return np.arange(self.order, dtype=np.uint64)

    @cached_property
    def _blocks(self) -> tuple[int, int, Small | None]:
        """h, G and the scalar products of all pairs of blocks, where there is a table of them."""
        g, digits = self.order, 1
        while g ** (digits + 1) <= _LARGEST_BLOCK:
            digits += 1
        if g > _LARGEST_BLOCK or (self.degree == 1 and digits == 1):
            return 1, g, None
        every, table = np.arange(g**digits, dtype=np.uint64), np.zeros((), np.uint64)
        for i in range(digits):
            digit = every // g**i % g
            table = self.add(table, self.multiply(digit[:, None], digit))
        return digits, g**digits, _frozen(table.astype(np.uint16).ravel())

    def _require_extension(self) -> None:
        if self.degree == 1:
            raise InvalidParameter("prime fields need no logarithms", value=self.order)


def divide(x: Elements, divisor: int) -> tuple[Elements, Elements]:
    """Return quotients and remainders: NumPy divides fast, but has no fast remainder."""
    if divisor & (divisor - 1) == 0:
        shift = np.uint64(divisor.bit_length() - 1)
        return x >> shift, x & np.uint64(divisor - 1)
    quotient = x // np.uint64(divisor)
    return quotient, x - quotient * np.uint64(divisor)


def cut(x: Integers, base: int, count: int) -> list[Elements]:
    """Return the digits of numbers below base^count in a base, least significant first."""
    rest: Elements = np.asarray(x, np.uint64)
    parts: list[Elements] = []
    whole, even = np.uint64(base), base & (base - 1) == 0
    mask, shift = np.uint64(base - 1), np.uint64(base.bit_length() - 1)
    for _ in range(count - 1):
        quotient = rest >> shift if even else rest // whole
        parts.append(rest & mask if even else rest - quotient * whole)
        rest = quotient
    return [*parts, rest][:count]


def _frozen(table: Table) -> Table:
    table.setflags(write=False)
    return table


def _companion(modulus: tuple[int, ...], p: int) -> np.typing.NDArray[np.int64]:
    """The matrix that multiplies a row of coefficients by x, modulo the modulus."""
    k = len(modulus) - 1
    matrix = np.eye(k, k=1, dtype=np.int64)
    matrix[-1] = [-c % p for c in modulus[:-1]]
    return matrix


def prime_factors(n: int) -> list[int]:
    factors, r = [], 2
    while r * r <= n:
        if n % r == 0:
            factors.append(r)
            while n % r == 0:
                n //= r
        r += 1
    return [*factors, n] if n > 1 else factors


def _smallest_primitive(p: int, k: int) -> tuple[int, ...]:
    """Find the smallest monic polynomial of degree k over GF(p) modulo which x has order p**k - 1.

    Such an x has every nonzero residue among its powers, so the residues form a field.
    """
    order = p**k - 1
    cofactors = [order // r for r in prime_factors(order)]
    for code in range(1, p**k):
        modulus = (*(code // p**i % p for i in range(k)), 1)
        # The norm of x, (-1)^k c_0, generates GF(p)* if x generates GF(p^k)*: a cheap first sieve.
        norm = (-1) ** k * modulus[0] % p
        if norm == 0 or any(pow(norm, (p - 1) // r, p) == 1 for r in prime_factors(p - 1)):
            continue
        squares = [_companion(modulus, p)]
        while len(squares) < order.bit_length():
            squares.append(squares[-1] @ squares[-1] % p)
        if _is_one(squares, order, p) and not any(_is_one(squares, e, p) for e in cofactors):
            return modulus
    raise AssertionError(f"GF({p}**{k}) has a primitive polynomial")


def _is_one(squares: list[np.typing.NDArray[np.int64]], exponent: int, p: int) -> bool:
    """Tell whether x**exponent = 1, from the matrices of x**1, x**2, x**4 ..."""
    row = np.eye(1, len(squares[0]), dtype=np.int64)
    for i, square in enumerate(squares):
        if exponent >> i & 1:
            row = row @ square % p
    return bool(row[0, 0] == 1 and not row[0, 1:].any())
