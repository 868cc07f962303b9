"""The quality of what came in: alarms, traffic by day, sources by size, and what was changed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from deniable.advice import meaning, reveals, surest
from deniable.collector.alarms import Alarm, unwatched
from deniable.collector.metrics import ACCEPTED, REPEATED
from deniable.collector.pages.head import Head, head_of, is_admin
from deniable.collector.pages.templating import page
from deniable.collector.questions import Entry
from deniable.collector.requests import Call
from deniable.collector.stores.records import Slice, Standing, today, write_day
from deniable.presentation.trend import short_date
from deniable.presentation.view import counted

_TRAFFIC_DAYS = 31
_BOX = Markup('<rect class="{}" x="{:.2f}%" y="{:.1f}" width="{:.2f}%" height="{:.1f}"/>')
_TICK = Markup('<text x="{:.2f}%" y="108" text-anchor="{}">{}</text>')
_LINE = Markup('<line x2="100%" y1="92.5" y2="92.5"/>')
Received = Mapping[tuple[int, str], int]
"""What became of submissions, by the day on which they came."""
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
    refusals: bool
    days: tuple[tuple[str, str, str, str], ...]
    received: tuple[tuple[str, str], ...]
    sources: tuple[Contributor, ...]
    surest: str
    """How sure of an answer one report can make somebody who thought it as likely as not."""
    protocol: str
    meaning: str
    realised: str
    """What the dice of devices spend, by exact arithmetic over their weights."""
    holds: bool
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
    protocol, repeat = known.question.protocol, known.question.repeat
    found, daily = call.services.counters.questions.get(digest, Counter()), dict(standing.daily)
    again, refused = _by_day(found)
    shown = QualityPage(
        head=head_of(known, standing, "quality", query.get("done", "")),
        alarms=alarms,
        unwatched=unwatched(known),
        traffic=_traffic(daily, again, refused),
        traffic_note=_traffic_note(standing),
        refusals=bool(again or refused),
        days=tuple(
            (write_day(day), f"{daily.get(day, 0):,}", f"{again[day]:,}", f"{refused[day]:,}")
            for day in sorted({*daily, *again, *refused}, reverse=True)
        ),
        received=_received(found),
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
        surest=surest(protocol.epsilon),
        protocol=f"{protocol.name}: {reveals(protocol, repeat.times if repeat else None)}.",
        meaning=meaning(
            protocol.epsilon, forever=protocol.total_epsilon if protocol.memoises else None
        ),
        realised=f"ε = {protocol.realised_epsilon:.6g} of {protocol.epsilon:g}",
        holds=protocol.realised_epsilon <= protocol.epsilon,
        history=tuple(reversed(known.terms.history)),
        admin=is_admin(call),
    )
    return page("quality.html", **vars(shown))


def _by_day(found: Received) -> tuple[Counter[int], Counter[int]]:
    """Return how many submissions were repeated, and how many refused, on each day."""
    again, refused = Counter[int](), Counter[int]()
    for (day, what), n in found.items():
        if what != ACCEPTED:
            (again if what == REPEATED else refused)[day] += n
    return again, refused


def _traffic(daily: Mapping[int, int], again: Counter[int], refused: Counter[int]) -> Markup:
    """Return a bar for each of the latest days; the table below has the same numbers."""
    days = range(today() - _TRAFFIC_DAYS + 1, today() + 1)
    most = max(daily.get(day, 0) + again[day] + refused[day] for day in days) or 1
    wide, drawn = 100 / _TRAFFIC_DAYS, []
    for place, day in enumerate(days):
        top = 92.0
        for kind, n in (
            ("", daily.get(day, 0)),
            ("repeated", again[day]),
            ("refused", refused[day]),
        ):
            high = 84 * n / most
            top -= high
            if n:
                box = (kind, wide * place, top, 0.8 * wide, high)
                drawn.append(_BOX.format(*box))
    for place in range(0, _TRAFFIC_DAYS, 10):
        anchor = "end" if place == _TRAFFIC_DAYS - 1 else "start"
        at = 100 if anchor == "end" else wide * place
        drawn.append(_TICK.format(at, anchor, short_date(write_day(days[place]))))
    return Markup('<svg class="traffic" focusable="false" aria-hidden="true">{}</svg>').format(
        Markup("").join([*drawn, _LINE])
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


def _received(found: Received) -> tuple[tuple[str, str], ...]:
    if not found:
        return ()
    sums = Counter[str]()
    for (_, what), n in found.items():
        sums[what] += n
    accepted, repeated = sums.pop(ACCEPTED, 0), sums.pop(REPEATED, 0)
    return (
        ("accepted submissions, of one report or more", f"{accepted:,}"),
        ("repeated: sent again, counted once", f"{repeated:,}"),
        *[(f"refused: {_REASONS.get(name, name)}", f"{n:,}") for name, n in sums.most_common()],
    )
