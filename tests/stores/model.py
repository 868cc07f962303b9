"""What a store may answer, by the rules alone: the specification of all stores, in a few lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from deniable.collector.stores.store import Outcome, State
from tests.stores.conftest import DAY, Place


@dataclass
class Rules:
    """What becomes of submissions to one question, given the day and what was there before."""

    today: int = DAY
    sealed: int = DAY - 8
    last_run: int = DAY
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
        """Seal old days, unless the clock has jumped; return whether it was done."""
        if abs(self.today - self.last_run) > 2 and not trust:
            return False
        self.sealed = max(self.sealed, self.today - 8)
        self.last_run = self.today
        return True


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
