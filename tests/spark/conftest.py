"""One small session for all tests, and data whose tallies are known."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import OLH, Question
from tests.spark.java import java_home
from tests.walkthrough.package import installed

# Without pyspark only what needs no session is collected: `make test-spark` runs the others.
NEEDS_SPARK = ("test_errors.py", "test_example.py", "test_frames.py", "test_kinds.py",
               "test_page.py", "test_privatize.py", "test_row_frames.py",
               "test_streaming.py")  # fmt: skip
collect_ignore = [] if find_spec("pyspark") else list(NEEDS_SPARK)


def column_of(reports):
    """Return reports as an Arrow column of bytes."""
    size = reports.nbytes // len(reports)
    ends = np.arange(len(reports) + 1, dtype=np.int32) * np.int32(size)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(reports.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(reports), buffers)


@pytest.fixture(scope="session")
def spark_environment():
    """Tell Spark which Java and which Python to use."""
    home = java_home()
    os.environ.update({"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"})
    # Processes that live for seconds spend half of them on optimising what they run once.
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    if home:
        os.environ["JAVA_HOME"] = home
    return dict(os.environ)


@pytest.fixture(scope="session")
def spark(spark_environment, tmp_path_factory):
    """Return a session of two cores, without pages, whose tasks are tried once."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - absent where these tests are not run

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def question() -> Question:
    """Return a question whose tallies are tables."""
    labels = tuple(f"page {i}" for i in range(300))
    return Question("page", labels, OLH(1.0, 300))


@pytest.fixture(scope="session")
def table(question) -> pa.Table:
    """Return 20,000 reports by day and country: one group has half of them, some have none."""
    rng = np.random.default_rng(7)
    n = 20_000
    reports = question.protocol.privatize(rng.integers(0, 300, n), rng)
    day = np.where(rng.random(n) < 0.5, 1, rng.integers(1, 32, n))
    country = np.where(day == 1, "ch", rng.choice(["at", "ch", "de", "fr"], n))
    names = [None if c == "fr" else str(c) for c in country]
    return pa.table({
        "report": column_of(reports), "day": pa.array(day), "country": pa.array(names)
    })  # fmt: skip


@pytest.fixture(scope="session")
def lake(table, tmp_path_factory) -> Path:
    """Return a folder of Parquet files with these reports, one of them empty."""
    folder = tmp_path_factory.mktemp("lake")
    for i, (start, stop) in enumerate(((0, 1), (1, 9_000), (9_000, 9_000), (9_000, 20_000))):
        pq.write_table(table.slice(start, stop - start), folder / f"part-{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def stars(tmp_path_factory):
    """Return a question about two items, and the folder of its package."""
    folder = tmp_path_factory.mktemp("package")
    with installed(folder, "ratings", "Ratings") as module:
        yield Question("stars", module.Ratings(("price", "taste"), 5), epsilon=3.0), folder
