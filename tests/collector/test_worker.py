"""The worker process in which all mathematics runs."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from deniable.collector.worker import Worker, WorkerEnded
from deniable.errors import InvalidParameter


def process_number() -> int:
    """Return the number of the process that runs this."""
    return os.getpid()


def refuse() -> None:
    """Fail as the library does."""
    raise InvalidParameter("expected something else, got this", value=7)


def end() -> None:
    """End the process without a word."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_calls_run_in_another_process_and_errors_come_back() -> None:
    """One process for all calls; what they raise is raised here."""

    async def run() -> None:
        worker = Worker()
        first = await worker.run(process_number)
        assert first != os.getpid()
        with pytest.raises(InvalidParameter, match="got this") as caught:
            await worker.run(refuse)
        assert caught.value.value == 7
        assert await worker.run(process_number) == first
        worker.close()

    asyncio.run(run())


def test_a_worker_that_ends_is_started_again() -> None:
    """A call that ends the worker twice fails; the next one has a new worker."""

    async def run() -> None:
        worker = Worker()
        first = await worker.run(process_number)
        os.kill(first, signal.SIGKILL)
        assert await worker.run(process_number) != first
        with pytest.raises(WorkerEnded):
            await worker.run(end)
        assert await worker.run(process_number)
        worker.close()

    asyncio.run(run())


@pytest.mark.long("waits for a clock")
def test_a_worker_that_hangs_is_ended() -> None:
    """A call that takes too long fails, and the next one has a new worker."""

    async def run() -> None:
        worker = Worker()
        await worker.run(process_number)
        worker._seconds = 0.2  # the start of a process is not to be cut, however busy the machine
        with pytest.raises(WorkerEnded):
            await worker.run(time.sleep, 600)
        assert worker.restarts == 1
        worker._seconds = 300
        assert await worker.run(process_number)
        worker.close()

    asyncio.run(run())
