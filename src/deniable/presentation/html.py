"""HTML: a view as a table with a bar in each row, and what stands around parts of results.

Nothing has an inline style, so that it can stand on pages with a strict content security policy;
``STYLE`` is the sheet that goes with it. Bars are SVG: geometry in attributes, colours in CSS.
"""

from html import escape
from pathlib import Path

from deniable.presentation.palette import tokens
from deniable.presentation.text import one_line, printable
from deniable.presentation.view import Row, Scale, View

_WIDTH, _HEIGHT, _LABEL_WIDTH = 240, 16, 300
_TABLE_STYLE, _PAGE_STYLE = (
    "\n" + Path(__file__).with_name(name).read_text(encoding="utf-8")
    for name in ("table.css", "page.css")
)
STYLE = tokens(":root") + _TABLE_STYLE
"""The style of parts, for pages that include them."""
_NOTEBOOK_STYLE = tokens(".deniable", dark=False) + _TABLE_STYLE
SHEET = STYLE + _PAGE_STYLE
"""The style of a page, for a server that keeps it in a file of its own."""


def html_fragment(view: View, caption: str | None = None, *, pictures: bool = True) -> str:
    """Return the table and its notes, without any style; labels are escaped.

    The caption names the question, unless another is given. With ``pictures`` each row has a bar.
    """
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("answer", *view.headings))
    rows = "".join([_row(row, view.scale if pictures else None) for row in view.rows])
    source = "" if view.source is None else f'<p class="source">{_text(view.source)}</p>'
    bars, lines = ("bars: ", "lines: ") if pictures else ("shown: ", "")
    interval = "" if view.unknown else f"; {lines}{view.words.interval}"
    legend = f"{bars}{view.words.value}{interval}"
    said = "".join(f"<p>{_text(line)}</p>" for line in (*view.notes, *view.doubts, legend))
    title = _text(caption or view.heading)
    # Wide tables scroll sideways; with a tabindex the keyboard can scroll them too.
    return (
        f'<div class="listing" role="region" aria-label="{title}" tabindex="0">'
        f"<table><caption>{title}</caption><thead><tr>"
        f'{heads}<th scope="col" class="verdict">significance</th>'
        f'<td aria-hidden="true"></td></tr></thead><tbody>{rows}</tbody></table>'
        f"{said}{source}</div>"
    )


def notebook(body: str) -> str:
    """Return parts together with their style; a notebook has a ground and an ink of its own."""
    return f'<style>{_NOTEBOOK_STYLE}</style><div class="deniable notebook">{body}</div>'


def page(title: str, body: str, metas: str = "", sheet: str | None = None) -> str:
    """Return a page that needs nothing else, except the style sheet if its address is given."""
    name, style = _text(title), f"<style>{SHEET}</style>"
    if sheet is not None:
        style = f'<link rel="stylesheet" href="{escape(sheet)}">'
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"{metas}<title>{name}</title>{style}</head>\n"
        f'<body class="deniable-page"><main class="deniable"><h1><bdi>{name}</bdi></h1>\n{body}\n'
        "</main></body></html>\n"
    )


def _row(row: Row, scale: Scale | None) -> str:
    cells = "".join([f"<td>{escape(cell)}</td>" for cell in row.cells])
    kind = "yes" if row.significant else "no"
    return (
        f'<tr><th scope="row">{escape(one_line(row.label, _LABEL_WIDTH))}</th>{cells}'
        f'<td class="verdict {kind}">{row.verdict}</td>'
        f'<td class="picture" aria-hidden="true">{_bar(row, scale) if scale else ""}</td></tr>'
    )


def _bar(row: Row, scale: Scale) -> str:
    """Return the bar of a row from zero to its value, with the interval and zero.

    It repeats the numbers and words of the row, so it is hidden from screen readers.
    """
    places = scale.places(0.0, row.value, *row.ends)
    zero, value, low, high = [1 + (_WIDTH - 2) * x for x in places]  # room for half a line
    kind = "yes" if row.significant else "no"
    middle, whisker = _HEIGHT / 2, _HEIGHT - 10
    parts = [
        f'<rect class="bar {kind}" x="{min(zero, value):.1f}" y="3" '
        f'width="{abs(value - zero):.1f}" height="{_HEIGHT - 6}"/>',
        f'<path class="zero" d="M{zero:.1f} 0v{_HEIGHT}"/>',
    ]
    if row.lower is not None:
        ends = f"M{low:.1f} 5v{whisker}M{high:.1f} 5v{whisker}"
        parts.insert(1, f'<path class="interval" d="M{low:.1f} {middle:g}H{high:.1f}{ends}"/>')
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'preserveAspectRatio="none" focusable="false">{"".join(parts)}</svg>'
    )


def metas(view: View) -> str:
    """Return the whole provenance, for programs."""
    return "".join(
        f'<meta name="deniable.{name}" content="{escape(str(value))}">'
        for name, value in (view.provenance or {}).items()
        if value is not None
    )


def _text(text: str) -> str:
    return escape(printable(text))
