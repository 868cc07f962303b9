"""Questions, what was counted of them, what readers were shown, and the keys of who may read."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple

from deniable.collector.stores import records
from deniable.collector.stores.arrivals import HEAD, holding, sound_rows
from deniable.collector.stores.dialect import Transaction, reading, writing
from deniable.collector.stores.months import APART, Months, forget_month, month_sums, pieces
from deniable.collector.stores.records import Asked, Days, Key, Outcome, Publication, Slice, Total

Publications = Mapping[Slice, Publication]
NEW_EDITION = "UPDATE questions SET edition = edition + 1 WHERE no = ?"
Place = tuple[int | None, int, int]
"""A slice as statements take it: the number of the question, the first and the last day."""

_ASKED = "SELECT digest, document, state, terms, edition FROM questions WHERE state != 'deleted'"
_NUMBER = "SELECT no FROM questions WHERE digest = ? AND state != 'deleted'"
_COUNTED = (
    "question = ? AND day BETWEEN ? AND ?"
    " AND (question, source) NOT IN (SELECT question, source FROM exclusions)"
    " AND (question, source, day) NOT IN (SELECT question, source, day FROM exclusions_by_day)"
)
_PUBLISHED = "FROM published WHERE question = ? AND first = ? AND last = ?"


def number_of(transaction: Transaction, digest: str) -> int | None:
    """Return the number of a question that is not deleted."""
    found = transaction.execute(_NUMBER, (digest,)).fetchone()
    return int(found[0]) if found else None


def place_of(transaction: Transaction, part: Slice) -> Place:
    return number_of(transaction, part.question), part.days.first, part.days.last


class Questions(Months):
    """Questions, their counts and published sums."""

    @writing
    def ask(self, transaction: Transaction, asked: Asked) -> bool:
        """Store a question; false if it is there already, and then its state and terms stay."""
        text = (
            "INSERT INTO questions (digest, document, state, terms) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING"
        )
        values = (asked.digest, asked.document, asked.state.value, asked.terms)
        return transaction.execute(text, values).rowcount == 1

    @reading
    def asked(self, transaction: Transaction, digest: str) -> Asked | None:
        """Return a question, unless it is unknown or deleted."""
        found = transaction.execute(f"{_ASKED} AND digest = ?", (digest,)).fetchone()
        return _read(found) if found else None

    @reading
    def all_asked(self, transaction: Transaction) -> list[Asked]:
        """Return all questions that are not deleted, in the order in which they were stored."""
        return [_read(row) for row in transaction.execute(f"{_ASKED} ORDER BY no")]

    @reading
    def tally_bytes(self, transaction: Transaction, digest: str) -> int:
        """Return how many bytes the tallies of a question take."""
        text = (
            "SELECT coalesce(sum(length(tally)), 0) FROM tallies"
            " WHERE question = (SELECT no FROM questions WHERE digest = ?)"
        )
        return int(transaction.execute(text, (digest,)).fetchone()[0])

    @writing
    def change(
        self,
        transaction: Transaction,
        digest: str,
        *,
        state: records.State | None = None,
        terms: str | None = None,
    ) -> bool:
        """Open, close or delete a question, or replace its terms; false if it is unknown.

        When this returns, no submission that the new state forbids will be acknowledged any more.
        """
        text = (
            "UPDATE questions SET state = coalesce(?, state), terms = coalesce(?, terms),"
            " edition = edition + 1 WHERE digest = ? AND state != 'deleted'"
        )
        values = (state.value if state else None, terms, digest)
        return transaction.execute(text, values).rowcount == 1

    @reading
    def standing(self, transaction: Transaction, part: Slice) -> records.Standing:
        """Return what was counted in a slice from day to day, and the heads of published sums."""
        place = place_of(transaction, part)
        found = transaction.execute("SELECT edition FROM questions WHERE no = ?", place[:1])
        edition = (found.fetchone() or (0,))[0]
        counts: Counter[int] = Counter()
        segments: Counter[int] = Counter()
        text = f"SELECT day, segment, sum(n) FROM tallies WHERE {_COUNTED} GROUP BY day, segment"
        for day, segment, n in transaction.execute(text, place):
            counts[day] += int(n)
            segments[segment] += int(n)
        text = f"SELECT {HEAD} FROM waiting WHERE {_COUNTED}"
        for row in sound_rows(transaction.execute(text, place)):
            counts[row.day] += row.n
            segments[row.segment] += row.n
        text = "SELECT first, last, n, edition, days FROM published WHERE question = ?"
        published = {
            Days(first, last): Publication(n, shown, b"", days)
            for first, last, n, shown, days in transaction.execute(text, place[:1])
        }
        return records.Standing(edition, sorted(counts.items()), published, segments)

    @reading
    def snapshot(
        self,
        transaction: Transaction,
        *parts: Slice,
        shown: Iterable[Slice] = (),
        months: Sequence[Days] = (),
    ) -> records.Snapshot:
        """Return what was counted in slices without a common day, each report exactly once.

        With it come the published sums of further slices, of those that have one. The tallies of
        each of ``months`` may come as their sum, if that is kept.
        """
        tallies: list[Total] = []
        waiting: list[Total] = []
        sums: list[Total] = []
        days: set[int] = set()
        for part in parts:
            place = place_of(transaction, part)
            split = pieces(transaction, place[0], part.days, months) if months else ()
            for piece, summed in split or ((part.days, False),):
                where = _COUNTED
                values: tuple[int | None, ...] = (place[0], piece.first, piece.last)
                if summed:
                    sums += month_sums(transaction, place[0], piece)
                    text = f"SELECT DISTINCT day FROM tallies WHERE {where}"
                    days.update(day for (day,) in transaction.execute(text, values))
                    where, values = f"{where} AND ({APART})", values * 2
                text = f"SELECT day, source, n, tally, segment FROM tallies WHERE {where}"
                tallies += [Total(*row) for row in transaction.execute(text, values)]
            text = f"SELECT {HEAD}, reports FROM waiting WHERE {_COUNTED}"
            rows = sound_rows(transaction.execute(text, place))
            waiting += [Total(row.day, row.source, row.n, row.reports, row.segment) for row in rows]
        text, published = f"SELECT n, edition, tally, days, cells, looks {_PUBLISHED}", {}
        for part in shown:
            found = transaction.execute(text, place_of(transaction, part)).fetchone()
            if found:
                published[part] = Publication(*found)
        return records.Snapshot(
            tuple(tallies), tuple(waiting), published, tuple(sums), frozenset(days)
        )

    def holdings(self, digest: str) -> Iterator[records.Holding]:
        """Yield every row that counts for a question, excluded or not, as it is at one moment."""
        with self.reading() as transaction:
            no = number_of(transaction, digest)
            for table, source, segment in (
                ("tallies", "day, source", "segment"),
                ("months", "first, source", "segment"),
                ("published", "first, ''", "0"),
            ):
                text = f"SELECT {source}, n, tally, {segment} FROM {table} WHERE question = ?"
                for row in transaction.execute(text, (no,)):
                    yield records.Holding(table, Total(*row))
            text = f"SELECT {HEAD}, reports FROM waiting WHERE question = ? ORDER BY no"
            for row in transaction.execute(text, (no,)):
                yield holding(row)

    @reading
    def sources(self, transaction: Transaction, digest: str) -> list[records.Source]:
        values = (number_of(transaction, digest),)
        counts: Counter[str] = Counter()
        text = "SELECT source, sum(n) FROM tallies WHERE question = ? GROUP BY source"
        for source, n in transaction.execute(text, values):
            counts[source] = int(n)
        waiting = transaction.execute(f"SELECT {HEAD} FROM waiting WHERE question = ?", values)
        for row in sound_rows(waiting):
            counts[row.source] += row.n
        whole = transaction.execute("SELECT source FROM exclusions WHERE question = ?", values)
        excluded = {source for (source,) in whole}
        days: dict[str, list[int]] = {}
        text = "SELECT source, day FROM exclusions_by_day WHERE question = ? ORDER BY day"
        for source, day in transaction.execute(text, values):
            days.setdefault(source, []).append(day)
        return [
            records.Source(name, n, name in excluded, tuple(days.get(name, ())))
            for name, n in sorted(counts.items())
        ]

    def exclude(self, digest: str, source: str, excluded: bool, *, day: int | None = None) -> bool:
        """Leave a source out of every count, or count it again; false if there is no such source.

        With a day, only that day's reports are meant. A source may be left out both ways at once.
        """
        if all(source != found.name for found in self.sources(digest)):
            return False
        table, days = ("exclusions", ()) if day is None else ("exclusions_by_day", (day,))
        columns = ("question", "source", "day")[: 2 + len(days)]
        text = (
            f"INSERT INTO {table} VALUES ({', '.join('?' for _ in columns)}) ON CONFLICT DO NOTHING"
            if excluded
            else f"DELETE FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in columns)}"
        )

        def work(transaction: Transaction) -> None:
            no = number_of(transaction, digest)
            transaction.execute(text, (no, source, *days))
            transaction.execute(NEW_EDITION, (no,))
            if day is not None:
                forget_month(transaction, no, day)

        self.write(work)
        return True

    @writing
    def upload(
        self, transaction: Transaction, digest: str, total: Total, fingerprint: bytes
    ) -> Outcome:
        """Add a tally that was collected elsewhere, as a source of its own; it never changes."""
        # The lock makes two uploads of one id wait for each other, whatever their days.
        found = transaction.execute(f"{_NUMBER} FOR UPDATE", (digest,)).fetchone()
        if not found:
            return Outcome.UNKNOWN
        (no,) = found
        before = transaction.execute(
            "SELECT day, segment, fingerprint FROM tallies WHERE question = ? AND source = ?",
            (no, total.source),
        ).fetchone()
        if before:
            same = before == (total.day, total.segment, fingerprint)
            return Outcome.REPEATED if same else Outcome.CONFLICT
        transaction.execute(
            "INSERT INTO tallies (question, day, source, segment, n, version, fingerprint, tally)"
            " VALUES (?, ?, ?, ?, ?, 1, ?, ?)",
            (no, total.day, total.source, total.segment, total.n, fingerprint, total.data),
        )
        transaction.execute(NEW_EDITION, (no,))
        return Outcome.STORED

    @writing
    def publish(self, transaction: Transaction, new: Publications, before: Publications) -> bool:
        """Show new sums of slices in place of those before.

        False if somebody else replaced one of them first, whose sum is then shown.
        """
        mine = True
        # In the same order for all, so that no two wait for each other in a circle.
        for part in sorted(new, key=lambda part: (part.question, part.days.first, part.days.last)):
            place, found = place_of(transaction, part), new[part]
            if place[0] is None:
                continue
            # Of two who replace the same row the second finds it gone, and then the first's.
            if part in before:
                text = f"DELETE {_PUBLISHED} AND n = ? AND edition = ?"
                transaction.execute(text, (*place, before[part].n, before[part].edition))
            inserted = transaction.execute(
                "INSERT INTO published"
                " (question, first, last, n, edition, tally, days, cells, looks)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (*place, *astuple(found)),
            )
            mine = mine and inserted.rowcount == 1
            transaction.execute(
                "DELETE FROM published WHERE question = ? AND no NOT IN"
                " (SELECT no FROM published WHERE question = ? ORDER BY no DESC LIMIT ?)",
                (place[0], place[0], records.MOST_PUBLISHED),
            )
        return mine

    @writing
    def keep(self, transaction: Transaction, key: Key) -> bool:
        """Store an access key; false if another key of its kind has the name."""
        text = "INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        return transaction.execute(text, astuple(key)).rowcount == 1

    @reading
    def key(self, transaction: Transaction, hash: bytes) -> Key | None:
        found = transaction.execute("SELECT * FROM keys WHERE hash = ?", (hash,)).fetchone()
        return Key(*found) if found else None

    @reading
    def keys(self, transaction: Transaction, kind: str) -> list[Key]:
        rows = transaction.execute("SELECT * FROM keys WHERE kind = ?", (kind,))
        return sorted((Key(*row) for row in rows), key=lambda key: key.name)

    @writing
    def use(self, transaction: Transaction, hash: bytes, day: int) -> None:
        """Note the last day on which a key was used."""
        transaction.execute("UPDATE keys SET last_used = ? WHERE hash = ?", (day, hash))

    @writing
    def drop(self, transaction: Transaction, hash: bytes) -> Key | None:
        """Remove a key and return it; if two drop the same key, one of them gets it."""
        text = "DELETE FROM keys WHERE hash = ? RETURNING *"
        found = transaction.execute(text, (hash,)).fetchone()
        return Key(*found) if found else None


def _read(row: tuple[str, str, str, str, int]) -> Asked:
    return Asked(row[0], row[1], records.State(row[2]), *row[3:])
