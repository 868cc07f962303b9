"""What the worker process does: add up tallies, estimate, draw what pages show, plan questions.

The functions are pure, documents and bytes in, bytes out; the mathematics itself is the library's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from deniable import comparison
from deniable.advice import meaning
from deniable.advice import plan as solve
from deniable.errors import DeniableError, InvalidDocument, InvalidParameter
from deniable.estimates import Estimates
from deniable.presentation.exports import MOST_ROWS, Presentable
from deniable.presentation.html import html_page
from deniable.presentation.tables import csv_text, json_text
from deniable.presentation.trend import Point, Series, Trend
from deniable.presentation.view import View
from deniable.protocol import Protocol
from deniable.protocols.hashing import OpenLH
from deniable.question import Question
from deniable.tally import Tally

FORMATS = {"json": "application/json", "csv": "text/csv; charset=utf-8", "html": "text/html"}
_BATCH = 1 << 20
"""Bytes of reports that are added at once."""
SHEET_PATH = "/static/estimates.css"
"""Where the style of HTML is: the policy of all pages allows none that is inline."""


@lru_cache(maxsize=32)
def question_of(document: str) -> Question:
    """Read a question, unless it was read before."""
    return Question.from_json(document)


def warm_up(documents: Sequence[str]) -> None:
    """Estimate from one report of no consequence, so that the first real estimate is no slower."""
    for document in documents:
        question = question_of(document)
        labels = list(question.labels or ("warm",))[:1]
        with suppress(DeniableError):  # some protocols give no report without a client's secret
            report = question.privatize(labels).tobytes()
            estimate(document, Collected(add_up(document, [], [report])), labels, "json")


def fold(document: str, tally: bytes | None, reports: bytes) -> tuple[bytes, int]:
    """Add reports to a tally; return the new one and its number of reports."""
    total = _sum(document, [] if tally is None else [tally], [reports])
    return total.to_bytes(), total.n


class Faults(NamedTuple):
    """What of a pile cannot be added and why: rows by their places, and the tally."""

    rows: dict[int, str]
    tally: str | None = None


def find_faults(
    document: str, tally: tuple[bytes, int] | None, parts: Sequence[tuple[int, bytes]]
) -> Faults:
    """Find out why a pile does not fold; what nobody else is to blame for is everybody's fault.

    The tally and each part come with the number of reports that they are said to have.
    """
    rows: dict[int, str] = {}
    for place, (n, reports) in enumerate(parts):
        if (said := find_fault(document, n, [], [reports])) is not None:
            rows[place] = said
    unread = find_fault(document, tally[1], [tally[0]], []) if tally else None
    if not rows and unread is None:
        rows = dict.fromkeys(range(len(parts)), "it cannot be added to the others")
    return Faults(rows, unread)


def find_fault(
    document: str, n: int, tallies: Sequence[bytes], waiting: Sequence[bytes]
) -> str | None:
    """Say why tallies and reports cannot be added up to ``n`` reports, if so."""
    try:
        found = _sum(document, tallies, waiting).n
    except DeniableError as error:
        return f"it cannot be read: {error}"
    return None if found == n else f"it has {found} reports and says {n}"


def add_up(document: str, tallies: Sequence[bytes], waiting: Sequence[bytes]) -> bytes:
    """Add up the tallies and the reports of a range of days, leaving out what cannot be read."""
    try:
        total = _sum(document, tallies, waiting)
    except DeniableError:  # housekeeping will set it aside; whoever reads need not wait for that
        total = _sum(
            document,
            [tally for tally in tallies if _readable(document, [tally], [])],
            [reports for reports in waiting if _readable(document, [], [reports])],
        )
    return total.to_bytes()


def _readable(document: str, tallies: Sequence[bytes], waiting: Sequence[bytes]) -> bool:
    try:
        _sum(document, tallies, waiting)
    except DeniableError:
        return False
    return True


def _sum(document: str, tallies: Sequence[bytes], waiting: Sequence[bytes]) -> Tally:
    question = question_of(document)
    total = question.accumulator()
    for reports in _joined(waiting):
        total.add(question.parse(reports, None))
    for tally in tallies:
        total.merge(Tally.from_bytes(tally))
    return total.tally()


def _joined(waiting: Sequence[bytes]) -> Iterator[bytes]:
    """Yield groups of reports joined into larger ones: adding each by itself costs more."""
    start, size = 0, 0
    for end, reports in enumerate(waiting, 1):
        size += len(reports)
        if size >= _BATCH or end == len(waiting):
            yield b"".join(waiting[start:end])
            start, size = end, 0


def check_upload(document: str, data: bytes) -> tuple[bytes, int]:
    """Read a tally that was collected elsewhere, and return it with its number of reports.

    Merging refuses a tally that names another question, or none.
    """
    total = _sum(document, [data], [])
    if total.n == 0:
        raise InvalidDocument("expected a tally of at least one report, got an empty one", value=0)
    return total.to_bytes(), total.n


@dataclass(frozen=True)
class Reading:
    """A question document that was read, and what collecting it will cost."""

    digest: str
    name: str
    document: str
    report_size: int
    tally_size: int


def read_question(document: bytes) -> Reading:
    """Read a question that somebody sent; its empty tally is the smallest that a day can have."""
    question = Question.from_json(document)
    text = question.to_json()
    size = question.protocol.report_dtype.itemsize
    return Reading(question.digest, question.name, text, size, len(_sum(text, [], []).to_bytes()))


@dataclass(frozen=True)
class Collected:
    """The tally of some days, on how many reports came, and how many people answered, if known."""

    tally: bytes
    days: int = 1
    people: int | None = None


def estimate(document: str, collected: Collected, candidates: list[str] | None, form: str) -> bytes:
    """Estimate from a tally, and return the result in one of ``FORMATS``."""
    return _render(estimates_of(document, collected, candidates), form, question_of(document).name)


def estimates_of(document: str, collected: Collected, candidates: list[str] | None) -> Estimates:
    """Estimate from a tally; of people who may answer again each day is a round."""
    question, tally = question_of(document), Tally.from_bytes(collected.tally)
    if collected.people is not None or not question.protocol.memoises:
        return question.estimate(tally, candidates, people=collected.people)
    found = question.estimate(tally, candidates, rounds=max(1, collected.days))
    return replace(found, repeats=found.repeats and replace(found.repeats, unit="day"))


def _render(estimates: Presentable, form: str, title: str) -> bytes:
    if form == "csv":
        return estimates.to_csv().encode()
    if form == "html":
        shown = estimates if len(estimates) <= MOST_ROWS else estimates.top(MOST_ROWS)
        return html_page(shown.view(), title, SHEET_PATH).encode()
    return estimates.to_json().encode()


def compare(
    document: str, both: tuple[Collected, Collected], candidates: list[str] | None, form: str
) -> bytes:
    """Compare two tallies that have no report in common, and return the result in a format."""
    before, after = (estimates_of(document, each, candidates) for each in both)
    return _render(comparison.compare(before, after), form, question_of(document).name)


TREND_ROWS = 5
"""So many answers a trend follows unless some are named."""
_LEVEL = 0.95
Candidates = list[str] | None


@dataclass(frozen=True)
class Look:
    """The largest rows of estimates, and what is said about all of them."""

    view: View
    error: float | None
    """The root of the mean squared standard error of the shares, where it is known."""
    significant: int | None
    fakes: int | None
    """How many fake reports could move an answer by one percentage point; None: not known."""


def look(document: str, collected: Collected, candidates: Candidates, rows: int) -> Look:
    """Return what a page shows of estimates."""
    found = estimates_of(document, collected, candidates)
    fakes = fake_reports(question_of(document).protocol, found)
    errors, verdicts = found.std_errors, found.significant()
    return Look(
        found.top(rows).view(),
        None if errors is None else float(np.nanmean(errors**2)) ** 0.5 / found.n,
        None if verdicts is None else int(verdicts.sum()),
        fakes,
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
    return [
        Point(day, some.n, row.share, *(end and end / some.n for end in (row.lower, row.upper)))
        for row in some.rows(level=_LEVEL)
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
    if question.protocol.memoises:
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
