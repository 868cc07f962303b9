"""Random matrix projection: a report is a row of a public random matrix and one perturbed bit.

Encode   v -> (r, x), r drawn uniformly from the rows and x = Phi[r, v], one bit  [sec:over:matrix]
Perturb  y = x with probability p = e^eps / (e^eps + 1), else its complement
Support  {v : Phi[r, v] = y}, hence p* = p and, over the choice of the matrix, q* = 1/2
Privacy  r is independent of v, and p / (1 - p) = e^eps
         (docs/proofs.md#random-matrix-projection)

A row is a hash function into one bit, so this is binary local hashing in other words
[sec:prot:lbh], with a family drawn once for all. Purity holds over that draw. Given the matrix,
a report of v supports v' with probability q + (p - q) a, a being the share of rows in which v and
v' agree: 1/2 give or take 1 / (2 sqrt(rows)). Users of the same row share its collisions, which
adds sum over v' != v of N_v' (N_v' - 1) / rows to the variance of the count of v; with at least as
many rows as people this is below n, and it vanishes as the rows grow. Standard errors include it.

The matrix is never stored: row r has the key word(seed, r), and its bit v is bit v mod 64 of
word(key, v // 64), by ``deniable.kernels.hashes``. A report is the integer 2 r + y, in the
narrowest of 1, 2, 4 or 8 bytes that hold 2 rows - 1; the tally is a table of how often each of
these came. Random bytes: two words. The first, redrawn at or above rows floor(2^64 / rows), gives
r = w0 // floor(2^64 / rows); y is the complement of x when the second is at or above the weight
of p.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from deniable.candidates import Chosen
from deniable.estimates import Estimates
from deniable.kernels.hashes import add_rows, words_of
from deniable.law import WidenedLaw
from deniable.mechanism import Coded, Reports
from deniable.protocol import Closed, Parameters
from deniable.protocols.direct import Weighted
from deniable.randomness import Direct, Integers, Uniform, Words
from deniable.statistics import Statistic, Table, of_form
from deniable.sums import TableSum
from deniable.tally import Tally
from deniable.validation import Footprint, check_whole

MOST_ROWS = 1 << 48
MOST_SEEDS = 1 << 53
"""JSON numbers are exact up to here in every language."""

_ONE, _SIX, _63 = np.uint64(1), np.uint64(6), np.uint64(63)


@dataclass(frozen=True)
class RandomMatrixProjection(Weighted, Closed, Coded):
    """The protocol of Bassily and Smith, at the variance of BLH; ``seed`` names the matrix.

    Give it at least as many rows as there will be people.

    >>> protocol = RandomMatrixProjection(epsilon=1.0, domain_size=1000, rows=1 << 24)
    >>> protocol.report_bits, round(protocol.variance(1), 2)
    (32, 4.68)
    """

    usual_settings: ClassVar[dict[str, object]] = {"rows": 1_000_000}

    epsilon: float
    domain_size: int
    rows: int
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        rows = check_whole("rows", self.rows, 1, MOST_ROWS, "at least as many as people is usual")
        object.__setattr__(self, "rows", rows)
        seed = check_whole("seed", self.seed, 0, MOST_SEEDS - 1, "0 will do")
        object.__setattr__(self, "seed", seed)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return small instances, pure as they stand: any two values agree in half of the rows."""
        return [cls(1.0, 3, 4, seed=5), cls(0.5, 4, 8, seed=376), cls(3.0, 5, 8, seed=1260)]

    @cached_property
    def _weights(self) -> Direct:
        return Direct.at(self.epsilon, 2)

    @cached_property
    def parameters(self) -> Parameters:
        return Parameters(self._weights.shares[0], Fraction(1, 2))

    @property
    def codes(self) -> int:
        return 2 * self.rows

    @cached_property
    def _row(self) -> Uniform:
        return Uniform(self.rows)

    @cached_property
    def words(self) -> Words:
        return Words(2, self._row.limits)

    def bits(self, rows: Integers, values: Integers) -> Integers:
        """Return Phi[r, v] for rows and values that broadcast against each other."""
        words = words_of(self._keys(rows), values >> _SIX)
        return words >> (values & _63) & _ONE

    def _keys(self, rows: Integers) -> Integers:
        return words_of(np.array([self.seed], dtype=np.uint64), rows)

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        rows = self._row.of(words[:, 0])
        flipped = (words[:, 1] >= np.uint64(self._weights.p)).astype(np.uint64)
        reports = rows << _ONE | self.bits(rows, values) ^ flipped
        return reports.astype(self.report_dtype)

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        codes = self._check_reports(reports).astype(np.uint64)
        bits = self.bits(codes >> _ONE, self._check_values([value]))
        return np.asarray(bits == codes & _ONE)

    def _new_sum(self) -> TableSum:
        return TableSum(self.codes, lambda reports: reports.astype(np.uint64), self._footprint)

    def _read_statistic(self, data: memoryview, n: int) -> Statistic:
        return Table.decode(data, n, self._footprint)

    @property
    def _footprint(self) -> Footprint:
        return Footprint(self.codes, total=(1, 1))

    def _support(self, statistic: Statistic, chosen: Chosen) -> np.typing.NDArray[np.int64]:
        codes, counts = of_form(statistic, Table).hits()
        # Zeros support all values whose bit is 0: count them for every value, and take them off
        # where the bit is 1, so that a row's weight is its ones less its zeros.
        rows, where = np.unique(codes >> _ONE, return_inverse=True)
        ones = (codes & _ONE).astype(np.bool_)
        weights = np.zeros(len(rows), dtype=np.int64)
        np.add.at(weights, where, np.where(ones, counts, -counts))
        used = np.flatnonzero(weights)
        total = add_rows(self._keys(rows[used]), weights[used], self.domain_size)
        return np.asarray(counts[~ones].sum() + total)

    def _estimate(self, tally: Tally, chosen: Chosen) -> Estimates:
        """Add to the errors of pure estimates what shared rows cost, as the module explains."""
        found = super()._estimate(tally, chosen)
        # Squares of roots, since earlier versions had them: estimates stay the same to the bit.
        variance = np.sqrt(self.variance(tally.n, found.shares.clip(0.0, 1.0))) ** 2
        null = float(np.sqrt(self.variance(tally.n))) ** 2
        # Without bias for N_v (N_v - 1); negative when there is nothing to see.
        pairs = found.counts**2 - variance - found.counts
        shared = np.maximum(pairs.sum() - pairs, 0.0) / self.rows
        extra, law = max(float(pairs.sum()), 0.0) / self.rows, self.law(tally.n)
        return replace(
            found,
            std_errors=np.sqrt(variance + shared),
            null_std_error=(null + extra) ** 0.5,
            law=WidenedLaw(law, law.variance, extra),
        )
