"""Housekeeping: folding all the time, sweeping four times a minute, sealing once.

The worker process adds up; only the exchange of a pile for its tally goes through the writer,
between two groups of submissions, so that nobody waits long.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic, time

from deniable.collector import jobs
from deniable.collector.metrics import Counters
from deniable.collector.settings import MIB, Settings
from deniable.collector.stores.records import Pile, StoreBroken, StoreError
from deniable.collector.worker import Readers, Worker
from deniable.collector.writer import Writer

_log = logging.getLogger("deniable.collector")
_PAUSE = 1.0
_ROUND = 60.0
_SWEEP_ROUND = 15.0
_WORTH_IT = 64 * 1024
"""As many bytes of waiting reports are folded right away, fewer once a round."""
_MOST_BYTES = MIB // 2
"""How much is folded at once."""
_SWEEP = 2000
"""How many rows are removed at once."""


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
                if sweeping and await self._attempt(self.sweep):
                    last_sweep = began
            except StoreBroken:  # already reported by whoever met it
                return
            else:
                if self.failures == failures:
                    self._succeed()
            await asyncio.sleep(_PAUSE)

    async def _attempt(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Do one step; whatever goes wrong, the next turn may succeed."""
        try:
            await step()
        except StoreBroken:
            raise
        except Exception as error:  # submissions do not depend on it
            self._fail(error)
            return False
        return True

    def _succeed(self) -> None:
        self.last_success = time()
        if self.trouble is not None:
            _log.warning("housekeeping works again")
        self.trouble = None

    def _fail(self, error: Exception) -> None:
        self.failures += 1
        said = f"{type(error).__name__}: {error.reason}" if isinstance(error, StoreError) else None
        if self.trouble is None:
            _log.error(
                "housekeeping failed and will be tried again: %s", said or type(error).__name__
            )
        self.trouble = said or type(error).__name__

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
        if pile.damaged:
            await self._set_aside(pile.damaged)
            return True
        document = await self._document(pile)
        if document is None:
            return True
        found = await self.worker.run(jobs.fold, document, pile)
        if isinstance(found, bytes):
            tally = found
            if await self.writer.run(lambda store: store.fold(pile, tally)):
                self.counters.folded += pile.n
            return True
        await self._set_aside(found.rows)
        if (said := found.tally) is not None:
            await self.writer.run(lambda store: store.set_tally_aside(pile, said))
            _log.error("a tally was set aside: %s", said)
        return True

    async def _set_aside(self, rows: Mapping[int, str]) -> None:
        await self.writer.run(lambda store: store.set_aside(rows))
        for no, reason in rows.items():
            _log.error("waiting row %d was set aside: %s", no, reason)

    async def _document(self, pile: Pile) -> str | None:
        asked = await self.readers.run(lambda store: store.asked(pile.question))
        return asked.document if asked else None

    async def seal(self) -> None:
        """Seal old days, and log an alarm when it begins and ends."""
        window = await self.writer.run(lambda store: store.seal())
        if window.alarm and window.alarm != self.alarm:
            _log.error("clock alarm: %s", window.alarm)
        if self.alarm and not window.alarm:
            _log.warning("the clock alarm is over")
        self.alarm = window.alarm

    async def sweep(self) -> None:
        """Remove what nobody needs any more, step by step, and then its traces."""
        retention = self.settings.retention or None
        while await self.writer.run(lambda store: store.sweep(_SWEEP, retention)):
            self.traces = True
        if self.traces:
            self.traces = not await self.writer.run(lambda store: store.erase())
