"""The writer: one thread that stores submissions in groups, and does everything else that writes.

While one transaction is on its way to the disk, the next group gathers in the queue; there is no
other delay. A submission is answered only when the transaction of its group is on the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import NamedTuple, TypeVar

from deniable.collector.health import Health
from deniable.collector.metrics import Histogram
from deniable.collector.problems import QueueFull, Stopping
from deniable.collector.stores.base import Store
from deniable.collector.stores.records import Outcome, Submission

Result = TypeVar("Result")
Answer = Callable[[], None]
"""What the event loop does after something was written."""
Work = Callable[[Store], Answer]

_LARGEST_GROUP = 1024
_LARGEST_BYTES = 1 << 23


class _Queued(NamedTuple):
    submission: Submission
    future: asyncio.Future[Outcome]


class Writer:
    """Group commit on a store that only this thread uses."""

    def __init__(self, opener: Callable[[], Store], *, most: int, health: Health) -> None:
        self._opener, self._most, self._health = opener, most, health
        self.commits = Histogram()
        """How long groups took to be stored."""
        self._queue: SimpleQueue[_Queued | Work | None] = SimpleQueue()
        self._thread = Thread(target=self._serve, name="writer", daemon=True)
        self._closing = False
        self.waiting = 0
        """How many submissions are queued and not answered; only the event loop changes it."""
        self._oldest = 0.0

    async def start(self) -> None:
        """Open the store; what goes wrong there is raised here."""
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._thread.start()
        await self._opened

    async def close(self) -> None:
        """Write what waits, and end the thread."""
        if not self._closing:
            self._closing = True
            self._queue.put(None)
        if self._thread.ident is not None:
            await asyncio.to_thread(self._thread.join)

    def submit(self, submission: Submission) -> asyncio.Future[Outcome]:
        """Queue a submission; the future is done when it is on the disk."""
        self._refuse_late()
        if self.waiting >= self._most:
            raise QueueFull("too many submissions wait to be stored; send this one again later")
        future: asyncio.Future[Outcome] = self._loop.create_future()
        if not self.waiting:
            self._oldest = monotonic()
        self.waiting += 1
        self._queue.put(_Queued(submission, future))
        return future

    async def run(self, work: Callable[[Store], Result]) -> Result:
        """Run something else that writes, between two groups."""
        self._refuse_late()
        future: asyncio.Future[Result] = self._loop.create_future()

        def task(store: Store) -> Answer:
            try:
                result = work(store)
            except Exception as error:
                return partial(self._fail, [future], error)
            return partial(_succeed, [future], [result])

        self._queue.put(task)
        return await future

    async def probe(self) -> None:
        """Write something meaningless, to see whether the store can be written."""
        await self.run(lambda store: store.probe())

    @property
    def age(self) -> float:
        """For how many seconds, at most, the oldest submission has waited."""
        return monotonic() - self._oldest if self.waiting else 0.0

    def _refuse_late(self) -> None:
        if (broken := self._health.broken) is not None:
            raise type(broken)(str(broken), value=broken.value, kind=broken.kind)
        if self._closing:
            raise Stopping("the collector is shutting down; send this one again later")

    def _serve(self) -> None:
        try:
            store = self._opener()
        except Exception as error:
            self._loop.call_soon_threadsafe(_fail, [self._opened], error)
            return
        self._loop.call_soon_threadsafe(_succeed, [self._opened], [None])
        try:
            while self._turn(store):
                pass
        finally:
            store.close()

    def _turn(self, store: Store) -> bool:
        """Take everything in the queue, store it and answer; false after the sentinel."""
        queued, works, going = self._take()
        if queued:
            self._loop.call_soon_threadsafe(self._store(store, queued))
        for work in works:
            self._loop.call_soon_threadsafe(work(store))
        return going

    def _take(self) -> tuple[list[_Queued], list[Work], bool]:
        """Wait for something, and take everything that is in the queue by then."""
        queued: list[_Queued] = []
        works: list[Work] = []
        item, size = self._queue.get(), 0
        while item is not None:
            if isinstance(item, _Queued):
                queued.append(item)
                size += len(item.submission.reports)
                if len(queued) >= _LARGEST_GROUP or size >= _LARGEST_BYTES:
                    return queued, works, True
            else:
                works.append(item)
            try:
                item = self._queue.get_nowait()
            except Empty:
                return queued, works, True
        return queued, works, False

    def _store(self, store: Store, queued: list[_Queued]) -> Answer:
        futures, began = [item.future for item in queued], monotonic()
        try:
            if self._health.broken is not None:
                raise self._health.broken
            outcomes = store.add([item.submission for item in queued])
        except Exception as error:
            return partial(self._answer, futures, began, partial(self._fail, futures, error))
        took = monotonic() - began
        return partial(self._answer, futures, began, partial(self._stored, futures, outcomes, took))

    def _answer(
        self, futures: Sequence[asyncio.Future[Outcome]], began: float, answer: Answer
    ) -> None:
        self.waiting -= len(futures)
        self._oldest = began  # those that still wait came later
        answer()

    def _stored(
        self, futures: Sequence[asyncio.Future[Outcome]], outcomes: Sequence[Outcome], took: float
    ) -> None:
        self.commits.add(took)
        self._health.wrote()
        _succeed(futures, outcomes)

    def _fail(self, futures: Sequence[asyncio.Future[Result]], error: Exception) -> None:
        self._health.failed(error)
        _fail(futures, error)


def _succeed(futures: Sequence[asyncio.Future[Result]], results: Sequence[Result]) -> None:
    for future, result in zip(futures, results, strict=True):
        if not future.done():  # the client may have gone
            future.set_result(result)


def _fail(futures: Sequence[asyncio.Future[Result]], error: Exception) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
