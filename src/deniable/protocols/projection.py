"""Random matrix projection: a report is a row of a public random matrix and one perturbed bit.

Encode   v -> (r, x), r drawn uniformly from the rows and x = Phi[r, v], one bit  [sec:over:matrix]
Perturb  y = x with probability p = e^eps / (e^eps + 1), else its complement
Support  {v : Phi[r, v] = y}, hence p* = p and, over the choice of the matrix, q* = 1/2
Privacy  r is independent of v, and p / (1 - p) = e^eps

A row is a hash function into one bit, so this is binary local hashing in other words
[sec:prot:lbh], with a family drawn once for all. Purity holds over that draw. Given the matrix,
a report of v supports v' with probability q + (p - q) a, a being the share of rows in which v and
v' agree: 1/2 give or take 1 / (2 sqrt(rows)). Users of the same row share its collisions, which
adds sum over v' != v of N_v' (N_v' - 1) / rows to the variance of the count of v; with at least as
many rows as people this is below n, and it vanishes as the rows grow. Standard errors include it.

The matrix is never stored: row r has the key word(seed, r), and its bit v is bit v mod 64 of
word(key, v // 64), by ``deniable.kernels.splitmix``. A report is the integer 2 r + y, in the
narrowest of 1, 2, 4 or 8 bytes that hold 2 rows - 1; the tally is a table of how often each of
these came. Random bytes: two words. The first, redrawn at or above rows floor(2^64 / rows), gives
r = w0 // floor(2^64 / rows); y is the complement of x when the second is at or above the weight
of p.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.errors import IncompatibleTally, InvalidParameter, InvalidReport
from deniable.estimates import Estimates
from deniable.kernels.splitmix import words_of
from deniable.law import SupportLaw, WidenedLaw
from deniable.protocol import Parameters, Protocol, Reports
from deniable.protocols.linear import _gather
from deniable.randomness import WORD, direct_weights
from deniable.statistic import Statistic, Table
from deniable.validation import check_domain_size, check_epsilon, smallest_unsigned

MOST_ROWS = 1 << 48
MOST_SEEDS = 1 << 53
"""JSON numbers are exact up to here in every language."""

_SMALL_PAIRS = 1 << 20
_ONE, _SIX, _63 = np.uint64(1), np.uint64(6), np.uint64(63)


@dataclass(frozen=True)
class RandomMatrixProjection(Protocol):
    """The protocol of Bassily and Smith, at the variance of BLH; ``seed`` names the matrix.

    Give it at least as many rows as there will be people.

    >>> protocol = RandomMatrixProjection(epsilon=1.0, domain_size=1000, rows=1 << 24)
    >>> protocol.report_bits, round(protocol.variance(1), 2)
    (32, 4.68)
    """

    epsilon: float
    domain_size: int
    rows: int
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))
        rows = _check_whole("rows", self.rows, 1, MOST_ROWS, "at least as many as people is usual")
        object.__setattr__(self, "rows", rows)
        object.__setattr__(
            self, "seed", _check_whole("seed", self.seed, 0, MOST_SEEDS, "0 will do")
        )

    @classmethod
    def examples(cls) -> list[RandomMatrixProjection]:
        """Return small instances, pure as they stand: any two values agree in half of the rows."""
        return [cls(1.0, 3, 4, seed=5), cls(0.5, 4, 8, seed=376), cls(3.0, 5, 8, seed=1260)]

    @cached_property
    def _weights(self) -> tuple[int, int]:
        return direct_weights(self.epsilon, 2)

    @cached_property
    def parameters(self) -> Parameters:
        return Parameters(Fraction(self._weights[0], WORD), Fraction(1, 2))

    @property
    def worst_ratio(self) -> Fraction:
        return Fraction(*self._weights)

    @property
    def report_dtype(self) -> np.dtype[np.generic]:
        return smallest_unsigned(2 * self.rows - 1)

    @property
    def word_count(self) -> int:
        """One word for the row and one for the bit."""
        return 2

    @property
    def word_limits(self) -> dict[int, int]:
        """The first word stays below a multiple of the number of rows."""
        limit = WORD // self.rows * self.rows
        return {0: limit} if limit < WORD else {}

    def _details(self) -> dict[str, object]:
        p, q = self._weights
        return {"weights": {"p": str(p), "q": str(q)}}

    def bits(
        self, rows: npt.NDArray[np.uint64], values: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.uint64]:
        """Return Phi[r, v] for rows and values that broadcast against each other."""
        words = words_of(self._keys(rows), values >> _SIX)
        return words >> (values & _63) & _ONE

    def _keys(self, rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        return words_of(np.array([self.seed], dtype=np.uint64), rows)

    def _perturb(self, values: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> Reports:
        rows = words[:, 0] // np.uint64(WORD // self.rows) if self.rows > 1 else words[:, 0] * 0
        flipped = (words[:, 1] >= np.uint64(self._weights[0])).astype(np.uint64)
        reports = rows << _ONE | self.bits(rows, values) ^ flipped
        return reports.astype(self.report_dtype)

    def _validate(self, reports: Reports) -> None:
        if reports.size and int(reports.max()) >= 2 * self.rows:
            raise InvalidReport(
                f"expected report codes below {2 * self.rows}, got {int(reports.max())}; "
                "check that the sender answers the same question",
                value=int(reports.max()),
            )

    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        """Tell which reports hold the bit that their row has at ``value``."""
        codes = self._check_reports(reports).astype(np.uint64)
        bits = self.bits(codes >> _ONE, np.array([self._check_value(value)], dtype=np.uint64))
        return np.asarray(bits == codes & _ONE)

    def support_counts(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count for each value the reports that hold its bit."""
        _, statistic = self._summarise(iter([self._check_reports(reports)]))
        return self._support(statistic)

    def _summarise(self, batches: Iterator[Reports]) -> tuple[int, Statistic]:
        n, tables = 0, [Table.from_codes(2 * self.rows, np.empty(0, dtype=np.uint64))]
        for batch in _gather(batches):
            n += len(batch)
            tables.append(Table.from_codes(2 * self.rows, batch.astype(np.uint64)))
            # Only tables of like size are merged, so that a report is merged about log n times;
            # each is less than half of the one before, so that all are less than twice the first.
            while len(tables) > 1 and len(tables[-2].codes) <= 2 * len(tables[-1].codes):
                tables[-2:] = [tables[-2] + tables[-1]]
        while len(tables) > 1:
            tables[-2:] = [tables[-2] + tables[-1]]
        return n, tables[0]

    def _read_statistic(self, data: memoryview, n: int) -> Statistic:
        return Table.decode(data, 2 * self.rows, n)

    def _support(self, statistic: Statistic) -> npt.NDArray[np.int64]:
        if not isinstance(statistic, Table):
            raise IncompatibleTally(f"expected a table, got {statistic.form}", value=statistic.form)
        # Zeros support all values whose bit is 0: count them for every value, and take them off
        # where the bit is 1, so that a row's weight is its ones less its zeros.
        rows, where = np.unique(statistic.codes >> _ONE, return_inverse=True)
        ones = (statistic.codes & _ONE).astype(np.bool_)
        weights = np.zeros(len(rows), dtype=np.int64)
        np.add.at(weights, where, np.where(ones, statistic.counts, -statistic.counts))
        return np.asarray(statistic.counts[~ones].sum() + self._add_rows(rows, weights))

    def _add_rows(
        self, rows: npt.NDArray[np.uint64], weights: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        if len(rows) * self.domain_size <= _SMALL_PAIRS:
            every = np.arange(self.domain_size, dtype=np.uint64)
            bits = self.bits(rows[:, None], every[None, :]).astype(np.int64)
            return np.asarray(weights @ bits, dtype=np.int64)
        from deniable.kernels.rows import add_rows  # noqa: PLC0415 - Numba loads when needed

        chosen = np.flatnonzero(weights)
        return add_rows(self._keys(rows[chosen]), weights[chosen], self.domain_size)

    def _estimate(self, support: npt.NDArray[np.int64], n: int) -> Estimates:
        """Add to the errors of pure estimates what shared rows cost, as the module explains."""
        found = super()._estimate(support, n)
        # Without bias for N_v (N_v - 1); negative when there is nothing to see.
        pairs = found.counts**2 - found.std_errors**2 - found.counts
        shared = np.maximum(pairs.sum() - pairs, 0.0) / self.rows
        extra = max(float(pairs.sum()), 0.0) / self.rows
        law = SupportLaw(n, self.parameters.exact_p, self.parameters.exact_q)
        return replace(
            found,
            std_errors=np.sqrt(found.std_errors**2 + shared),
            null_std_error=(found.null_std_error**2 + extra) ** 0.5,
            law=WidenedLaw(law, law.variance, extra),
        )


def _check_whole(name: str, value: object, least: int, beyond: int, hint: str) -> int:
    try:
        result = operator.index(value)  # type: ignore[arg-type]  # the point of the try
    except TypeError:
        result = least - 1
    if isinstance(value, bool | np.bool_) or not least <= result < beyond:
        raise InvalidParameter(
            f"expected {name} as a whole number from {least} to {beyond - 1}, got {value!r}; "
            f"{hint}",
            value=value,
        )
    return result
