"""Power cuts lose nothing that was acknowledged, and the harness would notice if they did."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.power import cut_once

pytestmark = pytest.mark.long("a short form of the fault tests")

CUTS = 12


def test_power_cuts_lose_nothing(tmp_path: Path) -> None:
    """After each cut the file is sound and has every acknowledged submission once."""
    wrong = {seed: said for seed in range(CUTS) if (said := cut_once(tmp_path, seed))}
    assert wrong == {}


def test_the_harness_sees_what_is_not_synced(tmp_path: Path) -> None:
    """With synchronous=NORMAL, where commits are not synced, acknowledged submissions are lost."""
    wrong = [said for seed in range(CUTS) for said in cut_once(tmp_path, seed, "NORMAL")]
    assert any("acknowledged and is lost" in said for said in wrong)
