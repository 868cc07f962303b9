"""Turns on a device: each is answered once, whatever the clock, the disk or the server does."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.turns import Browsers, check, count_turns, draw_history, live, simulate
from deniable import DE, InvalidParameter, Question
from deniable.client import Client, Ledger, NoLedger, Outcome, Parcel
from deniable.client.delivery import Lost, Reply
from deniable.rota import Repeat, phase_of
from tests import components
from tests.marks import examples

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "turns.json").read_text())
REPEAT = Repeat("2026-03-02", every=7, rounds=4, times=2)
ARMS = {"arm": ("A", "B")}
QUESTION = Question("fruit", ("kiwi", "fig"), DE(1.0, 2), repeat=REPEAT, segments=ARMS)
SECRET = bytes(range(32))
PHASE = phase_of(SECRET, QUESTION.digest, REPEAT.rounds)


class Device:
    """A client with a known secret, in front of a collector that replies as it is told."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, **limits: Any) -> None:
        self.client = Client("https://collector.example", path, **limits)
        with self.client.ledger._open() as connection:
            connection.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (SECRET,))
        self.reply: Reply | None = Reply(204)
        self.sent: list[bytes] = []
        self.today = date(2026, 3, 2)
        self.client.transport.request = self.request  # type: ignore[method-assign]
        monkeypatch.setattr("deniable.client.delivery.utc_today", lambda: self.today)

    def request(self, method: str, path: str, body: bytes | None = None) -> Reply:
        """Note a body; without a reply it is lost."""
        self.sent.append(body or b"")
        if self.reply is None:
            raise Lost("no answer")
        return self.reply

    def in_round(self, number: int, answer: str = "kiwi", **more: Any) -> Outcome:
        """Answer on the last day of a round."""
        self.today = REPEAT.days_of(number)[1]
        return self.client.answer(QUESTION, answer, **more)


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    """Return a device that has seen nothing yet."""
    return Device(tmp_path / "ledger.db", monkeypatch)


def test_a_device_answers_in_its_rounds(device: Device) -> None:
    """Of eight rounds two are its own, and afterwards the question is finished."""
    found = [device.in_round(number) for number in range(8)]
    mine = {PHASE, PHASE + 4}
    assert [number for number in range(8) if found[number] is Outcome.ANSWERED] == sorted(mine)
    assert {found[n] for n in range(8) if n not in mine} <= {Outcome.NOT_NOW, Outcome.FINISHED}
    assert device.in_round(7) in (Outcome.FINISHED, Outcome.ALREADY)
    assert len(device.sent) == len({body[:16] for body in device.sent}) == 2
    assert device.client.ledger.spent() == QUESTION.total_epsilon == 2.0


def test_a_clock_that_is_set_back_answers_nothing_twice(device: Device) -> None:
    """After the second turn the first one cannot be taken any more, nor the second one again."""
    assert device.in_round(PHASE + 4) is Outcome.ANSWERED
    assert device.in_round(PHASE) is Outcome.FINISHED
    assert device.in_round(PHASE + 4, "fig") is Outcome.ALREADY
    assert len(device.sent) == 1


def test_a_missed_turn_is_lost(device: Device) -> None:
    """Whoever was away in a round is asked again in the next turn, not in the next round."""
    assert device.in_round((PHASE + 1) % 4 + 4 * (PHASE == 3)) is Outcome.NOT_NOW
    assert device.sent == []


def test_all_turns_are_reserved_when_the_question_is_first_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device whose turn is late meets the same budget as one whose turn is early."""
    device = Device(tmp_path / "ledger.db", monkeypatch, budget=2.5)
    assert device.in_round((PHASE + 1) % 4) in (Outcome.NOT_NOW, Outcome.FINISHED)
    assert device.client.ledger.spent() == 2.0
    other = Question("nuts", ("kiwi", "fig"), DE(1.0, 2))
    assert device.client.answer(other, "kiwi") is Outcome.OVER_BUDGET
    assert device.in_round(PHASE + 4) is Outcome.ANSWERED


def test_a_lost_reply_keeps_the_bytes(device: Device) -> None:
    """The same bytes are sent again in the turn, and another answer changes nothing."""
    device.reply = None
    assert device.in_round(PHASE) is Outcome.WAITING
    device.reply = Reply(204)
    assert device.in_round(PHASE, "fig") is Outcome.ANSWERED
    assert device.in_round(PHASE, "fig") is Outcome.ALREADY
    assert len(device.sent) == 2
    assert device.sent[0] == device.sent[1]


def test_what_waits_is_delivered_between_turns_and_given_up_for_the_next(device: Device) -> None:
    """A report that no collector took by the next turn makes room for that of the turn."""
    device.reply = None
    assert device.in_round(PHASE) is Outcome.WAITING
    assert device.in_round(PHASE + 1) is Outcome.WAITING
    device.reply = Reply(204)
    assert device.in_round(PHASE + 4) is Outcome.ANSWERED
    assert device.sent[0] == device.sent[1] != device.sent[2]
    assert device.client.flush() == {}


def test_a_courier_of_the_turn_before_leaves_the_new_one_alone(device: Device) -> None:
    """A reply that comes after a new turn began settles nothing of it."""
    device.reply = None
    device.in_round(PHASE)
    found = device.client.ledger.find(QUESTION.digest)
    assert isinstance(found, Parcel)
    device.in_round(PHASE + 4)
    assert not device.client.ledger.settle(QUESTION.digest, Outcome.ANSWERED, found.noted)
    assert isinstance(device.client.ledger.find(QUESTION.digest), Parcel)


def test_a_device_without_storage_takes_no_turn(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that cannot be written means that nothing is drawn or sent."""

    def full() -> None:
        raise NoLedger("the disk is full")

    monkeypatch.setattr(device.client.ledger, "_open", full)
    assert device.in_round(PHASE) is Outcome.NO_STORAGE
    with pytest.raises(NoLedger):
        device.client.arm(QUESTION, ("A", "B"))
    assert device.sent == []


def test_a_device_that_is_installed_anew_with_its_ledger_sends_nothing_more(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger has the secret and the turn: a new installation goes on where it was."""
    assert device.in_round(PHASE) is Outcome.ANSWERED
    moved = tmp_path / "moved.db"
    moved.write_bytes((tmp_path / "ledger.db").read_bytes())
    again = Device(moved, monkeypatch)
    assert again.client.ledger.secret() == SECRET
    assert again.in_round(PHASE) is Outcome.ALREADY
    assert again.sent == []


def test_opting_out_takes_no_turn(device: Device) -> None:
    """Who opted out is not asked, and who opts in again goes on with the turns that are left."""
    assert device.in_round(PHASE) is Outcome.ANSWERED
    device.client.opt_out()
    assert device.in_round(PHASE + 4) is Outcome.OPTED_OUT
    device.client.opt_out(False)
    assert device.in_round(PHASE + 4) is Outcome.ANSWERED


def test_the_segment_is_one_byte_before_the_report(device: Device) -> None:
    """Stated, not stated, and refused before anything is drawn."""
    assert device.in_round(PHASE, segment={"arm": "B"}) is Outcome.ANSWERED
    assert device.in_round(PHASE + 4) is Outcome.ANSWERED
    assert [body[16] for body in device.sent] == [1, 2]
    assert {len(body) for body in device.sent} == {18}
    with pytest.raises(InvalidParameter, match="arm as one of A, B"):
        device.in_round(PHASE, segment={"arm": "C"})


def test_a_device_belongs_to_one_arm_for_ever(device: Device, tmp_path: Path) -> None:
    """The arm follows from the secret and the question; nonsense is refused."""
    arm = device.client.arm(QUESTION, ("A", "B"))
    assert arm == device.client.arm(QUESTION.digest, ("A", "B"))
    secrets = [Client("https://c.example", tmp_path / f"{i}.db").ledger.secret() for i in "ab"]
    assert len({*secrets, SECRET}) == 3
    for nonsense in ("AB", ("A",), ("A", "A")):
        with pytest.raises(InvalidParameter, match="two or more arms"):
            device.client.arm(QUESTION, nonsense)


def test_the_client_takes_the_turns_of_the_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the ledger and the client, the outcomes are those of the file (every 29th)."""
    for number, case in enumerate(VECTORS["vectors"][::29]):
        question = Question.from_json(VECTORS["questions"][case["named"]])
        client = Client("https://collector.example", tmp_path / f"{number}.db")
        client.ledger.begin(question.digest, None, epsilon=3.0, budget=10.0)
        with client.ledger._open() as connection:
            secret = bytes.fromhex(case["secret"])
            connection.execute("INSERT INTO secret VALUES (1, ?)", (secret,))
            connection.execute("UPDATE answers SET turn = ?", (case["last"],))
        day = date.fromisoformat(case["day"])
        monkeypatch.setattr("deniable.client.delivery.utc_today", lambda day=day: day)
        client.transport.request = lambda *arguments: Reply(204)  # type: ignore[method-assign]
        outcome = client.answer(question, "kiwi")
        if case["outcome"] != "already":  # which has no mark here
            assert outcome.value == case["outcome"], case
        expected = case["last"] if case["turn"] is None else case["turn"]
        assert client.ledger.turn(question.digest) == expected


def test_devices_with_any_history_answer_each_turn_once() -> None:
    """Twenty histories, seeded; ``python -m benchmarks.turns`` lives ten thousand."""
    rng = random.Random(7)
    histories = [draw_history(rng) for _ in range(20)]
    assert sum(map(count_turns, histories)) > 20
    assert [line for some in simulate(histories) for line in some] == []


@pytest.mark.long("histories of broken devices")
@pytest.mark.parametrize("broken", ["forgets", "late", "greedy"])
def test_the_histories_find_what_is_broken(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that forgets its turns, takes others, or reserves too little is found out."""
    stands, take = Repeat.stands, Ledger.take

    def forget(ledger: Ledger, question: str, parcel: Parcel, turn: int) -> bool:
        with ledger._open() as connection:
            connection.execute("UPDATE answers SET turn = -1")
        return take(ledger, question, parcel, turn)

    if broken == "late":
        late = lambda self, phase, last, day: stands(self, phase - 1, last, day)  # noqa: E731
        monkeypatch.setattr(Repeat, "stands", late)
    elif broken == "greedy":
        monkeypatch.setattr(Question, "total_epsilon", property(lambda self: self.protocol.epsilon))
    else:
        ever = lambda self, phase, last, day: stands(self, phase, -1, day)  # noqa: E731
        monkeypatch.setattr(Repeat, "stands", ever)
        monkeypatch.setattr(Ledger, "take", forget)
    rng, found = random.Random(3), list[str]()
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        history = draw_history(rng)
        lived = live(history, folder)
        with monkeypatch.context() as sound:
            sound.setattr(Question, "total_epsilon", property(_lifetime))
            found += check(history, lived)
    assert found


def _lifetime(question: Question) -> float:
    assert question.repeat is not None
    return question.protocol.epsilon * question.repeat.times


@pytest.fixture(scope="module")
def browsers() -> Iterator[Browsers]:
    """Start Node once for all histories."""
    with closing(Browsers(components.node() or "node")) as found:
        yield found


@pytest.mark.node
@settings(max_examples=examples(100), deadline=None, derandomize=True,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(rng=st.randoms(use_true_random=False))
def test_browsers_with_any_history_answer_each_turn_once(browsers, rng) -> None:
    """Clocks, reloads, full storage, lost replies and forged documents make no turn twice."""
    history = draw_history(rng)
    assert check(history, browsers.live(history)) == []
