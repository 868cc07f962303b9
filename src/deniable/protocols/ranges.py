"""The range g of local hashing: which ones there are, and which is best at a given epsilon.

The variance (e^eps - 1 + g)^2 / ((e^eps - 1)^2 (g - 1)) [eq:lp:var] is least at g = e^eps + 1,
which is no integer. The variance is flat around it, so that a range which decodes faster costs
little.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from deniable.errors import InvalidParameter
from deniable.kernels import fields
from deniable.kernels.decode_cost import line_time
from deniable.randomness import WORD, Direct
from deniable.validation import check_whole

LARGEST_RANGE = fields.LARGEST_PRIME - 1
LARGEST_OPEN_RANGE = 1 << 24

_TWO_DIGITS = 2_642_245
"""The largest g with g^3 below 2^64, which is the number of reports for values of two digits."""
_TOLERANCE = 1.01
_TYPICAL_REPORTS = 1_000_000


def check_range(g: object, largest: int) -> int:
    """Return the range as an int, or say what is wrong with it."""
    return check_whole("the hash range g", g, 2, largest, "e^epsilon + 1 is best")


def is_linear(g: int) -> bool:
    """Tell whether GF(g) exists and is one that ``fields`` computes in."""
    power = fields.prime_power(g)
    return power is not None and (power[1] == 1 or g <= fields.LARGEST_POWER)


def check_field_order(g: object) -> int:
    """Return the order of a field as an int, or say why there is none of that order."""
    remedy = "leave it out for the best one"
    result = check_whole("g", g, 2, fields.LARGEST_PRIME - 1, remedy)
    if not is_linear(result):
        raise InvalidParameter.expected(
            f"g as a prime, or as a power of one up to {fields.LARGEST_POWER}",
            g,
            f"the next one is {next_field(result)}",
        )
    return result


def check_linear(g: object, domain_size: int) -> int:
    """Return the range of a linear family over a domain, or say why there is none."""
    result = check_field_order(g)
    if not fits(result, domain_size):
        raise InvalidParameter.expected(
            f"g with reports of at most 64 bits over {domain_size} values",
            g,
            "leave it out for the best one",
        )
    return result


def next_field(least: int) -> int:
    """Return the least number from ``least`` on that has a field: beyond 2^16 only primes do."""
    found = fields.next_prime_power(least)
    while not is_linear(found):
        found = fields.next_prime_power(found + 1)
    return found


def fits(g: int, domain_size: int) -> bool:
    """Tell whether the g^(t+1) reports of the linear family have 64-bit codes.

    >>> fits(8_886_109, 2**20), fits(8_886_109, 2**24)
    (True, False)
    """
    return bool(g ** (digits(g, domain_size) + 1) <= WORD)


def hashing_variance(epsilon: float, g: int) -> float:
    """Return Var*/n of local hashing with the range g, from the weights that are executed.

    >>> round(hashing_variance(1.0, 4), 2)
    3.69
    """
    p = Direct.at(epsilon, g).p
    return float(Fraction((g - 1) * WORD**2, (g * p - WORD) ** 2))


@lru_cache(maxsize=256)
def best_integer(epsilon: float) -> int:
    """Return the integer range of least variance, next to e^epsilon + 1 [eq:olhvar].

    >>> best_integer(1.0), best_integer(4.0)
    (4, 56)
    """
    centre = _optimum(epsilon, LARGEST_OPEN_RANGE - 1)
    return min((max(centre, 2), centre + 1), key=lambda g: hashing_variance(epsilon, g))


@lru_cache(maxsize=256)
def best_prime_power(epsilon: float, domain_size: int) -> int:
    """Return the prime power that decodes fastest with a variance within 1 % of the best.

    >>> best_prime_power(1.0, 1000), best_prime_power(2.0, 1000)
    (4, 8)
    """
    centre = _optimum(epsilon, LARGEST_RANGE)
    edges = (centre,) if fits(centre, domain_size) else (_TWO_DIGITS, domain_size)
    near = {_linear_from(edge, -1, 2) for edge in edges}
    near |= {_linear_from(edge + 1, 1, LARGEST_RANGE) for edge in edges}
    possible = (g for g in near if g and fits(g, domain_size))
    best = min(possible, key=lambda g: hashing_variance(epsilon, g))
    bound = _TOLERANCE * hashing_variance(epsilon, best)
    low, high = _band(epsilon, bound)
    # With t digits the smallest range decodes fastest, so one candidate for each t will do, and
    # the powers of two, which decode by additions and subtractions alone.
    candidates = {best, *(1 << k for k in range(1, 17))}
    for t in range(1, domain_size.bit_length() + 1):
        root = math.ceil(domain_size ** (1 / t) - 1e-9)
        candidates.add(_linear_from(max(low, root), 1, high))
    inside = (g for g in candidates if low <= g <= high and fits(g, domain_size))
    good = {best, *(g for g in inside if hashing_variance(epsilon, g) <= bound)}
    return min(good, key=lambda g: (_decoding_time(g, domain_size), g))


def digits(g: int, domain_size: int) -> int:
    """Return t, the number of base-g digits that ``domain_size`` values need.

    >>> digits(4, 1000), digits(2, 2), digits(101, 5)
    (5, 1, 1)
    """
    t, reach = 1, g
    while reach < domain_size:
        t, reach = t + 1, reach * g
    return t


def _decoding_time(g: int, domain_size: int) -> float:
    order, t = np.array(float(g)), np.array(float(digits(g, domain_size)))
    return float(line_time(order, t, np.ones(()), domain_size, _TYPICAL_REPORTS))


def _optimum(epsilon: float, largest: int) -> int:
    return max(2, min(math.floor(math.exp(min(epsilon, 40.0))) + 1, largest))


def _band(epsilon: float, bound: float) -> tuple[int, int]:
    """Return the integers between which the variance stays below ``bound``.

    With x = g - 1 and E = e^eps, (E + x)^2 = bound (E - 1)^2 x is quadratic in x.
    """
    power = math.exp(min(epsilon, 40.0))
    half = bound * (power - 1) ** 2 / 2 - power
    root = math.sqrt(max(half**2 - power**2, 0.0))
    return max(2, math.floor(half - root)), min(math.ceil(half + root) + 2, LARGEST_RANGE)


def _linear_from(start: int, step: int, end: int) -> int:
    """Return the first linear range from ``start`` to ``end``; 0 if there is none."""
    return next((g for g in range(start, end + step, step) if is_linear(g)), 0)
