"""What a store promises: submissions are stored, folded and swept, and days sealed.

A store keeps bytes by day and does no mathematics: its callers know what a report is and how
tallies add. A day is sealed or open by what the store says, never by the clock alone. One thread at
a time uses a store, and one test suite holds both databases to every sentence.
"""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from deniable.collector.stores import arrivals
from deniable.collector.stores.arrivals import HEAD, Arrival, ArrivalKey
from deniable.collector.stores.dialect import Horizon, Transaction, reading, writing
from deniable.collector.stores.months import forget_month
from deniable.collector.stores.questions import NEW_EDITION, Questions, number_of
from deniable.collector.stores.records import Aside, Measures, Outcome, Pile, Submission, Window

MOST_ROWS = 2000
"""The most groups of reports that one fold takes, so that removing them delays nobody."""
_HOLD = "SELECT digest, no, state FROM questions WHERE digest = ? FOR SHARE"
_HOLD_SOME = "SELECT digest, no, state FROM questions WHERE digest = ANY(?) ORDER BY no FOR SHARE"
_KEEP = (
    "INSERT INTO waiting (question, day, source, segment, n, checksum, reports)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_PLACE = (
    "SELECT q.digest, w.day, w.source, w.segment, w.question FROM waiting w"
    " JOIN questions q ON q.no = w.question AND q.state != 'deleted'"
    " GROUP BY w.question, w.day, w.source, w.segment, q.digest"
    " HAVING w.day <= (SELECT sealed_through FROM horizon)"
    " OR sum(length(w.reports)) >= ? OR count(*) >= ?"
    " ORDER BY w.day LIMIT 1"
)
# A damaged row may hold NULL anywhere.
_ROWS = (
    f"SELECT {HEAD}, reports FROM (SELECT *, sum(length(reports)) OVER (ORDER BY no) AS size,"
    " row_number() OVER (ORDER BY no) AS position FROM waiting"
    " WHERE question IS NOT DISTINCT FROM ? AND day IS NOT DISTINCT FROM ?"
    " AND source IS NOT DISTINCT FROM ? AND segment IS NOT DISTINCT FROM ?"
    " ORDER BY no LIMIT ?) AS found"
    " WHERE size <= ? OR position = 1 ORDER BY no"
)
_OVERLOOKED = "waiting rows are listed and cannot be found"
_AT = "question = ? AND day = ? AND source = ? AND segment = ?"
_ASIDE = (
    "INSERT INTO set_aside (question, day, source, segment, n, content, origin, reason)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_MOVE = "UPDATE horizon SET sealed_through = ?, last_run = ?"
_FORGET = (
    "UPDATE horizon SET forgotten_through = ? WHERE sealed_through >= ? AND forgotten_through < ?"
)
_KEY = "question, day, source, segment"
_OLDEST_IDS = "SELECT min(day) FROM arrivals WHERE question = ?"
_REMOVE_IDS = (
    "DELETE FROM arrivals WHERE question = ? AND day = ? AND id IN"
    " (SELECT id FROM arrivals WHERE question = ? AND day = ? LIMIT ?)"
)
_REMOVE_OLD = (
    f"DELETE FROM tallies WHERE ({_KEY}) IN (SELECT {_KEY}"
    " FROM tallies WHERE day < ? AND day <= ? AND source NOT LIKE 'upload:%' LIMIT ?)"
)
_REMOVE_SOME = [
    f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE question = ? LIMIT ?)"
    for table, key in (
        ("waiting", "no"),
        ("tallies", _KEY),
        ("months", "question, first, source, segment"),
        ("published", "no"),
    )
]
_OF_QUESTIONS = (
    "arrivals", "waiting", "tallies", "months", "published", "exclusions", "exclusions_by_day",
)  # fmt: skip


class _Outrun(Exception):
    """Somebody else folded some of a pile."""


class Store(Questions):
    """All that a collector asks of a database."""

    _window: int

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def backup(self, target: Path) -> None:
        """Write a consistent copy to a new file while the collector goes on.

        The file gets its name only when the whole copy is on the disk.
        """

    @abstractmethod
    def erase(self) -> bool:
        """Overwrite what the files still have of removed rows; false if a reader is in the way."""

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
        """Store submissions in one transaction that is on the disk when this returns.

        Returns an outcome for each, in order. The same id with the same bytes is stored once, and
        with other bytes it is a conflict, even within one call. The same transaction checks that
        question and day are open, and keeps both from changing until it ends.
        """
        digests = {submission.question for submission in submissions}
        found = (
            transaction.execute(_HOLD, (*digests,))
            if len(digests) == 1
            else transaction.execute(_HOLD_SOME, (transaction.dialect.array(digests),))
        )
        questions = {digest: (no, state) for digest, no, state in found.fetchall()}
        group = arrivals.Group(submissions, questions, self.horizon(transaction, " FOR SHARE"))
        inserted = self.insert(transaction, group.fresh) if group.fresh else set()
        doubtful = group.doubtful(inserted)
        stored = self.fingerprints(transaction, doubtful) if doubtful else ()
        for bundle in group.bundles(inserted):
            transaction.execute(_KEEP, bundle)
        return group.outcomes(inserted, stored)

    @reading
    def pile(self, transaction: Transaction, least: int, most: int) -> Pile | None:
        """Return the waiting reports to fold next, or None if folding is not worth it yet.

        A pile holds at most ``most`` bytes, or one group. Sealed days come first and are always
        worth it; other days are once ``least`` bytes wait.
        """
        place = transaction.execute(_PLACE, (least, MOST_ROWS)).fetchone()
        if not place:
            return None
        digest, *at, no = place
        found = transaction.execute(_ROWS, (no, *at, MOST_ROWS, most)).fetchall()
        if len({row[0] for row in found}) != max(1, len(found)):
            raise self.corrupt(f"{_OVERLOOKED}, or are listed twice")
        rows, damaged = arrivals.sort_rows(found)
        text = f"SELECT tally, n, version FROM tallies WHERE {_AT}"
        found = transaction.execute(text, (no, *at)).fetchone()
        tally, counted, version = found or (None, 0, 0)
        day, source, segment = at
        numbers = tuple(row.no for row in rows)
        parts = tuple((row.n, row.reports) for row in rows)
        return Pile(digest, day, source, numbers, parts, tally, counted, version, damaged, segment)

    def fold(self, pile: Pile, tally: bytes) -> bool:
        """Replace a pile and its tally by the new tally of both, in one transaction.

        Changes nothing and returns false if anybody has folded any of it in the meantime.
        """
        try:
            self._exchange(pile, tally)
        except _Outrun:
            return False
        return True

    @writing
    def _exchange(self, transaction: Transaction, pile: Pile, tally: bytes) -> None:
        no = number_of(transaction, pile.question)
        place = (no, pile.day, pile.source, pile.segment)
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
                f"INSERT INTO tallies ({_KEY}, n, version, tally) VALUES (?, ?, ?, ?, ?, 1, ?)"
                " ON CONFLICT DO NOTHING",
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
        forget_month(transaction, no, pile.day)

    @reading
    def damaged(self, transaction: Transaction) -> dict[int, str]:
        """Return the waiting rows that cannot be placed, by number, with the reason for each.

        This checks only what says where a row belongs; its reports are checked by folding.
        """
        rows = transaction.execute(f"SELECT {HEAD} FROM waiting ORDER BY no").fetchall()
        known = {no for (no,) in transaction.execute("SELECT no FROM questions")}
        if not arrivals.ascending(rows):
            raise self.corrupt("the waiting rows are not in order")
        sound, damaged = arrivals.sort_rows(rows)
        for row in sound:
            if row.question not in known:
                damaged[row.no] = "it belongs to no question"
        return damaged

    @writing
    def set_aside(self, transaction: Transaction, rows: Mapping[int, str]) -> int:
        """Move waiting rows out of everybody's way, with the reason; return how many."""
        found = transaction.execute(
            f"DELETE FROM waiting WHERE no = ANY(?) RETURNING {HEAD}, reports",
            (transaction.dialect.array(rows),),
        ).fetchall()
        if len(found) < len(rows) and self.overlooked(transaction, rows):
            raise self.corrupt(_OVERLOOKED)
        for row in sorted(found, key=lambda row: row[0]):
            transaction.execute(_ASIDE, (*arrivals.remains(row), "waiting", rows[row[0]]))
            if arrivals.is_placed(row):
                transaction.execute(NEW_EDITION, (row[1],))
        return len(found)

    @writing
    def set_tally_aside(self, transaction: Transaction, pile: Pile, reason: str) -> bool:
        """Do the same with the tally of a pile; false if it has changed in the meantime."""
        no = number_of(transaction, pile.question)
        found = transaction.execute(
            f"DELETE FROM tallies WHERE {_AT} AND version = ?"
            " RETURNING question, day, source, segment, n, tally",
            (no, pile.day, pile.source, pile.segment, pile.version),
        ).fetchone()
        if found is None:
            return False
        transaction.execute(_ASIDE, (*found, "tallies", reason))
        transaction.execute(NEW_EDITION, (no,))
        forget_month(transaction, no, pile.day)
        return True

    @reading
    def aside(self, transaction: Transaction) -> list[Aside]:
        """Return what was set aside, unless its question was deleted."""
        rows = transaction.execute(
            "SELECT origin, q.digest, day, source, n, reason FROM set_aside"
            " LEFT JOIN questions q ON q.no = question ORDER BY set_aside.no"
        )
        return [Aside(*row) for row in rows]

    def give_back(self, transaction: Transaction) -> int:
        """Give some free room back to the file system, and return how many pages."""
        return 0

    @abstractmethod
    def flaws(self, transaction: Transaction) -> Iterator[str]:
        """Yield a sentence for each thing that the database itself finds wrong."""

    @abstractmethod
    def sizes(self, transaction: Transaction) -> tuple[float, ...]:
        """Return the size of the store, of its log, and what the disk has left, if known."""

    @reading
    def window(self, transaction: Transaction) -> Window:
        return self.horizon(transaction).window(self._window)

    @writing
    def seal(self, transaction: Transaction, *, trust_clock: bool = False) -> Window:
        """Seal the days that are older than the window, and return the days that are then open.

        If the store's clock has moved by more than two days since the last call, this seals
        nothing and the window carries an alarm, unless ``trust_clock``.
        """
        found = self.horizon(transaction, " FOR UPDATE")
        if trust_clock or not found.jumped:
            sealed = max(found.sealed_through, found.today - self._window - 1)
            found = _move(transaction, found, sealed)
        return found.window(self._window)

    @writing
    def reopen(self, transaction: Transaction) -> Window:
        """Reopen the days that only a wrong clock has sealed, and return the days then open.

        A day whose ids were forgotten stays sealed, and so do all days before it: nobody could tell
        a submission that was counted there from a new one.
        """
        found = self.horizon(transaction, " FOR UPDATE")
        kept = max(found.forgotten_through, found.today - self._window - 1)
        return _move(transaction, found, min(found.sealed_through, kept)).window(self._window)

    @writing
    def sweep(self, transaction: Transaction, most: int, retention: int | None = None) -> int:
        """Remove up to ``most`` rows that nobody needs any more, and return how many.

        These are the ids of days that are sealed and folded, everything of deleted questions, and,
        except during a clock alarm, tallies that are more than ``retention`` days old.
        """
        horizon = self.horizon(transaction)
        for no, state in transaction.execute("SELECT no, state FROM questions").fetchall():
            removed = (
                _remove_question(transaction, no, most)
                if state == "deleted"
                else _remove_ids(transaction, no, most, horizon.sealed_through)
            )
            if removed:
                return removed
        if retention is not None and not horizon.window(self._window).alarm:
            values = (horizon.today - retention, horizon.sealed_through, most)
            if removed := transaction.execute(_REMOVE_OLD, values).rowcount:
                transaction.execute("DELETE FROM published")  # the sums hold what must go
                transaction.execute("DELETE FROM months WHERE first < ?", values[:1])
                return removed
        return self.give_back(transaction)

    @writing
    def probe(self, transaction: Transaction) -> None:
        """Write something meaningless that is on the disk when this returns."""
        transaction.execute("UPDATE heartbeat SET beats = beats + 1")

    @reading
    def measure(self, transaction: Transaction) -> Measures:
        text = "SELECT coalesce(sum(n), 0), min(day) FROM waiting"
        ((waiting, oldest),) = transaction.execute(text)
        ((aside,),) = transaction.execute("SELECT count(*) FROM set_aside")
        sealed = self.horizon(transaction).sealed_through
        return Measures(int(waiting), oldest, sealed, aside, *self.sizes(transaction))

    def check(self) -> Iterator[str]:
        """Yield a sentence for each thing that is wrong with the store."""
        with self.reading() as transaction:
            yield from self.flaws(transaction)
            for table in _OF_QUESTIONS:
                text = f"SELECT count(*) FROM {table} WHERE question NOT IN"
                ((count,),) = transaction.execute(f"{text} (SELECT no FROM questions)")
                if count:
                    yield f"{count} rows of {table} belong to no question"


def _move(transaction: Transaction, found: Horizon, sealed_through: int) -> Horizon:
    moved = found._replace(sealed_through=sealed_through, last_run=found.today)
    if moved != found:
        transaction.execute(_MOVE, moved[:2])
    return moved


def _remove_ids(transaction: Transaction, no: int, most: int, sealed: int) -> int:
    """Remove ids of the question's oldest day, if that is sealed and all folded."""
    ((day,),) = transaction.execute(_OLDEST_IDS, (no,))
    if day is None or day > sealed:
        return 0
    waiting = "SELECT 1 FROM waiting WHERE question = ? AND day = ? LIMIT 1"
    if transaction.execute(waiting, (no, day)).fetchone():
        return 0
    # Once a day is forgotten nobody opens it again; the first time it is held against that.
    transaction.execute(_FORGET, (day, day, day))
    ((forgotten,),) = transaction.execute("SELECT forgotten_through FROM horizon")
    if forgotten < day:
        return 0
    return transaction.execute(_REMOVE_IDS, (no, day, no, day, most)).rowcount


def _remove_question(transaction: Transaction, no: int, most: int) -> int:
    """Remove some rows of a deleted question, and itself when nothing else is left."""
    ((day,),) = transaction.execute(_OLDEST_IDS, (no,))
    if day is not None:
        return transaction.execute(_REMOVE_IDS, (no, day, no, day, most)).rowcount
    for text in _REMOVE_SOME:
        if removed := transaction.execute(text, (no, min(most, 100))).rowcount:
            return removed
    for table in ("exclusions", "exclusions_by_day", "set_aside"):
        transaction.execute(f"DELETE FROM {table} WHERE question = ?", (no,))
    # Some rows were set aside without a known question: they may hold this one's reports.
    transaction.execute(
        "UPDATE set_aside SET day = NULL, source = NULL, n = NULL, content = ?"
        " WHERE question IS NULL",
        (b"",),
    )
    return transaction.execute("DELETE FROM questions WHERE no = ?", (no,)).rowcount
