"""Counters of what happened since the start: no address, no time.

Pages show what came for one question; what programs poll has no label by question.
"""

from __future__ import annotations

from collections import Counter

from deniable.collector.problems import UnknownQuestion, find_problem

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

    def exposition(self, gauges: dict[str, float]) -> str:
        """Return counters and gauges in the text format of Prometheus."""
        lines = []
        plain = {
            "submissions_accepted": (self.accepted, "Submissions that were stored."),
            "submissions_repeated": (self.repeated, "Submissions that were there already."),
            "reports": (self.reports, "Reports in the submissions that were stored."),
            "reports_folded": (self.folded, "Reports that were added to tallies."),
            "failures": (self.failures, "Requests that failed inside."),
        }
        for name, (value, help) in plain.items():
            lines += _head(f"deniable_{name}_total", "counter", help)
            lines.append(f"deniable_{name}_total {value}")
        lines += _head("deniable_submissions_refused_total", "counter", "Refusals by reason.")
        for reason, count in sorted(self.refused.items()):
            lines.append(f'deniable_submissions_refused_total{{reason="{reason}"}} {count}')
        for name, gauge in gauges.items():
            lines += _head(f"deniable_{name}", "gauge", name.replace("_", " ").capitalize() + ".")
            lines.append(f"deniable_{name} {gauge:g}")
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, help: str) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}"]
