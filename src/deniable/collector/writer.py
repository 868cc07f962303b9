"""The writer: one thread that stores submissions in groups, and what its writes say about health.

While one transaction is on its way to the disk, the next group gathers in the queue; there is no
other delay. A submission is answered only when the transaction of its group is on the disk.

Health is whether submissions are being stored, judged by the last write; each change is one log
line. A store that fails for a while is tried again. A corrupt one stops the collector, whoever met
it first. All of health happens on the event loop.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import NamedTuple, TypeVar

from deniable.collector.metrics import Histogram
from deniable.collector.problems import QueueFull, Stopping
from deniable.collector.stores.records import (
    KINDS,
    Outcome,
    StoreBroken,
    StoreError,
    StoreUnavailable,
    Submission,
)
from deniable.collector.stores.store import Store

Result = TypeVar("Result")
Answer = Callable[[], None]
"""What the event loop does after something was written."""
Work = Callable[[Store], Answer]
Probe = Callable[[], Awaitable[None]]
"""Writes something meaningless; whoever runs it reports a failure here."""
_log = logging.getLogger("deniable.collector")
_FRESH = 2.0
"""For how many seconds a write is evidence that the next one will succeed."""
_PATIENCE = 3.0
"""How many seconds a write may take before the store counts as not answering."""
_CALM = 1.5
"""How many seconds must pass without a failure before the trouble is over: a disk that is almost
full takes some writes and not others."""

_LARGEST_GROUP = 1024
_LARGEST_BYTES = 1 << 23


class Health:
    """What is known about the store: all well, trouble that may pass, or broken for good."""

    def __init__(self) -> None:
        self.errors: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
        self.trouble: StoreError | None = None
        """Why nothing is stored at the moment."""
        self.broken: StoreBroken | None = None
        """Why the collector must stop, if it must."""
        self.leaving = False
        """Whether the collector was asked to shut down."""
        self.on_broken: Callable[[], object] = int
        """Called once, when the store can no longer be trusted."""
        self._wrote = self._failed = self._since = -_CALM
        self._probe: asyncio.Task[None] | None = None

    def wrote(self) -> None:
        self._wrote = now = monotonic()
        if self.trouble is not None and not self.broken and now - self._failed >= _CALM:
            self.trouble = None
            _log.warning("reports are stored again, after %.0f seconds", now - self._since)

    def failed(self, error: Exception) -> None:
        if not isinstance(error, StoreError) or self.broken:
            return
        self.errors[error.kind] += 1
        if isinstance(error, StoreBroken):
            self._stop(error)
            return
        self._failed = monotonic()
        if self.trouble is None:
            self._since = self._failed
            _log.error("no reports are stored: %s: %s", error.reason, error)
        self.trouble = error

    def met(self, error: Exception) -> None:
        """Note an error of a reader: only corruption says anything about storing."""
        if isinstance(error, StoreBroken):
            self.failed(error)
        elif isinstance(error, StoreError):
            self.errors[error.kind] += 1

    def leave(self) -> None:
        self.leaving = True

    def _stop(self, error: StoreBroken) -> None:
        self.trouble = self.broken = error
        _log.critical("the collector stops: %s: %s", error.reason, error)
        self.on_broken()

    async def check(self, probe: Probe) -> StoreError | None:
        """Return what is wrong; if nothing was written lately, try to write."""
        if not self.broken and monotonic() - self._wrote > _FRESH:
            if self._probe is None or self._probe.done():
                self._probe = asyncio.create_task(self._try(probe))
            done, _ = await asyncio.wait({self._probe}, timeout=_PATIENCE)
            if not done and monotonic() - self._wrote > _PATIENCE:
                self.failed(
                    StoreUnavailable(f"a write takes more than {_PATIENCE:g} seconds", kind="busy")
                )
        return self.trouble

    async def _try(self, probe: Probe) -> None:
        with suppress(Exception):
            await probe()
            self.wrote()

    async def watch(self, probe: Probe) -> None:
        """Keep checking, so that a change is noticed even if nobody sends or asks."""
        while not self.broken:
            await self.check(probe)
            await asyncio.sleep(1.0 if self.trouble else _FRESH)


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
