"""What readers see: sums of tallies, which move only when enough new reports have come.

A published sum stays as it is until the question's minimum of new reports has arrived; it is in the
store, so that all collectors show the same, also after a restart. That is for sense, and so that
nobody watches single arrivals; it is not what makes reports private.

A request reads the store once to see what has moved. If anything has, it reads once more, runs one
job in the worker process and writes the new sums in one transaction.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from deniable.collector import breakdown, folding, jobs, views
from deniable.collector.problems import InvalidRequest, SearchEnded, TooCostly, TooFewReports
from deniable.collector.questions import Known, Recent
from deniable.collector.settings import MIB, Settings
from deniable.collector.stores.months import months_within
from deniable.collector.stores.records import Days, Publication, Slice
from deniable.collector.worker import Readers, Worker, WorkerEnded, Writer
from deniable.discoveries import Discoveries
from deniable.errors import DeniableError, InvalidParameter, OutOfDomain
from deniable.question import Question

TREND_DAYS = 31
"""Number of days that a trend follows at most."""
TREND_ROUNDS = 53
"""Number of rounds that it follows at most."""
_PATIENCE = 1.5
"""For how many seconds a page waits for a search."""
FEW_DAYS = 28
"""So few days are added up one by one."""
Result = TypeVar("Result")


@dataclass(frozen=True)
class Survey:
    """How the wanted sums stand: what stays as it was shown, what is new, and what there is not."""

    edition: int
    n: int
    """Reports of the first slice at this moment, shown or not."""
    reports: int
    """Reports of all wanted slices."""
    days: tuple[Slice, ...]
    periods: tuple[Slice, ...]
    """All days or rounds in which reports came; ``days`` are those that have a sum."""
    kept: dict[Slice, Publication]
    """As they were shown, without their tallies."""
    new: tuple[Slice, ...]
    before: dict[Slice, Publication]
    """What the new ones replace."""
    lacking: tuple[Slice, ...]
    """Wanted slices with too few reports."""
    dates: tuple[int, ...]
    """The days on which reports came."""

    @property
    def left_out(self) -> int:
        return len(self.periods) - len(self.days)


@dataclass(frozen=True)
class Shown:
    """What a page shows of sums, and of how many reports; without a look, why there is none."""

    n: int
    lacking: tuple[Slice, ...]
    minimum: int
    look: views.Look | None = None
    problem: DeniableError | None = None
    searching: bool = False
    """Whether a search for the answers goes on."""
    sure: int = 0
    """How many texts a search has found for sure."""


class Results:
    """Sums and what is made of them, from memory where nothing has changed."""

    def __init__(
        self, settings: Settings, readers: Readers, writer: Writer, worker: Worker
    ) -> None:
        self._settings, self._readers = settings, readers
        self._writer, self._worker = writer, worker
        self.searcher = Worker(settings.search_seconds, settings.search_memory)
        """The process for what takes long."""
        self._remembered: Recent[tuple[object, ...], Any] = Recent(32 * MIB)
        self._running: dict[tuple[object, ...], asyncio.Task[Any]] = {}

    async def total(
        self, known: Known, part: Slice, cells: tuple[int, ...] | None = None
    ) -> Publication:
        return await self._demand(known, jobs.Wanted((part,), cells=cells), jobs.Job(jobs.total))

    async def published(self, known: Known, part: Slice) -> int:
        """Return the number of reports in the published sum of a slice; 0 if there is none."""
        with suppress(TooFewReports):
            return await self._demand(known, jobs.Wanted((part,)), jobs.Job(jobs.count))
        return 0

    async def export(self, known: Known, wanted: jobs.Wanted, form: str) -> bytes:
        job = jobs.Job(breakdown.export_trend if wanted.daily else jobs.export, form)
        found = await self._demand(known, wanted, job)
        if isinstance(found, jobs.Lacking):
            raise TooFewReports(
                f"a segment is shown from {found.minimum} reports on, because of its error; this "
                f"one has {found.n}, and {found.minimum - found.n} are missing",
                minimum=found.minimum,
                missing=found.minimum - found.n,
            )
        return found

    async def divide(
        self, known: Known, wanted: jobs.Wanted, division: breakdown.Division
    ) -> bytes:
        return await self._demand(known, wanted, jobs.Job(breakdown.export_parts, division))

    async def discover(self, known: Known, wanted: jobs.Wanted) -> Discoveries[Question]:
        """Return what a search finds in the published sum: one search for all who ask."""
        if not known.discovers:
            raise InvalidRequest("the answers to this question are listed or named; estimate them")
        wanted = jobs.Wanted(wanted.parts[:1], candidates=wanted.candidates, cells=wanted.cells)
        # A search is long, and nobody waits for the sum.
        await self.published(known, wanted.parts[0])
        found: object = await self._demand(known, wanted, jobs.Job(jobs.discover, slow=True))
        if isinstance(found, SearchEnded):
            raise found
        return cast("Discoveries[Question]", found)

    async def _demand(self, known: Known, wanted: jobs.Wanted, job: jobs.Job[Result]) -> Result:
        """Do a job with the wanted sums, which must all be there."""
        while True:
            survey = await self._survey(known, wanted)
            if survey.lacking or (wanted.daily and not survey.days):
                raise TooFewReports(
                    f"estimates are shown from {self.minimum(known)} reports on; there are fewer",
                    minimum=self.minimum(known),
                )
            found = await self._make(known, wanted, survey, job)
            if found is not None:
                return found

    async def look(self, known: Known, wanted: jobs.Wanted, rows: int) -> Shown:
        """Return what a page shows, or why it shows nothing."""
        while True:
            survey = await self._survey(known, wanted)
            if known.is_open and not wanted.candidates and not known.discovers:
                return Shown(survey.n, (), self.minimum(known))
            shown = Shown(survey.n, survey.lacking, self.minimum(known))
            if wanted.parts[0] in survey.lacking:
                return shown
            sight = views.Sight(rows, known.terms.truth)
            try:
                if known.discovers and not wanted.candidates:
                    texts = await self.discover_soon(known, wanted, _PATIENCE)
                    if texts is None:
                        return replace(shown, searching=True)
                    sight = replace(sight, texts=texts)
                    shown = replace(shown, sure=len(texts.askable))
                    wanted = replace(wanted, candidates=texts.sure or None)
                found = await self._make(known, wanted, survey, jobs.Job(views.look, sight))
            except (SearchEnded, TooCostly, InvalidParameter, OutOfDomain) as problem:
                return replace(shown, problem=problem)
            if found is not None:
                return replace(shown, look=found)

    async def discover_soon(
        self, known: Known, wanted: jobs.Wanted, seconds: float = 60
    ) -> Discoveries[Question] | None:
        """Return what a search finds, or None if it goes on for longer than that."""
        search = asyncio.ensure_future(self.discover(known, wanted))
        search.add_done_callback(lambda done: done.cancelled() or done.exception())
        done, _ = await asyncio.wait([search], timeout=seconds)
        return await search if done else None

    def minimum(self, known: Known) -> int:
        """Return the fewest new reports with which a sum appears or moves."""
        return known.terms.minimum or self._settings.minimum

    async def _survey(self, known: Known, wanted: jobs.Wanted) -> Survey:
        """Look at the store, and tell which of the wanted sums have moved."""
        hull = Days(
            min([part.days.first for part in wanted.parts]),
            max([part.days.last for part in wanted.parts]),
        )
        whole = Slice(known.asked.digest, hull)
        standing = await self._readers.run(lambda store: store.standing(whole))
        minimum, grown = self.minimum(known), jobs.GROWN if known.discovers else 0
        daily = {
            part: [one for one in standing.daily if part.days.first <= one[0] <= part.days.last]
            for part in wanted.parts
        }
        counts = {part: sum([n for _, n in found]) for part, found in daily.items()}
        own = daily[wanted.parts[0]] if wanted.daily else []
        periods = wanted.periods(own)
        latest = list(periods.items())[-(TREND_DAYS if wanted.rounds is None else TREND_ROUNDS) :]
        days = {part: n for part, n in latest if n >= minimum}
        # What version 0.2.0 published does not say how many days it covers, which matters only
        # where people may answer again.
        uncounted = known.question.protocol.memoises
        kept, before, new, lacking = {}, {}, [], []
        for part, n in {**counts, **days}.items():
            shown = standing.published.get(part.days)
            if n < minimum:
                lacking.append(part)
            elif (
                shown is not None
                and (shown.days or not uncounted)
                and shown.edition == standing.edition
                and 0 <= n - shown.n < max(minimum, shown.n // grown if grown else 0)
            ):
                kept[part] = shown
            else:
                new.append(part)
                if shown is not None:
                    before[part] = shown
        return Survey(
            edition=standing.edition,
            n=counts[wanted.parts[0]],
            reports=sum(counts.values()),
            days=tuple(days),
            periods=tuple(periods),
            kept=kept,
            new=tuple(new),
            before=before,
            lacking=tuple(lacking),
            dates=tuple([day for day, _ in standing.daily]),
        )

    async def _make(
        self, known: Known, wanted: jobs.Wanted, survey: Survey, job: jobs.Job[Result]
    ) -> Result | None:
        """Do a job, once for all who wait for it; None if sums were published meanwhile."""
        cost, limit = survey.reports * len(wanted.candidates or ()), self._settings.estimate_limit
        if cost > limit:
            raise TooCostly(
                f"expected at most {limit} reports times candidates, got {cost}; fetch the tally "
                "with `deniable pull` and estimate there",
                limit=limit,
            )
        place = (job, wanted, survey.periods, survey.new, _state(survey.kept))
        if not survey.new and (found := self._remembered.get(place)) is not None:
            return cast("Result", found)
        task = self._running.get(place)
        if task is None:
            work = self._carry_out(known, wanted, survey, job)
            task = self._running[place] = asyncio.create_task(work)
            task.add_done_callback(lambda _: self._running.pop(place))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return cast("Result | None", await asyncio.shield(task))

    async def _carry_out(
        self, known: Known, wanted: jobs.Wanted, survey: Survey, job: jobs.Job[Result]
    ) -> Result | None:
        new, days = survey.new, survey.days
        counted = [part for part in wanted.parts if part in new]
        if wanted.parts[0] not in new:
            moved = [day for day in days if day in new]
            # Pooled rounds have days in common, and each row is read once.
            counted += [wanted.parts[0]] if moved and wanted.pooled > 1 else moved
        # The segments of what is replaced say which of them have moved, and its looks go on.
        again = known.question.segments.dimensions or known.discovers
        shown_before = survey.before if again else ()
        months = _whole_months(counted, new, survey.dates)
        rows = await self._readers.run(
            lambda store: store.snapshot(
                *counted, shown=(*survey.kept, *shown_before), months=months
            )
        )
        kept = {part: found for part, found in rows.published.items() if part in survey.kept}
        if kept.keys() != survey.kept.keys():
            return None
        order = jobs.Order(
            known.asked.document, wanted, days, survey.left_out, new, survey.edition, rows,
            self.minimum(known), survey.periods,
        )  # fmt: skip
        worker, done = self.searcher if job.slow else self._worker, None
        try:
            done = await worker.run(jobs.carry_out, order, job)
        except (WorkerEnded, MemoryError) as ended:
            if not job.slow:
                raise
            why = str(ended) if isinstance(ended, WorkerEnded) else "there is too little memory"
            problem = SearchEnded(
                f"the search was ended: {why}; fetch the tally with `deniable pull` and search it "
                "with `deniable discover` on another machine, or start the collector with more "
                "--search-seconds or --search-memory"
            )
            done = jobs.Done(cast("Result", problem), 1 << 10, {})
        except folding.DamagedMonth:
            digest = known.asked.digest
            await self._writer.run(lambda store: store.forget_months(digest))
            return None
        if done.new and not await self._writer.run(
            lambda store: store.publish(done.new, survey.before)
        ):
            return None
        shown = {**kept, **done.new}
        shown = {part: shown[part] for part in (*wanted.parts, *days) if part in shown}
        place = (job, wanted, survey.periods, (), _state(shown))
        self._remembered.put(place, done.result, done.size)
        return done.result


def _whole_months(
    counted: Sequence[Slice], new: Sequence[Slice], dates: Sequence[int]
) -> list[Days]:
    """Return the months that are needed as a whole: no new sum is of some of their days alone."""
    if len(dates) < FEW_DAYS:
        return []
    months = {month for part in counted for month in months_within(part.days, dates)}
    cut = {
        month
        for month in months
        for days in (part.days for part in new)
        if days.overlaps(month) and not (month.first in days and month.last in days)
    }
    return sorted(months - cut)


def _state(shown: Mapping[Slice, Publication]) -> tuple[tuple[int, int], ...]:
    return tuple([(found.n, found.edition) for found in shown.values()])
