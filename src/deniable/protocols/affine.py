"""Affine selection: a report is a function without zero and a window of m of its g values.

Encode   x -> the t base-g digits of x, a point of GF(g)^t, with v = g^t >= d points
Perturb  u uniform among the nonzero vectors; a place y, one of the m elements 0..m-1 with
         probability p = m e^eps / (m e^eps + g - m); the report is (u, s) with s = y - <u, x>
Support  {x' : <u, x'> + s < m}, k = m g^(t-1) of the v points; hence p* = p and
         q* = (k - p) / (v - 1)
Privacy  Pr[(u, s) | x] is w1 / (L (v - 1)) or w0 / (L (v - 1)), and w1 / w0 <= e^eps

For x' != x the element <u, x' - x> is zero for g^(t-1) - 1 of the v - 1 vectors u and every other
element for g^(t-1) of them, the same for all pairs: this is subset selection on v points, with
sets that a few bytes name. One digit and m = 1 is direct encoding, m = 1 local hashing.

Sums, differences and products are those of GF(g), as in linear hashing (docs/formats.md): for a
prime power the elements 0..m-1 are no interval, and they need not be.

A report is the integer (u - 1) g + s, with u read as a number in base g, in the narrowest unsigned
integer that holds (v - 1) g - 1. Random bytes: two words. The first, redrawn at or above
(v - 1) floor(2^64 / (v - 1)), gives u = 1 + r0 // floor(2^64 / (v - 1)); with two points u = 1. The
second, redrawn at or above L, gives the place y as ``deniable.randomness`` says, with m of
g places kept.

After Feldman, Nelson, Nguyen and Talwar, "Private Frequency Estimation via Projective Geometry"
(2022), and Park, Nam and Lee, "Exactly Optimal and Communication-Efficient Private Estimation via
Block Designs" (2023).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from deniable.candidates import Chosen
from deniable.kernels import fields, windows
from deniable.mechanism import Reports
from deniable.protocol import Closed, Parameters, Pure
from deniable.protocols.affine_settings import Settings, best, complete
from deniable.protocols.linear import Lines
from deniable.randomness import Integers, Places, Uniform, Words
from deniable.statistics import Counts, CountsSum, Statistic, Sum, of_form
from deniable.validation import Footprint, check_domain_size, check_epsilon, smallest_unsigned


@dataclass(frozen=True)
class AffineSelection(Pure, Closed):
    """Affine selection: within a percent of the least variance there is, in at most eight bytes.

    That holds up to epsilon 12 and a million values, for the mean over all of them. ``g``,
    ``digits`` and ``window`` are the best ones for it unless given.

    >>> protocol = AffineSelection(epsilon=2.0, domain_size=41_270)
    >>> protocol.g, protocol.digits, protocol.window, protocol.report_bits
    (9, 5, 1, 32)
    """

    epsilon: float
    domain_size: int
    g: int | None = None
    digits: int | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in self._settings._asdict().items():
            object.__setattr__(self, name, value)
        _ = self._places  # refuses what 64 bits cannot express

    @classmethod
    def examples(cls) -> list[Self]:
        shapes = ((1.0, 4, 4, 1, 2), (1.0, 9, 9, 1, 4), (2.0, 13, 4, 2, 2), (3.0, 8, 3, 2, 1))
        return [cls(0.5, 5), *(cls(epsilon, d, g, t, m) for epsilon, d, g, t, m in shapes)]

    @classmethod
    def further_examples(cls) -> list[Self]:
        shapes = ((3.0, 1000, 1009, 1, 48), (4.0, 41_270, 223, 2, 4), (2.0, 10**6, 25, 5, 3))
        chosen = ((1.0, 2), (2.0, 100), (1.0, 41_270), (6.0, 10**6), (10.0, 161_979))
        return [
            *(cls(epsilon, d, g, t, m) for epsilon, d, g, t, m in shapes),
            *(cls(epsilon, d) for epsilon, d in chosen),
            cls(2.0, 300, 8, 3, 3),
            cls(2.0, 700, 27, 2, 5),
        ]

    @classmethod
    def usual(cls, epsilon: float, domain_size: int, share: float | None = None) -> Self:
        if share is None:
            return cls(epsilon, domain_size)
        chosen = best(check_epsilon(epsilon), check_domain_size(domain_size), share)
        return cls(epsilon, domain_size, *chosen)

    @cached_property
    def _settings(self) -> Settings:
        return complete(self.epsilon, self.domain_size, self.g, self.digits, self.window)

    @cached_property
    def _field(self) -> fields.Field:
        return fields.field(self._settings.g)

    @cached_property
    def _lines(self) -> Lines:
        g, digits, window = self._settings
        return Lines(g, self.domain_size, digits, window)

    @cached_property
    def _function(self) -> Uniform:
        return Uniform(self._lines.functions)

    @cached_property
    def _places(self) -> Places:
        return Places.at(self.epsilon, self._settings.g, self._settings.window)

    @cached_property
    def parameters(self) -> Parameters:
        g, t, m = self._settings
        return Parameters(*self._places.shares(m * g ** (t - 1), g**t))

    @property
    def worst_ratio(self) -> Fraction:
        return self._places.worst_ratio

    @cached_property
    def report_dtype(self) -> np.dtype[np.generic]:
        return smallest_unsigned(self._lines.reports - 1)

    @cached_property
    def words(self) -> Words:
        return self._places.words_after(self._function)

    def _details(self) -> dict[str, object]:
        return {"field": self._field.document(), **self._places.document()}

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        f, before = self._field, self._function.of(words[:, 0])
        hashed = f.dot(before + np.uint64(1), values, self._settings.digits)
        s = f.add(self._places.draw(words[:, 1]), f.negate(hashed))
        return (before * np.uint64(self._settings.g) + s).astype(self.report_dtype)

    def _validate(self, reports: Reports) -> None:
        self._lines.validate(reports)

    def supports(self, reports: Reports, value: int) -> np.typing.NDArray[np.bool_]:
        codes, own = self._check_reports(reports).astype(np.uint64), self._check_values([value])
        g, t, m = self._settings
        hashed = self._field.dot(codes // np.uint64(g) + np.uint64(1), own, t)
        return np.asarray(self._field.add(hashed, codes % np.uint64(g)) < m)

    def most_supported(self, values: Sequence[int]) -> int:
        return self._most_by_codes(values, self._lines.reports)

    def decoding_time(self, n: int) -> float:
        return self._lines.decoding_time(n)

    def _estimate_bytes(self, chosen: Chosen) -> int:
        table = self._lines.decoding_bytes if self._settings.digits > 1 else 0
        return super()._estimate_bytes(chosen) + table

    def _new_sum(self) -> Sum:
        """Sum supports for one digit, else the cells of all lines of the reports."""
        if self._settings.digits == 1:
            return CountsSum(self.domain_size, self._add_counts)
        return self._lines.new_sum()

    def _add_counts(self, reports: Reports, total: np.typing.NDArray[np.int64]) -> None:
        codes, m = reports.astype(np.uint64), self._settings.window
        total += windows.count_supports(codes, self._field, m, self.domain_size)

    def _support(self, statistic: Statistic, chosen: Chosen) -> np.typing.NDArray[np.int64]:
        del chosen  # all values are decoded at once
        if self._settings.digits == 1:
            return of_form(statistic, Counts).values
        return self._lines.support(statistic)

    def _read_statistic(self, data: memoryview, n: int) -> Statistic:
        """Read counts of supports, or a table of m lines for each report."""
        if self._settings.digits > 1:
            return self._lines.read_statistic(data, n)
        # A report supports m of the g points, of which g - d are no values.
        g, d, m = self._settings.g, self.domain_size, self._settings.window
        footprint = Footprint(d, total=(max(0, m - (g - d)), min(m, d)))
        return Counts.decode(data, n, footprint)
