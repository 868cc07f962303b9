"""``python -m benchmarks.people [--collections 200] [--people 1000] [--days 30]``.

People who answer again, through a running collector: each has an answer, a permanent response to
it, and sends a report of that on every day. How often do the 95 % intervals of all days together
cover the true counts, on average over the answers? They are read in four ways:

API    ``GET /v1/questions/{digest}/estimates``
page   the question's page, as it is printed there
CLI    ``deniable pull``, then ``deniable estimate --rounds``
Spark  the functions that executors run on the same reports, then ``question.estimate``

The collector is a real server with a SQLite file; only the days are made up, all within a window
that is long enough. It needs the extra ``server``, and for the last way ``arrow``.
"""

from __future__ import annotations

import argparse
import html
import http.client
import json
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
from click.testing import CliRunner, Result

from deniable import BasicRAPPOR, Question, Tally
from deniable.cli import cli
from deniable.collector.access import TOKEN, Role, create
from deniable.collector.app import create_app
from deniable.collector.server import Server
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store

Floats = npt.NDArray[np.float64]
Ends = tuple[list[float], list[float]]

LABELS = ("a", "b", "c", "d", "e")
SHARES = (0.5, 0.25, 0.15, 0.08, 0.02)
WAYS = ("API", "page", "CLI", "Spark")
_ROW = re.compile(r'<th[^>]*scope="row"[^>]*>(.*?)</th>(.*?)</tr>', re.DOTALL)
_INTERVAL = re.compile(r"(-?[0-9,]+) to (-?[0-9,]+)")


@dataclass(frozen=True)
class Sizes:
    """How much is simulated."""

    collections: int = 200
    people: int = 1000
    days: int = 30
    seed: int = 19


@dataclass
class Crowd:
    """People with an answer each, and what they have sent."""

    question: Question
    values: npt.NDArray[np.uint64]
    words: npt.NDArray[np.uint64]
    """The random words of their permanent responses."""
    sent: list[bytes] = field(default_factory=list)

    @staticmethod
    def draw(name: str, people: int, rng: np.random.Generator) -> Crowd:
        """Return people whose answers and permanent responses are drawn."""
        protocol = BasicRAPPOR(len(LABELS), f=0.5, p=0.75, q=0.25)
        values = rng.choice(len(LABELS), people, p=SHARES).astype(np.uint64)
        return Crowd(Question(name, LABELS, protocol), values, _words(people, rng))

    def answer(self, rng: np.random.Generator) -> bytes:
        """Return one report of each, as devices make them from the words of one day."""
        words = np.hstack([self.words, _words(len(self.values), rng)])
        self.sent.append(self.question.protocol._perturb(self.values, words).tobytes())
        return self.sent[-1]

    @property
    def truth(self) -> npt.NDArray[np.int64]:
        """How many people hold each answer."""
        return np.bincount(self.values.astype(np.int64), minlength=len(LABELS))


def _words(people: int, rng: np.random.Generator) -> npt.NDArray[np.uint64]:
    return rng.integers(0, 1 << 64, (people, len(LABELS)), dtype=np.uint64)


@dataclass(frozen=True)
class Collector:
    """A running collector, asked over HTTP."""

    address: str
    tokens: dict[Role, str]

    def request(self, method: str, path: str, role: Role, body: bytes | None = None) -> bytes:
        """Send a request, and return what it is answered with."""
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=60)
        try:
            headers = {"Authorization": f"Bearer {self.tokens[role]}"}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            if answer.status >= 300:
                raise RuntimeError(f"{method} {path}: {answer.status} {data[:300]!r}")
            return data
        finally:
            connection.close()


@contextmanager
def running(folder: Path, days: int) -> Iterator[Collector]:
    """Run a collector that takes reports of so many days back."""
    settings = Settings(store=str(folder / "store.db"), port=0, minimum=10, window=days + 2)
    store = open_store(settings.store, window=settings.window)
    roles = (Role.VIEWER, Role.RELAY, Role.ADMIN)
    tokens = {role: create(store, TOKEN, role, name=role.value) or "" for role in roles}
    store.close()
    started, found = Event(), list[str]()
    server = Server(
        create_app(settings), settings, lambda address: (found.append(address), started.set())
    )
    thread = Thread(target=server.run)
    thread.start()
    try:
        if not started.wait(60):
            raise RuntimeError("the collector did not start")
        yield Collector(found[0], tokens)
    finally:
        server.stop()
        thread.join(60)


def collect(collector: Collector, crowds: Sequence[Crowd], days: int, seed: int) -> None:
    """Let everybody answer on each day."""
    rng, today = np.random.default_rng([seed, 1]), datetime.now(UTC).date()
    for crowd in crowds:
        body = crowd.question.to_json().encode()
        collector.request("POST", "/v1/questions", Role.ADMIN, body)
    for back in range(days, 0, -1):
        day = today - timedelta(days=back - 1)
        for crowd in crowds:
            path = f"/v1/questions/{crowd.question.digest}/reports?day={day}"
            body = secrets.token_bytes(16) + crowd.answer(rng)
            collector.request("POST", path, Role.RELAY, body)


def by_api(collector: Collector, crowd: Crowd, folder: Path) -> Ends:
    """Return the intervals as programs read them."""
    path = f"/v1/questions/{crowd.question.digest}/estimates"
    return _ends(json.loads(collector.request("GET", path, Role.VIEWER)))


def by_page(collector: Collector, crowd: Crowd, folder: Path) -> Ends:
    """Return the intervals as the page prints them, in whole people."""
    path = f"/questions/{crowd.question.digest}?fragment"
    text = collector.request("GET", path, Role.VIEWER).decode()
    found = {
        html.unescape(re.sub("<[^>]*>", "", label)).strip(): interval.groups()
        for label, cells in _ROW.findall(text.partition('id="numbers"')[2])
        if (interval := _INTERVAL.search(re.sub("<[^>]*>", " ", cells).replace("−", "-")))
    }
    ends = [[float(end.replace(",", "")) for end in found[label]] for label in LABELS]
    return [low for low, _ in ends], [high for _, high in ends]


def by_command(collector: Collector, crowd: Crowd, folder: Path) -> Ends:
    """Return the intervals of the command line, from a tally that it fetched."""
    question, tally = folder / "question.json", folder / "tally.bin"
    question.write_text(crowd.question.to_json())
    tally.unlink(missing_ok=True)
    token = {"DENIABLE_TOKEN": collector.tokens[Role.VIEWER]}
    pulled = _run(["pull", collector.address, crowd.question.digest, "-o", str(tally)], token)
    rounds = re.search(r"--rounds (\d+)", pulled.stderr)
    if rounds is None:
        raise RuntimeError(pulled.stderr)
    return _ends(json.loads(_run(
        ["estimate", str(question), str(tally), "--rounds", rounds[1], "--json"], {}
    ).stdout))  # fmt: skip


def _run(words: list[str], environment: dict[str, str]) -> Result:
    found = CliRunner(env=environment).invoke(cli, words)
    if found.exit_code:
        raise RuntimeError(found.output)
    return found


def by_spark(collector: Collector, crowd: Crowd, folder: Path) -> Ends:
    """Return the intervals from what executors make of each day's reports."""
    import pyarrow as pa  # noqa: PLC0415 - only this way needs it

    from deniable.spark.partitions import (  # noqa: PLC0415 - the same
        REPORT,
        SUM,
        merged_tallies,
        partial_tallies,
    )

    size, sums = crowd.question.protocol.report_dtype.itemsize, []
    for reports in crowd.sent:
        rows = [reports[i : i + size] for i in range(0, len(reports), size)]
        batch = pa.record_batch({REPORT: pa.array(rows, pa.binary())})
        sums += partial_tallies([batch], crowd.question, REPORT, strict=True)
    (total,) = merged_tallies(sums, crowd.question, SUM, strict=True)
    tally = Tally.from_bytes(total.column(SUM)[0].as_py())
    lower, upper = crowd.question.estimate(tally, rounds=len(crowd.sent)).interval()
    return lower.tolist(), upper.tolist()


def _ends(document: dict[str, object]) -> Ends:
    rows = {row["label"]: row for row in document["estimates"]}  # type: ignore[attr-defined]
    return [rows[x]["lower"] for x in LABELS], [rows[x]["upper"] for x in LABELS]


def measure(sizes: Sizes, ways: Sequence[str] = WAYS) -> dict[str, Floats]:
    """Return the share of collections in which each answer is covered, in each way."""
    rng = np.random.default_rng(sizes.seed)
    crowds = [Crowd.draw(f"question {i}", sizes.people, rng) for i in range(sizes.collections)]
    readers = dict(zip(WAYS, (by_api, by_page, by_command, by_spark), strict=True))
    covered = {way: np.zeros(len(LABELS)) for way in ways}
    with TemporaryDirectory() as name, running(Path(name), sizes.days) as collector:
        collect(collector, crowds, sizes.days, sizes.seed)
        for crowd in crowds:
            for way in ways:
                ends = readers[way](collector, crowd, Path(name))
                lower, upper = (np.array(each) for each in ends)
                covered[way] += (lower <= crowd.truth) & (crowd.truth <= upper)
    return {way: found / sizes.collections for way, found in covered.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, and print how often each answer is covered."""
    usual = Sizes()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.people",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name in ("collections", "people", "days", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(usual, name))
    sizes = Sizes(**vars(parser.parse_args(arguments)))
    print(f"{sizes}: coverage of 95 % intervals, promised: 0.94 on average")
    for way, found in measure(sizes).items():
        each = ", ".join(f"{label} {share:.3f}" for label, share in zip(LABELS, found, strict=True))
        print(f"{way:>6}: {found.mean():.4f} ({each})")


if __name__ == "__main__":
    main()
