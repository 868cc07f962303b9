"""What pages show of the counts: tables, changes and trends, made once for each published sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from deniable.collector import looking
from deniable.collector.child import Child
from deniable.collector.days import write_day
from deniable.collector.problems import TooFewReports
from deniable.collector.publishing import Publisher, Range, collected
from deniable.collector.questions import Known
from deniable.collector.readers import Readers
from deniable.collector.recent import Recent
from deniable.collector.stores.records import Days, Publication, Slice
from deniable.presentation import Trend, View

TREND_DAYS = 31
_KEPT = 256
Candidates = tuple[str, ...] | None
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Showing:
    """Views of published sums; the same sum is looked at once."""

    def __init__(self, publisher: Publisher, readers: Readers, child: Child) -> None:
        self._publisher, self._readers, self._child = publisher, readers, child
        self._looks: Recent[tuple[object, ...], looking.Look] = Recent(_KEPT)
        self._changes: Recent[tuple[object, ...], View] = Recent(_KEPT)
        self._trends: Recent[tuple[object, ...], Trend] = Recent(_KEPT)

    async def estimates(
        self, known: Known, days: Range, candidates: Candidates, rows: int
    ) -> looking.Look:
        """Return the largest rows of a range of days."""
        published = await self._publisher.total(known, days)
        self._publisher.check_cost(published.n, candidates)
        place = (known.asked.digest, days, candidates, rows, *_state(published))
        return await self._once(
            self._looks,
            place,
            looking.look,
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
            looking.look_at_changes,
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
            looking.follow,
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
        """Make something in the child unless it was made before."""
        found = kept.get(place)
        if found is not None:
            return found
        result = await self._child.run(make, *args, **kwargs)
        kept.put(place, result, 1)
        return result


def _state(*sums: Publication) -> tuple[int, ...]:
    return tuple(number for found in sums for number in (found.n, found.edition))


def _list(candidates: Candidates) -> list[str] | None:
    return None if candidates is None else list(candidates)
