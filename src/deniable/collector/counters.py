"""Counters of what happened since the start: no address, no time.

Pages show what came for one question; what programs poll has no label by question.
"""

from __future__ import annotations

from collections import Counter

from deniable.collector.metrics import Family, Histogram, counter, counters, histogram
from deniable.collector.problems import PROBLEMS, UnknownQuestion, find_problem

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
        """Count a submission that was stored."""
        self.accepted += 1
        self.reports += reports
        self._count(digest, ACCEPTED)

    def repeat(self, digest: str) -> None:
        """Count a submission that was there already."""
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
        """Return all counters as a JSON object."""
        return {
            "accepted": self.accepted,
            "repeated": self.repeated,
            "reports": self.reports,
            "refused": dict(sorted(self.refused.items())),
            "folded": self.folded,
            "failures": self.failures,
        }

    def families(self) -> list[Family]:
        """Return all counters for Prometheus, every series from the start."""
        refused = {problem.type: self.refused[problem.type] for problem in PROBLEMS.values()}
        return [
            counter("deniable_submissions_accepted_total", "Submissions that were stored.",
                    self.accepted),
            counter("deniable_submissions_repeated_total", "Submissions that were there already.",
                    self.repeated),
            counters("deniable_submissions_refused_total", "Refusals by reason.", "reason",
                     refused),
            counter("deniable_reports_total", "Reports in the submissions that were stored.",
                    self.reports),
            counter("deniable_reports_folded_total", "Reports that were added to tallies.",
                    self.folded),
            counter("deniable_failures_total", "Requests that failed inside.", self.failures),
            histogram("deniable_submission_seconds",
                      "Time from the head of a submission to its answer.", self.submissions),
        ]  # fmt: skip
