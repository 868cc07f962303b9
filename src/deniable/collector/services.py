"""The services of a running collector, made once and handed to whoever needs them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from deniable.collector.access import Access
from deniable.collector.connections import Crowd, Held
from deniable.collector.housekeeping import Housekeeping
from deniable.collector.metrics import Counters
from deniable.collector.problems import Refusal
from deniable.collector.questions import Questions
from deniable.collector.results import Results
from deniable.collector.settings import Settings
from deniable.collector.stores.records import Key, StoreError, today
from deniable.collector.stores.store import Store
from deniable.collector.worker import Readers, Worker
from deniable.collector.writer import Health, Writer


@dataclass(frozen=True)
class Services:
    """Everything that handlers use."""

    settings: Settings
    writer: Writer
    readers: Readers
    questions: Questions
    access: Access
    counters: Counters
    worker: Worker
    results: Results
    housekeeping: Housekeeping
    crowd: Crowd
    held: Held
    health: Health

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Start what runs beside the requests; at the end write what waits and stop."""
        await self.writer.start()
        self.access.on_use = self._note_use
        keepers = [
            asyncio.create_task(self.housekeeping.run()),
            asyncio.create_task(self.health.watch(self.writer.probe)),
        ]
        try:
            yield
        finally:
            for keeper in keepers:
                keeper.cancel()
                with suppress(asyncio.CancelledError):
                    await keeper
            await self.writer.close()
            self.readers.close()
            self.worker.close()

    async def _note_use(self, key: Key) -> None:
        """Note the day on which a key is used; a store that cannot is no reason to refuse it."""
        with suppress(Refusal, StoreError):
            await self.writer.run(lambda store: store.use(key.hash, today()))


def assemble(settings: Settings, opener: Callable[[], Store]) -> Services:
    """Make the services; nothing runs yet."""
    health = Health()
    writer = Writer(opener, most=settings.queue_limit, health=health)
    readers = Readers(opener, health)
    counters, worker = Counters(), Worker(settings.worker_seconds)
    return Services(
        settings=settings,
        writer=writer,
        readers=readers,
        questions=Questions(settings, readers, writer, worker),
        access=Access(readers),
        counters=counters,
        worker=worker,
        results=Results(settings, readers, writer, worker),
        housekeeping=Housekeeping(settings, writer, readers, worker, counters),
        crowd=Crowd(
            settings.connection_limit, 0 if settings.url else settings.connections_per_address
        ),
        held=Held(settings.queue_bytes),
        health=health,
    )
