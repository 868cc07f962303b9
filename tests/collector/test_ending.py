"""How a collector starts and ends: waiting, lame, in the middle of a body, and ill."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.faults.fault import Process, free_port
from tests.faults.hostile import submission_path

pytestmark = pytest.mark.long("starts collectors as processes")


@contextmanager
def serving(tmp_path: Path, *more: str) -> Iterator[Process]:
    """Run a collector with further options."""
    process = Process(tmp_path, str(tmp_path / "store.db"), free_port(), more=more)
    process.start()
    try:
        yield process
    finally:
        process.end()


@pytest.mark.parametrize(
    "sent",
    [
        b"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\nhalf",
        b"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nha",
        b"POST {path} HTTP/1.1\r\nHo",
    ],
)
def test_ending_in_the_middle_of_a_body_leaves_no_traceback(tmp_path: Path, sent: bytes) -> None:
    """The connection is cut when its time is over, and the status is 0."""
    with serving(tmp_path, "--drain-seconds", "2") as process:
        parts = urlsplit(process.address)
        with socket.create_connection((parts.hostname, parts.port)) as connection:
            connection.sendall(sent.replace(b"{path}", submission_path().encode()))
            sleep(0.3)
            assert process.stop() == 0
        said = process.log.read_text()
    assert "Traceback" not in said
    assert "Error" not in said


def test_a_lame_duck_goes_on(tmp_path: Path) -> None:
    """After SIGTERM /readyz says 503 while submissions are still stored; then it ends."""
    with serving(tmp_path, "--lame-duck-seconds", "3") as process:
        assert process.process is not None
        process.process.send_signal(signal.SIGTERM)
        status, until = 200, monotonic() + 3
        while status == 200 and monotonic() < until:
            try:
                with urlopen(f"{process.address}/readyz") as answer:
                    status = answer.status
            except HTTPError as error:
                status, said = error.code, json.loads(error.read())
        assert (status, said["type"]) == (503, "urn:deniable:stopping")
        address = f"{process.address}{submission_path()}"
        with urlopen(address, data=b"i" * 16 + b"\1") as answer:
            assert answer.status == 204
        assert process.process.wait(120) == 0


def test_a_database_is_waited_for(tmp_path: Path) -> None:
    """A collector waits for its database for a while, says so once, and then gives up."""
    found = subprocess.run(
        [sys.executable, "-m", "deniable", "serve", "--wait-seconds", "3", "--store",
         "postgresql://someone:hunter2@127.0.0.1:1/nowhere", "--log-format", "json"],
        capture_output=True, text=True, timeout=180, check=False, cwd=tmp_path,
        env={**os.environ},
    )  # fmt: skip
    assert found.returncode == 2
    first, last = found.stderr.strip().splitlines()
    assert json.loads(first)["level"] == "warning"
    assert "waiting for the database" in json.loads(first)["message"]
    assert "check that it runs" in last
    assert "hunter2" not in found.stderr


def test_files_of_a_store_are_private(tmp_path: Path) -> None:
    """Nobody but the owner reads what is stored."""
    with serving(tmp_path) as process:
        found = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.glob("store.db*")}
        assert process.process is not None
    assert set(found.values()) == {0o600}


_BROKEN_AT_ONCE = """
from deniable.cli import main
from deniable.collector.server import Server
from deniable.collector.stores.records import StoreCorrupt
original = Server.startup
async def startup(self, sockets=None):
    self._services.health.failed(StoreCorrupt("for a test"))
    await original(self, sockets)
Server.startup = startup
main()
"""


def test_a_store_that_is_broken_before_anybody_is_served_is_told(tmp_path: Path) -> None:
    """The collector listens for some seconds to say why, and ends with a status."""
    process = Process(tmp_path, str(tmp_path / "store.db"), free_port(), code=_BROKEN_AT_ONCE)
    process.start_anyway()
    try:
        said, until = None, monotonic() + 60
        while said is None and monotonic() < until:
            try:
                urlopen(f"{process.address}/readyz", timeout=10).close()
            except HTTPError as error:
                said = error.code, json.loads(error.read())["kind"]
            except OSError:
                sleep(0.01)
        assert said == (503, "corrupt")
        assert process.process is not None
        assert process.process.wait(60) != 0
    finally:
        process.end()
