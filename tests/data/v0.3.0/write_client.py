"""Write what the Python clients of version 0.3.0 kept: an outbox of ``deniable send`` and a ledger.

Runs with deniable 0.3.0 only (``python write_client.py DIRECTORY``), once. The collector is a
stand-in that answers as a script says, on a fixed day; the rest is the code of that version.
"""

import json
import sys
from collections.abc import Iterator
from datetime import date
from itertools import chain, repeat
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner
from write import QUESTIONS

import deniable
from deniable.cli import cli
from deniable.client import Client, Transport
from deniable.client.delivery import Lost, Reply, Unsent
from deniable.rota import phase_of

ADDRESS = "https://collector.example"
DAY = date(2026, 3, 1)
DONE, CLOSED = Reply(204), Reply(410, problem={"type": "urn:deniable:question-closed"})
SLOWER = Reply(429, problem={"type": "urn:deniable:too-many-requests"})
ENDS = {
    "set": [DONE],
    "large set": [CLOSED],
    "minutes": [Lost],
    "trip": [Unsent],
    "word": [SLOWER],
    "again": [Lost],
}
Said = Reply | type[OSError]


class Scripted:
    """A collector that answers submissions as it is told."""

    def __init__(self, script: Iterator[Said]) -> None:
        self.script = script

    def __call__(self, method: str, path: str, body: bytes | None = None) -> Reply:
        """Answer one request."""
        if method == "GET":
            listed = [{"digest": q.digest, "name": q.name, "state": "open"} for q, _ in QUESTIONS]
            texts = {q.digest: q.to_json() for q, _ in QUESTIONS}
            digest = path.removeprefix("/v1/questions").lstrip("/")
            return Reply(200, (texts.get(digest) or json.dumps({"questions": listed})).encode())
        said = next(self.script)
        if isinstance(said, type):
            raise said("scripted")
        return said


def write_outbox(path: Path) -> None:
    """Send the records of a file until the script ends it."""
    (question, given), = [found for found in QUESTIONS if found[0].name == "trip"]  # fmt: skip
    path.write_text("".join(json.dumps(given[i * i % 3]) + "\n" for i in range(40)))
    script = chain(repeat(DONE, 8), [CLOSED], repeat(Lost, 3), repeat(SLOWER, 2), repeat(Unsent))
    command = ["send", ADDRESS, str(path), "--question", question.digest]
    with patch.object(Transport, "request", Scripted(script)):
        result = CliRunner().invoke(cli, [*command, "--parallel", "1", "--attempts", "1"])
    print(path.name, result.exit_code, result.stderr)


def write_ledger(path: Path) -> None:
    """Answer one question of each kind, in each way in which an answer can stand."""
    path.unlink(missing_ok=True)
    for question, given in QUESTIONS:
        if question.name not in ENDS:
            continue
        client = Client(ADDRESS, path, budget=30.0)
        if question.repeat is not None:  # a device whose turn it is
            with client.ledger._open() as connection:
                phases = range(256)
                due = (DAY - date.fromisoformat(question.repeat.start)).days // 7
                secret = next(
                    bytes([i]) * 16 for i in phases
                    if phase_of(bytes([i]) * 16, question.digest, 4) == due % 4
                )  # fmt: skip
                connection.execute("INSERT INTO secret VALUES (1, ?)", (secret,))
        stated = {"platform": "linux", "arm": "B"} if question.segments else None
        with patch.object(Transport, "request", Scripted(iter(ENDS[question.name]))):
            print(question.name, client.answer(question, given[1], segment=stated))


def main(directory: Path) -> None:
    """Write an outbox, the answers it was made from, and a ledger."""
    assert deniable.__version__ == "0.3.0"
    with (
        patch("deniable.client.delivery.utc_today", lambda: DAY),
        patch("deniable.cli.send.utc_today", lambda: DAY),
    ):
        write_outbox(directory / "trips.jsonl")
        write_ledger(directory / "ledger.db")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
