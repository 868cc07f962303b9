"""The parts of a running collector, made once and handed to whoever needs them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from deniable.collector.access import Access
from deniable.collector.child import Child
from deniable.collector.counters import Counters
from deniable.collector.housekeeping import Housekeeping
from deniable.collector.publishing import Publisher
from deniable.collector.questions import Questions
from deniable.collector.readers import Readers
from deniable.collector.settings import Settings
from deniable.collector.showing import Showing
from deniable.collector.stores.store import Store
from deniable.collector.writer import Writer


@dataclass(frozen=True)
class Parts:
    """Everything that handlers use."""

    settings: Settings
    writer: Writer
    readers: Readers
    questions: Questions
    access: Access
    counters: Counters
    child: Child
    publisher: Publisher
    showing: Showing
    housekeeping: Housekeeping

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Start what runs beside the requests; at the end write what waits and stop."""
        await self.writer.start()
        keeper = asyncio.create_task(self.housekeeping.run())
        try:
            yield
        finally:
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper
            await self.writer.close()
            self.readers.close()
            self.child.close()


def assemble(settings: Settings, opener: Callable[[], Store]) -> Parts:
    """Make the parts; nothing runs yet."""
    writer, readers = Writer(opener, most=settings.queue_limit), Readers(opener)
    counters, child = Counters(), Child()
    publisher = Publisher(settings, readers, writer, child)
    return Parts(
        settings=settings,
        writer=writer,
        readers=readers,
        questions=Questions(readers),
        access=Access(readers),
        counters=counters,
        child=child,
        publisher=publisher,
        showing=Showing(publisher, readers, child),
        housekeeping=Housekeeping(settings, writer, readers, child, counters),
    )
