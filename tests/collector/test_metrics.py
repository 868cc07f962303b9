"""Metrics that one can page by: all there from the start, and right."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.collector.metrics import BOUNDS, Histogram
from deniable.collector.settings import Settings
from tests.collector.conftest import Collector, start, today


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector to which nothing has happened yet."""
    path = tmp_path_factory.mktemp("metrics") / "store.db"
    yield from start(Settings(store=str(path), port=0))


def scrape(collector: Collector) -> dict[str, float]:
    """Return all series by name and labels."""
    text = collector.request("GET", "/metrics", role="viewer").body.decode()
    pairs = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in pairs}


def test_every_series_is_there_from_the_start(fresh: Collector) -> None:
    """What one wants to be paged by has a value before the first submission, and no new names."""
    before = scrape(fresh)
    assert before['deniable_submissions_refused_total{reason="queue-full"}'] == 0
    assert before['deniable_store_errors_total{kind="full"}'] == 0
    assert before["deniable_submission_seconds_count"] == 0
    assert before["deniable_ready"] == 1
    question = fresh.ask()
    fresh.submit(question, b"\1")
    fresh.submit(question, b"")
    after = scrape(fresh)
    assert set(after) == set(before)
    assert after["deniable_submissions_accepted_total"] == 1
    assert after['deniable_submissions_refused_total{reason="invalid-report"}'] == 1
    assert after["deniable_submission_seconds_count"] == 1
    assert after["deniable_commit_seconds_count"] == 1
    assert after["deniable_reports_waiting"] == 1
    assert after["deniable_reports_waiting_oldest_seconds"] == 0
    assert after["deniable_connections"] >= 1
    assert after["deniable_store_bytes"] > 0
    assert after["deniable_store_free_bytes"] > 0
    assert after["process_resident_memory_bytes"] > 1e6


def test_the_oldest_waiting_day_has_an_age(fresh: Collector) -> None:
    """The age of the backlog is counted in days, since no time of day is stored."""
    fresh.submit(fresh.ask(), b"\1", day=today(-3))
    assert scrape(fresh)["deniable_reports_waiting_oldest_seconds"] == 3 * 86400


def test_a_histogram_counts_below_its_bounds() -> None:
    """Each bucket has all times up to its bound, the last one all."""
    found = Histogram()
    for seconds in (0.0005, 0.001, 0.002, 100.0):
        found.add(seconds)
    samples = dict(found.samples())
    assert samples['_bucket{le="0.001"}'] == 2
    assert samples['_bucket{le="0.0025"}'] == 3
    assert samples[f'_bucket{{le="{BOUNDS[-1]}"}}'] == 3
    assert samples['_bucket{le="+Inf"}'] == samples["_count"] == 4
    assert samples["_sum"] == pytest.approx(100.0035)


def test_prometheus_accepts_the_metrics(fresh: Collector) -> None:
    """``promtool check metrics`` has nothing to say."""
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("promtool is not installed")
    text = fresh.request("GET", "/metrics", role="viewer").body
    found = subprocess.run([tool, "check", "metrics"], input=text, capture_output=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, b"", b"")


def test_the_runbook_names_every_metric(fresh: Collector) -> None:
    """Whatever is exposed is explained in docs/collector.md."""
    text = fresh.request("GET", "/metrics", role="viewer").body.decode()
    names = re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)
    docs = (Path(__file__).parents[2] / "docs" / "collector.md").read_text()
    missing = [name for name in names if f"`{name}`" not in docs]
    assert missing == []


def test_alerts_watch_metrics_that_there_are(fresh: Collector) -> None:
    """Every metric that an alert names is one that the collector exposes."""
    text = fresh.request("GET", "/metrics", role="viewer").body.decode()
    there = set(re.findall(r"^(\w+)", text, re.MULTILINE))
    named = set(
        re.findall(
            r"(?:deniable|process)_\w+",
            (Path(__file__).parents[2] / "deploy" / "alerts.yml").read_text(),
        )
    )
    assert named
    assert named <= there
