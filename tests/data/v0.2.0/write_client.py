"""Write what the Python clients of version 0.2.0 kept: outboxes of ``deniable send`` and a ledger.

Runs with deniable 0.2.0 only (``python write_client.py DIRECTORY``), once. The collector is a
stand-in that answers as a script says, on a fixed day; the rest is the code of that version.
"""

import json
import sys
from collections.abc import Iterator
from datetime import date
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner

import deniable
from deniable.cli import cli
from deniable.client import Client, Courier, Ledger, Transport
from deniable.client.transport import Lost, Reply, Unsent

ADDRESS = "https://collector.example"
DAY = date(2026, 3, 1)
QUESTION = deniable.Question(
    "fruit", ("kiwi", "fig", "pear", "other"), deniable.DE(1.0, 4), "other"
)
DONE, CLOSED = Reply(204), Reply(410, problem={"type": "urn:deniable:question-closed"})
SLOWER = Reply(429, problem={"type": "urn:deniable:too-many-requests"})

Said = Reply | type[OSError]


class Scripted(Transport):
    """A collector that has some questions, and answers submissions as it is told."""

    questions: dict[str, str]
    script: Iterator[Said]

    def request(self, method: str, path: str, body: bytes | None = None) -> Reply:
        """Answer one request."""
        if method == "GET":
            listed = [{"digest": q, "name": "fruit", "state": "open"} for q in self.questions]
            digest = path.removeprefix("/v1/questions").lstrip("/")
            text = self.questions[digest] if digest else json.dumps({"questions": listed})
            return Reply(200, text.encode())
        said = next(self.script)
        if isinstance(said, type):
            raise said("scripted")
        return said


def collector(script: Iterator[Said], *questions: deniable.Question) -> type[Transport]:
    """Return the transport to a collector with these questions."""
    texts = {question.digest: question.to_json() for question in questions}
    return type("Stand-in", (Scripted,), {"questions": texts, "script": script})


COURIER = partial(Courier, attempts=1, today=lambda: DAY, sleep=lambda seconds: None)


def write_outbox(path: Path, answers: int, script: Iterator[Said], *options: str) -> None:
    """Send a file of answers until the script ends it."""
    held = ["kiwi", "fig", "pear", "plum"]
    path.write_text("".join(f"{held[i * i % 4]}\n" for i in range(answers)))
    with (
        patch("deniable.cli.send.Transport", collector(script, QUESTION)),
        patch(
            "deniable.cli.send.Courier",
            lambda transport, digest, attempts: COURIER(transport, digest),
        ),
        patch("deniable.cli.send.Couriers.today", lambda self: DAY.isoformat()),
    ):
        result = CliRunner().invoke(
            cli, ["send", ADDRESS, str(path), "--parallel", "1", "--attempts", "1", *options]
        )
    print(path.name, result.exit_code, result.stderr)


def write_ledger(path: Path) -> list[deniable.Question]:
    """Answer one question for each way in which an answer can stand."""
    ways: dict[str, list[Said]] = {
        "answered": [DONE],
        "refused": [CLOSED],
        "maybe counted": [Lost, CLOSED],
        "pending": [Unsent] * 2,
        "pending, told to wait": [SLOWER] * 2,
        "pending with doubt": [Lost] * 2,
    }
    labels = ("yes", "no")
    questions = [deniable.Question(name, labels, deniable.DE(1.0, 2)) for name in ways]
    for question, script in zip(questions, ways.values(), strict=True):
        client = Client(ADDRESS, path)
        client.transport = collector(iter(script), question)(ADDRESS)
        with patch("deniable.client.person.Courier", partial(COURIER, attempts=2)):
            print(question.name, client.answer(question.digest, "yes"))
    return questions


def main(directory: Path) -> None:
    """Write outboxes, the answers they were made from, a ledger, and the questions of both."""
    assert deniable.__version__ == "0.2.0"
    write_outbox(directory / "finished.txt", 40, chain([CLOSED], repeat(DONE)))
    some = chain(repeat(DONE, 8), [CLOSED], repeat(Lost, 3), repeat(SLOWER, 2), repeat(Unsent))
    write_outbox(directory / "interrupted.txt", 300, some)
    relayed = iter([DONE, Lost, Unsent])
    write_outbox(directory / "relayed.txt", 2500, relayed, "--token", "dn_stand-in")
    questions = [QUESTION, *write_ledger(directory / "ledger.db")]
    assert len(Ledger(directory / "ledger.db").pending()) == 3
    texts = {question.name: json.loads(question.to_json()) for question in questions}
    (directory / "client-questions.json").write_text(json.dumps(texts, indent=1) + "\n")


main(Path(sys.argv[1]))
