"""What goes wrong on executors is said in one sentence on the driver."""

import sys

import pytest

from deniable import spark as lakes
from deniable.errors import DeniableError
from deniable.spark import workers
from tests.spark.session import run_script

# Workers run with an interpreter that has what Spark needs, and a deniable that is not ours.
SCRIPT = """
import sys
from pyspark.sql import SparkSession
from deniable import OLH, Question
from deniable import spark as lakes
from deniable.errors import DeniableError

session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
session.sparkContext.setLogLevel("OFF")
question = Question("q", ("a", "b", "c"), OLH(1.0, 3))
frame = session.sql("SELECT X'00' AS report")
try:
    lakes.tally(frame, question, "report")
except DeniableError as error:
    print("said:", error)
"""


def test_executors_without_deniable_are_named_with_the_remedy(spark_environment, tmp_path):
    """A worker that cannot import deniable leads to an error that says what to install."""
    hidden = tmp_path / "hidden"
    (hidden / "deniable").mkdir(parents=True)
    (hidden / "deniable" / "__init__.py").write_text("raise ImportError('no deniable here')\n")
    script = hidden / "python"
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH="{hidden}:$PYTHONPATH" exec "{sys.executable}" "$@"\n'
    )
    script.chmod(0o755)
    environment = spark_environment | {
        "PYSPARK_PYTHON": str(script), "PYSPARK_DRIVER_PYTHON": sys.executable
    }  # fmt: skip
    said = run_script(SCRIPT, [], environment, tmp_path)
    assert "said: deniable on the executor" in said
    assert "no deniable here" in said
    assert "pip install 'deniable[spark]==" in said


def test_executors_with_another_version_are_refused(spark, lake, question, monkeypatch):
    """A worker of another version than the driver's says both versions."""
    monkeypatch.setattr(workers, "__version__", "9.9.9")
    with pytest.raises(DeniableError, match=r"driver's version 9\.9\.9, got [0-9]"):
        lakes.tally(spark.read.parquet(str(lake)), question, "report")


def test_a_worker_uses_the_cores_of_its_task_only(spark, question, lake):
    """One thread runs in each worker, however many cores the machine has."""
    work = workers.send("partial_tallies", question, "report", strict=True)

    def probe(batches):
        import pyarrow as pa  # noqa: PLC0415 - runs on the executors

        import deniable  # noqa: PLC0415

        list(work(batches))
        yield pa.RecordBatch.from_pydict({"threads": [deniable.threads()]})

    frame = spark.read.parquet(str(lake)).select("report")
    found = frame.mapInArrow(probe, "threads long").collect()
    assert {row.threads for row in found} == {1}


def test_an_error_within_a_worker_keeps_its_words(spark, lake, question):
    """What the library refuses on an executor reaches the driver as an error of the library."""
    frame = spark.read.parquet(str(lake)).select("country")
    work = workers.send("partial_tallies", question, "country", strict=True)
    with pytest.raises(DeniableError, match="expected a column of bytes"), workers.plain_errors():
        frame.mapInArrow(work, "n long, tally binary, reason string").collect()
