"""Strangers cannot fill the collector: short forms of the attacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.fault import free_port
from tests.faults.strangers import MOST_MEMORY, Attack, attacked

pytestmark = pytest.mark.long("hundreds of connections, for seconds")


@pytest.mark.parametrize(
    "attack",
    [Attack("pipelining", 20, 2), Attack("readers", 250, 3), Attack("silent", 200, 2)],
    ids=lambda attack: attack.kind,
)
def test_strangers_take_little_memory(tmp_path: Path, attack: Attack) -> None:
    """Honest submissions are stored meanwhile, and memory stays below the limit."""
    found = attacked(tmp_path, str(tmp_path / "store.db"), free_port(), attack)
    assert found["honest submissions"] > 0
    assert found["most memory, MB"] <= MOST_MEMORY
