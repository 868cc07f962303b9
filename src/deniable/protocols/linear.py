"""The linear hash family over GF(g), and the tally that all reports of linear functions share.

A value v and a hash function u are vectors of t base-g digits, least significant first, with
g^t >= d, and H(v) = <u, v> in GF(g). For different v and v' the difference is not zero, so a
uniform u maps it to zero with probability exactly 1/g: that is the collision probability.

A report is the single integer u g + y. Random bytes: two words. The first, redrawn at or above
g^t floor(2^64 / g^t), gives u = r0 // floor(2^64 / g^t), exactly uniform; the second gives the
offset k of direct encoding over g values, and y = (H(v) + k) mod g.

Such a report is a line, <u, x> = y. One of affine selection, (u, s), supports x where <u, x> is one
of the m elements j - s: it is m parallel lines. The tally counts lines up to common multiples of u
and y, which are the same line: about g^t cells instead of g^(t+1). One transform over them, digit
by digit, gives the support of every value with (t - 1) g^(t+1) additions instead of n d hash
evaluations (``deniable.kernels.linear``).

The variance of local hashing, (e^eps - 1 + g)^2 / ((e^eps - 1)^2 (g - 1)) [eq:lp:var], is least at
g = e^eps + 1, which is no integer. It is flat around that, so that a range which decodes faster
costs little.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from deniable.errors import InvalidParameter
from deniable.kernels import fields, linear, windows
from deniable.kernels.bits import count_values
from deniable.law import LinesOf
from deniable.mechanism import Reports
from deniable.protocol import Functions, Parameters
from deniable.randomness import WORD, Direct, Integers, Uniform, Words
from deniable.statistics import DENSE_LIMIT, Statistic, Table, of_form
from deniable.sums import TableSum
from deniable.validation import Footprint, check_below, check_whole, smallest_unsigned

_SMALL_BATCH = 1 << 14
_MOST_COUNTED = 1 << 23
_MOST_SUMMED = 1 << 24
"""Of more lines, sums have no error: one would take minutes and gigabytes."""
_EXPANDED = 1 << 22
"""How many lines are folded at once."""


@dataclass(frozen=True)
class Lines:
    """The lines of GF(g)^t that reports over the values 0..domain_size-1 stand for.

    A report is one line or, with a ``window`` of m elements, m parallel lines.
    """

    g: int
    domain_size: int
    digits: int
    window: int | None = None

    @cached_property
    def field(self) -> fields.Field:
        return fields.field(self.g)

    @property
    def functions(self) -> int:
        """How many functions u there are; those of windows are never zero."""
        return int(self.g**self.digits) - (self.window is not None)

    @property
    def reports(self) -> int:
        return self.functions * self.g

    @cached_property
    def cells(self) -> int:
        """How many different lines there are, for the purposes of a tally."""
        return linear.folded_size(self.g, self.digits)

    @property
    def decoding_bytes(self) -> int:
        """How many bytes the folded table takes, where there may be one."""
        return linear.folding_bytes(self.field, self.digits)

    def decoding_time(self, n: int) -> float:
        g, t, m = (np.array(float(x)) for x in (self.g, self.digits, self.window or 1))
        time = linear.line_time if self.window is None else linear.window_time
        return float(time(g, t, m, self.domain_size, n))

    def validate(self, reports: Reports) -> None:
        check_below("report codes", int(reports.max(initial=0)), self.reports)

    def fold(self, codes: Integers) -> Integers:
        """Return the cell of each line: that of the one multiple which all are folded onto.

        For c != 0 the lines (u, y) and (c u, c y) are the same, so that a tally needs to know only
        the multiple whose lowest digit other than 0 is 1. Cells are numbered by the place of that
        digit, then by the digits above it and y; the last two are for u = 0.
        """
        return linear.fold_each(codes, self.field, self.digits)

    def joint(
        self, law: Parameters, counts: np.typing.NDArray[np.float64], n: int
    ) -> LinesOf | None:
        """Return how the errors of counts depend on each other, unless there are too many lines."""
        if self.digits > 1 and (self.g > fields.LARGEST_TABLE or self.cells > _MOST_SUMMED):
            return None
        return LinesOf(n, law.p, law.q, self.g, self.digits, self.window, counts)

    def new_sum(self) -> "LinesSum":
        return LinesSum(self)

    def read_statistic(self, data: memoryview, n: int) -> Table:
        return Table.decode(data, n, self.footprint, self.cells)

    @property
    def footprint(self) -> Footprint:
        """What a report adds to the table.

        Those with windows are m lines each, all parallel and no two the same: the g cells that
        follow each other from a multiple of g on are all lines parallel to each other. The last two
        cells are for the function zero, which they never have.
        """
        m = self.window
        if m is None:
            return Footprint(self.cells, total=(1, 1))
        # With m = 1 there are as many lines as reports, which the total already says.
        return Footprint(self.cells - 2, total=(m, m), row=self.g if m > 1 else None)

    def support(
        self, statistic: Statistic, keys: Integers | None = None
    ) -> np.typing.NDArray[np.int64]:
        """Count the reports on whose lines each value is: of all values at once, not of keys."""
        table, f, t, d = of_form(statistic, Table), self.field, self.digits, self.domain_size
        if linear.shears(f, t, d, table.used):
            return linear.decode_folded(table.dense(), f, t, d)
        cells, counts = table.hits()
        return linear.solve_cells(cells, counts, f, t, d)

    def used(self, statistic: Statistic) -> Functions:
        """Return how many reports have each function, all multiples of one being the same."""
        cells, counts = of_form(statistic, Table).hits()
        rows = (cells // np.uint64(self.g)).astype(np.int64)
        reports = np.bincount(rows, weights=counts) / (self.window or 1)
        return Functions(reports.astype(np.int64), (self.g - 1) / self.functions)


class LinesSum(TableSum):
    """Counts the cells of lines, in the way that is fastest for the size of a batch."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(lines.cells, lines.fold, lines.footprint)
        self._lines = lines
        self._raw = np.zeros(0, dtype=np.int64)
        self._counted = 0

    def add(self, reports: Reports) -> None:
        """Count a batch by report, by cell, or one by one where it is small for the table."""
        lines, n = self._lines, len(reports)
        counted = min(_MOST_COUNTED, 64 * n) if lines.g <= fields.LARGEST_TABLE else 0
        if n > _SMALL_BATCH and lines.reports <= counted:
            counts = count_values(reports, lines.reports)[0]
            self._raw = counts + self._raw if len(self._raw) else counts
            self._counted += n
            return
        most = max(1, _EXPANDED // (lines.window or 1))
        for start in range(0, n, most):
            codes = reports[start : start + most].astype(np.uint64)
            if lines.window is not None:
                codes = windows.expand(codes, lines.field, lines.window)
            if len(codes) > _SMALL_BATCH and self.size <= min(DENSE_LIMIT, 16 * len(codes)):
                self.add_dense(np.bincount(lines.fold(codes).view(np.int64), minlength=self.size))
            else:
                super().add(codes)

    def statistic(self) -> Table:
        if len(self._raw):
            lines, table = self._lines, self._raw
            if lines.window is not None:
                table = windows.spread(table, lines.field, lines.window)
            self.add_dense(linear.fold_table(table, lines.field, lines.digits, self._counted))
            self._raw, self._counted = np.zeros(0, dtype=np.int64), 0
        return super().statistic()


class LinearFamily(Lines):
    """H(v) = <u, v> over GF(g), for values 0..domain_size-1."""

    def __init__(self, g: int, domain_size: int) -> None:
        super().__init__(g, domain_size, digits(g, domain_size))

    @cached_property
    def _function(self) -> Uniform:
        return Uniform(self.functions)

    @property
    def collision(self) -> Fraction:
        return Fraction(1, self.g)

    @cached_property
    def report_dtype(self) -> np.dtype[np.generic]:
        return smallest_unsigned(self.reports - 1)

    @cached_property
    def words(self) -> Words:
        return Words(2, self._function.limits)

    def details(self) -> dict[str, object]:
        field = self.field.document()
        return {"family": "linear", "g": self.g, "digits": self.digits, "field": field}

    def perturb(self, values: Integers, words: Integers, direct: Direct) -> Reports:
        u = self._function.of(words[:, 0])
        y = direct.perturb(self.field.dot(u, values, self.digits), words[:, 1])
        return (u * np.uint64(self.g) + y).astype(self.report_dtype)

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        codes, g = reports.astype(np.uint64), np.uint64(self.g)
        every = np.array([value], dtype=np.uint64)
        return np.asarray(self.field.dot(codes // g, every, self.digits) == codes % g)


LARGEST_RANGE = fields.LARGEST_PRIME - 1
LARGEST_OPEN_RANGE = 1 << 24

_TWO_DIGITS = 2_642_245
"""The largest g with g^3 below 2^64, which is the number of reports for values of two digits."""
_TOLERANCE = 1.01
_TYPICAL_REPORTS = 1_000_000


def check_range(g: object, largest: int) -> int:
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
    """Tell whether the g^(t+1) reports of the linear family have 64-bit codes."""
    return bool(g ** (digits(g, domain_size) + 1) <= WORD)


def hashing_variance(epsilon: float, g: int) -> float:
    """Return Var*/n of local hashing with the range g, from the weights that are executed."""
    p = Direct.at(epsilon, g).p
    return float(Fraction((g - 1) * WORD**2, (g * p - WORD) ** 2))


@lru_cache(maxsize=256)
def best_integer(epsilon: float) -> int:
    """Return the integer range of least variance, next to e^epsilon + 1 [eq:olhvar]."""
    centre = _optimum(epsilon, LARGEST_OPEN_RANGE - 1)
    return min((max(centre, 2), centre + 1), key=lambda g: hashing_variance(epsilon, g))


@lru_cache(maxsize=256)
def best_prime_power(epsilon: float, domain_size: int) -> int:
    """Return the prime power that decodes fastest with a variance within 1 % of the best."""
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

    def decoding_time(g: int) -> float:
        order, t = np.array(float(g)), np.array(float(digits(g, domain_size)))
        return float(linear.line_time(order, t, np.ones(()), domain_size, _TYPICAL_REPORTS))

    return min(good, key=lambda g: (decoding_time(g), g))


def digits(g: int, domain_size: int) -> int:
    """Return t, the number of base-g digits that ``domain_size`` values need."""
    t, reach = 1, g
    while reach < domain_size:
        t, reach = t + 1, reach * g
    return t


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
