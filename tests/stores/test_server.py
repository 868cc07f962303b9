"""The PostgreSQL server of the tests starts wherever the tests are installed."""

from pathlib import Path

import pytest

from tests.stores import server

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres


def test_a_server_starts_from_a_closed_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Root too can use binaries below a directory that others cannot enter, whatever its name."""
    place = server.binaries()
    assert place is not None
    closed = tmp_path / "my projéct"
    closed.mkdir(mode=0o700)
    copy = server.copy_installation(place, closed / "lib")
    for path in closed.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
    monkeypatch.setattr(server, "binaries", lambda: copy)
    with server.running("fsync=off") as running, psycopg.connect(running.url()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
