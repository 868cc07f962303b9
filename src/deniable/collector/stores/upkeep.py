"""Upkeep of a store: sealing days, sweeping rows, and looking after the whole.

A day is sealed or open by what the store says, never by the clock alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from deniable.collector.stores.dialect import Database, Horizon, Transaction, reading, writing
from deniable.collector.stores.records import Measures, Window, write_day

_LARGEST_STEP = 2
"""How many days the clock may move between two runs and still be trusted."""
_MOVE = "UPDATE horizon SET sealed_through = ?, last_run = ?"
_FORGET = (
    "UPDATE horizon SET forgotten_through = ? WHERE sealed_through >= ? AND forgotten_through < ?"
)
_OLDEST_IDS = "SELECT min(day) FROM arrivals WHERE question = ?"
_REMOVE_IDS = (
    "DELETE FROM arrivals WHERE question = ? AND day = ? AND id IN"
    " (SELECT id FROM arrivals WHERE question = ? AND day = ? LIMIT ?)"
)
_REMOVE_OLD = (
    "DELETE FROM tallies WHERE (question, day, source) IN (SELECT question, day, source"
    " FROM tallies WHERE day < ? AND day <= ? AND source NOT LIKE 'upload:%' LIMIT ?)"
)
_REMOVE_SOME = [
    f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE question = ? LIMIT ?)"
    for table, key in (("waiting", "no"), ("tallies", "question, day, source"), ("published", "no"))
]
_OF_QUESTIONS = ("arrivals", "waiting", "tallies", "published", "exclusions", "exclusions_by_day")


class Upkeep(Database):
    """What keeps a store in order."""

    _window: int

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
        return _open_days(self.horizon(transaction), self._window)

    @writing
    def seal(self, transaction: Transaction, *, trust_clock: bool = False) -> Window:
        found = self.horizon(transaction, " FOR UPDATE")
        if trust_clock or not _jumped(found):
            sealed = max(found.sealed_through, found.today - self._window - 1)
            found = _move(transaction, found, sealed)
        return _open_days(found, self._window)

    @writing
    def reopen(self, transaction: Transaction) -> Window:
        found = self.horizon(transaction, " FOR UPDATE")
        kept = max(found.forgotten_through, found.today - self._window - 1)
        return _open_days(_move(transaction, found, min(found.sealed_through, kept)), self._window)

    @writing
    def sweep(self, transaction: Transaction, most: int, retention: int | None = None) -> int:
        horizon = self.horizon(transaction)
        for no, state in transaction.execute("SELECT no, state FROM questions").fetchall():
            removed = (
                _remove_question(transaction, no, most)
                if state == "deleted"
                else _remove_ids(transaction, no, most, horizon.sealed_through)
            )
            if removed:
                return removed
        if retention is not None and not _open_days(horizon, self._window).alarm:
            values = (horizon.today - retention, horizon.sealed_through, most)
            if removed := transaction.execute(_REMOVE_OLD, values).rowcount:
                transaction.execute("DELETE FROM published")  # the sums hold what must go
                return removed
        return self.give_back(transaction)

    @writing
    def probe(self, transaction: Transaction) -> None:
        transaction.execute("UPDATE heartbeat SET beats = beats + 1")

    @reading
    def measure(self, transaction: Transaction) -> Measures:
        ((waiting, oldest),) = transaction.execute(
            "SELECT coalesce(sum(n), 0), min(day) FROM waiting"
        )
        ((aside,),) = transaction.execute("SELECT count(*) FROM set_aside")
        sealed = self.horizon(transaction).sealed_through
        return Measures(int(waiting), oldest, sealed, aside, *self.sizes(transaction))

    def check(self) -> Iterator[str]:
        with self.reading() as transaction:
            yield from self.flaws(transaction)
            for table in _OF_QUESTIONS:
                text = f"SELECT count(*) FROM {table} WHERE question NOT IN"
                ((count,),) = transaction.execute(f"{text} (SELECT no FROM questions)")
                if count:
                    yield f"{count} rows of {table} belong to no question"


def _jumped(found: Horizon) -> bool:
    """Tell whether the clock moved too far since days were last sealed."""
    return abs(found.today - found.last_run) > _LARGEST_STEP


def _move(transaction: Transaction, found: Horizon, sealed_through: int) -> Horizon:
    moved = found._replace(sealed_through=sealed_through, last_run=found.today)
    if moved != found:
        transaction.execute(_MOVE, moved[:2])
    return moved


def _open_days(found: Horizon, window: int) -> Window:
    """Return the days that take reports, those not sealed, up to tomorrow.

    There is an alarm if the clock has jumped, or if today is sealed, or yesterday although the
    window reaches back so far.
    """
    alarm = None
    if found.sealed_through >= found.today - min(window, 1):
        alarm = (
            f"the days up to {write_day(found.sealed_through)} are sealed and take no reports, but "
            f"by the store's clock it is {write_day(found.today)}; if the clock is wrong, correct "
            "it; if it was wrong and is right now, run `deniable store reopen`"
        )
    elif _jumped(found):
        alarm = (
            f"the clock moved by {found.today - found.last_run} days since days were last sealed, "
            "so no more are sealed; if the clock is wrong, correct it; if it is right, run "
            "`deniable store fold --trust-clock`"
        )
    return Window(found.sealed_through + 1, found.today + 1, alarm)


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
