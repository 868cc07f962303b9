"""What moves while reports come in: estimates, changes and trend of a question, and what came."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from markupsafe import Markup

from deniable.collector.days import today
from deniable.collector.jobs import TREND_ROWS, Look
from deniable.collector.metrics import ACCEPTED, REPEATED
from deniable.collector.pages.forms import Span
from deniable.collector.pages.templating import LABEL_WIDTH, table
from deniable.collector.problems import InvalidRequest, TooCostly, TooFewReports
from deniable.collector.questions import Known
from deniable.collector.requests import Call
from deniable.collector.stores.records import Days, Slice, State
from deniable.errors import InvalidParameter
from deniable.presentation.text import fit_labels, one_line
from deniable.presentation.trend import Trend, trend_svg
from deniable.presentation.view import NOT_KNOWN, counted

ROWS = 50
_SENTENCES = {
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
class Wanted:
    """What the address asks for."""

    span: Span
    other: Span
    candidates: tuple[str, ...] | None

    def in_order(self) -> tuple[Span, Span]:
        """Return the two ranges, the earlier first, whichever of the two it was entered as."""
        first, second = sorted((self.span, self.other), key=lambda span: span.read().first)
        return first, second

    def check(self) -> None:
        """Refuse days that make no sense."""
        self.span.read()
        if not self.other.given:
            return
        if not self.span.given:
            raise InvalidRequest("expected two ranges of days to compare; choose the first one too")
        first, second = self.in_order()
        if second.read().first <= first.read().last:
            raise InvalidRequest("expected two ranges of days that do not overlap; choose others")

    def query(self, **more: str) -> str:
        """Return the parameters of estimates for the same range and candidates."""
        span = self.span
        pairs = [("from", span.first), ("to", span.last), ("people", span.people), *more.items()]
        named = [("candidate", each) for each in self.candidates or ()]
        return urlencode([(name, value) for name, value in (*pairs, *named) if value])


@dataclass(frozen=True)
class Link:
    """Where a panel can be downloaded, and under which name."""

    text: str
    href: str
    filename: str


@dataclass(frozen=True)
class Panel:
    """A table or figures, what is said about them, and the ways out."""

    content: Markup
    links: tuple[Link, ...]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """One number at the top of the page."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Curve:
    """The trend of one answer: picture and table."""

    label: str
    picture: Markup
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Current:
    """All that moves while reports come in; the part of the page that a script fetches again."""

    said: str
    figures: tuple[Figure, ...]
    waiting: str | None
    estimates: Panel | None
    fakes: str | None
    changes: Panel | None
    trend: tuple[Curve, ...]
    """Pictures from the second day on."""
    trend_links: tuple[Link, ...]
    trend_note: str | None
    received: tuple[tuple[str, str], ...]


async def read_current(call: Call, known: Known, wanted: Wanted) -> Current:
    """Return what is shown of a range of days at this moment."""
    days, digest = wanted.span.read(), known.asked.digest
    n, _ = await call.services.readers.run(
        lambda store: store.standing(Slice(digest, Days(days.first, days.last)))
    )
    look, waiting = await _look(call, known, wanted, n)
    trend = None
    if look is not None:
        followed = wanted.candidates and tuple(row.label for row in look.view.rows[:TREND_ROWS])
        trend = await call.services.showing.trend(known, days, followed)
    return Current(
        said=_said(n, look),
        figures=_figures(n, look),
        waiting=waiting,
        estimates=None if look is None else Panel(table(look.view), _links(known, wanted)),
        fakes=_fakes(look),
        changes=await _changes(call, known, wanted),
        trend=_curves(trend),
        trend_links=() if trend is None else _trend_links(known, wanted),
        trend_note=_trend_note(known, trend),
        received=_received(call, digest),
    )


async def _look(call: Call, known: Known, wanted: Wanted, n: int) -> tuple[Look | None, str | None]:
    """Return what can be shown of the estimates, or in a sentence why nothing is."""
    if known.question.labels is None and not wanted.candidates:
        return None, "This question takes any text: name the answers to count, one on each line."
    try:
        days = wanted.span.read()
        found = await call.services.showing.estimates(known, days, wanted.candidates, ROWS)
    except TooFewReports:
        minimum = known.terms.minimum or call.services.settings.minimum
        return None, _missing(minimum, n, coming=_coming(known, wanted.span))
    except TooCostly as error:
        return None, f"This is too much for a page: {error}."
    except InvalidParameter as error:
        return None, f"This cannot be estimated: {error}."
    return found, None


def _coming(known: Known, span: Span) -> bool:
    """Tell whether reports of a range of days can still come."""
    days = span.read()
    return known.asked.state is State.OPEN and days.first <= today() + 1 <= days.last + 1


def _missing(minimum: int, n: int, *, coming: bool) -> str:
    if not coming:
        return f"Too few reports in these days: estimates are shown from {minimum:,} on."
    more = counted(max(1, minimum - n), "more report")
    return (
        f"Not enough reports yet: about {more} until estimates are shown, which takes {minimum:,}."
    )


async def _changes(call: Call, known: Known, wanted: Wanted) -> Panel | None:
    if not wanted.other.given or (known.question.labels is None and not wanted.candidates):
        return None
    spans = wanted.in_order()
    ranges = (spans[0].read(), spans[1].read())
    try:
        view = await call.services.showing.changes(known, ranges, wanted.candidates, ROWS)
    except TooFewReports as error:
        return Panel(Markup("<p>{}.</p>").format(f"In one of the ranges: {error}"), ())
    except (TooCostly, InvalidParameter) as error:
        return Panel(Markup("<p>{}.</p>").format(error), ())
    first, second = (replace(wanted, span=span) for span in spans)
    other = {"compare_from": spans[1].first, "compare_to": spans[1].last,
             "compare_people": spans[1].people}  # fmt: skip
    links = (
        *(_estimates_link(known, first, form, "changes", other) for form in ("csv", "json")),
        Link("first tally", _tally(known, first), f"first-{known.asked.digest[:8]}.tally"),
        Link("second tally", _tally(known, second), f"second-{known.asked.digest[:8]}.tally"),
    )
    return Panel(table(view), links, f"first: {spans[0]}; second: {spans[1]}.")


def _links(known: Known, wanted: Wanted) -> tuple[Link, ...]:
    return (
        *(_estimates_link(known, wanted, form, "estimates") for form in ("csv", "json")),
        Link("tally", _tally(known, wanted), f"{known.asked.digest[:8]}.tally"),
    )


def _estimates_link(
    known: Known, wanted: Wanted, form: str, what: str, more: dict[str, str] | None = None
) -> Link:
    digest = known.asked.digest
    href = f"/v1/questions/{digest}/estimates?{wanted.query(format=form, **(more or {}))}"
    return Link(form.upper(), href, f"{what}-{digest[:8]}.{form}")


def _trend_links(known: Known, wanted: Wanted) -> tuple[Link, ...]:
    digest, daily = known.asked.digest, replace(wanted, span=replace(wanted.span, people=""))
    exports = (
        Link(
            form.upper(),
            f"/v1/questions/{digest}/trend?{daily.query(format=form)}",
            f"trend-{digest[:8]}.{form}",
        )
        for form in ("csv", "json")
    )
    return (*exports, Link("tally", _tally(known, wanted), f"{digest[:8]}.tally"))


def _tally(known: Known, wanted: Wanted) -> str:
    days = Wanted(replace(wanted.span, people=""), Span(), None).query()
    return f"/v1/questions/{known.asked.digest}/tally" + (f"?{days}" if days else "")


def _said(n: int, look: Look | None) -> str:
    """Return the sentence that a screen reader hears when the numbers have moved."""
    if look is None or not look.view.rows:
        return f"{counted(n, 'report')}."
    row = look.view.rows[0]
    return f"{counted(n, 'report')}. Largest: {one_line(row.label)}, {', '.join(row.cells[:2])}."


def _figures(n: int, look: Look | None) -> tuple[Figure, ...]:
    if look is None:
        return (Figure("Reports", f"{n:,}"),)
    # Some may have come between the two looks.
    counted, note = look.view.reports, f"{look.view.reports:,} in the estimates below"
    shown = Figure("Reports", f"{max(n, counted):,}", note if counted < n else "")
    if look.error is None or look.significant is None:
        return shown, Figure("Typical standard error", NOT_KNOWN)
    return (
        shown,
        Figure("Typical standard error", f"± {100 * look.error:.2g}", "percentage points"),
        Figure("Significant answers", f"{look.significant:,}"),
    )


def _fakes(look: Look | None) -> str | None:
    if look is None or look.fakes is None:
        return None
    share = 100 * look.fakes / look.view.reports
    return (
        f"{counted(look.fakes, 'fake report')} ({share:.2g} % of all) could move an answer by one "
        "percentage point. Whoever can send reports can do that; limit the senders where it "
        "matters."
    )


def _curves(trend: Trend | None) -> tuple[Curve, ...]:
    if trend is None or all(len(series.points) < 2 for series in trend.series):
        return ()
    names = fit_labels([series.label for series in trend.series], LABEL_WIDTH)
    return tuple(
        Curve(
            name,
            Markup(trend_svg(trend, series, f"trend-{place}")),
            tuple((point.day, *point.cells) for point in series.points),
        )
        for place, (name, series) in enumerate(zip(names, trend.series, strict=True))
    )


def _trend_note(known: Known, trend: Trend | None) -> str | None:
    """Return by which law days are judged where people may answer again, and what is left out."""
    if trend is None:
        return None
    said = []
    if known.question.protocol.memoises:
        said.append("Each day is judged by itself, by the law of as many people as answered on it.")
    if trend.left_out:
        days = "1 day is" if trend.left_out == 1 else f"{trend.left_out} days are"
        said.append(f"{days} left out: too few reports, or more than a month back.")
    return " ".join(said) or None


def _received(call: Call, digest: str) -> tuple[tuple[str, str], ...]:
    found = call.services.counters.questions.get(digest, Counter())
    refused = [(name, n) for name, n in found.items() if name not in (ACCEPTED, REPEATED)]
    return (
        ("accepted submissions, of one report or more", f"{found[ACCEPTED]:,}"),
        ("repeated: sent again, counted once", f"{found[REPEATED]:,}"),
        *(
            (f"refused: {_SENTENCES.get(name, name)}", f"{n:,}")
            for name, n in sorted(refused, key=lambda pair: -pair[1])
        ),
    )
