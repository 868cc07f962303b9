"""What goes wrong on executors is said in one sentence on the driver."""

import sys

import pytest

from deniable import spark as lakes
from deniable.errors import DeniableError
from deniable.spark import executors
from tests.spark.session import run_script

pytestmark = pytest.mark.spark

ABSENT = "raise ModuleNotFoundError(\"No module named '{0}'\", name={0!r})\n"
# A tuple with the names that packages ask for, of a version that no driver has.
OTHER_PYTHON = """
import sys
from collections import namedtuple
sys.version_info = namedtuple("version_info", "major minor micro releaselevel serial")(
    3, sys.version_info.minor + 1, 0, "final", 0
)
"""


@pytest.fixture
def complaint(spark, lake, question, tmp_path, monkeypatch):
    """Return a function that tells what the driver says where workers find some files first."""

    def of(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        script = tmp_path / "python"
        script.write_text(
            f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec "{sys.executable}" "$@"\n'
        )
        script.chmod(0o755)
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(script))
        with pytest.raises(DeniableError) as caught:
            lakes.tally(spark.read.parquet(str(lake)), question, "report")
        return str(caught.value)

    return of


@pytest.mark.parametrize(
    ("package", "said"),
    [
        ("deniable", "deniable on the executor"),
        ("numpy", "numpy"),
        ("pyarrow", "pyarrow is missing on an executor"),
    ],
)
def test_executors_without_a_package_are_named_with_the_remedy(complaint, package, said):
    """A worker that cannot import a package leads to an error that says what to install."""
    found = complaint({f"{package}/__init__.py": ABSENT.format(package)})
    assert said in found
    assert package in found
    assert "deniable[spark]==" in found


def test_executors_with_another_python_are_told_to_use_the_drivers(complaint):
    """An interpreter of another version is refused with both versions and the setting."""
    found = complaint({"sitecustomize.py": OTHER_PYTHON})
    mine, other = (f"{sys.version_info[0]}.{sys.version_info[1] + more}" for more in (0, 1))
    assert f"expected Python {mine} on every executor, as on the driver, got {other}" in found
    assert "PYSPARK_PYTHON" in found


def test_executors_with_another_version_are_refused(spark, lake, question, monkeypatch):
    """A worker of another version than the driver's says both versions."""
    monkeypatch.setattr(executors, "__version__", "9.9.9")
    with pytest.raises(DeniableError, match=r"driver's version 9\.9\.9, got [0-9]"):
        lakes.tally(spark.read.parquet(str(lake)), question, "report")


PROBE = """
from pyspark.sql import SparkSession
from deniable import OLH, Question
from deniable.spark import executors

session = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.task.cpus", 2)
    .config("spark.executorEnv.DENIABLE_THREADS", "kiwi")
    .getOrCreate()
)
session.sparkContext.setLogLevel("OFF")
question = Question("q", ("a", "b"), OLH(1.0, 2))
work = executors.send("partial_tallies", question, "report", strict=True)


def probe(batches):
    import os
    import pyarrow as pa
    import deniable

    list(work(batches))
    found = {"threads": [deniable.threads()], "asked": [os.environ["DENIABLE_THREADS"]]}
    yield pa.RecordBatch.from_pydict(found)


frame = session.range(0, 2, 1, 2).selectExpr("X'00' AS report")
print([tuple(row) for row in frame.mapInArrow(probe, "threads long, asked string").collect()])
"""


def test_a_worker_uses_the_cores_of_its_task_whatever_the_environment_says(
    spark_environment, tmp_path
):
    """Tasks of two cores have two threads, and a setting that is no number does no harm."""
    assert "[(2, 'kiwi'), (2, 'kiwi')]" in run_script(PROBE, [], spark_environment, tmp_path)


def test_a_worker_uses_the_cores_of_its_task_only(spark, question, lake):
    """One thread runs in each worker, however many cores the machine has."""
    work = executors.send("partial_tallies", question, "report", strict=True)

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
    work = executors.send("partial_tallies", question, "country", strict=True)
    with pytest.raises(DeniableError, match="expected a column of bytes"), executors.plain_errors():
        frame.mapInArrow(work, "n long, tally binary, reason string").collect()
