"""The first page: what people answered to each question, what changed, and what is alarming.

Whoever is not logged in sees what this server is, and the questions whose results are public.
"""

from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple

from starlette.responses import Response

from deniable.collector.access import Role
from deniable.collector.jobs import Wanted
from deniable.collector.pages.head import is_admin
from deniable.collector.pages.languages import words_for
from deniable.collector.pages.question import ROWS
from deniable.collector.pages.templating import page
from deniable.collector.problems import Refusal, Unauthorized
from deniable.collector.questions import Known, read_name, read_terms
from deniable.collector.requests import Call
from deniable.collector.results import Shown
from deniable.collector.stores.records import Asked, Slice
from deniable.presentation.text import one_line
from deniable.presentation.view import counted

_LISTED_WIDTH = 80
_SAID_WIDTH = 160
_SEARCHING = 10
"""From so many questions on they can be searched."""
_PATIENCE = 2.0
"""Seconds after which the other questions are listed without their results."""


class Step(NamedTuple):
    """A step from a first question to a first result."""

    text: str
    href: str
    done: bool


@dataclass(frozen=True)
class Listed:
    """One question in the list."""

    digest: str
    name: str
    state: str
    reports: str
    said: str
    spark: str = ""
    moved: str = ""
    tone: str = "still"
    alarm: str = ""


@dataclass(frozen=True)
class Home:
    """All questions."""

    questions: tuple[Listed, ...]
    checklist: tuple[Step, ...]
    searching: bool
    find: str
    state: str
    admin: bool
    place: str = "questions"


async def show(call: Call) -> Response:
    query = call.query("find", "state", "lang")
    try:
        holder = await call.services.access.demand(call.request, Role.VIEWER)
    except Unauthorized:
        return await _welcome(call, query.get("lang", ""))
    call = Call(call.services, call.request, holder)
    found = await call.services.readers.run(
        lambda store: [
            (asked, store.standing(Slice(asked.digest)).n) for asked in store.all_asked()
        ]
    )
    find, state, until = query.get("find", ""), query.get("state", ""), monotonic() + _PATIENCE
    wanted = [
        (asked, n)
        for asked, n in found
        if find.casefold() in read_name(asked.document).casefold()
        and state in ("", asked.state.value)
    ]
    listed = [await _listed(call, asked, n, hurry=monotonic() > until) for asked, n in wanted]
    context = Home(
        tuple(listed),
        _checklist(found, is_admin(call)),
        len(found) >= _SEARCHING,
        find,
        state,
        is_admin(call),
    )
    return page("home.html", **vars(context))


async def _welcome(call: Call, language: str) -> Response:
    found = await call.services.readers.run(lambda store: store.all_asked())
    public = [asked for asked in found if read_terms(asked.terms).public_results]
    questions = tuple(
        (asked.digest, one_line(read_name(asked.document), _LISTED_WIDTH)) for asked in public
    )
    return page("welcome.html", questions=questions, words=words_for(call, language))


def _checklist(found: list[tuple[Asked, int]], admin: bool) -> tuple[Step, ...]:
    """Return what is left to do until there are results, and nothing once there are."""
    some, most = bool(found), max((n for _, n in found), default=0)
    if most >= 100 or not admin:
        return ()
    place = f"/questions/{found[0][0].digest}" if found else "/new"
    return (
        Step("Ask a question", "/new", some),
        Step(
            "Put it on a page, or send people the link",
            f"{place}/collect" if some else "",
            most > 0,
        ),
        Step("The first report arrives", "", most > 0),
        Step("Results appear", place if some else "", False),
    )


async def _listed(call: Call, asked: Asked, n: int, *, hurry: bool) -> Listed:
    """Return a question with what people answered, unless that would take too long by now."""
    name = one_line(read_name(asked.document), _LISTED_WIDTH)
    plain = Listed(asked.digest, name, asked.state.value, counted(n, "report"), "")
    if hurry:
        later = "Still being worked out. Load this page again in a moment."
        return replace(plain, said=later if n else "")
    try:
        known = await call.services.questions.find(asked.digest)
        shown = Shown(n, (), 0)
        if known.discovers or not known.is_open:
            slices = (Slice(asked.digest),)
            wanted = Wanted(slices, daily=True, rounds=known.question.repeat)
            shown = await call.services.results.look(known, wanted, ROWS)
        alarm = await call.services.alarms.headline(known)
    except Refusal:  # one that cannot be read does not take the others with it
        return plain
    return _with_results(plain, known, shown, alarm)


def _with_results(plain: Listed, known: Known, shown: Shown, alarm: str) -> Listed:
    look = shown.look
    if look is None:
        said = f"Results appear at {counted(shown.minimum, 'report')}."
        if shown.searching:
            said = "Searching for what people answered. Look again in a minute."
        elif shown.problem is not None:
            said = "There are no results. Open it to see why."
        elif known.is_open and not known.discovers:
            said = "Takes any text. Open it to name what to count."
        return Listed(*_head(plain), said, alarm=alarm)
    said = one_line(look.headline.replace("\u00a0", " "), _SAID_WIDTH)
    return Listed(*_head(plain), said, look.spark, look.moved, look.tone, alarm)


def _head(plain: Listed) -> tuple[str, str, str, str]:
    return plain.digest, plain.name, plain.state, plain.reports
