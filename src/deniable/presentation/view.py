"""What is shown of a result: its rows, the sentences around them, and where they come from.

A result makes a ``View`` of itself, in which bounds, order, significance and rounding are decided.
Text, HTML and figures only render it: they choose widths and colours, and compute nothing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Self

import numpy as np
import numpy.typing as npt

from deniable import presentation
from deniable.errors import brief
from deniable.version import __version__

_DIGEST_SHOWN = 16
NOT_KNOWN = "not known"


class Shown:
    """What a session shows as it is printed, in words, and not with its fields."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False)
class Figure(Shown):
    """A number that was estimated, with its interval."""

    value: float
    lower: float
    upper: float
    unit: str = ""

    def __str__(self) -> str:
        value, spread = self.cells
        return f"{value} ({spread})"

    @property
    def row(self) -> dict[str, float]:
        return {"value": self.value, "lower": self.lower, "upper": self.upper}

    @property
    def reach(self) -> float:
        """Half of the interval."""
        return (self.upper - self.lower) / 2

    def within(self, low: float, high: float) -> Figure:
        """Return what is possible of it, where it must be between two ends."""
        value = min(max(self.value, low), high)
        lower, upper = min(self.lower, high - self.reach), max(self.upper, low + self.reach)
        return Figure(value, max(lower, low), min(upper, high), self.unit)

    @property
    def cells(self) -> tuple[str, str]:
        """The value and its range, with as many digits as the range allows."""
        reach = self.reach
        digits = min(max(1 - math.floor(math.log10(reach)), 0), 9) if reach > 0 else 9
        value, low, high = (
            f"{round(x, digits) + 0.0:,.12g}" for x in (self.value, self.lower, self.upper)
        )
        return f"{value} {self.unit}".strip(), f"{low} to {high}"


@dataclass(frozen=True, repr=False)
class Row(Shown, ABC):
    """One row: what it is about, a value with its interval, and whether that is significant."""

    label: str
    lower: float | None
    upper: float | None
    significant: bool | None
    truth: float | None = field(default=None, kw_only=True)
    """The true value, where a simulation knows it."""

    @classmethod
    def over(
        cls,
        keys: Iterable[object],
        columns: Iterable[npt.NDArray[np.generic] | None],
        truth: npt.ArrayLike | None = None,
    ) -> tuple[Self, ...]:
        """Return one row for each key, with its cell of each column and, if known, its truth."""
        names = list(map(str, keys))
        rows = zip(names, *(plain(column, len(names)) for column in columns), strict=True)
        if truth is None:
            return tuple(cls(*row) for row in rows)
        true = np.asarray(truth, dtype=np.float64).tolist()
        return tuple(cls(*row, truth=known) for row, known in zip(rows, true, strict=True))

    @property
    @abstractmethod
    def value(self) -> float:
        """What the bar of the row shows."""

    @property
    @abstractmethod
    def cells(self) -> tuple[str, ...]:
        """The numbers as people read them, under the headings of the view."""

    @property
    def ends(self) -> tuple[float, float]:
        """The interval as it is drawn: the value alone, where there is none."""
        if self.lower is None or self.upper is None:
            return self.value, self.value
        return self.lower, self.upper

    def __str__(self) -> str:
        """Return the row in words: "kiwi: 493 people, 49.30 % (460 to 527), significant"."""
        spread = f"interval {NOT_KNOWN}" if self.lower is None else self.spread
        sure = "" if self.significant is None else f", {self.verdict}"
        return f"{presentation.text.one_line(self.label)}: {self.said} ({spread}){sure}"

    @property
    @abstractmethod
    def said(self) -> str:
        """The numbers in words, without the interval."""

    @property
    @abstractmethod
    def spread(self) -> str:
        """The interval as people read it."""

    @property
    def verdict(self) -> str:
        if self.significant is None:
            return NOT_KNOWN
        return "significant" if self.significant else "not significant"


@dataclass(frozen=True, repr=False)
class Answer(Row):
    """One answer: how many people gave it, as far as the reports can tell.

    The interval is that of the unbiased count, even where ``count`` is an adjusted one.
    """

    count: float
    share: float
    std_error: float | None

    @property
    def value(self) -> float:
        return self.count

    @property
    def cells(self) -> tuple[str, ...]:
        """The count, its share of all people and the interval, after the true count if known."""
        true = () if self.truth is None else (f"{self.truth:,.0f}",)
        mark = " †" if self.outside else ""
        return (*true, f"{self.count:z,.0f}{mark}", f"{100 * self.share:z.2f} %", self.spread)

    @property
    def said(self) -> str:
        some = f"{self.count:z,.0f} {'person' if round(self.count) == 1 else 'people'}"
        return f"{some}, {100 * self.share:z.2f} %"

    @property
    def spread(self) -> str:
        lower, upper = self.ends
        return NOT_KNOWN if self.lower is None else f"{lower:z,.0f} to {upper:z,.0f}"

    @property
    def outside(self) -> bool:
        """Whether an adjustment has moved the count out of the interval of the unbiased one."""
        lower, upper = self.ends
        return not lower <= self.count <= upper


@dataclass(frozen=True, repr=False)
class Change(Row):
    """How the share of one answer changed; the interval is that of the difference."""

    first: float
    second: float

    @property
    def difference(self) -> float:
        """The second share less the first."""
        return self.second - self.first

    @property
    def value(self) -> float:
        return self.difference

    @property
    def cells(self) -> tuple[str, ...]:
        """Both shares, the change in percentage points, and its interval."""
        return (
            f"{100 * self.first:z.2f} %",
            f"{100 * self.second:z.2f} %",
            _points(self.difference),
            self.spread,
        )

    @property
    def said(self) -> str:
        first, second, by, _ = self.cells
        return f"{first}, then {second}: changed by {by} points"

    @property
    def spread(self) -> str:
        return NOT_KNOWN if self.lower is None else " to ".join(map(_points, self.ends))


def _points(share: float) -> str:
    text = f"{100 * share:z.2f}"
    return text if text.startswith("-") or not float(text) else f"+{text}"


@dataclass(frozen=True)
class Scale:
    """The scale of the bars, left <= 0 < right, and the threshold of significance, if any."""

    left: float
    right: float
    limit: float | None = None

    @staticmethod
    def over(rows: Iterable[Row], limit: float | None = None, *, signed: bool = False) -> Scale:
        """Return the scale with room for all bars, intervals and true values, and for the limit."""
        ends = [0.0, 0.0 if limit is None else limit]
        for row in rows:
            ends += [*row.ends, row.value, 0.0 if row.truth is None else row.truth]
        left, right = min(ends), max(ends)
        if signed:
            left, right = min(left, -right), max(right, -left)
        # Rows without any extent get the scale of one person.
        return Scale(left, right if right > 0 else max(1.0, -left), limit)

    def places(self, *values: float) -> list[float]:
        """Return where values stand between left (0) and right (1)."""
        extent = self.right - self.left
        return [min(max((x - self.left) / extent, 0.0), 1.0) for x in values]


@dataclass(frozen=True)
class Words:
    """What a view calls the parts of its chart."""

    value: str
    interval: str
    axis: str
    truth: str
    limit: str | None = None
    bare: str = "value of what may be none"
    """Values without an interval, in a result where others have one."""


@dataclass(frozen=True)
class View:
    """Rows, the headings of their cells, the scale of their bars, and the sentences about them."""

    rows: tuple[Row, ...]
    headings: tuple[str, ...]
    scale: Scale
    words: Words
    name: str | None
    headline: str
    source: str | None
    notes: tuple[str, ...]
    n: int
    reports: int
    provenance: dict[str, object] | None
    doubts: tuple[str, ...] = ()
    """Why the interval and the significance of some rows seem to disagree."""
    unknown: str | None = None
    """Why no row has an interval or a verdict, where that is so."""
    signed: bool = False
    """Whether bars go both ways from zero, because they show changes and not counts."""

    @property
    def heading(self) -> str:
        """The headline, after the name of the question if there is one."""
        return self.headline if self.name is None else f"{self.name}: {self.headline}"

    @property
    def true(self) -> bool:
        """Whether the truth is known."""
        return any(row.truth is not None for row in self.rows)


@dataclass(frozen=True)
class Provenance:
    """Where estimates come from: the protocol, the question if there is one, and the version."""

    protocol: str
    epsilon: float
    question: str | None = None
    digest: str | None = None
    version: str = __version__
    substance: str | None = None
    """The digest of the question without its name: questions that share it ask the same thing."""

    def facts(self, n: int) -> dict[str, object]:
        """Return the provenance of estimates about ``n`` people, by the names of the exports."""
        return {
            "question": self.question,
            "digest": self.digest,
            "protocol": self.protocol,
            "epsilon": self.epsilon,
            "n": n,
            "version": self.version,
        }

    @property
    def line(self) -> str:
        """All of it in one line, with the first digits of the digest."""
        question = "" if self.digest is None else f"question {self.digest[:_DIGEST_SHOWN]}, "
        return f"{self.protocol} at epsilon = {self.epsilon:.6g}, {question}deniable {self.version}"

    @property
    def asked(self) -> Provenance:
        """What was asked, without what may differ between estimates that can be compared."""
        if self.substance is None:
            return replace(self, version="")
        return replace(self, question=None, digest=None, version="")

    @property
    def origin(self) -> str:
        """What was asked, as an error names it."""
        asked = f"{brief(self.question)} ({self.digest}), " if self.digest else ""
        return f"those of {asked}{self.protocol} at epsilon = {self.epsilon:.6g}"


@dataclass(frozen=True)
class Repeats:
    """Reports of people who may have answered again, and the number of people assumed.

    With ``rounds`` that is the number in an average round, which errs on the safe side however
    often each person answered, if never twice in one. Otherwise the number was given.
    """

    reports: int
    people: int
    rounds: int | None = None
    unit: str = "round"

    @staticmethod
    def over(rounds: int, reports: int) -> Repeats:
        """Assume as many people as an average round has reports, rounded down.

        >>> print(Repeats.over(30, 30_007))
        1,000 people over 30 rounds
        """
        return Repeats(reports, max(1, reports // rounds), rounds)

    def __str__(self) -> str:
        people = f"{self.people:,} {'person' if self.people == 1 else 'people'}"
        return people if self.rounds is None else f"{people} over {counted(self.rounds, self.unit)}"

    @property
    def sentence(self) -> str:
        """What errors and intervals rest on."""
        if self.people == self.reports:
            return f"errors: by the law of {self}, one report each"
        return (
            f"errors: by the law of {self}, who sent {counted(self.reports, 'report')}; those of "
            "one person are not independent"
        )


def plain(column: Sequence[object] | npt.NDArray[np.generic] | None, size: int) -> list[object]:
    """Return a column as plain objects, whose text is exact; what is not known is None."""
    if column is None:
        return [None] * size
    if not isinstance(column, np.ndarray):
        return list(column)
    if column.dtype.kind == "f" and np.isnan(column).any():
        return [None if math.isnan(value) else value for value in column.tolist()]
    return list(column.tolist())


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    >>> counted(1, "report"), counted(2000, "report")
    ('1 report', '2,000 reports')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share in percent, with the digits it was given; only 1 itself is 100 %.

    >>> percent(0.95), percent(0.999), percent(0.999999999999999)
    ('95 %', '99.9 %', '99.9999999999999 %')
    """
    shown = f"{100 * share:.10g}"
    if shown == "100":
        shown = f"{(100 * Decimal(repr(float(share)))).normalize():f}"
    return f"{shown} %"
