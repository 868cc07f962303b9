"""Frames of a kind of answers whose values are rows, brought by another package."""

from collections import Counter

import numpy as np
import pytest

from deniable import spark as lakes
from tests.spark.test_rows import ROWS

pytestmark = pytest.mark.spark


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
