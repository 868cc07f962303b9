"""The readers: a few threads, each with a store of its own, for all that only reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, local
from typing import TypeVar

from deniable.collector.health import Health
from deniable.collector.stores.base import Store, StoreError

Result = TypeVar("Result")


class Readers:
    """Run reading work off the event loop."""

    def __init__(self, opener: Callable[[], Store], health: Health, threads: int = 3) -> None:
        self._opener, self._health = opener, health
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="reader")
        self._mine = local()
        self._lock = Lock()
        self._stores: list[Store] = []

    async def run(self, work: Callable[[Store], Result]) -> Result:
        """Run ``work`` on a store that no other thread uses meanwhile."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._pool, self._work, work)
        except StoreError as error:
            self._health.met(error)
            raise

    def _work(self, work: Callable[[Store], Result]) -> Result:
        store: Store | None = getattr(self._mine, "store", None)
        if store is None:
            store = self._mine.store = self._opener()
            with self._lock:
                self._stores.append(store)
        return work(store)

    def close(self) -> None:
        """Wait for what runs, and let go of the stores."""
        self._pool.shutdown()
        for store in self._stores:
            store.close()
