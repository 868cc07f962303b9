"""The commands around a collector: serve, send, pull, question publish, token, store."""

from __future__ import annotations

import http.client
import json
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from deniable import DE, Tally
from deniable.cli import cli
from deniable.collector.access import COOKIE, SESSION, Role, create, hashed
from deniable.collector.app import Application
from deniable.collector.stores import open_store
from deniable.collector.stores.records import Key, StoreCorrupt
from deniable.question import Question
from deniable.rota import Repeat
from tests.collector.conftest import QUESTION, Collector, Workshop, today
from tests.marks import shortened
from tools.reference import walk

OWN = ("send", "pull", "token", "store", "question publish")
NEW = Question("vegetables", ("leek", "kale"), DE(1.0, 2))
EXAMPLES = sorted(
    {
        example
        for path, command in walk(cli, "deniable")
        for example in command.examples
        if path.split(" ")[1:2] and path.removeprefix("deniable ").startswith(OWN)
    }
)


def report_crashes(collector: Collector) -> None:
    """Ask a question of weekly rounds and two arms, in its fourth week, and answer it in both."""
    weekly = Repeat(today(-21), every=7, rounds=10)
    arms = {"arm": ("A", "B")}
    question = Question("crashes", ("yes", "no"), DE(1.0, 2), repeat=weekly, segments=arms)
    body = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    assert collector.submit(question, b"\0\1" * 2000 + b"\1\1" * 50, role="relay").status == 204


@pytest.mark.long("a collector for each example")
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(workshop: Workshop, example: str) -> None:
    """Every example in the help runs as it stands, at the address of a collector.

    What needs the store for itself refuses while the collector has it open.
    """
    collector = workshop.collector
    for _ in range(12):
        collector.submit(QUESTION, b"\1")
    line = re.sub(r"https?://[a-z0-9.:]+", collector.address, example)
    line = line.replace("50d049cc…", QUESTION.digest).replace("DENIABLE_TOKEN=dn_…", "")
    role = "viewer" if "pull" in line else "admin" if "publish" in line else "relay"
    if "--round" in line:
        report_crashes(collector)
    if "publish" in line:
        NEW.to_json("fruit.json")
    if "revoke" in line:
        workshop.run("deniable token create dashboard --role viewer")
    if "restore" in line:
        workshop.run("deniable store backup copy.db")
    if "token end" in line:
        store = open_store("deniable.db")
        store.keep(Key(b"h", SESSION, "viewer", "3f09c2a7b1d45e68"))
        store.close()
    environment = {} if "--column" in line else {"DENIABLE_TOKEN": collector.tokens[role]}
    found = workshop.run(line.replace("--from 2025", "--from 2020"), **environment)
    if "store restore" in line or "store vacuum" in line:
        assert (found.returncode, "stop the collector first" in found.stderr) == (2, True)
        return
    assert found.returncode == 0, found.stderr
    assert "Traceback" not in found.stderr
    if "--round" in line:
        assert Tally.from_bytes(Path("a.bin").read_bytes()).n == 2000


def test_tokens_come_and_go(workshop: Workshop) -> None:
    """A token is shown once, listed by name, and worth nothing when it is revoked."""
    secret = workshop.run("deniable token create ann --role viewer").stdout.strip()
    assert secret.startswith("dn_")
    listed = workshop.run("deniable token list").stdout
    assert re.search(r"viewer +never expires +never used +ann\n", listed)
    assert workshop.run("deniable token create ann --role admin").returncode == 2
    headers = {"Authorization": f"Bearer {secret}"}
    assert workshop.collector.request("GET", "/v1/counters", headers=headers).status == 200
    listed = workshop.run("deniable token list").stdout
    assert re.search(rf"viewer +never expires +used {today()} +ann\n", listed)
    assert workshop.run("deniable token revoke ann").returncode == 0
    workshop.collector.app.services.access.forget()
    assert workshop.collector.request("GET", "/v1/counters", headers=headers).status == 401
    assert workshop.run("deniable token revoke ann").returncode == 2


def test_a_token_expires(workshop: Workshop) -> None:
    """A token can have an end, which is listed, and after which it is worth nothing."""
    secret = workshop.run("deniable token create bob --role viewer --days 3").stdout.strip()
    assert f"until {today(3)}" in workshop.run("deniable token list").stdout
    headers = {"Authorization": f"Bearer {secret}"}
    assert workshop.collector.request("GET", "/v1/counters", headers=headers).status == 200
    store = open_store("deniable.db")
    key = store.drop(hashed(secret))
    assert key is not None
    store.keep(replace(key, expires=int(time.time()) - 86400))
    store.close()
    workshop.collector.app.services.access.forget()
    assert workshop.collector.request("GET", "/v1/counters", headers=headers).status == 401
    assert f"expired {today(-1)}" in workshop.run("deniable token list").stdout


@pytest.mark.parametrize("name", ["", "two\nlines", "\x1b[2J", " spaced ", "x" * 101])
def test_names_of_tokens_are_checked(workshop: Workshop, name: str) -> None:
    """A name that cannot stand in a line of a list or a log is refused."""
    found = workshop.run(f"deniable token create {shlex.quote(name)} --role relay")
    assert found.returncode == 2
    assert "expected a name of 1 to 100 characters" in found.stderr


def test_sessions_are_listed_and_ended(workshop: Workshop) -> None:
    """A session can be ended from the command line."""
    store = open_store("deniable.db")
    secret = create(store, SESSION, Role.ADMIN, seconds=600)
    (name,) = [key.name for key in store.keys(SESSION)]
    store.close()
    cookie = {"Cookie": f"{COOKIE}={secret}"}
    listed = workshop.collector.request("GET", "/v1/sessions", headers=cookie).json["sessions"]
    assert [(found["name"], found["yours"]) for found in listed] == [(name, True)]
    assert name in workshop.run("deniable token sessions").stdout
    assert workshop.run(f"deniable token end {name}").returncode == 0
    workshop.collector.app.services.access.forget()
    assert workshop.collector.request("GET", "/v1/sessions", headers=cookie).status == 401
    assert workshop.run(f"deniable token end {name}").returncode == 2


def test_the_store_is_checked_folded_and_copied(workshop: Workshop) -> None:
    """All of it while the collector runs."""
    workshop.run(f"deniable send {workshop.collector.address} answers.txt")
    assert "200 reports folded" in workshop.run("deniable store fold").stderr
    assert "200 reports" in workshop.run("deniable store check").stdout
    assert workshop.run("deniable store backup copy.db").returncode == 0
    assert workshop.run("deniable store backup copy.db").returncode == 2
    assert "200 reports" in workshop.run("deniable store check --store copy.db").stdout
    assert workshop.run("deniable store check --store nowhere.db").returncode == 2
    assert workshop.collector.n(QUESTION) == 200


@pytest.mark.parametrize("number", shortened([signal.SIGTERM, signal.SIGINT], "more processes"))
def test_from_nothing_to_estimates(tmp_path: Path, number: signal.Signals) -> None:
    """``deniable serve`` creates everything, logs in once, and ends in good order."""
    (tmp_path / "fruit.json").write_text(QUESTION.to_json())
    process = subprocess.Popen(
        [sys.executable, "-m", "deniable.cli", "serve", "fruit.json", "--port", "0", "--minimum",
         "1"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert QUESTION.digest in process.stdout.readline()
        address = re.search(r"http://[\d.:]+", process.stdout.readline())[0]
        assert "by the link that this prints:" in process.stdout.readline()
        words = shlex.split(process.stdout.readline())
        assert not any("key=" in word for word in words)  # a log is no place for a link that works
        link = subprocess.run(
            [sys.executable, "-m", "deniable.cli", *words[1:]],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip
        with urlopen(link) as page:
            assert "<form" in page.read().decode()
        key, place = link.partition("key=")[2], urlsplit(address).netloc
        connection = http.client.HTTPConnection(place, timeout=30)
        connection.request("POST", "/login", f"key={key}", {"Origin": address})
        assert connection.getresponse().status == 303
        connection.close()
    finally:
        process.send_signal(number)
        said, complained = process.communicate(timeout=180)
    assert process.returncode in ((0,) if number == signal.SIGTERM else (0, 130))
    assert "Traceback" not in complained + said
    assert (tmp_path / "deniable.db").exists()


@pytest.mark.long("a process for each command")
def test_the_page_of_the_collector_begins_with_what_works(tmp_path: Path) -> None:
    """The commands at the head of docs/collector.md run as they stand, in one folder."""
    page = (Path(__file__).parents[2] / "docs" / "collector.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\$ (.*)$", page.partition("## What it promises")[0], re.MULTILINE)
    first, serve, *rest = lines
    function = f'deniable() {{ {shlex.quote(sys.executable)} -m deniable.cli "$@"; }}; set -e; '
    subprocess.run(["bash", "-c", function + first], cwd=tmp_path, check=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "deniable.cli", *serve.split()[1:], "--port", "0"],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        process.stdout.readline()
        address = re.search(r"http://[\d.:]+", process.stdout.readline())[0]
        script = function + "\n".join(rest).replace("http://127.0.0.1:8000", address)
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    finally:
        process.terminate()
        process.communicate(timeout=180)
    assert done.returncode == 0, done.stderr
    assert "kiwi" in done.stdout


def test_the_python_of_the_page_of_the_collector_works(
    collector: Collector,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A question that is asked is published again, its tally fetched, and estimates printed."""
    page = (Path(__file__).parents[2] / "docs" / "collector.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    question = Question("fruit of the page", ("kiwi", "fig", "plum"), DE(1.0, 3))
    question.to_json(tmp_path / "fruit.json")
    body = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    for _ in range(collector.settings.minimum):
        collector.submit(question, question.privatize(["kiwi"]).tobytes())
    monkeypatch.chdir(tmp_path)
    tokens = {role: collector.tokens[role] for role in ("admin", "viewer")}
    block = block.replace("https://counts.example.org", collector.address)
    exec(compile(block, "docs/collector.md", "exec"), tokens)
    assert "kiwi" in capsys.readouterr().out


def test_the_description_is_json(workshop: Workshop) -> None:
    """The document at /openapi.json is OpenAPI 3.1."""
    found = json.loads(workshop.collector.request("GET", "/openapi.json").body)
    assert found["openapi"].startswith("3.1")


def test_a_port_that_is_taken_is_an_error(workshop: Workshop) -> None:
    """The refusal is one line that says what to do."""
    port = urlsplit(workshop.collector.address).port
    found = workshop.run(f"deniable serve --port {port}")
    assert found.returncode == 2
    assert "take another --port" in found.stderr


def test_a_corrupt_store_ends_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector that stopped because of its store says so, with an exit code of its own."""

    class Stopped:
        def __init__(self, app: Application, *_: object) -> None:
            self.health = app.services.health

        def run(self) -> None:
            self.health.broken = StoreCorrupt("two rows contradict each other")

    monkeypatch.setattr("deniable.cli.serve.Server", Stopped)
    found = CliRunner().invoke(cli, ["serve", "--store", str(tmp_path / "store.db")])
    assert found.exit_code == 1
    assert "deniable: the collector has stopped: two rows contradict each other\n" in found.stderr
