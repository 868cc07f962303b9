"""Submissions: stored in groups, folded into tallies, set aside if they cannot be used."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter

from deniable.collector.stores.dialect import Database, Horizon, Transaction, reading, writing
from deniable.collector.stores.questions import NEW_EDITION, number_of
from deniable.collector.stores.records import Aside, Outcome, Pile, State, Submission
from deniable.collector.stores.waiting import HEAD, ascending, checksum, is_placed, remains, sort

ArrivalKey = tuple[int, int, bytes]
"""Under which a submission is counted once: number of the question, day, id."""
Arrival = tuple[int, int, bytes, int]
"""The key, and the fingerprint of what came under it."""
Questioned = Mapping[str, tuple[int, State]]
"""The number and the state of each question, by its digest."""
_REMEMBERED = (None, Outcome.CLOSED, Outcome.NOT_YET)
"""Refused or not, these may have been stored before, while the question or the day was open."""
MOST_ROWS = 2000
"""The most groups of reports that one fold takes, so that removing them delays nobody."""
_HOLD = "SELECT digest, no, state FROM questions WHERE digest = ? FOR SHARE"
_HOLD_SOME = "SELECT digest, no, state FROM questions WHERE digest = ANY(?) ORDER BY no FOR SHARE"
_KEEP = (
    "INSERT INTO waiting (question, day, source, n, checksum, reports) VALUES (?, ?, ?, ?, ?, ?)"
)
_PLACE = (
    "SELECT q.digest, w.day, w.source, w.question FROM waiting w"
    " JOIN questions q ON q.no = w.question AND q.state != 'deleted'"
    " GROUP BY w.question, w.day, w.source, q.digest"
    " HAVING w.day <= (SELECT sealed_through FROM horizon)"
    " OR sum(length(w.reports)) >= ? OR count(*) >= ?"
    " ORDER BY w.day LIMIT 1"
)
# A damaged row may hold NULL anywhere.
_ROWS = (
    f"SELECT {HEAD}, reports FROM (SELECT *, sum(length(reports)) OVER (ORDER BY no) AS size,"
    " row_number() OVER (ORDER BY no) AS position FROM waiting"
    " WHERE question IS NOT DISTINCT FROM ? AND day IS NOT DISTINCT FROM ?"
    " AND source IS NOT DISTINCT FROM ? ORDER BY no LIMIT ?) AS found"
    " WHERE size <= ? OR position = 1 ORDER BY no"
)
_OVERLOOKED = "waiting rows are listed and cannot be found"
_AT = "question = ? AND day = ? AND source = ?"
_ASIDE = (
    "INSERT INTO set_aside (question, day, source, n, content, origin, reason)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)


class Group:
    """Submissions in one transaction, by key and in the order of the keys.

    Sorting keeps two writers from waiting for each other in a circle. It is also the order in which
    reports are kept, and since ids are random, nothing tells who came first.
    """

    def __init__(
        self, submissions: Sequence[Submission], questions: Questioned, horizon: Horizon
    ) -> None:
        self._submissions = submissions
        self._refusals = [_refusal(each, questions, horizon) for each in submissions]
        self._keys: list[ArrivalKey | None] = []
        first: dict[ArrivalKey, Submission] = {}
        asked: list[ArrivalKey] = []
        for submission, refusal in zip(submissions, self._refusals, strict=True):
            key: ArrivalKey | None = None
            if refusal in _REMEMBERED:
                key = (questions[submission.question][0], submission.day, submission.id)
                if refusal is None:
                    first.setdefault(key, submission)
                else:
                    asked.append(key)
            self._keys.append(key)
        self._marks = {key: submission.fingerprint for key, submission in first.items()}
        self.fresh = [(*key, self._marks[key]) for key in sorted(first)]
        """Rows to insert unless the key is there: question, day, id, fingerprint."""
        self._first, self._asked = first, asked

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


def _refusal(submission: Submission, questions: Questioned, horizon: Horizon) -> Outcome | None:
    _, state = questions.get(submission.question, (0, State.DELETED))
    if state is State.DELETED:
        return Outcome.UNKNOWN
    if submission.day <= horizon.sealed_through:
        return Outcome.SEALED
    if submission.day > horizon.today + 1:
        return Outcome.NOT_YET
    return Outcome.CLOSED if state is State.CLOSED else None


class _Outrun(Exception):
    """Somebody else folded some of a pile."""


class Submissions(Database):
    """What comes in, and what becomes of it."""

    @abstractmethod
    def insert(self, transaction: Transaction, rows: Sequence[Arrival]) -> set[ArrivalKey]:
        """Insert the rows whose keys are new, and return these keys."""

    @abstractmethod
    def fingerprints(self, transaction: Transaction, keys: Sequence[ArrivalKey]) -> list[Arrival]:
        """Return the rows that are there under these keys."""

    def overlooked(self, transaction: Transaction, rows: Collection[int]) -> bool:
        """Tell whether waiting rows that were not found are there after all."""
        return False

    @writing
    def add(self, transaction: Transaction, submissions: Sequence[Submission]) -> list[Outcome]:
        digests = {submission.question for submission in submissions}
        found = (
            transaction.execute(_HOLD, (*digests,))
            if len(digests) == 1
            else transaction.execute(_HOLD_SOME, (transaction.dialect.array(digests),))
        )
        questions = {digest: (no, State(state)) for digest, no, state in found.fetchall()}
        horizon = self.horizon(transaction, " FOR SHARE")
        group = Group(submissions, questions, horizon)
        inserted = self.insert(transaction, group.fresh) if group.fresh else set()
        doubtful = group.doubtful(inserted)
        stored = self.fingerprints(transaction, doubtful) if doubtful else ()
        for bundle in group.bundles(inserted):
            transaction.execute(_KEEP, bundle)
        return group.outcomes(inserted, stored)

    @reading
    def pile(self, transaction: Transaction, least: int, most: int) -> Pile | None:
        place = transaction.execute(_PLACE, (least, MOST_ROWS)).fetchone()
        if not place:
            return None
        digest, day, source, no = place
        found = transaction.execute(_ROWS, (no, day, source, MOST_ROWS, most)).fetchall()
        if len({row[0] for row in found}) != max(1, len(found)):
            raise self.corrupt(f"{_OVERLOOKED}, or are listed twice")
        rows, damaged = sort(found)
        text = f"SELECT tally, n, version FROM tallies WHERE {_AT}"
        found = transaction.execute(text, (no, day, source)).fetchone()
        tally, counted, version = found or (None, 0, 0)
        numbers = tuple(row.no for row in rows)
        parts = tuple((row.n, row.reports) for row in rows)
        return Pile(digest, day, source, numbers, parts, tally, counted, version, damaged)

    def fold(self, pile: Pile, tally: bytes) -> bool:
        try:
            self._exchange(pile, tally)
        except _Outrun:
            return False
        return True

    @writing
    def _exchange(self, transaction: Transaction, pile: Pile, tally: bytes) -> None:
        no = number_of(transaction, pile.question)
        place = (no, pile.day, pile.source)
        removed = transaction.execute(
            f"DELETE FROM waiting WHERE no = ANY(?) AND {_AT}",
            (transaction.dialect.array(pile.rows), *place),
        ).rowcount
        if removed != len(pile.rows):
            if no is not None and self.overlooked(transaction, pile.rows):
                raise self.corrupt(_OVERLOOKED)
            raise _Outrun
        if pile.tally is None:
            written = transaction.execute(
                "INSERT INTO tallies VALUES (?, ?, ?, ?, 1, NULL, ?) ON CONFLICT DO NOTHING",
                (*place, pile.total, tally),
            )
        else:
            written = transaction.execute(
                f"UPDATE tallies SET n = ?, version = version + 1, tally = ? WHERE {_AT}"
                " AND version = ?",
                (pile.total, tally, *place, pile.version),
            )
        if written.rowcount != 1:
            raise _Outrun

    @reading
    def damaged(self, transaction: Transaction) -> dict[int, str]:
        rows = transaction.execute(f"SELECT {HEAD} FROM waiting ORDER BY no").fetchall()
        known = {no for (no,) in transaction.execute("SELECT no FROM questions")}
        if not ascending(rows):
            raise self.corrupt("the waiting rows are not in order")
        sound, damaged = sort(rows)
        for row in sound:
            if row.question not in known:
                damaged[row.no] = "it belongs to no question"
        return damaged

    @writing
    def set_aside(self, transaction: Transaction, rows: Mapping[int, str]) -> int:
        found = transaction.execute(
            f"DELETE FROM waiting WHERE no = ANY(?) RETURNING {HEAD}, reports",
            (transaction.dialect.array(rows),),
        ).fetchall()
        if len(found) < len(rows) and self.overlooked(transaction, rows):
            raise self.corrupt(_OVERLOOKED)
        for row in sorted(found, key=itemgetter(0)):
            transaction.execute(_ASIDE, (*remains(row), "waiting", rows[row[0]]))
            if is_placed(row):
                transaction.execute(NEW_EDITION, (row[1],))
        return len(found)

    @writing
    def set_tally_aside(self, transaction: Transaction, pile: Pile, reason: str) -> bool:
        no = number_of(transaction, pile.question)
        found = transaction.execute(
            f"DELETE FROM tallies WHERE {_AT} AND version = ?"
            " RETURNING question, day, source, n, tally",
            (no, pile.day, pile.source, pile.version),
        ).fetchone()
        if found is None:
            return False
        transaction.execute(_ASIDE, (*found, "tallies", reason))
        transaction.execute(NEW_EDITION, (no,))
        return True

    @reading
    def aside(self, transaction: Transaction) -> list[Aside]:
        rows = transaction.execute(
            "SELECT origin, q.digest, day, source, n, reason FROM set_aside"
            " LEFT JOIN questions q ON q.no = question ORDER BY set_aside.no"
        )
        return [Aside(*row) for row in rows]
