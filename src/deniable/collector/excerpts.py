"""Estimates as a table of the page on which a question can be tried; made in the child process."""

from __future__ import annotations

from deniable.presentation import html_fragment
from deniable.question import Question
from deniable.tally import Tally

ROWS = 25


def table(document: str, tally: bytes) -> str:
    """Return the largest estimates of a closed question, as HTML without any style."""
    estimates = Question.from_json(document).estimate(Tally.from_bytes(tally))
    shown = estimates if len(estimates) <= ROWS else estimates.top(ROWS)
    view = shown.view()
    return html_fragment(view, view.headline)
