"""``python -m benchmarks.turns [--devices 10000] [--browsers 1000] [--seed 1]``.

Histories of devices that are asked again: clocks that jump both ways, restarts, lost replies, full
disks, servers that answer anything, and documents that were altered or ask for too much. Each is
lived by the Python client with its ledger on a disk, and by the built browser client in Node. A
naive model says which turns a device takes; ``check`` names what differs from it, and whatever

- answers a turn twice, or sends two reports under two ids for one turn,
- spends more than ``times`` times epsilon on a question, or more than the budget in all,
- misses a turn although the device was on in its round, by its own clock.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from benchmarks.timing import ROOT
from deniable import DE, DeniableError, Question
from deniable.client import Client, NoLedger
from deniable.client.delivery import Lost, Reply, Transport, Unsent
from deniable.policy import BUDGET, CEILING, DUST
from deniable.rota import Repeat, phase_of

History = dict[str, Any]
Lived = list[dict[str, Any]]

EVENTS: tuple[object, ...] = (
    204, 204, 204, 204, "offline", "lost", 503, 500, 429, 404, 409, 410, 400, 302,
    {"status": 422, "first": "2026-03-03", "last": "2026-03-11"},
    {"status": 422, "first": "0001-01-01", "last": "9999-12-31"},
    {"status": 422, "first": "soon", "last": 7},
)  # fmt: skip
"""What may come of a request, from a sound collector or from anybody else."""
_LABELS = ("kiwi", "fig", "plum")


def draw_history(rng: random.Random, steps: int = 24) -> History:
    """Draw the questions that a device meets, and what happens to it from call to call."""
    questions = []
    for number in range(rng.randint(1, 4)):
        repeat = Repeat(
            start=str(date(2026, 3, 1) + timedelta(days=rng.randint(-20, 5))),
            every=rng.choice((2, 7, 7, 30)),
            rounds=rng.choice((2, 2, 3, 5)),
            times=rng.choice((1, 1, 2, 3, 12)),
        )
        protocol = DE(rng.choice((0.25, 0.5, 1.0, 2.0)), 3)
        question = Question(f"fruit {number}", _LABELS, protocol, repeat=repeat)
        text = question.to_json()
        forged = text.replace(f'"start": "{repeat.start}"', '"start": "2026-03-01"')
        again = f'"times": {repeat.times}'
        forged = forged.replace(again, f'"times": {repeat.times + 1}')
        questions.append({"text": text, "digest": question.digest, "forged": forged})
    day, lived = date(2026, 3, 1), []
    for _ in range(rng.randint(steps // 2, steps)):
        day += timedelta(days=rng.choice((0, 0, 1, 1, 1, 2, 7, -1, -5)))
        if rng.random() < 0.15:  # a clock that is set anew
            day = date(2026, 3, 1) + timedelta(days=rng.randint(-20, 50))
        lived.append({
            "day": day.isoformat(),
            "question": rng.randrange(len(questions)),
            "answer": rng.choice((*_LABELS, None)) if rng.random() < 0.3 else rng.choice(_LABELS),
            "document": rng.choice(("shipped", "shipped", "served", "forged")),
            "event": rng.choice(EVENTS),
            "restart": rng.random() < 0.3,
            "storage": rng.random() < 0.95,
        })  # fmt: skip
    budget = rng.choice((BUDGET, BUDGET, 2.0, 3.5))
    return {"questions": questions, "secret": rng.randbytes(32).hex(), "steps": lived,
            "budget": budget}  # fmt: skip


class Model:
    """Which turns a device takes, by the definition and by nothing else."""

    def __init__(self, history: History) -> None:
        self.budget = history["budget"]
        self.questions = [Question.from_json(each["text"]) for each in history["questions"]]
        secret = bytes.fromhex(history["secret"])
        self.last: list[int | None] = [None] * len(self.questions)
        self.rounds: list[dict[int, int]] = []
        for question in self.questions:
            again = self.repeat(question)
            phase = phase_of(secret, question.digest, again.rounds)
            self.rounds.append({c * again.rounds + phase: c for c in range(again.times)})

    @staticmethod
    def repeat(question: Question) -> Repeat:
        """Return the rounds of a question, which all of these have."""
        if question.repeat is None:
            raise AssertionError("all of these questions are asked again")
        return question.repeat

    @property
    def spent(self) -> float:
        """What is reserved for the questions that the device has met."""
        pairs = zip(self.questions, self.last, strict=True)
        return sum(question.total_epsilon for question, last in pairs if last is not None)

    def call(self, step: dict[str, Any]) -> bool:
        """Tell whether the device takes a turn at a call."""
        i = step["question"]
        question = self.questions[i]
        if step["answer"] is None or not step["storage"] or step["document"] == "forged":
            return False
        if question.total_epsilon > CEILING:
            return False
        if self.last[i] is None:
            if self.spent + question.total_epsilon > self.budget + DUST:
                return False
            self.last[i] = -1
        days = (date.fromisoformat(step["day"]) - self.repeat(question).first_day).days
        turn = self.rounds[i].get(days // self.repeat(question).every)
        last = self.last[i]
        if turn is None or last is None or turn <= last:
            return False
        self.last[i] = turn
        return True


def check(history: History, lived: Lived) -> list[str]:
    """Return what is wrong with what a device did."""
    model, wrong = Model(history), []
    digests = [question.digest for question in model.questions]
    ids: dict[tuple[str, int], set[str]] = {}
    bodies: dict[str, str] = {}
    for number, (step, found) in enumerate(zip(history["steps"], lived, strict=True)):
        due = model.call(step)
        if found["last"] != model.last:
            wrong.append(f"step {number}: the last turns are {found['last']}, not {model.last}")
        if abs(found["spent"] - model.spent) > DUST or model.spent > model.budget + DUST:
            wrong.append(f"step {number}: {found['spent']} is spent, not {model.spent}")
        if due and step["event"] == 204 and (found["outcome"], len(found["sent"])) != (
            "answered", 1,
        ):  # fmt: skip
            wrong.append(f"step {number}: a turn was not answered: {found}")
        for digest, body in found["sent"]:
            last = model.last[digests.index(digest)]
            ids.setdefault((digest, -1 if last is None else last), set()).add(body[:32])
            if bodies.setdefault(body[:32], body) != body:
                wrong.append(f"step {number}: one id with two reports")
    for (digest, turn), some in ids.items():
        if turn < 0 or len(some) > 1:
            wrong.append(f"turn {turn} of {digest[:8]} was answered {len(some)} times")
    for question in model.questions:
        sent = {body for (digest, _), some in ids.items() for body in some
                if digest == question.digest}  # fmt: skip
        if len(sent) > model.repeat(question).times:
            wrong.append(f"{question.digest[:8]} has {len(sent)} reports")
    return wrong


class Server(Transport):
    """Whoever answers in the place of a collector, as a step says."""

    def __init__(self, history: History) -> None:
        super().__init__("https://collector.example")
        self.documents = {each["digest"]: each for each in history["questions"]}
        self.step: dict[str, Any] = {}
        self.sent: list[tuple[str, str]] = []

    def request(self, method: str, path: str, body: bytes | None = None, *, most: int = 0) -> Reply:
        """Note what is sent, and reply as the step says."""
        digest, event = path.split("/")[3], self.step["event"]
        if method == "GET":
            which = "forged" if self.step["document"] == "forged" else "text"
            return Reply(200, self.documents[digest][which].encode())
        if event == "offline":
            raise Unsent("offline")
        self.sent.append((digest, (body or b"").hex()))
        if event == "lost":
            raise Lost("no answer")
        if isinstance(event, dict):
            return Reply(event["status"], problem=event)
        return Reply(event)


def live(history: History, folder: Path) -> Lived:
    """Let the Python client live a history, with its ledger in a folder."""
    path, server, lived = folder / "ledger.db", Server(history), []
    client = Client(server.address, path, budget=history["budget"])
    with client.ledger._open() as connection:
        secret = bytes.fromhex(history["secret"])
        connection.execute("INSERT INTO secret VALUES (1, ?)", (secret,))
    client.transport = server
    for step in history["steps"]:
        if step["restart"]:
            client = Client(server.address, path, budget=history["budget"])
            client.transport = server
        server.step, server.sent = step, []
        today = date.fromisoformat(step["day"])
        clock = patch("deniable.client.delivery.utc_today", lambda today=today: today)
        with clock, _storage(client, step["storage"]):
            outcome = _call(client, history, step)
        ledger, digests = client.ledger, [each["digest"] for each in history["questions"]]
        lived.append({"outcome": outcome, "sent": server.sent, "spent": ledger.spent(),
                      "last": [ledger.turn(digest) for digest in digests]})  # fmt: skip
    return lived


def _call(client: Client, history: History, step: dict[str, Any]) -> str:
    asked = history["questions"][step["question"]]
    try:
        if step["answer"] is None:
            return str(client.flush())
        if step["document"] == "shipped":
            question: str | Question = Question.from_json(asked["text"])
        else:
            question = asked["digest"]
        return client.answer(question, step["answer"]).value
    except DeniableError:
        return "refused to read"


@contextmanager
def _storage(client: Client, works: bool) -> Iterator[None]:
    if works:
        yield
        return

    def full() -> None:
        raise NoLedger("the disk is full")

    with patch.object(client.ledger, "_open", full):
        yield


class Browsers:
    """The built browser client in Node, which lives one history after the other."""

    def __init__(self, node: str = "node") -> None:
        script = ROOT / "clients" / "js" / "test" / "histories.mjs"
        self._process = subprocess.Popen(
            [node, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def live(self, history: History) -> Lived:
        """Let a browser live a history."""
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("Node has no pipes")
        self._process.stdin.write(json.dumps(history) + "\n")
        self._process.stdin.flush()
        found: Lived = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        """End Node, which has nothing left to read."""
        self._process.communicate(timeout=30)


def count_turns(history: History) -> int:
    """Return how many turns a device takes in a history, by the model."""
    model = Model(history)
    return sum(model.call(step) for step in history["steps"])


def simulate(histories: Iterable[History]) -> Iterator[list[str]]:
    """Yield what is wrong with each history of the Python client."""
    with TemporaryDirectory() as folder:
        for number, history in enumerate(histories):
            place = Path(folder) / str(number)
            place.mkdir()
            yield check(history, live(history, place))
            for path in place.iterdir():
                path.unlink()


def main() -> None:
    """Live so many histories, and print what is wrong with them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turns", description=__doc__)
    parser.add_argument("--devices", type=int, default=10_000)
    parser.add_argument("--browsers", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--node", default="node", help="the program that runs JavaScript")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    histories = [draw_history(rng) for _ in range(options.devices)]
    _say("devices", histories, simulate(histories))
    with closing(Browsers(options.node)) as browsers:
        histories = [draw_history(rng) for _ in range(options.browsers)]
        _say("browsers", histories, (check(each, browsers.live(each)) for each in histories))


def _say(who: str, histories: list[History], found: Iterable[list[str]]) -> None:
    wrong = [line for some in found for line in some]
    turns = sum(map(count_turns, histories))
    print(f"{len(histories):,} {who}, {turns:,} turns, {len(wrong)} faults", *wrong[:20], sep="\n")


if __name__ == "__main__":
    main()
