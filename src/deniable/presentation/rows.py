"""The one view model: what text, terminal, web page and figure show of estimates.

Bounds, order, significance, rounding and the sentences around the rows are decided here and
nowhere else. A ``View`` is a list of rows with what is said once about all of them; whoever
renders one chooses widths and colours, and never computes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from deniable.estimates import Estimates, Provenance

Column = Sequence[str] | npt.NDArray[np.generic]
_DIGEST_SHOWN = 16


@dataclass(frozen=True)
class Row(ABC):
    """One row: what it is about, a value with its interval, and whether that is significant."""

    label: str
    lower: float
    upper: float
    significant: bool

    @property
    @abstractmethod
    def value(self) -> float:
        """What the bar of the row shows."""

    @property
    @abstractmethod
    def cells(self) -> tuple[str, ...]:
        """The numbers as people read them, under the headings of the view."""

    @property
    def mark(self) -> float | None:
        """What else is marked on the bar: the truth, where a simulation knows it."""
        return None

    @property
    def verdict(self) -> str:
        """The significance in words."""
        return "significant" if self.significant else "not significant"


@dataclass(frozen=True)
class Answer(Row):
    """One answer: how many people gave it, as far as the reports can tell.

    The interval is that of the unbiased count, also where ``count`` is an adjusted one.
    """

    count: float
    share: float
    std_error: float
    truth: float | None = None

    @property
    def value(self) -> float:
        """The count."""
        return self.count

    @property
    def mark(self) -> float | None:
        """The true count."""
        return self.truth

    @property
    def cells(self) -> tuple[str, ...]:
        """The count, its share of all people, and the interval; the true count before them."""
        true = () if self.truth is None else (f"{self.truth:,.0f}",)
        interval = f"{self.lower:z,.0f} to {self.upper:z,.0f}"
        return (*true, f"{self.count:z,.0f}", f"{100 * self.share:z.2f} %", interval)


@dataclass(frozen=True)
class Scale:
    """What bars are measured by: left <= 0 < right, and the limit of significance, if one."""

    left: float
    right: float
    limit: float | None = None

    @staticmethod
    def over(rows: Iterable[Row], limit: float | None = None, *, signed: bool = False) -> Scale:
        """Return the scale that has room for all bars, intervals and marks, and for the limit."""
        ends = [0.0 if limit is None else limit]
        for row in rows:
            ends += [row.lower, row.upper, row.value, 0.0 if row.mark is None else row.mark]
        left, right = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
        if signed:
            left, right = min(left, -right), max(right, -left)
        # Whatever has no extent at all is measured by one person.
        return Scale(left, right if right > 0 else max(1.0, -left), limit)

    def place(self, x: float) -> float:
        """Return where x stands between left (0) and right (1)."""
        return min(max((x - self.left) / (self.right - self.left), 0.0), 1.0)


@dataclass(frozen=True)
class Words:
    """How a view names what its bars show."""

    value: str
    interval: str
    axis: str
    limit: str | None = None
    mark: str = "true count"


@dataclass(frozen=True)
class View:
    """Rows, the headings of their cells, the scale of their bars, and what is said once."""

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
    """Why interval and significance of some rows seem to disagree, for who sees both."""
    signed: bool = False
    """Whether bars go both ways from zero and are no counts."""

    @property
    def heading(self) -> str:
        """The headline with the name of the question, if there is one."""
        return self.headline if self.name is None else f"{self.name}: {self.headline}"

    @property
    def marked(self) -> bool:
        """Whether the rows know the truth."""
        return any(row.mark is not None for row in self.rows)


@dataclass(frozen=True)
class Columns:
    """The rows of estimates as arrays: what exports write in full and rows round."""

    keys: Column
    counts: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]
    std_errors: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    significant: npt.NDArray[np.bool_]

    @staticmethod
    def of(estimates: Estimates, level: float, alpha: float) -> Columns:
        """Compute interval and significance once for all rows."""
        lower, upper = estimates.interval(level)
        return Columns(
            keys(estimates),
            estimates.counts,
            estimates.shares,
            estimates.std_errors,
            lower,
            upper,
            estimates.significant(alpha),
        )

    def rows(self, truth: npt.ArrayLike | None = None) -> tuple[Answer, ...]:
        """Return one object for each row."""
        true = [None] * len(self.counts) if truth is None else np.asarray(truth, float).tolist()
        listed = (
            [str(key) for key in self.keys],
            *(a.tolist() for a in (self.lower, self.upper, self.significant)),
            *(a.tolist() for a in (self.counts, self.shares, self.std_errors)),
            true,
        )
        return tuple(Answer(*fields) for fields in zip(*listed, strict=True))


def keys(estimates: Estimates) -> Column:
    """Return what the rows are about: labels, or values where there are none."""
    if estimates.labels is not None:
        return estimates.labels
    return np.arange(len(estimates)) if estimates.values is None else estimates.values


def view(
    estimates: Estimates, level: float, alpha: float, truth: npt.ArrayLike | None = None
) -> View:
    """Return the view of all rows, in the order they have; ``truth`` has their true counts."""
    rows = Columns.of(estimates, level, alpha).rows(truth)
    adjusted, provenance = estimates.adjusted, estimates.provenance
    of = "" if adjusted is None else " of the unbiased count"
    true = () if truth is None else ("true",)
    words = Words(
        value="unbiased count" if adjusted is None else f"count adjusted by {adjusted}",
        interval=f"{percent(level)} interval{of}",
        axis=f"people who gave the answer (of {estimates.n:,})",
        limit=f"threshold of significance (alpha = {alpha:g})",
    )
    return View(
        rows=rows,
        headings=(*true, "count", "share", f"{percent(level)} interval"),
        scale=Scale.over(rows, estimates.threshold(alpha)),
        words=words,
        name=None if provenance is None else provenance.question,
        headline=f"{of_all(len(rows), estimates.total)}, estimated from {sample(estimates)}",
        source=None if provenance is None else source(provenance),
        notes=_notes(estimates, level, alpha),
        doubts=disagreements(rows, level=level, alpha=alpha, total=estimates.total),
        n=estimates.n,
        reports=estimates.reports,
        provenance=estimates.constants(),
    )


def sample(estimates: Estimates) -> str:
    """Return what estimates are made from: reports, and how many people sent them if not each."""
    of = "" if estimates.repeats is None else f" of {estimates.repeats}"
    return f"{counted(estimates.reports, 'report')}{of}"


def of_all(shown: int, total: int) -> str:
    """Return how many answers there are, and how many of them are shown if not all."""
    return f"{f'{shown:,} of ' if shown != total else ''}{total:,} answers"


def source(provenance: Provenance) -> str:
    """Return where estimates come from, in one line; the digest is cut to its first digits."""
    question = (
        () if provenance.digest is None else (f"question {provenance.digest[:_DIGEST_SHOWN]}",)
    )
    parts = (
        f"{provenance.protocol} at epsilon = {provenance.epsilon:.6g}",
        *question,
        f"deniable {provenance.version}",
    )
    return ", ".join(parts)


def _notes(estimates: Estimates, level: float, alpha: float) -> tuple[str, ...]:
    """Return what a reader has to know about the significance and the intervals."""
    own = "" if estimates.law is not None else " and as far by its own error"
    said: tuple[str, ...] = (
        f"significant: above {estimates.threshold(alpha):,.0f}{own} "
        f"(alpha = {alpha:g}, {estimates.total:,} answers)",
    )
    if estimates.repeats is not None:
        said = (*said, estimates.repeats.sentence)
    if estimates.adjusted is None:
        return said
    return (
        *said,
        f"counts adjusted by {estimates.adjusted}; the {percent(level)} intervals and what is "
        "significant are those of the unbiased counts",
    )


def disagreements(
    rows: Sequence[Row], *, level: float, alpha: float, total: int
) -> tuple[str, ...]:
    """Return why some interval and significance seem to disagree, where any does."""
    beyond = [row.lower > 0 or row.upper < 0 for row in rows]
    told = [row.significant for row in rows]
    said = []
    if any(away and not found for away, found in zip(beyond, told, strict=True)):
        said.append(
            "an interval that leaves out 0 need not be significant: it is about one answer by "
            f"itself, significance about all {total:,} at once"
        )
    if any(found and not away for away, found in zip(beyond, told, strict=True)):
        said.append(
            "a significant answer can have 0 in its interval: the interval leaves "
            f"{percent((1 - level) / 2)} on either side, significance {percent(alpha)} over all "
            "answers"
        )
    return tuple(said)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    >>> counted(1, "report"), counted(2000, "report")
    ('1 report', '2,000 reports')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share in percent, with the digits it was given; only all is 100 %.

    >>> percent(0.95), percent(0.999), percent(0.999999999999999)
    ('95 %', '99.9 %', '99.9999999999999 %')
    """
    shown = f"{100 * share:.10g}"
    if shown == "100":
        shown = f"{(100 * Decimal(repr(float(share)))).normalize():f}"
    return f"{shown} %"
