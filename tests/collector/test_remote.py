"""A collector from afar: questions are published, named in short and pulled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from deniable import DE, InvalidDocument, InvalidParameter, set_memory_budget
from deniable.client import Refused, Transport, publish, pull
from deniable.client.remote import find
from deniable.question import Question
from deniable.tally import Tally
from tests.collector.conftest import QUESTION, Workshop

NEW = Question("vegetables", ("leek", "kale"), DE(1.0, 2))


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
    with pytest.raises(Refused, match="from 10 reports on"):
        pull(address, "fruit", last=date(2020, 1, 1), token=token)


def test_what_is_no_collector_is_refused(workshop: Workshop) -> None:
    """Another server at the address is told from a collector."""
    transport = Transport(workshop.collector.address + "/nowhere")
    with pytest.raises(Refused, match="Not Found"):
        find(transport, "fruit")
    with pytest.raises(OSError, match="cannot be reached"):
        pull("http://127.0.0.1:1", "fruit")


class _Elsewhere(BaseHTTPRequestHandler):
    """A server that is no collector, and not kind to terminals."""

    listed = b"<html>It works!</html>"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.listed)))
        self.end_headers()
        self.wfile.write(self.listed)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The address of a server that is no collector."""
    server = HTTPServer(("127.0.0.1", 0), _Elsewhere)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_another_server_is_not_taken_for_a_collector(elsewhere: str) -> None:
    """Its answers are refused, for a question that is published too."""
    with pytest.raises(Refused, match="check that a collector is at this address"):
        publish(elsewhere, NEW, token="dn_none")
    with pytest.raises(Refused, match="check that a collector is at this address"):
        pull(elsewhere, "fruit")
    with pytest.raises(InvalidDocument):
        pull(elsewhere, NEW)


def test_names_of_a_collector_do_nothing_to_a_terminal(
    elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control characters in what a server lists are shown as escapes."""
    entry = {"digest": "a" * 64, "name": "\x1b[2Jgone " * 50, "state": "open"}
    monkeypatch.setattr(_Elsewhere, "listed", json.dumps({"questions": [entry]}).encode())
    with pytest.raises(Refused) as caught:
        pull(elsewhere, "fruit")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def test_a_tally_beyond_the_memory_budget_is_refused(workshop: Workshop) -> None:
    """A collector cannot fill the memory of who pulls from it."""
    address, token = workshop.collector.address, workshop.collector.tokens["viewer"]
    workshop.run(f"deniable send {address} answers.txt")
    set_memory_budget(100)
    try:
        with pytest.raises(Refused, match="memory budget of 100 bytes"):
            pull(address, "fruit", token=token)
    finally:
        set_memory_budget(None)


@pytest.mark.parametrize(
    "address", ["127.0.0.1:80", "http://[::1", "http://a:99999", "http://", "x"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    """The error shows what an address looks like."""
    with pytest.raises(InvalidParameter, match=r"such as https://example.org"):
        Transport(address)


def test_a_token_that_cannot_be_sent_is_refused_and_not_shown() -> None:
    """A line end or a letter beyond ASCII in a token is a mistake of copying."""
    for token in ("dn_secret\n", "dn_sécret"):
        with pytest.raises(InvalidParameter, match="copy it again") as caught:
            Transport("http://127.0.0.1:1", token=token)
        assert "dn_s" not in str(caught.value)


def test_a_collector_that_is_not_there_is_said_so(workshop: Workshop) -> None:
    """The remedy is about the address, and not about files."""
    for line in ("pull {} fruit -o t.bin", "question publish {} fruit.json", "send {} answers.txt"):
        found = workshop.run(f"deniable {line.format('http://127.0.0.1:1')}")
        assert found.returncode == 2
        assert "cannot be reached: Connection refused; check the address, and that" in found.stderr
        assert "disk" not in found.stderr
