"""Housekeeping: folding all the time, sealing and sweeping once a minute.

Sums are made in the child process; only the exchange of a pile for its tally goes through the
writer, between two groups of submissions, so that nobody waits long.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from time import monotonic

from deniable.collector import mathematics
from deniable.collector.child import Child
from deniable.collector.counters import Counters
from deniable.collector.readers import Readers
from deniable.collector.settings import MIB, Settings
from deniable.collector.stores.store import Pile, StoreBroken
from deniable.collector.writer import Writer

_log = logging.getLogger("deniable.collector")
_PAUSE = 1.0
_ROUND = 60.0
_WORTH_IT = 64 * 1024
"""Bytes of waiting reports that are folded at once; less is folded once a round."""
_SLICE = MIB // 2
_SWEEP = 2000


@dataclass
class Housekeeping:
    """Keeps what waits short, and days and rows in order."""

    settings: Settings
    writer: Writer
    readers: Readers
    child: Child
    counters: Counters
    alarm: str | None = None

    async def run(self) -> None:
        """Go on until cancelled; a store that does not answer is tried again."""
        last_round = -_ROUND
        while True:
            try:
                due = monotonic() - last_round >= _ROUND
                if due:
                    await self.seal()
                while await self.fold(1 if due else _WORTH_IT):
                    pass
                if due:
                    await self.sweep()
                    last_round = monotonic()
            except StoreBroken:
                return
            except Exception as error:
                # Whatever it was, the next turn may succeed; submissions do not depend on it.
                _log.warning("housekeeping tries again: %s", type(error).__name__)
            await asyncio.sleep(_PAUSE)

    async def fold(self, least: int) -> bool:
        """Fold one pile; false if there is none."""
        pile = await self.readers.run(lambda store: store.pile(least, _SLICE))
        if pile is None:
            return False
        document = await self._document(pile)
        if document is not None:
            tally, n = await self.child.run(mathematics.fold, document, pile.tally, pile.reports)
            if await self.writer.run(lambda store: store.fold(pile, tally, n)):
                self.counters.folded += pile.n
        return True

    async def _document(self, pile: Pile) -> str | None:
        asked = await self.readers.run(lambda store: store.asked(pile.question))
        return asked.document if asked else None

    async def seal(self) -> None:
        """Seal old days; an alarm is logged when it begins."""
        window = await self.writer.run(lambda store: store.seal())
        if window.alarm and window.alarm != self.alarm:
            _log.error("no days are sealed: %s", window.alarm)
        self.alarm = window.alarm

    async def sweep(self) -> None:
        """Remove what nobody needs any more, bit by bit."""
        retention = self.settings.retention or None
        while await self.writer.run(lambda store: store.sweep(_SWEEP, retention)):
            pass
