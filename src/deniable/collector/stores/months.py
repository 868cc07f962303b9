"""Sums of sealed months, kept so that a year is not added up day by day each time it is read.

A kept sum is of one question, month, source and segment. Whatever changes a tally of the month
removes its sums in the same transaction, and they are made anew by housekeeping. Uploads are in no
sum, since they may come for any day, nor are sources that are left out on a single day of a month.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from deniable.collector.stores.dialect import Database, Transaction, reading, writing
from deniable.collector.stores.records import EPOCH, Days, Total, date_of

APART = (
    "source LIKE 'upload:%' OR source IN"
    " (SELECT source FROM exclusions_by_day WHERE question = ? AND day BETWEEN ? AND ?)"
)
"""Whose tallies of a month are in no sum."""
_RIPE = f"question = ? AND day BETWEEN ? AND ? AND NOT ({APART})"
_STATE = (
    f"SELECT count(*), coalesce(sum(version), 0), coalesce(sum(n), 0) FROM tallies WHERE {_RIPE}"
)
_SEALED_DAYS = (
    "SELECT DISTINCT question, day FROM tallies"
    " WHERE day <= (SELECT sealed_through FROM horizon) AND source NOT LIKE 'upload:%'"
    " AND question IN (SELECT no FROM questions WHERE state != 'deleted')"
)
_WAITING = "SELECT 1 FROM waiting WHERE question = ? AND day BETWEEN ? AND ? LIMIT 1"


def month_of(day: int) -> Days:
    """Return the days of the calendar month of a day.

    >>> month_of(31)
    Days(first=31, last=58)
    """
    first = date_of(day).replace(day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return Days(first.toordinal() - EPOCH, following.toordinal() - EPOCH - 1)


def months_within(days: Days, counted: Sequence[int]) -> list[Days]:
    """Return the whole months in a range, of those that have any of the counted days."""
    found = {month_of(day) for day in counted if day in days}
    return sorted(m for m in found if m.first in days and m.last in days)


def forget_month(transaction: Transaction, no: int | None, day: int) -> None:
    """Remove the sums of a month, one of whose tallies has changed."""
    text = "DELETE FROM months WHERE question = ? AND ? BETWEEN first AND last"
    transaction.execute(text, (no, day))


@dataclass(frozen=True)
class Ripe:
    """The tallies of a sealed month that has no sums yet; ``state`` tells whether any moved."""

    question: str
    no: int
    month: Days
    tallies: tuple[Total, ...]
    state: tuple[int, int, int]


class Months(Database):
    """The sums of sealed months."""

    @reading
    def ripe(self, transaction: Transaction) -> Ripe | None:
        """Return the tallies of a month that can be summed up for good, if there is one."""
        sealed = self.horizon(transaction).sealed_through
        kept = set(transaction.execute("SELECT DISTINCT question, first FROM months").fetchall())
        days = sorted(transaction.execute(_SEALED_DAYS).fetchall())
        for no, month in dict.fromkeys((no, month_of(day)) for no, day in days):
            values = (no, month.first, month.last)
            if month.last > sealed or (no, month.first) in kept:
                continue
            if transaction.execute(_WAITING, values).fetchone():
                continue
            text = f"SELECT day, source, n, tally, segment FROM tallies WHERE {_RIPE}"
            found = tuple(Total(*row) for row in transaction.execute(text, values * 2))
            if found:
                ((digest,),) = transaction.execute(
                    "SELECT digest FROM questions WHERE no = ?", (no,)
                )
                return Ripe(digest, no, month, found, _state(transaction, values))
        return None

    @writing
    def keep_month(self, transaction: Transaction, ripe: Ripe, sums: Sequence[Total]) -> bool:
        """Keep the sums of a month; false if a tally has changed meanwhile."""
        # Whoever leaves a source out changes the row of the question too, and waits here.
        transaction.execute("SELECT no FROM questions WHERE no = ? FOR UPDATE", (ripe.no,))
        values = (ripe.no, ripe.month.first, ripe.month.last)
        late = transaction.execute(_WAITING, values).fetchone()
        if late or _state(transaction, values) != ripe.state:
            return False
        for total in sums:
            transaction.execute(
                "INSERT INTO months (question, first, last, source, segment, n, tally)"
                " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (*values, total.source, total.segment, total.n, total.data),
            )
        return True

    @writing
    def forget_months(self, transaction: Transaction, digest: str) -> None:
        """Remove all sums of a question, one of which cannot be read; the tallies are there."""
        text = "DELETE FROM months WHERE question IN (SELECT no FROM questions WHERE digest = ?)"
        transaction.execute(text, (digest,))


def pieces(
    transaction: Transaction, no: int | None, days: Days, months: Sequence[Days]
) -> Iterator[tuple[Days, bool]]:
    """Split a range of days into months that have sums, which are true, and what is in between."""
    text = "SELECT DISTINCT first FROM months WHERE question = ?"
    kept = {first for (first,) in transaction.execute(text, (no,))}
    first = days.first
    for month in months:
        if month.first in kept and days.first <= month.first and month.last <= days.last:
            if first < month.first:
                yield Days(first, month.first - 1), False
            yield month, True
            first = month.last + 1
    if first <= days.last:
        yield Days(first, days.last), False


def month_sums(transaction: Transaction, no: int | None, month: Days) -> list[Total]:
    """Return the kept sums of a month, without sources that are left out on all days."""
    text = (
        "SELECT first, source, n, tally, segment FROM months WHERE question = ? AND first = ?"
        " AND (question, source) NOT IN (SELECT question, source FROM exclusions)"
    )
    return [Total(*row) for row in transaction.execute(text, (no, month.first))]


def _state(transaction: Transaction, values: tuple[int, int, int]) -> tuple[int, int, int]:
    ((count, versions, n),) = transaction.execute(_STATE, values * 2)
    return int(count), int(versions), int(n)
