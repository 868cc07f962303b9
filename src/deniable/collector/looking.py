"""What the child process makes for pages: views of estimates and changes, trends, and plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from deniable import comparison
from deniable.advice import meaning
from deniable.advice import plan as solve
from deniable.collector.mathematics import Collected, estimates_of, question_of
from deniable.errors import InvalidParameter
from deniable.estimates import Estimates
from deniable.presentation import Point, Series, Trend, View, csv_text, json_text
from deniable.protocol import Memoising, Protocol
from deniable.protocols.hashing import OpenLH
from deniable.pure import Pure
from deniable.question import Question

TREND_ROWS = 5
"""So many answers a trend follows unless some are named."""
_LEVEL = 0.95
Candidates = list[str] | None


@dataclass(frozen=True)
class Look:
    """The largest rows of estimates, and what is said about all of them."""

    view: View
    error: float
    """The root of the mean squared standard error of the shares."""
    significant: int
    fakes: int | None
    """How many fake reports could move an answer by one percentage point; None: not known."""


def look(document: str, collected: Collected, candidates: Candidates, rows: int) -> Look:
    """Return what a page shows of estimates."""
    found = estimates_of(document, collected, candidates)
    error = float((found.std_errors**2).mean()) ** 0.5 / found.n
    fakes = fake_reports(question_of(document).protocol, found)
    return Look(found.top(rows).view(), error, int(found.significant().sum()), fakes)


def fake_reports(protocol: Protocol, found: Estimates) -> int | None:
    """Return the least number of made-up reports that moves the share of an answer by a point.

    One that supports an answer adds (1 - q*) / (p* - q*) people to its count, one that does not
    takes q* / (p* - q*) away, and each makes one person more. The smallest share is easiest to
    raise, and the largest to lower.
    """
    if not isinstance(protocol, Pure) or not len(found):
        return None
    q, gap = protocol.parameters.q, protocol.parameters.gap
    shares = found.frequencies.clip(0.0, 1.0)
    most = max((1 - q) / gap - float(shares.min()), q / gap + float(shares.max())) - 0.01
    return math.ceil(0.01 * found.reports / most)


def look_at_changes(
    document: str, both: tuple[Collected, Collected], candidates: Candidates, rows: int
) -> View:
    """Return what a page shows of the changes between two ranges of days."""
    before, after = (estimates_of(document, each, candidates) for each in both)
    return comparison.compare(before, after).top(rows).view()


def follow(
    document: str,
    days: Sequence[tuple[str, bytes]],
    total: Collected,
    candidates: Candidates,
    left_out: int,
) -> Trend:
    """Follow the named answers, or the largest of all days together, from day to day.

    A day is one round, in which each report is the only one of a person.
    """
    labels = candidates
    if labels is None:
        labels = list(estimates_of(document, total, None).top(TREND_ROWS).labels or ())
    daily = [(day, _points(day, estimates_of(document, Collected(tally), candidates), labels))
             for day, tally in days]  # fmt: skip
    return Trend(
        tuple(
            Series(label, tuple(points[place] for _, points in daily))
            for place, label in enumerate(labels)
        ),
        left_out,
    )


def _points(day: str, found: Estimates, labels: list[str]) -> list[Point]:
    """Return the shares of some answers on one day."""
    some = found.take([found.place(label) for label in labels])
    lower, upper = some.interval(_LEVEL)
    numbers = (some.frequencies, lower / some.n, upper / some.n)
    return [
        Point(day, some.n, *values)
        for values in zip(*(column.tolist() for column in numbers), strict=True)
    ]


def export_trend(document: str, trend: Trend, form: str) -> bytes:
    """Return a trend as CSV or JSON."""
    question = question_of(document)
    said: dict[str, object] = {
        "question": question.name,
        "digest": question.digest,
        "protocol": question.protocol.name,
        "epsilon": question.protocol.epsilon,
        "level": _LEVEL,
    }
    if isinstance(question.protocol, Memoising):
        said["law"] = "as many people as reports, on each day by itself"
    if form == "csv":
        return csv_text(trend.columns(), said).encode()
    return json_text(trend.columns(), {**said, "days_left_out": trend.left_out}, "trend").encode()


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
    users: int
    epsilon: float
    error: float
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
    sentences = (found.explanation, *((meaning(found.epsilon),) if found.reachable else ()))
    return Proposal(sentences, found.users, found.epsilon, found.error, found.reachable, document)


def _propose_open(draft: Draft) -> Proposal:
    """Plan a question that takes any text: what one candidate's count will be worth."""
    if draft.epsilon is None or draft.users is None:
        raise InvalidParameter(
            "expected people and epsilon for an open question, whose error follows from them; "
            "let the error be computed",
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
