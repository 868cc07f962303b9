"""Records, numbers, sets and texts on Spark: privatized, tallied, and divided by segment."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from deniable import (
    Choice,
    Choices,
    Discovery,
    InvalidParameter,
    Number,
    Question,
    Record,
    Tally,
    Text,
)
from deniable import spark as lakes
from deniable.spark import partitions

pytestmark = pytest.mark.spark

PEOPLE = [{"plan": "pro", "age": 41.0}, {"plan": "free", "age": 23.0}] * 100
CASES = {
    "record": (
        Record(plan=Choice(["free", "pro"]), age=Number(0, 80, step=20), tables="pairs"),
        PEOPLE, [{"plan": "gold", "age": 1.0}, None],
        pa.struct([("plan", pa.string()), ("age", pa.float64())]), "struct<plan:string,age:double>",
    ),
    "number": (
        Number(0, 100, want=("distribution", "mean")),
        [12.5, 40.0] * 100, [float("nan"), None], pa.float64(), "double",
    ),
    "sets": (
        Choices(["git", "vim", "tmux"], at_most=2),
        [["git"], ["git", "vim"], []] * 70, [["emacs"], None], pa.list_(pa.string()),
        "array<string>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_workers_take_every_kind_of_answer(kind: str) -> None:
    """A column of structs, numbers or lists becomes reports; what is no answer is counted."""
    answers, rows, wrong, form, _ = CASES[kind]
    question = Question(kind, answers, epsilon=2.0)
    batch = pa.RecordBatch.from_arrays([pa.array([*rows, *wrong], form)], names=["answer"])
    made = list(partitions.private_reports([batch], question, "answer", keep=[], strict=False))
    (found,) = partitions.partial_tallies(made, question, "report", strict=True)
    assert Tally.from_bytes(found.column("tally")[0].as_py()).n == len(rows)
    (refused,) = partitions.refused_answers([batch], question, "answer")
    reasons = dict(zip(refused["reason"].to_pylist(), refused["n"].to_pylist(), strict=True))
    assert reasons == {"null": 1, "not an answer": 1}


@pytest.mark.spark
@pytest.mark.parametrize("kind", CASES)
def test_frames_of_every_kind_are_privatized_and_estimated(spark, kind, tmp_path) -> None:
    """Reports are written, tallied on executors, and estimated as on one machine."""
    answers, rows, wrong, _, form = CASES[kind]
    question = Question(kind, answers, epsilon=2.0)
    frame = spark.createDataFrame([(row,) for row in [*rows, *wrong]], f"answer {form}")
    refused: Counter[str] = Counter()
    reports = lakes.privatize(frame, question, "answer", str(tmp_path / "r"), refused=refused)
    assert refused == {"null": 1, "not an answer": 1}
    tally = lakes.tally(reports, question, "report")
    assert tally.n == len(rows)
    found = lakes.estimate(reports, question)
    assert np.array_equal(found.counts, question.estimate(tally).counts)
    assert type(found) is type(question.estimate(tally))


@pytest.mark.spark
def test_the_columns_of_a_record_are_named(spark, tmp_path) -> None:
    """Attributes stand in columns of their own, and results are divided by a public segment."""
    record, rows, *_ = CASES["record"]
    question = Question("set-up", record, epsilon=3.0, segments={"os": ("linux", "mac")})
    people = [(row["plan"], row["age"], "linux" if i % 4 else "mac") for i, row in enumerate(rows)]
    frame = spark.createDataFrame(people * 5, "plan string, age double, os string")
    reports = lakes.privatize(frame, question, ("plan", "age"), str(tmp_path / "r"))
    assert reports.columns == ["report", "os"]
    divided = lakes.divide(reports, question, "os")
    assert {part.value: part.n for part in divided.parts} == {"linux": 750, "mac": 250}
    with pytest.raises(InvalidParameter, match="a column for each attribute"):
        lakes.privatize(frame, question, ("plan",), str(tmp_path / "x"))


@pytest.mark.spark
def test_texts_that_nobody_listed_are_found_on_spark(spark, tmp_path) -> None:
    """Texts are privatized and tallied on executors, to the bytes of one machine, and found."""
    protocol = Discovery(4.0, 4, 3, 6, 8, "0" * 16)
    question = Question("fruit", Text(discover="english"), protocol)
    texts = ["kiwi"] * 5000 + ["papaya"] * 4000 + [None]
    frame = spark.createDataFrame([(text,) for text in texts], "answer string")
    refused: Counter[str] = Counter()
    reports = lakes.privatize(frame, question, "answer", str(tmp_path / "r"), refused=refused)
    assert refused == {"null": 1}
    tally = lakes.tally(reports, question, "report")
    own = question.protocol.parse(b"".join(bytes(row.report) for row in reports.collect()), None)
    assert tally.to_bytes() == question.tally(own).to_bytes()
    # With cells of 14 bits one search in ten has a further text, which shares one with a true text.
    assert {"kiwi", "papaya"} <= set(question.discover(tally).sure)
    counted = lakes.estimate(reports, question, candidates=["kiwi", "fig"])
    assert counted.counts.tolist() == question.estimate(tally, ["kiwi", "fig"]).counts.tolist()
