"""Histogram: the part of a result that shows numbers on their own scale.

Bars are shares of people in ranges of numbers, with their intervals as whiskers. The bracket below
spans the middle half of the people, and a mark on it is half of them; how far these may be off is
drawn on them. Horizontal places are percentages and heights pixels, so that a picture of any width
is legible.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from deniable.presentation.charts import Bar, Bars
from deniable.presentation.parts import Part

_PLOT, _TICKS, _BRACKET = 160, 18, 26
"""Heights of the bars, of the ticks below them, and of the bracket below these."""


class Column(NamedTuple):
    """One bar: its share, and where it starts and ends between both ends of the scale, 0 and 1."""

    bar: Bar
    start: float
    end: float


class Mark(NamedTuple):
    """A quantile and its interval, as places between both ends of the scale."""

    place: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Histogram(Part):
    """Shares of people by ranges of a number, and where a quarter, half and three quarters are."""

    columns: tuple[Column, ...] = ()
    quartiles: tuple[Mark, ...] = ()
    """The lower quartile, the median and the upper quartile, if they are known."""
    ticks: tuple[tuple[float, str], ...] = ()
    said: str = ""
    """What the picture shows in a sentence, for those who do not see it."""

    @property
    def _bars(self) -> Bars:
        return Bars(self.name, bars=tuple(column.bar for column in self.columns))

    def html(self) -> str:
        top = self._bars.top
        height = _PLOT + _TICKS + (_BRACKET if self.quartiles else 0)
        shapes = [
            '<line class="axis" x1="0" x2="100%" y1="0.5" y2="0.5"/>',
            f'<line class="axis" x1="0" x2="100%" y1="{_PLOT / 2}" y2="{_PLOT / 2}"/>',
            *(_column(column, top) for column in self.columns),
            f'<line class="zero" x1="0" x2="100%" y1="{_PLOT}" y2="{_PLOT}"/>',
            *(_tick(place, text) for place, text in self.ticks),
            *_bracket(self.quartiles),
            f'<text x="0" y="12">{100 * top:g}\u00a0%</text>',
        ]
        label = f"{self.name}-title {self.name}-said"
        return (
            f'<svg class="histogram" role="img" aria-labelledby="{label}" height="{height}" '
            f'focusable="false"><title id="{self.name}-title">{escape(self.title)}</title>'
            f'<desc id="{self.name}-said">{escape(self.said)}</desc>{"".join(shapes)}</svg>'
        )

    def lines(self, width: int) -> list[str]:
        return self._bars.lines(width)


def _height(share: float, top: float) -> float:
    return _PLOT * min(max(share / top, 0.0), 1.0)


def _column(column: Column, top: float) -> str:
    bar, wide = column.bar, 100 * (column.end - column.start)
    tall, middle = _height(bar.share, top), 50 * (column.start + column.end)
    share, spread = bar.cells()
    parts = [
        f'<rect class="bar" x="{100 * column.start + 0.08 * wide:.3f}%" y="{_PLOT - tall:.1f}" '
        f'width="{0.84 * wide:.3f}%" height="{tall:.1f}"/>'
    ]
    if bar.lower is not None and bar.upper is not None:
        low, high = (_PLOT - _height(end, top) for end in (bar.lower, bar.upper))
        parts.append(
            f'<line class="whisker" x1="{middle:.3f}%" x2="{middle:.3f}%" y1="{high:.1f}" '
            f'y2="{low:.1f}"/>'
        )
    return f"<g><title>{escape(f'{bar.label}: {share}, {spread}')}</title>{''.join(parts)}</g>"


def _tick(place: float, text: str) -> str:
    anchor = "start" if place < 0.05 else "end" if place > 0.95 else "middle"
    at = f'x="{100 * place:.3f}%" y="{_PLOT + 14}" text-anchor="{anchor}"'
    return f"<text {at}>{escape(text)}</text>"


def _bracket(quartiles: tuple[Mark, ...]) -> list[str]:
    if len(quartiles) != 3:
        return []
    y = _PLOT + _TICKS + 12
    ends = [f"{100 * mark.place:.3f}%" for mark in quartiles]
    parts = [f'<line class="bracket" x1="{ends[0]}" x2="{ends[2]}" y1="{y}" y2="{y}"/>']
    for mark in quartiles:
        wide = 100 * (mark.upper - mark.lower)
        parts.append(
            f'<rect class="interval" x="{100 * mark.lower:.3f}%" y="{y - 3}" '
            f'width="{wide:.3f}%" height="6"/>'
        )
    for end, reach in zip(ends, (7, 10, 7), strict=True):
        parts.append(
            f'<line class="bracket" x1="{end}" x2="{end}" y1="{y - reach}" y2="{y + reach}"/>'
        )
    return parts
