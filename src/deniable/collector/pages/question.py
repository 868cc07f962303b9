"""The page of one question: what people answered, what changed, and how it went from day to day."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from deniable.answers.record import Record
from deniable.collector import jobs
from deniable.collector.jobs import Wanted
from deniable.collector.pages.head import Head, head_of, is_admin
from deniable.collector.pages.templating import UNCACHED, page, template
from deniable.collector.problems import InvalidRequest, Mistake, SearchEnded, TooCostly
from deniable.collector.questions import Known
from deniable.collector.requests import NAMES, SECOND, Call, read_slices
from deniable.collector.results import Shown
from deniable.collector.stores.records import Slice, State, today, write_day
from deniable.errors import DeniableError
from deniable.presentation.text import one_line

ROWS = 50
_MOST_LINKS = 12
_FIELDS = (
    *(f"{start}{name}" for start in ("", SECOND) for name in (*NAMES, "people")), "above"
)  # fmt: skip


@dataclass(frozen=True)
class Span:
    """A range of days as the form has it, and how many people answered in it: texts, or empty."""

    first: str = ""
    last: str = ""
    people: str = ""

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

    @property
    def swapped(self) -> str:
        """The address with both ends of a range the other way round, where that would mend it."""
        first, last = self.span.first, self.span.last
        return f"?{urlencode({'from': last, 'to': first})}" if first > last > "" else ""

    def in_order(self) -> tuple[Span, Span]:
        """Return the two ranges, the earlier first, whichever of the two it was entered as."""
        first, second = (part.days.first for part in self.wanted.parts)
        return (self.span, self.other) if first <= second else (self.other, self.span)

    def link(
        self, what: str, form: str, span: Span, cross: Sequence[str] = (), **more: str
    ) -> "Link":
        digest = self.wanted.parts[0].question
        pairs = [("from", span.first), ("to", span.last), *more.items()]
        pairs += [("cross", name) for name in cross]
        if what == "tally":
            start = f"{form}-" if form else ""
            name, text = f"{start}{digest[:8]}.tally", f"{form} tally".lstrip().capitalize()
        else:
            pairs += [("candidate", each) for each in self.wanted.candidates or ()]
            crossed = " by ".join(one_line(each, 40) for each in cross)
            by = one_line(more["by"], 40) if more.get("by") else ""
            start = "-by-".join([what, *cross, *filter(None, [by])])
            divided = f"{'Trend by' if what == 'trend' else 'By'} {by}" if by else ""
            title = crossed or divided or what.capitalize()
            name, text = f"{start}-{digest[:8]}.{form}", f"{title} as {form.upper()}"
        query = urlencode([(name, value) for name, value in pairs if value])
        resource = "estimates" if what == "changes" else what
        path = f"/v1/questions/{digest}/{resource}" + (f"?{query}" if query else "")
        return Link(text, path, name)


class Link(NamedTuple):
    """Where something can be downloaded, and under which name."""

    text: str
    href: str
    filename: str


class Preset(NamedTuple):
    """A range of days that people often want."""

    text: str
    href: str
    current: bool


class Waiting(NamedTuple):
    """Why there are no results, and how much of what is needed has come."""

    title: str
    sentence: str
    share: int | None = None


@dataclass(frozen=True)
class Live:
    """All that moves while reports come in; the part of the page that a script fetches again."""

    digest: str
    said: str
    standing: str
    alarm: str
    waiting: Waiting | None
    content: Markup
    links: tuple[Link, ...]
    follow_up: str = ""
    """What the button says that makes a closed question of the texts that are sure."""
    epsilon: str = ""
    """What that question will cost each person."""


@dataclass(frozen=True)
class QuestionPage:
    """The whole page."""

    known: Known
    head: Head
    address: Address
    presets: tuple[Preset, ...]
    opened: bool
    live: Live
    first_day: str
    last_day: str
    printed: str
    admin: bool
    place: str = "question"


async def show(call: Call) -> Response:
    """Show a question, or with ``fragment`` only what moves."""
    query = call.query(*_FIELDS, "candidates", "fragment", "done")
    known = await call.known()
    address = _read_address(known, query)
    sound = replace(address, span=Span(), other=Span()) if address.mistake else address
    digest = known.asked.digest
    if "fragment" not in query:  # which shows what is known by then, and stays cheap
        await call.services.alarms.lately(known)
    live = await _live(call, known, sound)
    if "fragment" in query:
        return HTMLResponse(template("live.html").render(vars(live)), headers=UNCACHED)
    standing = await call.services.readers.run(lambda store: store.standing(Slice(digest)))
    protocol = known.question.protocol
    shown = QuestionPage(
        known=known,
        head=head_of(known, standing, "", query.get("done", "")),
        address=address,
        presets=_presets(digest, address),
        opened=bool(
            address.mistake
            or (known.is_open and not known.discovers)
            or address.span.people
            or _own(address)
        ),
        live=live,
        first_day=write_day(standing.daily[0][0] if standing.daily else today()),
        last_day=write_day(today()),
        printed=f"{write_day(today())} · {protocol.name} at ε = {protocol.epsilon:g} · question",
        admin=is_admin(call),
    )
    return page("question.html", 400 if address.mistake else 200, **vars(shown))


async def follow_up(call: Call) -> Response:
    """Make a closed question of the sure texts, which counts them with all people."""
    query, known = call.query(*_FIELDS), await call.known()
    await call.form(1 << 12)
    wanted = _read_address(known, query).wanted
    found = await call.services.results.discover_soon(known, wanted)
    if found is None:
        raise Mistake("The search goes on. Try again in a minute.")
    if not found.askable:
        raise Mistake("No text is sure by now, so that there is nothing to ask about.")
    name, epsilon = known.question.name, known.question.protocol.epsilon
    document = await call.services.worker.run(jobs.follow_up, found, name, epsilon)
    made, _ = await call.services.questions.ask(document.encode())
    return RedirectResponse(f"/questions/{made.digest}/collect", 303)


def _presets(digest: str, address: Address) -> tuple[Preset, ...]:
    """Offer the last 7 and 30 days, each compared with as many before, and all days."""
    named = [("candidates", "\n".join(address.wanted.candidates or ()))]
    named = named if address.wanted.candidates else []
    found = []
    for days in (7, 30):
        first, last = today() - days + 1, today()
        span = Span(write_day(first), write_day(last))
        other = Span(write_day(first - days), write_day(first - 1))
        names = ("from", "to", "compare_from", "compare_to")
        ends = (span.first, span.last, other.first, other.last)
        query = urlencode([*zip(names, ends, strict=True), *named])
        current = (address.span, address.other) == (span, other)
        found.append(Preset(f"{days} days", f"/questions/{digest}?{query}", current))
    given = address.span.given or address.other.given
    every = f"/questions/{digest}" + (f"?{urlencode(named)}" if named else "")
    return (*found, Preset("All days", every, not given))


def _own(address: Address) -> bool:
    """Tell whether somebody chose other days than the presets have."""
    return not any(preset.current for preset in _presets("", address))


def _read_address(known: Known, query: Mapping[str, str]) -> Address:
    """Read what an address asks for; after a mistake all days are shown."""
    fields = {name: query[name].strip() for name in query if name in _FIELDS}
    fields = {name: value for name, value in fields.items() if value}
    everything = Wanted(
        (Slice(known.asked.digest),),
        daily=True,
        candidates=_candidates(query),
        rounds=known.question.repeat,
    )
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
    above = _read_number(fields.get("above", ""))
    return replace(everything, parts=parts, people=people, above=above)


def _read_number(entered: str) -> float | None:
    try:
        number = float(entered.replace(",", "")) if entered else None
    except ValueError:
        number = math.nan
    if number is not None and not math.isfinite(number):
        raise Mistake(f"Enter a number, not {entered[:40]!r}.")
    return number


def _read_people(entered: str) -> int | None:
    text = entered.replace(",", "")
    if text and not (text.isascii() and text.isdigit() and len(text) < 16 and int(text)):
        raise Mistake(f"Enter people as a whole number, not as {text[:40]!r}.")
    return int(text) if text else None


async def _live(call: Call, known: Known, address: Address) -> Live:
    shown = await call.services.results.look(known, address.wanted, ROWS)
    look, content = shown.look, Markup()
    reports = "1 report" if shown.n == 1 else f"{shown.n:,} reports"
    if look is not None:
        content = look.content
        if shown.lacking and address.other.given and not address.mistake:
            content += Markup('<p class="quiet small">{}</p>').format(
                f"No comparison: one of the ranges has fewer than {shown.minimum:,} reports."
            )
    return Live(
        digest=known.asked.digest,
        said=f"{reports}. {look.said if look else ''}".rstrip(),
        standing="" if address.span.given or not shown.n else reports,
        alarm=call.services.alarms.remembered(known),
        waiting=None if look else _waiting(known, address, shown),
        content=content,
        links=_links(known, address, shown) if look else (),
        follow_up=_offer(shown.sure) if shown.sure and is_admin(call) else "",
        epsilon=f"{known.question.protocol.epsilon:g}",
    )


def _offer(sure: int) -> str:
    return f"Make a closed question of {'this text' if sure == 1 else f'these {sure:,} texts'}"


def _trouble(problem: DeniableError) -> Waiting:
    if isinstance(problem, SearchEnded):
        _, _, why = str(problem).partition(": ")
        again = "It is tried again when a quarter more reports have come."
        return Waiting("The search was ended", f"{why[:1].upper()}{why[1:]}. {again}")
    if isinstance(problem, TooCostly):
        said = "Name fewer answers, or estimate from the tally on your own machine."
        return Waiting("This takes too long for a page", said)
    return Waiting("This cannot be estimated", f"{problem}.")


def _waiting(known: Known, address: Address, shown: Shown) -> Waiting:
    days = address.wanted.parts[0].days
    if shown.problem is not None:
        return _trouble(shown.problem)
    if shown.searching:
        said = "Nobody listed the answers, so they are searched for. This page shows them then."
        more = "It takes a minute or so, and longer on a busy machine."
        return Waiting("Searching…", f"{said} {more}")
    if not shown.lacking:
        said = (
            "This question takes any text, so only what you name can be counted: one on each line."
        )
        return Waiting("Name the answers to count", said)
    if known.asked.state is not State.OPEN or not days.first <= today() + 1 <= days.last + 1:
        said = f"Results are shown from {shown.minimum:,} reports on. Choose more days."
        return Waiting("Too few reports in these days", said)
    title = f"{shown.n:,} of {shown.minimum:,} reports"
    share = min(100, round(100 * shown.n / shown.minimum))
    return Waiting(title, f"Results appear at {shown.minimum:,}.", share)


def _links(known: Known, address: Address, shown: Shown) -> tuple[Link, ...]:
    """Return the ways out: estimates, trend and tally, and a comparison if there is one."""
    people, searched = address.span.people, known.discovers and not address.wanted.candidates
    what = "discoveries" if searched else "estimates"
    above = "" if address.wanted.above is None else str(address.wanted.above).removesuffix(".0")
    found = [
        address.link(what, form, address.span, people=people, above=above, format=form)
        for form in ("csv", "json")
    ]
    if searched:
        return (*found, address.link("tally", "", address.span))
    if isinstance(answers := known.question.answers, Record):
        found += [
            address.link("estimates", "csv", address.span, table, format="csv")
            for table in answers.tables[:_MOST_LINKS]
            if len(table) > 1
        ]
    found += [
        address.link("estimates", "csv", address.span, by=dimension.name, format="csv")
        for dimension in known.question.segments.dimensions
    ]
    found += [
        address.link("trend", "csv", address.span, above=above, by=unit, format="csv")
        for unit in (("",) if known.question.repeat is None else ("round", "day"))
    ]
    found.append(address.link("tally", "", address.span))
    if address.other.given and not shown.lacking:
        first, second = address.in_order()
        more = {"compare_from": second.first, "compare_to": second.last}
        more["compare_people"] = second.people
        found += [
            address.link("changes", form, first, people=first.people, format=form, **more)
            for form in ("csv", "json")
        ]
    return tuple(found)
