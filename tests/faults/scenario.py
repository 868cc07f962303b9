"""Scenarios: traffic under a fault, then calm, then everything that is unknown is asked again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.faults.fault import QUESTION, Process, restart
from tests.faults.history import History
from tests.faults.traffic import Traffic

Fault = Callable[[list[Process], random.Random], Awaitable[None]]


@dataclass(frozen=True)
class Scenario:
    """A name, and what goes wrong while clients submit."""

    name: str
    fault: Fault
    connections: int = 16


def kills(cycles: int, longest: float = 0.4) -> Fault:
    """Kill one collector after the other at moments that the seed decides."""

    async def fault(processes: list[Process], chance: random.Random) -> None:
        for cycle in range(cycles):
            await restart(processes[cycle % len(processes)], chance.uniform(0.02, longest))

    return fault


async def perform(scenario: Scenario, processes: list[Process], seed: int) -> History:
    """Run a scenario: calm, fault, calm, retry the unknown."""
    day = datetime.now(UTC).date().isoformat()
    path = f"/v1/questions/{QUESTION.digest}/reports?day={day}"
    traffic = Traffic(path, QUESTION.protocol.domain_size, seed)
    addresses, until = [process.address for process in processes], asyncio.Event()
    running = asyncio.create_task(traffic.run(addresses, scenario.connections, until))
    try:
        await asyncio.sleep(0.2)
        await scenario.fault(processes, random.Random(seed))
        await asyncio.sleep(0.2)
    finally:
        until.set()
        await running
    await traffic.settle(addresses)
    return traffic.history
