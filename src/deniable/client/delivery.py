"""The delivery of a report: what is kept on its way, what each event makes of it, and the courier.

The upper half is a machine without I/O or clock, the lower one HTTP as a client needs it. Every
client, in every language, moves between the same states, which ``vectors/delivery.json`` pins row
by row and docs/formats.md explains. The rule behind the table: no reply ever makes a client draw
again. Id and bytes stay, and the day may change only while every earlier attempt was refused for
certain. After an attempt of unknown outcome another day would be another key, and the report might
count twice.
"""

import http.client
import json
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from email.message import Message
from enum import Enum
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from deniable.errors import InvalidParameter

DOUBT_DAYS = 30
"""After this many days no collector takes a report of that day: one in doubt is not sent again."""
REFUSAL_DAYS = 7
"""For this many days a report is sent again although something refuses it that may be mended."""
MOVES = 2
"""How often the day may change in one delivery."""

_ENDED = (400, 409, 410)
"""No retry can help: no report of the question, an id that is taken, a question that is closed."""
_LATER = (408, 425, 429)
"""Not stored: the status itself asks for another attempt."""
_NOT_STORED = ("queue-full", "stopping")
"""Problems with status 503 that say that the submission never reached the store."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LARGEST_ANSWER = 1 << 26


@dataclass(frozen=True)
class Reply:
    """A server's answer; ``problem`` is the problem document, if it sent one.

    ``days`` is on how many days the reports of a tally came, if the server says so.
    """

    status: int
    body: bytes = b""
    retry_after: float | None = None
    problem: dict[str, object] = field(default_factory=dict)
    days: int | None = None

    @staticmethod
    def read(status: int, body: bytes, headers: Message | Mapping[str, str]) -> "Reply":
        after, days = headers.get("Retry-After", ""), headers.get("Deniable-Days", "")
        problem: object = {}
        if headers.get("Content-Type", "").lower().startswith("application/problem+json"):
            with suppress(ValueError):
                problem = json.loads(body)
        return Reply(
            status,
            body,
            float(after) if _is_whole(after) else None,  # a date would need a clock that is right
            problem if isinstance(problem, dict) else {},
            int(days) if _is_whole(days) else None,
        )

    @property
    def kind(self) -> str:
        return str(self.problem.get("type", "")).removeprefix("urn:deniable:")


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal()


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
    NOT_NOW = "not-now"
    """Nothing is sent: it is not this device's round."""
    FINISHED = "finished"
    """Nothing is sent: this device has no turn left."""

    @staticmethod
    def read(mark: str) -> "Outcome":
        """Return the outcome that a file holds; version 0.2.0 named one differently."""
        return Outcome("maybe" if mark == "maybe counted" else mark)


@dataclass(frozen=True)
class State:
    """What is kept of a delivery between two attempts, besides the id and the bytes.

    ``day`` is that of the report, None before the first attempt that left the device. ``doubt``
    says that an earlier attempt may have been counted, ``since`` on which day something that may be
    mended first refused the report.
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
    """Tell whether what refuses the report may still be mended: a proxy, a setting."""
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


def utc_today() -> date:
    return datetime.now(UTC).date()


class Unsent(OSError):
    """Nothing left this machine."""


class Lost(OSError):
    """The request left, and no answer came: the server may have acted on it."""


class Transport:
    """Requests to one server over one connection, which is reopened when needed."""

    _connection: http.client.HTTPConnection | None = None

    def __init__(self, address: str, *, token: str | None = None, timeout: float = 20.0) -> None:
        parts = _split(address)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise InvalidParameter(
                "the token has characters that `deniable token create` never prints; copy it again"
            )
        self.address, self._parts, self._timeout = address.rstrip("/"), parts, timeout
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def request(
        self, method: str, path: str, body: bytes | None = None, *, most: int = _LARGEST_ANSWER
    ) -> Reply:
        """Send a request; raise ``Unsent`` or ``Lost`` where no answer came.

        Of an answer no more than ``most`` bytes are read.
        """
        connection = self._open()
        try:
            # The path of the address stays in front, for a collector behind a proxy.
            target = self._parts.path.rstrip("/") + path
            connection.request(method, target, body=body, headers=self._headers)
            answer = connection.getresponse()
            data = answer.read(most)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Lost(f"{self.address} did not answer: {error!r}; try again later") from error
        if answer.will_close or not answer.isclosed():
            self.close()  # the server asks for it, or there is more than may be read
        return Reply.read(answer.status, data, answer.headers)

    def _open(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host, port = self._parts.hostname or "", self._parts.port
            if self._parts.scheme == "https":
                self._connection = http.client.HTTPSConnection(
                    host, port, timeout=self._timeout, context=ssl.create_default_context()
                )
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
            try:
                self._connection.connect()
            except OSError as error:
                self.close()
                raise Unsent(
                    f"{self.address} cannot be reached: {error.strerror or error}; check the "
                    "address, and that the collector runs"
                ) from error
        return self._connection

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __del__(self) -> None:
        self.close()


def _split(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:  # an open bracket, or a port that is not a number
        pass
    raise InvalidParameter(
        f"expected an address such as https://example.org or http://127.0.0.1:8000, got "
        f"{address[:80]!r}",
        value=address,
    )


@dataclass(frozen=True)
class Parcel:
    """Reports under one id, how far their delivery has come, and how often that was noted.

    Where the question has segments, the byte of its cell stands before each report. ``address`` is
    the collector that they are for, None where no other is known.
    """

    id: bytes
    reports: bytes
    state: State = field(default_factory=State)
    noted: int = 0
    address: str | None = None


@dataclass(frozen=True)
class Delivery:
    """How a delivery ended, the parcel as it is now, and the last event, if anything was tried."""

    outcome: Outcome
    parcel: Parcel
    event: Event | None = None

    @property
    def reason(self) -> str:
        if isinstance(self.event, Reply):
            return self.event.kind or f"status {self.event.status}"
        return {"lost": "no answer", "offline": "not reached", None: ""}[self.event]


@dataclass(frozen=True)
class Courier:
    """Delivers parcels to one question of one collector.

    A delivery makes up to ``attempts`` attempts and waits between them: up to twice as long each
    time, at random, and at least as long as the collector asks for. It ends earlier where that is
    more than ``longest`` seconds, or where waiting will not mend what refuses the parcel.
    """

    transport: Transport
    digest: str
    attempts: int = 5
    longest: float = 30.0
    sleep: Callable[[float], None] = time.sleep

    def deliver(
        self, parcel: Parcel, save: Callable[[Parcel], bool] = lambda parcel: True
    ) -> Delivery:
        """Send a parcel until its fate is known or the attempts are used up.

        ``save`` makes a parcel durable, before each attempt and at the end. Where it returns False
        the parcel is gone, or another courier has it, and this one leaves it alone.
        """
        attempt = moves = 0
        event: Event | None = None
        while attempt < self.attempts:
            today = utc_today().isoformat()
            trying = begin(parcel.state, today)
            if trying is None:
                return Delivery(Outcome.MAYBE, parcel, event)
            if not save(replace(parcel, state=trying)):
                return Delivery(Outcome.WAITING, parcel, event)
            event = self._post(parcel, trying.day or today)
            step = conclude(parcel.state, event, today=today, moves=moves)
            if step.state is None or step.wait is None:
                return Delivery(step.outcome, parcel, event)
            parcel = replace(parcel, state=step.state)
            if step.wait == 0:
                moves += 1
                continue
            attempt += 1
            if mendable(event) or step.wait > self.longest:
                break
            if attempt < self.attempts:
                spread = random.uniform(0, min(self.longest, 0.5 * 2**attempt))
                self.sleep(min(self.longest, step.wait + spread))
        save(parcel)
        return Delivery(Outcome.WAITING, parcel, event)

    def _post(self, parcel: Parcel, day: str) -> Event:
        path = f"/v1/questions/{self.digest}/reports?day={day}"
        try:
            return self.transport.request("POST", path, parcel.id + parcel.reports)
        except Unsent:
            return "offline"
        except Lost:
            return "lost"
