"""Work off the event loop: a thread that writes, threads that read, a process that calculates.

The writer stores submissions in groups. While one transaction is on its way to the disk, the next
group gathers in the queue; there is no other delay. A submission is answered only when the
transaction of its group is on the disk.

No compiler and no long NumPy call runs on the event loop, or holds its lock. Calls and results are
pickled over pipes between these two processes alone; run as a module, this file is the worker.
"""

import asyncio
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread, Timer, local
from time import monotonic
from typing import IO, NamedTuple, ParamSpec, TypeVar

from deniable.collector import log
from deniable.collector.metrics import Health, Histogram
from deniable.collector.problems import QueueFull, Stopping
from deniable.collector.stores import Store, records

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Answer = Callable[[], None]
"""What the event loop does after something was written."""
Work = Callable[[Store], Answer]
_LARGEST_GROUP = 1024
_LARGEST_BYTES = 1 << 23


class _Queued(NamedTuple):
    submission: records.Submission
    future: asyncio.Future[records.Outcome]


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

    def submit(self, submission: records.Submission) -> asyncio.Future[records.Outcome]:
        """Queue a submission; the future is done when it is on the disk."""
        self._refuse_late()
        if self.waiting >= self._most:
            raise QueueFull("too many submissions wait to be stored; send this one again later")
        future: asyncio.Future[records.Outcome] = self._loop.create_future()
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
            going = True
            while going:  # take everything in the queue, store it and answer
                queued, works, going = self._take()
                if queued:
                    self._loop.call_soon_threadsafe(self._store(store, queued))
                for work in works:
                    self._loop.call_soon_threadsafe(work(store))
        finally:
            store.close()

    def _take(self) -> tuple[list[_Queued], list[Work], bool]:
        """Wait for something, and take all that is queued by then; false after the sentinel."""
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
        outcomes: Sequence[records.Outcome] = ()
        failed: Exception | None = None
        try:
            if self._health.broken is not None:
                raise self._health.broken
            outcomes = store.add([item.submission for item in queued])
        except Exception as error:
            failed = error
        took = monotonic() - began

        def tell() -> None:
            self.waiting -= len(futures)
            self._oldest = began  # those that still wait came later
            if failed is not None:
                self._fail(futures, failed)
                return
            self.commits.add(took)
            self._health.wrote()
            _succeed(futures, outcomes)

        return tell

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
        except records.StoreError as error:
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
        self._pool.shutdown()
        for store in self._stores:
            store.close()


class WorkerEnded(Exception):
    """The worker ended twice during one call, perhaps for lack of memory, or took too long."""


class Worker:
    """One process that calculates, started when it is first needed and again when it ended.

    With a limit of ``memory`` it is for long work that others must not notice: it has one thread on
    one core, gives way to everything else, and ends after each call.
    """

    def __init__(self, seconds: float = 300, memory: int = 0) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._closing = False
        self._seconds, self._memory = seconds, memory
        """How long one call may take."""
        self.restarts = 0
        """How often the worker ended before its time."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="worker")

    async def run(
        self,
        function: Callable[Parameters, Result],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result:
        """Call a function of a module in the worker; its errors are raised here."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._thread, self._call, partial(function, *args, **kwargs)
        )

    def _call(self, call: Callable[[], Result]) -> Result:
        order = pickle.dumps(call)
        for _ in range(2):
            if self._closing:
                break
            late = Event()
            limit = Timer(self._seconds, self._overrun, (late,))
            limit.start()
            try:
                done, result = pickle.load(self._send(order))
            except (EOFError, OSError, pickle.UnpicklingError):
                self._end()
                if not self._closing:
                    self.restarts += 1
                    log.warning("the worker ended, and is started again when it is needed")
                if late.is_set():  # it would take as long again
                    raise WorkerEnded(f"it took more than {self._seconds:g} seconds") from None
                continue
            finally:
                limit.cancel()
            if self._memory:
                self._end()
            if done:
                found: Result = result
                return found
            raise result
        raise WorkerEnded("its process ended, perhaps for lack of memory")

    def _overrun(self, late: Event) -> None:
        late.set()
        if (process := self._process) is not None:
            log.error("the worker took more than %g seconds, and is ended", self._seconds)
            process.kill()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def _send(self, order: bytes) -> IO[bytes]:
        """Hand an order to the worker, and return where its answer comes from."""
        if self._process is None:
            # Each further thread of OpenBLAS reserves 40 MB: those of 50 cores would be the limit.
            one = {"DENIABLE_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} if self._memory else {}
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(self._memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | one,
            )
            _let_others_go_first(self._process.pid, entirely=bool(self._memory))
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(order)
        stdin.flush()
        return stdout

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def close(self) -> None:
        self._closing = True
        if self._process is not None:
            self._process.kill()
        self._thread.submit(self._end).result()
        self._thread.shutdown(cancel_futures=True)


def _let_others_go_first(pid: int, *, entirely: bool) -> None:
    """Give a process that has just begun less priority than those who submit reports.

    Entirely: it runs on one core, while nobody else wants it, as far as a system can do that. It
    does not do so itself: it would have imported everything before.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, 19 if entirely else 10)
    if entirely:
        with suppress(AttributeError, OSError):
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
        with suppress(AttributeError, OSError):
            os.sched_setaffinity(pid, {max(os.sched_getaffinity(0))})


def _limit_memory(memory: int) -> None:
    """Limit this process, unless its system knows no such limit or has a smaller one already."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def serve(memory: int) -> None:
    """Answer calls until the parent is gone; a terminal's interrupt is the parent's business."""
    if memory:
        _limit_memory(memory)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # What the library might print must not get between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            call = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = True, call()
        except Exception as error:
            answer = False, error
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
