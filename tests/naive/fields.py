"""What `deniable.kernels.fields` and `linear` compute, by definition, one element at a time."""

from functools import cache
from itertools import count


def digits(x, base, length):
    """Return the digits of x, least significant first."""
    return [x // base**i % base for i in range(length)]


def number(coefficients, base):
    """Return the integer with these digits, least significant first."""
    return sum(c * base**i for i, c in enumerate(coefficients))


def factor(g):
    """Return (p, k) where g = p**k for a prime p, else None."""
    p = next((p for p in range(2, g + 1) if g % p == 0), None)
    return next(((p, k) for k in range(1, 64) if p and p**k == g), None)


def add(a, b, p, k):
    """Add two polynomials, coefficient by coefficient."""
    return number([(x + y) % p for x, y in zip(digits(a, p, k), digits(b, p, k), strict=True)], p)


@cache
def multiply(a, b, p, modulus):
    """Multiply two polynomials and take the remainder of long division by the modulus."""
    if not modulus:
        return a * b % p
    k = len(modulus) - 1
    product = [0] * (2 * k)
    for i, x in enumerate(digits(a, p, k)):
        for j, y in enumerate(digits(b, p, k)):
            product[i + j] = (product[i + j] + x * y) % p
    for top in range(2 * k - 1, k - 1, -1):
        lead = product[top]
        for i, c in enumerate(modulus):
            product[top - k + i] = (product[top - k + i] - lead * c) % p
    return number(product[:k], p)


def is_primitive(modulus, p, k):
    """Tell whether the powers of x are all nonzero residues."""
    power, seen = 1, set()
    while power not in seen:
        seen.add(power)
        power = multiply(power, p, p, modulus)
    return seen == set(range(1, p**k))


def smallest_primitive(p, k):
    """Return the first monic polynomial of degree k that is primitive."""
    monic = (tuple(digits(code, p, k + 1)) for code in count(p**k))
    return next(modulus for modulus in monic if is_primitive(modulus, p, k))


def dot(u, v, t, field):
    """Return <u, v> in the field, for vectors written as base-g integers."""
    g, p, k = field.order, field.characteristic, field.degree
    total = 0
    for a, b in zip(digits(u, g, t), digits(v, g, t), strict=True):
        total = add(total, multiply(a, b, p, field.modulus), p, k)
    return total


def perturb(value, words, field, t, scheme):
    """Return the code of the report that these two words make of a value."""
    g, (r0, r1), (step, p_weight, q_weight) = field.order, words, scheme
    u = r0 // step
    offset = 0 if r1 < p_weight else 1 + (r1 - p_weight) // q_weight
    return u * g + (dot(u, value, t, field) + offset) % g


def support_counts(codes, counts, field, t, d):
    """Return for each value how many reports support it."""
    g = field.order
    supports = [0] * d
    for code, times in zip(codes, counts, strict=True):
        for v in range(d):
            if dot(code // g, v, t, field) == code % g:
                supports[v] += times
    return supports


def fold(code, field, t):
    """Return the level and the cell of a report: of its multiple whose lowest digit is 1."""
    g, p, modulus = field.order, field.characteristic, field.modulus
    u, y = digits(code // g, g, t), code % g
    level = next((j for j, digit in enumerate(u) if digit), t)
    if level == t:
        return t, int(y > 0)
    scale = next(c for c in range(1, g) if multiply(c, u[level], p, modulus) == 1)
    above = [multiply(scale, digit, p, modulus) for digit in u[level + 1 :]]
    return level, number([multiply(scale, y, p, modulus), *above], g)
