"""A collector beside a dictionary: answers that are lost, crashes, folding, closing, estimates.

The requests go through the whole application; only the socket is missing. What a client knows of a
submission whose answer it never saw is a set of possibilities, and an answer that comes later must
agree with one of them. A crash loses whatever was not committed at that moment; real processes that
are killed, and disks that fail, are the business of `tests.faults`.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.errors import Flaky, FlakyFailure
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from deniable.collector import folding
from deniable.collector.access import TOKEN, Role, create
from deniable.collector.app import create_app
from deniable.collector.settings import Settings
from deniable.collector.stores.records import (
    Outcome,
    Pile,
    State,
    StoreUnavailable,
    Submission,
    write_day,
)
from deniable.collector.stores.store import Store
from deniable.collector.worker import Writer
from tests.faults.application import ask, call, submit
from tests.faults.fault import QUESTION
from tests.marks import examples
from tests.stores.conftest import DAY, Place, postgres_place, sqlite_place
from tests.stores.model import Rules, drive
from tests.stores.server import Server

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Sent = tuple[int, int, bytes]
"""An id, a day and a report."""

RUNS = examples(25)
PATH = f"/v1/questions/{QUESTION.digest}"
STATUSES = {
    Outcome.STORED: 204,
    Outcome.REPEATED: 204,
    Outcome.CONFLICT: 409,
    Outcome.CLOSED: 410,
    Outcome.SEALED: 422,
    Outcome.NOT_YET: 422,
}
GROUPS = st.lists(
    st.tuples(
        st.integers(0, 8), st.sampled_from([-9, -1, 0, 0, 0, 1, 2]), st.sampled_from([b"\0", b"\3"])
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda sent: sent[:2],  # which of two that arrive at once is first is not said
)


class Here:
    """The child process without the process."""

    def __init__(self, seconds: float) -> None:
        pass

    async def run(
        self,
        function: Callable[Parameters, Result],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result:
        return function(*args, **kwargs)

    def close(self) -> None:
        pass


class Mortal:
    """A store that can die; the last group may be stored and unanswered."""

    def __init__(self, store: Store) -> None:
        self._store, self.dead, self.last_words = store, False, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def add(self, group: Sequence[Submission]) -> list[Outcome]:
        if not self.dead:
            return list(self._store.add(group))
        if self.last_words:
            self.last_words = False
            self._store.add(group)
        raise StoreUnavailable("dead")


class Service(RuleBasedStateMachine):
    """The model: for each (day, id) what may be stored there, and the rules."""

    open_place: Callable[[], Place]

    @initialize()
    def begin(self) -> None:
        self.place, self.runner = type(self).open_place(), asyncio.Runner()
        self.possible: dict[tuple[int, int], set[bytes | None]] = {}
        self.rules = Rules()
        store = self.place.open()
        self.token = create(store, TOKEN, Role.ADMIN, name="model")
        self.stores: list[Mortal] = []
        self.start()
        self.run(ask(self.app))

    def start(self) -> None:
        """Start a collector on the store."""

        def opener() -> Any:
            self.stores.append(Mortal(self.place.open()))
            return self.stores[-1]

        with patch("deniable.collector.requests.Worker", Here):
            self.app = create_app(Settings(store="the model's", minimum=1), opener)
        self.run(self.app.services.writer.start())

    async def stop(self) -> None:
        """End the threads of the collector."""
        await self.app.services.writer.close()
        self.app.services.readers.close()

    def run(self, work: Coroutine[object, object, Result]) -> Result:
        return self.runner.run(work)

    def dated(self, group: list[Sent]) -> list[Sent]:
        return [(id, self.rules.today + later, report) for id, later, report in group]

    async def send(self, sent: Sent) -> int:
        id, day, report = sent
        return await submit(self.app, id.to_bytes(16, "big"), report, write_day(day))

    def cases(self, sent: Sent) -> list[tuple[bytes | None, Outcome, bytes | None]]:
        """What may be stored before, what then becomes of the submission, and what is stored."""
        id, day, report = sent
        found = []
        for before in self.possible.get((day, id), {None}):
            outcome = self.rules.outcome(before, day, report)
            found.append((before, outcome, report if outcome is Outcome.STORED else before))
        return found

    def answered(self, sent: Sent, status: int) -> None:
        """Keep the possibilities that agree with an answer; there must be one."""
        left = {after for _, outcome, after in self.cases(sent) if STATUSES[outcome] == status}
        assert left, f"{sent} was answered by {status}"
        self.possible[sent[1], sent[0]] = left

    def unanswered(self, sent: Sent) -> None:
        """Take what happens with the submission and without it as possible."""
        cases = self.cases(sent)
        self.possible[sent[1], sent[0]] = {b for b, _, _ in cases} | {a for _, _, a in cases}

    @rule(group=GROUPS)
    def submit(self, group: list[Sent]) -> None:
        """Some submit at once; among few ids many are repeats, and some are conflicts."""
        group = self.dated(group)

        async def everything() -> list[int]:
            return await asyncio.gather(*(self.send(sent) for sent in group))

        for sent, status in zip(group, self.run(everything()), strict=True):
            self.answered(sent, status)

    @rule(group=GROUPS, turns=st.integers(0, 6))
    def lose(self, group: list[Sent], turns: int) -> None:
        """The connections break after some turns of the event loop."""
        group = self.dated(group)
        statuses = self.run(self.interrupted(group, turns))
        for sent, status in zip(group, statuses, strict=True):
            self.seen(sent, status)

    async def interrupted(self, group: list[Sent], turns: int) -> list[int | None]:
        tasks = [asyncio.create_task(self.send(sent)) for sent in group]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(StoreUnavailable):
            await self.app.services.writer.run(lambda store: None)  # what was queued is written
        return [None if task.cancelled() else task.result() for task in tasks]

    def seen(self, sent: Sent, status: int | None) -> None:
        if status is None or status == 503:
            self.unanswered(sent)
        else:
            self.answered(sent, status)

    @rule()
    def retry(self) -> None:
        """Send again whatever was not answered: afterwards all of it is known."""
        for (day, id), contents in list(self.possible.items()):
            if len(contents) > 1 and day > self.rules.sealed:
                report = next(content for content in sorted(filter(None, contents)))
                sent = (id, day, report)
                self.answered(sent, self.run(self.send(sent)))

    @rule(group=GROUPS, turns=st.integers(0, 6), committed=st.booleans())
    def crash(self, group: list[Sent], turns: int, committed: bool) -> None:
        """The process ends while some submit, and another one starts."""
        group = self.dated(group)

        async def dying() -> list[int]:
            tasks = [asyncio.create_task(self.send(sent)) for sent in group]
            for _ in range(turns):
                await asyncio.sleep(0)
            for store in self.stores:
                store.dead, store.last_words = True, committed
            statuses = await asyncio.gather(*tasks)
            await self.stop()
            return statuses

        for sent, status in zip(group, self.run(dying()), strict=True):
            self.seen(sent, status)
        self.start()

    @rule(least=st.sampled_from([1, 1, 1, 6]))
    def fold(self, least: int) -> None:
        async def everything() -> None:
            while await self.app.services.housekeeping.fold(least):
                pass

        self.run(everything())

    @rule(days=st.sampled_from([1, 1, 1, 2, -1, 9, 30, -30]))
    def pass_days(self, days: int) -> None:
        self.rules.today = max(DAY - 100, self.rules.today + days)
        self.place.pass_to(self.rules.today)

    @rule()
    def tidy(self) -> None:
        """Seal and sweep, as the collector does once a minute."""
        self.run(self.app.services.housekeeping.seal())
        self.run(self.app.services.housekeeping.sweep())
        assert self.rules.seal() == (self.app.services.housekeeping.alarm is None)
        self.rules.swept(day for day, _ in self.possible)

    @rule()
    def open_days(self) -> None:
        """Somebody takes back what a wrong clock has sealed, while the collector runs."""
        window = self.run(self.app.services.writer.run(lambda store: store.reopen()))
        self.rules.reopen(window.first - 1)

    @rule(state=st.sampled_from([State.OPEN, State.OPEN, State.CLOSED]))
    def change(self, state: State) -> None:
        body = json.dumps({"state": state.value}).encode()
        status, _ = self.run(call(self.app, "PATCH", PATH, body, token=self.token))
        assert status == 200
        self.rules.state = state

    @rule(days=st.sampled_from([(-100, 200), (-100, 200), (-1, 0), (0, 0)]))
    def estimate(self, days: tuple[int, int]) -> None:
        """Estimates are those of the reports that the dictionary has for these days."""
        first, last = (
            DAY + found if days[1] == 200 else self.rules.today + found for found in days
        )
        chosen = [c for (day, _), c in self.possible.items() if first <= day <= last]
        query = f"from={write_day(first)}&to={write_day(last)}"
        status, body = self.run(
            call(self.app, "GET", f"{PATH}/estimates", query=query, token=self.token)
        )
        least, most = bounds(chosen)
        if status == 409:
            assert least == 0
            return
        assert status == 200, body
        assert least <= json.loads(body)["n"] <= most
        if all(len(contents) == 1 for contents in chosen):
            reports = b"".join(content for (content,) in chosen if content is not None)
            total = QUESTION.accumulator()
            total.add(np.frombuffer(reports, QUESTION.protocol.report_dtype))
            assert body.decode() == QUESTION.estimate(total.tally()).to_json()

    @invariant()
    def counts(self) -> None:
        if not hasattr(self, "app"):
            return
        status, body = self.run(call(self.app, "GET", f"{PATH}/status", token=self.token))
        assert status == 200
        least, most = bounds(list(self.possible.values()))
        assert least <= json.loads(body)["reports"] <= most

    def teardown(self) -> None:
        if hasattr(self, "app"):
            self.run(self.stop())
            self.runner.close()
            self.place.close()


def bounds(chosen: Sequence[set[bytes | None]]) -> tuple[int, int]:
    """Return how many reports there are at least and at most."""
    return sum(None not in c for c in chosen), sum(c != {None} for c in chosen)


def run(open_place: Callable[[], Place], runs: int, number: int | None = None, **how: Any) -> None:
    """Run the machine, without the reports of clocks that jump."""
    with patch("deniable.collector.housekeeping.log"):
        drive(Service, open_place, runs, number, **how)


@pytest.fixture
def sqlite() -> Iterator[Callable[[], Place]]:
    """Stores in memory, since what is tested here is not the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield lambda: sqlite_place(Path(folder))


def test_a_collector_on_sqlite_is_a_dictionary(sqlite: Callable[[], Place]) -> None:
    """The collector on SQLite does what the model does."""
    run(sqlite, RUNS)


@pytest.mark.postgres
def test_a_collector_on_postgresql_is_a_dictionary(postgres_server: Server) -> None:
    """The collector on PostgreSQL does what the model does."""
    spare: list[str] = []
    run(lambda: postgres_place(postgres_server, spare), RUNS // 2)


class Careless(Writer):
    """A writer that takes a failure for a success."""

    def submit(self, submission: Submission) -> asyncio.Future[Outcome]:
        stored = super().submit(submission)

        async def answer() -> Outcome:
            try:
                return await stored
            except StoreUnavailable:
                return Outcome.STORED

        return asyncio.ensure_future(answer())


def forgetful(document: str, pile: Pile) -> bytes:
    """Fold, and lose one of several reports."""
    return folding.add_up(document, pile.tallies, [pile.reports[:1]])


@pytest.mark.parametrize(
    ("name", "broken"),
    [("requests.Writer", Careless), ("housekeeping.folding.fold", forgetful)],
)
def test_the_model_finds_what_is_broken(
    sqlite: Callable[[], Place], name: str, broken: object
) -> None:
    """A collector that acknowledges what it lost, and one that folds wrongly, do not pass.

    About one run in fifty finds the first and one in ten the second; up to 2,000 are made.
    """
    with (
        patch(f"deniable.collector.{name}", broken),
        pytest.raises((AssertionError, Flaky, FlakyFailure)),
    ):
        run(sqlite, 2000, number=1, phases=[Phase.generate])
