"""One worker process for all collectors of a test run, which saves the time to start one each.

A collector that ends hands its idle worker on instead of killing it. A worker knows nothing of the
collector that it works for: a call brings all that it needs. One that was started with other
settings, or in another directory (from which Python imports), is not taken.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator

import pytest

from deniable.collector.worker import Worker

Process = subprocess.Popen[bytes]


def _surroundings() -> tuple[object, ...]:
    """Return what a worker that starts now would find: its directory and its environment."""
    names = ("DENIABLE_", "PYTHON", "TZ")
    variables = sorted(item for item in os.environ.items() if item[0].startswith(names))
    return (os.getcwd(), *variables)


@pytest.fixture(scope="session", autouse=True)
def shared_workers() -> Iterator[None]:
    """Let collectors that run in this process use each other's workers, one after the other."""
    spare: list[tuple[tuple[object, ...], Process]] = []
    send, call, close = Worker._send, Worker._call, Worker.close

    def take(self: Worker, order: bytes):
        if self._process is None and not self._memory:  # one with a limit ends after each call
            here = vars(self)["surroundings"] = _surroundings()
            fit = [each for each in spare if each[0] == here and each[1].poll() is None]
            for each in fit[:1]:
                spare.remove(each)
                self._process = each[1]
        return send(self, order)

    def busy(self: Worker, work: Callable[[], object]) -> object:
        vars(self)["busy"] = True
        try:
            return call(self, work)
        finally:
            vars(self)["busy"] = False

    def give(self: Worker) -> None:
        self._closing = True
        process = self._process
        idle = process is not None and process.poll() is None and not vars(self).get("busy")
        if idle and not self._memory:
            self._process = None
            spare.append((vars(self)["surroundings"], process))
        close(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Worker, "_send", take)
        patch.setattr(Worker, "_call", busy)
        patch.setattr(Worker, "close", give)
        yield
    for _, process in spare:
        process.kill()
        process.communicate()
