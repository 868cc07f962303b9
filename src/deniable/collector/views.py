"""What pages show of results and plans, made in the worker process: sentences, tables, curves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from deniable.advice import meaning
from deniable.advice import plan as solve
from deniable.collector.jobs import TREND_ROWS, Sums
from deniable.errors import DeniableError, InvalidParameter
from deniable.estimates import Estimates
from deniable.presentation.html import html_fragment
from deniable.presentation.text import fit_labels, one_line
from deniable.presentation.trend import Trend, trend_svg
from deniable.presentation.view import View, counted
from deniable.protocol import Protocol
from deniable.protocols.hashing import OpenLH
from deniable.question import Question

_LABEL_WIDTH = 120
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
_CELL = Markup('<td class="number">{}</td>')
_FIGURE = Markup("""\
<figure>
<figcaption><bdi>{label}</bdi></figcaption>
{picture}
<details id="trend-table-{number}"><summary class="small">Numbers\
<span class="unseen"> of {label}</span></summary>
<div class="scroll" tabindex="0" role="region" aria-label="Numbers of {label}">\
<table class="plain small"><thead><tr><th scope="col">day</th>\
<th scope="col" class="number">reports</th><th scope="col" class="number">share</th>\
<th scope="col" class="number">95 % interval</th></tr></thead>
<tbody>
{rows}</tbody></table></div></details>
</figure>""")


@dataclass(frozen=True)
class Look:
    """What a page shows of sums: the largest answers, changes, and the way from day to day."""

    reports: int
    largest: str
    """A sentence for people who do not see the table."""
    table: Markup
    error: str | None
    """The typical standard error of the shares in percentage points, where it is known."""
    significant: str | None
    fakes: str | None
    changes: Markup | None
    curves: Markup
    """From the second day on."""
    trend_note: str


def look(sums: Sums, rows: int) -> Look:
    """Return what a page shows, with at most so many answers."""
    found = sums.estimates()
    view = found.top(rows).view()
    wanted, days = sums.order.wanted, sums.order.days
    followed = [row.label for row in view.rows[:TREND_ROWS]]
    trend = sums.trend(followed) if days else None
    errors, verdicts = found.std_errors, found.significant()
    return Look(
        reports=view.reports,
        largest=_largest(view),
        table=table(view),
        error=None if errors is None else f"± {_typical(errors / found.n):.2g}",
        significant=None if verdicts is None else f"{int(verdicts.sum()):,}",
        fakes=_fakes(sums.question.protocol, found, view.reports),
        changes=_changes(sums, rows) if {*wanted.parts[1:]} & {*sums.tallies} else None,
        curves=Markup() if trend is None else _curves(trend),
        trend_note="" if trend is None else _trend_note(sums.question.protocol, trend),
    )


def _typical(errors: npt.NDArray[np.float64]) -> float:
    return 100 * math.sqrt(np.nanmean(errors**2))


def _largest(view: View) -> str:
    if not view.rows:
        return ""
    row = view.rows[0]
    return f" Largest: {one_line(row.label)}, {', '.join(row.cells[:2])}."


def table(view: View) -> Markup:
    """Return a table with its bars; long labels are cut, and different ones stay different."""
    names = fit_labels([row.label for row in view.rows], _LABEL_WIDTH)
    rows = tuple(replace(row, label=name) for row, name in zip(view.rows, names, strict=True))
    found = html_fragment(replace(view, rows=rows), view.headline)
    for tag, role in _ROLES.items():  # text is escaped, so that these are the tags alone
        found = found.replace(f"<{tag}", f'<{tag} role="{role}"')
    return Markup(found)


def _fakes(protocol: Protocol, found: Estimates, reports: int) -> str | None:
    fakes = fake_reports(protocol, found)
    if fakes is None:
        return None
    return (
        f"{counted(fakes, 'fake report')} ({100 * fakes / reports:.2g} % of all) could move an "
        "answer by one percentage point. Whoever can send reports can do that; limit the senders "
        "where it matters."
    )


def fake_reports(protocol: Protocol, found: Estimates) -> int | None:
    """Return the least number of made-up reports that moves the share of an answer by a point.

    One that supports an answer adds (1 - q*) / (p* - q*) people to its count, one that does not
    takes q* / (p* - q*) away, and each makes one person more. The smallest share is easiest to
    raise, and the largest to lower.
    """
    known = protocol.parameters
    if known is None or not len(found):
        return None
    q, gap = known.q, known.gap
    shares = found.shares.clip(0.0, 1.0)
    most = max((1 - q) / gap - float(shares.min()), q / gap + float(shares.max())) - 0.01
    return math.ceil(0.01 * found.reports / most)


def _changes(sums: Sums, rows: int) -> Markup:
    first, second = (part.days.first for part in sums.order.wanted.parts)
    try:
        return table(sums.compared(int(second < first)).top(rows).view())
    except DeniableError as error:
        return Markup("<p>The two ranges cannot be compared: {}.</p>").format(error)


def _curves(trend: Trend) -> Markup:
    """Return a picture for each answer, with its numbers as a table below."""
    if all(len(series.points) < 2 for series in trend.series):
        return Markup()
    names = fit_labels([series.label for series in trend.series], _LABEL_WIDTH)
    found = (
        _FIGURE.format(
            label=name,
            picture=Markup(trend_svg(trend, series, f"trend-{place}")),
            number=place + 1,
            rows=Markup("").join(
                Markup('<tr><th scope="row">{}</th>{}</tr>\n').format(
                    point.day, Markup("").join(map(_CELL.format, point.cells))
                )
                for point in series.points
            ),
        )
        for place, (name, series) in enumerate(zip(names, trend.series, strict=True))
    )
    return Markup("\n").join(found)


def _trend_note(protocol: Protocol, trend: Trend) -> str:
    """Return by which law days are judged where people may answer again, and what is left out."""
    said = []
    if protocol.memoises:
        said.append("Each day is judged by itself, by the law of as many people as answered on it.")
    if trend.left_out:
        days = "1 day is" if trend.left_out == 1 else f"{trend.left_out} days are"
        said.append(f"{days} left out: too few reports, or more than a month back.")
    return " ".join(said)


@dataclass(frozen=True)
class Draft:
    """A question as a form describes it; of users, epsilon and error one is to be solved for."""

    name: str = ""
    labels: tuple[str, ...] | None = ()
    other: str | None = None
    users: int | None = None
    epsilon: float | None = None
    error: float | None = None
    protocol: str | None = None


@dataclass(frozen=True)
class Proposal:
    """A plan in sentences, and the question that it leads to, if all is there for one."""

    sentences: tuple[str, ...]
    users: int | None
    epsilon: float | None
    error: float | None
    reachable: bool
    document: str | None


def propose(draft: Draft) -> Proposal:
    """Plan a question, and make it if it has a name."""
    if draft.labels is None:
        return _propose_open(draft)
    labels = draft.labels
    if draft.other is not None and draft.other not in labels:
        labels = (*labels, draft.other)
    found = solve(
        len(labels),
        users=draft.users,
        epsilon=draft.epsilon,
        error=draft.error,
        protocol=draft.protocol,
    )
    # Made also without a name, so that labels which no question can have are told at once.
    made = Question(draft.name or "?", labels, found.protocol, other=draft.other)
    document = made.to_json() if draft.name and found.reachable else None
    told = () if found.epsilon is None or not found.reachable else (meaning(found.epsilon),)
    sentences = (found.explanation, *told)
    return Proposal(sentences, found.users, found.epsilon, found.error, found.reachable, document)


def _propose_open(draft: Draft) -> Proposal:
    """Plan a question that takes any text: what one candidate's count will be worth."""
    if draft.epsilon is None or draft.users is None:
        raise InvalidParameter(
            "an open question needs people and epsilon, from which the error follows; let the "
            "error be computed",
            value=None,
        )
    if draft.protocol is not None:
        raise InvalidParameter.expected(
            "no protocol for an open question, which takes OpenLH",
            draft.protocol,
            "choose the best one",
        )
    protocol = OpenLH(draft.epsilon)
    error = float(protocol.variance(draft.users)) ** 0.5 / draft.users
    size = protocol.report_dtype.itemsize
    sentences = (
        f"With {draft.users:,} people, {protocol.name} at epsilon = {protocol.epsilon:g} estimates "
        f"the share of any text you name later with a standard error of {100 * error:.3g} %, if "
        f"few people gave it; a report takes {size} bytes.",
        meaning(protocol.epsilon),
    )
    document = Question(draft.name, None, protocol).to_json() if draft.name else None
    return Proposal(sentences, draft.users, draft.epsilon, error, True, document)
