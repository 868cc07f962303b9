"""Faults, and the processes they happen to: the one file that knows processes and sockets."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

import psutil

from deniable import DE
from deniable.collector.stores import open_store
from deniable.collector.stores.records import Slice
from deniable.question import Question
from tests.faults.history import Kept

QUESTION = Question("faults", tuple("abcdefgh"), DE(1.0, 8))
_SERVE = "from deniable.cli import main; main()"


@dataclass
class Process:
    """One ``deniable serve`` in a process of its own."""

    directory: Path
    store: str
    port: int
    code: str = _SERVE
    more: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.directory / f"collector-{self.port}.log"
        self.question = self.directory / "question.json"
        self.question.write_text(QUESTION.to_json())

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the collector, and return when it is ready."""
        self.start_anyway()
        assert self.process is not None
        for _ in range(12_000):
            assert self.process.poll() is None, self.log.read_text()
            try:
                with urlopen(f"{self.address}/readyz", timeout=5):
                    return
            except OSError:
                time.sleep(0.01)
        raise AssertionError("the collector did not start within two minutes")

    def start_anyway(self) -> None:
        """Start the collector, whatever becomes of it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", self.code, "serve", str(self.question),
                 "--store", self.store, "--port", str(self.port), "--minimum", "1", *self.more],
                stdout=log, stderr=log, cwd=self.directory, env={**os.environ},
            )  # fmt: skip

    def children(self) -> list[psutil.Process]:
        """Return the processes that the collector started."""
        assert self.process is not None
        return psutil.Process(self.process.pid).children(True)

    def kill(self) -> None:
        """End the collector in the middle of whatever it does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None

    def end(self) -> None:
        """End the collector if it still runs."""
        if self.process is not None:
            self.kill()

    def stop(self) -> int:
        """Ask the collector to end, and return its exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(120)
        self.process = None
        return code


def free_port() -> int:
    """Return a port that nobody listens on at the moment."""
    import socket  # noqa: PLC0415 - only here

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def kept(store_url: str) -> Kept:
    """Return what a store has in the end."""
    store = open_store(store_url)
    try:
        counted = store.snapshot(Slice(QUESTION.digest)).n
        rows = store.connection().execute("SELECT id, fingerprint FROM arrivals").fetchall()
        complaints = [said for said in store.check() if "fsync" not in said]
    finally:
        store.close()
    assert complaints == []
    assert len(rows) == len(dict(rows))
    return Kept(dict(rows), counted)


async def restart(process: Process, pause: float) -> None:
    """Let a collector work for a while, kill it, and start it again."""
    await asyncio.sleep(pause)
    await asyncio.to_thread(process.kill)
    await asyncio.to_thread(process.start)
