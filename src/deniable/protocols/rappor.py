"""RAPPOR: a report is a cohort and a perturbed Bloom filter of the answer.

Encode   v -> (c, B0), c a cohort drawn uniformly and B0 the k-bit filter in which the bits
         H_c,1(v), ..., H_c,m(v) are set, fewer than m where they coincide          [sec:rappor]
Perturb  B1[i] = B0[i] with probability 1 - f/2, else its complement: the permanent response,
         once, in the paper's setting of one report for each person
Support  not pure: how often a report of v' sets the bits of v depends on the pair
Privacy  c is independent of v, and two filters differ in at most 2 m bits, hence
         epsilon = 2 m ln((1 - f/2) / (f/2))
         (docs/proofs.md#permanent-noise)

Values are 64-bit fingerprints of labels, and candidates are chosen at estimation, as for OpenLH.
The tally counts the reports of each cohort and the ones of each of its bits. Where nobody collides
the count of a value is the mean over its bits, with Var* = n q (1 - q) / (b (p - q)^2), where
q = f/2, p = 1 - q and b is the expected number of bits that a filter has set; ``variance`` and the
threshold for significance use it. Collisions add to that, whatever epsilon: regression
(``deniable.protocols.regression``) sorts out those among the candidates as far as it can.

Hash H_c,j(v), j = 0..m-1, is floor((w >> 32) k / 2^32) of the word w = word(v, c m + j) of
``deniable.kernels.hashes``. Random bytes: the first word, redrawn at or above
cohorts floor(2^64 / cohorts), gives c = w0 // floor(2^64 / cohorts); bit i is complemented when
word 1 + i is below the weight of f/2. Bits are packed least significant first, unused ones zero.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from deniable import validation
from deniable.candidates import Chosen
from deniable.errors import InvalidParameter
from deniable.estimates import Estimates
from deniable.kernels.bits import count_bits, perturb_bits
from deniable.kernels.hashes import scale, words_of
from deniable.law import upper_normal
from deniable.law.binomial_sum import Chance
from deniable.mechanism import Reports
from deniable.protocol import Open, Parameters, Share
from deniable.protocols import regression
from deniable.protocols.basic_rappor import permanent_epsilon, permanent_f, permanent_weights
from deniable.randomness import Integers, Source, Uniform, Weights, Words
from deniable.statistics import Counts, of_form
from deniable.tally import Counted, Tally

MOST_CELLS = 1 << 24
_COHORTS, _CROWDED = 256, 512
_USUAL = "128 bits, 2 hashes and 16 cohorts are usual"

Signed = np.typing.NDArray[np.int64]


@dataclass(frozen=True)
class RAPPOR(Open, Counted):
    """RAPPOR; give ``epsilon`` or ``f``, and the other follows.

    >>> protocol = RAPPOR(f=0.5)
    >>> round(protocol.epsilon, 2), protocol.report_bits
    (4.39, 136)
    >>> round(RAPPOR(epsilon=4.0).f, 4)
    0.5379
    """

    epsilon: float = None  # type: ignore[assignment]  # never None once made
    f: float = None  # type: ignore[assignment]  # likewise
    bits: int = 128
    hashes: int = 2
    cohorts: int = 16

    def __post_init__(self) -> None:
        for name, least, most in (("bits", 2, 1 << 16), ("hashes", 1, 64), ("cohorts", 1, 1 << 16)):
            value = validation.check_whole(name, getattr(self, name), least, most, _USUAL)
            object.__setattr__(self, name, value)
        if self.bits * self.cohorts > MOST_CELLS:
            raise InvalidParameter(
                f"expected at most {MOST_CELLS} bits in all cohorts, got {self.bits} in each of "
                f"{self.cohorts}; 128 bits and 16 cohorts are usual",
                value=self.bits * self.cohorts,
            )
        epsilon, f = self._complete(self.epsilon, self.f)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "f", f)

    def _complete(self, epsilon: float | None, f: float | None) -> tuple[float, float]:
        """Return epsilon and f, each from the other where only one is given."""
        if f is None:
            if epsilon is None:
                raise InvalidParameter("give epsilon or f; both are missing")
            epsilon = validation.check_epsilon(epsilon)
            return epsilon, validation.check_probability("f", permanent_f(epsilon, self.hashes))
        f = validation.check_probability("f", f)
        spent = validation.check_epsilon(permanent_epsilon(f, self.hashes))
        if epsilon is None or validation.check_epsilon(epsilon) == spent:
            return spent, f
        if f != permanent_f(validation.check_epsilon(epsilon), self.hashes):
            raise InvalidParameter(
                f"expected an f that spends epsilon = {epsilon!r}, got f = {f!r}, which spends "
                f"{spent!r}; give only one of them",
                value=(epsilon, f),
            )
        return validation.check_epsilon(epsilon), f

    @classmethod
    def examples(cls) -> list[Self]:
        """Return small instances in which few of the first values collide."""
        return [cls(epsilon=1.0, bits=74, cohorts=1), cls(f=0.5, bits=33, hashes=1, cohorts=1)]

    @cached_property
    def _weights(self) -> Weights:
        return permanent_weights(self.f)

    @cached_property
    def bit_parameters(self) -> Parameters:
        """The probabilities of a one where the filter has a one and where it has a zero."""
        return Parameters(*self._weights.shares)

    @cached_property
    def worst_ratio(self) -> Fraction:
        return self._weights.ratio ** min(2 * self.hashes, self.bits)

    @cached_property
    def report_dtype(self) -> np.dtype[np.generic]:
        cohort = validation.smallest_unsigned(self.cohorts - 1).str
        return np.dtype([("cohort", cohort), ("bits", "u1", (math.ceil(self.bits / 8),))])

    @cached_property
    def _cohort(self) -> Uniform:
        return Uniform(self.cohorts)

    @cached_property
    def words(self) -> Words:
        return Words(1 + self.bits, self._cohort.limits)

    def _details(self) -> dict[str, object]:
        return {"weights": {"q": str(self._weights.q)}}

    def positions(self, values: Integers, cohorts: Integers) -> np.typing.NDArray[np.int64]:
        """Return the ``hashes`` bits that each value sets in the filter of its cohort."""
        every = np.arange(self.cohorts * self.hashes, dtype=np.uint64)
        indices = every.reshape(self.cohorts, self.hashes)[cohorts]
        return scale(words_of(values[:, None], indices), self.bits).astype(np.int64)

    def _filters(self, values: Integers, cohorts: Integers) -> np.typing.NDArray[np.uint8]:
        rows = np.zeros((len(values), math.ceil(self.bits / 8)), dtype=np.uint8)
        for column in self.positions(values, cohorts).T:
            rows[np.arange(len(rows)), column >> 3] |= (1 << (column & 7)).astype(np.uint8)
        return rows

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        reports = np.empty(len(values), dtype=self.report_dtype)
        cohorts = self._cohort.of(words[:, 0])
        flips = words[:, 1:] < np.uint64(self._weights.q)
        reports["cohort"] = cohorts
        reports["bits"] = self._filters(values, cohorts) ^ np.packbits(
            flips, axis=1, bitorder="little"
        )
        return reports

    def _privatize_bulk(self, values: Integers, source: Source) -> Reports:
        first, second = source.split(2)
        drawn = Words(1, self._cohort.limits).draw(first, len(values))
        cohorts = self._cohort.of(drawn[:, 0])
        anywhere, q = np.zeros(len(values), dtype=np.int64), self._weights.q
        reports = np.empty(len(values), dtype=self.report_dtype)
        reports["cohort"] = cohorts
        flips = perturb_bits(anywhere, q, q, self.bits, second)
        reports["bits"] = self._filters(values, cohorts) ^ flips
        return reports

    def _validate(self, reports: Reports) -> None:
        cohorts, rows = _columns(reports)
        validation.check_below("cohorts", int(cohorts.max(initial=0)), self.cohorts)
        validation.check_padding(rows, self.bits)

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        """Tell which reports have all bits of ``value`` set."""
        cohorts, rows = _columns(self._check_reports(reports))
        values = np.full(len(rows), self._check_values([value])[0], dtype=np.uint64)
        filters = self._filters(values, cohorts.astype(np.uint64))
        return np.asarray(np.all(rows & filters == filters, axis=1))

    @property
    def _footprint(self) -> validation.Footprint:
        """A report adds 1 to the number of its cohort, and 0 or 1 to that of each bit there."""
        row = 1 + self.bits
        return validation.Footprint(self.cohorts * row, row=row, numbered=True)

    def _add_counts(self, reports: Reports, total: np.typing.NDArray[np.int64]) -> None:
        """Add to the row of each cohort its reports, then the ones of each bit."""
        cohorts, rows = _columns(reports)
        order = np.argsort(cohorts, kind="stable")
        here, starts = np.unique(cohorts[order], return_index=True)
        sizes = np.diff(starts, append=len(cohorts))
        table = total.reshape(self.cohorts, 1 + self.bits)
        table[here, 0] += sizes
        for start in range(0, len(here), _COHORTS):
            some = slice(start, start + _COHORTS)
            if sizes[some].mean() > _CROWDED:
                for cohort, first, size in zip(here[some], starts[some], sizes[some], strict=True):
                    chosen = np.ascontiguousarray(rows[order[first : first + size]])
                    table[cohort, 1:] += count_bits(chosen, self.bits)
            else:
                places = order[starts[start] : starts[some][-1] + sizes[some][-1]]
                bits = np.unpackbits(rows[places], axis=1, count=self.bits, bitorder="little")
                sums = np.add.reduceat(bits, starts[some] - starts[start], axis=0, dtype=np.int64)
                table[here[some], 1:] += sums

    def variance(self, n: int, share: Share = 0.0) -> Share:
        """Return the variance of a count among ``n`` people when nobody's bits collide."""
        set_bits = self.bits * (1 - (1 - 1 / self.bits) ** self.hashes)
        return self.bit_parameters.variance(n, share) / set_bits

    def _estimate(self, tally: Tally, chosen: Chosen) -> Estimates:
        """Estimate how many people hold each of the candidates, by regression on the bits.

        Needs the extra ``rappor``, and tells its progress. Few candidates are estimated together;
        of many, the frequent ones are selected first, and each of the others is estimated beside
        them. The standard errors hold the noise and what the rest of the population adds to the
        bits, and take the selection as given: with few cohorts and a large epsilon a wrong
        selection is beyond them. Name all answers that may be frequent: one that is missing lifts
        the counts of those that share bits with it.
        """
        counts, std_errors = regression.solve(self._system(tally, chosen.keys))
        n, null = tally.n, math.sqrt(float(self.variance(tally.n)))
        counts = np.where(std_errors < n, counts, counts.clip(0, n))
        std_errors = np.minimum(std_errors, n)
        if n * self.hashes * self._noise.variance <= regression.NEARLY_NORMAL:
            least = upper_normal(regression.LARGEST_ALPHA / max(len(counts), 1))
            large = np.flatnonzero(counts > least * std_errors)
            trials, ones = self._ones(tally, chosen.keys[large])
            std_errors[large] = regression.widen(
                counts[large], std_errors[large], trials, ones, self._noise
            )
        return Estimates(counts, std_errors, n, null)

    @cached_property
    def _noise(self) -> Chance:
        """The chance that noise alone makes a bit one."""
        q = self.bit_parameters.exact_q
        return Chance(float(q), float(1 - q))

    def _ones(self, tally: Tally, keys: Integers) -> tuple[Signed, Signed]:
        """Return how many bits of reports each candidate sets, and how many of them are ones."""
        table = of_form(tally.statistic, Counts).values.reshape(self.cohorts, -1)
        trials, ones = np.zeros((2, len(keys)), dtype=np.int64)
        for cohort in np.flatnonzero(table[:, 0]):
            filters = np.sort(self.positions(keys, np.full(len(keys), cohort, dtype=np.uint64)))
            fresh = np.diff(filters, axis=1, prepend=-1) != 0
            trials += fresh.sum(axis=1) * table[cohort, 0]
            ones += (table[cohort, 1:][filters] * fresh).sum(axis=1)
        return trials, ones

    def _estimate_bytes(self, chosen: Chosen) -> int:
        equations, keys = self.cohorts * self.bits, len(chosen.keys)
        solving = regression.solving_bytes(equations, keys, keys * self.cohorts * self.hashes)
        return super()._estimate_bytes(chosen) + solving

    def _system(self, tally: Tally, keys: Integers) -> regression.System:
        """Return the equations: expected ones of each bit, less the noise, as sums of counts."""
        n = tally.n
        table = of_form(tally.statistic, Counts).values.reshape(self.cohorts, -1)
        present = np.flatnonzero(table[:, 0])
        sizes, ones = table[present, :1].astype(np.float64), table[present, 1:]
        q, gap = self.bit_parameters.q, self.bit_parameters.gap
        # A cohort of n_c reports holds the share n_c / n of each count, with noise that grows as
        # the root of n_c; both are divided by the root of n_c / n.
        response = (ones - q * sizes) / gap * np.sqrt(n / sizes)
        share = np.repeat(np.sqrt(sizes[:, 0] / n), self.bits)
        rows = np.empty((len(keys), len(present), self.hashes), dtype=np.int32)
        for index, cohort in enumerate(present):
            cohorts = np.full(len(keys), cohort, dtype=np.uint64)
            rows[:, index] = self.positions(keys, cohorts) + index * self.bits
        design = regression.sparse_design(rows.reshape(len(keys), -1), share)
        noise = math.sqrt(n * q * (1 - q)) / gap
        return regression.System(design, response.ravel(), share, noise, self.bits)


def _columns(reports: Reports) -> tuple[np.typing.NDArray[np.int64], np.typing.NDArray[np.uint8]]:
    cohorts: np.typing.NDArray[np.int64] = reports["cohort"].astype(np.int64)
    rows: np.typing.NDArray[np.uint8] = reports["bits"]
    return cohorts, rows
