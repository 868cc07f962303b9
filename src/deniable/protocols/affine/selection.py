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
(v - 1) floor(2^64 / (v - 1)), gives u = 1 + r0 // floor(2^64 / (v - 1)); with two points, where
that floor is 2^64, it is 2^64 - 1. The second, redrawn at or above L, gives the place y as
``deniable.protocols.selection`` says, with m of g places kept.

After Feldman, Nelson, Nguyen and Talwar, "Private Frequency Estimation via Projective Geometry"
(2022), and Park, Nam and Lee, "Exactly Optimal and Communication-Efficient Private Estimation via
Block Designs" (2023).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.errors import IncompatibleTally, InvalidDocument, InvalidReport
from deniable.kernels import fields, linear, windows
from deniable.kernels.bits import count_values
from deniable.kernels.costs import choose
from deniable.kernels.effort import decoding_time
from deniable.kernels.parallel import run_chunks
from deniable.protocol import Parameters, Protocol, Reports
from deniable.protocols.affine.settings import Settings, complete
from deniable.protocols.linear import LinearFamily, _gather
from deniable.protocols.selection import Places, places
from deniable.randomness import WORD, Source, draw_words
from deniable.statistic import DENSE_LIMIT, Counts, Statistic, Table
from deniable.validation import check_domain_size, check_epsilon, smallest_unsigned

_SMALL_BATCH = 1 << 14
_RAW_LIMIT = 1 << 23
_EXPANDED = 1 << 22
_CHUNK = 1 << 17


@dataclass(frozen=True)
class AffineSelection(Protocol):
    """Affine selection: within a percent of the least variance there is, in at most eight bytes.

    ``g``, ``digits`` and ``window`` are the best ones unless given.

    >>> protocol = AffineSelection(epsilon=3.0, domain_size=1000)
    >>> protocol.g, protocol.digits, protocol.window, protocol.report_bits
    (32, 2, 2, 16)
    """

    epsilon: float
    domain_size: int
    g: int | None = None
    digits: int | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))
        for name, value in self._settings._asdict().items():
            object.__setattr__(self, name, value)
        self._places  # noqa: B018 - refuses an epsilon that has no weights

    @classmethod
    def examples(cls) -> list[AffineSelection]:
        """Return small instances: lines and planes, prime fields and others."""
        return [
            cls(0.5, 5),
            cls(1.0, 4, 4, 1, 2),
            cls(1.0, 9, 9, 1, 4),
            cls(2.0, 13, 4, 2, 2),
            cls(3.0, 8, 3, 2, 1),
        ]

    @cached_property
    def _settings(self) -> Settings:
        return complete(self.epsilon, self.domain_size, self.g, self.digits, self.window)

    @cached_property
    def _field(self) -> fields.Field:
        return fields.field(self._settings.g)

    @cached_property
    def _family(self) -> LinearFamily:
        """The linear functions on all points; what a tally counts are its cells."""
        return LinearFamily(self._settings.g, self._settings.points)

    @cached_property
    def _places(self) -> Places:
        return places(self.epsilon, self._settings.g, self._settings.window)

    @cached_property
    def parameters(self) -> Parameters:
        g, t, m = self._settings
        return self._places.parameters(m * g ** (t - 1), g**t)

    @property
    def worst_ratio(self) -> Fraction:
        return self._places.worst_ratio

    @property
    def report_dtype(self) -> np.dtype[np.generic]:
        return smallest_unsigned(self._settings.size - 1)

    @property
    def word_count(self) -> int:
        """One word for the function and one for the place."""
        return 2

    @property
    def word_limits(self) -> dict[int, int]:
        limits = {0: self._step * (self._settings.points - 1), 1: self._places.limit}
        return {position: limit for position, limit in limits.items() if limit < WORD}

    @property
    def _step(self) -> int:
        return min(WORD // (self._settings.points - 1), WORD - 1)

    def _details(self) -> dict[str, object]:
        return {
            "field": {
                "characteristic": self._field.characteristic,
                "degree": self._field.degree,
                "modulus": list(self._field.modulus),
            },
            **self._places.details(),
        }

    def _perturb(self, values: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> Reports:
        f, before = self._field, words[:, 0] // np.uint64(self._step)
        hashed = f.dot(before + np.uint64(1), values, self._settings.digits)
        s = f.add(self._places.draw(words[:, 1]), f.negate(hashed))
        return (before * np.uint64(self._settings.g) + s).astype(self.report_dtype)

    def _privatize_bulk(self, values: npt.NDArray[np.uint64], source: Source) -> Reports:
        """Make reports of many values on all cores, by the same map."""
        sources = source.split(math.ceil(len(values) / _CHUNK))
        reports = np.empty(len(values), dtype=self.report_dtype)
        scheme = self._step, self._places.kept, self._places.inside, self._places.outside

        def fill(start: int, stop: int) -> None:
            words = draw_words(sources[start // _CHUNK], stop - start, 2, self.word_limits)
            reports[start:stop] = windows.perturb_affine(
                values[start:stop], words, self._field, self._settings.digits, scheme
            )

        run_chunks(fill, len(values), _CHUNK)
        return reports

    def _validate(self, reports: Reports) -> None:
        if reports.size and int(reports.max()) >= self._settings.size:
            raise InvalidReport(
                f"expected report codes below {self._settings.size}, got {int(reports.max())}; "
                "check that the sender answers the same question",
                value=int(reports.max()),
            )

    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        """Tell which reports (u, s) have <u, v> + s in the window."""
        codes, own = self._check_reports(reports).astype(np.uint64), self._check_value(value)
        g, t, m = self._settings
        hashed = self._field.dot(codes // np.uint64(g) + np.uint64(1), own, t)
        return np.asarray(self._field.add(hashed, codes % np.uint64(g)) < m)

    def support_counts(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count for each value the reports in whose window it is."""
        _, statistic = self._summarise(iter([self._check_reports(reports)]))
        return self._support(statistic)

    def _summarise(self, batches: Iterator[Reports]) -> tuple[int, Statistic]:
        """Count supports for one digit, else the cells of all lines of the reports."""
        if self._settings.digits > 1:
            return self._fold(batches)
        n, total = 0, np.zeros(self.domain_size, dtype=np.int64)
        for batch in _gather(batches):
            n += len(batch)
            total += windows.count_supports(
                batch.astype(np.uint64), self._field, self._settings.window, self.domain_size
            )
        return n, Counts(total)

    def _fold(self, batches: Iterator[Reports]) -> tuple[int, Statistic]:
        """Count the cells of the lines, in the way that costs least for so many at a time."""
        (_, t, m), f, size = self._settings, self._field, self._settings.size
        n, table = 0, Table.from_codes(self._family.cells, np.empty(0, dtype=np.uint64))
        raw = np.zeros(0, dtype=np.int64)
        for batch in _gather(batches):
            n += len(batch)
            if len(batch) > _SMALL_BATCH and size <= min(_RAW_LIMIT, 64 * len(batch)):
                raw = count_values(batch, size)[0] + (raw if len(raw) else 0)
            else:
                table = sum((self._count_lines(part) for part in self._lines(batch)), table)
        if len(raw):
            table = table + Table.from_dense(linear.fold_table(windows.spread(raw, f, m), f, t))
        return n, table

    def _count_lines(self, lines: npt.NDArray[np.uint64]) -> Table:
        cells = self._family.cells
        if len(lines) > _SMALL_BATCH and cells <= min(DENSE_LIMIT, 16 * len(lines)):
            ones = np.ones(len(lines), dtype=np.int64)
            t = self._settings.digits
            return Table.from_dense(linear.fold_codes(lines, ones, self._field, t))
        return Table.from_codes(cells, self._family.fold(lines))

    def _lines(self, batch: Reports) -> Iterator[npt.NDArray[np.uint64]]:
        """Yield the codes of the lines of reports, not too many at once."""
        most = max(1, _EXPANDED // self._settings.window)
        for start in range(0, len(batch), most):
            part = batch[start : start + most].astype(np.uint64)
            yield windows.expand(part, self._field, self._settings.window)

    def _support(self, statistic: Statistic) -> npt.NDArray[np.int64]:
        if self._settings.digits == 1:
            return super()._support(statistic)
        if not isinstance(statistic, Table):
            raise IncompatibleTally(f"expected a table, got {statistic.form}", value=statistic.form)
        t, d = self._settings.digits, self.domain_size
        if choose(self._field, t, d, len(statistic.codes)) == "fold":
            return linear.decode_folded(statistic.dense(), self._field, t, d)
        codes = self._family.unfold(statistic.codes)
        return linear.decode_codes(codes, statistic.counts, self._field, t, d)

    def decoding_time(self, n: int) -> float:
        """Estimate the nanoseconds that ``n`` reports take to tally and decode, on one core."""
        g, t, m = (np.array(float(x)) for x in self._settings)
        return float(decoding_time(g, t, m, self.domain_size, n))

    def _read_statistic(self, data: memoryview, n: int) -> Statistic:
        """Read counts of supports, or a table of m lines for each report."""
        g, t, m = self._settings
        if t == 1:
            whole = n * m if self.domain_size == g else None
            return Counts.decode(data, self.domain_size, 0, n, total=whole)
        table = Table.decode(data, self._family.cells, n * m)
        # A line of the function zero is no line of any report, and each line counts once.
        if int(table.counts.max(initial=0)) > n or (
            len(table.codes) and int(table.codes[-1]) >= self._family.cells - 2
        ):
            raise InvalidDocument(
                f"expected lines of {n} reports in the tally, got others; the file was not "
                "written by deniable",
                value=n,
            )
        return table
