"""Nothing acknowledged is lost and nothing counts twice, whatever happens to the processes.

These are the short forms; ``python -m tests.faults`` runs the long ones.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tests.faults.check import check
from tests.faults.fault import Process, free_port, kept
from tests.faults.scenario import Scenario, kills, perform
from tests.stores.server import running

pytestmark = pytest.mark.long("short forms of the fault tests")

SEED = 20_260
EARLY = """
from deniable.collector.stores.sqlite import SqliteStore
from deniable.collector.stores.records import Outcome
add, late = SqliteStore.add, []
def acknowledge_first(self, submissions):
    late.append(submissions)
    if len(late) > 3:
        add(self, late.pop(0))
    return [Outcome.STORED] * len(submissions)
SqliteStore.add = acknowledge_first
from deniable.cli import main
main()
"""


def judge(scenario: Scenario, processes: list[Process]) -> list[str]:
    """Run a scenario and return what is wrong with what is left."""
    try:
        for process in processes:
            process.start()
        history = asyncio.run(perform(scenario, processes, SEED))
        assert [process.stop() for process in processes] == [0] * len(processes)
    finally:
        for process in processes:
            if process.process is not None:
                process.kill()
    assert history.acknowledgements > 100
    return check(history, kept(processes[0].store))


def test_kills_lose_nothing(tmp_path: Path) -> None:
    """Three kill -9 of a collector on SQLite under load."""
    process = Process(tmp_path, str(tmp_path / "store.db"), free_port())
    assert judge(Scenario("killed", kills(3)), [process]) == [], f"seed {SEED}"


def test_a_writer_that_acknowledges_first_is_caught(tmp_path: Path) -> None:
    """The same scenario finds the losses of a collector that answers before it commits."""
    process = Process(tmp_path, str(tmp_path / "store.db"), free_port(), code=EARLY)
    wrong = judge(Scenario("killed", kills(2)), [process])
    assert any("acknowledged and is lost" in said for said in wrong)


@pytest.mark.postgres
def test_kills_and_a_crash_of_postgresql_lose_nothing(tmp_path: Path) -> None:
    """Two collectors on one PostgreSQL, killed by turns, while PostgreSQL itself crashes once."""
    with running() as server:

        async def crash(processes: list[Process], chance) -> None:
            await kills(2)(processes, chance)
            await asyncio.to_thread(server.stop, signal.SIGQUIT)
            await asyncio.to_thread(server.start)

        processes = [Process(tmp_path, server.url(), free_port()) for _ in range(2)]
        assert judge(Scenario("killed and crashed", crash), processes) == [], f"seed {SEED}"
