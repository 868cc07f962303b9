"""Charts: the parts of a result that are pictures of shares, and what estimates make of them.

A chart of rows is a table: each row has its numbers beside its picture, which is hidden from screen
readers. Pictures are SVG with geometry in attributes and colours by class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, NamedTuple, Protocol

from deniable.presentation import parts
from deniable.presentation.text import columns_of, fit_labels, one_line, printable, wrapped
from deniable.presentation.trend import Trend, short_date, trend_svg
from deniable.presentation.verdict import Judged, Verdict, points
from deniable.presentation.view import Answer, Change, Provenance, View, percent

_LABEL_WIDTH = 120
_STEPS = [x / 100 for x in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30, 40, 50, 60, 80, 100)]
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

    def cells(self, digits: int = 1, fewer: int = 0) -> tuple[str, str]:
        """Return the share and its range as text, with this many digits each."""
        if self.lower is None or self.upper is None or self.known is None:
            return _percent(self.share, digits), "not known"
        low, high = (min(max(end, 0.0), 1.0) for end in (self.lower, self.upper))
        if not self.known:
            under = f"under {_percent(max(high, 0.1 ** (digits + 2)), digits)}"
            return "up to 100\u00a0%" if high > 0.9995 else under, "too few to tell"
        spread = f"{100 * low:.{fewer}f}\u2013{100 * high:.{fewer}f}\u00a0%"
        return _percent(min(max(self.share, 0.0), 1.0), digits), spread

    @property
    def moved(self) -> tuple[str, str]:
        """How the share changed, in words, and a class for the colour of these."""
        return ("", "still") if self.change is None else parts.moved(self.change)


@dataclass(frozen=True)
class Bars(parts.Part):
    """Rows with their shares on one axis: the table is the chart."""

    bars: tuple[Bar, ...] = ()
    heading: str = "Answer"
    against: str = ""
    """The heading of the changes, if there are any."""
    level: float = 0.95
    ceiling: float | None = None
    """Where the axis ends, if it is shared with others."""

    @cached_property
    def top(self) -> float:
        """Where the axis ends: at a round share above all intervals."""
        if self.ceiling is not None:
            return self.ceiling
        ends = [x for bar in self.bars for x in (bar.share, bar.upper, bar.truth) if x is not None]
        most = min(max(ends, default=1.0), 1.0)
        return next(step for step in _STEPS if step >= most)

    @cached_property
    def _digits(self) -> tuple[int, int]:
        """How many digits shares and ranges have, by the typical margin of error."""
        halves = sorted(
            (bar.upper - bar.lower) / 2
            for bar in self.bars
            if bar.lower is not None and bar.upper is not None
        )
        typical = halves[len(halves) // 2] if halves else 0.01
        steps = ((0.1, (0, 0)), (0.006, (1, 0)), (0.001, (1, 1)))
        return next((digits for least, digits in steps if typical >= least), (2, 2))

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
        share, spread = bar.cells(*self._digits)
        said, kind = bar.moved
        change = f'<td role="cell" class="number {kind}">{escape(said)}</td>'
        weak = ' class="weak"' if bar.known is False else ""
        return (
            f'<tr role="row"{weak}><th scope="row" role="rowheader">{parts.label_html(name)}</th>'
            f'<td class="picture" aria-hidden="true">{_bar_svg(bar, self.top)}</td>'
            f'<td role="cell" class="number share">{share}</td>'
            f'<td role="cell" class="number range">{spread}</td>'
            f"{change if self.against else ''}</tr>"
        )

    def lines(self, width: int) -> list[str]:
        cells = [(*bar.cells(*self._digits), bar.moved[0]) for bar in self.bars]
        names = fit_labels([bar.label for bar in self.bars], max(8, width - 42))
        widest = max(map(columns_of, names), default=0)
        return [
            f"{name}{' ' * (widest - columns_of(name))}  {part:>12}  {spread:>15}  {moved}".rstrip()
            for name, (part, spread, moved) in zip(names, cells, strict=True)
        ]


@dataclass(frozen=True)
class Curves(parts.Part):
    """Shares or figures from day to day: a small picture for each, those of a kind on one scale."""

    trend: Trend = field(default_factory=lambda: Trend(()))

    def html(self) -> str:
        names = fit_labels([series.label for series in self.trend.series], _LABEL_WIDTH)
        figures = (
            f"<figure><figcaption>{parts.label_html(name)}"
            f"<span>{escape(series.last.reading.brief)} "
            f"<small>{short_date(series.last.day)}</small></span></figcaption>"
            f"{trend_svg(self.trend, series, f'{self.name}-{place}')}</figure>"
            for place, (name, series) in enumerate(zip(names, self.trend.series, strict=True))
        )
        return f'<div class="curves">{"".join(figures)}</div>{self._numbers(names)}'

    def _numbers(self, names: Sequence[str]) -> str:
        """Return the same as a table, folded: a row for each day or round."""
        series, heading = self.trend.series, self.trend.unit.capitalize()
        days = {each.day: each.day if each.round is None else f"{each.round}, from {each.day}"
                for each in self.trend.periods}  # fmt: skip
        cells = [{point.day: point.reading.said for point in each.points} for each in series]
        rows = tuple(
            (said, *(found.get(day, "too few") for found in cells)) for day, said in days.items()
        )
        table = parts.Table(f"{self.name}-days", headings=(heading, *names), rows=rows)
        said = f"Numbers, {escape(self.title).lower()}"
        return (
            f'<details id="{self.name}-numbers"><summary>{said}</summary>'
            f'<div class="scroll" tabindex="0" role="region" aria-label="{said}">'
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
class Multiples(parts.Part):
    """The same rows for several groups, side by side on one scale."""

    panels: tuple[Panel, ...] = ()
    heading: str = "Answer"
    every: Grid | None = None
    """All rows of all groups, where the panels have some of them; shown when somebody opens it."""

    def _charts(self) -> list[Bars]:
        every = Bars("", bars=tuple(bar for panel in self.panels for bar in panel.bars))
        return [
            Bars("", heading=self.heading, bars=panel.bars, ceiling=every.top)
            for panel in self.panels
        ]

    def html(self) -> str:
        found = (
            f'<section class="multiple"><h3>{parts.label_html(panel.name)}</h3>'
            f'<p class="small quiet">{escape(panel.said)}</p>'
            f"{chart.html() if panel.bars else ''}</section>"
            for panel, chart in zip(self.panels, self._charts(), strict=True)
        )
        return f'<div class="multiples">{"".join(found)}</div>{self._every()}'

    def _every(self) -> str:
        if self.every is None:
            return ""
        name, title = self.every.name, escape(self.every.title)
        return f'<details id="{name}"><summary>{title}</summary>{self.every.html()}</details>'

    def lines(self, width: int) -> list[str]:
        found = [
            line
            for panel, chart in zip(self.panels, self._charts(), strict=True)
            for line in (f"{one_line(panel.name)}: {panel.said}", *chart.lines(width))
        ]
        return found if self.every is None else [*found, *self.every.lines(width)]


@dataclass(frozen=True)
class Grid(parts.Part):
    """A share for each pair of a row and a column: the darker a cell, the larger its share.

    Its interval is the title of a cell, or stands below the share; with titles alone a table of all
    numbers should stand beside it. On a narrow screen each row is a block of its cells.
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    cells: tuple[tuple[Bar, ...], ...] = ()
    """One row after the other; labels are not shown."""
    ranges: bool = False
    """Whether the intervals are shown below the shares."""

    def html(self) -> str:
        names, columns = (fit_labels(some, _LABEL_WIDTH) for some in (self.rows, self.columns))
        heads = "".join(
            f'<th scope="col" role="columnheader" class="number">{parts.label_html(c)}</th>'
            for c in columns
        )
        most = max((cell.share for row in self.cells for cell in row), default=0.0) or 1.0
        body = "".join(
            f'<tr role="row"><th scope="row" role="rowheader">{parts.label_html(name)}</th>'
            + "".join(self._cell(cell, most, head) for cell, head in zip(row, columns, strict=True))
            + "</tr>"
            for name, row in zip(names, self.cells, strict=True)
        )
        return (
            '<div class="scroll" tabindex="0" role="region" '
            f'aria-label="{escape(self.title)}, table">'
            '<table class="plain grid" role="table"><thead role="rowgroup"><tr role="row">'
            f'<td role="cell"></td>{heads}</tr></thead>'
            f'<tbody role="rowgroup">{body}</tbody></table></div>'
        )

    def _cell(self, cell: Bar, most: float, head: str) -> str:
        share, spread = cell.cells()
        shade = round(_SHADES * min(max(cell.share / most, 0.0), 1.0)) if cell.known else 0
        shown = f"<span>{share}<small>{spread}</small></span>" if self.ranges else share
        return (
            f'<td role="cell" class="number shade-{shade}" title="{spread}" '
            f'data-head="{escape(printable(head))}">{shown}</td>'
        )

    def lines(self, width: int) -> list[str]:
        rows = tuple(
            (name, *(cell.cells()[0].replace("\u00a0", " ") for cell in row))
            for name, row in zip(self.rows, self.cells, strict=True)
        )
        return parts.Table(self.name, headings=("", *self.columns), rows=rows).lines(width)


class Counted(Judged, Protocol):
    """What charts need of estimates."""

    @property
    def total(self) -> int: ...
    @property
    def provenance(self) -> Provenance | None: ...
    def top(self, k: int | None = ...) -> Counted: ...
    def brief(self, rows: int, like: Any = None) -> Counted: ...
    def rows(self, *, level: float = ..., alpha: float = ...) -> tuple[Answer, ...]: ...
    def view(self, *, level: float = ..., alpha: float = ...) -> View: ...
    def verdict(self, changes: Sequence[Change] = ..., *, since: str = ...) -> Verdict: ...


def parts_of(found: Counted, beside: parts.Beside) -> tuple[parts.Part, ...]:
    """Return the verdict, the margin and the privacy, the shares as bars, and all numbers."""
    how = f"bar: estimate · band on it: where the truth is, {percent(beside.level)} sure"
    return (
        parts.Sentences.of(found.verdict(tuple(beside.changes.values()), since=beside.since)),
        facts_of(found, beside),
        chart_of(found, beside, note=how),
        listing_of(found, beside),
    )


def facts_of(found: Counted, beside: parts.Beside, *more: parts.Fact) -> parts.Facts:
    """Return some facts, else the margin of error, the privacy, and what is known beside."""
    facts = [*(more or (_margin(found, beside.level),))]
    if found.provenance is not None:
        facts.append(parts.privacy_fact(beside.epsilon or found.provenance.epsilon))
    return parts.Facts("facts", facts=(*facts, *beside.facts))


def chart_of(
    found: Counted, beside: parts.Beside, name: str = "shares", title: str = "Share of people",
    note: str = "",
) -> Bars:  # fmt: skip
    """Return the largest rows as bars."""
    rows = found.top(beside.rows).rows(level=beside.level, alpha=beside.alpha)
    bars = tuple(bar_of(row, found.n, beside) for row in rows)
    some = f"the largest {len(bars):,} of {found.total:,}" if len(bars) < found.total else ""
    marks = "upright mark: the truth, which a real server never knows" if beside.truth else ""
    said = " · ".join(filter(None, (some, note, marks)))
    return Bars(name, title, note=said, bars=bars, against=beside.against, level=beside.level)


def listing_of(
    found: Counted, beside: parts.Beside, name: str = "numbers", title: str = "All numbers"
) -> parts.Listing:
    """Return all numbers of the largest rows, folded."""
    view = found.top(beside.rows).view(level=beside.level, alpha=beside.alpha)
    return parts.Listing(name, title, view=view, pictures=False, folded=True)


def bars_of(found: Counted, rows: int, like: Counted | None = None) -> tuple[Bar, ...]:
    """Return the largest rows, or the rows that are the largest of others, in their order."""
    return tuple(bar_of(row, found.n, parts.Beside()) for row in found.brief(rows, like).rows())


def bar_of(row: Answer, n: int, beside: parts.Beside) -> Bar:
    lower, upper = (None if end is None else end / n for end in (row.lower, row.upper))
    change, truth = beside.changes.get(row.label), beside.truth.get(row.label)
    return Bar(row.label, row.share, lower, upper, row.significant, change, truth)


def _margin(found: Counted, level: float) -> parts.Fact:
    """Return the margin of error of shares: the typical half of their intervals."""
    ends = found.interval(level)
    halves = [] if ends is None else ((ends[1] - ends[0]) / 2 / found.n).tolist()
    known = [half for half in halves if not math.isnan(half)]
    if not known:
        return parts.Fact(
            "Margin of error", "not known", "the protocol's errors have no closed form"
        )
    typical = math.sqrt(math.fsum(half * half for half in known) / len(known))
    shown = f"±\u00a0{points(typical)}" if typical < 1 else "over ±\u00a0100\u00a0points"
    typical_of = "of a typical share, " if len(known) > 1 else ""
    return parts.Fact("Margin of error", shown, f"{typical_of}{percent(level)} sure")


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
    shapes = ['<line class="axis" x1="50%" x2="50%" y1="0" y2="24"/>']
    if bar.known is not False:
        shapes.append(f'<rect class="bar" x="0" y="6" width="{share:.2f}%" height="12"/>')
    if bar.lower is not None and bar.upper is not None:
        wide = max(high - low, 0.4)
        shapes.append(
            f'<rect class="interval" x="{low:.2f}%" y="9" width="{wide:.2f}%" height="6"/>'
        )
    if bar.truth is not None:
        at = 100 * min(max(bar.truth, 0.0) / top, 1.0)
        shapes.append(f'<rect class="truth" x="{at:.2f}%" y="2" width="3" height="20"/>')
    return f'<svg class="bars" focusable="false">{"".join(shapes)}</svg>'
