"""A trend: the shares of a few answers from day to day, with bands for their intervals.

As in ``view``, the content is decided by the trend; the SVG only places it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from html import escape

import numpy as np

from deniable.presentation.tables import Column
from deniable.presentation.view import NOT_KNOWN

WIDTH, HEIGHT = 320, 118
_TOP, _BOTTOM, _SIDE = 16, 20, 4
_MOST_DATES = 4
_LABELS_APART = 60
"""How far apart the dates below a picture stand at least."""


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
        return next((step for step in steps if step >= most), 1.0)

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
    """Return the chart of one answer as SVG: a band, a line and an axis; missing days leave a gap.

    ``name`` makes the ids of title and description unique on a page.
    """
    numbers = [date.fromisoformat(point.day).toordinal() for point in series.points]
    xs = _places(numbers)
    runs = _runs(numbers)
    drawn = "".join(_run(trend, series.points[a:b], xs[a:b]) for a, b in runs)
    zero, half, ceiling = (_height(trend, x) for x in (0.0, trend.top / 2, trend.top))
    grid = "".join(f"M0 {y:.1f}H{WIDTH}" for y in (half, ceiling))
    x, y = xs[-1], _height(trend, series.points[-1].share)
    return (
        f'<svg class="trend" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="{name}-t {name}-d"><title id="{name}-t">Share from day to day</title>'
        f'<desc id="{name}-d">{escape(series.sentence)}</desc>'
        f'<path class="grid" d="{grid}"/><path class="axis" d="M0 {zero:.1f}H{WIDTH}"/>{drawn}'
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
        f'<text x="0" y="{ceiling - 4:.1f}">{100 * trend.top:g} %</text>{_dates(series, xs)}</svg>'
    )


def _run(trend: Trend, points: Sequence[Point], xs: Sequence[float]) -> str:
    """Return the band and the line over days that follow each other."""
    ends = [[_height(trend, end) for end in point.ends] for point in points]
    bottoms, tops = [low for low, _ in ends], [high for _, high in ends]
    middles = [_height(trend, point.share) for point in points]
    if len(points) == 1:
        whisker = f'<path class="whisker" d="M{xs[0]:.1f} {tops[0]:.1f}V{bottoms[0]:.1f}"/>'
        return f'{whisker}<circle class="dot" cx="{xs[0]:.1f}" cy="{middles[0]:.1f}" r="2.5"/>'
    band = _path(xs, tops) + "L" + _path(xs[::-1], bottoms[::-1])[1:] + "Z"
    return f'<path class="band" d="{band}"/><path class="line" d="{_path(xs, middles)}"/>'


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return from where to where days follow each other without a gap."""
    breaks = [i for i in range(1, len(numbers)) if numbers[i] > numbers[i - 1] + 1]
    return list(zip([0, *breaks], [*breaks, len(numbers)], strict=True))


def spark_svg(shares: Sequence[float | None]) -> str:
    """Return a small line above a baseline; it is hidden: the numbers stand beside it.

    Fewer than two days are no line.
    """
    known = [share for share in shares if share is not None]
    if len(known) < 2:
        return ""
    most = max(known, default=0.0) or 1.0
    step = 116 / max(1, len(shares) - 1)
    points = [
        (2 + step * place, 24 - 20 * max(share, 0.0) / most)
        for place, share in enumerate(shares)
        if share is not None
    ]
    line, (x, y) = _path(*zip(*points, strict=True)), points[-1]
    dot = f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>'
    return (
        '<svg class="spark" viewBox="0 0 120 28" focusable="false" aria-hidden="true">'
        f'<path class="axis" d="M0 26H120"/><path class="line" d="{line}"/>{dot}</svg>'
    )


def short_date(day: str) -> str:
    """Return a day as people say it.

    >>> short_date("2026-10-28")
    '28 Oct'
    """
    found = date.fromisoformat(day)
    return f"{found.day} {found:%b}"


def _dates(series: Series, xs: Sequence[float]) -> str:
    """Label a few days below the axis, the first and the last among them."""
    last = len(xs) - 1
    wanted = dict.fromkeys(round(last * k / (_MOST_DATES - 1)) for k in range(_MOST_DATES))
    shown, texts = -float(_LABELS_APART), []
    for place in wanted:
        apart = shown + _LABELS_APART <= xs[place] <= xs[-1] - _LABELS_APART
        if place not in (0, last) and not apart:
            continue
        anchor = "start" if place == 0 else "end" if place == last else "middle"
        shown = xs[place]
        said = short_date(series.points[place].day)
        texts.append(f'<text x="{shown:.1f}" y="{HEIGHT - 4}" text-anchor="{anchor}">{said}</text>')
    return "".join(texts)


def _places(numbers: Sequence[int]) -> list[float]:
    inside, extent = WIDTH - 2 * _SIDE, numbers[-1] - numbers[0]
    if extent == 0:
        return [WIDTH / 2]
    return [_SIDE + inside * (number - numbers[0]) / extent for number in numbers]


def _height(trend: Trend, share: float) -> float:
    """Return where a share stands; no share is below zero, whatever its estimate."""
    return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - min(max(share / trend.top, 0.0), 1.0))


def _path(xs: Sequence[float], ys: Sequence[float]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(xs, ys, strict=True))
