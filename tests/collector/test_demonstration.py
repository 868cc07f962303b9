"""The demonstration: simulated people whose reports are real, and who leave nothing behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from click.testing import CliRunner

from deniable.answers import Choice, Choices, Number, Record, Text
from deniable.cli import cli, demonstration
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store
from deniable.collector.stores.records import Slice
from deniable.collector.stores.records import today as today_number
from deniable.question import Question
from tests.collector.conftest import start

N = 400


def test_people_send_real_reports(tmp_path: Path) -> None:
    """Everybody's report arrives, one by one and anonymously, and the truth can be estimated."""
    settings = Settings(store=str(tmp_path / "store.db"), port=0)
    store = open_store(settings.store)
    store.ask(demonstration.asked())
    store.close()
    given = list(islice(demonstration.answers(), N))
    for collector in start(settings):
        assert demonstration.send(collector.address, given, 1e9) == N
        assert collector.n(demonstration.QUESTION) == N
        path = f"/v1/questions/{demonstration.QUESTION.digest}"
        sources = collector.request("GET", f"{path}/sources", role="viewer").json["sources"]
        assert [(each["name"], each["n"]) for each in sources] == [("anonymous", N)]
        found = collector.request("GET", f"{path}/estimates?format=json", role="viewer").json
        truth = Counter(given)
        # Five standard errors are exceeded by one of twelve counts once in 100,000 times.
        off = {
            row["label"]: (row["count"] - truth[row["label"]]) / row["std_error"]
            for row in found["estimates"]
        }
        assert off.keys() == demonstration.COUNTS.keys()
        assert max(map(abs, off.values())) < 5


def test_people_answer_as_the_marks_of_truth_say() -> None:
    """The shares that a page marks as the truth are those of the people, before and after."""
    before, after = (
        demonstration.shares(today_number() - ago) for ago in (demonstration.CHANGED, 0)
    )
    assert sum(before.values()) == pytest.approx(1)
    assert after["Tea"] - before["Tea"] == pytest.approx(0.07)
    given = Counter(islice(demonstration.answers(), 20_000))
    # Five standard errors of a share of 0.25.
    assert abs(given["Tea"] / 20_000 - after["Tea"]) < 0.0155


@pytest.mark.long("the pages of seven questions, and a search that begins")
def test_the_history_has_a_change_and_an_alarm(tmp_path: Path) -> None:
    """All questions have three weeks each; the change and the poisoned source are found."""
    settings = Settings(
        store=str(tmp_path / "store.db"), port=0, window=demonstration.HISTORY + 1, minimum=10
    )
    store = open_store(settings.store, window=settings.window)
    demonstration.fill(store)
    asked = [Question.from_json(each.document) for each in store.all_asked()]
    kinds = Counter(type(question.answers) for question in asked)
    assert kinds == {Choice: 2, Choices: 1, Number: 1, Record: 1, Text: 2}
    assert any(question.repeat and question.segments for question in asked)
    digest = demonstration.QUESTION.digest
    assert len(store.standing(Slice(digest)).daily) == demonstration.HISTORY
    store.close()
    for collector in start(settings):
        page = f"/questions/{digest}"
        text = collector.request("GET", page, role="viewer").body.decode()
        assert "against the week before" in text
        assert "kiosk differs from the other sources today" in text
        assert "which a real server never knows" in text
        quality = collector.request("GET", f"{page}/quality", role="viewer").body.decode()
        assert demonstration.TARGET in quality
        home = collector.request("GET", "/", role="viewer").body.decode()
        assert home.count('<li class="card">') == 7
        for digest in re.findall('/questions/([0-9a-f]{64})"', home):
            text = collector.request("GET", f"/questions/{digest}", role="viewer").body.decode()
            waits = ("Name the answers to count", "searched for")
            assert 'class="say' in text or any(words in text for words in waits)


@pytest.mark.long("a search")
def test_the_words_of_the_week_are_found() -> None:
    """A search of the history names the words that people say, which no list holds."""
    people = demonstration.HISTORY * 700
    given = [word for word, n in demonstration.WEEKS.items() for _ in range(people * n // 100)]
    reports = demonstration.WEEK.privatize(given, np.random.default_rng(1))
    found = demonstration.WEEK.discover(demonstration.WEEK.tally(reports))
    assert set(found.sure) == set(demonstration.WEEKS)


def test_a_demonstration_keeps_no_store() -> None:
    """A store that is removed at the end cannot be one that somebody named."""
    found = CliRunner().invoke(cli, ["serve", "--demo", "--store", "mine.db"])
    assert found.exit_code == 2
    assert "leave out --store" in found.stderr


def test_a_search_may_be_asked_for_too_late() -> None:
    """The collector can end before the people look: that is no failure of theirs."""
    with socket.socket() as taken:  # bound and not listening, so that it refuses
        taken.bind(("127.0.0.1", 0))
        demonstration._look(f"http://127.0.0.1:{taken.getsockname()[1]}/results/0")


@pytest.mark.long("a demonstration for each signal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_behind(tmp_path: Path, number: signal.Signals) -> None:
    """Numbers move soon; at the end the people are gone and the store too, unless it was killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "deniable.cli", "serve", "--demo", "--port", "0"],
        cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path), "DENIABLE_STORE": "other.db"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(6)]
        assert "deniable token login" in said[2]
        assert "Seven questions" in said[5]
        page = re.findall(r"http://\S+", said[4])[0].replace("/try/", "/results/")
        first = _reports(page)
        _wait(lambda: _reports(page) > first)
        children = _children(process.pid)
        assert len(children) >= 2
    finally:
        process.send_signal(number)
        _, complained = process.communicate(timeout=180)
    _wait(lambda: not [pid for pid in children if _runs(pid)])
    if number != signal.SIGKILL:
        assert "Traceback" not in complained
        assert list(tmp_path.iterdir()) == []


def _reports(page: str) -> int:
    found = re.search(r"([\d,]+) reports", _read(page))
    return int(found[1].replace(",", "")) if found else 0


def _wait(holds: Callable[[], object]) -> None:
    """Wait until something holds, for three minutes at most."""
    for _ in range(1800):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it never held")


def _read(address: str) -> str:
    with urlopen(address) as page:
        return page.read().decode()


def _children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if _parent(path) == pid]


def _parent(path: Path) -> int:
    """Return the parent of a process; what is gone has none."""
    try:
        return int((path / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _runs(pid: int) -> bool:
    """Tell whether a process is there and not merely waiting to be collected."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
