"""The benchmark of ingestion measures what it says."""

from __future__ import annotations

import pytest

from benchmarks import rows
from benchmarks.ingest import QUESTION, QUICK, measure, prepare
from deniable.collector.stores import open_store
from deniable.collector.stores.records import Slice


@pytest.mark.long("a benchmark, on small sizes")
def test_ingestion_is_measured_beside_storing_nothing() -> None:
    """Both servers take all submissions, and the ratios are those of the rows."""
    found = measure(QUICK)
    assert {(row["kind"], row["reports"]) for row in found["rows"]} == {
        (kind, count) for kind in ("nothing", "sqlite") for count in (1, QUICK.many)
    }
    assert all(set(row["statuses"]) == {"204"} for row in found["rows"])
    rates = {row["kind"]: row["rate"] for row in found["rows"] if row["reports"] == 1}
    assert found["ratios"]["1"]["rate"] == rates["sqlite"] / rates["nothing"]


def test_stores_take_groups_of_rows(tmp_path) -> None:
    """The rate of a store counts rows that are in it."""
    url = str(tmp_path / "store.db")
    prepare(url)
    found = rows.measure(url, 10, seconds=0.05)
    assert found["rows"] >= 10
    assert found["rows per second"] > 0
    store = open_store(url)
    assert store.standing(Slice(QUESTION.digest)).n == found["rows"]
    store.close()
