"""Each alert of deploy/alerts.yml is fired by its cause, and by no sound collector.

A collector is scraped while it is well, brought into the state that an alert is for, and scraped
twice more. promtool then lets Prometheus' own rules see these series: what stood still between the
last two scrapes goes on standing still, and what moved goes on moving.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import psutil
import pytest

from deniable.collector.settings import Settings
from deniable.collector.stores.records import today
from deniable.collector.stores.sqlite import SqliteStore
from deniable.question import Question
from tests.collector.conftest import Collector, start
from tests.faults.illness import mounted

pytestmark = pytest.mark.long("waits for clocks of the collector")

RULES = Path(__file__).resolve().parents[2] / "deploy" / "alerts.yml"
ALERTS = re.findall(r"- alert: (\w+)", RULES.read_text())
WELL, ILL = 30, 90
"""For how many minutes the collector is well, and then ill."""
Series = dict[str, float]


@pytest.fixture(scope="module")
def promtool() -> str:
    """Return the path of promtool."""
    path = shutil.which("promtool")
    if path is None:
        pytest.skip("promtool is not installed")
    return path


@dataclass
class Patient:
    """A collector, and what is known of it."""

    collector: Collector
    folder: Path
    patch: pytest.MonkeyPatch
    left: ExitStack

    def scrape(self) -> Series:
        """Return all series, with ``up`` as Prometheus adds it; timestamps count from now."""
        now = time.time()
        try:
            answer = self.collector.request("GET", "/metrics", role="viewer")
        except OSError:
            return {"up": 0}
        if answer.status != 200:
            return {"up": 0}
        found: Series = {"up": 1}
        for line in answer.body.decode().splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                moved = now if "_timestamp_" in name else 0
                found[name] = float(value) - moved
        return found

    def until(self, said: Callable[[Series], bool]) -> None:
        """Wait until the series are as expected."""
        for _ in range(300):
            found = self.scrape()
            if found["up"] and said(found):
                return
            time.sleep(0.1)
        raise AssertionError(f"expected other series, got {found}")

    def locked(self, seconds: float) -> None:
        """Hold the store for a while, in a thread."""

        def hold() -> None:
            with closing(sqlite3.connect(self.folder / "store.db")) as connection:
                connection.execute("BEGIN IMMEDIATE")
                time.sleep(seconds)

        thread = Thread(target=hold)
        thread.start()
        self.left.callback(thread.join)
        time.sleep(0.2)

    def submit_beside(self, question: Question) -> None:
        """Submit once, in a thread that waits for the answer."""
        thread = Thread(target=self.collector.submit, args=(question, b"\1"))
        thread.start()
        self.left.callback(thread.join)


def not_storing(patient: Patient) -> None:
    """Move the file of the store away."""
    path = patient.folder / "store.db"
    path.rename(path.with_name("away.db"))
    patient.left.callback(lambda: path.with_name("away.db").rename(path))
    patient.until(lambda found: found["deniable_ready"] == 0)


def down(patient: Patient) -> None:
    """Let nobody answer at the address of the collector."""
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        patient.collector.address = f"http://127.0.0.1:{found.getsockname()[1]}"


def housekeeping_fails(patient: Patient) -> None:
    """Let every turn of housekeeping fail."""

    def fail(*_: object) -> None:
        raise RuntimeError("housekeeping is broken by this test")

    patient.patch.setattr(SqliteStore, "pile", fail)
    patient.until(lambda found: found["deniable_housekeeping_failures_total"] > 0)


def clock_jumps(patient: Patient) -> None:
    """Vouch for a clock that is thirty days ahead, which seals today."""
    path = patient.folder / "store.db"
    with closing(SqliteStore(path, today=lambda: today() + 30)) as store:
        store.seal(trust_clock=True)
    _hurry(patient)
    patient.until(lambda found: found["deniable_clock_alarm"] == 1)


def row_damaged(patient: Patient) -> None:
    """Flip bits of a report that waits."""
    patient.collector.submit(patient.collector.ask(), b"\1")
    with closing(sqlite3.connect(patient.folder / "store.db")) as connection, connection:
        connection.execute("UPDATE waiting SET reports = x'ff'")
    _hurry(patient)
    patient.until(lambda found: found["deniable_rows_set_aside"] == 1)


def _hurry(patient: Patient) -> None:
    """Let housekeeping have its next round now, instead of within a minute."""
    keeping = patient.collector.app.services.housekeeping
    loop = patient.collector.app.services.writer._loop
    loop.call_soon_threadsafe(lambda: loop.create_task(keeping.seal()))
    loop.call_soon_threadsafe(lambda: loop.create_task(keeping.fold_all(1)))


def disk_nearly_full(patient: Patient) -> None:
    """Nothing: the file system of this collector is small."""
    if patient.scrape()["deniable_store_free_bytes"] > 1e9:
        pytest.skip("needs the right to mount a small file system")


def backlog(patient: Patient) -> None:
    """Let a submission wait for a store that somebody holds."""
    question = patient.collector.ask()
    patient.locked(6)
    patient.submit_beside(question)
    patient.until(lambda found: found["deniable_submissions_waiting_oldest_seconds"] > 1)


def slow_disk(patient: Patient) -> None:
    """Let a commit take three seconds."""
    question = patient.collector.ask()
    patient.locked(3)
    patient.collector.submit(question, b"\1")


def request_fails(patient: Patient) -> None:
    """Let a request meet a bug."""

    def fail(*_: object) -> None:
        raise KeyError("a bug of this test")

    patient.patch.setattr(SqliteStore, "asked", fail)
    patient.collector.request("GET", f"/v1/questions/{'f' * 64}/status", role="viewer")


def worker_dies(patient: Patient) -> None:
    """Kill the process that calculates, twice."""
    services = patient.collector.app.services
    patient.collector.submit(patient.collector.ask(), b"\1")
    for _ in range(2):
        _hurry(patient)
        patient.until(lambda _: services.worker.pid is not None)
        psutil.Process(services.worker.pid).kill()
        patient.collector.submit(patient.collector.ask(), b"\1")
        _hurry(patient)
        time.sleep(1)
    patient.until(lambda found: found["deniable_worker_restarts_total"] > 0)


def refusals(patient: Patient) -> None:
    """Send what no client of the question can have sent."""
    question = patient.collector.ask()
    for _ in range(150):
        patient.collector.submit(question, b"\xff")


def not_folding(patient: Patient) -> None:
    """Leave a report of a day that was sealed long ago, which housekeeping cannot fold."""
    housekeeping_fails(patient)
    patient.collector.submit(patient.collector.ask(), b"\1")
    with closing(sqlite3.connect(patient.folder / "store.db")) as connection, connection:
        connection.execute("UPDATE waiting SET day = day - 12")


def connections_cut(patient: Patient) -> None:
    """Open more connections from one address than it may have."""
    parts = urlsplit(patient.collector.address)
    for _ in range(450):
        found = socket.create_connection((parts.hostname, parts.port))
        patient.left.callback(found.close)
    patient.until(lambda found: found['deniable_connections_dropped_total{reason="address"}'] > 100)


def files_open(patient: Patient) -> None:
    """Allow hardly more files than are open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = int(len(os.listdir("/proc/self/fd")) / 0.85)
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, before[1]))
    patient.left.callback(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, before))


CAUSES: dict[str, tuple[Callable[[Patient], None], set[str]]] = {
    "DeniableNotStoring": (not_storing, {"DeniableStoreErrors", "DeniableHousekeepingStopped"}),
    "DeniableDown": (down, set()),
    "DeniableStoreErrors": (not_storing, {"DeniableNotStoring", "DeniableHousekeepingStopped"}),
    "DeniableHousekeepingStopped": (housekeeping_fails, set()),
    "DeniableClock": (clock_jumps, set()),
    "DeniableRowsSetAside": (row_damaged, set()),
    "DeniableDiskNearlyFull": (disk_nearly_full, set()),
    "DeniableBacklog": (backlog, {"DeniableNotStoring", "DeniableStoreErrors"}),
    "DeniableFailures": (request_fails, {"DeniableHousekeepingStopped"}),
    "DeniableWorkerRestarts": (worker_dies, {"DeniableFailures"}),
    "DeniableRefusals": (refusals, set()),
    "DeniableSlowDisk": (slow_disk, {"DeniableNotStoring", "DeniableStoreErrors"}),
    "DeniableNotFolding": (not_folding, {"DeniableHousekeepingStopped"}),
    "DeniableConnectionsCut": (connections_cut, {"DeniableFilesOpen"}),
    "DeniableFilesOpen": (files_open, set()),
}
"""The cause of each alert, and what else it may fire: one cause can have several effects."""


@contextmanager
def patient(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Patient]:
    """Run a collector, and take back afterwards what was done to it."""
    settings = Settings(store=str(folder / "store.db"), port=0)
    for collector in start(settings):
        with ExitStack() as left:
            found = Patient(collector, folder, patch, left)
            found.until(
                lambda said: said["deniable_housekeeping_last_success_timestamp_seconds"] > -60
            )
            yield found
            patch.undo()


def timeline(well: Series, ill: Series, later: Series, apart: float) -> dict[str, str]:
    """Return the values of each series, minute by minute, in the notation of promtool.

    Counters grow on by what they grew between the well and the ill, again in every minute; a
    timestamp moves on with the clock if it moved between the last two scrapes.
    """
    found = {}
    for name, value in well.items():
        then = ill.get(name, value)
        labels = 'job="deniable",instance="x"'
        shown = name.replace("{", f"{{{labels},") if "{" in name else f"{name}{{{labels}}}"
        if (name != "up" and not ill["up"]) or isnan(then):
            step = 60 if "_timestamp_" in name else 0
            found[shown] = f"{value:g}+{step}x{WELL - 1} _x{ILL}"
        elif "_timestamp_" in name:
            begun = 60 * WELL
            moves = 60 if later[name] - then > -apart / 2 else 0
            found[shown] = f"{value:.0f}+60x{WELL - 1} {begun + then:.0f}+{moves}x{ILL}"
        elif re.search(r"_(total|bucket|sum|count)\b", name):
            grown = then - value
            found[shown] = f"{value:g}x{WELL - 1} {then:g}+{grown:g}x{ILL}"
        else:
            found[shown] = f"{value:g}x{WELL - 1} {then:g}x{ILL}"
    return found


def fires(promtool: str, folder: Path, series: dict[str, str], minutes: int) -> set[str]:
    """Return the names of the alerts that fire after some minutes."""
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": k, "values": v} for k, v in series.items()],
                "alert_rule_test": [
                    {"eval_time": f"{minutes}m", "alertname": name, "exp_alerts": []}
                    for name in ALERTS
                ],
            }
        ],
    }
    path = folder / "rules.test.yml"
    path.write_text(json.dumps(test))
    command = [promtool, "test", "rules", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert "alertname" in said or done.returncode == 0, said
    return set(re.findall(r"alertname:\s*(\w+)", said))


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_is_fired_by_its_cause(
    name: str, promtool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fires while its cause lasts, not before, and nothing fires that has another cause."""
    cause, others = CAUSES[name]
    with ExitStack() as stack:
        place = stack.enter_context(mounted(tmp_path)) if cause is disk_nearly_full else tmp_path
        found = stack.enter_context(patient(place or tmp_path, monkeypatch))
        well = found.scrape()
        if cause is disk_nearly_full:
            well["deniable_store_free_bytes"] = 5e9
        cause(found)
        ill, began = found.scrape(), time.monotonic()
        time.sleep(2.5)
        later, apart = found.scrape(), time.monotonic() - began
    series = timeline(well, ill, later, apart)
    assert fires(promtool, tmp_path, series, WELL - 1) == set()
    fired = fires(promtool, tmp_path, series, WELL + ILL - 1)
    assert name in fired
    assert fired <= others | {name}


def test_every_alert_has_a_cause() -> None:
    """No alert is without a test, and each metric of an alert is one that the collector has."""
    assert set(CAUSES) == set(ALERTS)
