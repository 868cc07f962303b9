"""A view as HTML: a table whose last column draws it, as a fragment, in a notebook, as a page.

The fragment has no style of its own and needs none that is inline, so that it stands on pages with
a strict content security policy; ``STYLE`` is the sheet that goes with it.
"""

from __future__ import annotations

from html import escape

from deniable.presentation.bars import bar_svg
from deniable.presentation.labels import printable
from deniable.presentation.rows import Row, Scale, View

STYLE = """
.deniable { font: 14px/1.4 system-ui, sans-serif; font-variant-numeric: tabular-nums;
  overflow-x: auto; --yes: #2f6db3; --no: #9db4cf; --limit: #c60; --quiet: #595959; }
.deniable table { border-collapse: collapse; }
.deniable caption { text-align: left; margin: .4em 0; font-weight: 600; }
.deniable p { color: var(--quiet); margin: .4em 0; max-width: 60em; }
.deniable p.source { overflow-wrap: anywhere; }
.deniable th, .deniable td { padding: .15em .8em; text-align: right; border: 0;
  white-space: nowrap; }
.deniable thead th, .deniable thead td { border-bottom: 1px solid #999;
  font-weight: 600; vertical-align: bottom; }
.deniable tbody th { font-weight: 400; }
.deniable th:first-child { text-align: left; white-space: pre-wrap; min-width: 8em;
  max-width: 30em; overflow-wrap: anywhere; padding-left: 0; }
.deniable .verdict, .deniable .picture { text-align: left; }
.deniable .no { color: var(--quiet); }
.deniable svg { display: block; }
.deniable rect.yes { fill: var(--yes); }
.deniable rect.no { fill: var(--no); }
.deniable path { fill: none; stroke: currentColor; }
.deniable path.zero { stroke: #999; }
.deniable path.limit { stroke: var(--limit); stroke-dasharray: 3 2; }
.deniable path.truth { stroke: var(--limit); stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  .deniable-page .deniable { --yes: #6aa5e8; --no: #47607d; --limit: #f0a050; --quiet: #b0b0b0; } }
@media (forced-colors: active) { .deniable rect.yes { fill: CanvasText; }
  .deniable rect.no { fill: GrayText; } }
"""

_PAGE_STYLE = """
body { margin: 2em; background: #fff; color: #111; }
h1 { font: 600 20px/1.3 system-ui, sans-serif; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #eee; } }
"""


def html_fragment(view: View, caption: str | None = None) -> str:
    """Return the table and what is said about it, without any style; labels are escaped.

    The caption names the question, unless another is given.
    """
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("answer", *view.headings))
    rows = "".join(_row(row, view.scale) for row in view.rows)
    source = "" if view.source is None else f'<p class="source">{_text(view.source)}</p>'
    said = "".join(f"<p>{_text(line)}</p>" for line in (*view.notes, *view.doubts, _meaning(view)))
    title = _text(caption or view.heading)
    # Wide tables scroll sideways, and whoever has no mouse must be able to get there.
    return (
        f'<div class="deniable" role="region" aria-label="{title}" tabindex="0">'
        f"<table><caption>{title}</caption><thead><tr>"
        f'{heads}<th scope="col" class="verdict">significance</th>'
        f'<td aria-hidden="true"></td></tr></thead><tbody>{rows}</tbody></table>'
        f"{said}{source}</div>"
    )


def html_notebook(view: View) -> str:
    """Return the fragment with its style, for a page that has none."""
    return f"<style>{STYLE}</style>{html_fragment(view)}"


SHEET = _PAGE_STYLE + STYLE
"""The style of a page, for who serves it as a file."""


def html_page(view: View, title: str, sheet: str | None = None) -> str:
    """Return a page that needs nothing but itself, or but the style sheet at an address."""
    name, table = _text(title), html_fragment(view, view.headline)
    style = f"<style>{SHEET}</style>"
    if sheet is not None:
        style = f'<link rel="stylesheet" href="{escape(sheet)}">'
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"{_metas(view)}<title>{name}</title>{style}</head>\n"
        f'<body class="deniable-page"><h1>{name}</h1>\n{table}\n</body></html>\n'
    )


def _row(row: Row, scale: Scale) -> str:
    cells = "".join(f"<td>{escape(cell)}</td>" for cell in row.cells)
    kind = "yes" if row.significant else "no"
    return (
        f'<tr><th scope="row">{_text(row.label)}</th>{cells}'
        f'<td class="verdict {kind}">{row.verdict}</td>'
        f'<td class="picture" aria-hidden="true">{bar_svg(row, scale)}</td></tr>'
    )


def _metas(view: View) -> str:
    """Return where the numbers come from for programs, in full."""
    return "".join(
        f'<meta name="deniable.{name}" content="{escape(str(value))}">'
        for name, value in (view.provenance or {}).items()
        if value is not None
    )


def _meaning(view: View) -> str:
    """Say what the parts of the pictures are."""
    limit = "" if view.scale.limit is None else f"; dashes: {view.words.limit}"
    return f"bars: {view.words.value}; lines: {view.words.interval}{limit}"


def _text(text: str) -> str:
    return escape(printable(text))
