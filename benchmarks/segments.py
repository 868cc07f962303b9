"""What a year by segment takes: the size of the store, and the time until all segments are read.

``python -m benchmarks.segments [--cells 64] [--days 365] [--answers 1000] [--reports 2000]`` prints
JSON. A question with that many segments has reports in each on every day. Its results by segment
are read as a collector reads them, worker process and publication included: first with the tallies
of all days, then with the sums that housekeeping keeps of sealed months. ``--epsilon`` chooses the
protocol; with ``--postgres`` a PostgreSQL of our own keeps the same rows.

A few tallies of real reports stand for all days, since what is in a tally changes neither.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from math import isqrt
from pathlib import Path

import numpy as np

from benchmarks.timing import Result, describe_machine
from deniable import Question
from deniable.collector import folding
from deniable.collector.breakdown import Division, group_parts
from deniable.collector.jobs import Wanted
from deniable.collector.metrics import Health
from deniable.collector.questions import Questions, Terms, write_terms
from deniable.collector.results import Results
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store
from deniable.collector.stores.dialect import Transaction
from deniable.collector.stores.records import Asked, Slice, State, today
from deniable.collector.stores.store import Store
from deniable.collector.worker import Readers, Worker, Writer
from tests.stores.server import running

_DISTINCT = 31
_INSERT = (
    "INSERT INTO tallies (question, day, source, segment, n, version, tally)"
    " VALUES ((SELECT no FROM questions), ?, 'anonymous', ?, ?, 1, ?)"
)


@dataclass(frozen=True)
class Sizes:
    """How much there is."""

    cells: int = 64
    days: int = 365
    answers: int = 1000
    reports: int = 2000
    epsilon: float = 1.0


def ask(sizes: Sizes) -> Question:
    """Return a question with two dimensions, as near to a square as they come."""
    rows = next(n for n in range(isqrt(sizes.cells), 0, -1) if sizes.cells % n == 0)
    dimensions = {"row": rows, "column": sizes.cells // rows}
    segments = {name: [f"{name} {i}" for i in range(n)] for name, n in dimensions.items() if n > 1}
    labels = [f"answer {i}" for i in range(sizes.answers)]
    return Question("year", labels, epsilon=sizes.epsilon, segments=segments)


def fill(url: str, question: Question, sizes: Sizes) -> None:
    """Write a tally for each cell and day, all of them sealed."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, sizes.answers, (_DISTINCT, sizes.reports))
    privatize = question.protocol.privatize
    tallies = [folding.pack(question.tally(privatize(some, rng))) for some in values]
    store, last = open_store(url), today() - 30
    terms = write_terms(Terms(minimum=1))
    store.ask(Asked(question.digest, question.to_json(), State.OPEN, terms))

    def write(transaction: Transaction) -> None:
        for day in range(last - sizes.days + 1, last + 1):
            for cell in range(sizes.cells):
                tally = tallies[(day + cell) % _DISTINCT]
                transaction.execute(_INSERT, (day, cell, sizes.reports, tally))

    store.write(write)
    store.seal(trust_clock=True)
    store.erase()
    store.close()


async def read(url: str, question: Question) -> tuple[Result, bytes]:
    """Read the year by segment as a collector without a cache, and return how long it took.

    Its worker has loaded its modules, as after any other page. Processor seconds are those of both
    processes, which a busy machine changes least.
    """
    settings, health = Settings(store=url), Health()
    writer = Writer(lambda: open_store(url), most=100, health=health)
    readers, worker = Readers(lambda: open_store(url), health), Worker(120)
    await writer.start()
    try:
        questions = Questions(settings, readers, writer, worker)
        results = Results(settings, readers, writer, worker)
        await worker.run(callable, group_parts)  # a function is sent by the name of its module
        known, wanted = await questions.find(question.digest), Wanted((Slice(question.digest),))
        used = await worker.run(time.process_time) + time.process_time()
        began = time.perf_counter()
        found = await results.divide(known, wanted, Division(next(iter(question.segments)).name))
        taken = time.perf_counter() - began
        used = await worker.run(time.process_time) + time.process_time() - used
        return {"seconds": round(taken, 3), "processor seconds": round(used, 3)}, found
    finally:
        await writer.close()
        readers.close()
        worker.close()


def sum_months(store: Store) -> int:
    """Keep the sums of all sealed months, and return how many."""
    documents = {asked.digest: asked.document for asked in store.all_asked()}
    kept = 0
    while ripe := store.ripe():
        sums = folding.sum_month(documents[ripe.question], ripe.tallies)
        if not sums or not store.keep_month(ripe, sums):
            break
        kept += len(sums)
    return kept


def measure(url: str, sizes: Sizes) -> Result:
    """Fill a store, and return its size and how long a year by segment takes."""
    question = ask(sizes)
    fill(url, question, sizes)
    from_days, first = asyncio.run(read(url, question))
    store = open_store(url)
    kept = sum_months(store)
    store.write(lambda transaction: transaction.execute("DELETE FROM published"))
    store.close()
    from_months, second = asyncio.run(read(url, question))
    if json.loads(first)["segments"] != json.loads(second)["segments"]:
        raise RuntimeError("expected the same results from the sums of months")
    again, _ = asyncio.run(read(url, question))
    store = open_store(url)
    size = store.measure().size
    store.close()
    return {
        **asdict(sizes), "protocol": question.protocol.name,
        "reports in all": sizes.cells * sizes.days * sizes.reports,
        "store in MB": round(size / 1e6, 1), "sums of months": kept,
        "from days": from_days, "from months": from_months, "as published": again,
    }  # fmt: skip


def main() -> None:
    """Measure, and print what came out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.segments", description=__doc__)
    for name, value in asdict(Sizes()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--postgres", action="store_true", help="keep it in PostgreSQL")
    given = vars(parser.parse_args())
    with ExitStack() as stack:
        if given.pop("postgres"):
            url = stack.enter_context(running()).url()
        else:
            url = str(Path(stack.enter_context(tempfile.TemporaryDirectory()), "store.db"))
        found = measure(url, Sizes(**given))
    print(json.dumps({"machine": describe_machine(), **found}, indent=1))


if __name__ == "__main__":
    main()
