"""Metrics: counters since the start, histograms, and the text format of Prometheus.

No address and no time of day is counted. Pages show what came for one question; what programs poll
has no label by question.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan

from deniable.collector.problems import PROBLEMS, UnknownQuestion, find_problem

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
    for end, number in samples:
        yield f"{name}{end} {_number(number)}"


def _number(value: float) -> str:
    """Return a value as Prometheus reads it: whole numbers without a point."""
    if isnan(value):
        return "NaN"
    return str(int(value)) if value == int(value) else repr(value)


ACCEPTED, REPEATED = "accepted", "repeated"
_MOST = 4096


class Counters:
    """How many submissions were accepted, repeated, and refused for which reason."""

    def __init__(self) -> None:
        self.accepted = 0
        self.repeated = 0
        self.reports = 0
        self.refused: Counter[str] = Counter()
        self.questions: dict[str, Counter[str]] = {}
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
            self.questions.setdefault(digest, Counter())[what] += 1

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
