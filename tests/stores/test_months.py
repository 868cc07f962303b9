"""The sums of sealed months: the same counts as day by day, and gone as soon as a tally changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deniable.collector.stores.months import month_of, months_within
from deniable.collector.stores.records import Days, Outcome, Slice, State, Total
from deniable.collector.stores.store import Store
from tests.stores.conftest import DAY, QUESTION, Place
from tests.stores.test_store import Q, fold_all, submission

MONTH = month_of(DAY)
ALL = Slice(Q)


@pytest.fixture
def filled(place: Place, store: Store) -> Store:
    """A store with reports of two sources and segments on three days of a month that is sealed."""
    for number, day in enumerate((MONTH.first + 3, MONTH.first + 4, MONTH.first + 5)):
        place.pass_to(day)
        store.seal(trust_clock=True)
        store.add([
            submission(10 * number + cell, day=day, source=source, cells=bytes([cell]))
            for cell, source in enumerate(("anonymous", "relay:x", "anonymous"))
        ])  # fmt: skip
    place.pass_to(MONTH.last + 9)
    store.seal(trust_clock=True)
    fold_all(store)
    return store


def keep(store: Store) -> bool:
    """Keep the sums of a month, with tallies that are just joined."""
    ripe = store.ripe()
    if ripe is None:
        return False
    places = sorted({(row.source, row.segment) for row in ripe.tallies})
    sums = []
    for source, segment in places:
        rows = [row for row in ripe.tallies if (row.source, row.segment) == (source, segment)]
        data = b"+".join(row.data for row in rows)
        sums.append(Total(ripe.month.first, source, sum(row.n for row in rows), data, segment))
    return store.keep_month(ripe, sums)


def counts(store: Store, months: list[Days]) -> dict[tuple[str, int], int]:
    """Return how many reports a snapshot has of each source and segment."""
    found: dict[tuple[str, int], int] = {}
    rows = store.snapshot(ALL, months=months)
    for row in (*rows.months, *rows.tallies, *rows.waiting):
        found[row.source, row.segment] = found.get((row.source, row.segment), 0) + row.n
    return found


def test_a_month_is_that_of_the_calendar() -> None:
    """Whole months of a range are those with a counted day that lie in it from end to end."""
    assert month_of(0) == month_of(30) == Days(0, 30)
    assert month_of(59) == Days(59, 89)
    assert months_within(Days(0, 89), [5, 40]) == [Days(0, 30), Days(31, 58)]
    assert months_within(Days(1, 88), [5, 40, 70]) == [Days(31, 58)]


def test_a_kept_sum_stands_for_the_tallies_of_its_days(filled: Store) -> None:
    """A snapshot has one row of each source and segment in their place, and names the days."""
    before = counts(filled, [])
    assert keep(filled)
    rows = filled.snapshot(ALL, months=[MONTH])
    assert {(row.source, row.segment, row.n) for row in rows.months} == {
        ("anonymous", 0, 3), ("relay:x", 1, 3), ("anonymous", 2, 3)
    }  # fmt: skip
    assert rows.tallies == ()
    assert rows.days == {MONTH.first + 3, MONTH.first + 4, MONTH.first + 5}
    assert counts(filled, [MONTH]) == counts(filled, []) == before
    assert not keep(filled)  # there is nothing left to sum up
    part = Slice(Q, Days(MONTH.first, MONTH.first + 4))
    assert not filled.snapshot(part, months=[MONTH]).months
    assert filled.snapshot(part, months=[MONTH]).n == 6


def test_a_source_is_left_out_of_kept_sums(filled: Store) -> None:
    """Excluded on all days its sums are not counted; on one day its tallies are counted singly."""
    assert keep(filled)
    filled.exclude(Q, "relay:x", True)
    assert counts(filled, [MONTH]) == {("anonymous", 0): 3, ("anonymous", 2): 3}
    filled.exclude(Q, "relay:x", False)
    filled.exclude(Q, "relay:x", True, day=MONTH.first + 4)
    assert keep(filled)
    expected = {("anonymous", 0): 3, ("relay:x", 1): 2, ("anonymous", 2): 3}
    assert counts(filled, [MONTH]) == counts(filled, []) == expected
    filled.exclude(Q, "relay:x", False, day=MONTH.first + 4)
    assert keep(filled)
    assert counts(filled, [MONTH])["relay:x", 1] == 3


def test_uploads_are_counted_beside_kept_sums(filled: Store) -> None:
    """A tally that is uploaded for a day of the month, before or after, is counted once."""
    assert keep(filled)
    total = Total(MONTH.first + 3, "upload:1", 7, b"7|", 1)
    assert filled.upload(Q, total, b"f") is Outcome.STORED
    assert counts(filled, [MONTH])["upload:1", 1] == 7
    assert counts(filled, [MONTH]) == counts(filled, [])


def reopened(place: Place, store: Store) -> None:
    """Open a day of the month again, and fold a report that comes late."""
    place.pass_to(MONTH.first + 5)
    store.reopen()
    assert store.add([submission(99, day=MONTH.first + 5)]) == [Outcome.STORED]
    place.pass_to(MONTH.last + 9)
    store.seal(trust_clock=True)
    assert not keep(store)  # a report waits
    fold_all(store)


def unreadable(place: Place, store: Store) -> None:
    """Set a tally of the month aside."""
    store.add([submission(98, day=MONTH.last + 9)])
    pile = store.pile(1, 1 << 20)
    assert pile is None or pile.day > MONTH.last
    place.pass_to(MONTH.first + 5)
    store.reopen()
    store.add([submission(97, day=MONTH.first + 5)])
    place.pass_to(MONTH.last + 9)
    store.seal(trust_clock=True)
    pile = store.pile(1, 1 << 20)
    assert pile is not None
    assert store.set_tally_aside(pile, "damaged")
    fold_all(store)


@pytest.mark.parametrize("change", [reopened, unreadable])
def test_a_change_of_a_tally_removes_the_sums_of_its_month(
    place: Place, filled: Store, change: Callable[[Place, Store], None]
) -> None:
    """Whatever becomes of a day, a snapshot with months has what one without them has."""
    assert keep(filled)
    change(place, filled)
    assert counts(filled, [MONTH]) == counts(filled, [])
    assert keep(filled)
    assert counts(filled, [MONTH]) == counts(filled, [])
    assert filled.snapshot(ALL, months=[MONTH]).months


def test_what_moves_meanwhile_is_not_kept(place: Place, filled: Store) -> None:
    """Sums of tallies that have changed since they were read are refused."""
    ripe = filled.ripe()
    assert ripe is not None
    reopened(place, filled)
    assert not filled.keep_month(ripe, [])
    again = filled.ripe()
    assert again is not None
    filled.exclude(Q, "relay:x", True, day=MONTH.first + 3)
    assert not filled.keep_month(again, [])


def test_sums_go_with_what_they_hold(place: Place, filled: Store) -> None:
    """Retention removes the sums of a month that loses a day, and deletion all of them."""
    assert keep(filled)
    while filled.sweep(10, retention=place.today - MONTH.first - 4):
        pass
    assert sum(counts(filled, [MONTH]).values()) == sum(counts(filled, []).values()) == 6
    assert keep(filled)
    filled.forget_months(Q)
    assert not filled.snapshot(ALL, months=[MONTH]).months
    assert keep(filled)
    assert list(filled.check()) == [] or all("fsync" in said for said in filled.check())
    filled.change(Q, state=State.DELETED)
    while filled.sweep(10):
        pass
    assert filled.asked(Q) is None
    assert filled.ask(QUESTION)
    assert filled.snapshot(ALL, months=[MONTH]).n == 0
