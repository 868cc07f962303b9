"""Copies are absent or whole, whenever they are interrupted, and what was backed up comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.copies import backups, restores

pytestmark = pytest.mark.long("short forms of the fault tests")


def test_copies_are_absent_or_whole(tmp_path: Path) -> None:
    """A backup and the copy of an upgrade, killed three times each, and on a disk that is full."""
    found = backups(tmp_path, 3, 1)
    assert found["passed"], found


def test_a_restore_brings_back_what_was_backed_up(tmp_path: Path) -> None:
    """A crashed store with its log is replaced, once by a restore that was killed before."""
    found = restores(tmp_path, 2, 1)
    assert found["passed"], found
