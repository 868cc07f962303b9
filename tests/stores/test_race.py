"""Submitting, retrying, folding, sealing, sweeping and closing all at once, on several handles."""

from __future__ import annotations

import random
from collections.abc import Callable
from threading import Event, Lock, Thread

import pytest

from deniable.collector.stores.records import (
    Outcome,
    Slice,
    State,
    StoreUnavailable,
    Submission,
)
from deniable.collector.stores.store import Store
from tests.stores.conftest import DAY, QUESTION, Place

pytestmark = pytest.mark.long("races")

Q = QUESTION.digest
COUNTED = (Outcome.STORED, Outcome.REPEATED)
SUBMITTING = 3
PASSING = list(range(DAY, DAY + 12))
JUMPING = [DAY, DAY + 30, DAY, DAY + 1, DAY + 31, DAY + 1]


class Patient:
    """A store that is asked again, as collectors ask, when its file was locked for too long.

    SQLite gives the lock to any of those who wait, so that on a busy machine one may wait in vain.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def __getattr__(self, name: str) -> Callable[..., object]:
        def call(*given: object, **named: object) -> object:
            for _ in range(10):
                try:
                    return getattr(self.store, name)(*given, **named)
                except StoreUnavailable as error:
                    if "locked" not in str(error):
                        raise
            return getattr(self.store, name)(*given, **named)

        return call


def unsettle(store: Store, chance: random.Random) -> None:
    """Seal and sweep what is due, and close and open the question, five times."""
    for _ in range(5):
        store.seal()
        store.sweep(50)
        store.change(Q, state=chance.choice([State.CLOSED, State.OPEN]))
        store.change(Q, state=State.OPEN)


def race(place: Place, *, groups: int, days: list[int], seed: int = 1) -> tuple[int, int]:
    """Let two collectors work on one store while the clock goes through ``days``.

    Returns how many submissions were acknowledged, each counted once, and how many are counted.
    """
    first = place.open()
    first.ask(QUESTION)
    acknowledged: set[tuple[int, bytes]] = set()
    lock, over, errors = Lock(), Event(), []
    submitted = 0

    def submit(store: Store, chance: random.Random) -> None:
        nonlocal submitted
        sent: list[Submission] = []
        for _ in range(groups):
            day = place.today + chance.randint(-8, 2)
            new = [
                Submission(Q, day, chance.randbytes(16), chance.randbytes(8))
                for _ in range(chance.randint(1, 8))
            ]
            group = new + chance.sample(sent, min(3, len(sent)))
            outcomes = store.add(group)
            with lock:
                submitted += 1
                acknowledged.update(
                    (one.day, one.id)
                    for one, outcome in zip(group, outcomes, strict=True)
                    if outcome in COUNTED
                )
            sent = (sent + new)[-200:]

    def fold(store: Store, chance: random.Random) -> None:
        while not over.is_set():
            if pile := store.pile(1, 400):
                n = int((pile.tally or b"0").split(b"|")[0]) + pile.n
                store.fold(pile, b"%d|" % n)

    def disturb(store: Store, chance: random.Random) -> None:
        """Give every day its part of the submissions, however the threads are scheduled."""
        for number, day in enumerate(days, start=1):
            place.pass_to(day)
            unsettle(store, chance)
            while submitted * len(days) < number * SUBMITTING * groups and not errors:
                unsettle(store, chance)

    def operate(store: Store, chance: random.Random) -> None:
        """Open days again and sweep, while others seal, sweep and submit."""
        while not over.is_set():
            store.reopen()
            store.sweep(chance.randint(1, 50))

    def start(work: Callable[[Store, random.Random], None], number: int) -> Thread:
        def run() -> None:
            try:
                work(Patient(place.open()), random.Random(seed * 100 + number))
            except BaseException as error:
                errors.append(error)
                raise

        thread = Thread(target=run)
        thread.start()
        return thread

    busy = [start(work, i) for i, work in enumerate((submit,) * SUBMITTING + (disturb,))]
    folding = [start(work, 10 + i) for i, work in enumerate((fold, fold, operate))]
    for thread in busy:
        thread.join()
    over.set()
    for thread in folding:
        thread.join()
    assert errors == []
    assert [said for said in first.check() if "fsync" not in said] == []
    return len(acknowledged), first.snapshot(Slice(Q)).n


def test_days_pass_while_everything_happens(place: Place) -> None:
    """What was acknowledged is counted, and nothing else, while days are sealed under way."""
    acknowledged, counted = race(place, groups=60, days=PASSING)
    assert acknowledged == counted > 100


def test_a_clock_that_jumps_and_comes_back_loses_nothing(place: Place) -> None:
    """Thirty days ahead and back, twice, in the middle of it all."""
    acknowledged, counted = race(place, groups=40, days=JUMPING)
    assert acknowledged == counted > 100
