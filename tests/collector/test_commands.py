"""The commands around a collector: serve, send, pull, question publish, token, store."""

from __future__ import annotations

import http.client
import json
import re
import shlex
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from deniable import DE
from deniable.cli import cli
from deniable.cli.reference import walk
from deniable.client import Refused, Transport, publish, pull
from deniable.client.remote import find
from deniable.question import Question
from deniable.tally import Tally
from tests.collector.conftest import QUESTION, Workshop

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
    for line in (f"send {address} answers.txt --question {named}",
                 f"pull {address} {named} --token {token} -o t.bin"):  # fmt: skip
        found = workshop.run(f"deniable {line}")
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
        for line in (f"pull {collector.address} '{named}' -o t.bin",
                     f"send {collector.address} answers.txt --question '{named}'"):  # fmt: skip
            found = workshop.run(f"deniable {line}")
            assert found.returncode == 2
            assert f"{named!r} {said}" in found.stderr
            assert f"{QUESTION.digest[:16]} (fruit, open), {again.digest[:16]}" in found.stderr
    assert collector.n(QUESTION) == collector.n(again) == 0


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
        process.communicate(timeout=60)
    assert done.returncode == 0, done.stderr
    assert "kiwi" in done.stdout


def test_a_collector_that_is_not_there_is_said_so(workshop: Workshop) -> None:
    """The remedy is about the address, and not about files."""
    for line in ("pull {} fruit -o t.bin", "question publish {} fruit.json", "send {} answers.txt"):
        found = workshop.run(f"deniable {line.format('http://127.0.0.1:1')}")
        assert found.returncode == 2
        assert "cannot be reached: Connection refused; check the address, and that" in found.stderr
        assert "disk" not in found.stderr


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
