"""More submissions than can be written: each is stored and told so, or refused, and it passes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from deniable.collector.settings import Settings
from tests.collector.conftest import start, today
from tests.faults.arrivals import Arrivals, Crowd
from tests.faults.overload import recovery


@pytest.mark.long("a short form of the fault tests")
def test_too_many_arrivals_are_stored_or_refused(tmp_path: Path) -> None:
    """What is counted is what was acknowledged, although nobody waits for anybody's answer."""
    settings = Settings(
        store=str(tmp_path / "store.db"), port=0, queue_limit=50, connections_per_address=0
    )
    for collector in start(settings):
        question = collector.ask()
        path = f"/v1/questions/{question.digest}/reports?day={today()}"
        arrivals = Arrivals(
            collector.address, path, b"\1", rate=6000, seconds=0.5, connections=300, patience=60
        )

        async def crowd(arrivals: Arrivals = arrivals) -> Crowd:
            found = Crowd(arrivals)
            await found.run()
            return found

        found = asyncio.run(crowd()).tally
        stored = found.statuses[204]
        assert found.arrived == 3000 == sum(found.statuses.values()) + found.turned_away
        assert set(found.statuses) <= {204, 503}
        assert found.turned_away + found.statuses.get(503, 0) > 0
        assert (found.lost, found.gave_up) == (0, 0)
        assert collector.n(question) == stored == len(found.stored)
        assert collector.submit(question, b"\1").status == 204


def test_recovery_needs_two_good_windows() -> None:
    """One slow or failed submission in a window counts as not yet recovered."""
    fast = [(k / 100, 0.01) for k in range(400)]
    slow = [(at, 0.01 if at >= 1.0 else 0.5) for at, _ in fast]
    assert recovery({"stored": fast, "failed": []}, 0.01, 0, 4) == 0
    assert recovery({"stored": slow, "failed": []}, 0.01, 0, 4) == 1
    assert recovery({"stored": slow, "failed": []}, 0.01, 0.5, 3) == 0.5
    assert recovery({"stored": fast, "failed": [1.2]}, 0.01, 0, 1.9) == 0
    assert recovery({"stored": fast, "failed": [0.7]}, 0.01, 0, 4) == 1
    assert recovery({"stored": [], "failed": []}, 0.01, 0, 4) == float("inf")
