"""What a store promises: the verbs, and what can be wrong with it.

A store keeps bytes by day and does no mathematics: its callers know what a report is and how
tallies add. Days are whole numbers, counted from 1970-01-01 in UTC. One thread at a time uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from deniable.collector.stores.records import (
    Aside,
    Asked,
    Holding,
    Key,
    Measures,
    Outcome,
    Pile,
    Publication,
    Slice,
    Snapshot,
    Source,
    Standing,
    State,
    Submission,
    Total,
    Window,
)
from deniable.errors import DeniableError

KINDS = {
    "full": "the store's disk is full",
    "read-only": "the store is read-only",
    "missing": "the store's file is gone",
    "replaced": "the store's file was replaced by another one",
    "corrupt": "the store is corrupt",
    "busy": "the store is locked or too slow",
    "unreachable": "the database does not answer",
    "unsuitable": "this release cannot use the store, or not where it is kept",
    "failed": "the store failed",
}
"""What can be wrong with a store: a label for metrics, and what anybody may be told."""


class StoreError(DeniableError):
    """Something is wrong with the store; ``kind`` is one of ``KINDS``.

    The message is for the operator's log and may name files; ``reason`` is for everybody.
    """

    usual = "failed"

    def __init__(self, message: str, *, value: object = None, kind: str | None = None) -> None:
        super().__init__(message, value=value)
        self.kind = kind or self.usual

    @property
    def reason(self) -> str:
        """What is wrong, without the names of files or servers."""
        return KINDS[self.kind]


class StoreUnavailable(StoreError):
    """The store cannot be reached or written at the moment: nothing was acknowledged."""


class StoreReplaced(StoreUnavailable):
    """The file at the store's path is gone, or is not the one that was opened."""

    usual = "replaced"


class StoreBroken(StoreError):
    """The store can no longer be trusted: the collector must stop."""

    usual = "unsuitable"


class StoreCorrupt(StoreBroken):
    """What the store holds is not what was written to it."""

    usual = "corrupt"


class Store(Protocol):
    """All that a collector asks of a database; one test suite checks it sentence by sentence."""

    def add(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Store submissions in one transaction that is on the disk when this returns.

        Returns an outcome for each, in order. The same id with the same bytes is stored once, and
        with other bytes it is a conflict, even within one call. The same transaction checks that
        question and day are open, and keeps both from changing until it ends.
        """

    def window(self) -> Window: ...

    def ask(self, asked: Asked) -> bool:
        """Store a question; false if it is there already, and then its state and terms stay."""

    def asked(self, digest: str) -> Asked | None:
        """Return a question, unless it is unknown or deleted."""

    def all_asked(self) -> list[Asked]:
        """Return all questions that are not deleted, in the order in which they were stored."""

    def change(self, digest: str, *, state: State | None = None, terms: str | None = None) -> bool:
        """Open, close or delete a question, or replace its terms; false if it is unknown.

        When this returns, no submission that the new state forbids will be acknowledged any more.
        """

    def standing(self, part: Slice) -> Standing:
        """Return what was counted in a slice from day to day, and the heads of published sums."""

    def snapshot(self, *parts: Slice, shown: Iterable[Slice] = ()) -> Snapshot:
        """Return what was counted in slices without a common day, each report exactly once.

        With it come the published sums of further slices, of those that have one.
        """

    def sources(self, digest: str) -> list[Source]: ...

    def exclude(self, digest: str, source: str, excluded: bool, *, day: int | None = None) -> bool:
        """Leave a source out of every count, or count it again; false if there is no such source.

        With a day, only that day's reports are meant. A source may be left out both ways at once.
        """

    def upload(self, digest: str, total: Total, fingerprint: bytes) -> Outcome:
        """Add a tally that was collected elsewhere, as a source of its own; it never changes."""

    def publish(
        self, new: Mapping[Slice, Publication], before: Mapping[Slice, Publication]
    ) -> bool:
        """Show new sums of slices in place of those before.

        False if somebody else replaced one of them first, whose sum is then shown.
        """

    def pile(self, least: int, most: int) -> Pile | None:
        """Return the waiting reports to fold next, or None if folding is not worth it yet.

        A pile holds at most ``most`` bytes, or one group. Sealed days come first and are always
        worth it; other days are once ``least`` bytes wait.
        """

    def fold(self, pile: Pile, tally: bytes) -> bool:
        """Replace a pile and its tally by the new tally of both, in one transaction.

        Changes nothing and returns false if anybody has folded any of it in the meantime.
        """

    def damaged(self) -> dict[int, str]:
        """Return the waiting rows that cannot be placed, by number, with the reason for each.

        This checks only what says where a row belongs; its reports are checked by folding.
        """

    def set_aside(self, rows: Mapping[int, str]) -> int:
        """Move waiting rows out of everybody's way, with the reason; return how many."""

    def set_tally_aside(self, pile: Pile, reason: str) -> bool:
        """Do the same with the tally of a pile; false if it has changed in the meantime."""

    def aside(self) -> list[Aside]:
        """Return what was set aside, unless its question was deleted."""

    def seal(self, *, trust_clock: bool = False) -> Window:
        """Seal the days that are older than the window, and return the days that are then open.

        If the store's clock has moved by more than two days since the last call, this seals
        nothing and the window carries an alarm, unless ``trust_clock``.
        """

    def reopen(self) -> Window:
        """Reopen the days that only a wrong clock has sealed, and return the days then open.

        A day whose ids were forgotten stays sealed, and so do all days before it: nobody could tell
        a submission that was counted there from a new one.
        """

    def sweep(self, most: int, retention: int | None = None) -> int:
        """Remove up to ``most`` rows that nobody needs any more, and return how many.

        These are the ids of days that are sealed and folded, everything of deleted questions, and,
        except during a clock alarm, tallies that are more than ``retention`` days old.
        """

    def erase(self) -> bool:
        """Overwrite what the files still have of removed rows; false if a reader is in the way."""

    def probe(self) -> None:
        """Write something meaningless that is on the disk when this returns."""

    def measure(self) -> Measures: ...

    def keep(self, key: Key) -> bool:
        """Store an access key; false if another key of its kind has the name."""

    def key(self, hash: bytes) -> Key | None: ...

    def keys(self, kind: str) -> list[Key]: ...

    def use(self, hash: bytes, day: int) -> None:
        """Note the last day on which a key was used."""

    def drop(self, hash: bytes) -> Key | None:
        """Remove a key and return it; if two drop the same key, one of them gets it."""

    def holdings(self, digest: str) -> Iterator[Holding]:
        """Yield every row that counts for a question, excluded or not, as it is at one moment."""

    def check(self) -> Iterator[str]:
        """Yield a sentence for each thing that is wrong with the store."""

    def backup(self, target: Path) -> None:
        """Write a consistent copy to a new file while the collector goes on.

        The file gets its name only when the whole copy is on the disk.
        """

    def close(self) -> None: ...
