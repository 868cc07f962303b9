"""A stream of reports that is killed again and again counts each of them once."""

import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import OpenLH, Question
from deniable import spark as lakes
from deniable.errors import IncompatibleTally, InvalidDocument, InvalidParameter
from tests.spark.conftest import column_of
from tests.spark.session import run_script

pytestmark = pytest.mark.spark

SCRIPT = '''
import os, signal, sys
from pathlib import Path

from pyspark.sql import SparkSession

from deniable import Question
from deniable.spark import TallyTable, count_batches
from deniable.spark import streaming

folder, fault = Path(sys.argv[1]), sys.argv[2]
die = lambda: os.kill(os.getpid(), signal.SIGKILL)
session = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .getOrCreate()
)
session.sparkContext.setLogLevel("OFF")
question = Question.from_json((folder / "question.json").read_text())
table = TallyTable(folder / "tallies.db", question, ["country"])
count, tally = count_batches(table, "report"), streaming.tally
transaction = TallyTable._transaction
seen = []


def dying_tally(*arguments, **options):
    result = tally(*arguments, **options)
    if fault == "tallied":
        die()
    return result


class Dying:
    """A transaction that is killed when all is written and nothing committed."""

    def __init__(self, *begin):
        self.inner, self.writes = transaction(table, *begin), not begin

    def __enter__(self):
        return self.inner.__enter__()

    def __exit__(self, *problem):
        if fault == "uncommitted" and self.writes:
            die()
        return self.inner.__exit__(*problem)


streaming.tally, table._transaction = dying_tally, Dying


def batch(frame, number):
    if fault == "begun" or (fault == "between" and seen):
        die()
    count(frame, number)
    seen.append(number)
    if fault == "committed":
        die()


reader = session.readStream.schema("report binary, country string")
stream = reader.option("maxFilesPerTrigger", 1).parquet(str(folder / "reports"))
query = stream.writeStream.foreachBatch(batch).trigger(availableNow=True)
query.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
print("batches", seen)
'''
FAULTS = ("begun", "tallied", "uncommitted", "committed", "between")


def killed_stream(folder, question, environment):
    """Kill a stream of six batches at each place once, let it end, and return its reports."""
    (folder / "reports").mkdir(parents=True)
    (folder / "question.json").write_text(question.to_json())
    rng = np.random.default_rng(len(folder.name))
    every = question.privatize([f"page {i % 40}" for i in range(1_200)], rng)
    for i, part in enumerate(np.split(every, 6)):
        rows = [*column_of(part).to_pylist(), None]
        columns = {"report": pa.array(rows, pa.binary()), "country": [f"c{i % 2}"] * 201}
        pq.write_table(pa.table(columns), folder / "reports" / f"{i}.parquet")
    for fault in FAULTS:
        arguments = [str(folder), fault]
        run_script(SCRIPT, arguments, environment, folder, status=-signal.SIGKILL)
    assert "batches" in run_script(SCRIPT, [str(folder), "none"], environment, folder)
    return every


def test_ten_kills_between_and_within_batches_count_every_report_once(
    question, spark_environment, tmp_path
):
    """Two streams, each killed before, within and after the transaction, resume where they were."""
    folders = [tmp_path / "one", tmp_path / "other"]
    with ThreadPoolExecutor(2) as pool:  # one core each
        streams = pool.map(lambda f: killed_stream(f, question, spark_environment), folders)
        for folder, every in zip(folders, streams, strict=True):
            table = lakes.TallyTable(folder / "tallies.db", question, ["country"])
            tallies = table.tallies()
            assert set(tallies) == {("c0",), ("c1",)}
            assert sum(tallies.values()).to_bytes() == question.tally(every).to_bytes()
            assert table.refused() == {"null": 6}


def test_a_batch_that_comes_again_changes_nothing(question, tmp_path):
    """The same number of the same query is known; of another query it is new."""
    table = lakes.TallyTable(tmp_path / "t.db", question)
    one = question.tally(question.privatize(["page 1"]))
    assert table.add("a", 0, [((), one)], {"null": 2})
    assert not table.add("a", 0, [((), one)], {"null": 2})
    assert table.add("b", 0, [((), one)])
    assert table.add("a", 1, [])
    assert table.holds("a", 1)
    assert not table.holds("a", 2)
    assert table.tallies()[()].to_bytes() == (one + one).to_bytes()
    assert table.refused() == {"null": 2}


def test_a_batch_that_fails_leaves_nothing_behind(question, tmp_path):
    """Where one tally of a batch cannot be added, none is, and the batch may come again."""
    table = lakes.TallyTable(tmp_path / "t.db", question, ["country"])
    one = question.tally(question.privatize(["page 1"]))
    other = Question("other", question.labels, question.protocol)
    foreign = other.tally(other.privatize(["page 1"]))
    with pytest.raises(IncompatibleTally):
        table.add("a", 0, [(("at",), one), (("ch",), foreign)])
    assert table.tallies() == {}
    assert not table.holds("a", 0)


def test_a_table_belongs_to_one_question_and_its_groups(question, tmp_path):
    """A file of another question, or by other columns, is refused."""
    lakes.TallyTable(tmp_path / "t.db", question)
    lakes.TallyTable(tmp_path / "t.db", question)
    other = Question("other", question.labels, question.protocol)
    for asked, by in ((other, ()), (question, ("country",))):
        with pytest.raises(InvalidDocument, match="another file"):
            lakes.TallyTable(tmp_path / "t.db", asked, by)


def test_open_questions_are_not_kept_in_tables(tmp_path):
    """Their tallies are the reports, so that each batch would write all reports again."""
    with pytest.raises(InvalidParameter, match="Parquet"):
        lakes.TallyTable(tmp_path / "t.db", Question("word", None, OpenLH(2.0)))
