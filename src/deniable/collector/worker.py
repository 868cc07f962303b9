"""Work off the event loop: threads that read the store, and a process that calculates.

No compiler and no long NumPy call runs on the event loop, or holds its lock. Calls and results are
pickled over pipes between these two processes alone; run as a module, this file is the worker.
"""

import asyncio
import logging
import os
import pickle
import signal
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Lock, Timer, local
from typing import IO, Generic, ParamSpec, TypeVar

from deniable.collector.stores.records import StoreError
from deniable.collector.stores.store import Store
from deniable.collector.writer import Health

_log = logging.getLogger("deniable.collector")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Key = TypeVar("Key")
Value = TypeVar("Value")


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
        self._pool.shutdown()
        for store in self._stores:
            store.close()


class Recent(Generic[Key, Value]):
    """The values used last, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][0]

    def put(self, key: Key, value: Value, size: int) -> None:
        _, before = self._kept.pop(key, (None, 0))
        self._kept[key] = value, size
        self._size += size - before
        while self._size > self._most and len(self._kept) > 1:
            _, (_, gone) = self._kept.popitem(last=False)
            self._size -= gone


class WorkerEnded(Exception):
    """The worker ended twice during one call, perhaps for lack of memory, or took too long."""


class Worker:
    """One process that calculates, started when it is first needed and again when it ended."""

    def __init__(self, seconds: float = 300) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._closing = False
        self._seconds = seconds
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
                    _log.warning("the worker ended, and is started again when it is needed")
                if late.is_set():  # it would take as long again
                    break
                continue
            finally:
                limit.cancel()
            if done:
                found: Result = result
                return found
            raise result
        raise WorkerEnded

    def _overrun(self, late: Event) -> None:
        late.set()
        if (process := self._process) is not None:
            _log.error("the worker took more than %g seconds, and is ended", self._seconds)
            process.kill()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def _send(self, order: bytes) -> IO[bytes]:
        """Hand an order to the worker, and return where its answer comes from."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
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


def serve() -> None:
    """Answer calls until the parent is gone; a terminal's interrupt is the parent's business."""
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
    serve()
