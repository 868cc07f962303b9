"""A disk that fills up or fails costs no acknowledged submission, and service comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.failing import KINDS, fail_once

pytestmark = pytest.mark.long("a short form of the fault tests")

PLACES = (1, 2, 3, 4, 5, 7, 11, 50, 120)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_a_failing_disk_loses_nothing(tmp_path: Path, kind: str, place: int) -> None:
    """Every answer is 204 or 503, acknowledged is stored, and after mending it goes on."""
    assert fail_once(tmp_path, kind, place) == []
