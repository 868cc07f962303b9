"""The workers' functions on a kind of answers whose values are rows, brought by another package."""

import pyarrow as pa
import pytest

from deniable import Tally
from deniable.spark import partitions

ROWS = [[5, 3]] * 200 + [[1, 3]] * 100


@pytest.mark.parametrize("form", ["lists", "JSON"])
def test_workers_take_rows(stars, form) -> None:
    """A column of lists, or of JSON, becomes reports; rows that are none are counted."""
    question, _ = stars
    rows = [*ROWS, None, [5], [5, 6]]
    column = pa.array(rows if form == "lists" else [row and str(row) for row in rows])
    batch = pa.RecordBatch.from_arrays([column], names=["stars"])
    made = list(partitions.private_reports([batch], question, "stars", keep=[], strict=False))
    assert sum(len(each) for each in made) == len(ROWS)
    (found,) = partitions.partial_tallies(made, question, "report", strict=True)
    assert Tally.from_bytes(found.column("tally")[0].as_py()).n == len(ROWS)
    (refused,) = partitions.refused_answers([batch], question, "stars")
    reasons = dict(zip(refused["reason"].to_pylist(), refused["n"].to_pylist(), strict=True))
    assert reasons == {"null": 1, "not an answer": 2}
