"""How the collector is: its health, counters since the start, and the text format of Prometheus.

Health is whether submissions are being stored, judged by the last write; each change is one log
line. A store that fails for a while is tried again. A corrupt one stops the collector, whoever met
it first. All of health happens on the event loop.

No address and no time of day is counted. Pages show what came for one question; what programs poll
has no label by question.
"""

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import isnan
from time import monotonic

from deniable.collector import log
from deniable.collector.problems import PROBLEMS, UnknownQuestion, find_problem
from deniable.collector.stores import records

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of histograms, in seconds."""


class Histogram:
    """How many times fell below each bound, and their sum."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._sum += seconds

    def samples(self) -> Iterator[tuple[str, float]]:
        total = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self._counts, strict=True):
            total += count
            yield f'_bucket{{le="{bound}"}}', total
        yield "_sum", self._sum
        yield "_count", total


Value = float | Histogram | Mapping[str, float]
Metric = tuple[str, str, Value]
"""A name with the label of its series, if there are several, what it means, and its value."""


def exposition(metrics: Sequence[Metric]) -> str:
    """Return the text that Prometheus reads; what ends in _total is a counter."""
    return "".join(f"{line}\n" for metric in metrics for line in _lines(*metric))


def _lines(named: str, help: str, value: Value) -> Iterator[str]:
    name, _, label = named.rstrip("}").partition("{")
    kind = "counter" if name.endswith("_total") else "gauge"
    samples: Iterable[tuple[str, float]]
    if isinstance(value, Histogram):
        kind, samples = "histogram", value.samples()
    elif isinstance(value, Mapping):
        samples = [(f'{{{label}="{key}"}}', number) for key, number in sorted(value.items())]
    else:
        samples = [(f"{{{label}}}" if label else "", value)]
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"
    for end, number in samples:  # whole numbers without a point
        shown = "NaN" if isnan(number) else int(number) if number == int(number) else repr(number)
        yield f"{name}{end} {shown}"


ACCEPTED, REPEATED = "accepted", "repeated"
_MOST = 4096


class Counters:
    """How many submissions were accepted, repeated, and refused for which reason."""

    def __init__(self) -> None:
        self.accepted = 0
        self.repeated = 0
        self.reports = 0
        self.refused: Counter[str] = Counter()
        self.questions: dict[str, Counter[tuple[int, str]]] = {}
        """Of each question what became of submissions, by the day on which they came."""
        self.folded = 0
        self.failures = 0
        self.submissions = Histogram()
        """How long submissions took that were stored."""

    def accept(self, digest: str, reports: int) -> None:
        self.accepted += 1
        self.reports += reports
        self._count(digest, ACCEPTED)

    def repeat(self, digest: str) -> None:
        self.repeated += 1
        self._count(digest, REPEATED)

    def refuse(self, error: BaseException, digest: str) -> None:
        """Count a refusal under the type of its problem, and for its question if there is one."""
        reason = find_problem(error).type
        self.refused[reason] += 1
        if not isinstance(error, UnknownQuestion):
            self._count(digest, reason)

    def _count(self, digest: str, what: str) -> None:
        """Count something for a question, unless strangers could fill the memory so."""
        if digest in self.questions or len(self.questions) < _MOST:
            self.questions.setdefault(digest, Counter())[records.today(), what] += 1

    def document(self) -> dict[str, object]:
        return {
            "accepted": self.accepted,
            "repeated": self.repeated,
            "reports": self.reports,
            "refused": dict(sorted(self.refused.items())),
            "folded": self.folded,
            "failures": self.failures,
        }

    def metrics(self) -> list[Metric]:
        """Return all counters for Prometheus, every series from the start."""
        refused = {problem.type: self.refused[problem.type] for problem in PROBLEMS.values()}
        return [
            ("deniable_submissions_accepted_total", "Submissions that were stored.", self.accepted),
            ("deniable_submissions_repeated_total", "Submissions already stored.", self.repeated),
            ("deniable_submissions_refused_total{reason}", "Refusals by reason.", refused),
            ("deniable_reports_total", "Reports in stored submissions.", self.reports),
            ("deniable_reports_folded_total", "Reports that were added to tallies.", self.folded),
            ("deniable_failures_total", "Requests that failed inside.", self.failures),
            ("deniable_submission_seconds", "Time from the head of a submission to its answer.",
             self.submissions),
        ]  # fmt: skip


Probe = Callable[[], Awaitable[None]]
"""Writes something meaningless; whoever runs it reports a failure here."""
_FRESH = 2.0
"""For how many seconds a write is evidence that the next one will succeed."""
_PATIENCE = 3.0
"""How many seconds a write may take before the store counts as not answering."""
_CALM = 1.5
"""How many seconds must pass without a failure before the trouble is over: a disk that is almost
full takes some writes and not others."""


class Health:
    """What is known about the store: all well, trouble that may pass, or broken for good."""

    def __init__(self) -> None:
        self.errors: Counter[str] = Counter(dict.fromkeys(records.KINDS, 0))
        self.trouble: records.StoreError | None = None
        """Why nothing is stored at the moment."""
        self.broken: records.StoreBroken | None = None
        """Why the collector must stop, if it must."""
        self.leaving = False
        """Whether the collector was asked to shut down."""
        self._wrote = self._failed = self._since = -_CALM
        self._probe: asyncio.Task[None] | None = None

    def wrote(self) -> None:
        self._wrote = now = monotonic()
        if self.trouble is not None and not self.broken and now - self._failed >= _CALM:
            self.trouble = None
            log.warning("reports are stored again, after %.0f seconds", now - self._since)

    def failed(self, error: Exception) -> None:
        if not isinstance(error, records.StoreError) or self.broken:
            return
        self.errors[error.kind] += 1
        if isinstance(error, records.StoreBroken):
            self.trouble = self.broken = error
            log.critical("the collector stops: %s: %s", error.reason, error)
            return
        self._failed = monotonic()
        if self.trouble is None:
            self._since = self._failed
            log.error("no reports are stored: %s: %s", error.reason, error)
        self.trouble = error

    def met(self, error: Exception) -> None:
        """Note an error of a reader: only corruption says anything about storing."""
        if isinstance(error, records.StoreBroken):
            self.failed(error)
        elif isinstance(error, records.StoreError):
            self.errors[error.kind] += 1

    async def check(self, probe: Probe) -> records.StoreError | None:
        """Return what is wrong; if nothing was written lately, try to write."""
        if not self.broken and monotonic() - self._wrote > _FRESH:
            if self._probe is None or self._probe.done():
                self._probe = asyncio.create_task(self._try(probe))
            done, _ = await asyncio.wait({self._probe}, timeout=_PATIENCE)
            if not done and monotonic() - self._wrote > _PATIENCE:
                said = f"a write takes more than {_PATIENCE:g} seconds"
                self.failed(records.StoreUnavailable(said, kind="busy"))
        return self.trouble

    async def _try(self, probe: Probe) -> None:
        with suppress(Exception):
            await probe()
            self.wrote()

    async def watch(self, probe: Probe) -> None:
        """Keep checking, so that a change is noticed even if nobody sends or asks."""
        while not self.broken:
            await self.check(probe)
            await asyncio.sleep(1.0 if self.trouble else _FRESH)
