"""Charts: the parts of a result that are pictures of shares, and what estimates make of them.

A chart of rows is a table: each row has its numbers beside its picture, which is hidden from screen
readers. Pictures are SVG with geometry in attributes and colours by class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, NamedTuple, Protocol

from deniable.presentation.parts import (
    Beside,
    Fact,
    Facts,
    Listing,
    Part,
    Sentences,
    Table,
    label_html,
    summary,
)
from deniable.presentation.text import columns_of, fit_labels, one_line, wrapped
from deniable.presentation.trend import Trend, trend_svg
from deniable.presentation.verdict import Judged, Verdict, points
from deniable.presentation.view import Answer, Change, Provenance, View, counted, percent

if TYPE_CHECKING:
    import numpy as np

_LABEL_WIDTH = 120
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
_SHADES = 9


class Bar(NamedTuple):
    """One row: a share with its interval, whether it can be told from none, and its change."""

    label: str
    share: float
    lower: float | None = None
    upper: float | None = None
    known: bool | None = True
    change: Change | None = None
    truth: float | None = None

    def cells(self, digits: int = 1) -> tuple[str, str]:
        """Return the share and its range, as people read them."""
        if self.lower is None or self.upper is None or self.known is None:
            return _percent(self.share, digits), "not known"
        low, high = (min(max(end, 0.0), 1.0) for end in (self.lower, self.upper))
        if not self.known:
            return f"under {_percent(max(high, 0.1 ** (digits + 2)), digits)}", "too few to tell"
        fewer = max(0, digits - 1)
        spread = f"{100 * low:.{fewer}f}\u2013{100 * high:.{fewer}f}\u00a0%"
        return _percent(min(max(self.share, 0.0), 1.0), digits), spread

    @property
    def moved(self) -> tuple[str, str]:
        """How the share changed, in words, and a class for the colour of these."""
        if self.change is None:
            return "", "still"
        if not self.change.significant:
            return "no clear change", "still"
        size = f"{100 * abs(self.change.difference):.1f}\u00a0pts"
        return (f"▲ {size}", "up") if self.change.difference > 0 else (f"▼ {size}", "down")


@dataclass(frozen=True)
class Bars(Part):
    """Rows with their shares on one axis: the table is the chart."""

    bars: tuple[Bar, ...] = ()
    heading: str = "Answer"
    against: str = ""
    """The heading of the changes, if there are any."""
    level: float = 0.95
    ceiling: float | None = None
    """Where the axis ends, if it is shared with others."""

    @property
    def top(self) -> float:
        """Where the axis ends: at a round share above all intervals."""
        if self.ceiling is not None:
            return self.ceiling
        ends = [x for bar in self.bars for x in (bar.share, bar.upper, bar.truth) if x is not None]
        most = min(max(ends, default=1.0), 1.0)
        return next(step for step in _STEPS if step >= most)

    @property
    def sure(self) -> str:
        """The heading of the ranges."""
        return f"{percent(self.level)} sure".replace(" %", "\u00a0%")

    def html(self) -> str:
        names = fit_labels([bar.label for bar in self.bars], _LABEL_WIDTH)
        change = f'<th scope="col" role="columnheader" class="number">{escape(self.against)}</th>'
        rows = (self._row(bar, name) for bar, name in zip(self.bars, names, strict=True))
        return (
            '<table class="chart" role="table"><thead role="rowgroup"><tr role="row">'
            f'<th scope="col" role="columnheader">{escape(self.heading)}</th>'
            f'<td class="picture" aria-hidden="true">{_ticks(self.top)}</td>'
            '<th scope="col" role="columnheader" class="number">Share</th>'
            f'<th scope="col" role="columnheader" class="number">{self.sure}</th>'
            f"{change if self.against else ''}</tr></thead>"
            f'<tbody role="rowgroup">{"".join(rows)}</tbody></table>'
        )

    def _row(self, bar: Bar, name: str) -> str:
        share, spread = bar.cells(_digits(self.bars))
        said, kind = bar.moved
        change = f'<td role="cell" class="number {kind}">{escape(said)}</td>'
        weak = ' class="weak"' if bar.known is False else ""
        return (
            f'<tr role="row"{weak}><th scope="row" role="rowheader">{label_html(name)}</th>'
            f'<td class="picture" aria-hidden="true">{_bar_svg(bar, self.top)}</td>'
            f'<td role="cell" class="number share">{share}</td>'
            f'<td role="cell" class="number range">{spread}</td>'
            f"{change if self.against else ''}</tr>"
        )

    def lines(self, width: int) -> list[str]:
        digits = _digits(self.bars)
        cells = [(*bar.cells(digits), bar.moved[0]) for bar in self.bars]
        names = fit_labels([bar.label for bar in self.bars], max(8, width - 42))
        widest = max(map(columns_of, names), default=0)
        return [
            f"{name}{' ' * (widest - columns_of(name))}  {part:>12}  {spread:>15}  {moved}".rstrip()
            for name, (part, spread, moved) in zip(names, cells, strict=True)
        ]


@dataclass(frozen=True)
class Curves(Part):
    """Shares from day to day: a small picture for each row, all on one scale."""

    trend: Trend = field(default_factory=lambda: Trend(()))

    def html(self) -> str:
        names = fit_labels([series.label for series in self.trend.series], _LABEL_WIDTH)
        figures = (
            f"<figure><figcaption>{label_html(name)}"
            f"<span>{_percent(max(series.points[-1].share, 0.0), 1)} "
            f"<small>{escape(series.points[-1].date)}</small></span></figcaption>"
            f"{trend_svg(self.trend, series, f'{self.name}-{place}')}</figure>"
            for place, (name, series) in enumerate(zip(names, self.trend.series, strict=True))
        )
        return f'<div class="curves">{"".join(figures)}</div>{self._numbers(names)}'

    def _numbers(self, names: Sequence[str]) -> str:
        """Return the same as a table, folded: a row for each day."""
        series = self.trend.series
        days = sorted({point.day for each in series for point in each.points})
        cells = [{point.day: f"{point.cells[1]}" for point in each.points} for each in series]
        rows = tuple((day, *(found.get(day, "too few") for found in cells)) for day in days)
        table = Table(f"{self.name}-days", headings=("Day", *names), rows=rows)
        return (
            f'<details id="{self.name}-numbers"><summary>Numbers, day by day</summary>'
            f'<div class="scroll" tabindex="0" role="region" aria-label="Numbers, day by day">'
            f"{table.html()}</div></details>"
        )

    def lines(self, width: int) -> list[str]:
        return [
            line
            for series in self.trend.series
            for line in wrapped(f"{one_line(series.label)}: {series.sentence}", width)
        ]


class Panel(NamedTuple):
    """One of several groups: its name, a few words about it, and its bars if there are any."""

    name: str
    said: str
    bars: tuple[Bar, ...] = ()


@dataclass(frozen=True)
class Multiples(Part):
    """The same rows for several groups, side by side on one scale."""

    panels: tuple[Panel, ...] = ()
    heading: str = "Answer"

    def _charts(self) -> list[Bars]:
        every = Bars("", bars=tuple(bar for panel in self.panels for bar in panel.bars))
        return [
            Bars("", heading=self.heading, bars=panel.bars, ceiling=every.top)
            for panel in self.panels
        ]

    def html(self) -> str:
        found = (
            f'<section class="multiple"><h3>{label_html(panel.name)}</h3>'
            f'<p class="small quiet">{escape(panel.said)}</p>'
            f"{chart.html() if panel.bars else ''}</section>"
            for panel, chart in zip(self.panels, self._charts(), strict=True)
        )
        return f'<div class="multiples">{"".join(found)}</div>'

    def lines(self, width: int) -> list[str]:
        return [
            line
            for panel, chart in zip(self.panels, self._charts(), strict=True)
            for line in (f"{one_line(panel.name)}: {panel.said}", *chart.lines(width))
        ]


@dataclass(frozen=True)
class Grid(Part):
    """A share for each pair of a row and a column: the darker a cell, the larger its share."""

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    cells: tuple[tuple[Bar, ...], ...] = ()
    """One row after the other; labels are not shown."""

    def html(self) -> str:
        heads = "".join(
            f'<th scope="col" class="number">{label_html(c)}</th>' for c in self.columns
        )
        most = max((cell.share for row in self.cells for cell in row), default=0.0) or 1.0
        body = "".join(
            f'<tr><th scope="row">{label_html(name)}</th>'
            + "".join(self._cell(cell, most) for cell in row)
            + "</tr>"
            for name, row in zip(self.rows, self.cells, strict=True)
        )
        return (
            '<table class="plain grid"><thead><tr><td></td>'
            f"{heads}</tr></thead><tbody>{body}</tbody></table>"
        )

    @staticmethod
    def _cell(cell: Bar, most: float) -> str:
        share, spread = cell.cells()
        shade = round(_SHADES * min(max(cell.share / most, 0.0), 1.0)) if cell.known else 0
        return f'<td class="number shade-{shade}">{share}<small>{spread}</small></td>'

    def lines(self, width: int) -> list[str]:
        rows = tuple(
            (name, *(cell.cells()[0] for cell in row))
            for name, row in zip(self.rows, self.cells, strict=True)
        )
        return Table(self.name, headings=("", *self.columns), rows=rows).lines(width)


class Counted(Judged, Protocol):
    """What charts need of estimates."""

    @property
    def total(self) -> int: ...
    @property
    def provenance(self) -> Provenance | None: ...
    def top(self, k: int | None = ...) -> Counted: ...
    def rows(self, *, level: float = ..., alpha: float = ...) -> tuple[Answer, ...]: ...
    def view(self, *, level: float = ..., alpha: float = ...) -> View: ...
    def verdict(self, changes: Sequence[Change] = ..., *, since: str = ...) -> Verdict: ...


def parts_of(found: Counted, beside: Beside) -> tuple[Part, ...]:
    """Return the verdict, the margin and the privacy, the shares as bars, and all numbers."""
    shown, limits = found.top(beside.rows), {"level": beside.level, "alpha": beside.alpha}
    bars = tuple(_bar(row, found.n, beside) for row in shown.rows(**limits))
    facts = [_margin(found, beside.level)]
    if found.provenance is not None:
        facts.append(privacy_fact(beside.epsilon or found.provenance.epsilon))
    some = "" if len(bars) == found.total else f"the largest {len(bars):,} of {found.total:,} · "
    marks = " · upright mark: the truth, which a real server never knows" if beside.truth else ""
    how = f"bar: estimate · band on it: where the truth is, {percent(beside.level)} sure"
    return (
        Sentences.of(found.verdict(tuple(beside.changes.values()), since=beside.since)),
        Facts("facts", facts=(*facts, *beside.facts)),
        Bars(
            "shares",
            "Share of people",
            note=f"{some}{how}{marks}",
            bars=bars,
            against=beside.against,
            level=beside.level,
        ),
        Listing("numbers", "All numbers", view=shown.view(**limits), pictures=False, folded=True),
    )


def bars_of(found: Counted, rows: int) -> tuple[Bar, ...]:
    """Return the largest answers as bars."""
    return tuple(_bar(row, found.n, Beside()) for row in found.top(rows).rows())


def _bar(row: Answer, n: int, beside: Beside) -> Bar:
    lower, upper = (None if end is None else end / n for end in (row.lower, row.upper))
    return Bar(
        row.label,
        row.share,
        lower,
        upper,
        row.significant,
        beside.changes.get(row.label),
        beside.truth.get(row.label),
    )


def _margin(found: Counted, level: float) -> Fact:
    """Return the margin of error of shares: the typical half of their intervals."""
    ends = found.interval(level)
    halves = [] if ends is None else ((ends[1] - ends[0]) / 2 / found.n).tolist()
    known = [half for half in halves if not math.isnan(half)]
    if not known:
        return Fact("Margin of error", "not known", "the protocol's errors have no closed form")
    typical = math.sqrt(math.fsum(half * half for half in known) / len(known))
    return Fact("Margin of error", f"±\u00a0{points(typical)}", f"{percent(level)} sure")


def privacy_word(epsilon: float) -> str:
    """Return how strong the privacy of one answer is, in a word; docs/choosing.md has the scale.

    >>> privacy_word(1.0), privacy_word(2.5), privacy_word(4.0), privacy_word(8.0)
    ('Strong', 'Medium', 'Weak', 'Very weak')
    """
    limits = ((1.0, "Strong"), (3.0, "Medium"), (5.0, "Weak"))
    return next((word for limit, word in limits if epsilon <= limit), "Very weak")


class Hiding(Protocol):
    """What a notebook shows of the protocol of a question."""

    @property
    def name(self) -> str: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def report_dtype(self) -> np.dtype[np.generic]: ...


def question_html(name: str, labels: Sequence[str] | None, protocol: Hiding, digest: str) -> str:
    """Return what a notebook shows of a question."""
    many, some = "any text", ""
    if labels is not None:
        many, some = f"{len(labels):,}", ", ".join(one_line(label, 30) for label in labels[:6])
    facts = (
        Fact("Answers", many, some + (", …" if labels and len(labels) > 6 else "")),
        privacy_fact(protocol.epsilon),
        Fact("One report", counted(protocol.report_dtype.itemsize, "byte"), protocol.name),
    )
    return summary(name, facts, f"Digest {digest}")


def privacy_fact(epsilon: float) -> Fact:
    """Return what one report reveals at most: a word, epsilon, and what an even guess becomes."""
    guess = 1 / (1 + math.exp(-min(epsilon, 700.0)))
    below = f"below {math.ceil(100 * guess)}\u00a0%" if guess < 0.99 else "at nearly 100\u00a0%"
    note = f"ε = {epsilon:.3g}: a 50:50 guess about an answer ends {below}"
    return Fact("Privacy of each answer", privacy_word(epsilon), note)


def _digits(bars: Sequence[Bar]) -> int:
    """Return how many digits the shares of a chart have, by their typical margin of error."""
    halves = sorted(
        (b.upper - b.lower) / 2 for b in bars if b.lower is not None and b.upper is not None
    )
    typical = halves[len(halves) // 2] if halves else 0.01
    return 1 if typical >= 0.001 else 2


def _percent(share: float, digits: int) -> str:
    return f"{100 * share:z.{digits}f}\u00a0%"


def _ticks(top: float) -> str:
    """Return the axis: three ticks above the bars."""
    ends = ((0.5, "middle"), (1.0, "end"))
    marks = ((0.0, "start", "0"), *((x, at, f"{100 * top * x:g}\u00a0%") for x, at in ends))
    texts = (
        f'<text x="{100 * x:g}%" y="12" text-anchor="{anchor}">{said}</text>'
        for x, anchor, said in marks
    )
    return f'<svg class="ticks" focusable="false">{"".join(texts)}</svg>'


def _bar_svg(bar: Bar, top: float) -> str:
    """Return the bar of a share with its interval; one that is too rare has its range alone."""
    places = [100 * min(max(x or 0.0, 0.0) / top, 1.0) for x in (bar.share, bar.lower, bar.upper)]
    share, low, high = places
    parts = ['<line class="axis" x1="50%" x2="50%" y1="0" y2="24"/>']
    if bar.known is not False:
        parts.append(f'<rect class="bar" x="0" y="6" width="{share:.2f}%" height="12"/>')
    if bar.lower is not None and bar.upper is not None:
        wide = max(high - low, 0.4)
        parts.append(
            f'<rect class="interval" x="{low:.2f}%" y="9" width="{wide:.2f}%" height="6"/>'
        )
    if bar.truth is not None:
        at = 100 * min(max(bar.truth, 0.0) / top, 1.0)
        parts.append(f'<rect class="truth" x="{at:.2f}%" y="2" width="3" height="20"/>')
    return f'<svg class="bars" focusable="false">{"".join(parts)}</svg>'
