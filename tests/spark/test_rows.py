"""A kind of answers whose values are rows, brought by another package, on Spark."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from deniable import Question, Tally
from deniable import spark as lakes
from deniable.spark import partitions
from tests.walkthrough.package import installed

ROWS = [[5, 3]] * 200 + [[1, 3]] * 100


@pytest.fixture(scope="module")
def stars(tmp_path_factory):
    """Return a question about two items, and the folder of its package."""
    folder = tmp_path_factory.mktemp("package")
    with installed(folder, "ratings", "Ratings") as module:
        yield Question("stars", module.Ratings(("price", "taste"), 5), epsilon=3.0), folder


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


@pytest.mark.spark
@pytest.mark.parametrize("form", ["lists", "JSON"])
def test_a_column_of_rows_is_privatized_and_estimated(spark, stars, form, tmp_path) -> None:
    """Executors that have the package turn rows into reports, and sum up what came of them."""
    question, folder = stars
    spark.sparkContext.addPyFile(str(folder / "ratings.py"))
    rows = [(row if form == "lists" else str(row),) for row in [*ROWS, None]]
    frame = spark.createDataFrame(rows, "stars array<int>" if form == "lists" else "stars string")
    refused = Counter()
    reports = lakes.privatize(frame, question, "stars", str(tmp_path / "reports"), refused=refused)
    assert refused == {"null" if form == "lists" else "not an answer": 1}
    tally = lakes.tally(reports, question, "report")
    assert tally.n == len(ROWS)
    estimates = lakes.estimate(reports, question)
    assert np.array_equal(estimates.counts, question.estimate(tally).counts)
    assert estimates.labels == question.labels
