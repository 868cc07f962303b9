"""The courier: brings a parcel to a collector, with the same bytes however often it takes.

The day of a parcel is fixed at the first attempt. It may change only as long as every earlier
attempt was definitely refused; after an attempt with an unknown outcome a new day would be a new
key, and the report might count twice.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import Enum

from deniable.client.transport import Lost, Reply, Transport, Unsent

_NOT_STORED = ("queue-full", "stopping")
"""Problems with status 503 that say that the submission never reached the store."""
_ENDED = (409, 410)
"""Statuses after which a parcel is done with: the id is taken, or the question is closed."""
_SLOWER = 429
_MOST_DAYS = 2
"""How often a parcel may change its day in one delivery."""


class Outcome(Enum):
    """How a delivery ended."""

    ANSWERED = "answered"
    REFUSED = "refused"
    MAYBE_COUNTED = "maybe counted"
    PENDING = "pending"

    @property
    def final(self) -> bool:
        """Whether the parcel is done with; a pending one is sent again later."""
        return self is not Outcome.PENDING


@dataclass(frozen=True)
class Parcel:
    """Reports under one id; ``doubt`` says that an earlier attempt may have been counted."""

    id: bytes
    reports: bytes
    day: str | None = None
    doubt: bool = False


@dataclass(frozen=True)
class Delivery:
    """How a delivery ended, the parcel as it is now, and what the collector said."""

    outcome: Outcome
    parcel: Parcel
    reason: str = ""


@dataclass(frozen=True)
class Courier:
    """Delivers parcels to one question of one collector."""

    transport: Transport
    digest: str
    attempts: int = 5
    base: float = 0.5
    longest: float = 30.0
    today: Callable[[], date] = lambda: datetime.now(UTC).date()
    sleep: Callable[[float], None] = time.sleep

    def deliver(
        self, parcel: Parcel, save: Callable[[Parcel], None] = lambda parcel: None
    ) -> Delivery:
        """Send a parcel until its fate is known or the attempts are used up.

        ``save`` makes a parcel durable; it is called before each attempt.
        """
        attempt = days = 0
        reply: Reply | None = None
        while attempt < self.attempts:
            trying = replace(parcel, day=parcel.day or self.today().isoformat(), doubt=True)
            save(trying)
            reply = self._post(trying)
            if reply is not None and reply.kind == "outside-window":
                if parcel.doubt or days == _MOST_DAYS:
                    return Delivery(_end(parcel.doubt), trying, reply.kind)
                parcel, days = replace(parcel, day=_open_day(reply, trying.day)), days + 1
                continue
            if reply is not None and 200 <= reply.status < 300:
                return Delivery(Outcome.ANSWERED, trying)
            if reply is not None and reply.status in _ENDED:
                return Delivery(_end(parcel.doubt), trying, reply.kind)
            known = reply is not None and (reply.status < 500 or reply.kind in _NOT_STORED)
            parcel = replace(trying, doubt=parcel.doubt or not known)
            if reply is not None and reply.status < 500 and reply.status != _SLOWER:
                break  # refused for a reason that somebody may mend: the same bytes can go later
            attempt += 1
            if attempt < self.attempts:
                self._wait(attempt, reply)
        save(parcel)
        return Delivery(Outcome.PENDING, parcel, "no answer" if reply is None else reply.kind)

    def _post(self, parcel: Parcel) -> Reply | None:
        """Send once; None where the outcome is unknown."""
        path = f"/v1/questions/{self.digest}/reports?day={parcel.day}"
        try:
            return self.transport.request("POST", path, parcel.id + parcel.reports)
        except Unsent:
            return Reply(503, problem={"type": "urn:deniable:stopping", "title": "Not reached"})
        except Lost:
            return None

    def _wait(self, attempt: int, reply: Reply | None) -> None:
        """Wait before the next attempt: twice as long each time, and by chance less."""
        most = min(self.longest, self.base * 2**attempt)
        least = reply.retry_after or 0.0 if reply is not None else 0.0
        self.sleep(min(self.longest, least + random.uniform(0, most)))


def _end(doubt: bool) -> Outcome:
    return Outcome.MAYBE_COUNTED if doubt else Outcome.REFUSED


def _open_day(reply: Reply, day: str | None) -> str | None:
    """Return the open day nearest to the one that was refused, as every client chooses it."""
    try:
        last = date.fromisoformat(str(reply.problem.get("last")))
        first = date.fromisoformat(str(reply.problem.get("first", last)))
        return max(first, min(last, date.fromisoformat(str(day)))).isoformat()
    except ValueError:
        return day
