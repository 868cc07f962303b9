"""A store beside a dictionary: adding, repeating, days passing, folding in any order."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from deniable.collector.stores.records import Outcome, Slice, State, Submission
from tests.marks import examples
from tests.stores.conftest import DAY, QUESTION, Place, postgres_place, sqlite_place
from tests.stores.model import Rules, drive
from tests.stores.server import Server

Q = QUESTION.digest
IDS = st.integers(0, 12)
REPORTS = st.sampled_from([b"one", b"two"])
DAYS = st.integers(-9, 3)
RUNS = examples(25)


class Machine(RuleBasedStateMachine):
    """The model: stored submissions by (day, id), and the rules."""

    open_place: Callable[[], Place]

    @initialize()
    def begin(self) -> None:
        self.place = type(self).open_place()
        self.store = self.place.open()
        self.store.ask(QUESTION)
        self.stored: dict[tuple[int, int], bytes] = {}
        self.aside = 0
        self.rules = Rules()

    def expected(self, id: int, day: int, reports: bytes) -> Outcome:
        """Say what becomes of a submission, by the model alone."""
        outcome = self.rules.outcome(self.stored.get((day, id)), day, reports)
        if outcome is Outcome.STORED:
            self.stored[day, id] = reports
        return outcome

    @rule(group=st.lists(st.tuples(IDS, DAYS, REPORTS), min_size=1, max_size=6))
    def add(self, group: list[tuple[int, int, bytes]]) -> None:
        chosen = [(id, self.place.today + later, reports) for id, later, reports in group]
        found = self.store.add(
            [Submission(Q, day, id.to_bytes(16, "big"), reports) for id, day, reports in chosen]
        )
        assert found == [self.expected(*entry) for entry in chosen]

    @rule(days=st.integers(-35, 35))
    def pass_days(self, days: int) -> None:
        self.rules.today = max(DAY - 100, self.place.today + days)
        self.place.pass_to(self.rules.today)

    @rule(trust=st.booleans())
    def seal(self, trust: bool) -> None:
        window = self.store.seal(trust_clock=trust)
        assert self.rules.seal(trust=trust) == (window.alarm is None)
        assert window.first == self.rules.sealed + 1

    @rule()
    def open_days(self) -> None:
        """Take back what a wrong clock has sealed; repeats must be known as such afterwards."""
        self.rules.reopen(self.store.reopen().first - 1)

    @rule(least=st.integers(1, 30), most=st.integers(1, 60))
    def fold(self, least: int, most: int) -> None:
        if pile := self.store.pile(least, most):
            n = int((pile.tally or b"0").split(b"|")[0]) + pile.n
            assert self.store.fold(pile, b"%d|" % n)

    @rule()
    def outrun(self) -> None:
        """Two fold the same pile: the second changes nothing."""
        if pile := self.store.pile(1, 1000):
            n = int((pile.tally or b"0").split(b"|")[0]) + pile.n
            assert self.store.fold(pile, b"%d|" % n)
            assert not self.store.fold(pile, b"%d|" % n)

    @rule(most=st.integers(1, 20))
    def sweep(self, most: int) -> None:
        if self.store.sweep(most):
            self.rules.swept(day for day, _ in self.stored)

    @rule(number=st.integers(0, 3))
    def set_aside(self, number: int) -> None:
        """A row that waits is damaged: what it has is no longer counted, and never again."""
        if (pile := self.store.pile(1, 1000)) and number < len(pile.rows):
            gone = pile.parts[number][0]
            before = self.store.standing(Slice(Q)).n
            assert self.store.set_aside({pile.rows[number]: "for a test"}) == 1
            assert self.store.set_aside({pile.rows[number]: "for a test"}) == 0
            assert self.store.standing(Slice(Q)).n == before - gone
            self.aside += gone

    @rule(state=st.sampled_from([State.OPEN, State.CLOSED]))
    def change(self, state: State) -> None:
        assert self.store.change(Q, state=state)
        self.rules.state = state

    @precondition(lambda self: len(self.place.opened) < 8)
    @rule(closing=st.booleans())
    def reopen(self, closing: bool) -> None:
        if closing:
            self.store.close()
        self.store = self.place.open()

    @invariant()
    def counts(self) -> None:
        if not hasattr(self, "store"):
            return
        snapshot = self.store.snapshot(Slice(Q))
        assert snapshot.n == len(self.stored) - self.aside
        assert self.store.standing(Slice(Q)).n == len(self.stored) - self.aside
        assert sum(found.n for found in self.store.aside()) == self.aside
        days = {day for day, _ in self.stored}
        found = {total.day for total in (*snapshot.tallies, *snapshot.waiting)}
        assert found == days or (self.aside and found < days)

    def teardown(self) -> None:
        if hasattr(self, "place"):
            self.place.close()


run = partial(drive, Machine)


def test_sqlite_is_a_dictionary() -> None:
    """SQLite does what the model does."""
    memory = Path("/dev/shm")  # what is tested here is not the disk
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        run(lambda: sqlite_place(Path(folder)), RUNS)


@pytest.mark.postgres
def test_postgresql_is_a_dictionary(postgres_server: Server) -> None:
    """PostgreSQL does what the model does."""
    spare: list[str] = []
    run(lambda: postgres_place(postgres_server, spare), RUNS // 2)
