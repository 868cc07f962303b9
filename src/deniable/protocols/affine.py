"""Affine selection: a report is a function without zero and a window of m of its g values.

Encode   x -> the t base-g digits of x, a point of GF(g)^t, with v = g^t >= d points
Perturb  u uniform among the nonzero vectors; a place y, one of the m elements 0..m-1 with
         probability p = m e^eps / (m e^eps + g - m); the report is (u, s) with s = y - <u, x>
Support  {x' : <u, x'> + s < m}, k = m g^(t-1) of the v points; hence p* = p and
         q* = (k - p) / (v - 1)
Privacy  Pr[(u, s) | x] is w1 / (L (v - 1)) or w0 / (L (v - 1)), and w1 / w0 <= e^eps
         (docs/proofs.md#affine-selection)

For x' != x the element <u, x' - x> is zero for g^(t-1) - 1 of the v - 1 vectors u and every other
element for g^(t-1) of them, the same for all pairs: this is subset selection on v points, with
sets that a few bytes name. One digit and m = 1 is direct encoding, m = 1 local hashing.

Sums, differences and products are those of GF(g), as in linear hashing (docs/formats.md): for a
prime power the elements 0..m-1 are no interval, and they need not be.

A report is the integer (u - 1) g + s, with u read as a number in base g, in the narrowest unsigned
integer that holds (v - 1) g - 1. Random bytes: two words. The first, redrawn at or above
(v - 1) floor(2^64 / (v - 1)), gives u = 1 + r0 // floor(2^64 / (v - 1)); with two points u = 1. The
second, redrawn at or above L, gives the place y as ``deniable.randomness`` says, with m of
g places kept.

The variance is that of subset selection with k = m g^(t-1) of v = g^t points, so it is near the
optimum where m / g is near 1 / (e^eps + 1) and v is near d, or where both are far above e^eps. By
default it is the mean over all values; it can be that of an answer with a given share. Of all
settings within a quarter of a percent of the least variance, the one that decodes fastest is taken.
Settings that take too long for a million reports are left out.

After Feldman, Nelson, Nguyen and Talwar, "Private Frequency Estimation via Projective Geometry"
(2022), and Park, Nam and Lee, "Exactly Optimal and Communication-Efficient Private Estimation via
Block Designs" (2023).
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple, Self

import numpy as np

from deniable import validation
from deniable.candidates import Chosen
from deniable.errors import InvalidParameter
from deniable.kernels import fields, linear, windows
from deniable.law import Joint, Pairs
from deniable.mechanism import Coded, Reports
from deniable.protocol import Closed, Functions, Parameters, Pure
from deniable.protocols.linear import Lines, check_field_order, next_field
from deniable.randomness import WORD, Integers, Places, Uniform, Words
from deniable.statistics import Counts, Statistic, of_form
from deniable.sums import CountsSum, Sum

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


def complete_settings(
    epsilon: float, domain_size: int, g: object, digits: object, window: object
) -> Settings:
    """Return the settings that were given, with the best of what was not, on average."""
    order = None if g is None else check_field_order(g)
    t = None if digits is None else validation.check_whole("digits", digits, 1, 63, _REMEDY)
    largest = fields.LARGEST_PRIME if order is None else order - 1
    m = None if window is None else validation.check_whole("window", window, 1, largest, _REMEDY)
    if order is not None and t is not None and m is not None:
        found = Settings(order, t, m)
    else:
        found = _best(epsilon, domain_size, (order, t, m), 1 / domain_size)
    points = found.g**found.digits
    if points < domain_size or (points - 1) * found.g > WORD:
        raise InvalidParameter(
            f"expected g^digits from {domain_size}, the number of values, to what reports of "
            f"eight bytes can tell apart, got {found.g}^{found.digits}; leave out digits",
            value=tuple(found),
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
        raise InvalidParameter(
            f"expected settings that {d} values have, got g = {g}, digits = {t}, window = {m}; "
            "leave out one of them",
            value=(g, t, m),
        )
    noise = np.asarray(selection_variance(min(epsilon, 40.0), m_ / g_, g_**t_, share))
    effort = linear.window_time(g_, t_, m_, d, TYPICAL_REPORTS)
    able = effort <= max(MOST_TIME, effort.min())
    good = able & (noise <= TOLERANCE * noise[able].min())
    first = np.lexsort([m_, g_, np.where(good, effort, np.inf)])[0]
    return Settings(int(g_[first]), int(t_[first]), int(m_[first]))


def _shapes(epsilon: float, d: int, g: int | None, t: int | None) -> tuple[Floats, Floats]:
    """Return the fields and digits to choose among, as floats for the formulas."""
    if g is not None:
        digits = t or next(i for i in range(1, 64) if g**i >= d)
        return np.array([float(g)]), np.array([float(digits)])
    table = prime_powers(_LARGEST_RANGE)
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
        line = list(table[table >= d][:1]) if d <= _LARGEST_LINE else []
        if d <= _LARGEST_LINE and not line:
            line = [float(next_field(d))]
        found, digits_ = np.append(ranges, line), np.append(digits_, np.ones(len(line)))
    digits_ += found**digits_ < d
    fits = (digits_ + 1) * np.log2(found) < 64
    return found[fits], digits_[fits]


@lru_cache(maxsize=1)
def prime_powers(limit: int) -> Floats:
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


@dataclass(frozen=True)
class AffineSelection(Pure, Closed, Coded):
    """Affine selection: within a percent of the least variance there is, in at most eight bytes.

    That holds up to epsilon 12 and a million values, for the mean over all of them. ``g``,
    ``digits`` and ``window`` are the best ones for it unless given.

    >>> protocol = AffineSelection(epsilon=2.0, domain_size=41_270)
    >>> protocol.g, protocol.digits, protocol.window, protocol.report_bits
    (9, 5, 1, 32)
    """

    epsilon: float
    domain_size: int
    g: int | None = None
    digits: int | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in self._settings._asdict().items():
            object.__setattr__(self, name, value)
        _ = self._places  # refuses what 64 bits cannot express

    @classmethod
    def examples(cls) -> list[Self]:
        shapes = ((1.0, 4, 4, 1, 2), (1.0, 9, 9, 1, 4), (2.0, 13, 4, 2, 2), (3.0, 8, 3, 2, 1))
        return [cls(0.5, 5), *(cls(epsilon, d, g, t, m) for epsilon, d, g, t, m in shapes)]

    @classmethod
    def usual(cls, epsilon: float, domain_size: int, share: float | None = None) -> Self:
        if share is None:
            return cls(epsilon, domain_size)
        epsilon, d = validation.check_epsilon(epsilon), validation.check_domain_size(domain_size)
        chosen = _best(epsilon, d, (None, None, None), share)
        return cls(epsilon, domain_size, *chosen)

    @cached_property
    def _settings(self) -> Settings:
        return complete_settings(self.epsilon, self.domain_size, self.g, self.digits, self.window)

    @cached_property
    def _field(self) -> fields.Field:
        return fields.field(self._settings.g)

    @cached_property
    def _lines(self) -> Lines:
        g, digits, window = self._settings
        return Lines(g, self.domain_size, digits, window)

    @cached_property
    def _function(self) -> Uniform:
        return Uniform(self._lines.functions)

    @cached_property
    def _places(self) -> Places:
        return Places.at(self.epsilon, self._settings.g, self._settings.window)

    @cached_property
    def parameters(self) -> Parameters:
        g, t, m = self._settings
        return Parameters(*self._places.shares(m * g ** (t - 1), g**t))

    @cached_property
    def pairs(self) -> Pairs:
        """Those of all sets of k points: functions and windows are alike on average."""
        (g, t, m), law = self._settings, self.parameters
        return Pairs.selection(law.exact_p, law.exact_q, m * g ** (t - 1), g**t)

    def _joint(self, counts: Floats, n: int) -> Joint | None:
        found = self._lines.joint(self.parameters, counts, n)
        return found and replace(found, average=super()._joint(counts, n))

    @property
    def codes(self) -> int:
        return self._lines.reports

    @property
    def worst_ratio(self) -> Fraction:
        return self._places.worst_ratio

    @cached_property
    def words(self) -> Words:
        return self._places.words_after(self._function)

    def _details(self) -> dict[str, object]:
        return {"field": self._field.document(), **self._places.document()}

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        f, before = self._field, self._function.of(words[:, 0])
        hashed = f.dot(before + np.uint64(1), values, self._settings.digits)
        s = f.add(self._places.draw(words[:, 1]), f.negate(hashed))
        return (before * np.uint64(self._settings.g) + s).astype(self.report_dtype)

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        codes, own = self._check_reports(reports).astype(np.uint64), self._check_values([value])
        g, t, m = self._settings
        hashed = self._field.dot(codes // np.uint64(g) + np.uint64(1), own, t)
        return np.asarray(self._field.add(hashed, codes % np.uint64(g)) < m)

    def functions(self, statistic: Statistic) -> Functions | None:
        return self._lines.used(statistic) if self._settings.digits > 1 else None

    def decoding_time(self, n: int) -> float:
        return self._lines.decoding_time(n)

    def _estimate_bytes(self, chosen: Chosen) -> int:
        table = self._lines.decoding_bytes if self._settings.digits > 1 else 0
        return super()._estimate_bytes(chosen) + table

    def _new_sum(self) -> Sum:
        """Sum supports for one digit, else the cells of all lines of the reports."""
        if self._settings.digits == 1:
            return CountsSum(self.domain_size, self._add_counts, self._footprint)
        return self._lines.new_sum()

    def _add_counts(self, reports: Reports, total: np.typing.NDArray[np.int64]) -> None:
        codes, m = reports.astype(np.uint64), self._settings.window
        total += windows.count_supports(codes, self._field, m, self.domain_size)

    def _support(self, statistic: Statistic, chosen: Chosen) -> np.typing.NDArray[np.int64]:
        if self._settings.digits == 1:
            return of_form(statistic, Counts).values
        return self._lines.support(statistic)

    def _read_statistic(self, data: memoryview, n: int) -> Statistic:
        """Read counts of supports, or a table of m lines for each report."""
        if self._settings.digits > 1:
            return self._lines.read_statistic(data, n)
        return Counts.decode(data, n, self._footprint)

    @property
    def _footprint(self) -> validation.Footprint:
        """What a report of one digit adds: m of g points, g - d of which are not values."""
        g, d, m = self._settings.g, self.domain_size, self._settings.window
        return validation.Footprint(d, total=(max(0, m - (g - d)), min(m, d)))
