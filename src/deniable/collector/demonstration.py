"""A demonstration: three questions with three weeks of history, and people who go on answering.

People are simulated, and their answers known, so that estimates can be held against the truth;
their reports are drawn by the same code as anybody's, and those of today are delivered over HTTP,
one by one. A week ago more people began to drink tea. Of the sources of today one is poisoned. The
people are a process of their own, which ends with the collector's: run as a module, this file is
that process.
"""

import csv
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from tempfile import TemporaryDirectory
from threading import Lock, Thread

import numpy as np
import numpy.typing as npt

from deniable.client import Courier, Outcome, Parcel, Transport
from deniable.collector.questions import Terms, write_terms
from deniable.collector.stores import records
from deniable.collector.stores.records import Asked, State, Submission
from deniable.collector.stores.store import Store
from deniable.protocols.hashing import OpenLH
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
RATE = 20
"""How many reports are sent in a second, as long as the demonstration runs."""
_PROTOCOL = SubsetSelection(2.0, len(COUNTS))
QUESTION = Question("What do you drink first in the morning?", tuple(COUNTS), _PROTOCOL)
HISTORY = 21
"""So many days of history there are."""
CHANGED = 7
"""So many days ago, people changed."""
POISONED, CRAFTED, TARGET = "kiosk", 60, "Energy drink"
"""The source that sends made-up reports today, how many, and for which answer."""
_SOURCES = {"web": 380, POISONED: 330, "phone": 290}
"""How many reports each source sends on a day."""
_NAMES = 1000
_WORDS = {"hello": 40, "coffee": 25, "monday": 15, "sunshine": 12, "nothing": 8}
_SENDERS = 4
_PATIENCE = 5.0


def shares(day: int) -> dict[str, float]:
    """Return the true share of each answer on a day; of late more people drink tea."""
    moved = 350 if day > records.today() - CHANGED else 0
    counts = {**COUNTS, "Coffee": COUNTS["Coffee"] - moved, "Tea": COUNTS["Tea"] + moved}
    return {label: count / PEOPLE for label, count in counts.items()}


def asked() -> Asked:
    """Return the first question; its terms hold the truth, which a real server never knows."""
    days = (records.today() - HISTORY, records.today() - CHANGED + 1)
    truth = tuple((day, tuple(shares(day).items())) for day in days)
    terms = Terms(minimum=10, public_results=True, collect=True, truth=truth)
    return Asked(QUESTION.digest, QUESTION.to_json(), State.OPEN, write_terms(terms))


def fill(store: Store) -> None:
    """Ask the three questions, and store the reports of three weeks."""
    rng = np.random.default_rng(7)
    store.ask(asked())
    surnames = _surnames()
    names = Question("What is your surname?", tuple(surnames), epsilon=3.0)
    words = Question("Which word comes to your mind first?", None, OpenLH(2.0))
    for question in (names, words):
        terms = write_terms(Terms(minimum=50))
        store.ask(Asked(question.digest, question.to_json(), State.OPEN, terms))
    spoken = list(_WORDS)
    for day in range(records.today() - HISTORY + 1, records.today() + 1):
        for source, people in _SOURCES.items():
            given = rng.choice(list(COUNTS), people, p=list(shares(day).values()))
            reports = QUESTION.privatize(given.tolist(), rng)
            if source == POISONED and day == records.today():
                reports = np.concatenate([reports, _crafted(rng)])
            _keep(store, QUESTION, day, source, reports)
        called = rng.choice(list(surnames), 6000, p=list(surnames.values())).tolist()
        _keep(store, names, day, "web", names.privatize(called, rng))
        said = rng.choice(spoken, 200, p=[n / sum(_WORDS.values()) for n in _WORDS.values()])
        _keep(store, words, day, "web", words.privatize(said.tolist(), rng))


def _surnames() -> dict[str, float]:
    """Return the surnames of the census with their shares among these."""
    with (files("deniable") / "data" / "surnames-us-census-2010-top1000.csv").open() as file:
        rows = list(csv.reader(file))[1 : _NAMES + 1]
    total = sum(int(row[1]) for row in rows)
    return {row[0].title(): int(row[1]) / total for row in rows}


def _crafted(rng: np.random.Generator) -> npt.NDArray[np.generic]:
    """Return made-up reports that all support one answer."""
    place = list(COUNTS).index(TARGET)
    drawn = QUESTION.privatize([TARGET] * (4 * CRAFTED), rng)
    return drawn[_PROTOCOL.supports(drawn, place)][:CRAFTED]


def _keep(
    store: Store, question: Question, day: int, source: str, reports: npt.NDArray[np.generic]
) -> None:
    found = Submission(
        question.digest, day, secrets.token_bytes(16), reports.tobytes(), len(reports), source
    )
    assert store.add([found]) == [records.Outcome.STORED], "the days of the history are open"


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


def answers() -> Iterator[str]:
    """Yield the answers of people, one after the other and without end, as they are today."""
    rng = random.Random(7)
    true = shares(records.today())
    while True:
        yield from rng.choices(list(true), list(true.values()), k=1000)


def send(address: str, given: Iterable[str], rate: float) -> int:
    """Send one report for each answer, evenly in time; return how many the collector has."""
    start, delivered = time.monotonic(), [0] * _SENDERS
    waiting, turn = enumerate(given), Lock()

    def work(sender: int) -> None:
        courier = Courier(Transport(address), QUESTION.digest)
        while True:
            with turn:
                person, answer = next(waiting, (-1, ""))
            if person < 0:
                return
            time.sleep(max(0.0, start + person / rate - time.monotonic()))
            report = QUESTION.privatize([answer]).tobytes()
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
    """Send until the parent is gone; interrupts are its business."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    send(address, answers(), RATE)


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # nothing is ever written, so that this is the end of the input
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
