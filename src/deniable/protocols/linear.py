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
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.errors import IncompatibleTally, InvalidReport
from deniable.kernels import fields
from deniable.kernels.costs import choose, folded_size, level_start
from deniable.kernels.parallel import run_chunks
from deniable.protocol import Reports
from deniable.protocols.ranges import digits
from deniable.randomness import WORD, Source, direct_offset, draw_words
from deniable.statistic import DENSE_LIMIT, Statistic, Table
from deniable.validation import smallest_unsigned

_SMALL_PAIRS = 1 << 17
_SMALL_BATCH = 1 << 14
_GATHERED = 1 << 18
_RAW_LIMIT = 1 << 23
_CHUNK = 1 << 17


@dataclass(frozen=True)
class LinearFamily:
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

    @cached_property
    def functions(self) -> int:
        """How many hash functions there are: g^t."""
        return int(self.g**self.digits)

    @property
    def size(self) -> int:
        """How many different reports there are: g^(t+1)."""
        return self.functions * self.g

    @property
    def cells(self) -> int:
        """How many different reports there are up to multiples, for the purposes of a tally."""
        return folded_size(self.g, self.digits)

    @property
    def collision(self) -> Fraction:
        """The probability that two different values hash alike."""
        return Fraction(1, self.g)

    @property
    def report_dtype(self) -> np.dtype[np.generic]:
        """The narrowest unsigned integer that holds a report."""
        return smallest_unsigned(self.size - 1)

    @property
    def word_count(self) -> int:
        """One word for the hash function and one for the offset."""
        return 2

    @property
    def word_limits(self) -> dict[int, int]:
        """The first word stays below a multiple of g^t; powers of two need no limit."""
        limit = self._step * self.functions
        return {0: limit} if limit < WORD else {}

    @property
    def public_words(self) -> tuple[int, ...]:
        """None: a report shows u, not the word it came from."""
        return ()

    @property
    def _step(self) -> int:
        return WORD // self.functions

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
        self,
        values: npt.NDArray[np.uint64],
        words: npt.NDArray[np.uint64],
        weights: tuple[int, int],
    ) -> Reports:
        """Make one report of each value from its two words."""
        g, u = np.uint64(self.g), words[:, 0] // np.uint64(self._step)
        hashed = self.field.dot(u, values, self.digits).astype(np.uint64)
        y = hashed + direct_offset(words[:, 1], *weights)
        return (u * g + (y - g * (y >= g))).astype(self.report_dtype)

    def perturb_bulk(
        self, values: npt.NDArray[np.uint64], source: Source, weights: tuple[int, int]
    ) -> Reports:
        """Make reports of many values on all cores, by the same map."""
        from deniable.kernels.linear import perturb_linear  # noqa: PLC0415 - Numba when needed

        sources = source.split(math.ceil(len(values) / _CHUNK))
        reports = np.empty(len(values), dtype=self.report_dtype)
        signed = values.astype(np.int64)

        def fill(start: int, stop: int) -> None:
            words = draw_words(sources[start // _CHUNK], stop - start, 2, self.word_limits)
            reports[start:stop] = perturb_linear(
                signed[start:stop], words, self.field, self.digits, self._step, *weights
            )

        run_chunks(fill, len(values), _CHUNK)
        return reports

    def validate(self, reports: Reports) -> None:
        """Raise InvalidReport unless every code is one that a client can have sent."""
        if reports.size and int(reports.max()) >= self.size:
            raise InvalidReport(
                f"expected report codes below {self.size}, got {int(reports.max())}; "
                "check that the sender answers the same question",
                value=int(reports.max()),
            )

    def fold(self, codes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Return the cell of each report: that of the one report its multiples are folded onto.

        For c != 0 the reports (u, y) and (c u, c y) support the same values, so that a tally needs
        to know only the multiple whose lowest digit other than 0 is 1. Cells are numbered by the
        place of that digit, then by the digits above it and y; the last two are for u = 0.
        """
        g = np.uint64(self.g)
        u, y = codes // g, codes % g
        level = np.zeros(len(codes), dtype=np.int64)
        for _ in range(self.digits - 1):
            shift = (u % g == 0) & (u > 0)
            u = np.where(shift, u // g, u)
            level += shift
        scale = self.field.inverse(u % g).astype(np.uint64)
        cells, rest, place = self.field.multiply(scale, y).astype(np.uint64), u // g, g
        for _ in range(self.digits - 1):
            digit = self.field.multiply(scale, rest % g).astype(np.uint64)
            cells, rest, place = cells + digit * place, rest // g, place * g
        starts = np.array([level_start(self.g, self.digits, j) for j in range(self.digits)])
        zero = np.uint64(self.cells - 2) + (y > 0)
        return np.where(u == 0, zero, cells + starts.astype(np.uint64)[level])

    def unfold(self, cells: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Return the code of the report that each cell stands for."""
        g = np.uint64(self.g)
        starts = np.array([level_start(self.g, self.digits, j) for j in range(self.digits)])
        level = np.searchsorted(starts, cells, side="right") - 1
        inside = cells - starts.astype(np.uint64)[level]
        u = np.uint64(self.g) ** level.astype(np.uint64) * (inside // g * g + np.uint64(1))
        last = np.uint64(self.cells - 2)
        return np.where(cells >= last, cells - last, u * g + inside % g)

    def summarise(self, batches: Iterator[Reports]) -> tuple[int, Statistic]:
        """Count the reports of each cell, in the way that costs least for so many at a time."""
        n, table = 0, Table.from_codes(self.cells, np.empty(0, dtype=np.uint64))
        raw = folded = np.zeros(0, dtype=np.int64)
        for batch in _gather(batches):
            n += len(batch)
            if len(batch) > _SMALL_BATCH and self.size <= min(_RAW_LIMIT, 64 * len(batch)):
                from deniable.kernels.bits import count_values  # noqa: PLC0415 - Numba when needed

                raw = count_values(batch, self.size)[0] + (raw if len(raw) else 0)
            elif len(batch) > _SMALL_BATCH and self.cells <= min(DENSE_LIMIT, 16 * len(batch)):
                from deniable.kernels.linear import fold_codes  # noqa: PLC0415 - Numba when needed

                codes, ones = batch.astype(np.uint64), np.ones(len(batch), dtype=np.int64)
                cells = fold_codes(codes, ones, self.field, self.digits)
                folded = cells + (folded if len(folded) else 0)
            else:
                table = table + Table.from_codes(self.cells, self._fold_many(batch))
        if len(raw):
            from deniable.kernels.linear import fold_table  # noqa: PLC0415 - Numba when needed

            table = table + Table.from_dense(fold_table(raw, self.field, self.digits))
        return n, table + Table.from_dense(folded) if len(folded) else table

    def _fold_many(self, batch: Reports) -> npt.NDArray[np.uint64]:
        def part(start: int, stop: int) -> npt.NDArray[np.uint64]:
            return self.fold(batch[start:stop].astype(np.uint64))

        return np.concatenate([np.empty(0, dtype=np.uint64), *run_chunks(part, len(batch), _CHUNK)])

    def support(
        self, statistic: Statistic, candidates: npt.NDArray[np.uint64] | None = None
    ) -> npt.NDArray[np.int64]:
        """Count for each value the reports (u, y) with <u, v> = y."""
        if not isinstance(statistic, Table):
            raise IncompatibleTally(f"expected a table, got {statistic.form}", value=statistic.form)
        codes, counts = self.unfold(statistic.codes), statistic.counts
        if len(codes) * self.domain_size <= _SMALL_PAIRS:
            g, every = np.uint64(self.g), np.arange(self.domain_size, dtype=np.uint64)
            hashed = self.field.dot((codes // g)[:, None], every[None, :], self.digits)
            supports = hashed == (codes % g)[:, None]
            return np.asarray(counts @ supports.astype(np.int64), dtype=np.int64)
        from deniable.kernels import linear  # noqa: PLC0415 - Numba loads when needed

        if self.decoding(len(codes)) == "solve":
            return linear.decode_codes(codes, counts, self.field, self.digits, self.domain_size)
        return linear.decode_folded(statistic.dense(), self.field, self.digits, self.domain_size)

    def decoding(self, cells: int) -> str:
        """Name the way in which a tally with so many cells in use is decoded: fold or solve."""
        return choose(self.field, self.digits, self.domain_size, cells)

    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        """Tell which reports (u, y) have <u, v> = y."""
        codes, g = reports.astype(np.uint64), np.uint64(self.g)
        every = np.array([value], dtype=np.uint64)
        return np.asarray(self.field.dot(codes // g, every, self.digits) == codes % g)

    def read(self, data: memoryview, n: int) -> Statistic:
        """Read a tally's table."""
        return Table.decode(data, self.cells, n)


def _gather(batches: Iterator[Reports]) -> Iterator[Reports]:
    """Join small batches, so that the cost of adding tables is shared by many reports."""
    waiting: list[Reports] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += len(batch)
        if count >= _GATHERED:
            yield np.concatenate(waiting) if len(waiting) > 1 else batch
            waiting, count = [], 0
    if count:
        yield np.concatenate(waiting)
