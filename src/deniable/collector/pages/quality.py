"""The quality of what came in: alarms, traffic by day, sources by size, and what was changed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from deniable.advice import meaning, reveals
from deniable.collector.alarms import Alarm, unwatched
from deniable.collector.metrics import ACCEPTED, REPEATED
from deniable.collector.pages.head import Head, head_of, is_admin
from deniable.collector.pages.templating import page
from deniable.collector.questions import Entry, Known
from deniable.collector.requests import Call
from deniable.collector.stores.records import Slice, Standing, today, write_day
from deniable.presentation.trend import short_date
from deniable.presentation.view import counted

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
    unwatched: str | None
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


async def show(call: Call) -> Response:
    """Show the tab."""
    query, known = call.query("done"), await call.known()
    digest = known.asked.digest
    sources, standing = await call.services.readers.run(
        lambda store: (store.sources(digest), store.standing(Slice(digest)))
    )
    alarms = await call.services.alarms.lately(known)
    odd = {alarm.source: "stands out" for alarm in alarms}
    total = sum(source.n for source in sources) or 1
    protocol = known.question.protocol
    shown = QualityPage(
        head=head_of(known, standing, "quality", query.get("done", "")),
        alarms=alarms,
        unwatched=unwatched(known),
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
