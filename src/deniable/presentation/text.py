"""Estimates as text: a table with bars, and labels made safe for one line."""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from typing import TYPE_CHECKING

from deniable.presentation.data import keys

if TYPE_CHECKING:
    from deniable.estimates import Estimates

_BAR_WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"


def text_table(estimates: Estimates, level: float, alpha: float) -> str:
    """Return a table of all rows, in the order they have here."""
    lower, upper = estimates.interval(level)
    longest = max(estimates.counts.max(initial=0.0), 1e-300)
    rows = [("answer", "count", "share", f"{percent(level)} interval", "")]
    for key, count, low, high, stands_out in zip(
        keys(estimates), estimates.counts, lower, upper, estimates.significant(alpha), strict=True
    ):
        rows.append(
            (
                one_line(str(key)),
                f"{count:z,.0f}",
                f"{100 * count / estimates.n:z.2f} %",
                f"{low:z,.0f} to {high:z,.0f}",
                f"{'*' if stands_out else ' '} {_bar(count / longest)}".rstrip(),
            )
        )
    widths = [max(columns_of(row[column]) for row in rows) for column in range(4)]
    lines = []
    for name, *numbers, bar in rows:
        padded = [cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True)]
        space = " " * (widths[0] - columns_of(name))
        lines.append("  ".join([name + space, *padded, bar]).rstrip())
    return "\n".join([headline(estimates), *lines, *notes(estimates, level, alpha)])


def headline(estimates: Estimates) -> str:
    """Return what the rows are, in one line."""
    shown = f"{len(estimates):,} of " if len(estimates) != estimates.total else ""
    reports = f"{estimates.n:,} report{'' if estimates.n == 1 else 's'}"
    return f"{shown}{estimates.total:,} answers, estimated from {reports}"


def notes(estimates: Estimates, level: float, alpha: float) -> list[str]:
    """Return what a reader has to know about intervals and stars, in one line each."""
    own = "" if estimates.law is not None else " and as far by its own error"
    said = [
        f"* significant: above {estimates.least_significant(alpha):,.0f}{own} "
        f"(alpha = {alpha:g}, {estimates.total:,} answers)"
    ]
    if estimates.adjusted is not None:
        said.append(
            f"counts adjusted by {estimates.adjusted}; the {percent(level)} intervals and the "
            "stars are those of the unbiased counts"
        )
    return said


def percent(share: float) -> str:
    """Return a share in percent, with the digits it was given; only all is 100 %.

    >>> percent(0.95), percent(0.999), percent(0.999999999999999)
    ('95 %', '99.9 %', '99.9999999999999 %')
    """
    shown = f"{100 * share:.10g}"
    if shown == "100":
        shown = f"{(100 * Decimal(repr(float(share)))).normalize():f}"
    return f"{shown} %"


def one_line(label: str, width: int = 40) -> str:
    r"""Return a label as it can be printed in ``width`` columns: no control characters, cut short.

    >>> print(one_line("two\nlines"), one_line("x" * 50, width=5))
    two\nlines xxxx…
    """
    shown = [
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in label[: 4 * width] or '""'
    ]
    if len(label) <= 4 * width and columns_of("".join(shown)) <= width:
        return "".join(shown)
    kept, used = "", 0
    for piece in shown:
        used += columns_of(piece)
        if used >= width:
            break
        kept += piece
    return kept + "…"


def columns_of(text: str) -> int:
    """Return how many columns a terminal takes for printable text."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _bar(share: float) -> str:
    eighths = max(round(share * _BAR_WIDTH * 8), 0)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
