"""What readers see: sums of tallies, which move only when enough new reports have come.

A published sum stays as it is until the minimum of new reports of its question has arrived; it is
in the store, so that all collectors show the same, also after a restart. That is for sense, and so
that nobody watches single arrivals; it is not what makes reports private.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from deniable.collector import jobs
from deniable.collector.days import write_day
from deniable.collector.problems import TooCostly, TooFewReports
from deniable.collector.questions import Known
from deniable.collector.settings import MIB, Settings
from deniable.collector.stores.records import Days, Publication, Slice
from deniable.collector.worker import Readers, Recent, Worker
from deniable.collector.writer import Writer
from deniable.presentation.trend import Trend
from deniable.presentation.view import View


@dataclass(frozen=True)
class Range:
    """A range of days, both ends included, and how many people answered in it, if that is known."""

    first: int
    last: int
    people: int | None = None


class Publisher:
    """Sums and estimates, from memory where nothing has changed."""

    def __init__(
        self, settings: Settings, readers: Readers, writer: Writer, worker: Worker
    ) -> None:
        self._settings, self._readers, self._writer = settings, readers, writer
        self._worker = worker
        self._results: Recent[tuple[object, ...], bytes] = Recent(32 * MIB)
        self._turn = asyncio.Lock()  # so that many who ask for the same sum do not all make it

    async def total(self, known: Known, days: Range) -> Publication:
        """Return the published sum of a range of days."""
        part = Slice(known.asked.digest, Days(days.first, days.last))
        minimum = known.terms.minimum or self._settings.minimum
        (n, edition), before = await self._readers.run(
            lambda store: (store.standing(part), store.published(part))
        )
        if n < minimum:
            raise TooFewReports(
                f"expected at least {minimum} reports before estimates are shown, got fewer",
                minimum=minimum,
            )
        # What version 0.2.0 published does not say of how many days it is, which only those
        # questions have to know whose people may answer again.
        complete = before and (before.days or not known.question.protocol.memoises)
        if before and complete and before.edition == edition and 0 <= n - before.n < minimum:
            return before
        async with self._turn:
            new = await self._add_up(known, days, edition)
            return await self._writer.run(lambda store: store.publish(part, new, before))

    async def _add_up(self, known: Known, days: Range, edition: int) -> Publication:
        part = Slice(known.asked.digest, Days(days.first, days.last))
        snapshot = await self._readers.run(lambda store: store.snapshot(part))
        tally = await self._worker.run(
            jobs.add_up,
            known.asked.document,
            [total.data for total in snapshot.tallies],
            [total.data for total in snapshot.waiting],
        )
        return Publication(snapshot.n, edition, tally, snapshot.days)

    async def estimate(
        self, known: Known, days: Range, candidates: tuple[str, ...] | None, form: str
    ) -> bytes:
        """Return the estimates of a range of days in one of the formats."""
        published = await self.total(known, days)
        self.check_cost(published.n, candidates)
        place = (known.asked.digest, days, candidates, form, published.n, published.edition)
        if found := self._results.get(place):
            return found
        asked = None if candidates is None else list(candidates)
        result = await self._worker.run(
            jobs.estimate,
            known.asked.document,
            collected(published, days),
            asked,
            form,
        )
        self._results.put(place, result, len(result))
        return result

    async def compare(
        self,
        known: Known,
        ranges: tuple[Range, Range],
        candidates: tuple[str, ...] | None,
        form: str,
    ) -> bytes:
        """Compare two ranges of days that do not overlap."""
        before, after = [await self.total(known, days) for days in ranges]
        self.check_cost(before.n + after.n, candidates)
        asked = None if candidates is None else list(candidates)
        return await self._worker.run(
            jobs.compare,
            known.asked.document,
            (collected(before, ranges[0]), collected(after, ranges[1])),
            asked,
            form,
        )

    def check_cost(self, n: int, candidates: tuple[str, ...] | None) -> None:
        """Refuse an estimate that takes too long here."""
        if candidates is not None and n * len(candidates) > self._settings.estimate_limit:
            raise TooCostly(
                f"expected at most {self._settings.estimate_limit} reports times candidates, got "
                f"{n * len(candidates)}; fetch the tally with `deniable pull` and estimate there",
                limit=self._settings.estimate_limit,
            )


def collected(published: Publication, days: Range) -> jobs.Collected:
    """Return a published sum as it is estimated from."""
    return jobs.Collected(published.tally, published.days, days.people)


TREND_DAYS = 31
_KEPT = 256
Candidates = tuple[str, ...] | None
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Showing:
    """Views of published sums; the same sum is looked at once."""

    def __init__(self, publisher: Publisher, readers: Readers, worker: Worker) -> None:
        self._publisher, self._readers, self._worker = publisher, readers, worker
        self._looks: Recent[tuple[object, ...], jobs.Look] = Recent(_KEPT)
        self._changes: Recent[tuple[object, ...], View] = Recent(_KEPT)
        self._trends: Recent[tuple[object, ...], Trend] = Recent(_KEPT)

    async def estimates(
        self, known: Known, days: Range, candidates: Candidates, rows: int
    ) -> jobs.Look:
        """Return the largest rows of a range of days."""
        published = await self._publisher.total(known, days)
        self._publisher.check_cost(published.n, candidates)
        place = (known.asked.digest, days, candidates, rows, *_state(published))
        return await self._once(
            self._looks,
            place,
            jobs.look,
            known.asked.document,
            collected(published, days),
            _list(candidates),
            rows,
        )

    async def changes(
        self, known: Known, ranges: tuple[Range, Range], candidates: Candidates, rows: int
    ) -> View:
        """Return the largest changes between two ranges of days."""
        before, after = [await self._publisher.total(known, days) for days in ranges]
        self._publisher.check_cost(before.n + after.n, candidates)
        place = (known.asked.digest, ranges, candidates, rows, *_state(before, after))
        both = collected(before, ranges[0]), collected(after, ranges[1])
        return await self._once(
            self._changes,
            place,
            jobs.look_at_changes,
            known.asked.document,
            both,
            _list(candidates),
            rows,
        )

    async def trend(self, known: Known, days: Range, candidates: Candidates) -> Trend | None:
        """Return the latest days of a range one by one; None where no day has enough reports."""
        digest = known.asked.digest
        part = Slice(digest, Days(days.first, days.last))
        daily = await self._readers.run(lambda store: store.daily(part))
        shown: dict[str, Publication] = {}
        for day, _ in daily[-TREND_DAYS:]:
            try:
                shown[write_day(day)] = await self._publisher.total(known, Range(day, day))
            except TooFewReports:
                continue
        if not shown:
            return None
        total = await self._publisher.total(known, days)
        self._publisher.check_cost(sum(day.n for day in shown.values()), candidates)
        left_out = len(daily) - len(shown)
        place = (digest, days, candidates, left_out, *_state(total, *shown.values()))
        listed = [(day, published.tally) for day, published in shown.items()]
        return await self._once(
            self._trends,
            place,
            jobs.follow,
            known.asked.document,
            listed,
            collected(total, days),
            _list(candidates),
            left_out,
        )

    async def _once(
        self,
        kept: Recent[tuple[object, ...], Result],
        place: tuple[object, ...],
        make: Callable[Parameters, Result],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result:
        """Make something in the worker unless it was made before."""
        found = kept.get(place)
        if found is not None:
            return found
        result = await self._worker.run(make, *args, **kwargs)
        kept.put(place, result, 1)
        return result


def _state(*sums: Publication) -> tuple[int, ...]:
    return tuple(number for found in sums for number in (found.n, found.edition))


def _list(candidates: Candidates) -> list[str] | None:
    return None if candidates is None else list(candidates)
