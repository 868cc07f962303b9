"""One question: its estimates and what changed, the tag for pages, and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from starlette.responses import RedirectResponse, Response

from deniable.advice import meaning, reveals
from deniable.collector.days import read_day, today, write_day
from deniable.collector.pages import embed
from deniable.collector.pages.forms import Span, exact_lines, lines, read_form
from deniable.collector.pages.home import NAME_WIDTH, is_admin
from deniable.collector.pages.live import Current, Wanted, read_current
from deniable.collector.pages.templating import page
from deniable.collector.problems import InvalidRequest
from deniable.collector.questions import Change, Known
from deniable.collector.requests import Call
from deniable.collector.stores.records import Slice, Source, State
from deniable.presentation.text import one_line

_NAMES = (
    *("from", "to", "people", "compare_from", "compare_to", "compare_people"),
    *("candidates", "fragment"),
)


@dataclass(frozen=True)
class Shown:
    """The whole page."""

    place: str
    admin: bool
    digest: str
    name: str
    state: str
    headline: str
    meaning: str
    repeats: bool
    """Whether people may answer again."""
    wanted: Wanted
    is_open: bool
    first_day: str
    last_day: str
    current: Current
    snippet: embed.Snippet
    origins: str
    minimum: str
    usual_minimum: int
    public_results: bool
    collect: bool
    sources: tuple[Source, ...]
    new: bool
    mistake: str | None = None


async def show(call: Call) -> Response:
    """Show a question, or with ``fragment`` only what moves."""
    query = call.query(*_NAMES)
    known = await call.known()
    candidates = exact_lines(query.get("candidates", "")) or None
    wanted = Wanted(_span(query), _span(query, "compare_"), candidates)
    mistake = None
    try:
        wanted.check()
    except InvalidRequest as error:
        mistake = f"{error}. All days are shown."
    sound = wanted if mistake is None else Wanted(Span(), Span(), candidates)
    current = await read_current(call, known, sound)
    if "fragment" in query:
        return page("live.html", current)
    shown = await _shown(call, known, wanted, current)
    return page("question.html", replace(shown, mistake=mistake), 400 if mistake else 200)


def _span(query: Mapping[str, str], start: str = "") -> Span:
    """Return a range of days of the address, with the number of people."""
    return Span(*(query.get(f"{start}{name}", "") for name in ("from", "to", "people")))


async def _shown(call: Call, known: Known, wanted: Wanted, current: Current) -> Shown:
    question, terms = known.question, known.terms
    digest = question.digest
    sources, daily = await call.services.readers.run(
        lambda store: (store.sources(digest), store.daily(Slice(digest)))
    )
    first = daily[0][0] if daily else today()
    answers = "any text" if question.labels is None else f"{len(question.labels):,} answers"
    protocol = question.protocol
    repeats = protocol.memoises
    return Shown(
        place="question",
        admin=is_admin(call),
        digest=digest,
        name=one_line(question.name, NAME_WIDTH),
        state=known.asked.state.value,
        headline=f"{answers}, {protocol.name}: {reveals(protocol)}",
        meaning=meaning(protocol.epsilon, forever=protocol.total_epsilon if repeats else None),
        repeats=repeats,
        wanted=wanted,
        is_open=question.labels is None,
        first_day=write_day(first),
        last_day=write_day(today()),
        current=current,
        snippet=embed.make(call, question),
        origins="\n".join(terms.origins),
        minimum="" if terms.minimum is None else str(terms.minimum),
        usual_minimum=call.services.settings.minimum,
        public_results=terms.public_results,
        collect=terms.collect,
        sources=tuple(sources),
        new=not daily,
    )


async def change(call: Call) -> Response:
    """Open, close or delete a question, change its settings, or leave a source out."""
    known, fields = await call.known(), await read_form(call)
    services, digest, action = call.services, known.asked.digest, fields.get("action")
    call.noted.append(f"{action} {fields.get('source', '')}"[:200].rstrip())
    if action in (State.OPEN.value, State.CLOSED.value):
        await services.questions.change(
            digest, Change(state="open" if action == "open" else "closed")
        )
    elif action == "settings":
        await services.questions.change(digest, _settings(fields))
    elif action == "delete":
        # People copy the name as the page shows it.
        named = fields.get("name", "").strip() == one_line(known.question.name, NAME_WIDTH)
        known.confirm(known.question.name if named else None, "the field")
        await services.questions.delete(digest)
        return RedirectResponse("/", 303)
    elif action in ("exclude", "include"):
        source, excluded = fields.get("source", ""), action == "exclude"
        day = read_day(fields["day"]) if fields.get("day") else None
        await services.writer.run(lambda store: store.exclude(digest, source, excluded, day=day))
    else:
        raise InvalidRequest("expected a button of the page, got something else")
    return RedirectResponse(f"/questions/{digest}", 303)


def _settings(fields: dict[str, str]) -> Change:
    minimum = fields.get("minimum", "").strip()
    if minimum and not (minimum.isascii() and minimum.isdigit() and len(minimum) < 16):
        raise InvalidRequest(f"expected a whole number of reports, got {minimum[:40]!r}")
    return Change(
        origins=lines(fields.get("origins", "")),
        minimum=int(minimum) if minimum else None,
        public_results="public_results" in fields,
        collect="collect" in fields,
    )
