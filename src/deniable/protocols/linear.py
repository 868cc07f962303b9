"""The linear hash family over GF(g), for closed domains: decodes by one fast transform.

A value v and a hash function u are vectors of t base-g digits, least significant first, with
g^t >= d, and H(v) = <u, v> in GF(g). For different v and v' the difference is not zero, so a
uniform u maps it to zero with probability exactly 1/g: that is the collision probability.

A report is the single integer u g + y. Random bytes: two words. The first, redrawn at or above
g^t floor(2^64 / g^t), gives u = r0 // floor(2^64 / g^t), exactly uniform; the second gives the
offset k of direct encoding over g values, and y = (H(v) + k) mod g.
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
from deniable.kernels.parallel import run_chunks
from deniable.protocol import Reports
from deniable.protocols.ranges import digits
from deniable.randomness import WORD, Source, direct_offset, draw_words
from deniable.statistic import DENSE_LIMIT, Statistic, Table
from deniable.validation import smallest_unsigned

_SMALL_PAIRS = 1 << 20
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

    def summarise(self, batches: Iterator[Reports]) -> tuple[int, Statistic]:
        """Count how often each code came, densely as soon as that costs less."""
        n, table = 0, Table.from_codes(self.size, np.empty(0, dtype=np.uint64))
        dense: npt.NDArray[np.int64] | None = None
        for batch in batches:
            n += len(batch)
            if dense is None and self.size <= DENSE_LIMIT and 4 * n > self.size:
                dense = table.dense()
            if dense is None:
                table = table + Table.from_codes(self.size, batch.astype(np.uint64))
            elif len(batch) > _SMALL_PAIRS:
                from deniable.kernels.bits import count_values  # noqa: PLC0415 - Numba when needed

                dense += count_values(batch, self.size)[0]
            else:
                np.add.at(dense, batch.astype(np.int64), 1)
        return n, table if dense is None else Table.from_dense(dense)

    def support(
        self, statistic: Statistic, candidates: npt.NDArray[np.uint64] | None = None
    ) -> npt.NDArray[np.int64]:
        """Count for each value the reports (u, y) with <u, v> = y."""
        if not isinstance(statistic, Table):
            raise IncompatibleTally(f"expected a table, got {statistic.form}", value=statistic.form)
        if len(statistic.codes) * self.domain_size <= _SMALL_PAIRS:
            g, every = np.uint64(self.g), np.arange(self.domain_size, dtype=np.uint64)
            u, y = statistic.codes // g, statistic.codes % g
            supports = self.field.dot(u[:, None], every[None, :], self.digits) == y[:, None]
            return np.asarray(statistic.counts @ supports.astype(np.int64), dtype=np.int64)
        from deniable.kernels.linear import decode  # noqa: PLC0415 - Numba loads when needed

        return decode(statistic.codes, statistic.counts, self.field, self.digits, self.domain_size)

    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        """Tell which reports (u, y) have <u, v> = y."""
        codes, g = reports.astype(np.uint64), np.uint64(self.g)
        every = np.array([value], dtype=np.uint64)
        return np.asarray(self.field.dot(codes // g, every, self.digits) == codes % g)

    def read(self, data: memoryview, n: int) -> Statistic:
        """Read a tally's table."""
        return Table.decode(data, self.size, n)
