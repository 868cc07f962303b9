"""How much code a request goes through: calls and files of ours, over all threads."""

from __future__ import annotations

import asyncio
import secrets
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

import pytest

import deniable
from deniable import DE
from deniable.collector import access, questions
from deniable.collector.access import TOKEN, Role, create
from deniable.collector.app import Application, create_app
from deniable.collector.housekeeping import Housekeeping
from deniable.collector.metrics import Health
from deniable.collector.questions import Terms, write_terms
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store
from deniable.collector.stores.questions import Questions
from deniable.collector.stores.records import Asked, Slice, State
from deniable.question import Question
from tests.collector.conftest import today

PACKAGE = str(Path(deniable.__file__).parent)
QUESTION = Question("drinks", ("tea", "coffee", "water", "milk"), DE(2.0, 4))


@dataclass
class Profile:
    """Counts calls in the files of the package; a coroutine counts again when it resumes."""

    counting: bool = False
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if self.counting and event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            place = frame.f_code.co_filename.removeprefix(PACKAGE), frame.f_code.co_name
            self.calls[place] += 1

    @property
    def total(self) -> int:
        return sum(self.calls.values())

    @property
    def files(self) -> set[str]:
        return {file for file, _ in self.calls}


@dataclass
class Served:
    """A collector in this thread, whose threads are all profiled."""

    app: Application
    token: str
    profile: Profile

    async def request(self, method: str, path: str, body: bytes = b"") -> int:
        target, _, query = path.partition("?")
        statuses = []

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": body}

        async def send(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        token = [(b"authorization", f"Bearer {self.token}".encode())] if self.token else []
        scope = {
            "type": "http", "method": method, "path": target, "query_string": query.encode(),
            "headers": [*token, (b"host", b"x")],
            "scheme": "http", "server": ("x", 80),
        }  # fmt: skip
        await self.app(scope, receive, send)
        return statuses[0]

    async def submit(self, reports: int, later: int = 0) -> None:
        body = secrets.token_bytes(16) + QUESTION.privatize(["tea"] * reports).tobytes()
        path = f"/v1/questions/{QUESTION.digest}/reports?day={today(later)}"
        assert await self.request("POST", path, body) == 204

    async def measured(self, work: Callable[[], Awaitable[object]]) -> Profile:
        self.profile.calls.clear()
        self.profile.counting = True
        try:
            await work()
        finally:
            self.profile.counting = False
        return self.profile


@pytest.fixture
def profile() -> Iterator[Profile]:
    """A profile that is in place before any thread of a collector starts."""
    found, before = Profile(), sys.getprofile()
    threading.setprofile(found)
    sys.setprofile(found)
    yield found
    sys.setprofile(before)
    threading.setprofile(None)


def run(tmp_path: Path, profile: Profile, work: Callable[[Served], Awaitable[None]]) -> None:
    """Run something with a collector that asks one question."""
    settings = Settings(store=str(tmp_path / "store.db"), minimum=10)
    store = open_store(settings.store)
    token = create(store, TOKEN, Role.ADMIN, name="all")
    store.ask(Asked(QUESTION.digest, QUESTION.to_json(), State.OPEN, write_terms(Terms())))
    store.close()
    assert token is not None

    async def main() -> None:
        app = create_app(settings)
        async with app.services.running():
            every = threading.Barrier(3)  # so that each reader has opened its store before
            await asyncio.gather(
                *(app.services.readers.run(lambda _: every.wait(120)) for _ in range(3))
            )
            await work(Served(app, token, profile))

    asyncio.run(main())


async def idle(*_: object) -> None:
    """Stand in for what runs beside the requests."""


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing run beside the requests, whose calls would be counted too."""
    monkeypatch.setattr(Housekeeping, "run", idle)
    monkeypatch.setattr(Health, "watch", idle)


@pytest.mark.parametrize("lookups", [0, 2])
def test_a_fragment_is_cheap(
    tmp_path: Path, profile: Profile, monkeypatch: pytest.MonkeyPatch, lookups: int
) -> None:
    """A fragment takes at most 400 calls, 15 files, two reads of the store and one job.

    Where no number has moved it is one read, and no job. Every two seconds token and question are
    looked up again: two reads more, and the limits hold.
    """
    for module in (access, questions):
        monkeypatch.setattr(module, "_FRESH", 0.0 if lookups else 3600.0)

    async def work(served: Served) -> None:
        path = f"/questions/{QUESTION.digest}?fragment"
        for later in (-2, -1):
            await served.submit(50, later)
        for _ in range(3):
            await served.submit(20)
            assert await served.request("GET", path) == 200
        for reports, reads, jobs in ((20, 2, 1), (5, 1, 0)):  # enough for new sums, and not
            for _ in range(reports):  # each waits in a row of its own
                await served.submit(1)
            found = await served.measured(lambda: served.request("GET", path))
            assert found.calls["/collector/stores/sqlite.py", "reading"] == reads + lookups
            assert found.calls["/collector/worker.py", "_call"] == jobs
            assert found.total <= 400, found.calls.most_common()
            assert len(found.files) <= 15, sorted(found.files)

    run(tmp_path, profile, work)


def test_a_submission_is_cheap(tmp_path: Path, profile: Profile) -> None:
    """A report of one person takes at most 82 calls and 19 files from its head to its answer."""

    async def work(served: Served) -> None:
        report = QUESTION.privatize(["tea"]).tobytes()
        path = f"/v1/questions/{QUESTION.digest}/reports?day={today()}"
        served = replace(served, token="")
        for _ in range(3):
            assert await served.request("POST", path, secrets.token_bytes(16) + report) == 204
        body = secrets.token_bytes(16) + report
        found = await served.measured(lambda: served.request("POST", path, body))
        assert found.total <= 82, found.calls.most_common()
        assert len(found.files) <= 19, sorted(found.files)

    run(tmp_path, profile, work)


def test_who_asks_for_the_same_waits_for_one_job(tmp_path: Path, profile: Profile) -> None:
    """However many look at a question at once, its new numbers are made once."""

    async def work(served: Served) -> None:
        path = f"/questions/{QUESTION.digest}?fragment"
        await served.submit(20)

        async def crowd() -> None:
            statuses = await asyncio.gather(*(served.request("GET", path) for _ in range(5)))
            assert statuses == [200] * 5

        found = await served.measured(crowd)
        assert found.calls["/collector/worker.py", "_call"] == 1

    run(tmp_path, profile, work)


def test_what_another_collector_published_is_shown(
    tmp_path: Path, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever loses the race to publish looks again, and shows what the winner published."""
    real, won = Questions.publish, []

    def publish(self: Questions, new: dict, before: dict) -> bool:
        if not won:
            theirs = {part: replace(found, n=found.n - 1) for part, found in new.items()}
            won.append(real(self, theirs, before))
        return real(self, new, before)

    monkeypatch.setattr(Questions, "publish", publish)

    async def work(served: Served) -> None:
        await served.submit(20)
        path = f"/questions/{QUESTION.digest}?fragment"
        found = await served.measured(lambda: served.request("GET", path))
        assert won == [True]
        assert found.calls["/collector/worker.py", "_call"] == 2
        store = open_store(str(tmp_path / "store.db"))
        assert {sum.n for sum in store.standing(Slice(QUESTION.digest)).published.values()} == {19}
        store.close()

    run(tmp_path, profile, work)
