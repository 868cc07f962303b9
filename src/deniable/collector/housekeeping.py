"""Housekeeping: what keeps a store in order, while a collector runs and by an operator's hand.

A running collector folds all the time, sweeps four times a minute and seals once. Its worker
process adds up; only the exchange of a pile for its tally goes through the writer, between two
groups of submissions, so that nobody waits long.

An export is a ZIP file to keep before deleting a question. It has ``question.json``, a tally for
each day, source and segment, waiting reports included, and ``contents.json``: state, settings,
exclusions, the list of the tallies, and what could not be read. Ids, which only say what was
counted, stay out.
"""

import asyncio
import io
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic, time
from zipfile import ZIP_DEFLATED, ZipFile

from deniable.collector import folding, log
from deniable.collector.metrics import Counters
from deniable.collector.questions import read_terms
from deniable.collector.settings import MIB, Settings
from deniable.collector.stores import Store, records
from deniable.collector.worker import Readers, Worker, Writer

_PAUSE, _ROUND, _SWEEP_ROUND = 1.0, 60.0, 15.0
_WORTH_IT = 64 * 1024
"""As many bytes of waiting reports are folded right away, fewer once a round."""
_MOST_BYTES = MIB // 2
"""How much is folded at once."""
_SWEEP = 2000
"""How many rows are removed at once."""
_AT_ONCE = 2 * MIB
"""How much an operator folds at once."""
MEDIA_TYPE = "application/zip"
"""Of an export."""


@dataclass
class Housekeeping:
    """Folds waiting reports, seals days and sweeps rows, for as long as the collector runs."""

    settings: Settings
    writer: Writer
    readers: Readers
    worker: Worker
    counters: Counters
    alarm: str | None = None
    traces: bool = True
    """Whether the files of the store may still hold removed rows."""
    trouble: str | None = None
    """Why the last turn failed, if it did."""
    failures: int = 0
    last_success: float = 0.0
    """When the last turn succeeded, in seconds since 1970."""

    async def run(self) -> None:
        """Go on until cancelled; a store that does not answer is tried again.

        Each step stands alone: if one fails, the others are still done.
        """
        last_round, last_sweep = -_ROUND, -_ROUND
        while True:
            began, failures = monotonic(), self.failures
            due, sweeping = began - last_round >= _ROUND, began - last_sweep >= _SWEEP_ROUND
            try:
                if due and await self._attempt(self.seal) and await self._attempt(self.inspect):
                    last_round = began
                await self._attempt(partial(self.fold_all, 1 if due else _WORTH_IT))
                if due:
                    await self._attempt(self.sum_months)
                if sweeping and await self._attempt(self.sweep):
                    last_sweep = began
            except records.StoreBroken:  # already reported by whoever met it
                return
            else:
                if self.failures == failures:
                    self.last_success = time()
                    if self.trouble is not None:
                        log.warning("housekeeping works again")
                    self.trouble = None
            await asyncio.sleep(_PAUSE)

    async def _attempt(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Do one step; whatever goes wrong, the next turn may succeed."""
        try:
            await step()
        except records.StoreBroken:
            raise
        except Exception as error:  # submissions do not depend on it
            self.failures += 1
            reason = f": {error.reason}" if isinstance(error, records.StoreError) else ""
            said = f"{type(error).__name__}{reason}"
            if self.trouble is None:
                log.error("housekeeping failed and will be tried again: %s", said)
            self.trouble = said
            return False
        return True

    async def inspect(self) -> None:
        """Set aside the waiting rows that cannot be placed."""
        if damaged := await self.readers.run(lambda store: store.damaged()):
            await self._set_aside(damaged)

    async def fold_all(self, least: int) -> None:
        while await self.fold(least):
            pass

    async def fold(self, least: int) -> bool:
        """Fold one pile, or set aside what keeps it from folding; false if there is none."""
        pile = await self.readers.run(lambda store: store.pile(least, _MOST_BYTES))
        if pile is None:
            return False
        asked = await self.readers.run(lambda store: store.asked(pile.question))
        if asked is None:
            return True
        found = await self.worker.run(folding.fold, asked.document, pile)
        if isinstance(found, bytes):
            tally = found
            if await self.writer.run(lambda store: store.fold(pile, tally)):
                self.counters.folded += pile.n
            return True
        await self._set_aside(found.rows)
        if (said := found.tally) is not None:
            await self.writer.run(lambda store: store.set_tally_aside(pile, said))
            log.error("a tally was set aside: %s", said)
        return True

    async def _set_aside(self, rows: Mapping[int, str]) -> None:
        await self.writer.run(lambda store: store.set_aside(rows))
        for no, reason in rows.items():
            log.error("waiting row %d was set aside: %s", no, reason)

    async def sum_months(self) -> None:
        while await self.sum_month():
            pass

    async def sum_month(self) -> bool:
        """Keep the sums of a sealed month, so that long ranges are read quickly.

        False if there is none, or one that cannot be read or has moved: the next round looks again.
        """
        month = await self.readers.run(lambda store: store.ripe())
        if month is None:
            return False
        asked = await self.readers.run(lambda store: store.asked(month.question))
        if asked is None:
            return False
        sums = await self.worker.run(folding.sum_month, asked.document, month.tallies)
        if not sums:
            return False
        return await self.writer.run(lambda store: store.keep_month(month, sums))

    async def seal(self) -> None:
        """Seal old days, and log an alarm when it begins and ends."""
        window = await self.writer.run(lambda store: store.seal())
        if window.alarm and window.alarm != self.alarm:
            log.error("clock alarm: %s", window.alarm)
        if self.alarm and not window.alarm:
            log.warning("the clock alarm is over")
        self.alarm = window.alarm

    async def sweep(self) -> None:
        """Remove what nobody needs any more, step by step, and then its traces."""
        retention = self.settings.retention or None
        while await self.writer.run(lambda store: store.sweep(_SWEEP, retention)):
            self.traces = True
        if self.traces:
            self.traces = not await self.writer.run(lambda store: store.erase())


def fold_all(store: Store) -> int:
    """Add all waiting reports to tallies, and return how many; what cannot be read is set aside."""
    documents = {asked.digest: asked.document for asked in store.all_asked()}
    store.set_aside(store.damaged())
    folded = 0
    while pile := store.pile(1, _AT_ONCE):
        found = folding.fold(documents[pile.question], pile)
        if isinstance(found, bytes):
            folded += pile.n if store.fold(pile, found) else 0
            continue
        store.set_aside(found.rows)
        if found.tally is not None:
            store.set_tally_aside(pile, found.tally)
    return folded


def check(store: Store) -> Iterator[str]:
    """Read every question, tally and report, and yield a sentence for each thing that is wrong."""
    yield from store.check()
    damaged = store.damaged()
    for no, reason in damaged.items():
        yield f"waiting row {no}: {reason}"
    for asked in store.all_asked():
        try:
            read_terms(asked.terms)
            if folding.question_of(asked.document).digest != asked.digest:
                yield f"the document of the question {asked.digest} belongs to another question"
                continue
        except ValueError as error:  # which an error of msgspec is too
            yield f"the question {asked.digest} cannot be read: {error}"
            continue
        for holding in store.holdings(asked.digest):
            if holding.row not in damaged and (fault := fault_of(asked, holding)) is not None:
                yield f"{name_of(holding)} of the question {asked.digest}: {fault}"
    for aside in store.aside():
        yield describe(aside)


def fault_of(asked: records.Asked, holding: records.Holding) -> str | None:
    """Read the contents of a row, and return what is wrong with them, if anything is."""
    if holding.fault is not None:
        return holding.fault
    n, data = holding.total.n, holding.total.data
    tallies, waiting = ([], [data]) if holding.table == "waiting" else ([data], [])
    return folding.find_fault(asked.document, n, tallies, waiting)


def name_of(holding: records.Holding) -> str:
    if holding.table == "waiting":
        return f"waiting row {holding.row}"
    kind = {"tallies": "tally", "months": "sum of the month"}.get(holding.table, "published sum")
    source = f" and the source {holding.total.source!r}" if holding.total.source else ""
    segment = f" and the segment {holding.total.segment}" if holding.total.segment else ""
    return f"the {kind} of {records.write_day(holding.total.day)}{source}{segment}"


def describe(aside: records.Aside) -> str:
    said = {
        "question": aside.question,
        "day": None if aside.day is None else records.write_day(aside.day),
        "source": aside.source,
        "reports": aside.n,
    }
    known = ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)
    where = f"{aside.origin} ({known or 'nothing is known of it'})"
    return f"a row of {where} was set aside: {aside.reason}"


@dataclass(frozen=True)
class Gathered:
    """Everything that a store has of a question, still unchecked."""

    asked: records.Asked
    holdings: tuple[records.Holding, ...]
    aside: tuple[records.Aside, ...]
    sources: tuple[records.Source, ...]


def gather(store: Store, asked: records.Asked) -> Gathered:
    return Gathered(
        asked,
        tuple(f for f in store.holdings(asked.digest) if f.table in ("tallies", "waiting")),
        tuple(found for found in store.aside() if found.question == asked.digest),
        tuple(store.sources(asked.digest)),
    )


def pack(gathered: Gathered) -> bytes:
    """Add up what was gathered by day, source and segment, and return the ZIP file."""
    asked = gathered.asked
    segments = folding.question_of(asked.document).segments
    places: dict[tuple[int, str, int], tuple[list[bytes], list[bytes]]] = {}
    counts: Counter[tuple[int, str, int]] = Counter()
    unreadable = [describe(found) for found in gathered.aside]
    for holding in gathered.holdings:
        if (fault := fault_of(asked, holding)) is not None:
            unreadable.append(f"{name_of(holding)}: {fault}")
            continue
        total = holding.total
        place = (total.day, total.source, total.segment)
        tallies, waiting = places.setdefault(place, ([], []))
        (waiting if holding.table == "waiting" else tallies).append(total.data)
        counts[place] += total.n
    listed, stream = [], io.BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        archive.writestr("question.json", asked.document)
        for number, (place, found) in enumerate(sorted(places.items()), 1):
            name, (day, source, cell) = f"tallies/{number:06d}.tally", place
            archive.writestr(name, folding.add_up(asked.document, *found))
            row = {
                "file": name,
                "day": records.write_day(day),
                "source": source,
                "n": counts[place],
            }
            listed.append(row | ({"segment": segments.named(cell)} if segments else {}))
        contents = {
            "digest": asked.digest,
            "state": asked.state.value,
            "settings": json.loads(asked.terms),
            "excluded": [
                {"source": found.name, "days": None if found.excluded else days}
                for found in gathered.sources
                if (days := [records.write_day(day) for day in found.excluded_days])
                or found.excluded
            ],
            "tallies": listed,
            "unreadable": unreadable,
        }
        archive.writestr("contents.json", json.dumps(contents, indent=1, ensure_ascii=False))
    return stream.getvalue()
