"""The linear hash family over GF(g), for closed domains: decodes by one fast transform.

A value v and a hash function u are vectors of t base-g digits, least significant first, with
g^t >= d, and H(v) = <u, v> in GF(g). For different v and v' the difference is not zero, so a
uniform u maps it to zero with probability exactly 1/g: that is the collision probability.

A report is the single integer u g + y. Random bytes: two words. The first, redrawn at or above
g^t floor(2^64 / g^t), gives u = r0 // floor(2^64 / g^t), exactly uniform; the second gives the
offset k of direct encoding over g values, and y = (H(v) + k) mod g.

The tally counts reports up to common multiples of u and y, which support the same values: about
g^t cells instead of g^(t+1). One transform over them, digit by digit, gives the support of every
value with (t - 1) g^(t+1) additions instead of n d hash evaluations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.kernels import bits, fields, linear
from deniable.kernels.costs import choose, folded_size, folding_bytes
from deniable.kernels.effort import decoding_time
from deniable.kernels.parallel import run_chunks
from deniable.mechanism import Reports
from deniable.protocols.hashing.family import Family
from deniable.protocols.hashing.ranges import digits
from deniable.randomness import Direct, Source, Uniform, Words
from deniable.statistics import DENSE_LIMIT, Statistic, Table, TableSum, of_form
from deniable.validation import Footprint, check_below, smallest_unsigned

_SMALL_BATCH = 1 << 14
_RAW_LIMIT = 1 << 23
_CHUNK = 1 << 17


@dataclass(frozen=True)
class LinearFamily(Family):
    """H(v) = <u, v> over GF(g), for values 0..domain_size-1."""

    g: int
    domain_size: int

    @cached_property
    def field(self) -> fields.Field:
        """The field with g elements."""
        return fields.field(self.g)

    @cached_property
    def digits(self) -> int:
        """t, the number of base-g digits of a value."""
        return digits(self.g, self.domain_size)

    @property
    def functions(self) -> int:
        """How many hash functions there are: g^t."""
        return self._function.size

    @cached_property
    def _function(self) -> Uniform:
        """A uniform draw among the hash functions."""
        return Uniform(int(self.g**self.digits))

    @property
    def size(self) -> int:
        """How many different reports there are: g^(t+1)."""
        return self.functions * self.g

    @cached_property
    def cells(self) -> int:
        """How many different reports there are up to multiples, for the purposes of a tally."""
        return folded_size(self.g, self.digits)

    @property
    def collision(self) -> Fraction:
        """The probability that two different values hash alike."""
        return Fraction(1, self.g)

    @cached_property
    def report_dtype(self) -> np.dtype[np.generic]:
        """The narrowest unsigned integer that holds a report."""
        return smallest_unsigned(self.size - 1)

    @cached_property
    def words(self) -> Words:
        """One word for the hash function and one for the offset."""
        return Words(2, self._function.limits)

    @property
    def decoding_bytes(self) -> int:
        """How many bytes the folded table takes, where there may be one."""
        return folding_bytes(self.field, self.digits)

    def details(self) -> dict[str, object]:
        """Return what another implementation needs to hash alike."""
        return {
            "family": "linear",
            "g": self.g,
            "digits": self.digits,
            "field": {
                "characteristic": self.field.characteristic,
                "degree": self.field.degree,
                "modulus": list(self.field.modulus),
            },
        }

    def perturb(
        self, values: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64], direct: Direct
    ) -> Reports:
        """Make one report of each value from its two words."""
        u = self._function.of(words[:, 0])
        y = direct.perturb(self.field.dot(u, values, self.digits), words[:, 1])
        return (u * np.uint64(self.g) + y).astype(self.report_dtype)

    def perturb_bulk(
        self, values: npt.NDArray[np.uint64], source: Source, direct: Direct
    ) -> Reports:
        """Make reports of many values on all cores, by the same map."""
        sources = source.split(math.ceil(len(values) / _CHUNK))
        reports = np.empty(len(values), dtype=self.report_dtype)
        signed, step = values.astype(np.int64), self._function.step

        def fill(start: int, stop: int) -> None:
            words = self.words.draw(sources[start // _CHUNK], stop - start)
            reports[start:stop] = linear.perturb_linear(
                signed[start:stop], words, self.field, self.digits, step, direct.p, direct.q
            )

        run_chunks(fill, len(values), _CHUNK)
        return reports

    def validate(self, reports: Reports) -> None:
        """Raise InvalidReport unless every code is one that a client can have sent."""
        check_below("report codes", int(reports.max(initial=0)), self.size)

    def fold(self, codes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Return the cell of each report: that of the one report its multiples are folded onto.

        For c != 0 the reports (u, y) and (c u, c y) support the same values, so that a tally needs
        to know only the multiple whose lowest digit other than 0 is 1. Cells are numbered by the
        place of that digit, then by the digits above it and y; the last two are for u = 0.
        """
        return linear.fold_each(codes, self.field, self.digits)

    def new_sum(self) -> LinearSum:
        """Return an empty sum of reports."""
        return LinearSum(self)

    def read(self, data: memoryview, n: int) -> Statistic:
        """Read a tally's table, in which a report falls into one cell."""
        return Table.decode(data, n, Footprint(self.cells, total=(1, 1)))

    def support(self, statistic: Statistic, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Count for every value the reports (u, y) with <u, v> = y."""
        del keys  # the transform gives all values at once
        table = of_form(statistic, Table)
        if self.decoding(table.used) == "fold":
            return linear.decode_folded(table.dense(), self.field, self.digits, self.domain_size)
        cells, counts = table.hits()
        return linear.decode_cells(cells, counts, self.field, self.digits, self.domain_size)

    def decoding(self, cells: int) -> str:
        """Name the way in which a tally with so many cells in use is decoded: fold or solve."""
        return choose(self.field, self.digits, self.domain_size, cells)

    def decoding_time(self, n: int) -> float:
        """Estimate the nanoseconds that ``n`` reports take to tally and decode, on one core."""
        g, t, m = (np.array(float(x)) for x in (self.g, self.digits, 1))
        return float(decoding_time(g, t, m, self.domain_size, n))

    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        """Tell which reports (u, y) have <u, v> = y."""
        codes, g = reports.astype(np.uint64), np.uint64(self.g)
        every = np.array([value], dtype=np.uint64)
        return np.asarray(self.field.dot(codes // g, every, self.digits) == codes % g)


class LinearSum(TableSum):
    """Counts the reports of each cell, in the way that costs least for so many at a time."""

    def __init__(self, family: LinearFamily) -> None:
        super().__init__(family.cells, self._fold)
        self._family = family
        self._raw = np.zeros(0, dtype=np.int64)

    def add(self, reports: Reports) -> None:
        """Count a batch by code, by cell, or one by one where it is small for the table."""
        family, n = self._family, len(reports)
        if n > _SMALL_BATCH and family.size <= min(_RAW_LIMIT, 64 * n):
            counts = bits.count_values(reports, family.size)[0]
            self._raw = counts + self._raw if len(self._raw) else counts
        elif n > _SMALL_BATCH and family.cells <= min(DENSE_LIMIT, 16 * n):
            ones = np.ones(n, dtype=np.int64)
            codes = reports.astype(np.uint64)
            self.add_dense(linear.fold_codes(codes, ones, family.field, family.digits))
        else:
            super().add(reports)

    def statistic(self) -> Table:
        """Return the table so far."""
        if len(self._raw):
            self.add_dense(linear.fold_table(self._raw, self._family.field, self._family.digits))
            self._raw = np.zeros(0, dtype=np.int64)
        return super().statistic()

    def _fold(self, reports: Reports) -> npt.NDArray[np.uint64]:
        def part(start: int, stop: int) -> npt.NDArray[np.uint64]:
            return self._family.fold(reports[start:stop].astype(np.uint64))

        parts = run_chunks(part, len(reports), _CHUNK)
        return np.concatenate([np.empty(0, dtype=np.uint64), *parts])
