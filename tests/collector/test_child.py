"""The child process in which all mathematics runs."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from deniable.collector.child import Child, ChildEnded
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
        child = Child()
        first = await child.run(process_number)
        assert first != os.getpid()
        with pytest.raises(InvalidParameter, match="got this") as caught:
            await child.run(refuse)
        assert caught.value.value == 7
        assert await child.run(process_number) == first
        child.close()

    asyncio.run(run())


def test_a_child_that_ends_is_started_again() -> None:
    """A call that ends the child twice fails; the next one has a new child."""

    async def run() -> None:
        child = Child()
        first = await child.run(process_number)
        os.kill(first, signal.SIGKILL)
        assert await child.run(process_number) != first
        with pytest.raises(ChildEnded):
            await child.run(end)
        assert await child.run(process_number)
        child.close()

    asyncio.run(run())


def test_a_child_that_hangs_is_ended() -> None:
    """A call that takes too long fails, and the next one has a new child."""

    async def run() -> None:
        child = Child()
        await child.run(process_number)
        child._seconds = 0.2  # the start of a process is not to be cut, however busy the machine
        with pytest.raises(ChildEnded):
            await child.run(time.sleep, 600)
        assert child.restarts == 1
        child._seconds = 300
        assert await child.run(process_number)
        child.close()

    asyncio.run(run())
