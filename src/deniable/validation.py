"""Checks at the public edge, which everything below relies on, and integers that fit."""

import math
import operator
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, SupportsIndex

import numpy as np

from deniable.errors import InvalidDocument, InvalidParameter, InvalidReport, OutOfDomain

Floats = np.typing.NDArray[np.float64]
Integers = np.typing.NDArray[np.int64]
Unsigned = np.typing.NDArray[np.uint64]

MAX_EPSILON = 100.0
MAX_DOMAIN = (1 << 31) - 1
_MAX_PEOPLE = 10**300
_UNSIGNED = tuple((1 << 8 * size, np.dtype(f"<u{size}")) for size in (1, 2, 4))
_LONGEST = np.dtype("<u8")
_KINDS = {"U": "text", "S": "bytes", "f": "numbers with a point", "b": "truth values"}
"""What arrays that hold no whole numbers hold instead, by the letter of their kind."""


def check_whole(name: str, value: object, least: int, most: int, remedy: str = "") -> int:
    """Return a whole number from ``least`` to ``most`` as an int; refuse anything else."""
    result = None
    if isinstance(value, SupportsIndex) and not isinstance(value, bool | np.bool_):
        try:
            result = operator.index(value)
        except TypeError:  # an array of several numbers
            result = None
    if result is None or not least <= result <= most:
        few = most >= _MAX_PEOPLE and (result is None or result < least)
        end = f"{most:.0e}" if most >= _MAX_PEOPLE else most
        limits = f"of at least {least}" if few else f"from {least} to {end}"
        raise InvalidParameter.expected(f"{name} as a whole number {limits}", value, remedy)
    return result


def check_positive(name: str, value: object) -> int:
    return check_whole(name, value, 1, _MAX_PEOPLE)


def check_number(name: str, value: object, remedy: str = "") -> float:
    """Return a number as a float, or infinity if it is too large for one; refuse other types."""
    kinds = int | float | Fraction | np.floating | np.integer
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise InvalidParameter.expected(f"{name} as a number", value, remedy)
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_probability(name: str, value: object, remedy: str = "") -> float:
    result = check_number(name, value, remedy)
    if not 0 < result < 1:
        raise InvalidParameter.expected(f"{name} between 0 and 1, both excluded", value, remedy)
    return result


def check_epsilon(epsilon: object) -> float:
    result = check_number("epsilon", epsilon, "1 or 2 is usual")
    if not 0 < result <= MAX_EPSILON:
        raise InvalidParameter.expected(
            f"epsilon above 0 and at most {MAX_EPSILON:g}",
            epsilon,
            "1 or 2 is usual, and beyond 20 a report hides next to nothing",
        )
    return result


def check_domain_size(domain_size: object) -> int:
    many = isinstance(domain_size, int) and domain_size > MAX_DOMAIN
    remedy = "with more answers can be open" if many else "needs at least two answers"
    name = "the number of values, domain_size,"
    return check_whole(name, domain_size, 2, MAX_DOMAIN, f"a question {remedy}")


def check_values(values: np.typing.ArrayLike, domain_size: int) -> Unsigned:
    """Return values of a domain as an array, or name the position of the first invalid one.

    This runs on devices, so no error holds a value: errors may end up in a log.
    """
    array = _array_of(values)
    if array.ndim != 1:
        raise InvalidParameter(
            f"expected a one-dimensional list or array of values, got {array.ndim} dimensions; "
            "for a single answer pass a list of one",
            value=array.shape,
        )
    if array.size == 0:
        return np.empty(0, dtype=np.uint64)
    if array.dtype == object and all(type(item) is int for item in array):
        wrong = np.array([not 0 <= item < domain_size for item in array])
    elif array.dtype.kind in "iu":
        wrong = (array < 0) | (array > domain_size - 1)
    else:
        raise InvalidParameter(
            f"expected whole numbers from 0 to {domain_size - 1}, got "
            f"{_KINDS.get(array.dtype.kind, 'something else')}; map answers to values with a "
            "Question",
            value=array.dtype.kind,
        )
    if wrong.any():
        position = int(np.argmax(wrong))
        raise OutOfDomain(
            f"expected values from 0 to {domain_size - 1}; the one at position {position} is none "
            "of them: map answers to values with a Question",
            value=position,
        )
    return array.astype(np.uint64)


def check_rows(values: np.typing.ArrayLike, domain_size: int, width: int) -> Unsigned:
    """Return values that are rows of ``width`` integers, or name the first invalid position."""
    array = _array_of(values)
    if array.size and (array.ndim != 2 or array.shape[1] != width):
        raise InvalidParameter(
            f"expected a list or array of rows, {width} whole numbers each, got an array of shape "
            f"{array.shape}; for a single answer pass a list of one row",
            value=array.shape,
        )
    try:
        return check_values(array.ravel(), domain_size).reshape(-1, width)
    except OutOfDomain as error:
        position = int(str(error.value)) // width
    raise OutOfDomain(
        f"expected rows of whole numbers from 0 to {domain_size - 1}; the one at position "
        f"{position} has another: map answers to values with a Question",
        value=position,
    )


def _array_of(values: np.typing.ArrayLike) -> np.typing.NDArray[Any]:
    # Only a subclass can be masked; asking np.ma about a plain array would have to import it.
    subclass = isinstance(values, np.ndarray) and type(values) is not np.ndarray
    if subclass and np.ma.is_masked(values):
        raise InvalidParameter(
            "expected a value for everybody, and some are masked; leave out people without an "
            "answer, for example with values.compressed()"
        )
    with suppress(TypeError, ValueError):
        array = np.asarray(values)
        if array.dtype.kind != "f" or isinstance(values, np.ndarray):
            return array
        # NumPy makes floats of a list with whole numbers below and above 2^63.
        exact = np.array(values, dtype=object)
        return exact if all(type(item) is int for item in exact.ravel()) else array
    raise InvalidParameter(
        "expected a one-dimensional list or array of values; for a single answer pass a list of one"
    )


def check_reports(
    reports: object, dtype: np.dtype[np.generic], name: str
) -> np.typing.NDArray[Any]:
    """Return reports as an array of the given type; refuse anything else."""
    base, shape = dtype.base, dtype.shape
    if (
        isinstance(reports, np.ndarray)
        and reports.dtype == base
        and reports.ndim == 1 + len(shape)
        and reports.shape[1:] == shape
        and (type(reports) is np.ndarray or not isinstance(reports, np.ma.MaskedArray))
    ):
        return np.asarray(reports)
    came = getattr(reports, "dtype", type(reports).__name__)
    size = reports.shape if isinstance(reports, np.ndarray) else "-"
    raise InvalidReport(
        f"expected an array of {name} reports, {base} of shape (n, *{shape}), got {came} of shape "
        f"{size}; use privatize or parse to make it",
        value=came,
    )


def check_below(what: str, largest: int, limit: int) -> None:
    """Refuse reports that hold a number which no client of the question can have sent."""
    if largest >= limit:
        raise InvalidReport.expected(
            f"{what} below {limit}", largest, "check that the sender answers the same question"
        )


def check_padding(rows: np.typing.NDArray[np.uint8], bits: int) -> None:
    unused = -bits % 8
    if unused and np.any(rows[:, -1] >> (8 - unused)):
        raise InvalidReport(
            f"expected the last {unused} bits of each report to be zero; check that the sender "
            "answers the same question",
            value=unused,
        )


def check_shares(n: int, share: float | Floats) -> Floats:
    """Return shares of ``n`` people as an array; refuse impossible ones."""
    check_whole("the number of people", n, 0, _MAX_PEOPLE)
    try:
        shares = np.asarray(share, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.array(math.nan)
    if not np.all((shares >= 0) & (shares <= 1)):
        raise InvalidParameter.expected("shares from 0 to 1", share, "divide counts by n")
    return shares


def smallest_unsigned(largest: int) -> np.dtype[np.unsignedinteger]:
    """Return the narrowest little-endian unsigned type that holds ``largest``."""
    for limit, dtype in _UNSIGNED:
        if largest < limit:
            return dtype
    return _LONGEST


def exact_sum(values: Integers, largest: int = 1 << 63) -> int:
    """Return the sum of integers of at most ``largest``, where that of 64 bits would wrap."""
    if len(values) * largest < 1 << 63:
        return int(values.sum())
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


@dataclass(frozen=True)
class Footprint:
    """What one report adds to the integers of a tally: a protocol's bounds, all of them.

    It adds from ``low`` to ``high`` to each of ``length`` integers, and from ``total[0]`` to
    ``total[1]`` to all together. With ``row`` they stand in rows of that length, and a report adds
    to a single row: always 1 to its first integer if rows are ``numbered``, else always the same
    ``total`` to the row, so that each row tells how many reports it has.
    """

    length: int
    low: int = 0
    high: int = 1
    total: tuple[int, int] | None = None
    row: int | None = None
    numbered: bool = False

    def check(self, values: Integers, n: int) -> None:
        """Refuse integers, of which any number of zeros may be left out, that n cannot leave."""
        low, high = self.low * n, self.high * n
        least, most = int(values.min(initial=0)), int(values.max(initial=0))
        if least < low or most > high:
            raise forged(f"numbers from {low} to {high}, of {n} reports,", f"{least} to {most}")
        if self.total is not None:
            first, last = (n * total for total in self.total)
            came = exact_sum(values, max(-least, most))
            if not first <= came <= last:
                ends = f"of {first}" if first == last else f"from {first} to {last}"
                raise forged(f"numbers with a sum {ends}, of {n} reports,", f"one of {came}")

    def check_rows(self, rows: Iterator[tuple[Integers, Integers]], n: int) -> None:
        """Refuse rows, given as their numbers of reports and largest integers, that n cannot leave.

        No integer exceeds the number of reports of its row.
        """
        came = 0
        for reports, most in rows:
            came += exact_sum(reports)
            if np.any(most > reports):
                raise forged("rows with no number above that of their reports", "others")
        if came != n:
            raise forged(f"rows with {n} reports in all", f"{came}")

    def holds(self, stack: np.typing.NDArray[Any], counts: Sequence[int]) -> bool:
        """Tell whether reports, ``counts`` of them for each row, can have left all rows of a stack.

        False may also mean that 64 bits are too few to tell.
        """
        first, last = self.total or (0, 0)
        if max(1, -self.low, self.high, -first, last) * self.length * sum(counts) >= 1 << 62:
            return False
        n = np.array(counts, dtype=np.int64)
        least, most = stack.min(axis=1, initial=0), stack.max(axis=1, initial=0)
        if np.any(least < self.low * n) or np.any(most > self.high * n):
            return False
        sums = stack.sum(axis=1, dtype=np.int64)
        if self.total is not None and (np.any(sums < first * n) or np.any(sums > last * n)):
            return False
        if self.row is None:
            return True
        rows, share = stack.reshape(len(stack), -1, self.row), 1 if self.numbered else first or 1
        reports = rows[:, :, 0] if self.numbered else rows.sum(axis=2, dtype=np.int64)
        return (
            not np.any(reports % share)
            and bool(np.all(np.multiply(rows.max(axis=2), share, dtype=np.int64) <= reports))
            and np.array_equal(reports.sum(axis=1, dtype=np.int64), share * n)
        )

    def reports(self, upper: Integers, lower: Integers) -> Integers:
        """Return how many reports rows have, from the sums of the halves of their integers.

        The halves are the upper and the lower 32 bits, since 64 bits may not hold the whole sum.
        """
        share, half = np.uint64((self.total or (1, 1))[0]), np.uint64(32)
        whole, left = np.divmod(upper.astype(np.uint64), share)
        rest = (left << half) + lower.astype(np.uint64)
        if np.any(rest % share):
            raise forged(f"rows whose sums are multiples of {share}", "others")
        return ((whole << half) + rest // share).astype(np.int64)


def forged(expected: str, came: str) -> InvalidDocument:
    return InvalidDocument(
        f"expected {expected} in the tally, got {came}; the file was not written by deniable",
        value=came,
    )
