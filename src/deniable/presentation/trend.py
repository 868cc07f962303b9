"""A trend: what is read of a result from day to day, or from round to round, with its intervals.

Of answers that is their share of people; of numbers their median and mean, in their own unit. As in
``view``, the content is decided by the trend; the SVG only places it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from html import escape
from typing import NamedTuple, Self

import numpy as np

from deniable.presentation.tables import Column
from deniable.presentation.view import NOT_KNOWN, Answer, Figure

WIDTH, HEIGHT = 320, 118
_TOP, _BOTTOM, _SIDE = 16, 20, 4
_MOST_DATES = 4
_LABELS_APART = 60
"""How far apart the dates below a picture stand at least."""
_UNEVEN = 12
"""From so many steps on a date may stand a step off, as nobody sees; before, all are even."""
_MOST_HALVES = 3
"""How many round numbers there are at most in each half of an axis of numbers."""
_ROOM = 0.15
"""How much of a picture stays free above the lower end of an axis, for its label."""


class Reading(NamedTuple):
    """One thing that is read of a result: a share of people or, with a unit, a number.

    What is on the same ``scale`` is drawn on one.
    """

    label: str
    value: float
    lower: float | None
    upper: float | None
    unit: str | None = None
    scale: str = ""

    @classmethod
    def of(cls, row: Answer, n: int, label: str | None = None) -> Self:
        """Return the share of one of the rows of n people."""
        lower, upper = (None if end is None else end / n for end in (row.lower, row.upper))
        return cls(label or row.label, row.share, lower, upper)

    @property
    def ends(self) -> tuple[float, float]:
        """The interval as it is drawn: the value alone, where there is none."""
        if self.lower is None or self.upper is None:
            return self.value, self.value
        return self.lower, self.upper

    @property
    def cells(self) -> tuple[str, str]:
        """The value and its interval in words."""
        low, high = self.ends
        if self.unit is not None:
            return Figure(self.value, low, high, self.unit).cells
        known = f"{100 * low:z.2f} % to {100 * high:z.2f} %"
        return f"{100 * self.value:z.2f} %", NOT_KNOWN if self.lower is None else known

    @property
    def said(self) -> str:
        """The value as a sentence has it; a number has its interval beside it."""
        value, spread = self.cells
        return value if self.unit is None else f"{value} ({spread})"

    @property
    def brief(self) -> str:
        """The value as it stands over a picture; a share is never below 0 nor above 1."""
        if self.unit is not None:
            return self.cells[0].replace(" ", "\u00a0")
        return f"{100 * min(max(self.value, 0.0), 1.0):.1f}\u00a0%"


@dataclass(frozen=True)
class Period:
    """A day or a round: its first day, its reports, and what is read of them."""

    day: str
    n: int
    answers: tuple[Reading, ...]
    """The shares of answers, one after the other."""
    figures: tuple[Reading, ...] = ()
    """What is read beside answers, and is drawn before them."""
    told: Mapping[str, object] = field(default_factory=dict)
    """Everything that exports tell beside answers."""
    round: int | None = None


class Point(NamedTuple):
    """One reading of one day or round."""

    day: str
    n: int
    reading: Reading


@dataclass(frozen=True)
class Series:
    """One answer or figure from day to day."""

    label: str
    points: tuple[Point, ...]
    unit: str = "day"
    """What a point is of: a day, or a round."""

    @property
    def last(self) -> Point:
        return self.points[-1]

    @property
    def sentence(self) -> str:
        """What the picture shows, in one sentence that says whether the intervals overlap."""
        when = "on" if self.unit == "day" else "in the round from"
        first, last = (f"{each.reading.said} {when} {each.day}" for each in self._ends)
        if len(self.points) == 1:
            return f"{first}, the only {self.unit} so far."
        was, now = (each.reading for each in self._ends)
        apart = was.ends[1] < now.ends[0] or now.ends[1] < was.ends[0]
        overlap = f"the intervals of these {self.unit}s {'do not ' if apart else ''}overlap"
        return f"{first}, {last}; {'their errors are not known' if was.lower is None else overlap}."

    @property
    def _ends(self) -> tuple[Point, Point]:
        return self.points[0], self.last


class Axis(NamedTuple):
    """Where a scale begins and ends, and the unit of its numbers; of shares none."""

    bottom: float
    top: float
    unit: str | None = None

    def place(self, value: float) -> float:
        """Return where a value stands between both ends, 0 and 1; what is outside, at an end."""
        return min(max((value - self.bottom) / (self.top - self.bottom), 0.0), 1.0)

    def written(self, value: float) -> str:
        if self.unit is None:
            return f"{100 * value:g}\u00a0%"
        return f"{value:,.12g}\u00a0{self.unit}".rstrip()

    def __str__(self) -> str:
        bottom = f"{self.bottom:,.12g}" if self.unit is not None else f"{100 * self.bottom:g}"
        return f"{bottom} to {self.written(self.top)}"


@dataclass(frozen=True)
class Trend:
    """Readings over the same days, and how many days had too few reports to be shown."""

    periods: tuple[Period, ...]
    left_out: int = 0
    every: int = 1
    """How many days one period begins after the other: more than that are a gap."""

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """Figures first, then answers; each with the periods that tell of it."""
        found: dict[str, list[Point]] = {}
        for kind in ("figures", "answers"):
            for period in self.periods:
                for reading in getattr(period, kind):
                    point = Point(period.day, period.n, reading)
                    found.setdefault(reading.label, []).append(point)
        return tuple(Series(label, tuple(each), self.unit) for label, each in found.items())

    @property
    def unit(self) -> str:
        """What a period is: a day, or a round."""
        return "day" if all(period.round is None for period in self.periods) else "round"

    @cached_property
    def axes(self) -> dict[str, Axis]:
        """The axis of each scale, which holds every interval."""
        found: dict[str, list[Reading]] = {}
        for point in (point for series in self.series for point in series.points):
            found.setdefault(point.reading.scale, []).append(point.reading)
        return {scale: _axis(readings) for scale, readings in found.items()}

    def axis(self, series: Series) -> Axis:
        return self.axes[series.last.reading.scale]

    def columns(self) -> dict[str, Column]:
        """Return the columns of the exports: a row for each day, and of answers for each of them.

        What is told beside answers is in every row of its day.
        """
        labels = dict.fromkeys(each.label for period in self.periods for each in period.answers)
        rows = [
            (period, each)
            for label in labels
            for period in self.periods
            for each in period.answers
            if each.label == label
        ]
        periods = [period for period, _ in rows] or list(self.periods)
        rounds = {"round": np.array([period.round for period in periods])}
        found: dict[str, Column] = {
            **(rounds if self.unit == "round" else {}),
            "day": [period.day for period in periods],
            **({"label": [each.label for _, each in rows]} if rows else {}),
            "n": np.array([period.n for period in periods]),
        }
        for name, of in (("share", "value"), ("lower", "lower"), ("upper", "upper")):
            if rows:
                found[name] = np.array([getattr(each, of) for _, each in rows])
        for name in dict.fromkeys(name for period in self.periods for name in period.told):
            found[name] = np.array([period.told.get(name, math.nan) for period in periods])
        return found


def _axis(readings: Sequence[Reading]) -> Axis:
    """Return the axis that holds these readings with their intervals.

    Shares begin at 0; numbers where they are, between round numbers.
    """
    unit, least, most = (
        readings[0].unit,
        min(each.ends[0] for each in readings),
        max(each.ends[1] for each in readings),
    )
    if unit is None:
        steps = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
        return Axis(0.0, next((step for step in steps if step >= most), 1.0))
    near = max(most - least, abs(most) / 100) or 1.0
    power = math.floor(math.log10(near)) - 1
    for step in (lead * 10.0**e for e in range(power, power + 4) for lead in (1, 2, 5)):
        bottom = 0.0 if 0 <= least <= near else step * math.floor((least - _ROOM * near) / step)
        halves = max(1, math.ceil((most - bottom) / (2 * step)))  # the line between is round too
        if halves <= _MOST_HALVES:
            return Axis(_even(bottom), _even(bottom + 2 * halves * step), unit)
    return Axis(least - near, most + near, unit)


def _even(number: float) -> float:
    """Return a number without the dust of adding up tenths."""
    return float(f"{number:.10g}")


def trend_svg(trend: Trend, series: Series, name: str) -> str:
    """Return the chart of one series as SVG: a band, a line and an axis; missing days leave a gap.

    ``name`` makes the ids of title and description unique on a page.
    """
    numbers = [date.fromisoformat(point.day).toordinal() for point in series.points]
    axis, xs = trend.axis(series), _places(numbers)
    runs = _runs(numbers, trend.every)
    drawn = "".join(_run(axis, series.points[a:b], xs[a:b]) for a, b in runs)
    middle = (axis.bottom + axis.top) / 2
    zero, half, ceiling = (_height(axis, x) for x in (axis.bottom, middle, axis.top))
    grid = "".join(f"M0 {y:.1f}H{WIDTH}" for y in (half, ceiling))
    ends = [(ceiling, axis.top), *([(zero, axis.bottom)] if axis.bottom else [])]
    ticks = "".join(
        f'<text x="0" y="{y - 4:.1f}">{escape(axis.written(x))}</text>' for y, x in ends
    )
    x, y = xs[-1], _height(axis, series.last.reading.value)
    what = "Share" if axis.unit is None else series.label
    title = f"{what} from {series.unit} to {series.unit}"
    return (
        f'<svg class="trend" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="{name}-t {name}-d"><title id="{name}-t">{escape(title)}</title>'
        f'<desc id="{name}-d">{escape(series.sentence)}</desc>'
        f'<path class="grid" d="{grid}"/><path class="axis" d="M0 {zero:.1f}H{WIDTH}"/>{drawn}'
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>{ticks}{_dates(series, xs)}</svg>'
    )


def _run(axis: Axis, points: Sequence[Point], xs: Sequence[float]) -> str:
    """Return the band and the line over days that follow each other."""
    ends = [[_height(axis, end) for end in point.reading.ends] for point in points]
    bottoms, tops = [low for low, _ in ends], [high for _, high in ends]
    middles = [_height(axis, point.reading.value) for point in points]
    if len(points) == 1:
        whisker = f'<path class="whisker" d="M{xs[0]:.1f} {tops[0]:.1f}V{bottoms[0]:.1f}"/>'
        return f'{whisker}<circle class="dot" cx="{xs[0]:.1f}" cy="{middles[0]:.1f}" r="2.5"/>'
    band = _path(xs, tops) + "L" + _path(xs[::-1], bottoms[::-1])[1:] + "Z"
    return f'<path class="band" d="{band}"/><path class="line" d="{_path(xs, middles)}"/>'


def _runs(numbers: Sequence[int], every: int) -> list[tuple[int, int]]:
    """Return from where to where periods follow each other without a gap."""
    breaks = [i for i in range(1, len(numbers)) if numbers[i] > numbers[i - 1] + every]
    return list(zip([0, *breaks], [*breaks, len(numbers)], strict=True))


def spark_svg(trend: Trend) -> str:
    """Return a small line above a baseline; it is hidden: the numbers stand beside it.

    It is the way of the first series. Fewer than two days are no line.
    """
    if not trend.series or len(trend.series[0].points) < 2:
        return ""
    first, axis = trend.series[0].points, trend.axis(trend.series[0])
    numbers = [date.fromisoformat(point.day).toordinal() for point in first]
    heights = [axis.place(point.reading.value) for point in first]
    step, most = 116 / (numbers[-1] - numbers[0]), max(heights) or 1.0
    points = [
        (2 + step * (number - numbers[0]), 24 - 20 * height / most)
        for number, height in zip(numbers, heights, strict=True)
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
    parts = next(k for k in range(_MOST_DATES - 1, 0, -1) if last % k == 0 or last >= _UNEVEN)
    wanted = dict.fromkeys(round(last * k / parts) for k in range(parts + 1))
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


def _height(axis: Axis, value: float) -> float:
    """Return where a value stands; no share is below zero, whatever its estimate."""
    return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - axis.place(value))


def _path(xs: Sequence[float], ys: Sequence[float]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(xs, ys, strict=True))
