"""What the child process is asked to do: add tallies, make estimates, compare them.

The functions are pure, documents and bytes in, bytes out; the mathematics itself is the library's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from deniable import comparison
from deniable.errors import DeniableError, InvalidDocument
from deniable.estimates import Estimates
from deniable.presentation import MOST_ROWS, Presentable, html_page
from deniable.protocol import Memoising
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
    if collected.people is not None or not isinstance(question.protocol, Memoising):
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
