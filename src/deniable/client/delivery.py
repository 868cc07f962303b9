"""The delivery machine: what is kept of a report on its way, and what each event makes of it.

No I/O and no clock: every client, in every language, moves between the same states, which
``vectors/delivery.json`` pins row by row and docs/formats.md explains. The rule behind the table is
that no reply ever makes a client draw again: id and bytes stay, and the day may change only as long
as every earlier attempt was refused for certain. After an attempt of unknown outcome another day
would be another key, and the report might count twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from typing import Literal

from deniable.client.transport import Reply

DOUBT_DAYS = 30
"""After so many days no collector takes a report of a day: one in doubt is not sent any more."""
REFUSAL_DAYS = 7
"""For so many days a report is sent again though something that may be mended refuses it."""
MOVES = 2
"""How often the day may change in one delivery."""

_ENDED = (400, 409, 410)
"""No retry can help: not a report of the question, the id is taken, the question is closed."""
_LATER = (408, 425, 429)
"""Not stored, and asked for again by the very status."""
_NOT_STORED = ("queue-full", "stopping")
"""Problems with status 503 that say that the submission never reached the store."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

Event = Reply | Literal["lost", "offline"]
"""How an attempt ended: with a reply, without one, or before anything left the device."""


class Outcome(Enum):
    """How an answer stands."""

    ANSWERED = "answered"
    """The collector has it."""
    ALREADY = "already"
    """The question was answered before, and nothing was sent now."""
    WAITING = "waiting"
    """The report is kept and will be sent again."""
    REFUSED = "refused"
    """The collector will not count it; nothing more is sent."""
    MAYBE = "maybe"
    """Nothing more is sent, and whether the collector counted it is not known."""
    OPTED_OUT = "opted-out"
    """Nothing is sent: the person does not want it."""
    NO_STORAGE = "no-storage"
    """Nothing is sent: this device would forget that it was."""
    OVER_BUDGET = "over-budget"
    """Nothing is sent: the questions so far have used up the budget."""

    @staticmethod
    def read(mark: str) -> Outcome:
        """Return the outcome that a file holds; version 0.2.0 had another name for one."""
        return Outcome("maybe" if mark == "maybe counted" else mark)


@dataclass(frozen=True)
class State:
    """What is kept of a delivery between two attempts, beside the id and the bytes.

    ``day`` is that of the report, None before the first attempt that left the device. ``doubt``
    says that an earlier attempt may have been counted, ``since`` on which day something that may be
    mended refused the report first.
    """

    day: str | None = None
    doubt: bool = False
    since: str | None = None


@dataclass(frozen=True)
class Step:
    """What an attempt leads to: ``state`` and ``wait`` are None when the delivery has ended.

    ``wait`` is the fewest seconds until the next attempt; 0 is at once, in the same delivery.
    """

    outcome: Outcome
    state: State | None = None
    wait: float | None = None


def begin(state: State, today: str) -> State | None:
    """Return what must be on the disk while an attempt is under way; None forbids the attempt."""
    if state.doubt and state.day is not None and _days(state.day, today) > DOUBT_DAYS:
        return None
    return replace(state, day=state.day or today, doubt=True)


def conclude(state: State, event: Event, *, today: str, moves: int = 0) -> Step:
    """Return what an event makes of the state before the attempt.

    ``moves`` says how often the day changed in this delivery.
    """
    if event == "offline":
        return Step(Outcome.WAITING, state, 1.0)
    tried = replace(state, day=state.day or today)
    if isinstance(event, str):
        return Step(Outcome.WAITING, replace(tried, doubt=True), 1.0)
    if 200 <= event.status < 300:
        return Step(Outcome.ANSWERED)
    window, since = _window(event), min(state.since or today, today)
    if window is not None and not state.doubt and moves < MOVES:
        first, last = window
        day = max(first, min(last, tried.day or today))
        return Step(Outcome.WAITING, replace(tried, day=day), 0.0)
    given_up = mendable(event) and _days(since, today) > REFUSAL_DAYS
    if event.status in _ENDED or given_up or (window is not None and state.doubt):
        return Step(Outcome.MAYBE if state.doubt else Outcome.REFUSED)
    if mendable(event):
        after = replace(tried, since=since)
    else:
        known = event.status in _LATER or (event.status == 503 and event.kind in _NOT_STORED)
        after = replace(tried, doubt=state.doubt or not known)
    return Step(Outcome.WAITING, after, max(1.0, event.retry_after or 0.0))


def mendable(event: Event) -> bool:
    """Tell whether something refuses the report that somebody may mend: a proxy, a setting."""
    return isinstance(event, Reply) and 300 <= event.status < 500 and event.status not in _LATER


def _window(reply: Reply) -> tuple[str, str] | None:
    """Return the first and the last day that a collector takes, if it names them soundly."""
    first, last = reply.problem.get("first"), reply.problem.get("last")
    if reply.status != 422 or not isinstance(first, str) or not isinstance(last, str):
        return None
    return (first, last) if _is_day(first) and _is_day(last) and first <= last else None


def _is_day(text: str) -> bool:
    try:
        return _DAY.fullmatch(text) is not None and date.fromisoformat(text) is not None
    except ValueError:
        return False


def _days(earlier: str, later: str) -> int:
    return (date.fromisoformat(later) - date.fromisoformat(earlier)).days
