"""Tallies, merges and estimates of frames: equal to the local ones to the last byte."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from deniable import OLH, OUE, BasicRAPPOR, OpenLH, Question, Tally
from deniable import spark as lakes
from deniable.errors import InvalidParameter, InvalidReport
from deniable.segments import Dimension
from deniable.spark import executors
from tests.spark.conftest import column_of
from tests.spark.test_partitions import reports_of

pytestmark = pytest.mark.spark


@pytest.fixture(params=[executors.DRIVER_BYTES, 2_000], ids=["one stage", "two stages"])
def _stages(request, monkeypatch):
    """Add on the driver, or first on the executors."""
    monkeypatch.setattr(executors, "DRIVER_BYTES", request.param)


@pytest.mark.usefixtures("_stages")
@pytest.mark.parametrize("partitions", [1, 2, 7, None])
def test_the_tally_of_a_frame_is_the_local_one(spark, lake, table, question, partitions):
    """One tally comes out, the same whatever the partitions and stages."""
    frame = spark.read.parquet(str(lake))
    frame = frame if partitions is None else frame.repartition(partitions)
    local = question.tally(reports_of(table, question))
    assert lakes.tally(frame, question, "report").to_bytes() == local.to_bytes()


def test_an_empty_frame_has_the_empty_tally(spark, lake, question):
    """No rows make a tally of no reports, and no groups."""
    frame = spark.read.parquet(str(lake)).where("day > 99")
    assert lakes.tally(frame, question, "report").to_bytes() == question.tally([]).to_bytes()
    assert lakes.tally(frame, question, "report", ["day"]).collect() == []


@pytest.mark.usefixtures("_stages")
def test_the_tallies_of_groups_are_the_local_ones(spark, lake, table, question):
    """Each group has one row with its local tally, null groups and a skewed one included."""
    by = ["day", "country"]
    found = lakes.tally(spark.read.parquet(str(lake)), question, "report", by)
    assert found.columns == ["day", "country", "n", "tally"]
    rows = {(row.day, row.country): row for row in found.collect()}
    reports, columns = reports_of(table, question), table.to_pydict()
    keys = list(zip(columns["day"], columns["country"], strict=True))
    assert set(rows) == set(keys)
    assert found.count() == len(rows)
    assert max(row.n for row in rows.values()) > len(table) / 2.1
    for key, row in rows.items():
        local = question.tally(reports[np.array([other == key for other in keys])])
        assert bytes(row.tally) == local.to_bytes()
        assert row.n == local.n


@pytest.mark.usefixtures("_stages")
def test_stored_tallies_merge_to_the_tally_of_all(spark, lake, table, question, tmp_path):
    """Tallies that were written by day and country add up, to one or by country."""
    frame = spark.read.parquet(str(lake))
    path = str(tmp_path / "tallies")
    lakes.tally(frame, question, "report", ["day", "country"]).write.parquet(path)
    stored = spark.read.parquet(path)
    local = question.tally(reports_of(table, question))
    assert lakes.merge(stored, question).to_bytes() == local.to_bytes()
    merged = lakes.merge(stored, question, by=["country"]).collect()
    assert len(merged) == 4
    assert sum(Tally.from_bytes(bytes(row.tally)).n for row in merged) == local.n


@pytest.mark.usefixtures("_stages")
def test_an_open_question_is_estimated_from_counts_of_its_candidates(spark, tmp_path):
    """Executors count the support; estimates, labels and provenance are the local ones."""
    question = Question("word", None, OpenLH(2.0))
    reports = question.privatize(["kiwi", "fig", "kiwi"] * 1000, np.random.default_rng(5))
    pq.write_table(pa.table({"report": column_of(reports)}), tmp_path / "r.parquet")
    frame = spark.read.parquet(str(tmp_path)).repartition(3)
    candidates = ["kiwi", "fig", *(f"plum {i}" for i in range(200))]
    local = question.estimate(question.tally(reports), candidates)
    found = lakes.estimate(frame, question, candidates)
    assert found.counts.tolist() == local.counts.tolist()
    assert found.std_errors.tolist() == local.std_errors.tolist()
    assert (found.labels, found.provenance, found.n) == (local.labels, local.provenance, local.n)


def test_a_closed_question_is_estimated_from_its_tally(spark, lake, table, question):
    """Estimates of a closed question are the local ones, of all answers or some."""
    frame = spark.read.parquet(str(lake))
    local = question.estimate(question.tally(reports_of(table, question)))
    assert lakes.estimate(frame, question).counts.tolist() == local.counts.tolist()
    some = lakes.estimate(frame, question, ["page 3", "page 1"])
    assert some.counts.tolist() == local.select(["page 3", "page 1"]).counts.tolist()


def test_people_who_may_answer_again_are_judged_by_rounds(spark, tmp_path):
    """The different values of a column are the rounds, or their number; neither is refused."""
    question = Question("mood", ("good", "bad"), BasicRAPPOR(2, 0.5, 0.75, 0.25))
    reports = question.privatize(["good", "bad", "good"] * 100, np.random.default_rng(5))
    days = pa.array([f"2026-05-{1 + i % 4:02}" for i in range(300)])
    pq.write_table(pa.table({"report": column_of(reports), "day": days}), tmp_path / "r.parquet")
    frame = spark.read.parquet(str(tmp_path)).repartition(3)
    local = question.estimate(question.tally(reports), rounds=4)
    for rounds in ("day", 4):
        assert lakes.estimate(frame, question, rounds=rounds) == local
    with pytest.raises(InvalidParameter, match="expected rounds= or people="):
        lakes.estimate(frame, question)
    with pytest.raises(InvalidParameter, match="a column among"):
        lakes.estimate(frame, question, rounds="week")


@pytest.fixture
def corrupt(table, tmp_path):
    """Return a folder where every hundredth row is null, short, impossible or text."""
    rows = table["report"].to_pylist()
    wrong = [None, b"", b"\xff" * len(rows[0]), b"kiwi and fig"]
    for i in range(0, len(rows), 100):
        rows[i] = wrong[i // 100 % 4]
    table = table.set_column(0, "report", pa.array(rows, pa.binary()))
    pq.write_table(table.slice(0, 12_000), tmp_path / "first.parquet")
    pq.write_table(table.slice(12_000), tmp_path / "second.parquet")
    return tmp_path, table


def test_corrupt_rows_are_left_out_and_counted_by_reason(spark, corrupt, question):
    """With a counter the sound rows are tallied, by group too, and the others counted."""
    folder, table = corrupt
    frame, refused = spark.read.parquet(str(folder)), Counter()
    found = lakes.tally(frame, question, "report", refused=refused)
    assert refused == {"null": 50, "wrong length": 100, "impossible report": 50}
    size = question.protocol.report_dtype.itemsize
    sound = [r for r in table["report"].to_pylist() if r and len(r) == size and r != b"\xff" * size]
    assert found.to_bytes() == question.tally(question.parse(b"".join(sound), None)).to_bytes()
    again = Counter()
    groups = lakes.tally(frame, question, "report", ["country"], refused=again)
    assert again == refused
    assert sum(row.n for row in groups.collect()) == found.n


@pytest.mark.parametrize("by", [[], ["country"]])
def test_corrupt_rows_are_an_error_that_names_the_files(spark, corrupt, question, by):
    """Without a counter nothing is returned: the error has counts, reasons and files."""
    folder, _ = corrupt
    with pytest.raises(InvalidReport) as caught:
        lakes.tally(spark.read.parquet(str(folder)), question, "report", by)
    for part in (
        "200 rows cannot be used",
        "100 x wrong length",
        "first.parquet (120)",
        "second.parquet (80)",
    ):
        assert part in str(caught.value)


def test_an_open_estimate_refuses_and_counts_likewise(spark, tmp_path):
    """Corrupt rows are left out of estimates, or an error, as asked."""
    question = Question("word", None, OpenLH(2.0))
    reports = question.privatize(["kiwi"] * 50, np.random.default_rng(5))
    rows = [*column_of(reports).to_pylist(), None, b"kiwi"]
    pq.write_table(pa.table({"report": pa.array(rows, pa.binary())}), tmp_path / "r.parquet")
    frame, refused = spark.read.parquet(str(tmp_path)), Counter()
    assert lakes.estimate(frame, question, ["kiwi"], refused=refused).n == 50
    assert refused == {"null": 1, "wrong length": 1}
    with pytest.raises(InvalidReport, match=r"2 rows .*r\.parquet \(2\)"):
        lakes.estimate(frame, question, ["kiwi"])


@pytest.mark.parametrize("column", ["country", "answer"])
def test_a_column_that_holds_no_bytes_is_refused_before_any_task_runs(
    spark, lake, question, column
):
    """A column of text, or none at all, is refused before any task runs."""
    with pytest.raises(InvalidParameter, match="column"):
        lakes.tally(spark.read.parquet(str(lake)), question, column)


def test_groups_by_columns_that_cannot_be_groups_are_refused(spark, lake, question):
    """Names of the result's own columns, text for a list and floats are refused."""
    frame = spark.read.parquet(str(lake)).withColumnRenamed("day", "n")
    for by in (["n"], "country", ["nowhere"], ["country", "country"]):
        with pytest.raises(InvalidParameter):
            lakes.tally(frame, question, "report", by)
    with pytest.raises(InvalidParameter, match="cast"):
        lakes.tally(frame.selectExpr("report", "rand() AS r"), question, "report", ["r"])


@pytest.mark.parametrize(("rows", "large"), [("0", "false"), ("3", "true"), ("100000", "true")])
def test_settings_of_arrow_do_not_change_the_result(spark, lake, table, rows, large):
    """Batches of any size and large types make the same tally."""
    question = Question("page", tuple(f"page {i}" for i in range(300)), OLH(1.0, 300))
    names = {"maxRecordsPerBatch": rows, "useLargeVarTypes": large}
    settings = {f"spark.sql.execution.arrow.{name}": value for name, value in names.items()}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        frame = spark.read.parquet(str(lake)).where("day = 3")
        third = table.filter(pc.equal(table["day"], 3))
        local = question.tally(reports_of(third, question))
        assert lakes.tally(frame, question, "report").to_bytes() == local.to_bytes()
    finally:
        for name in settings:
            spark.conf.unset(name)


def test_batches_that_arrow_cannot_hold_are_refused(spark, lake):
    """A number of rows that would take more than 2 GiB in a batch is named in the error."""
    question = Question("bits", tuple(map(str, range(1024))), OUE(1.0, 1024))
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    spark.conf.set(name, str(1 << 25))
    try:
        with pytest.raises(InvalidParameter, match=name):
            lakes.tally(spark.read.parquet(str(lake)), question, "report")
    finally:
        spark.conf.unset(name)


def test_results_by_segment_are_the_local_ones(spark):
    """Columns named like the dimensions tell segments apart, null and unlisted values included."""
    platforms = Dimension("platform", ("linux", "mac", "rest"), other="rest")
    question = Question("fruit", ("kiwi", "fig"), OUE(3.0, 2), segments=[platforms])
    stated = ["linux"] * 600 + ["mac"] * 30 + ["amiga"] * 300 + [None] * 20
    reports = question.privatize(["kiwi", "fig"] * 475, np.random.default_rng(1))
    rows = zip([report.tobytes() for report in reports], stated, strict=True)
    frame = spark.createDataFrame(list(rows), "report binary, platform string")
    found = lakes.divide(frame.repartition(3), question, "platform")
    # What nobody stated is the value that stands for all others.
    assert [(part.value, part.n) for part in found.parts] == [
        ("linux", 600), ("mac", 30), ("rest", 320)
    ]  # fmt: skip
    linux = question.estimate(question.tally(reports[:600]))
    assert found.parts[0].estimates.counts.tolist() == linux.counts.tolist()
    with pytest.raises(InvalidParameter, match="dimension"):
        lakes.divide(frame, question, "arm")
