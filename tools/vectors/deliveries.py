"""How a device delivers a report: the contents of ``vectors/delivery.json``.

The table below is the specification of every client, written out and not computed by one of them.
An attempt starts from what is kept of a delivery, the *state*: the ``day`` of the report, whether
an earlier attempt is in ``doubt``, and ``since`` when something that may be mended refuses it. The
attempt sends the same bytes for the day, or nothing; an *event* ends it.

==========  ================================================  ==================  ================
kind        events                                            certain so far      in doubt
==========  ================================================  ==================  ================
stored      any 2xx                                           answered            answered
final       400, 409, 410                                     refused             maybe
window      422 with a window of days                         other day, at once  maybe
mendable    any other 3xx or 4xx                              waits, 7 days       waits, 7 days
later       408, 425, 429; 503 as queue-full or stopping      waits               waits
unknown     any other 5xx, a timeout, a cut connection        waits, in doubt     waits
offline     nothing left the device                           waits               waits
==========  ================================================  ==================  ================
"""

from __future__ import annotations

from collections.abc import Iterator

DOUBT_DAYS = 30
"""After this many days no collector takes a report of that day: one in doubt is not sent again."""
REFUSAL_DAYS = 7
"""For this many days a report is sent again although something refuses it that may be mended."""
MOVES = 2
"""How often the day may change in one delivery."""

State = dict[str, object]
Step = dict[str, object]
Row = dict[str, object]
Event = dict[str, object] | str | None

TODAY = "2026-03-10"
FRESH: State = {"day": None, "doubt": False, "since": None}
TRIED: State = {"day": "2026-03-08", "doubt": False, "since": None}
DOUBTFUL: State = {"day": "2026-03-08", "doubt": True, "since": None}
BEFORE = {"fresh": FRESH, "after a refusal": TRIED, "in doubt": DOUBTFUL}


def _reply(status: int, type: str | None = None, after: str | None = None, **more: object) -> Event:
    """Return a reply; without a type it has no problem document, as from a proxy."""
    named = {} if type is None else {"type": type}
    return {"status": status, **named, **({} if after is None else {"retry_after": after}), **more}


STORED = [_reply(status) for status in (204, 200, 201, 202, 206)]
FINAL = [
    _reply(400, "invalid-request"), _reply(400, "invalid-report"), _reply(400, "invalid-document"),
    _reply(400), _reply(409, "conflict"), _reply(409, "too-few-reports"), _reply(409),
    _reply(410, "question-closed"), _reply(410),
]  # fmt: skip
MENDABLE = [
    _reply(401, "unauthorized"), _reply(403, "forbidden"), _reply(403, "origin-refused"),
    _reply(403), _reply(404, "unknown-question"), _reply(404, "not-found"), _reply(404),
    _reply(405, "method-refused"), _reply(411), _reply(413, "too-large"), _reply(413), _reply(415),
    _reply(422, "too-costly"), _reply(422), _reply(431), _reply(451),
    *(_reply(status) for status in (300, 301, 302, 303, 304, 307, 308)),
]  # fmt: skip
LATER = [
    _reply(408), _reply(425), _reply(429), _reply(429, after="120"), _reply(408, after="5"),
    _reply(503, "queue-full", "1"), _reply(503, "queue-full"), _reply(503, "stopping", "5"),
]  # fmt: skip
UNKNOWN = [
    _reply(500, "internal"), _reply(500), _reply(501), _reply(502), _reply(503),
    _reply(503, after="30"), _reply(503, "store-unavailable", "2"),
    _reply(503, "store-unavailable", "60"), _reply(503, "searching", "30"), _reply(504),
    _reply(520), "timeout", "cut",
]  # fmt: skip


def make_deliveries() -> dict[str, object]:
    """Return the contents of the file: the limits, and rows of one step or several."""
    rows = [*_replies(), *_waits(), *_windows(), *_hostile(), *_clocks(), *_patience(), *_marks()]
    return {
        "format": "deniable-vectors",
        "version": 1,
        "doubt_days": DOUBT_DAYS,
        "refusal_days": REFUSAL_DAYS,
        "moves": MOVES,
        "vectors": [*rows, *_sequences()],
    }


def _name(event: Event) -> str:
    if not isinstance(event, dict):
        return str(event)
    words = [event["status"], event.get("type"), *(["later"] if "retry_after" in event else [])]
    return " ".join(str(word) for word in words if word is not None)


def _ended(state: State | str, event: Event, outcome: str, **more: str | None) -> Step:
    """Return a step after which only the outcome is kept."""
    sent = more.get("sent", state.get("day") or TODAY) if isinstance(state, dict) else None
    return {
        "state": state, "today": more.get("today", TODAY), "event": event, "sent": sent,
        "outcome": outcome, "next": None, "wait": None,
    }  # fmt: skip


def _waits_on(state: State, event: Event, next: State, wait: int = 1, today: str = TODAY) -> Step:
    """Return a step after which the report is sent again, in ``wait`` seconds at the earliest."""
    sent = None if event == "offline" else state["day"] or today
    return {
        "state": state, "today": today, "event": event, "sent": sent,
        "outcome": "waiting", "next": next, "wait": wait,
    }  # fmt: skip


def _row(why: str, *steps: Step) -> Row:
    return {"why": why, "steps": list(steps)}


def _after(event: Event) -> int:
    return int(str(event.get("retry_after", 1))) if isinstance(event, dict) else 1


def _replies() -> Iterator[Row]:
    """Yield every kind of event: on a first attempt, after a refusal, and in doubt."""
    for before, state in BEFORE.items():
        doubt, kept = bool(state["doubt"]), {**state, "day": state["day"] or TODAY}
        for event in STORED:
            yield _row(f"{_name(event)}, {before}", _ended(state, event, "answered"))
        for event in FINAL:
            end = "maybe" if doubt else "refused"
            yield _row(f"{_name(event)}, {before}", _ended(state, event, end))
        for event in MENDABLE:
            step = _waits_on(state, event, {**kept, "since": TODAY})
            yield _row(f"{_name(event)}, {before}", step)
        for event in LATER:
            step = _waits_on(state, event, kept, _after(event))
            yield _row(f"{_name(event)}, {before}", step)
        for event in UNKNOWN:
            step = _waits_on(state, event, {**kept, "doubt": True}, _after(event))
            yield _row(f"{_name(event)}, {before}", step)
        yield _row(f"nothing left the device, {before}", _waits_on(state, "offline", state))


def _waits() -> Iterator[Row]:
    """Yield what may stand in Retry-After: seconds are respected, anything else is ignored."""
    kept = {**FRESH, "day": TODAY}
    for text, wait in {"0": 1, "86400": 86400, "": 1, "-5": 1, "soon": 1,
                       "Wed, 11 Mar 2026 07:28:00 GMT": 1}.items():  # fmt: skip
        step = _waits_on(FRESH, _reply(429, after=text), kept, wait)
        yield _row(f"Retry-After: {text or 'nothing'}", step)
    step = _waits_on(FRESH, _reply(404, after="9"), {**kept, "since": TODAY}, 9)
    yield _row("a proxy that asks to wait", step)


def _window(first: object, last: object) -> Event:
    return _reply(422, "outside-window", first=first, last=last)


def _windows() -> Iterator[Row]:
    """Yield clocks before, in and after the window of days that the collector takes."""
    for why, first, last, day in (
        ("behind", "2026-06-01", "2026-06-09", "2026-06-01"),
        ("a day behind", "2026-03-11", "2026-03-19", "2026-03-11"),
        ("right, by a window that holds the day", "2026-03-04", "2026-03-12", None),
        ("ahead", "2025-11-01", "2025-11-09", "2025-11-09"),
        ("ahead of a window of one day", "2026-01-01", "2026-01-01", "2026-01-01"),
        ("years ahead", "1970-01-01", "1970-01-02", "1970-01-02"),
    ):
        event = _window(first, last)
        for before, state in (("fresh", FRESH), ("after a refusal", TRIED)):
            moved = {**state, "day": day or state["day"] or TODAY}
            yield _row(f"the clock is {why}, {before}", _waits_on(state, event, moved, 0))
        yield _row(f"the clock is {why}, in doubt", _ended(DOUBTFUL, event, "maybe"))


def _hostile() -> Iterator[Row]:
    """Yield windows that no collector has: an invalid one is a refusal that may be mended."""
    for why, first, last in (
        ("first after last", "2026-03-12", "2026-03-04"),
        ("no last day", "2026-03-04", None),
        ("no first day", None, "2026-03-04"),
        ("empty texts", "", ""),
        ("words", "yesterday", "tomorrow"),
        ("numbers", 20260301, 20260309),
        ("lists", ["2026-03-01"], ["2026-03-09"]),
        ("times of day", "2026-03-01T00:00:00Z", "2026-03-09T00:00:00Z"),
        ("short forms", "2026-3-1", "2026-3-9"),
        ("no such month", "2026-13-01", "2026-13-09"),
        ("no such day", "2026-02-30", "2026-02-31"),
        ("years of six digits", "+002026-03-01", "+275760-09-13"),
        ("texts around a day", " 2026-03-01", "2026-03-09&day=2026-03-10"),
    ):
        for before, state in (("fresh", FRESH), ("in doubt", DOUBTFUL)):
            kept = {**state, "day": state["day"] or TODAY, "since": TODAY}
            step = _waits_on(state, _window(first, last), kept)
            yield _row(f"a window of {why}, {before}", step)
    for body in ("", "null", "[]", "{", '"2026-03-01"'):
        kept = {**FRESH, "day": TODAY, "since": TODAY}
        step = _waits_on(FRESH, _reply(422, "outside-window", body=body), kept)
        yield _row(f"a problem document of {body or 'nothing'}", step)
    elsewhere = _reply(404, "not-found", first="2026-06-01", last="2026-06-09")
    step = _waits_on(FRESH, elsewhere, {**FRESH, "day": TODAY, "since": TODAY})
    yield _row("a window with another status", step)
    for why, first, last, day in (
        ("all days that there are", "0001-01-01", "9999-12-31", TODAY),
        ("the last day that there is", "9999-12-31", "9999-12-31", "9999-12-31"),
    ):
        step = _waits_on(FRESH, _window(first, last), {**FRESH, "day": day}, 0)
        yield _row(f"a window of {why}", step)


def _clocks() -> Iterator[Row]:
    """Yield days long past and days to come: a report in doubt keeps its day, or is given up."""
    old = {**DOUBTFUL, "day": "2026-02-08"}
    yield _row("in doubt for 30 days", _waits_on(old, "cut", old))
    older = {**DOUBTFUL, "day": "2026-02-07"}
    yield _row("in doubt for 31 days", _ended(older, None, "maybe", sent=None))
    ancient = {**DOUBTFUL, "day": "2019-12-31"}
    yield _row("in doubt, and the clock jumped ahead", _ended(ancient, None, "maybe", sent=None))
    ahead = {**DOUBTFUL, "day": "2031-01-01"}
    yield _row("in doubt, and the clock jumped back", _waits_on(ahead, "timeout", ahead))
    yield _row("in doubt for a day to come, stored", _ended(ahead, _reply(204), "answered"))
    certain = {**TRIED, "day": "2026-02-07"}
    yield _row("refused 31 days ago, stored", _ended(certain, _reply(204), "answered"))
    moved = {**certain, "day": "2026-03-04"}
    event = _window("2026-03-04", "2026-03-12")
    yield _row("refused 31 days ago, too late", _waits_on(certain, event, moved, 0))
    early = {**TRIED, "day": "2031-01-01"}
    moved = {**early, "day": "2026-03-12"}
    yield _row("refused before the clock jumped back", _waits_on(early, event, moved, 0))


def _patience() -> Iterator[Row]:
    """Yield how long a report is sent again while something on the way refuses it."""
    for event in (_reply(404), _reply(403, "origin-refused"), _reply(413), _reply(302),
                  _reply(422), _window("2026-03-12", "2026-03-04")):  # fmt: skip
        for doubt, end in ((False, "refused"), (True, "maybe")):
            state = {"day": "2026-03-03", "doubt": doubt, "since": "2026-03-03"}
            said = f"{_name(event)}, {'in doubt' if doubt else 'certain'}"
            yield _row(f"refused for 7 days: {said}", _waits_on(state, event, state))
            state = {**state, "since": "2026-03-02"}
            yield _row(f"refused for 8 days: {said}", _ended(state, event, end))
    state = {"day": "2026-03-03", "doubt": False, "since": "2026-03-02"}
    for event in (_reply(429), _reply(503, "queue-full", "1")):
        yield _row(f"refused for 8 days, then {_name(event)}", _waits_on(state, event, state))
    for event in (_reply(500), "timeout"):
        step = _waits_on(state, event, {**state, "doubt": True})
        yield _row(f"refused for 8 days, then {_name(event)}", step)
    yield _row("refused for 8 days, then offline", _waits_on(state, "offline", state))
    yield _row("refused for 8 days, then stored", _ended(state, _reply(204), "answered"))
    moved = {**state, "day": "2026-03-04"}
    event = _window("2026-03-04", "2026-03-12")
    yield _row("refused for 8 days, then a window", _waits_on(state, event, moved, 0))
    ahead = {**state, "since": "2031-01-01"}
    step = _waits_on(ahead, _reply(404), {**ahead, "since": TODAY})
    yield _row("refused since a day to come: the clock jumped back", step)


def _marks() -> Iterator[Row]:
    """Yield deliveries that have ended: nothing is sent."""
    for mark, outcome in (("answered", "already"), ("refused", "refused"), ("maybe", "maybe"),
                          ("opted-out", "opted-out")):  # fmt: skip
        yield _row(f"the delivery ended before: {mark}", _ended(mark, None, outcome))


def _sequence(why: str, *moments: tuple[str, Event, State | str, int | None]) -> Row:
    """Return steps one after the other: today, the event, and what is kept or how it ended."""
    steps: list[Step] = []
    state: State = FRESH
    for today, event, next, wait in moments:
        if isinstance(next, str):
            sent = None if event is None else str(state["day"] or today)
            steps.append(_ended(state, event, next, today=today, sent=sent))
        else:
            steps.append(_waits_on(state, event, next, wait or 0, today))
            state = next
    return _row(why, *steps)


def _kept(day: str | None, doubt: bool = False, since: str | None = None) -> State:
    return {"day": day, "doubt": doubt, "since": since}


def _sequences() -> Iterator[Row]:
    """Yield several attempts in a row."""
    done, window = _reply(204), _window("2026-06-01", "2026-06-09")
    earlier, gone = _window("2025-11-01", "2025-11-09"), _reply(404)
    yield _sequence(
        "offline for days: the day is that of the first attempt that left",
        ("2026-03-01", "offline", _kept(None), 1),
        ("2026-03-04", "offline", _kept(None), 1),
        ("2026-03-09", done, "answered", None),
    )
    yield _sequence(
        "lost, and stored at the second attempt, days later",
        ("2026-03-01", "timeout", _kept("2026-03-01", True), 1),
        ("2026-03-05", done, "answered", None),
    )
    yield _sequence(
        "lost, and the day is sealed before the next attempt",
        ("2026-03-01", "cut", _kept("2026-03-01", True), 1),
        ("2026-03-20", _window("2026-03-13", "2026-03-21"), "maybe", None),
    )
    yield _sequence(
        "lost, and nobody answers for a month",
        ("2026-03-01", _reply(502), _kept("2026-03-01", True), 1),
        ("2026-03-31", "timeout", _kept("2026-03-01", True), 1),
        ("2026-04-01", None, "maybe", None),
    )
    yield _sequence(
        "a wrong clock, put right at once",
        (TODAY, window, _kept("2026-06-01"), 0),
        (TODAY, done, "answered", None),
    )
    yield _sequence(
        "a day that moved keeps to its new day when that attempt is lost",
        (TODAY, window, _kept("2026-06-01"), 0),
        (TODAY, "timeout", _kept("2026-06-01", True), 1),
        ("2026-06-02", done, "answered", None),
    )
    yield _sequence(
        "a day that moved, lost, and refused for its day again",
        (TODAY, window, _kept("2026-06-01"), 0),
        (TODAY, _reply(500), _kept("2026-06-01", True), 1),
        (TODAY, earlier, "maybe", None),
    )
    yield _sequence(
        "a collector that sends the day to and fro is asked three times, and later again",
        (TODAY, window, _kept("2026-06-01"), 0),
        (TODAY, earlier, _kept("2025-11-09"), 0),
        (TODAY, window, _kept("2025-11-09", since=TODAY), 1),
        ("2026-03-11", window, _kept("2026-06-01", since=TODAY), 0),
        ("2026-03-11", done, "answered", None),
    )
    yield _sequence(
        "a proxy in the way for a day",
        (TODAY, _reply(403), _kept(TODAY, since=TODAY), 1),
        (TODAY, _reply(503, "queue-full", "1"), _kept(TODAY, since=TODAY), 1),
        ("2026-03-11", done, "answered", None),
    )
    yield _sequence(
        "a question that is gone",
        (TODAY, gone, _kept(TODAY, since=TODAY), 1),
        ("2026-03-17", gone, _kept(TODAY, since=TODAY), 1),
        ("2026-03-18", gone, "refused", None),
    )
    yield _sequence(
        "a question that is gone after an attempt in doubt",
        (TODAY, "cut", _kept(TODAY, True), 1),
        ("2026-03-12", gone, _kept(TODAY, True, "2026-03-12"), 1),
        ("2026-03-20", gone, "maybe", None),
    )
    yield _sequence(
        "a clock that jumps back while the question is gone",
        ("2031-01-01", gone, _kept("2031-01-01", since="2031-01-01"), 1),
        (TODAY, gone, _kept("2031-01-01", since=TODAY), 1),
        ("2026-03-18", gone, "refused", None),
    )
    yield _sequence(
        "closed, after an attempt that was certainly refused",
        (TODAY, _reply(429, after="2"), _kept(TODAY), 2),
        (TODAY, _reply(410, "question-closed"), "refused", None),
    )
    yield _sequence(
        "closed, after an attempt in doubt and one that was certainly refused",
        (TODAY, "timeout", _kept(TODAY, True), 1),
        (TODAY, _reply(503, "stopping", "5"), _kept(TODAY, True), 5),
        (TODAY, _reply(410, "question-closed"), "maybe", None),
    )
