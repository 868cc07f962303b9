"""The Python client as a program uses it: offline, across processes, opted out, without a leak."""

from __future__ import annotations

import logging
import math
import re
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deniable import DE, InvalidParameter, OpenLH, OutOfDomain, Question
from deniable.client import Client, Courier, NoLedger, NoQuestion, Outcome, Parcel
from deniable.client.delivery import Lost, Reply, Transport, Unsent
from deniable.collector.settings import Settings
from tests.collector.conftest import Collector, start
from tests.faults.fault import free_port

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
QUESTION = Question("fruit", ("kiwi", "fig"), DE(1.0, 2))

PROGRAM = """
import sys
from pathlib import Path
from deniable import Question
from deniable.client import Client

address, act = sys.argv[1:]
client = Client(address, "ledger.db")
if act == "answer":
    print(client.answer(Question.load(Path("fruit.json").read_bytes()), "fig").value)
elif act == "flush":
    print(*(outcome.value for outcome in client.flush().values()))
else:
    client.opt_out()
"""


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """The folder of a program that ships a question."""
    folder = tmp_path / "device"
    folder.mkdir()
    (folder / "fruit.json").write_text(QUESTION.to_json())
    return folder


def run(device: Path, address: str, act: str) -> str:
    """Do one thing in a process of its own, and return what it printed."""
    found = subprocess.run([sys.executable, "-c", PROGRAM, address, act], cwd=device, timeout=180,
                           capture_output=True, text=True, check=False)  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def serve(tmp_path: Path, port: int) -> Iterator[Collector]:
    """Run a collector that asks the question at a port."""
    for collector in start(Settings(store=str(tmp_path / "store.db"), port=port, minimum=10)):
        text = QUESTION.to_json().encode()
        assert collector.request("POST", "/v1/questions", text, role="admin").status == 201
        yield collector


def test_an_answer_given_offline_arrives_later(device: Path, tmp_path: Path) -> None:
    """Bundled question, no network, the process ends, the network is back: one report."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    assert run(device, address, "answer") == "waiting"
    assert run(device, address, "flush") == "waiting"
    for collector in serve(tmp_path, port):
        assert run(device, address, "flush") == "answered"
        assert run(device, address, "flush") == ""
        assert run(device, address, "answer") == "already"
        assert collector.n(QUESTION) == 1


def test_who_opts_out_sends_nothing(device: Path, tmp_path: Path) -> None:
    """What waited is forgotten, nothing is drawn, and a later process knows it."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    assert run(device, address, "answer") == "waiting"
    with closing(sqlite3.connect(device / "ledger.db")) as connection:
        id, report = connection.execute("SELECT id, report FROM answers").fetchone()
    assert id in (device / "ledger.db").read_bytes()
    run(device, address, "opt out")
    assert id + report not in (device / "ledger.db").read_bytes()
    assert id not in (device / "ledger.db").read_bytes()
    for collector in serve(tmp_path, port):
        assert run(device, address, "flush") == ""
        assert run(device, address, "answer") == "opted-out"
        assert collector.n(QUESTION) == 0
        other = collector.ask()
        client = Client(address, device / "ledger.db")
        assert client.answer(other, "a") is Outcome.OPTED_OUT
        client.opt_out(False)
        assert client.answer(QUESTION, "fig") is Outcome.OPTED_OUT  # its report is gone
        assert client.answer(other, "a") is Outcome.ANSWERED
        assert (collector.n(QUESTION), collector.n(other)) == (0, 1)


def test_without_the_question_nothing_is_kept_of_an_answer(tmp_path: Path) -> None:
    """A digest and no network: the call is refused in words, and the ledger stays empty."""
    client = Client(f"http://127.0.0.1:{free_port()}", tmp_path / "ledger.db")
    with pytest.raises(NoQuestion, match="pass the question itself, which needs no network"):
        client.answer(QUESTION.digest, "fig")
    assert client.ledger.find(QUESTION.digest) is None
    assert client.ledger.spent() == 0
    assert client.flush() == {}


@pytest.mark.parametrize(
    "limits",
    [{"budget": "ten"}, {"budget": None}, {"ceiling": "five"}, {"ceiling": math.nan},
     {"attempts": 0}],
)  # fmt: skip
def test_limits_that_are_none_are_refused(limits: dict[str, Any], tmp_path: Path) -> None:
    """A limit that cannot be compared with is an error before anything is asked."""
    with pytest.raises(InvalidParameter):
        Client("https://collector.example", tmp_path / "ledger.db", **limits)


@pytest.mark.parametrize("budget", [math.nan, 0, -1])
def test_a_budget_of_nothing_spends_nothing(budget: float, tmp_path: Path) -> None:
    """Whatever is no positive number leaves nothing to spend."""
    client = Client("https://collector.example", tmp_path / "ledger.db", budget=budget)
    client.transport.request = sent = Sent(Reply(204))  # type: ignore[method-assign]
    assert client.answer(QUESTION, "fig") is Outcome.OVER_BUDGET
    assert sent == []


class Sent(list[str]):
    """A stand-in of the network that notes what is sent and ends as it is told."""

    def __init__(self, end: Reply | type[OSError]) -> None:
        super().__init__()
        self.end = end

    def __call__(self, method: str, path: str, body: bytes | None = None) -> Reply:
        if self.end is not Unsent:
            self.append(method)
        if isinstance(self.end, Reply):
            return self.end
        raise self.end("stand-in")


def test_without_lasting_storage_nothing_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that cannot be written any more is an outcome, and not a report."""
    client = Client("https://collector.example", tmp_path / "ledger.db")
    client.transport.request = sent = Sent(Reply(204))  # type: ignore[method-assign]

    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("deniable.client.state.sqlite3.connect", full)
        assert client.answer(QUESTION, "fig") is Outcome.NO_STORAGE
        with pytest.raises(NoLedger, match="nothing is sent"):
            client.opt_out()
    assert sent == []
    with monkeypatch.context() as patched:
        # The report is in the ledger, and the disk fills before it is noted as sent.
        patched.setattr("deniable.client.client.Ledger.save", full_ledger)
        assert client.answer(QUESTION, "fig") is Outcome.NO_STORAGE
    assert sent == []
    assert client.answer(QUESTION, "fig") is Outcome.ANSWERED
    assert sent == ["POST"]


def full_ledger(*_: object) -> bool:
    """Fail as a ledger on a full disk does."""
    raise NoLedger("the disk is full")


def test_a_reply_that_cannot_be_noted_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was delivered stays in doubt until that is on the disk; the same bytes go again."""
    client = Client("https://collector.example", tmp_path / "ledger.db")
    client.transport.request = sent = Sent(Reply(204))  # type: ignore[method-assign]
    with monkeypatch.context() as patched:
        patched.setattr("deniable.client.client.Ledger.settle", full_ledger)
        assert client.answer(QUESTION, "fig") is Outcome.ANSWERED
    found = client.ledger.find(QUESTION.digest)
    assert isinstance(found, Parcel)
    assert found.state.doubt
    assert client.flush() == {QUESTION.digest: Outcome.ANSWERED}
    assert sent == ["POST", "POST"]
    assert client.answer(QUESTION, "fig") is Outcome.ALREADY


def test_opting_out_stops_a_delivery_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report whose person opts out during an attempt is not sent again."""
    client = Client("https://collector.example", tmp_path / "ledger.db", attempts=5)
    sent: list[str] = []

    def request(method: str, path: str, body: bytes | None = None) -> Reply:
        sent.append(method)
        client.opt_out()
        raise Lost("no answer")

    client.transport.request = request  # type: ignore[method-assign]
    monkeypatch.setattr(
        "deniable.client.client.Courier", partial(Courier, sleep=lambda seconds: None)
    )
    assert client.answer(QUESTION, "fig") is Outcome.OPTED_OUT
    assert client.flush() == {}
    assert sent == ["POST"]
    assert client.ledger.find(QUESTION.digest) is Outcome.OPTED_OUT


@pytest.mark.parametrize(("end", "tries"), [(Unsent, 1), (Lost, 3)])
def test_a_collector_that_is_not_there_is_tried_once(
    end: type[OSError], tries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a network the reports that wait do not each wait for it; all are still waiting."""
    client = Client("https://collector.example", tmp_path / "ledger.db")
    for name in "abc":
        client.ledger.begin(name, Parcel(b"i" * 16, b"r"), epsilon=1, budget=9)
    tried = []

    def request(self: Transport, method: str, path: str, body: bytes | None = None) -> Reply:
        tried.append(path)
        raise end("stand-in")

    monkeypatch.setattr(Transport, "request", request)
    assert client.flush() == dict.fromkeys("abc", Outcome.WAITING)
    assert len(tried) == tries


def walk(error: BaseException) -> Iterator[object]:
    """Yield all that an error reporter takes from an error and those that led to it."""
    yield from traceback.format_exception(error)
    seen: list[BaseException] = [error]
    while seen:
        found = seen.pop()
        yield from (str(found), repr(found), found.args, vars(found), getattr(found, "value", None))
        seen += [led for led in (found.__cause__, found.__context__) if led is not None]


@pytest.mark.parametrize("answer", ["CANARY", "CANARY\ud800", 4711, None, b"CANARY", ["CANARY"]])
@pytest.mark.parametrize("labels", [("kiwi", "fig"), None])
def test_errors_do_not_hold_the_answer(
    answer: object, labels: tuple[str, ...] | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No message, argument, attribute or log line of the client has the raw answer in it."""
    protocol = OpenLH(1.0) if labels is None else DE(1.0, 2)
    question = Question("fruit", labels, protocol)
    client = Client("https://collector.example", tmp_path / "ledger.db")
    client.transport.request = sent = Sent(Lost)  # type: ignore[method-assign]
    taken = (answer, labels) == ("CANARY", None)
    with caplog.at_level(logging.DEBUG), ExitStack() as stack:
        if not taken:
            caught = stack.enter_context(pytest.raises(OutOfDomain, match="is not"))
        client.answer(question, answer)  # type: ignore[arg-type]
    found = [] if taken else list(walk(caught.value))
    for canary in ("CANARY", "4711"):
        assert not [said for said in found if canary in repr(said)]
        assert canary not in caplog.text
        assert canary.encode() not in (tmp_path / "ledger.db").read_bytes()
    assert sent == (["POST"] if taken else [])


def test_a_failing_network_does_not_hold_the_answer(tmp_path: Path) -> None:
    """Where the question cannot be fetched, the error is about that alone."""
    client = Client("https://collector.example", tmp_path / "ledger.db")
    client.transport.request = Sent(Unsent)  # type: ignore[method-assign]
    with pytest.raises(NoQuestion) as caught:
        client.answer(QUESTION.digest, "CANARY")
    # The line of this very test is in the traceback's text; nothing of the client's is.
    lines = [said for said in walk(caught.value) if "client.answer(" not in str(said)]
    assert not [said for said in lines if "CANARY" in repr(said)]


@pytest.mark.parametrize("swapped", ["CANARY", QUESTION.digest.upper(), "", f"{QUESTION.digest}/"])
def test_an_answer_in_the_place_of_the_question_does_not_leave(
    swapped: str, tmp_path: Path
) -> None:
    """What is no digest is not asked for, and not shown: it may be the answer."""
    client = Client("https://collector.example", tmp_path / "ledger.db")
    client.transport.request = sent = Sent(Lost)  # type: ignore[method-assign]
    with pytest.raises(InvalidParameter, match="64 hexadecimal digits") as caught:
        client.answer(swapped, QUESTION.digest)
    assert sent == []
    assert not [said for said in walk(caught.value) if "CANARY" in repr(said)]


def test_the_examples_of_the_page_run(
    device: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Python of docs/client.md runs as it stands, at the address of a collector."""
    monkeypatch.chdir(device)
    names: dict[str, object] = {}
    for collector in serve(tmp_path, free_port()):
        for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
            text = block.replace("https://counts.example.org", collector.address)
            exec(compile(text, "docs/client.md", "exec"), names)
        assert collector.n(QUESTION) == 1
    assert names["outcomes"] == {"fruit": Outcome.ALREADY}


def test_the_page_lists_all_outcomes() -> None:
    """The table has the values of the enumeration, in their order."""
    listed = re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)
    assert listed == [outcome.value for outcome in Outcome]
