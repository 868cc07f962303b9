"""One trial of discovery: people are drawn, answer once, and their tally is searched."""

import resource
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.discovery.sets import Texts, texts
from deniable import Discoveries, Discovery, Question, Tally, Text
from deniable.advice.discovery import power
from deniable.mechanism import Reports

Rng = np.random.Generator
Change = Callable[[Question, Reports, Rng], Reports]


class Trial(NamedTuple):
    """What was asked, what people hold, and what came of it."""

    name: str
    question: Question
    tally: Tally
    held: dict[str, int]
    sizes: npt.NDArray[np.int64]
    found: Discoveries[Question]
    seconds: float
    processor: float

    @property
    def protocol(self) -> Discovery:
        """The protocol of the question."""
        assert isinstance(self.question.protocol, Discovery)
        return self.question.protocol

    @property
    def false(self) -> list[str]:
        """The sure texts that nobody gave."""
        return [text for text in self.found.sure if not self.held.get(text)]

    @property
    def order(self) -> list[str]:
        """All texts that people gave, the most frequent first."""
        return sorted(self.held, key=lambda text: -self.held[text])

    def recall(self, k: int) -> float:
        """Return the share of the k most frequent texts among the first k of the list."""
        return len(set(self.found.texts[:k]) & set(self.order[:k])) / k

    def promised(self) -> npt.NDArray[np.float64]:
        """Return the chance of each text to be sure, by the plan's formula."""
        shares = np.array(list(self.held.values())) / max(1, self.tally.n)
        tested = max(1, self.found.found.tested)
        return power(self.protocol, self.tally.n, self.sizes, shares, tested=tested)

    def covered(self) -> tuple[int, int]:
        """Return how many intervals of sure texts that people gave hold the truth, and of all."""
        rows = [row for row in self.found if row.sure and self.held.get(row.label)]
        return sum(row.lower <= self.held[row.label] <= row.upper for row in rows), len(rows)

    def row(self) -> dict[str, object]:
        """Return the figures of the trial."""
        chances = self.promised()
        sure = set(self.found.sure)
        got = np.array([text in sure for text in self.held])
        covered, intervals = self.covered()
        return {
            "data": self.name, "epsilon": self.protocol.epsilon, "n": self.tally.n,
            "sure": len(sure), "expected": round(float(chances.sum()), 1),
            "spread": round(float(np.sqrt((chances * (1 - chances)).sum())), 1),
            "promised": int((chances >= 0.9).sum()), "kept": int((got & (chances >= 0.9)).sum()),
            "false": len(self.false), "tested": self.found.found.tested,
            "listed": len(self.found),
            "listed false": sum(not self.held.get(text) for text in self.found.texts),
            "recall": [round(self.recall(k), 3) for k in (16, 32, 64)],
            "covered": covered, "intervals": intervals, "clipped": self.found.found.clipped,
            "complete": self.found.complete, "unfinished": len(self.found.unfinished),
            "seconds": round(self.seconds, 1), "processor": round(self.processor, 1),
            "MB": memory(),
        }  # fmt: skip


def memory() -> int:
    """Return the most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def run(  # noqa: PLR0913 - one for each part of a trial
    name: str,
    epsilon: float,
    seed: int,
    *,
    n: int = 10**6,
    change: Change | None = None,
    among: Texts | None = None,
) -> Trial:
    """Run a trial; ``change`` may alter the reports before they are added up."""
    rng = np.random.default_rng([seed, round(1000 * epsilon), *name.encode()])
    chosen = among or texts(name, rng)
    counts = rng.multinomial(n, chosen.shares)
    protocol = Discovery(epsilon, chosen.payload, salt=rng.bytes(8).hex())
    question = Question(name, Text(discover=chosen.code), protocol)
    values = question.values(chosen.texts)
    reports = protocol.privatize(np.repeat(values, counts, axis=0), rng)
    if change is not None:
        reports = change(question, reports, rng)
    tally = question.tally(reports)
    start, before = time.perf_counter(), time.process_time()
    found = question.discover(tally)
    seconds, processor = time.perf_counter() - start, time.process_time() - before
    held: dict[str, int] = {}
    for text, count in zip(chosen.texts, counts.tolist(), strict=True):
        held[text] = held.get(text, 0) + count
    sizes = question.values(list(held))[:, 2].astype(np.int64)
    return Trial(name, question, tally, held, sizes, found, seconds, processor)
