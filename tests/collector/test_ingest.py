"""The benchmark of ingestion measures what it says."""

from __future__ import annotations

import pytest

from benchmarks.ingest import QUICK, measure

pytestmark = pytest.mark.slow


def test_ingestion_is_measured_beside_storing_nothing() -> None:
    """Both servers take all submissions, and the ratios are those of the rows."""
    found = measure(QUICK)
    assert {(row["kind"], row["reports"]) for row in found["rows"]} == {
        (kind, count) for kind in ("nothing", "sqlite") for count in (1, QUICK.many)
    }
    assert all(set(row["statuses"]) == {"204"} for row in found["rows"])
    rates = {row["kind"]: row["rate"] for row in found["rows"] if row["reports"] == 1}
    assert found["ratios"]["1"]["rate"] == rates["sqlite"] / rates["nothing"]
