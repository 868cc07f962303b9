"""``python -m tests.faults SECTION…``: the long fault tests, whose figures go into the docs.

Each section adds its figures to tests/faults/results.json; docs/reliability.md is written from it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from re import search

import uvloop

from tests.collector.conftest import start as start_collector
from tests.faults import (
    copies,
    failing,
    flips,
    growth,
    hostile,
    illness,
    overload,
    power,
    reading,
    rolling,
    strangers,
)
from tests.faults.check import check
from tests.faults.fault import Process, free_port, kept
from tests.faults.mutation import bombard
from tests.faults.page import render
from tests.faults.scenario import Scenario, kills, perform
from tests.stores.server import running

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PAGE = HERE.parents[1] / "docs" / "reliability.md"
Figures = dict[str, object]
MODELLED = ("power", "disk", "flips", "model", "service", "race")
"""Sections in which a layer of ours stands for the disk, so that the real one need not work."""
MEMORY = Path("/dev/shm")
STORE, SERVICE = "tests.stores.test_machine", "tests.stores.test_service"  # they load Hypothesis


def run_scenario(scenario: Scenario, processes: list[Process], seed: int) -> Figures:
    """Perform a scenario and judge it."""
    for process in processes:
        process.start()
    history = uvloop.run(perform(scenario, processes, seed))
    codes = [process.stop() for process in processes]
    wrong = check(history, kept(processes[0].store))
    return {
        "acknowledgements": history.acknowledgements,
        "distinct ids": len(history.seen),
        "lost or counted twice": len(wrong),
        "seed": seed,
        "passed": wrong == [] and codes == [0] * len(processes),
    }


def kill(folder: Path, args: argparse.Namespace) -> Figures:
    """Kill a collector on SQLite under load, again and again."""
    process = Process(folder, str(folder / "store.db"), free_port())
    scenario = Scenario("killed", kills(args.count, args.longest), connections=64)
    return {"kills": args.count, **run_scenario(scenario, [process], args.seed)}


def kill_postgres(folder: Path, args: argparse.Namespace) -> Figures:
    """Kill two collectors on PostgreSQL by turns, and crash PostgreSQL itself in between."""
    with running() as server:

        async def fault(processes: list[Process], chance) -> None:
            await kills(args.count // 2)(processes, chance)
            await asyncio.to_thread(server.stop, signal.SIGQUIT)
            await asyncio.to_thread(server.start)
            await kills(args.count - args.count // 2)(processes, chance)

        late = "import time; now = time.time; time.time = lambda: now() + 86400\n"
        serve = "from deniable.cli import main; main()"
        processes = [
            Process(folder, server.url(), free_port(), code=serve),
            Process(folder, server.url(), free_port(), code=late + serve),
        ]
        scenario = Scenario("killed", fault, connections=32)
        found = run_scenario(scenario, processes, args.seed)
    return {"kills": args.count, "collectors": 2, "crashes of PostgreSQL": 1, **found}


def power_cuts(folder: Path, args: argparse.Namespace) -> Figures:
    """Cut the power, and see that the harness would notice a loss."""
    wrong, lost = 0, 0
    for seed in range(args.seed, args.seed + args.count):
        wrong += bool(power.cut_once(folder, seed))
        shutil.rmtree(folder / f"{seed}-after")
    for seed in range(args.seed, args.seed + max(20, args.count // 10)):
        lost += bool(power.cut_once(folder / "normal", seed, "NORMAL"))
        shutil.rmtree(folder / "normal" / f"{seed}-after")
    return {
        "cuts": args.count,
        "lost or corrupt": wrong,
        "cuts with synchronous=NORMAL": max(20, args.count // 10),
        "of these, losses found": lost,
        "passed": wrong == 0 and lost > 0,
    }


def disk(folder: Path, args: argparse.Namespace) -> Figures:
    """Fail each of the first writes and syncs, in three ways."""
    wrong = []
    for place in range(args.seed, args.seed + args.count):
        for kind in failing.KINDS:
            wrong += failing.fail_once(folder, kind, place)
            for file in folder.glob("failing-*"):
                file.unlink()
    return {
        "places": args.count,
        "kinds of failure": ", ".join(failing.KINDS),
        "wrong": len(wrong),
        "passed": wrong == [],
    }


def mutate(folder: Path, args: argparse.Namespace) -> Figures:
    """Send mutated submissions."""
    process = Process(folder, str(folder / "store.db"), free_port())
    process.start()
    head = f"POST {hostile.submission_path()} HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n"
    request = head.encode() + b"i" * 16 + b"\1"
    found: Counter[str] = asyncio.run(bombard(process.address, request, args.count, args.seed))
    process.stop()
    log = process.log.read_text()
    failed = sum(n for status, n in found.items() if status.startswith("5"))
    return {
        "requests": args.count,
        "answers by status": dict(sorted(found.items())),
        "of 5xx": failed,
        "passed": failed == 0 and not search(r"Traceback|\w+ at \w+:\d+", log),
    }


def explore(folder: Path, args: argparse.Namespace) -> Figures:
    """Send generated requests for every operation of the OpenAPI document."""
    from tests.collector import test_fuzz  # noqa: PLC0415 - loads schemathesis

    labels = list(test_fuzz.DESCRIBED)
    from deniable.collector.settings import Settings  # noqa: PLC0415 - the same

    sent = 0
    for collector in start_collector(Settings(store=str(folder / "store.db"), port=0)):
        # Operations without parameters have few different requests: the others make up for them.
        for label in labels * 8:
            if sent < args.count:
                sent += test_fuzz.explore(collector, label, args.count // len(labels) + 1)
        failures = collector.request("GET", "/v1/counters", role="viewer").json["failures"]
    return {"cases": sent, "failures inside": failures, "passed": failures == 0}


def beside_a_dictionary(machine: str) -> Callable[[Path, argparse.Namespace], Figures]:
    """Run a model on SQLite."""

    def section(folder: Path, args: argparse.Namespace) -> Figures:
        from tests.stores.conftest import sqlite_place  # noqa: PLC0415 - loads pytest

        import_module(machine).run(lambda: sqlite_place(folder), args.count, args.seed)
        return {"runs": args.count, "differences": 0, "seed": args.seed, "passed": True}

    return section


def beside_a_dictionary_on_postgres(
    machine: str,
) -> Callable[[Path, argparse.Namespace], Figures]:
    """Run a model on PostgreSQL."""

    def section(folder: Path, args: argparse.Namespace) -> Figures:
        from tests.stores.conftest import postgres_place, with_template  # noqa: PLC0415 - the same

        with with_template() as server:
            spare: list[str] = []
            place = partial(postgres_place, server, spare)
            import_module(machine).run(place, args.count, args.seed)
        return {"runs": args.count, "differences": 0, "seed": args.seed, "passed": True}

    return section


def races(folder: Path, args: argparse.Namespace) -> Figures:
    """Let everything happen at once while days pass, and while the clock jumps, on both stores."""
    from tests.stores import test_race  # noqa: PLC0415 - loads pytest
    from tests.stores.conftest import postgres_place, sqlite_place, with_template  # noqa: PLC0415

    acknowledged, wrong = 0, 0
    with with_template() as server:
        spare: list[str] = []
        for seed in range(args.seed, args.seed + args.count):
            for days in (test_race.PASSING, test_race.JUMPING):
                for place in (sqlite_place(folder), postgres_place(server, spare)):
                    said, counted = test_race.race(place, groups=60, days=days, seed=seed)
                    place.close()
                    acknowledged += said
                    wrong += said != counted
    return {
        "races": 4 * args.count,
        "acknowledged submissions": acknowledged,
        "races in which another number was counted": wrong,
        "passed": wrong == 0,
    }


def flips_on_postgres(folder: Path, args: argparse.Namespace) -> Figures:
    """Flip bits of rows that wait in PostgreSQL."""
    from tests.stores.conftest import postgres_place, with_template  # noqa: PLC0415 - the same

    with with_template() as server:
        place = partial(postgres_place, server, [])
        return flips.figures(flips.flip_postgres(place, args.count, args.seed))


def with_collector(work: Callable[[Process], object]) -> Callable[..., Figures]:
    """Run something asynchronous on a collector of its own."""

    def section(folder: Path, args: argparse.Namespace) -> Figures:
        # All connections come from one address, as they do from a proxy.
        more = ("--connections-per-address", "0")
        process = Process(folder, str(folder / "store.db"), free_port(), more=more)
        process.start()
        try:
            return asyncio.run(work(process))
        finally:
            if process.process is not None:
                process.kill()

    return section


def overload_once(folder: Path, args: argparse.Namespace) -> Figures:
    """Let three times the capacity arrive for as many seconds as ``--count`` says."""
    size = overload.Size(seconds=args.count)
    return with_collector(lambda process: overload.overload(process, size))(folder, args)


def attacked(kind: str, count: int) -> Callable[[Path, argparse.Namespace], Figures]:
    """Let strangers attack for as many seconds as ``--count`` says."""

    def section(folder: Path, args: argparse.Namespace) -> Figures:
        attack = strangers.Attack(kind, count, args.count)
        return strangers.attacked(folder, str(folder / "store.db"), free_port(), attack)

    return section


def ill(folder: Path, args: argparse.Namespace) -> Figures:
    """Have every illness of a store."""
    wrong: list[str] = []
    for number, make in enumerate(illness.ON_DISK.values()):
        place = folder / f"ill-{number}"
        place.mkdir()
        wrong += illness.suffer(place, make)
    full = illness.suffer_mounted(folder)
    wrong += full or []
    wrong += illness.suffer_postgres(folder) + illness.bad_row(folder)
    return {
        "illnesses": len(illness.ON_DISK) + 3,
        "disk full": "not mounted" if full is None else "yes",
        "wrong": "; ".join(wrong) or 0,
        "passed": wrong == [] and full is not None,
    }


def growth_once(folder: Path, args: argparse.Namespace) -> Figures:
    """Submit and poll for as many seconds as ``--count`` says."""
    return with_collector(lambda process: growth.growth(process, args.count))(folder, args)


SECTIONS: dict[str, tuple[Callable[[Path, argparse.Namespace], Figures], int]] = {
    "kill": (kill, 200),
    "kill-postgres": (kill_postgres, 20),
    "power": (power_cuts, 1000),
    "disk": (disk, 500),
    "backup": (lambda folder, args: copies.backups(folder, args.count, args.seed), 50),
    "restore": (lambda folder, args: copies.restores(folder, args.count, args.seed), 50),
    "flips": (
        lambda folder, args: flips.figures(flips.flip_sqlite(folder, args.count, args.seed)),
        400,
    ),
    "flips-postgres": (flips_on_postgres, 400),
    "mutate": (mutate, 100_000),
    "explore": (explore, 10_000),
    "model": (beside_a_dictionary(STORE), 1000),
    "model-postgres": (beside_a_dictionary_on_postgres(STORE), 1000),
    "service": (beside_a_dictionary(SERVICE), 1000),
    "service-postgres": (beside_a_dictionary_on_postgres(SERVICE), 1000),
    "race": (races, 25),
    "trickle": (with_collector(lambda process: hostile.trickle(process, 1000)), 1000),
    "endless": (with_collector(lambda process: hostile.endless(process, 100)), 100),
    "illness": (ill, 1),
    "pipelining": (attacked("pipelining", 100), 30),
    "readers": (attacked("readers", 2000), 30),
    "silent": (attacked("silent", 400), 30),
    "overload": (overload_once, 60),
    "rolling": (lambda folder, args: rolling.restart("nginx", folder, args.count, args.seed), 10),
    "rolling-caddy": (
        lambda folder, args: rolling.restart("caddy", folder, args.count, args.seed),
        10,
    ),
    "terminate": (with_collector(hostile.terminate), 1),
    "month": (lambda folder, args: reading.month(folder), 1),
    "week": (lambda folder, args: reading.week_sqlite(folder), 1),
    "log": (growth_once, 600),
    "week-postgres": (lambda folder, args: reading.week_postgres(folder), 1),
}


def _added(before: Figures | None, now: Figures) -> Figures:
    """Return the sum of the figures of two runs of a section."""
    if before is None:
        return now
    found = dict(now)
    for key, value in before.items():
        other = now.get(key)
        if key in ("seed", "commit"):
            found[key] = ", ".join(dict.fromkeys([*str(value).split(", "), str(other)]))
        elif key == "collectors":
            found[key] = value
        elif key == "passed":
            found[key] = bool(value) and bool(other)
        elif key.startswith("largest"):
            found[key] = max(value, other)
        elif isinstance(value, int) and isinstance(other, int):
            found[key] = value + other
        elif isinstance(value, dict) and isinstance(other, dict):
            found[key] = dict(sorted((Counter(value) + Counter(other)).items()))
    return found


def commit() -> str:
    """Return the commit that is tested."""
    said = ["git", "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(
        said, cwd=HERE, capture_output=True, text=True, check=False
    ).stdout.strip()


def saved() -> dict[str, Figures]:
    """Return the figures that were saved before."""
    return dict(json.loads(RESULTS.read_text())) if RESULTS.exists() else {}


def main() -> None:
    """Run sections, save their figures, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, "page", []], default=[])
    parser.add_argument("--count", type=int, help="how often, instead of the section's number")
    parser.add_argument("--add", action="store_true", help="add to the figures that are saved")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=3.0, help="seconds between two kills")
    args = parser.parse_args()
    count, passed = args.count, True
    for name in args.sections or SECTIONS:
        if name == "page":
            continue
        section, args.count = SECTIONS[name][0], count or SECTIONS[name][1]
        began = time.monotonic()
        place = MEMORY if name in MODELLED and MEMORY.is_dir() else None
        with tempfile.TemporaryDirectory(prefix="dn-faults-", dir=place) as folder:
            (Path(folder) / "normal").mkdir()
            figures = section(Path(folder), args)
        results = saved()  # after the run: another one may have been saved meanwhile
        figures |= {"took, s": round(time.monotonic() - began), "commit": commit()}
        results[name] = _added(results.get(name), figures) if args.add else figures
        passed = passed and bool(figures["passed"])
        print(name, json.dumps(results[name]), flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(render(saved()))
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
