"""The commands around a collector: serve, send, pull, question publish, token, store."""

from __future__ import annotations

import http.client
import json
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from deniable import DE, InvalidDocument
from deniable.cli import cli
from deniable.cli.reference import walk
from deniable.client import Outbox, Outcome, Parcel, Refused, Transport, publish, pull
from deniable.client.remote import find
from deniable.collector.questions import Terms, write_terms
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store
from deniable.collector.stores.store import Asked, State
from deniable.question import Question
from deniable.tally import Tally
from tests.collector.conftest import Collector, start

QUESTION = Question("fruit", ("kiwi", "fig"), DE(1.0, 2))
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


@dataclass
class Workshop:
    """A directory with a store, answers, and a collector that runs on them."""

    directory: Path
    collector: Collector

    def run(self, line: str, **environment: str) -> Done:
        """Run a command of ours, written as in a shell."""
        words = shlex.split(line)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        assert words.pop(0) == "deniable"
        found = CliRunner(env={"DENIABLE_STORE": "deniable.db", **environment}).invoke(cli, words)
        if found.exception and not isinstance(found.exception, SystemExit):
            raise found.exception
        return Done(found.exit_code, found.stdout, found.stderr)


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workshop]:
    """A running collector that asks one question, in a directory with answers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.txt").write_text("kiwi\n" * 120 + "fig\n" * 80)
    rows = "".join(f"{answer}\n" for answer in ["1,kiwi"] * 30)
    (tmp_path / "people.csv").write_text("id,fruit\n" + rows)
    (tmp_path / "fruit.json").write_text(QUESTION.to_json())
    settings = Settings(store=str(tmp_path / "deniable.db"), port=0, minimum=10)
    store = open_store(settings.store)
    store.ask(Asked(QUESTION.digest, QUESTION.to_json(), State.OPEN, write_terms(Terms())))
    store.close()
    for collector in start(settings):
        yield Workshop(tmp_path, collector)


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
    if "publish" in line:
        NEW.to_json("fruit.json")
    if "revoke" in line:
        workshop.run("deniable token create dashboard --role viewer")
    if "restore" in line:
        workshop.run("deniable store backup copy.db")
    environment = {} if "--column" in line else {"DENIABLE_TOKEN": collector.tokens[role]}
    found = workshop.run(line.replace("--from 2025", "--from 2020"), **environment)
    if "store restore" in line or "store vacuum" in line:
        assert (found.returncode, "stop the collector first" in found.stderr) == (2, True)
        return
    assert found.returncode == 0, found.stderr
    assert "Traceback" not in found.stderr


def test_sending_twice_counts_once(workshop: Workshop) -> None:
    """Two hundred answers, one by one; the same command again sends nothing."""
    line = f"deniable send {workshop.collector.address} answers.txt"
    for _ in range(2):
        found = workshop.run(line)
        assert found.returncode == 0, found.stderr
        assert "200 reports: 200 answered" in found.stderr
    assert workshop.collector.n(QUESTION) == 200


def test_an_interrupted_sender_goes_on_with_the_same_bytes(workshop: Workshop) -> None:
    """What was sent without an answer is sent again under the same id, and counts once."""
    line = "deniable send {} answers.txt --attempts 1"
    found = workshop.run(line.format("http://127.0.0.1:1"))
    assert found.returncode == 2
    assert not (workshop.directory / "answers.txt.outbox").exists()
    found = workshop.run(line.format(workshop.collector.address))
    box = Outbox(workshop.directory / "answers.txt.outbox")
    assert box.count(Outcome.ANSWERED) == 200
    box.close()


def test_a_changed_file_is_sent_as_new_people_or_not_at_all(workshop: Workshop) -> None:
    """Other bytes are refused until told that all lines are new; the same bytes send nothing."""
    line, file = f"deniable send {workshop.collector.address} answers.txt", Path("answers.txt")
    assert workshop.run(line).returncode == 0
    file.write_text("fig\n" * 77)
    refused = workshop.run(line)
    assert refused.returncode == 2
    for said in ("answers.txt has changed since it was sent (200 reports: 200 answered)",
                 "Nothing was sent now", "pass --new-people"):  # fmt: skip
        assert said in refused.stderr
    assert workshop.collector.n(QUESTION) == 200
    found = workshop.run(f"{line} --new-people")
    assert found.returncode == 0, found.stderr
    assert "77 reports: 77 answered" in found.stderr
    assert workshop.collector.n(QUESTION) == 277
    for options in ("", " --new-people"):
        found = workshop.run(line + options)
        assert found.returncode == 0, found.stderr
        assert "has not changed since it was sent. Nothing is sent now." in found.stderr
    assert workshop.collector.n(QUESTION) == 277


def test_an_unfinished_outbox_is_kept_when_its_file_changes(workshop: Workshop) -> None:
    """What waits is not mixed with other answers, and can be sent without the file it came from."""
    address, file, box = workshop.collector.address, Path("answers.txt"), "answers.txt.outbox"
    line = f"deniable send {address} answers.txt"
    refused = workshop.run(f"{line} --token wrong --question {QUESTION.digest}")
    assert refused.returncode == 2
    assert "200 waiting" in refused.stderr
    file.write_text("fig\n" * 3)
    for options in ("", " --new-people"):
        refused = workshop.run(line + options)
        assert refused.returncode == 2
        assert "200 reports not delivered yet. Nothing was sent now." in refused.stderr
        assert f"deniable send {address} {box}" in refused.stderr
    assert workshop.run(f"{line} --outbox other.outbox").returncode == 0
    assert workshop.collector.n(QUESTION) == 3
    file.unlink()
    token = workshop.collector.tokens["relay"]
    found = workshop.run(f"deniable send {address} {box} --token {token}")
    assert found.returncode == 0, found.stderr
    assert "200 reports: 200 answered" in found.stderr
    assert workshop.collector.n(QUESTION) == 203


def test_a_pipe_is_known_by_its_bytes(workshop: Workshop, tmp_path: Path) -> None:
    """Answers from standard input are hashed as they are read, and compared as a file is."""
    command = [sys.executable, "-m", "deniable", "send", workshop.collector.address, "-"]
    command += ["--outbox", "piped.outbox"]

    def pipe(text: str, *options: str) -> Done:
        found = subprocess.run([*command, *options], input=text, capture_output=True, text=True,
                               timeout=60, check=False, cwd=tmp_path)  # fmt: skip
        return Done(found.returncode, found.stdout, found.stderr)

    assert pipe("kiwi\n" * 20).returncode == 0
    with closing(sqlite3.connect(tmp_path / "piped.outbox")) as connection:
        (noted,) = connection.execute("SELECT input FROM outbox").fetchone()
    assert noted == sha256(b"kiwi\n" * 20).hexdigest()
    assert "Nothing is sent now" in pipe("kiwi\n" * 20).stderr
    assert pipe("fig\n" * 5).returncode == 2
    same = pipe("kiwi\n" * 20, "--new-people")
    assert (same.returncode, "Nothing is sent now" in same.stderr) == (2, True)
    assert workshop.collector.n(QUESTION) == 20
    assert pipe("fig\n" * 5, "--new-people").returncode == 0
    assert workshop.collector.n(QUESTION) == 25


def test_two_senders_of_one_file_do_not_both_draw(tmp_path: Path) -> None:
    """An outbox that appears while another is made is kept, and the other sender ends."""
    path = tmp_path / "answers.txt.outbox"

    def parcels() -> Iterator[tuple[int, Parcel]]:
        yield 1, Parcel(b"i" * 16, b"\1")
        path.write_bytes(b"of the other sender")

    with pytest.raises(InvalidDocument, match="another program has made"):
        Outbox.create(path, address="a", question="q", parcels=parcels(), input=lambda: "digest")
    assert path.read_bytes() == b"of the other sender"
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_a_relay_sends_in_bulk(workshop: Workshop) -> None:
    """With a token reports go a thousand at a time, under the relay's name."""
    token = workshop.collector.tokens["relay"]
    found = workshop.run(
        f"deniable send {workshop.collector.address} answers.txt", DENIABLE_TOKEN=token
    )
    assert found.returncode == 0, found.stderr
    path = f"/v1/questions/{QUESTION.digest}/sources"
    sources = workshop.collector.request("GET", path, role="viewer").json["sources"]
    assert sources == [{"name": "relay:relay", "n": 200, "excluded": False}]


def test_a_refused_question_is_an_error(workshop: Workshop) -> None:
    """A ceiling below the question's epsilon, a wrong token, an unknown question."""
    address = workshop.collector.address
    for options, said in (
        ("--ceiling 0.5", "at most epsilon = 0.5"),
        ("--question " + "f" * 64, "unknown-question"),
        ("--token wrong", "unauthorized"),
    ):
        found = workshop.run(f"deniable send {address} answers.txt {options}")
        assert found.returncode == 2
        assert said in found.stderr
        (workshop.directory / "answers.txt.outbox").unlink(missing_ok=True)
    assert workshop.collector.n(QUESTION) == 0


def test_a_tally_is_pulled(workshop: Workshop) -> None:
    """The file that pull writes is a tally of all reports."""
    address, token = workshop.collector.address, workshop.collector.tokens["viewer"]
    workshop.run(f"deniable send {address} answers.txt")
    found = workshop.run(f"deniable pull {address} {QUESTION.digest} --token {token} -o t.bin")
    assert found.returncode == 0, found.stderr
    assert Tally.from_bytes((workshop.directory / "t.bin").read_bytes()).n == 200
    refused = workshop.run(f"deniable pull {address} {QUESTION.digest} -o u.bin")
    assert refused.returncode == 2
    assert not (workshop.directory / "u.bin").exists()


@pytest.mark.parametrize("named", ["fruit", QUESTION.digest[:8], QUESTION.digest[:5].upper() + "…"])
def test_a_question_is_named_in_short(workshop: Workshop, named: str) -> None:
    """Its name and the first digits of its digest do for the digest."""
    address, token = workshop.collector.address, workshop.collector.tokens["viewer"]
    workshop.run(f"deniable send {address} answers.txt")
    found = workshop.run(f"deniable pull {address} {named} --token {token} -o t.bin")
    assert found.returncode == 0, found.stderr
    assert Tally.open("t.bin").question == QUESTION.digest
    assert pull(address, named, token=token) == pull(address, QUESTION, token=token)


def test_a_name_that_is_none_or_several_lists_what_there_is(workshop: Workshop) -> None:
    """The candidates are listed with digest, name and state, and the remedy."""
    collector = workshop.collector
    again = Question("fruit", ("kiwi", "fig"), DE(2.0, 2))
    assert publish(collector.address, again, token=collector.tokens["admin"])
    for named, said in (("fruit", "names 2 questions"), ("plum", "names no question"),
                        ("abc", "names no question"), ("", "names no question")):  # fmt: skip
        found = workshop.run(f"deniable pull {collector.address} '{named}' -o t.bin")
        assert found.returncode == 2
        assert f"{named!r} {said}" in found.stderr
        assert f"{QUESTION.digest[:16]} (fruit, open), {again.digest[:16]}" in found.stderr


def test_a_question_is_published(workshop: Workshop) -> None:
    """A running collector asks it from then on; a second time is an error that changes nothing."""
    address, tokens = workshop.collector.address, workshop.collector.tokens
    NEW.to_json("new.json")
    line = f"deniable question publish {address} new.json --token {tokens['admin']}"
    found = workshop.run(line)
    assert (found.returncode, found.stdout) == (0, f"{NEW.digest}\n")
    assert workshop.collector.n(NEW) == 0
    again = workshop.run(line)
    assert again.returncode == 2
    assert "is asked there already; nothing was changed" in again.stderr
    assert publish(address, NEW, token=tokens["admin"]) is False


@pytest.mark.parametrize(
    ("command", "role", "wrong"),
    [
        ("pull {} fruit -o t.bin", "viewer", "relay"),
        ("question publish {} fruit.json", "admin", "viewer"),
    ],
)
def test_a_missing_token_names_the_remedy(
    workshop: Workshop, command: str, role: str, wrong: str
) -> None:
    """Without a token, with one that is none, and with one of another role."""
    line = f"deniable {command.format(workshop.collector.address)}"
    remedy = f"deniable token create NAME --role {role}"
    for given in ("", " --token dn_none", f" --token {workshop.collector.tokens[wrong]}"):
        found = workshop.run(line + given)
        assert found.returncode == 2
        assert remedy in found.stderr
        assert "--token or DENIABLE_TOKEN" in found.stderr
        assert not (workshop.directory / "t.bin").exists()


def test_days_are_pulled_in_python(workshop: Workshop) -> None:
    """Days are dates or text, and a day without enough reports is refused in the server's words."""
    address, token = workshop.collector.address, workshop.collector.tokens["viewer"]
    workshop.run(f"deniable send {address} answers.txt")
    tally = pull(address, "fruit", first=date(2020, 1, 1), last="2099-12-31", token=token)
    assert tally.n == 200
    with pytest.raises(Refused, match="at least 10 reports"):
        pull(address, "fruit", last=date(2020, 1, 1), token=token)


def test_what_is_no_collector_is_refused(workshop: Workshop) -> None:
    """Another server at the address is told from a collector."""
    transport = Transport(workshop.collector.address + "/nowhere")
    with pytest.raises(Refused, match="expected"):
        find(transport, "fruit")
    with pytest.raises(OSError, match="cannot be reached"):
        pull("http://127.0.0.1:1", "fruit")


def test_tokens_come_and_go(workshop: Workshop) -> None:
    """A token is shown once, listed by name, and worth nothing when it is revoked."""
    secret = workshop.run("deniable token create ann --role viewer").stdout.strip()
    assert secret.startswith("dn_")
    assert "viewer  ann" in workshop.run("deniable token list").stdout
    assert workshop.run("deniable token create ann --role admin").returncode == 2
    headers = {"Authorization": f"Bearer {secret}"}
    assert workshop.collector.request("GET", "/v1/counters", headers=headers).status == 200
    assert workshop.run("deniable token revoke ann").returncode == 0
    workshop.collector.app.parts.access.forget()
    assert workshop.collector.request("GET", "/v1/counters", headers=headers).status == 401
    assert workshop.run("deniable token revoke ann").returncode == 2


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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
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
        link = re.search(r"http://\S+", process.stdout.readline())[0]
        with urlopen(link) as page:
            assert "<form" in page.read().decode()
        key, place = link.partition("key=")[2], urlsplit(address).netloc
        connection = http.client.HTTPConnection(place, timeout=30)
        connection.request("POST", "/login", f"key={key}", {"Origin": address})
        assert connection.getresponse().status == 303
        connection.close()
    finally:
        process.send_signal(number)
        said, complained = process.communicate(timeout=60)
    assert process.returncode in ((0,) if number == signal.SIGTERM else (0, 130))
    assert "Traceback" not in complained + said
    assert (tmp_path / "deniable.db").exists()


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
