"""A store that falls ill is told of, and nothing acknowledged is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import illness

pytestmark = pytest.mark.long("attacks and faults on collectors of their own")


@pytest.mark.parametrize("make", illness.ON_DISK.values(), ids=illness.ON_DISK)
def test_an_illness_is_told(
    tmp_path: Path, make: Callable[[illness.Ward], illness.Illness]
) -> None:
    """/readyz has the reason within seconds, the log one line; it passes, or ends with a status."""
    assert illness.suffer(tmp_path, make) == []


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """The same where the disk is full."""
    found = illness.suffer_mounted(tmp_path)
    if found is None:
        pytest.skip("needs the right to mount a small file system")
    assert found == []


def test_a_bad_row_is_counted(tmp_path: Path) -> None:
    """The collector stays ready, and a metric counts the row."""
    assert illness.bad_row(tmp_path) == []


@pytest.mark.postgres
def test_a_database_that_refuses_is_told(tmp_path: Path) -> None:
    """The same where PostgreSQL has become read-only."""
    assert illness.suffer_postgres(tmp_path) == []
