"""A demonstration: a question of each kind with three weeks of history, and people who go on.

People are simulated, and their answers known, so that estimates can be held against the truth;
their reports are drawn by the same code as anybody's, and those of today are delivered over HTTP,
one by one. A week ago more people began to drink tea. Of the sources of today one is poisoned. The
people are a process of their own, which ends with the collector's: run as a module, this file is
that process.
"""

import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from threading import Lock, Thread, Timer
from typing import NamedTuple
from urllib.request import urlopen

import numpy as np

from deniable import Choice, Choices, Discovery, Number, OpenLH, Question, Record, Text
from deniable.client import Courier, Outcome, Parcel, Transport
from deniable.collector.questions import Terms, opened
from deniable.collector.stores import Store, records
from deniable.protocols.subset import SubsetSelection
from deniable.rota import Repeat
from deniable.simulation import Census

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
"""How many days of history there are."""
CHANGED = 7
"""How many days ago people changed their habits."""
POISONED, CRAFTED, TARGET = "kiosk", 60, "Energy drink"
"""The source that sends made-up reports today, how many, and for which answer."""
_SOURCES = {"web": 380, POISONED: 330, "phone": 290}
"""How many reports each source sends on a day."""
_WORDS = {"hello": 40, "coffee": 25, "monday": 15, "sunshine": 12, "nothing": 8}
WEEKS = {
    "busy": 20, "good": 17, "long": 13, "quiet": 11, "tiring": 9, "calm": 8, "happy": 7,
    "hectic": 6, "fine": 5, "lovely": 4,
}  # fmt: skip
"""The words that nobody lists, with how many of 100 people say each."""
_SMALL = Discovery(4.0, payload=4, bucket_bits=8, salt="da7a" * 4)  # for short words, found soon
WEEK = Question("How was your week, in one word?", Text(discover="english"), _SMALL)
_OTHERS = 700
"""How many people answer each question of another kind on a day."""
_SENDERS = 4
_PATIENCE = 5.0


def shares(day: int) -> dict[str, float]:
    """Return the true share of each answer on a day; lately more people drink tea."""
    moved = 350 if day > records.today() - CHANGED else 0
    counts = {**COUNTS, "Coffee": COUNTS["Coffee"] - moved, "Tea": COUNTS["Tea"] + moved}
    return {label: count / PEOPLE for label, count in counts.items()}


def asked() -> records.Asked:
    """Return the first question; its terms hold the truth, which a real server never knows."""
    days = (records.today() - HISTORY, records.today() - CHANGED + 1)
    truth = tuple((day, tuple(shares(day).items())) for day in days)
    terms = Terms(minimum=10, public_results=True, collect=True, truth=truth)
    return opened(QUESTION, terms)


def fill(store: Store) -> None:
    """Ask the questions, and store the reports of three weeks."""
    rng = np.random.default_rng(7)
    store.ask(asked())
    census = Census.read()
    surnames, bearers = census.labels[:-1], census.bearers[:-1]  # without all other ones
    names = Question("What is your surname?", surnames, epsilon=3.0)
    words = Question("Which word comes to your mind first?", None, OpenLH(2.0))
    terms = Terms(minimum=50, public_results=True, collect=True)
    for question in (names, words):
        store.ask(opened(question, terms))
    spoken = list(_WORDS)
    for day in range(records.today() - HISTORY + 1, records.today() + 1):
        for source, people in _SOURCES.items():
            given = rng.choice(list(COUNTS), people, p=list(shares(day).values()))
            reports = QUESTION.privatize(given.tolist(), rng)
            if source == POISONED and day == records.today():
                reports = np.concatenate([reports, _crafted(rng)])
            _keep(store, QUESTION, day, source, reports)
        called = rng.choice(surnames, 6000, p=bearers / bearers.sum()).tolist()
        _keep(store, names, day, "web", names.privatize(called, rng))
        said = rng.choice(spoken, 200, p=[n / sum(_WORDS.values()) for n in _WORDS.values()])
        _keep(store, words, day, "web", words.privatize(said.tolist(), rng))
    for kind in _other_kinds(rng):
        store.ask(opened(kind.question, terms))
        for day in range(records.today() - HISTORY + 1, records.today() + 1):
            reports = kind.question.privatize(kind.given(_OTHERS), rng)
            cells = bytes(rng.integers(0, kind.cells, _OTHERS).tolist()) if kind.cells else b""
            _keep(store, kind.question, day, "web", reports, cells=cells)


class _Kind(NamedTuple):
    """A question of another kind, what people answer, and into how many groups they fall."""

    question: Question
    given: Callable[[int], Sequence[object]]
    cells: int = 0


def _other_kinds(rng: np.random.Generator) -> Iterator[_Kind]:
    """Yield questions for several choices, by groups and in rounds; a number; a record; a word."""
    devices = {"Phone": 0.9, "Laptop": 0.6, "Watch": 0.25, "Tablet": 0.2, "Reader": 0.1}
    used = Question(
        "Which of these do you use every day?",
        Choices(tuple(devices), at_most=3),
        epsilon=2.0,
        repeat=Repeat(records.write_day(records.today() - HISTORY + 1), every=7, rounds=26),
        segments={"age": ("under 30", "30 to 59", "60 and more")},
    )

    def some(n: int) -> list[object]:
        drawn = rng.random((n, len(devices))) < list(devices.values())
        return [
            [label for label, one in zip(devices, row, strict=True) if one][:3] for row in drawn
        ]

    yield _Kind(used, some, cells=3)
    minutes = Question(
        "How many minutes is your way to work?", Number(0, 120, 5, "min"), epsilon=2.0
    )
    yield _Kind(minutes, lambda n: (5 * rng.gamma(2.5, 2.4, n).clip(0, 23).round()).tolist())
    way = Choice(("On foot", "By bicycle", "By bus or train", "By car"))
    place = Choice(("City", "Suburb", "Countryside"))
    record = Record(Way=way, Place=place, tables="pairs")
    ways = Question("How do you get to work, and where from?", record, epsilon=3.0)
    table = np.array([[9, 8, 4, 2], [3, 5, 7, 10], [1, 2, 4, 15]]) / 70

    def both(n: int) -> list[object]:
        drawn = rng.choice(table.size, n, p=table.ravel())
        return [
            {"Way": way.labels[cell % 4], "Place": place.labels[cell // 4]}
            for cell in drawn.tolist()
        ]

    yield _Kind(ways, both)
    often = [count / 100 for count in WEEKS.values()]
    yield _Kind(WEEK, lambda n: rng.choice(list(WEEKS), n, p=often).tolist())


def _crafted(rng: np.random.Generator) -> np.typing.NDArray[np.generic]:
    place = list(COUNTS).index(TARGET)
    drawn = QUESTION.privatize([TARGET] * (4 * CRAFTED), rng)
    return drawn[_PROTOCOL.supports(drawn, place)][:CRAFTED]


def _keep(
    store: Store,
    question: Question,
    day: int,
    source: str,
    reports: np.typing.NDArray[np.generic],
    *,
    cells: bytes = b"",
) -> None:
    id, data = secrets.token_bytes(16), reports.tobytes()
    found = records.Submission(question.digest, day, id, data, len(reports), source, cells)
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
    """Begin a search by looking, and send until the parent is gone; interrupts are its business."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    look = Timer(_PATIENCE, _look, (f"{address}/results/{WEEK.digest}",))
    look.daemon = True
    look.start()
    send(address, answers(), RATE)


def _look(page: str) -> None:
    with suppress(OSError):  # the collector may be gone by then
        urlopen(page).close()


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # nothing is ever written, so that this is the end of the input
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
