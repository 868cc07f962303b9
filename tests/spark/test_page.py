"""The Python of docs/scale.md runs as it stands, with a lake and a disk in a folder."""

import ast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import OpenLH, Question
from tests.pages import ROOT
from tests.spark.conftest import column_of
from tests.test_docs import fences

pytestmark = pytest.mark.spark


def test_the_blocks_of_the_page_run(spark, question, table, tmp_path, monkeypatch):
    """Frames of a lake, then a stream: both end with all reports that are there."""
    monkeypatch.chdir(tmp_path)
    question.to_json("question.json")
    words = Question("word", None, OpenLH(2.0))
    drawn = words.privatize(["kiwi", "fig"] * 1000, np.random.default_rng(6))
    for name, content in (("reports", table), ("words", pa.table({"report": column_of(drawn)}))):
        (tmp_path / "lake" / name).mkdir(parents=True)
        pq.write_table(content, tmp_path / "lake" / name / "part.parquet")
    arriving = str(tmp_path / "lake" / "reports")
    schema = spark.read.parquet(arriving).schema
    names = {"session": spark, "open_question": words,
             "stream": spark.readStream.schema(schema).parquet(arriving)}  # fmt: skip
    for block in (text for name, text in fences(ROOT / "docs" / "scale.md") if name == "python"):
        text = block.replace("s3://lake", str(tmp_path / "lake"))
        for statement in ast.parse(text.replace("/durable", str(tmp_path))).body:
            exec(compile(ast.Module([statement], []), "docs/scale.md", "exec"), names)
            for query in spark.streams.active:
                query.processAllAvailable()
                query.stop()
    assert names["tally"].n == names["total"].n == names["estimates"].n == len(table)
    assert names["words"].n == 2000
    assert not names["refused"]
