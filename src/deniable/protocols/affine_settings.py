"""The settings of affine selection: which g, digits and window there are, and which are best.

The variance is that of subset selection with k = m g^(t-1) of v = g^t points, so it is near the
optimum where m / g is near 1 / (e^eps + 1) and v is near d, or where both are far above e^eps. By
default it is the mean over all values; it can be that of an answer with a given share.
Of all settings within a quarter of a percent of the least variance, the one that decodes fastest is
taken. Settings that take too long for a million reports are left out.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from deniable.errors import InvalidParameter
from deniable.kernels import fields
from deniable.kernels.decode_cost import window_time
from deniable.protocols.ranges import check_field_order, next_field
from deniable.randomness import WORD
from deniable.validation import check_whole

TOLERANCE = 1.0025
"""Variances within this factor of the least count as equal; then decoding decides."""
TYPICAL_REPORTS = 1_000_000
MOST_TIME = 10e9
"""How many nanoseconds the typical number of reports may take to decode on one core."""

_REMEDY = "leave it out for the best one"
_LARGEST_LINE = 1 << 26
"""The largest d for which one digit is looked at: its tally counts every value."""
_LARGEST_RANGE = 1 << 13
"""The largest g of a table with more digits."""
_LARGEST_POWER, _TABLE = 361, fields.LARGEST_TABLE
_TWO_DIGITS = 2_642_000
"""Below the largest g with g^3 below 2^64."""

_LEAST_RISE = 1e-100
"""An epsilon far below what 64 bits can express, whose square is not yet zero."""

Floats = np.typing.NDArray[np.float64]


def selection_variance(
    epsilon: float, part: Floats | float, points: Floats | float, share: float
) -> Floats | float:
    """Return the variance of reports that support a ``part`` of all points, as floats.

    With k = part v, p* = k E / (k E + v - k) and q* = (k - p*) / (v - 1) this is the variance
    [eq:absvar_exact] at a share, for one person; at 1/d it is the mean over all values.
    """
    power = math.exp(epsilon)
    p = part * power / (part * power + 1 - part)
    q = (part * points - p) / (points - 1)
    # p - q without the subtraction of numbers that are nearly equal at a small epsilon.
    rise = max(math.expm1(epsilon), _LEAST_RISE)
    gap = part * (1 - part) * rise / (part * power + 1 - part) * points / (points - 1)
    return q * (1 - q) / gap**2 + share * (1 - p - q) / gap


class Settings(NamedTuple):
    """GF(g), t digits, and a window of m elements."""

    g: int
    digits: int
    window: int


def best(epsilon: float, domain_size: int, share: float) -> Settings:
    """Return the settings for the least variance at a share."""
    return _best(epsilon, domain_size, (None, None, None), share)


def complete(
    epsilon: float, domain_size: int, g: object, digits: object, window: object
) -> Settings:
    """Return the settings that were given, with the best of what was not, on average."""
    order = None if g is None else check_field_order(g)
    t = None if digits is None else check_whole("digits", digits, 1, 63, _REMEDY)
    largest = fields.LARGEST_PRIME if order is None else order - 1
    m = None if window is None else check_whole("window", window, 1, largest, _REMEDY)
    if order is not None and t is not None and m is not None:
        found = Settings(order, t, m)
    else:
        found = _best(epsilon, domain_size, (order, t, m), 1 / domain_size)
    points = found.g**found.digits
    if points < domain_size or (points - 1) * found.g > WORD:
        raise InvalidParameter.expected(
            f"g^digits from {domain_size}, the number of values, to what reports of eight bytes "
            "can tell apart",
            tuple(found),
            "leave out digits",
            came=f"{found.g}^{found.digits}",
        )
    return found


@lru_cache(maxsize=4096)
def _best(
    epsilon: float, d: int, given: tuple[int | None, int | None, int | None], share: float
) -> Settings:
    """Return the settings that decode fastest among those of nearly the least variance."""
    g, t, m = given
    ranges, digits = _shapes(epsilon, d, g, t)
    # The best window is next to g / (e^eps + 1), whatever the share.
    centre = np.floor(ranges / (math.exp(min(epsilon, 40.0)) + 1))
    steps = (0, 1) if m is None else (0,)
    windows = [np.clip(centre + i, 1, ranges - 1) if m is None else m + 0 * centre for i in steps]
    g_, t_, m_ = (np.concatenate(column) for column in
                  zip(*((ranges, digits, window) for window in windows), strict=True))  # fmt: skip
    keep = m_ < g_
    g_, t_, m_ = g_[keep], t_[keep], m_[keep]
    if not len(g_):
        raise InvalidParameter.expected(
            f"settings that {d} values have",
            (g, t, m),
            "leave out one of them",
            came=f"g = {g}, digits = {t}, window = {m}",
        )
    noise = np.asarray(selection_variance(min(epsilon, 40.0), m_ / g_, g_**t_, share))
    effort = window_time(g_, t_, m_, d, TYPICAL_REPORTS)
    able = effort <= max(MOST_TIME, effort.min())
    good = able & (noise <= TOLERANCE * noise[able].min())
    first = np.lexsort([m_, g_, np.where(good, effort, np.inf)])[0]
    return Settings(int(g_[first]), int(t_[first]), int(m_[first]))


def _shapes(epsilon: float, d: int, g: int | None, t: int | None) -> tuple[Floats, Floats]:
    """Return the fields and digits to choose among, as floats for the formulas."""
    if g is not None:
        digits = t or next(i for i in range(1, 64) if g**i >= d)
        return np.array([float(g)]), np.array([float(digits)])
    table = _prime_powers(_LARGEST_RANGE)
    if t is not None:
        root = max(2, math.ceil(d ** (1 / t) - 1e-9))
        near = table[table >= root] if t > 1 else table[:0]
        found = near if len(near) else np.array([float(next_field(root))])
        digits_ = np.full(len(found), float(t))
    else:
        # Beyond the table, a range next to e^eps + 1 has the variance of local hashing.
        best = min(math.floor(math.exp(min(epsilon, 40.0))) + 1, _TWO_DIGITS)
        more = [float(next_field(best))] if best > _LARGEST_RANGE else []
        ranges = np.concatenate([table, more])
        digits_ = np.ceil(np.log(d) / np.log(ranges) - 1e-12)
        ranges, digits_ = ranges[digits_ > 1], digits_[digits_ > 1]
        # With one digit anything above the next prime power has only more variance.
        line = [float(_line(d))] if d <= _LARGEST_LINE else []
        found, digits_ = np.append(ranges, line), np.append(digits_, np.ones(len(line)))
    digits_ += found**digits_ < d
    fits = (digits_ + 1) * np.log2(found) < 64
    return found[fits], digits_[fits]


def _line(d: int) -> int:
    """Return the least prime power from d on whose field is made at once."""
    table = _prime_powers(_LARGEST_RANGE)
    at = int(np.searchsorted(table, d))
    return int(table[at]) if at < len(table) else next_field(d)


@lru_cache(maxsize=1)
def _prime_powers(limit: int) -> Floats:
    """Return the primes up to a limit, and the small powers of primes: fields made at once."""
    sieve = np.ones(limit + 1, np.bool_)
    sieve[:2] = False
    for p in range(2, math.isqrt(limit) + 1):
        if sieve[p]:
            sieve[p * p :: p] = False
    powers = [p**k for p in (2, 3, 5, 7, 11, 13, 17, 19) for k in range(2, 11)]
    # Powers of 2 and 3 as far as tables go, and small powers of other primes.
    extra = [g for g in powers if g <= _LARGEST_POWER or (g <= _TABLE and 0 in (g % 2, g % 3))]
    return np.sort(np.concatenate([np.flatnonzero(sieve), extra])).astype(np.float64)
