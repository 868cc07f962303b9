"""The courier: brings a parcel to a collector, with the same bytes however often it takes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime

from deniable.client.delivery import Event, Outcome, State, begin, conclude, mendable
from deniable.client.transport import Lost, Reply, Transport, Unsent


def utc_today() -> date:
    """Return the day in UTC, by this machine's clock."""
    return datetime.now(UTC).date()


@dataclass(frozen=True)
class Parcel:
    """Reports under one id, how far their delivery has come, and how often that was noted.

    ``address`` is the collector that they are for, None where no other is known.
    """

    id: bytes
    reports: bytes
    state: State = field(default_factory=State)
    turn: int = 0
    address: str | None = None


@dataclass(frozen=True)
class Delivery:
    """How a delivery ended, the parcel as it is now, and the last event, if anything was tried."""

    outcome: Outcome
    parcel: Parcel
    event: Event | None = None

    @property
    def reason(self) -> str:
        """What the collector, or the lack of one, said."""
        if isinstance(self.event, Reply):
            return self.event.kind or f"status {self.event.status}"
        return {"lost": "no answer", "offline": "not reached", None: ""}[self.event]


@dataclass(frozen=True)
class Courier:
    """Delivers parcels to one question of one collector.

    A delivery makes up to ``attempts`` attempts and waits between them: twice as long each time,
    less by chance, at least as long as it is told. Where that is more than ``longest`` seconds, or
    where something refuses the parcel that a few seconds will not mend, it ends before.
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

        ``save`` makes a parcel durable, before each attempt and at the end; it returns False where
        the parcel is gone, or in the hands of another courier, and this one leaves it alone.
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
        """Send once, and tell what is known about it."""
        path = f"/v1/questions/{self.digest}/reports?day={day}"
        try:
            return self.transport.request("POST", path, parcel.id + parcel.reports)
        except Unsent:
            return "offline"
        except Lost:
            return "lost"
