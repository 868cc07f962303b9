"""What a store may answer, by the rules alone: the specification of all stores, in a few lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from deniable.collector.stores.records import Outcome, State
from tests.stores.conftest import DAY, Place


@dataclass
class Rules:
    """What becomes of submissions to one question, given the day and what was there before."""

    today: int = DAY
    sealed: int = DAY - 8
    last_run: int = DAY
    forgotten: int = 0
    state: State = State.OPEN

    def outcome(self, found: bytes | None, day: int, reports: bytes) -> Outcome:
        """Say what becomes of a submission with whose id ``found`` is stored."""
        if day <= self.sealed:
            return Outcome.SEALED
        if found is not None:
            return Outcome.REPEATED if found == reports else Outcome.CONFLICT
        if day > self.today + 1:
            return Outcome.NOT_YET
        return Outcome.CLOSED if self.state is State.CLOSED else Outcome.STORED

    def seal(self, *, trust: bool = False) -> bool:
        """Seal old days, unless the clock has jumped; return whether all is well then."""
        if abs(self.today - self.last_run) <= 2 or trust:
            self.sealed = max(self.sealed, self.today - 8)
            self.last_run = self.today
        return abs(self.today - self.last_run) <= 2 and self.sealed < self.today - 1

    def swept(self, days: Iterable[int]) -> None:
        """Note which of the days that have submissions may have lost ids."""
        self.forgotten = max([self.forgotten, *(day for day in days if day <= self.sealed)])

    def reopen(self, sealed: int) -> None:
        """Open days again as the store did, which may know better which ids are lost."""
        assert min(self.sealed, self.today - 8) <= sealed <= self.sealed
        assert sealed <= max(self.forgotten, self.today - 8)
        self.sealed, self.last_run = sealed, self.today


def drive(
    machine: type[RuleBasedStateMachine],
    open_place: Callable[[], Place],
    runs: int,
    number: int | None = None,
    phases: Sequence[Phase] = tuple(Phase),
) -> None:
    """Run a machine on stores of one kind, by chance or, given a number, always the same."""
    kind = type(f"{machine.__name__}Here", (machine,), {"open_place": staticmethod(open_place)})
    chosen = settings(
        max_examples=runs,
        stateful_step_count=30,
        deadline=None,
        phases=phases,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(kind if number is None else seed(number)(kind), settings=chosen)
