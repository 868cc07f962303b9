"""A day of submissions through collectors and a database, some of which fail: queues and delays.

``python -m benchmarks.outage`` prints the scenarios of docs/scale.md, by simulation and on paper.

Time goes in steps of a second. People arrive at random, more of them at the peak of the day.
Collectors and the database each take so many submissions a second; what waits beyond a limit is
refused, and whoever is refused, or finds no collector, comes again after a random delay that
doubles up to an hour. Nobody gives up: a report is on the device until it is acknowledged. So the
question is not whether reports are lost, but how long they wait, and whether queues ever empty.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

DAY = 86_400
PEAK = 3.0
"""How much busier noon is than the night; against the average it is 1.8."""
_LONGEST_RETRY = 12
"""Delays are up to 1, 2, 4, ... seconds, at most 2^12, about an hour."""


COLLECTOR_RATE = 5_500.0
"""Single submissions a second of one collector: `python -m benchmarks.ingest`."""
DATABASE_RATE = 11_000.0
"""Rows a second into one PostgreSQL from four connections: `python -m benchmarks.rows`."""


@dataclass(frozen=True)
class Scenario:
    """A day's load, what there is to take it, and what fails when.

    With one collector its database is the SQLite file beside it, whose rate is the collector's.
    """

    name: str
    people: float
    collectors: int
    databases: int = 1
    down: int = 0
    """How many collectors are down between the two times."""
    databases_down: int = 0
    start: int = DAY // 2
    seconds: int = 0
    collector_rate: float = COLLECTOR_RATE
    database_rate: float = DATABASE_RATE
    queue_seconds: float = 1.0
    """How much may wait before a collector refuses, in seconds of what all take."""


@dataclass(frozen=True)
class Outcome:
    """What a day was like: all that came was counted once, or is still to come."""

    arrived: int
    counted: int
    waiting: int
    most_waiting: int
    refusals: int
    recovered_seconds: int
    """How long after the failure as few people waited as before it."""


def load(scenario: Scenario) -> npt.NDArray[np.float64]:
    """Return how many people arrive each second: a wave that is highest at noon."""
    wave = 1 + (PEAK - 1) * np.cos(2 * np.pi * (np.arange(DAY) - DAY / 2) / DAY).clip(0)
    return scenario.people * wave / wave.sum()


def capacity(scenario: Scenario, second: int) -> float:
    """Return how many submissions a second are taken."""
    failed = scenario.start <= second < scenario.start + scenario.seconds
    up = scenario.collectors - (scenario.down if failed else 0)
    databases = scenario.databases - (scenario.databases_down if failed else 0)
    return min(up * scenario.collector_rate, databases * scenario.database_rate)


def simulate(scenario: Scenario, seed: int) -> Outcome:
    """Go through a day second by second."""
    rng = np.random.default_rng(seed)
    arrivals = rng.poisson(load(scenario))
    # Who comes again, by how often they were refused and at which second.
    returns = np.zeros((_LONGEST_RETRY + 1, DAY + (1 << _LONGEST_RETRY) + 1), dtype=np.int64)
    queue = counted = refusals = 0
    waiting = np.zeros(DAY, dtype=np.int64)
    away = 0
    for second in range(DAY):
        takes = int(capacity(scenario, second))
        coming = returns[:, second].copy()
        away -= int(coming.sum())
        room = int(takes * (1 + scenario.queue_seconds)) - queue
        tried = np.concatenate([[arrivals[second]], coming])
        accepted = _share(tried, room, rng)
        queue += int(accepted.sum())
        for times, refused in enumerate((tried - accepted).tolist()):
            if refused:
                step = min(times, _LONGEST_RETRY)
                _spread(returns[step], second, 1 << step, refused, rng)
                refusals += refused
                away += refused
        done = min(queue, takes)
        queue, counted = queue - done, counted + done
        waiting[second] = queue + away
    return Outcome(
        int(arrivals.sum()), counted, int(waiting[-1]), int(waiting.max()), refusals,
        _recovery(scenario, waiting),
    )  # fmt: skip


def _share(
    tried: npt.NDArray[np.int64], room: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return how many of each kind find room, in random order."""
    if room >= tried.sum():
        return tried
    return rng.multivariate_hypergeometric(tried, max(room, 0), method="marginals")


def _spread(
    line: npt.NDArray[np.int64], now: int, longest: int, count: int, rng: np.random.Generator
) -> None:
    """Let people come again at random within the longest delay."""
    line[now + 1 : now + 1 + longest] += rng.multinomial(count, np.full(longest, 1 / longest))


def _recovery(scenario: Scenario, waiting: npt.NDArray[np.int64]) -> int:
    if not scenario.seconds:
        return 0
    end = scenario.start + scenario.seconds
    usual = max(1, int(waiting[: scenario.start].max()))
    below = np.flatnonzero(waiting[end:] <= usual)
    return int(below[0]) if len(below) else DAY - end


def on_paper(scenario: Scenario) -> dict[str, float]:
    """Return the peak's share of the capacity, and how long a backlog takes to clear.

    While c of a rate r is taken and r arrives, r - c waits each second; afterwards the backlog
    shrinks by the spare capacity. The rate is that of the peak throughout, so this is an upper
    bound but for the time that people stay away between two attempts.
    """
    peak = float(load(scenario).max())
    whole = capacity(replace(scenario, seconds=0), 0)
    left = capacity(scenario, scenario.start)
    backlog = max(0.0, peak - left) * scenario.seconds
    spare = whole - peak
    return {
        "peak per second": round(peak, 1),
        "peak load": round(peak / whole, 3),
        "backlog": round(backlog),
        "clears in seconds": round(backlog / spare, 1) if spare > 0 else float("inf"),
    }


SCENARIOS = (
    Scenario("a thousand a day", 1e3, 1),
    Scenario("a million a day", 1e6, 1),
    Scenario("a million a day, the collector down for an hour", 1e6, 1, down=1, seconds=3600),
    Scenario("a billion a day", 1e9, 8, 4),
    Scenario("a billion, a collector of eight down for an hour", 1e9, 8, 4, down=1, seconds=3600),
    Scenario(
        "a billion, a database of four and its two collectors down for five minutes",
        1e9, 8, 4, down=2, databases_down=1, seconds=300,
    ),
    Scenario(
        "a billion, half of everything down for five minutes",
        1e9, 8, 4, down=4, databases_down=2, seconds=300,
    ),
    Scenario(
        "a billion, all databases down for five minutes", 1e9, 8, 4, databases_down=4, seconds=300
    ),
)  # fmt: skip


def main() -> None:
    """Simulate every scenario, and print it beside the paper's figures."""
    for scenario in SCENARIOS:
        found = asdict(simulate(scenario, seed=1)) | on_paper(scenario)
        sys.stdout.write(json.dumps({"scenario": scenario.name} | found) + "\n")


if __name__ == "__main__":
    main()
