"""A trend: the shares of a few answers from day to day, with bands for their intervals.

As in ``view``, the content is decided by the trend; the SVG only places it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from html import escape

import numpy as np

from deniable.presentation.tables import Column
from deniable.presentation.view import NOT_KNOWN

WIDTH, HEIGHT = 560, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 10, 22


@dataclass(frozen=True)
class Point:
    """The share of one answer on one day, with its interval and the number of reports."""

    day: str
    n: int
    share: float
    lower: float | None
    upper: float | None

    @property
    def ends(self) -> tuple[float, float]:
        """The interval as it is drawn: the share alone, where there is none."""
        if self.lower is None or self.upper is None:
            return self.share, self.share
        return self.lower, self.upper

    @property
    def cells(self) -> tuple[str, ...]:
        """The numbers as people read them."""
        lower, upper = self.ends
        interval = f"{100 * lower:z.2f} % to {100 * upper:z.2f} %"
        known = NOT_KNOWN if self.lower is None else interval
        return (f"{self.n:,}", f"{100 * self.share:z.2f} %", known)


@dataclass(frozen=True)
class Series:
    """One answer from day to day."""

    label: str
    points: tuple[Point, ...]

    @property
    def sentence(self) -> str:
        """What the picture shows, in one sentence that says whether the intervals overlap."""
        first, last = self.points[0], self.points[-1]
        if len(self.points) == 1:
            return f"{100 * first.share:z.2f} % on {first.day}, the only day so far."
        apart = first.ends[1] < last.ends[0] or last.ends[1] < first.ends[0]
        overlap = f"the intervals of these days {'do not ' if apart else ''}overlap"
        return (
            f"{100 * first.share:z.2f} % on {first.day}, {100 * last.share:z.2f} % on {last.day}; "
            f"{'their errors are not known' if first.lower is None else overlap}."
        )


@dataclass(frozen=True)
class Trend:
    """Some answers over the same days, and how many days had too few reports to be shown."""

    series: tuple[Series, ...]
    left_out: int = 0

    @property
    def top(self) -> float:
        """Where the common scale ends: at a round share above every interval."""
        most = max((p.ends[1] for s in self.series for p in s.points), default=1.0)
        steps = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
        return next((step for step in steps if step >= most), max(1.0, most))

    @property
    def bottom(self) -> float:
        """Where the scale begins: at zero, or lower if an interval does."""
        least = min((p.ends[0] for s in self.series for p in s.points), default=0.0)
        return min(0.0, max(least, -self.top))

    def columns(self) -> dict[str, Column]:
        """Return the columns of the exports, one row for each answer and day."""
        points = [point for series in self.series for point in series.points]
        numbers = ("n", "share", "lower", "upper")
        return {
            "day": [point.day for point in points],
            "label": [series.label for series in self.series for _ in series.points],
            **{name: np.array([getattr(point, name) for point in points]) for name in numbers},
        }


def trend_svg(trend: Trend, series: Series, name: str) -> str:
    """Return the chart of one answer as SVG: a band, a line and an axis.

    ``name`` makes the ids of title and description unique on a page.
    """
    days = [point.day for point in series.points]
    xs = _places(days)
    bottoms, tops, middles = zip(
        *(
            (*(_height(trend, end) for end in p.ends), _height(trend, p.share))
            for p in series.points
        ),
        strict=True,
    )
    band = _path(xs, tops) + "L" + _path(xs[::-1], bottoms[::-1])[1:] + "Z"
    dots = "".join(
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>'
        for x, y in zip(xs, middles, strict=True)
    )
    whisker = (
        f'<path class="axis" d="M{xs[0]:.1f} {tops[0]:.1f}V{bottoms[0]:.1f}"/>'
        if len(xs) == 1
        else ""
    )
    zero, ceiling = _height(trend, 0.0), _height(trend, trend.top)
    return (
        f'<svg class="trend" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="{name}-t {name}-d"><title id="{name}-t">Share from day to day</title>'
        f'<desc id="{name}-d">{escape(series.sentence)}</desc>'
        f'<path class="axis" d="M{_LEFT} {ceiling:.1f}H{WIDTH - _RIGHT}M{_LEFT} {zero:.1f}'
        f'H{WIDTH - _RIGHT}"/>'
        f'<path class="band" d="{band}"/>{whisker}<path class="line" d="{_path(xs, middles)}"/>'
        f'{dots}<text x="{_LEFT - 6}" y="{ceiling + 4:.1f}" text-anchor="end">'
        f"{100 * trend.top:g} %</text>"
        f'<text x="{_LEFT - 6}" y="{zero + 4:.1f}" text-anchor="end">0</text>'
        f"{_days(days)}</svg>"
    )


def spark_svg(numbers: Sequence[int]) -> str:
    """Return a small line chart, hidden from screen readers: the numbers stand beside it."""
    most = max(numbers, default=0) or 1
    step = 118 / max(1, len(numbers) - 1)
    xs = [1 + step * i for i in range(len(numbers))] if len(numbers) > 1 else [1.0, 119.0]
    ys = [23 - 21 * number / most for number in numbers]
    ys = ys if len(ys) > 1 else ys * 2
    return (
        '<svg class="spark" viewBox="0 0 120 25" focusable="false" aria-hidden="true">'
        f'<path class="line" d="{_path(xs, ys)}"/></svg>'
    )


def _days(days: Sequence[str]) -> str:
    """Label the first and the last day below the axis."""
    y = HEIGHT - 4
    first = f'<text x="{_LEFT}" y="{y}">{escape(days[0])}</text>'
    if len(days) == 1:
        return first
    return f'{first}<text x="{WIDTH - _RIGHT}" y="{y}" text-anchor="end">{escape(days[-1])}</text>'


def _places(days: Sequence[str]) -> list[float]:
    """Return the place of each day on the axis; missing days leave a gap."""
    inside, numbers = WIDTH - _LEFT - _RIGHT, [date.fromisoformat(day).toordinal() for day in days]
    extent = numbers[-1] - numbers[0]
    if extent == 0:
        return [_LEFT + inside / 2]
    return [_LEFT + inside * (number - numbers[0]) / extent for number in numbers]


def _height(trend: Trend, share: float) -> float:
    inside = HEIGHT - _TOP - _BOTTOM
    place = (share - trend.bottom) / (trend.top - trend.bottom)
    return _TOP + inside * (1 - min(max(place, 0.0), 1.0))


def _path(xs: Sequence[float], ys: Sequence[float]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(xs, ys, strict=True))
