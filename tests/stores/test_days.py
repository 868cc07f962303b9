"""Which days take reports: sealing, clocks that are wrong, and days that are opened again."""

from __future__ import annotations

import pytest

from deniable.collector.stores.records import Outcome, Slice
from deniable.collector.stores.store import Store
from tests.stores.conftest import DAY, QUESTION, Place
from tests.stores.test_store import Q, counted, fold_all, submission


def test_days_outside_the_window_are_refused(store: Store) -> None:
    """The last seven days, today and tomorrow are open."""
    days = [DAY - 8, DAY - 7, DAY, DAY + 1, DAY + 2]
    assert store.add([submission(1, day=day) for day in days]) == [
        Outcome.SEALED,
        Outcome.STORED,
        Outcome.STORED,
        Outcome.STORED,
        Outcome.NOT_YET,
    ]
    window = store.window()
    assert (window.first, window.last, window.alarm) == (DAY - 7, DAY + 1, None)


def test_the_clock_never_opens_a_sealed_day(place: Place, store: Store) -> None:
    """Sealing follows the clock forward, and never back."""
    store.add([submission(1)])
    for day in range(DAY + 1, DAY + 9):
        place.pass_to(day)
        assert store.seal().alarm is None
    assert store.add([submission(1), submission(2)]) == [Outcome.SEALED] * 2
    place.pass_to(DAY + 7)
    assert store.seal().first == DAY + 1
    assert store.add([submission(2)]) == [Outcome.SEALED]
    assert counted(store) == 1


@pytest.mark.parametrize("jump", [30, 3, -3, -30])
def test_a_clock_that_jumps_seals_nothing(place: Place, store: Store, jump: int) -> None:
    """Days stay open, and an alarm says why, until the clock is back or somebody vouches for it."""
    store.add([submission(1, day=DAY - 7)])
    place.pass_to(DAY + jump)
    assert store.seal().alarm is not None
    assert store.window().alarm is not None
    assert store.add([submission(1, day=DAY - 7)]) == [Outcome.REPEATED]
    place.pass_to(DAY)
    assert store.seal().alarm is None
    assert counted(store, DAY - 7) == 1
    place.pass_to(DAY + jump)
    window = store.seal(trust_clock=True)
    assert window.first == max(DAY - 7, DAY + jump - 7)
    assert (window.alarm is None) == (jump > -6)  # else today is sealed


def test_a_clock_that_was_ahead_at_the_first_start_is_made_good(place: Place) -> None:
    """Thirty days ahead, then right: one command opens today, and nothing counts twice."""
    place.pass_to(DAY + 30)
    store = place.open()
    store.ask(QUESTION)
    store.seal(trust_clock=True)
    early = submission(1, day=DAY + 30)
    assert store.add([early]) == [Outcome.STORED]
    place.pass_to(DAY)
    for trust in (False, True):  # vouching for the clock does not help, and the alarm stays
        alarm = store.seal(trust_clock=trust).alarm
        assert alarm is not None
        assert "deniable store reopen" in alarm
        assert store.add([submission(2)]) == [Outcome.SEALED]
    window = store.reopen()
    assert (window.first, window.last, window.alarm) == (DAY - 7, DAY + 1, None)
    assert store.window() == window
    assert store.seal() == window
    assert store.add([submission(2), submission(2), early]) == [
        Outcome.STORED,
        Outcome.REPEATED,
        Outcome.REPEATED,
    ]
    assert store.snapshot(Slice(Q)).n == 2
    for day in range(DAY + 1, DAY + 9):
        place.pass_to(day)
        assert store.seal().alarm is None
    assert store.window().first == DAY + 1


def test_a_day_whose_ids_are_forgotten_stays_sealed(place: Place, store: Store) -> None:
    """A clock that was trusted wrongly sealed and swept days: they are lost, later ones are not."""
    store.add([submission(1, day=DAY - 2), submission(1, day=DAY)])
    place.pass_to(DAY + 30)
    store.seal(trust_clock=True)
    fold_all(store)
    assert store.sweep(100) == 1  # of the older day
    place.pass_to(DAY)
    window = store.reopen()
    assert (window.first, window.alarm) == (DAY - 1, None)
    again = [submission(1, day=DAY - 2), submission(1, day=DAY), submission(2, day=DAY - 1)]
    assert store.add(again) == [Outcome.SEALED, Outcome.REPEATED, Outcome.STORED]
    assert store.snapshot(Slice(Q)).n == 3
    place.pass_to(DAY + 30)
    store.seal(trust_clock=True)
    fold_all(store)
    while store.sweep(100):
        pass
    place.pass_to(DAY)
    window = store.reopen()
    assert window.first == DAY + 1
    assert window.alarm is not None  # today has lost ids: only tomorrow takes reports
    assert store.add([submission(1), submission(9, day=DAY + 1)]) == [
        Outcome.SEALED,
        Outcome.STORED,
    ]


def test_reopening_opens_no_more_than_the_window(place: Place, store: Store) -> None:
    """Where nothing was sealed by a wrong clock it changes nothing."""
    before = store.window()
    assert store.reopen() == before
    place.pass_to(DAY + 2)
    assert store.seal().first == DAY - 5
    assert store.reopen().first == DAY - 5


def test_a_clock_that_gives_alarm_costs_no_tallies(place: Place, store: Store) -> None:
    """Retention goes by the clock, so it rests until the clock can be trusted."""
    store.add([submission(1, day=DAY - 7)])
    fold_all(store)
    for day in (DAY + 1, DAY + 2):
        place.pass_to(day)
        store.seal()
    while store.sweep(10, retention=50):
        pass
    place.pass_to(DAY + 400)
    store.seal()
    assert store.sweep(10, retention=50) == 0
    assert counted(store, DAY - 7) == 1
    store.seal(trust_clock=True)
    assert store.sweep(10, retention=50) == 1


def test_sealed_days_are_folded_first_and_their_ids_removed(place: Place, store: Store) -> None:
    """The ids of a day go when it is sealed and folded, and not before."""
    store.add([submission(i) for i in range(5)])
    store.add([submission(1, day=DAY + 1)])
    for day in range(DAY + 1, DAY + 9):
        place.pass_to(day)
        store.seal()
    assert store.sweep(100) == 0
    pile = store.pile(1000, 1000)
    assert pile is not None
    assert pile.day == DAY
    assert store.fold(pile, b"5|")
    assert [store.sweep(3), store.sweep(3), store.sweep(3)] == [3, 2, 0]
    assert counted(store) == 5
    assert store.add([submission(1, day=DAY + 1)]) == [Outcome.REPEATED]
