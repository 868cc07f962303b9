"""A row's bar as SVG: geometry in attributes, parts named by classes, colours left to CSS."""

from __future__ import annotations

from deniable.presentation.rows import Row, Scale

WIDTH, HEIGHT = 240, 16


def bar_svg(row: Row, scale: Scale) -> str:
    """Return one picture: the bar from zero to the value, the interval, zero and the limit.

    It repeats what the row says in numbers and words, and is hidden from those who listen.
    """
    zero, value, low, high = (_at(scale, x) for x in (0.0, row.value, row.lower, row.upper))
    kind = "yes" if row.significant else "no"
    middle, whisker = HEIGHT / 2, HEIGHT - 10
    parts = [
        f'<rect class="bar {kind}" x="{min(zero, value):.1f}" y="3" '
        f'width="{abs(value - zero):.1f}" height="{HEIGHT - 6}"/>',
        f'<path class="interval" d="M{low:.1f} {middle:g}H{high:.1f}'
        f'M{low:.1f} 5v{whisker}M{high:.1f} 5v{whisker}"/>',
        f'<path class="zero" d="M{zero:.1f} 0v{HEIGHT}"/>',
    ]
    if scale.limit is not None:
        parts.append(f'<path class="limit" d="M{_at(scale, scale.limit):.1f} 0v{HEIGHT}"/>')
    if row.mark is not None:
        parts.append(f'<path class="truth" d="M{_at(scale, row.mark):.1f} 1v{HEIGHT - 2}"/>')
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'preserveAspectRatio="none" focusable="false">{"".join(parts)}</svg>'
    )


def _at(scale: Scale, x: float) -> float:
    """Return where x stands in the picture, with room for half a line at its edges."""
    return 1 + (WIDTH - 2) * scale.place(x)
