"""The table of a view as pages have it: labels are cut there, and whole in the downloads."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from deniable.presentation import View, html_fragment
from deniable.presentation.labels import fit_labels

LABEL_WIDTH = 120


def table(view: View) -> Markup:
    """Return the table with its bars; different labels stay different."""
    names = fit_labels([row.label for row in view.rows], LABEL_WIDTH)
    rows = tuple(replace(row, label=name) for row, name in zip(view.rows, names, strict=True))
    return Markup(html_fragment(replace(view, rows=rows), view.headline))
