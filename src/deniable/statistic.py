"""What a tally keeps of its reports: one of three statistics that add.

Counts     one integer per value                              (direct, histogram and unary encoding)
Table      how often each report code came, dense or sparse   (linear local hashing)
Collected  the reports themselves, in an order that tells nothing   (local hashing, multiply-shift)

Each has one canonical form for the same content, so that equal tallies have equal bytes whatever
the order in which they were added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from deniable.errors import IncompatibleTally, InvalidDocument

DENSE_LIMIT = 1 << 26
"""Tables with more cells than this (half a GiB) are only ever kept sparse."""

_WIDTHS = {1, 2, 4, 8}


@dataclass(frozen=True, eq=False)
class Counts:
    """One integer per value: support counts, or sums of noisy histograms."""

    form: ClassVar[str] = "counts"
    values: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        self.values.setflags(write=False)

    def __add__(self, other: Self) -> Self:
        total = self.values + other.values
        # A sum wraps where both summands have the sign that it has not.
        if np.any((self.values ^ total) & (other.values ^ total) < 0):
            raise IncompatibleTally(
                "expected counts whose sums fit in 64 bits, got larger ones; no reports add up to "
                "so many: check where the tallies come from",
                value=None,
            )
        return type(self)(total)

    def encode(self) -> bytes:
        """Return the little-endian 64-bit integers."""
        return self.values.astype("<i8").tobytes()

    @classmethod
    def decode(
        cls, data: memoryview, length: int, low: int, high: int, total: int | None = None
    ) -> Counts:
        """Read ``length`` integers, each from ``low`` to ``high``, that add up to ``total``."""
        if len(data) != 8 * length:
            raise _payload(f"{8 * length} bytes of counts", f"{len(data)}")
        values = np.frombuffer(data, dtype="<i8").astype(np.int64)
        least, most = int(values.min()), int(values.max())
        if least < low or most > high:
            raise _payload(f"counts from {low} to {high}", f"{least} to {most}")
        if total is not None and _sum(values) != total:
            raise _payload(f"counts that add up to {total}", f"{_sum(values)}")
        return cls(values)


@dataclass(frozen=True, eq=False)
class Table:
    """How often each report code below ``size`` came: sorted codes with positive counts."""

    form: ClassVar[str] = "table"
    size: int
    codes: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        self.codes.setflags(write=False)
        self.counts.setflags(write=False)

    @classmethod
    def from_dense(cls, table: npt.NDArray[np.int64]) -> Table:
        """Return the table of a dense array of counts."""
        codes = np.flatnonzero(table)
        return cls(len(table), codes.astype(np.uint64), table[codes])

    @classmethod
    def from_codes(cls, size: int, codes: npt.NDArray[np.uint64]) -> Table:
        """Return the table of codes that came one by one."""
        unique, counts = np.unique(codes, return_counts=True)
        return cls(size, unique.astype(np.uint64), counts.astype(np.int64))

    def dense(self) -> npt.NDArray[np.int64]:
        """Return the counts of all codes, zeros included."""
        table = np.zeros(self.size, dtype=np.int64)
        table[self.codes.astype(np.int64)] = self.counts
        return table

    def __add__(self, other: Table) -> Table:
        cells = len(self.codes) + len(other.codes)
        if self.size <= DENSE_LIMIT and 4 * cells > self.size:
            table = self.dense()
            table[other.codes.astype(np.int64)] += other.counts
            return Table.from_dense(table)
        codes, where = np.unique(np.concatenate([self.codes, other.codes]), return_inverse=True)
        counts = np.zeros(len(codes), dtype=np.int64)
        np.add.at(counts, where, np.concatenate([self.counts, other.counts]))
        return Table(self.size, codes, counts)

    def encode(self) -> bytes:
        """Return the shorter of all counts and the (code, count) cells, in narrow integers.

        One byte for the form, one each for the widths of a code and of a count, then the numbers.
        """
        count = _width(int(self.counts.max(initial=0)))
        code = _width(int(self.codes.max(initial=0)))
        if self.size * count <= len(self.codes) * (code + count):
            return b"d" + bytes([0, count]) + self.dense().astype(f"<u{count}").tobytes()
        codes, counts = self.codes.astype(f"<u{code}"), self.counts.astype(f"<u{count}")
        return b"s" + bytes([code, count]) + codes.tobytes() + counts.tobytes()

    @classmethod
    def decode(cls, data: memoryview, size: int, n: int) -> Table:
        """Read a table of ``n`` reports, refusing any but the canonical form of it."""
        if len(data) < 3:
            raise _payload("a dense or sparse table", f"{len(data)} bytes")
        kind, code, count = bytes(data[:1]), data[1], data[2]
        body = data[3:]
        if kind == b"d" and code == 0 and count in _WIDTHS and len(body) == size * count:
            table = cls.from_dense(_unsigned(body, count).astype(np.int64))
        elif kind == b"s" and {code, count} <= _WIDTHS and len(body) % (code + count) == 0:
            cut = len(body) // (code + count) * code
            codes, counts = _unsigned(body[:cut], code), _unsigned(body[cut:], count)
            if np.any(codes[1:] <= codes[:-1]) or (len(codes) and codes[-1] >= size):
                raise _payload(f"ascending codes below {size}", "others")
            table = cls(size, codes, counts.astype(np.int64))
        else:
            raise _payload("a dense or sparse table", f"{len(data)} bytes of neither")
        if table.counts.min(initial=0) < 0 or _sum(table.counts) != n:
            raise _payload(f"counts that add up to n = {n}", "another sum")
        if table.encode() != bytes(data):
            raise _payload("a table in canonical form", "another form")
        return table


@dataclass(frozen=True, eq=False)
class Collected:
    """The reports themselves, sorted: the order of arrival is nobody's business."""

    form: ClassVar[str] = "reports"
    reports: npt.NDArray[np.void]

    def __post_init__(self) -> None:
        self.reports.setflags(write=False)

    @classmethod
    def from_reports(cls, reports: npt.NDArray[np.void]) -> Collected:
        """Return the reports in canonical order."""
        names = reports.dtype.names or ()
        first = reports[names[0]]
        order = np.argsort(first, kind="stable")
        ordered = first[order]
        if np.any(ordered[1:] == ordered[:-1]):
            order = np.lexsort([reports[name] for name in reversed(names)])
        return cls(reports[order])

    def __add__(self, other: Collected) -> Collected:
        return Collected.from_reports(np.concatenate([self.reports, other.reports]))

    def encode(self) -> bytes:
        """Return the reports' own bytes."""
        return self.reports.tobytes()

    @classmethod
    def decode(
        cls,
        data: memoryview,
        n: int,
        dtype: np.dtype[np.generic],
        validate: Callable[[npt.NDArray[np.generic]], None],
    ) -> Collected:
        """Read ``n`` reports that pass ``validate`` and stand in canonical order."""
        if len(data) != n * dtype.itemsize:
            raise _payload(f"{n * dtype.itemsize} bytes of reports", f"{len(data)}")
        reports = np.frombuffer(bytes(data), dtype=dtype)
        validate(reports)
        collected = cls.from_reports(reports)
        if collected.encode() != bytes(data):
            raise _payload(f"{n} reports in canonical order", "another order")
        return collected


Statistic = Counts | Table | Collected


def _width(largest: int) -> int:
    """Return how many bytes an unsigned integer up to ``largest`` takes: 1, 2, 4 or 8."""
    return next(width for width in sorted(_WIDTHS) if largest < 1 << (8 * width))


def _sum(values: npt.NDArray[np.int64]) -> int:
    """Return the exact sum of integers, where that of 64 bits would wrap."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _unsigned(data: memoryview, width: int) -> npt.NDArray[np.uint64]:
    return np.frombuffer(data, dtype=f"<u{width}").astype(np.uint64)


def _payload(expected: str, came: str) -> InvalidDocument:
    return InvalidDocument(
        f"expected {expected} in the tally, got {came}; the file was not written by deniable",
        value=came,
    )
