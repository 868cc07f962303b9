"""Checks at the public edge; what is below them trusts its input."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter, InvalidReport, OutOfDomain

_MAX_EPSILON = 100.0
_MAX_DOMAIN = (1 << 31) - 1
_MAX_PEOPLE = 10**300
_LONGEST = 80


def check_epsilon(epsilon: object) -> float:
    """Return epsilon as a float, or say what is wrong with it."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.floating | np.integer):
        raise InvalidParameter(
            f"expected epsilon as a number, got {brief(epsilon)}; 1 or 2 is usual", value=epsilon
        )
    try:
        result = float(epsilon)
    except OverflowError:  # an integer that no float holds
        result = math.inf
    if not 0 < result <= _MAX_EPSILON:
        raise InvalidParameter(
            f"expected epsilon above 0 and at most {_MAX_EPSILON:g}, got {brief(epsilon)}; "
            "1 or 2 is usual, and beyond 20 a report hides next to nothing",
            value=epsilon,
        )
    return result


def check_domain_size(domain_size: object) -> int:
    """Return the domain size as an int, or say what is wrong with it."""
    try:
        result = operator.index(domain_size)  # type: ignore[arg-type]  # the point of the try
    except TypeError:
        result = 0
    if isinstance(domain_size, bool | np.bool_) or not 2 <= result <= _MAX_DOMAIN:
        remedy = "needs at least two answers" if result < 2 else "with more answers can be open"
        raise InvalidParameter(
            f"expected a whole number of values from 2 to {_MAX_DOMAIN}, got {brief(domain_size)}; "
            f"a question {remedy}",
            value=domain_size,
        )
    return result


def brief(value: object) -> str:
    """Return what came as an error shows it: in one short line, however long it is.

    >>> brief("kiwi"), brief(10**10_000)
    ("'kiwi'", 'an integer of thousands of digits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write so many digits
        return f"an {'integer' if isinstance(value, int) else 'object'} of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def smallest_unsigned(largest: int) -> np.dtype[np.unsignedinteger]:
    """Return the narrowest little-endian unsigned type that holds ``largest``.

    >>> smallest_unsigned(255), smallest_unsigned(256)
    (dtype('uint8'), dtype('uint16'))
    """
    for code in ("<u1", "<u2", "<u4"):
        if largest < 1 << (8 * np.dtype(code).itemsize):
            return np.dtype(code)
    return np.dtype("<u8")


def check_values(values: npt.ArrayLike, domain_size: int) -> npt.NDArray[np.uint64]:
    """Return values of a domain as an array, or name the first that is none."""
    array = _array_of(values)
    if array.ndim != 1:
        raise InvalidParameter(
            f"expected a one-dimensional list or array of values, got {array.ndim} "
            "dimensions; for a single answer pass a list of one",
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
            f"expected whole numbers from 0 to {domain_size - 1}, got {array.dtype} "
            f"such as {array[0]!r}; map answers to values with a Question",
            value=array[0],
        )
    if wrong.any():
        position = int(np.argmax(wrong))
        raise OutOfDomain(
            f"expected values from 0 to {domain_size - 1}, got {array[position]} at position "
            f"{position}; map answers to values with a Question",
            value=int(array[position]),
        )
    return array.astype(np.uint64)


def _array_of(values: npt.ArrayLike) -> npt.NDArray[Any]:
    # Only a subclass can be masked; asking np.ma about a plain array would have to import it.
    subclass = isinstance(values, np.ndarray) and type(values) is not np.ndarray
    if subclass and np.ma.is_masked(values):
        raise InvalidParameter(
            "expected a value for everybody, got masked ones; leave out people without an answer, "
            "for example with values.compressed()",
            value=values,
        )
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"expected a one-dimensional list or array of values, got {brief(values)}; "
            "for a single answer pass a list of one",
            value=values,
        ) from error


def check_reports(reports: object, dtype: np.dtype[np.generic], name: str) -> npt.NDArray[Any]:
    """Return an array of reports of the given type, or say what it is instead."""
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
    raise InvalidReport(
        f"expected an array of {name} reports, {base} of shape (n, *{shape}), got {came} of shape "
        f"{reports.shape if isinstance(reports, np.ndarray) else '-'}; use privatize or parse to "
        "make it",
        value=came,
    )


def check_shares(n: int, frequency: float | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return shares of ``n`` people as an array, or say what is impossible about them."""
    if not (isinstance(n, int | np.integer) and 0 <= n <= _MAX_PEOPLE):
        raise InvalidParameter(
            f"expected a whole number of people, 0 or more, got {brief(n)}", value=n
        )
    try:
        share = np.asarray(frequency, dtype=np.float64)
    except (TypeError, ValueError):
        share = np.array(math.nan)
    if not np.all((share >= 0) & (share <= 1)):
        raise InvalidParameter(
            f"expected frequencies from 0 to 1, got {brief(frequency)}; divide counts by n",
            value=frequency,
        )
    return share
