"""One group of submissions on its way into a store: what is new, repeated, refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from deniable.collector.stores.records import Outcome, State, Submission
from deniable.collector.stores.waiting import checksum

ArrivalKey = tuple[int, int, bytes]
"""Under which a submission is counted once: number of the question, day, id."""
Arrival = tuple[int, int, bytes, int]
"""The key, and the fingerprint of what came under it."""
_REMEMBERED = (None, Outcome.CLOSED, Outcome.NOT_YET)
"""Refused or not, these may have been stored before, while the question or the day was open."""


class Openness(NamedTuple):
    """What is open at the moment of a transaction: questions by digest, and days."""

    questions: Mapping[str, tuple[int, State]]
    sealed_through: int
    last: int

    def refusal(self, submission: Submission) -> Outcome | None:
        _, state = self.questions.get(submission.question, (0, State.DELETED))
        if state is State.DELETED:
            return Outcome.UNKNOWN
        if submission.day <= self.sealed_through:
            return Outcome.SEALED
        if submission.day > self.last:
            return Outcome.NOT_YET
        return Outcome.CLOSED if state is State.CLOSED else None


class Group:
    """Submissions in one transaction, by key and in the order of the keys.

    Sorting keeps two writers from waiting for each other in a circle. It is also the order in which
    reports are kept, and since ids are random, nothing tells who came first.
    """

    def __init__(self, submissions: Sequence[Submission], openness: Openness) -> None:
        self._submissions = submissions
        self._refusals = [openness.refusal(submission) for submission in submissions]
        self._keys: list[ArrivalKey | None] = []
        first: dict[ArrivalKey, Submission] = {}
        asked: list[ArrivalKey] = []
        for submission, refusal in zip(submissions, self._refusals, strict=True):
            key: ArrivalKey | None = None
            if refusal in _REMEMBERED:
                key = (openness.questions[submission.question][0], submission.day, submission.id)
                if refusal is None:
                    first.setdefault(key, submission)
                else:
                    asked.append(key)
            self._keys.append(key)
        self._marks = {key: submission.fingerprint for key, submission in first.items()}
        self.fresh = [(*key, self._marks[key]) for key in sorted(first)]
        """Rows to insert unless the key is there: question, day, id, fingerprint."""
        self._first = first
        self._asked = asked

    def doubtful(self, inserted: set[ArrivalKey]) -> list[ArrivalKey]:
        """Return the keys whose stored fingerprint decides: there before, or no longer open."""
        before = [key for key in self._first if key not in inserted]
        return sorted({*before, *self._asked})

    def bundles(self, inserted: set[ArrivalKey]) -> list[tuple[int, int, str, int, int, bytes]]:
        """Join what was inserted: question, day, source, number of reports, checksum, bytes."""
        parts: dict[tuple[int, int, str], list[Submission]] = {}
        for key in sorted(inserted):
            submission = self._first[key]
            parts.setdefault((key[0], key[1], submission.source), []).append(submission)
        bundles = []
        for place, found in parts.items():
            n, reports = sum(s.count for s in found), b"".join([s.reports for s in found])
            bundles.append((*place, n, checksum(place, n, reports), reports))
        return bundles

    def outcomes(self, inserted: set[ArrivalKey], stored: Iterable[Arrival]) -> list[Outcome]:
        """Say what became of each; ``stored`` has the fingerprints of the doubtful keys."""
        known = {(question, day, id): mark for question, day, id, mark in stored}
        known.update((key, self._marks[key]) for key in inserted)
        untold = set(inserted)
        result = []
        for submission, refusal, key in zip(
            self._submissions, self._refusals, self._keys, strict=True
        ):
            if key is None or key not in known:
                result.append(refusal or Outcome.CONFLICT)
            elif key in untold:
                untold.remove(key)
                result.append(Outcome.STORED)
            elif submission.fingerprint == known[key]:
                result.append(Outcome.REPEATED)
            else:
                result.append(Outcome.CONFLICT)
        return result
