"""The quality of what came in: alarms, traffic by day, sources by size, and what was changed."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from time import monotonic
from typing import NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from deniable.advice import meaning, reveals
from deniable.collector.folding import question_of, readable_sum
from deniable.collector.metrics import ACCEPTED, REPEATED
from deniable.collector.pages.head import Head, head_of, is_admin
from deniable.collector.pages.templating import page
from deniable.collector.questions import Entry, Known
from deniable.collector.requests import Call
from deniable.collector.stores.records import Days, Slice, Snapshot, Standing, today, write_day
from deniable.poisoning import Suspicion, suspects
from deniable.presentation.text import one_line
from deniable.presentation.trend import short_date
from deniable.presentation.view import counted

_WATCHED = 3
"""On how many of the latest days sources are compared."""
_FRESH = 20.0
"""For how many seconds alarms are remembered."""
_TRAFFIC_DAYS = 31
_REASONS = {
    "invalid-report": "bytes that no client of this question can have sent",
    "outside-window": "a day that is not open",
    "question-closed": "the question was closed",
    "origin-refused": "a page of a site that is not listed",
    "conflict": "another report under an id that was used before",
    "too-large": "more bytes than one report has",
    "queue-full": "too many at once; clients send again",
    "invalid-request": "a request that was not understood",
    "unauthorized": "a token that is not known",
    "forbidden": "a token of another role",
}


class Alarm(NamedTuple):
    """What is suspicious about a source on a day, in words."""

    source: str
    day: str
    title: str
    sentence: str


class Contributor(NamedTuple):
    """A source, how much it sent, and what can be done about it."""

    name: str
    reports: str
    share: str
    excluded: bool
    some_days: bool
    alarm: str
    expected: bool


@dataclass(frozen=True)
class QualityPage:
    """The whole tab."""

    head: Head
    alarms: tuple[Alarm, ...]
    traffic: Markup
    traffic_note: str
    days: tuple[tuple[str, str], ...]
    received: tuple[tuple[str, str], ...]
    sources: tuple[Contributor, ...]
    protocol: str
    meaning: str
    history: tuple[Entry, ...]
    admin: bool
    place: str = "question"


Found = tuple[tuple[int, Suspicion], ...]
_recent: dict[tuple[int, str], tuple[float, Found]] = {}


async def suspicions(call: Call, known: Known) -> Found:
    """Return what is suspicious on the latest days, without sources that are expected to differ."""
    place = (id(call.services), known.asked.digest)
    at, found = _recent.get(place, (-_FRESH, ()))
    if monotonic() - at >= _FRESH:
        digest, first = known.asked.digest, today() - _WATCHED + 1
        part = Slice(digest, Days(first, today() + 1))
        rows = await call.services.readers.run(lambda store: store.snapshot(part))
        found = ()
        if len({row.source for row in (*rows.tallies, *rows.waiting)}) > 1:
            found = await call.services.worker.run(watch, known.asked.document, rows)
        if len(_recent) > 1000:
            _recent.clear()
        _recent[place] = monotonic(), found
    return _unexpected(known, found)


def _unexpected(known: Known, found: Found) -> Found:
    return tuple(each for each in found if each[1].source not in known.terms.expected)


def remembered(call: Call, known: Known) -> str:
    """Return the most important alarm that was found of late, without looking for one."""
    _, found = _recent.get((id(call.services), known.asked.digest), (0.0, ()))
    return next((alarm_of(known, *each).title for each in _unexpected(known, found)), "")


def watch(document: str, rows: Snapshot) -> Found:
    """Compare the sources of each day; the work of the other process."""
    found: list[tuple[int, Suspicion]] = []
    days = sorted({row.day for row in (*rows.tallies, *rows.waiting)}, reverse=True)
    for day in days:
        data: dict[str, tuple[list[bytes], list[bytes]]] = defaultdict(lambda: ([], []))
        for kind, some in enumerate((rows.tallies, rows.waiting)):
            for row in some:
                if row.day == day:
                    data[row.source][kind].append(row.data)
        question = question_of(document)
        if question.labels is not None:
            tallies = {name: readable_sum(question, *both) for name, both in data.items()}
            found += [(day, each) for each in suspects(tallies)]
    return tuple(found)


async def headline(call: Call, known: Known) -> str:
    """Return the most important alarm in one sentence, or nothing."""
    await suspicions(call, known)
    return remembered(call, known)


def alarm_of(known: Known, day: int, found: Suspicion) -> Alarm:
    """Say what is suspicious, and which of the two it is."""
    source, labels = one_line(found.source), known.question.labels or ()
    when = "today" if day == today() else f"on {short_date(write_day(day))}"
    about = counted(found.extra, "report")
    if found.impossible:
        title = f"{source} sent reports {when} that no honest people can have sent."
        said = (
            f"They support another number of answers than any honest people's, whatever these "
            f"answered. About {about} like that would explain it."
        )
    else:
        label = one_line(labels[found.answer or 0], 60)
        title = f"{source} differs from the other sources {when}: too many reports for “{label}”."
        said = (
            f"About {about} for it are more than chance explains. They may be made up; or other "
            f"people send through this source, in which case mark it as expected."
        )
    return Alarm(found.source, write_day(day), title, said)


async def show(call: Call) -> Response:
    """Show the tab."""
    query, known = call.query("done"), await call.known()
    digest = known.asked.digest
    sources, standing = await call.services.readers.run(
        lambda store: (store.sources(digest), store.standing(Slice(digest)))
    )
    alarms = tuple(alarm_of(known, *each) for each in await suspicions(call, known))
    odd = {alarm.source: "stands out" for alarm in alarms}
    total = sum(source.n for source in sources) or 1
    protocol = known.question.protocol
    shown = QualityPage(
        head=head_of(known, standing, "quality", query.get("done", "")),
        alarms=alarms,
        traffic=_traffic(standing),
        traffic_note=_traffic_note(standing),
        days=tuple((write_day(day), f"{n:,}") for day, n in reversed(standing.daily)),
        received=_received(call, known),
        sources=tuple(
            Contributor(
                source.name,
                f"{source.n:,}",
                f"{100 * source.n / total:.1f}\u00a0%",
                source.excluded,
                bool(source.excluded_days),
                odd.get(source.name, ""),
                source.name in known.terms.expected,
            )
            for source in sorted(sources, key=lambda each: -each.n)
        ),
        protocol=f"{protocol.name}: {reveals(protocol)}",
        meaning=meaning(
            protocol.epsilon, forever=protocol.total_epsilon if protocol.memoises else None
        ),
        history=tuple(reversed(known.terms.history)),
        admin=is_admin(call),
    )
    return page("quality.html", shown)


def _traffic(standing: Standing) -> Markup:
    """Return a bar for each of the latest days; the table below has the same numbers."""
    daily = dict(standing.daily)
    days = range(today() - _TRAFFIC_DAYS + 1, today() + 1)
    most = max((daily.get(day, 0) for day in days), default=0) or 1
    wide = 100 / _TRAFFIC_DAYS
    bars = (
        Markup('<rect x="{:.2f}%" y="{:.1f}" width="{:.2f}%" height="{:.1f}"/>').format(
            wide * place,
            96 - 92 * daily.get(day, 0) / most,
            0.8 * wide,
            92 * daily.get(day, 0) / most,
        )
        for place, day in enumerate(days)
    )
    return Markup('<svg class="traffic" focusable="false" aria-hidden="true">{}</svg>').format(
        Markup("").join(bars)
    )


def _traffic_note(standing: Standing) -> str:
    recent = [(n, day) for day, n in standing.daily if day > today() - _TRAFFIC_DAYS]
    if not recent:
        return f"No reports in the last {_TRAFFIC_DAYS} days."
    most, day = max(recent)
    total = sum(n for n, _ in recent)
    return (
        f"{counted(total, 'report')} in the last {_TRAFFIC_DAYS} days, most on "
        f"{short_date(write_day(day))}: {most:,}."
    )


def _received(call: Call, known: Known) -> tuple[tuple[str, str], ...]:
    found: Mapping[str, int] = call.services.counters.questions.get(known.asked.digest, Counter())
    refused: Sequence[tuple[str, int]] = [
        (name, n) for name, n in found.items() if name not in (ACCEPTED, REPEATED)
    ]
    return (
        ("accepted submissions, of one report or more", f"{found.get(ACCEPTED, 0):,}"),
        ("repeated: sent again, counted once", f"{found.get(REPEATED, 0):,}"),
        *[
            (f"refused: {_REASONS.get(name, name)}", f"{n:,}")
            for name, n in sorted(refused, key=itemgetter(1), reverse=True)
        ],
    )
