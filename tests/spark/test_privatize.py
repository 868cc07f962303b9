"""Answers that become reports on executors, where tasks fail, are killed and run twice."""

from collections import Counter

import pytest

from deniable import spark as lakes
from deniable.errors import OutOfDomain
from tests.spark.session import cluster, run_script

pytestmark = pytest.mark.spark

SCRIPT = '''
import os, signal, sys, time
from pathlib import Path

from pyspark.sql import SparkSession

from deniable import OLH, Question
from deniable import spark as lakes
from deniable.spark import executors

folder = Path(sys.argv[1])
marks = str(folder)


def fault(batches):
    """Kill workers and an executor at some people, be slow at another, the first time only."""
    import psutil

    for batch in batches:
        people = set(batch.column("person").to_pylist()) if "person" in batch.schema.names else ()
        for person, victim in ((11, "worker"), (1500, "worker"), (700, "executor")):
            mark = f"{marks}/{victim}-{person}"
            if person in people and not os.path.exists(mark):
                open(mark, "w").close()
                if victim == "executor":
                    next(p for p in psutil.Process().parents() if p.name() == "java").kill()
                os.kill(os.getpid(), signal.SIGKILL)
        if 2500 in people and not os.path.exists(f"{marks}/slow"):
            open(f"{marks}/slow", "w").close()
            for _ in range(1800):
                if os.path.exists(f"{marks}/second"):
                    break
                time.sleep(0.1)
        elif 2500 in people:
            open(f"{marks}/second", "w").close()
        yield batch


def send(function, question, *names, **options):
    """Send the work as it is, behind the faults."""
    work = sound(function, question, *names, **options)
    return lambda batches: work(fault(batches))


session = (
    SparkSession.builder.master(sys.argv[2])
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.executor.memory", "512m")
    .config("spark.speculation.efficiency.enabled", "false")
    .config("spark.ui.enabled", "false")
    .config("spark.speculation", "true")
    .config("spark.speculation.interval", "100ms")
    .config("spark.speculation.quantile", "0.1")
    .config("spark.speculation.multiplier", "1.1")
    .config("spark.speculation.minTaskRuntime", "100ms")
    .config("spark.sql.execution.arrow.maxRecordsPerBatch", "200")
    .getOrCreate()
)
session.sparkContext.setLogLevel("OFF")
sound, lakes.frames.send = executors.send, send
labels = tuple(map(str, range(1000)))
question = Question("q", labels, OLH(1.0, 1000))
people = session.range(0, 3000, 1, 6).selectExpr("id AS person", "string(id % 1000) AS answer")
reports = lakes.privatize(people, question, "answer", str(folder / "reports"))


def read():
    return sorted((row.person, bytes(row.report)) for row in reports.collect())


first, second = read(), read()
assert [person for person, _ in first] == list(range(3000)), len(first)
assert first == second
assert lakes.tally(reports, question, "report").n == 3000
marked = (path for path in folder.iterdir() if path.is_file() and not path.suffix)
print("faults", sorted(path.name for path in marked))
'''


def test_killed_and_speculated_tasks_leave_one_report_of_each_row(spark_environment, tmp_path):
    """Workers and an executor killed, tasks tried twice: one report of each, at each reading."""
    (tmp_path / "work").mkdir()
    with cluster(spark_environment, tmp_path / "work") as url:
        said = run_script(SCRIPT, [str(tmp_path), url], spark_environment, tmp_path)
    # The faults happened, and the slow task was tried a second time.
    expected = ["executor-700", "second", "slow", "worker-11", "worker-1500"]
    assert f"faults {expected}" in said


@pytest.fixture
def answers(spark):
    """Return answers of 40 people, one of them none and one not among the labels."""
    rows = [(f"page {i % 5}", i) for i in range(38)] + [(None, 38), ("kiwi", 39)]
    return spark.createDataFrame(rows, "answer string, id long").repartition(3)


def test_reports_are_written_once_and_read_back(spark, answers, question, tmp_path):
    """What comes back is on disk with the other columns, and without the answers."""
    refused = Counter()
    path = str(tmp_path / "reports")
    made = lakes.privatize(answers, question, "answer", path, refused=refused)
    assert refused == {"null": 1, "not an answer": 1}
    assert made.columns == ["report", "id"]
    rows = sorted((row.id, bytes(row.report)) for row in made.collect())
    assert [i for i, _ in rows] == list(range(38))
    again = spark.read.parquet(path).collect()
    assert rows == sorted((row.id, bytes(row.report)) for row in again)
    assert lakes.tally(made, question, "report").n == 38


def test_rows_without_an_answer_are_an_error_before_anything_is_written(
    answers, question, tmp_path
):
    """The error counts them by reason, names no answer, and leaves nothing behind."""
    with pytest.raises(OutOfDomain, match="1 x not an answer, 1 x null") as caught:
        lakes.privatize(answers, question, "answer", str(tmp_path / "reports"))
    assert "kiwi" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_reports_are_not_written_over_others(answers, question, tmp_path):
    """A path that is taken is refused: its reports would be drawn a second time."""
    path = str(tmp_path / "reports")
    lakes.privatize(answers, question, "answer", path, refused=Counter())
    with pytest.raises(Exception, match="PATH_ALREADY_EXISTS"):
        lakes.privatize(answers, question, "answer", path, refused=Counter())
