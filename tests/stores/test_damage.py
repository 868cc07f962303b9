"""Rows that cannot be used hold up nobody: they are found, set aside and named."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

import pytest

from deniable.collector import housekeeping
from deniable.collector.stores.arrivals import checksum
from deniable.collector.stores.records import Asked, Slice, State, Submission
from deniable.collector.stores.store import Store
from tests.faults.flips import ASKED, counts, figures, fill, flip_postgres, flip_sqlite, standing
from tests.faults.flips import DAY as TODAY
from tests.stores.conftest import DAY, QUESTION, Place, postgres_place
from tests.stores.server import Server

Q = QUESTION.digest
OTHER = Asked("b" * 64, '{"other": 1}', State.OPEN, "{}")
CHANGES = {
    "question": "question + 1",
    "day": "day + 1",
    "source": "'anonymouse'",
    "n": "n + 1",
    "checksum": "checksum + 1",
}


def submission(number: int, reports: bytes = b"report", question: str = Q) -> Submission:
    """Return a submission with a number for its id."""
    return Submission(question, DAY, number.to_bytes(16, "big"), reports)


def change(store: Store, statement: str) -> None:
    """Change rows behind the back of the store."""
    store.connection().execute(statement)


def test_the_checksum_is_of_the_whole_row() -> None:
    """Two halves, the first of which needs no reports; every field counts."""
    found = checksum((3, DAY, "anonymous", 0), 2, b"ab")
    others = [
        checksum((4, DAY, "anonymous", 0), 2, b"ab"),
        checksum((3, DAY + 1, "anonymous", 0), 2, b"ab"),
        checksum((3, DAY, "anonymouse", 0), 2, b"ab"),
        checksum((3, DAY, "anonymous", 1), 2, b"ab"),
        checksum((3, DAY, "anonymous", 0), 3, b"ab"),
        checksum((3, DAY, "anonymous", 0), 2, b"ac"),
    ]
    assert [found >> 32 == other >> 32 for other in others] == [False] * 5 + [True]
    assert len({found, *others}) == 7
    assert all(-(1 << 63) <= one < 1 << 63 for one in (found, *others))


@pytest.mark.parametrize("field", CHANGES)
def test_a_row_that_belongs_elsewhere_is_found_without_its_reports(
    store: Store, field: str
) -> None:
    """A change of any field that says where a row belongs, or of the checksum itself."""
    for number in range(3):
        store.add([submission(number)])
    assert store.damaged() == {}
    change(store, f"UPDATE waiting SET {field} = {CHANGES[field]} WHERE no = 2")
    damaged = store.damaged() or (store.pile(1, 1000) or pytest.fail("no pile")).damaged
    assert list(damaged) == [2]
    assert "checksum" in damaged[2]
    assert store.snapshot(Slice(Q)).n == 2
    assert store.set_aside(damaged) == 1
    assert store.damaged() == {}
    assert standing_of(store) == 2
    (aside,) = store.aside()
    assert aside.reason == damaged[2]
    pile = store.pile(1, 1000)
    assert pile is not None
    assert (pile.rows, pile.damaged) == ((1, 3), {})


def standing_of(store: Store) -> int:
    """Return how many reports of the question are counted."""
    return store.standing(Slice(Q)).n


def test_damaged_reports_are_found_when_they_are_folded(store: Store) -> None:
    """The row is named in the pile and left out of it, and of what readers get."""
    for number in range(3):
        store.add([submission(number)])
    store.add([submission(4, b"others")])
    change(store, "UPDATE waiting SET reports = (SELECT other FROM (SELECT reports AS other FROM"
           " waiting WHERE no = 4) AS one) WHERE no = 2")  # fmt: skip
    assert store.damaged() == {}
    assert store.snapshot(Slice(Q)).n == 3
    pile = store.pile(1, 1000)
    assert pile is not None
    assert (pile.rows, list(pile.damaged)) == ((1, 3, 4), [2])
    store.set_aside(pile.damaged)
    (aside,) = store.aside()
    assert (aside.origin, aside.question, aside.day, aside.source, aside.n) == (
        "waiting", Q, DAY, "anonymous", 1,
    )  # fmt: skip


def test_a_row_without_a_question_is_found(store: Store) -> None:
    """It belongs nowhere, and would wait for ever."""
    store.add([submission(1)])
    change(store, "UPDATE waiting SET checksum = NULL, question = 77")
    assert store.damaged() == {1: "it belongs to no question"}
    store.set_aside(store.damaged())
    assert [found.question for found in store.aside()] == [None]


def test_rows_without_a_checksum_are_read_as_they_are(store: Store) -> None:
    """Those are of 0.2.0, which wrote none."""
    store.add([submission(1)])
    change(store, "UPDATE waiting SET checksum = NULL")
    assert store.damaged() == {}
    pile = store.pile(1, 1000)
    assert pile is not None
    assert pile.parts == ((1, b"report"),)


def test_a_repeat_of_what_was_set_aside_is_known(store: Store) -> None:
    """The reports are gone from the count, and a client that sends them again changes nothing."""
    store.add([submission(1)])
    assert store.set_aside({1: "for a test", 99: "is not there"}) == 1
    assert [outcome.value for outcome in store.add([submission(1)])] == ["repeated"]
    assert standing_of(store) == 0


def test_what_was_set_aside_goes_with_its_question(store: Store) -> None:
    """Of rows of which nobody can tell whose they were only the reason stays."""
    store.ask(OTHER)
    for number in range(3):
        store.add([submission(number)])
    store.add([submission(3, question=OTHER.digest)])
    change(store, "UPDATE waiting SET day = day + 1 WHERE no = 1")
    store.set_aside({1: "a", 2: "b", 4: "c"})
    assert [found.question for found in store.aside()] == [None, Q, OTHER.digest]
    store.change(Q, state=State.DELETED)
    while store.sweep(100):
        pass
    unknown, other = store.aside()
    assert (unknown.question, unknown.day, unknown.source, unknown.reason) == (None,) * 3 + ("a",)
    assert (other.question, other.source) == (OTHER.digest, "anonymous")
    kept = store.connection().execute("SELECT content FROM set_aside ORDER BY no").fetchall()
    assert kept == [(b"",), (b"report",)]


def test_an_old_row_that_is_no_reports_is_set_aside_by_folding(place: Place) -> None:
    """One of a length that no report has, and one that says another number than it has."""
    store = place.open()
    fill(store, Random(1))
    before = counts(store)
    change(store, "UPDATE waiting SET checksum = NULL")
    change(store, "UPDATE waiting SET n = n + 1 WHERE no = 3")
    assert any("waiting row 3" in said for said in housekeeping.check(store))
    housekeeping.fold_all(store)
    (aside,) = store.aside()
    assert "reports and says" in aside.reason
    assert standing(store) < sum(map(sum, before.values()))
    assert [said for said in housekeeping.check(store) if "fsync" not in said] == [
        housekeeping.describe(aside)
    ]


def test_a_tally_that_cannot_be_read_is_set_aside_by_folding(place: Place) -> None:
    """The reports that waited for it are counted in a new one."""
    store = place.open()
    store.ask(ASKED)
    store.add([Submission(ASKED.digest, TODAY, b"1" * 16, b"\1")])
    housekeeping.fold_all(store)
    change(store, "UPDATE tallies SET n = 5")
    store.add([Submission(ASKED.digest, TODAY, b"2" * 16, b"\2")])
    assert any("it has 1 reports and says 5" in said for said in housekeeping.check(store))
    housekeeping.fold_all(store)
    assert [(found.origin, found.n) for found in store.aside()] == [("tallies", 5)]
    assert counts(store) == {(TODAY, "anonymous"): [0, 0, 1, 0, 0, 0, 0, 0]}


def test_flips_in_a_file_are_named(tmp_path: Path) -> None:
    """Sixty flips in the bytes of the rows, most of which must have been noticed."""
    found = figures(flip_sqlite(tmp_path, 60, 1))
    assert found["passed"], found
    assert found["what became of them"]["set aside"] > 20


@pytest.mark.postgres
def test_flips_in_postgresql_are_named(postgres_server: Server) -> None:
    """Ten flips in the fields of rows, all of which are noticed."""
    found = figures(flip_postgres(partial(postgres_place, postgres_server, []), 10, 1))
    assert found["passed"], found
    assert found["what became of them"] == {"set aside": 10}
