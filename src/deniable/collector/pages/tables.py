"""The table of a view as pages have it: labels are cut there, and whole in the downloads."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from deniable.presentation import View, html_fragment
from deniable.presentation.labels import fit_labels

LABEL_WIDTH = 120
_ROLES = {
    "table": "table",
    "thead": "rowgroup",
    "tbody": "rowgroup",
    "tr": "row",
    'th scope="col"': "columnheader",
    'th scope="row"': "rowheader",
    "td": "cell",
}
"""On narrow screens rows are blocks, which browsers take for no table unless told."""


def table(view: View) -> Markup:
    """Return the table with its bars; different labels stay different."""
    names = fit_labels([row.label for row in view.rows], LABEL_WIDTH)
    rows = tuple(replace(row, label=name) for row, name in zip(view.rows, names, strict=True))
    found = html_fragment(replace(view, rows=rows), view.headline)
    for tag, role in _ROLES.items():  # text is escaped, so that these are the tags alone
        found = found.replace(f"<{tag}", f'<{tag} role="{role}"')
    return Markup(found)
