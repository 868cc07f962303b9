"""A demonstration: simulated people who send real reports over HTTP, one by one.

Their answers are made up and known, so that estimates can be held against the truth; their reports
are drawn and delivered by the same code as anybody's. They are a process of their own, which ends
with the collector's: run as a module, this file is that process.
"""

import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from threading import Thread

from deniable.client import Courier, Outcome, Parcel, Transport
from deniable.collector.questions import Terms, write_terms
from deniable.collector.stores.records import Asked, State
from deniable.protocols.subset import SubsetSelection
from deniable.question import Question

COUNTS = {
    "Coffee": 1500,
    "Tea": 900,
    "Water": 700,
    "Orange juice": 450,
    "Milk": 350,
    "Nothing": 300,
    "Cocoa": 250,
    "Cola": 200,
    "Smoothie": 150,
    "Mate": 100,
    "Lemonade": 75,
    "Energy drink": 25,
}
"""How many people give each answer."""
PEOPLE = sum(COUNTS.values())
RATE = 150
"""How many reports are sent in a second."""
QUESTION = Question(
    "What do you drink first in the morning?", tuple(COUNTS), SubsetSelection(2.0, len(COUNTS))
)
TERMS = Terms(minimum=10, public_results=True, collect=True)
"""Numbers move with every ten reports, and anybody may see them and take part."""

_SENDERS = 4
_PATIENCE = 5.0


def asked() -> Asked:
    return Asked(QUESTION.digest, QUESTION.to_json(), State.OPEN, write_terms(TERMS))


@contextmanager
def temporary_store() -> Iterator[str]:
    with TemporaryDirectory(prefix="deniable-demo-") as directory:
        yield os.path.join(directory, "store.db")


@contextmanager
def people(address: str) -> Iterator[None]:
    """Let the people answer, in a process that never outlives this one."""
    # The process ends when its input does: at the end of the block, or when this process is killed.
    process = subprocess.Popen([sys.executable, "-m", __name__, address], stdin=subprocess.PIPE)
    try:
        yield
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def answers() -> list[str]:
    """Return the answer of each person, in an order that is the same every time."""
    found = [label for label, count in COUNTS.items() for _ in range(count)]
    random.Random(7).shuffle(found)
    return found


def send(address: str, given: list[str], rate: float) -> int:
    """Send one report for each answer, evenly in time; return how many the collector has."""
    start = time.monotonic()
    delivered = [0] * _SENDERS

    def work(sender: int) -> None:
        courier = Courier(Transport(address), QUESTION.digest)
        for person in range(sender, len(given), _SENDERS):
            time.sleep(max(0.0, start + person / rate - time.monotonic()))
            report = QUESTION.privatize([given[person]]).tobytes()
            delivery = courier.deliver(Parcel(secrets.token_bytes(16), report))
            if delivery.outcome is not Outcome.ANSWERED:
                return  # the collector is gone, or the question closed
            delivered[sender] += 1

    threads = [Thread(target=work, args=(sender,), daemon=True) for sender in range(_SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(delivered)


def main(address: str) -> None:
    """Send until everybody has answered or the parent is gone; interrupts are its business."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    send(address, answers(), RATE)


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # nothing is ever written, so that this is the end of the input
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
