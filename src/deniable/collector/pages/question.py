"""The page of one question: estimates, changes and trend, the tag for pages, and settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from deniable.advice import meaning, reveals
from deniable.collector.handlers import NAME_WIDTH
from deniable.collector.jobs import Wanted
from deniable.collector.metrics import ACCEPTED, REPEATED
from deniable.collector.pages import embed
from deniable.collector.pages.home import is_admin
from deniable.collector.pages.templating import UNCACHED, page, template
from deniable.collector.problems import InvalidRequest, Mistake, TooCostly
from deniable.collector.questions import Known
from deniable.collector.requests import NAMES, SECOND, Call, read_slices
from deniable.collector.results import Shown
from deniable.collector.stores.records import Slice, Source, State, today, write_day
from deniable.collector.views import Look
from deniable.presentation.text import one_line
from deniable.presentation.view import NOT_KNOWN, counted

ROWS = 50
_FIELDS = tuple(f"{start}{name}" for start in ("", SECOND) for name in (*NAMES, "people"))
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


@dataclass(frozen=True)
class Span:
    """A range of days as the form has it, and how many people answered in it: texts, or empty."""

    first: str = ""
    last: str = ""
    people: str = ""

    def __str__(self) -> str:
        if not self.given:
            return "all days"
        return f"{self.first or 'the first day'} to {self.last or 'the last day'}"

    @property
    def given(self) -> bool:
        return bool(self.first or self.last)


@dataclass(frozen=True)
class Address:
    """What an address asks for: as it was entered, and as it was understood."""

    span: Span
    other: Span
    wanted: Wanted
    mistake: str | None = None

    def in_order(self) -> tuple[Span, Span]:
        """Return the two ranges, the earlier first, whichever of the two it was entered as."""
        first, second = (part.days.first for part in self.wanted.parts)
        return (self.span, self.other) if first <= second else (self.other, self.span)

    def link(self, what: str, form: str, span: Span, **more: str) -> Link:
        digest = self.wanted.parts[0].question
        pairs = [("from", span.first), ("to", span.last), *more.items()]
        if what == "tally":
            start = f"{form}-" if form else ""
            name, text = f"{start}{digest[:8]}.tally", f"{form} tally".lstrip()
        else:
            pairs += [("candidate", each) for each in self.wanted.candidates or ()]
            name, text = f"{what}-{digest[:8]}.{form}", form.upper()
        query = urlencode([(name, value) for name, value in pairs if value])
        resource = "estimates" if what == "changes" else what
        path = f"/v1/questions/{digest}/{resource}" + (f"?{query}" if query else "")
        return Link(text, path, name)


class Link(NamedTuple):
    """Where a panel can be downloaded, and under which name."""

    text: str
    href: str
    filename: str


class Panel(NamedTuple):
    """A table or figures, what is said about them, and the ways out."""

    content: Markup
    links: tuple[Link, ...]
    note: str = ""


class Figure(NamedTuple):
    """One number at the top of the page."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Live:
    """All that moves while reports come in; the part of the page that a script fetches again."""

    said: str
    figures: tuple[Figure, ...]
    waiting: str | None
    estimates: Panel | None
    fakes: str | None
    changes: Panel | None
    trend: Panel | None
    """From the second day on."""
    received: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class QuestionPage:
    """The whole page."""

    known: Known
    name: str
    headline: str
    meaning: str
    address: Address
    live: Live
    snippet: embed.Snippet
    first_day: str
    last_day: str
    usual_minimum: int
    sources: list[Source]
    new: bool
    admin: bool
    place: str = "question"


async def show(call: Call) -> Response:
    """Show a question, or with ``fragment`` only what moves."""
    query = call.query(*_FIELDS, "candidates", "fragment")
    known = await call.known()
    address = _read_address(known, query)
    sound = replace(address, span=Span(), other=Span()) if address.mistake else address
    live = await _live(call, known, sound)
    if "fragment" in query:
        return HTMLResponse(template("live.html").render(vars(live)), headers=UNCACHED)
    shown = await _whole(call, known, address, live)
    return page("question.html", shown, 400 if address.mistake else 200)


def _read_address(known: Known, query: Mapping[str, str]) -> Address:
    """Read what an address asks for; after a mistake all days are shown."""
    fields = {name: query[name].strip() for name in query if name in _FIELDS}
    fields = {name: value for name, value in fields.items() if value}
    everything = Wanted((Slice(known.asked.digest),), daily=True, candidates=_candidates(query))
    if not fields:
        return Address(Span(), Span(), everything)
    span, other = _span(fields), _span(fields, SECOND)
    try:
        return Address(span, other, _read_wanted(everything, fields, span, other))
    except InvalidRequest as error:
        return Address(span, other, everything, f"{error.page} All days are shown.")


def _candidates(query: Mapping[str, str]) -> tuple[str, ...] | None:
    r"""Return the lines of a text area as they are, each once; those of white space are no lines.

    >>> _candidates({"candidates": "tea \r\ntea\n\ntea"})
    ('tea ', 'tea')
    """
    text = query.get("candidates", "")
    if not text:
        return None
    found = [line.removesuffix("\r") for line in text.split("\n")]
    return tuple(dict.fromkeys([line for line in found if line.strip()])) or None


def _span(fields: Mapping[str, str], start: str = "") -> Span:
    day = fields.get(f"{start}day", "")
    first, last, people = [fields.get(f"{start}{name}", "") for name in ("from", "to", "people")]
    return Span(day or first, day or last, people)


def _read_wanted(everything: Wanted, fields: dict[str, str], span: Span, other: Span) -> Wanted:
    if other.given and not span.given:
        raise Mistake("To compare two ranges of days, choose the first one too.")
    parts = read_slices(everything.parts[0].question, fields)
    people = _read_people(span.people), _read_people(other.people)
    return replace(everything, parts=parts, people=people)


def _read_people(entered: str) -> int | None:
    text = entered.replace(",", "")
    if text and not (text.isascii() and text.isdigit() and len(text) < 16 and int(text)):
        raise Mistake(f"Enter people as a whole number, not as {text[:40]!r}.")
    return int(text) if text else None


async def _live(call: Call, known: Known, address: Address) -> Live:
    shown = await call.services.results.look(known, address.wanted, ROWS)
    look, people = shown.look, address.span.people
    return Live(
        said=f"{shown.n:,} report{'' if shown.n == 1 else 's'}.{look.largest if look else ''}",
        figures=_figures(shown.n, look),
        waiting=None if look else _waiting(known, address, shown),
        estimates=Panel(look.table, _links(address, "estimates", people=people)) if look else None,
        fakes=look.fakes if look else None,
        changes=_changes(address, shown),
        trend=Panel(look.curves, _links(address, "trend"), look.trend_note)
        if look and look.curves
        else None,
        received=_received(call, known),
    )


def _waiting(known: Known, address: Address, shown: Shown) -> str:
    days = address.wanted.parts[0].days
    if isinstance(shown.problem, TooCostly):
        return "This takes too long for a page: name fewer answers, or estimate from the tally."
    if shown.problem is not None:
        return f"This cannot be estimated: {shown.problem}."
    if not shown.lacking:
        return "This question takes any text: name the answers to count, one on each line."
    if known.asked.state is not State.OPEN or not days.first <= today() + 1 <= days.last + 1:
        return f"Too few reports in these days: estimates are shown from {shown.minimum:,} on."
    more = counted(max(1, shown.minimum - shown.n), "more report")
    return (
        f"Not enough reports yet: about {more} until estimates are shown, which takes "
        f"{shown.minimum:,}."
    )


def _changes(address: Address, shown: Shown) -> Panel | None:
    if not address.other.given or shown.problem is not None:
        return None
    if shown.lacking:
        said = f"In one of the ranges there are fewer than {shown.minimum:,} reports."
        return Panel(Markup("<p>{}</p>").format(said), ())
    if shown.look is None or shown.look.changes is None:
        return None
    first, second = address.in_order()
    more = {"compare_from": second.first, "compare_to": second.last}
    more["compare_people"] = second.people
    links = (
        address.link("changes", "csv", first, people=first.people, format="csv", **more),
        address.link("changes", "json", first, people=first.people, format="json", **more),
        address.link("tally", "first", first),
        address.link("tally", "second", second),
    )
    return Panel(shown.look.changes, links, f"first: {first}; second: {second}.")


def _links(address: Address, what: str, **more: str) -> tuple[Link, ...]:
    exports = [
        address.link(what, form, address.span, **more, format=form) for form in ("csv", "json")
    ]
    return (*exports, address.link("tally", "", address.span))


def _figures(n: int, look: Look | None) -> tuple[Figure, ...]:
    if look is None:
        return (Figure("Reports", f"{n:,}"),)
    note = f"{look.reports:,} in the estimates below" if look.reports < n else ""
    reports = Figure("Reports", f"{max(n, look.reports):,}", note)
    if look.error is None or look.significant is None:
        return reports, Figure("Typical standard error", NOT_KNOWN)
    return (
        reports,
        Figure("Typical standard error", look.error, "percentage points"),
        Figure("Significant answers", look.significant),
    )


def _received(call: Call, known: Known) -> tuple[tuple[str, str], ...]:
    found = call.services.counters.questions.get(known.asked.digest, Counter())
    refused = [(name, n) for name, n in found.items() if name not in (ACCEPTED, REPEATED)]
    return (
        ("accepted submissions, of one report or more", f"{found[ACCEPTED]:,}"),
        ("repeated: sent again, counted once", f"{found[REPEATED]:,}"),
        *[
            (f"refused: {_REASONS.get(name, name)}", f"{n:,}")
            for name, n in sorted(refused, key=itemgetter(1), reverse=True)
        ],
    )


async def _whole(call: Call, known: Known, address: Address, live: Live) -> QuestionPage:
    question, digest = known.question, known.asked.digest
    sources, found = await call.services.readers.run(
        lambda store: (store.sources(digest), store.standing(Slice(digest)))
    )
    answers = "any text" if question.labels is None else f"{len(question.labels):,} answers"
    protocol = question.protocol
    forever = protocol.total_epsilon if protocol.memoises else None
    return QuestionPage(
        known=known,
        name=one_line(question.name, NAME_WIDTH),
        headline=f"{answers}, {protocol.name}: {reveals(protocol)}",
        meaning=meaning(protocol.epsilon, forever=forever),
        address=address,
        live=live,
        snippet=embed.make(call, question),
        first_day=write_day(found.daily[0][0] if found.daily else today()),
        last_day=write_day(today()),
        usual_minimum=call.services.settings.minimum,
        sources=sources,
        new=not found.daily,
        admin=is_admin(call),
    )
