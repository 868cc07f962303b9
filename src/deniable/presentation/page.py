"""Estimates as HTML: one table with inline SVG bars, for notebooks and as a page of its own."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from deniable.presentation.data import keys
from deniable.presentation.text import headline, notes, one_line, percent

if TYPE_CHECKING:
    from deniable.estimates import Estimates

_WIDTH, _HEIGHT = 240, 16
_LABEL_WIDTH = 60

_STYLE = """
.deniable { font: 14px/1.4 system-ui, sans-serif; font-variant-numeric: tabular-nums;
  overflow-x: auto; }
.deniable table { border-collapse: collapse; }
.deniable caption, .deniable p { text-align: left; color: #666; margin: .4em 0; }
.deniable th, .deniable td { padding: .15em .8em; text-align: right; border: 0;
  white-space: nowrap; }
.deniable th { border-bottom: 1px solid #999; font-weight: 600; }
.deniable th:first-child, .deniable td:first-child { text-align: left; white-space: pre-wrap;
  min-width: 8em; max-width: 17em; overflow-wrap: anywhere; }
.deniable svg { display: block; }
"""


def html_table(estimates: Estimates, level: float = 0.95, alpha: float = 0.05) -> str:
    """Return the rows as an HTML fragment with its own style; labels are escaped."""
    lower, upper = estimates.interval(level)
    left = min(0.0, lower.min(initial=0.0))
    right = max(
        upper.max(initial=0.0),
        estimates.counts.max(initial=0.0),
        estimates.least_significant(alpha),
    )
    scale = _WIDTH / max(right - left, 1e-300)
    threshold = (estimates.least_significant(alpha) - left) * scale
    rows = []
    for key, count, low, high, stands_out in zip(
        keys(estimates), estimates.counts, lower, upper, estimates.significant(alpha), strict=True
    ):
        ends = [(x - left) * scale for x in (0.0, count, low, high)]
        rows.append(
            f"<tr><td>{escape(one_line(str(key), _LABEL_WIDTH))}</td><td>{count:z,.0f}</td>"
            f"<td>{100 * count / estimates.n:z.2f} %</td><td>{low:z,.0f} to {high:z,.0f}</td>"
            f"<td>{'*' if stands_out else ''}</td>"
            f"<td>{_bar(ends, threshold, faded=not stands_out)}</td></tr>"
        )
    of = " of the unbiased count" if estimates.adjusted is not None else ""
    head = "".join(
        f"<th>{name}</th>"
        for name in ("answer", "count", "share", f"{percent(level)} interval{of}", "*", "")
    )
    said = "".join(f"<p>{escape(line)}</p>" for line in _said(estimates, level, alpha))
    return (
        f'<div class="deniable"><style>{_STYLE}</style><table>'
        f"<caption>{escape(headline(estimates))}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{said}</div>"
    )


def html_page(estimates: Estimates, title: str, level: float, alpha: float) -> str:
    """Return a page that needs nothing but itself."""
    name = escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title><style>body {{ margin: 2em; background: #fff; color: #111; }} "
        "h1 { font: 600 20px system-ui, sans-serif; }</style></head>\n"
        f"<body><h1>{name}</h1>\n{html_table(estimates, level, alpha)}\n</body></html>\n"
    )


def _said(estimates: Estimates, level: float, alpha: float) -> list[str]:
    bars = f"bars: counts; lines: {percent(level)} intervals; dashes: the threshold of significance"
    return [*notes(estimates, level, alpha), bars]


def _bar(ends: list[float], threshold: float, *, faded: bool) -> str:
    zero, count, low, high = ends
    colour = "#9db4cf" if faded else "#2f6db3"
    middle = _HEIGHT / 2
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-hidden="true">'
        f'<rect x="{min(zero, count):.1f}" y="3" width="{abs(count - zero):.1f}" '
        f'height="{_HEIGHT - 6}" fill="{colour}"/>'
        f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} 5v6M{high:.1f} 5v6" '
        'stroke="currentColor"/>'
        f'<path d="M{zero:.1f} 0v{_HEIGHT}" stroke="#999"/>'
        f'<path d="M{threshold:.1f} 0v{_HEIGHT}" stroke="#c60" stroke-dasharray="3 2"/></svg>'
    )
