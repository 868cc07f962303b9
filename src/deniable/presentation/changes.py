"""The view of a comparison: shares before and after, and how far they moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable.presentation.rows import (
    Row,
    Scale,
    View,
    Words,
    disagreements,
    of_all,
    percent,
    sample,
    source,
)

if TYPE_CHECKING:
    from deniable.estimates import Estimates


@dataclass(frozen=True)
class Change(Row):
    """How the share of one answer changed; the interval is that of the difference."""

    first: float
    second: float

    @property
    def difference(self) -> float:
        """The second share less the first."""
        return self.second - self.first

    @property
    def value(self) -> float:
        """The difference."""
        return self.difference

    @property
    def cells(self) -> tuple[str, ...]:
        """Both shares, the change in percentage points, and its interval."""
        return (
            f"{100 * self.first:z.2f} %",
            f"{100 * self.second:z.2f} %",
            _points(self.difference),
            f"{_points(self.lower)} to {_points(self.upper)}",
        )


def view_changes(
    rows: tuple[Change, ...], first: Estimates, second: Estimates, *, level: float, alpha: float
) -> View:
    """Return the view of the changes from one estimate to another, in the order they have."""
    provenance, total = first.provenance, max(first.total, second.total)
    said = (
        f"significant: changed (alpha = {alpha:g}, {total:,} answers)",
        "first, second: shares of all people; change: the second less the first, in percentage "
        "points",
        *(
            f"{place}, {each.repeats.sentence}"
            for place, each in (("first", first), ("second", second))
            if each.repeats is not None
        ),
    )
    return View(
        rows=rows,
        headings=("first", "second", "change", f"{percent(level)} interval"),
        scale=Scale.over(rows, signed=True),
        words=Words(
            value="change of the share",
            interval=f"{percent(level)} interval",
            axis="change of the share (percentage points)",
        ),
        name=name(first, second),
        headline=f"changes of {of_all(len(rows), total)} between {_before(first)} and "
        f"{sample(second)}",
        source=None if provenance is None else source(provenance),
        notes=said,
        doubts=disagreements(rows, level=level, alpha=alpha, total=total),
        n=first.n + second.n,
        reports=first.reports + second.reports,
        provenance=constants(first, second),
        signed=True,
    )


def name(first: Estimates, second: Estimates) -> str | None:
    """Return the name of the question, or of both where they have two."""
    before, after = (
        None if each.provenance is None else each.provenance.question for each in (first, second)
    )
    return before if before == after else f"{before} and {after}"


def _before(first: Estimates) -> str:
    return f"{first.n:,}" if first.repeats is None else sample(first)


def constants(first: Estimates, second: Estimates) -> dict[str, object] | None:
    """Return where changes come from, by the names of the exports, with both numbers of people."""
    said = first.constants()
    if said is None:
        return None
    both = {"first": first, "second": second}
    numbers: dict[str, object] = {f"{place}_n": each.n for place, each in both.items()}
    for place, each in both.items():
        if each.repeats is not None:
            numbers |= {f"{place}_reports": each.reports, f"{place}_law": str(each.repeats)}
    other = second.constants() or {}
    if other.get("digest") != said.get("digest"):
        numbers |= {"second_question": other.get("question"), "second_digest": other.get("digest")}
    shared = {key: said[key] for key in said if key not in ("n", "reports", "law")}
    return shared | numbers


def _points(share: float) -> str:
    text = f"{100 * share:z.2f}"
    return text if text.startswith("-") or not float(text) else f"+{text}"
