"""The mechanism: what turns a value into a deniable report, and bytes back into reports.

This is all that a device or an audit needs. What a server does with reports is ``Protocol``'s
business, and nothing here knows of tallies and estimates.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import Field, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deniable.errors import InvalidReport
from deniable.kernels.parallel import run_chunks
from deniable.randomness import Integers, Source, Words, log_above, randomise
from deniable.validation import check_below, check_reports, check_whole, smallest_unsigned

Reports = np.typing.NDArray[Any]  # of the mechanism's report_dtype, which only it knows
Values = np.typing.ArrayLike

_CHUNK_WORDS = 1 << 18
_STEP_WORDS = 1 << 14
"""How many words become reports at once: all arrays in between stay in a core's cache."""


class Mechanism(ABC):
    """A randomised map from values to reports at one epsilon: no state, no I/O.

    A subclass is a frozen dataclass; its fields are what its constructor takes. It supplies
    ``epsilon``, ``worst_ratio``, ``report_dtype``, ``value_count``, ``words``, ``_check_values``
    and ``_perturb``.
    """

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

        @property
        def epsilon(self) -> float:
            """The privacy loss of one report: a field, or what follows from the fields."""

    @property
    def name(self) -> str:
        """The name, the same in Python, in files and on the command line."""
        return type(self).__name__

    @property
    @abstractmethod
    def worst_ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one report under two values, exactly."""

    @property
    @abstractmethod
    def report_dtype(self) -> np.dtype[np.generic]:
        """The fixed-width little-endian form of one report, in memory and on the wire."""

    @property
    @abstractmethod
    def value_count(self) -> int:
        """How many values there are: they are numbered from 0."""

    @property
    def value_dtype(self) -> np.dtype[np.generic]:
        """The form of one value: its number or, with a shape, a row of integers."""
        return np.dtype(np.uint64)

    def numbered(self, numbers: Integers) -> Integers:
        """Return the values with these numbers: the numbers themselves, or a row for each."""
        return numbers

    @cached_property
    def words(self) -> Words:
        """The random words that one report takes: one, unless a subclass says otherwise."""
        return Words()

    @abstractmethod
    def _check_values(self, values: Values) -> Integers:
        """Return values as an array, or name the first position that has none."""

    @abstractmethod
    def _perturb(self, values: Integers, words: Integers) -> Reports:
        """Make one report of each value from its row of words, in NumPy alone.

        This is the client's path and the specification: its work depends on the shapes only.
        """

    def _perturb_many(self, values: Integers, words: Integers) -> Reports:
        """Make the same reports as ``_perturb``, in whatever way is fastest for many of them."""
        reports = np.empty(len(values), dtype=self.report_dtype)
        step = max(1, _STEP_WORDS // self.words.count)
        for start in range(0, len(values), step):
            part = slice(start, start + step)
            reports[part] = self._perturb(values[part], words[part])
        return reports

    def _validate(self, reports: Reports) -> None:
        """Raise InvalidReport unless every report is one that a client can have sent."""
        del reports  # where every bit pattern is a report

    def _details(self) -> dict[str, object]:
        """Return the integers another implementation needs, beyond the constructor's arguments."""
        return {}

    def _privatize_bulk(self, values: Integers, source: Source) -> Reports:
        """Privatize many values on all cores; the law is that of ``_perturb``."""
        chunk = max(1, _CHUNK_WORDS // self.words.count)
        sources = source.split(math.ceil(len(values) / chunk))
        reports = np.empty(len(values), dtype=self.report_dtype)

        def fill(start: int, stop: int) -> None:
            words = self.words.draw(sources[start // chunk], stop - start)
            reports[start:stop] = self._perturb_many(values[start:stop], words)

        run_chunks(fill, len(values), chunk)
        return reports

    @cached_property
    def realised_epsilon(self) -> float:
        """The epsilon that the integer weights spend, rounded up; never above ``epsilon``."""
        return log_above(self.worst_ratio)

    @property
    def total_epsilon(self) -> float:
        """What answering reveals at most: epsilon, since a person should send one report."""
        return self.epsilon

    @property
    def report_bits(self) -> int:
        """The size of one report on the wire, in bits."""
        return 8 * self.report_dtype.itemsize

    def privatize(
        self, values: Values, rng: "np.random.Generator | Source | None" = None
    ) -> Reports:
        """Turn each value into a deniable report.

        ``rng`` is for simulation and test vectors only; leave it out and the randomness is the
        operating system's.
        """
        return randomise(self, self._check_values(values), rng)

    def parse(self, data: bytes, count: int | None = 1) -> Reports:
        """Turn untrusted bytes into exactly ``count`` reports, or raise InvalidReport.

        This is the one door for reports of others.
        With None any number of them may come, but at least one.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InvalidReport(
                f"expected bytes, got {type(data).__name__}; pass what came over the wire as it is",
                value=type(data),
            )
        size, came = self.report_dtype.itemsize, memoryview(data).nbytes
        if count is None:
            fits, wanted = came > 0 and came % size == 0, f"a positive multiple of {size} bytes"
        else:
            wanted_size = size * check_whole("count", count, 0, 1 << 62)
            fits, wanted = came == wanted_size, f"{wanted_size} bytes, {count} x {size}"
        if not fits:
            several = ", or count=None for several" if count == 1 and not came % size else ""
            raise InvalidReport(
                f"expected {wanted}, for {self.name} reports, got {came} bytes; check that the "
                f"sender answers the same question{several}",
                value=came,
            )
        reports = np.frombuffer(bytes(data), dtype=self.report_dtype)
        self._validate(reports)
        return reports

    def _check_reports(self, reports: object) -> Reports:
        checked = check_reports(reports, self.report_dtype, self.name)
        self._validate(checked)
        return checked

    def arguments(self) -> dict[str, object]:
        """Return what the constructor takes to make this again: the fields of the dataclass."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def specification(self) -> dict[str, object]:
        """Return everything another implementation needs to make and read the same reports."""
        return {"name": self.name, **self.arguments(), **self._details()}

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the constructor's arguments, not what was computed from them."""
        return type(self), tuple(self.arguments().values())


class Coded(Mechanism):
    """A mechanism whose reports are integers: those below ``codes``, and no others."""

    @property
    @abstractmethod
    def codes(self) -> int:
        """How many different reports there are."""

    @cached_property
    def report_dtype(self) -> np.dtype[np.generic]:
        return smallest_unsigned(self.codes - 1)

    def _validate(self, reports: Reports) -> None:
        check_below("report codes", int(reports.max(initial=0)), self.codes)


def batches(reports: Reports | Iterable[Reports]) -> Iterable[Reports]:
    """Return reports as arrays: the one that was given, or those of an iterable."""
    if isinstance(reports, np.ndarray):
        return [reports]
    if isinstance(reports, bytes | bytearray | memoryview | str):
        raise InvalidReport.expected(
            "arrays of reports", type(reports), "pass bytes through parse first"
        )
    if not isinstance(reports, Iterable):
        raise InvalidReport.expected(
            "an array of reports or an iterable of arrays", reports, "privatize and parse make them"
        )
    return reports
