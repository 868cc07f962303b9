"""Files that are summed up: raw reports, copies, and what is no file of ours."""

import gzip
import json
import shutil

import numpy as np
import pytest

from deniable import Question


def test_raw_reports_are_tallied(fruit):
    """Bytes as ``privatize`` returns them count the same, and how many they were is said."""
    question = Question.from_json(fruit.read("fruit.json"))
    reports = question.privatize(["kiwi", "fig"] * 150, np.random.default_rng(3))
    fruit.write("raw.bin", reports[:100].tobytes())
    fruit.write("more.bin.gz", gzip.compress(reports[100:].tobytes()))
    outcome = fruit("tally", "fruit.json", "--raw", "raw.bin", "more.bin.gz", "-o", "t.bin")
    assert "raw.bin: 100 reports of 1 byte\n" in outcome.err
    assert "more.bin.gz: 200 reports of 1 byte\n" in outcome.err
    assert fruit.read("t.bin") == question.tally(reports).to_bytes()
    assert "--raw" not in fruit.fails("tally", "fruit.json", "raw.bin", "-o", "x")
    assert "a report file" in fruit.fails("tally", "fruit.json", "--raw", "reports.bin", "-o", "x")
    assert not fruit.path("x").exists()


def test_raw_reports_that_look_compressed_are_reports(shell):
    """Two reports that begin as gzip does are taken for what they are."""
    labels = [x for i in range(256) for x in ("--label", f"answer {i}")]
    shell("question", "create", "q", *labels, "--epsilon", 4, "--protocol", "DE", "-o", "q.json")
    shell.write("raw.bin", b"\x1f\x8b")
    found = json.loads(shell("tally", "q.json", "--raw", "raw.bin", "-o", "t", "--json").out)
    assert found["reports"] == 2


@pytest.mark.parametrize("name", ["reports.bin", "tally.bin"])
def test_a_copy_is_counted_with_a_warning(fruit, name):
    """The same content twice, by whatever name and compressed or not, is probably a mistake."""
    shutil.copy(fruit.path(name), fruit.path("copy.bin"))
    fruit.write("packed.gz", gzip.compress(fruit.read(name)))
    outcome = fruit("tally", "fruit.json", name, "copy.bin", "packed.gz", "-o", "t.bin")
    for copy in ("copy.bin", "packed.gz"):
        assert f"warning: {copy} has the same content as {name}; " in outcome.err
    assert "1,500 reports in 3 files" in outcome.err
    fruit("privatize", "fruit.json", "answers.txt", "-o", "other.bin")
    assert "warning" not in fruit("tally", "fruit.json", name, "other.bin", "-o", "t.bin").err
    assert "warning" in fruit("estimate", "fruit.json", name, "copy.bin").err


@pytest.mark.parametrize("command", ["tally", "estimate"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "an empty file"),
        (b"id,fruit\n1,kiwi\n", "CSV"),
        (b"kiwi\n", "text"),
        (b"\x89PNG\r\n", "a picture"),
        (gzip.compress(b"kiwi\n"), "text"),
        (gzip.compress(gzip.compress(b"", mtime=0), mtime=0), "gzip data"),
        (bytes(range(200)), "binary data that begin with 00 01"),
    ],
)
def test_what_is_no_file_of_ours_is_named(fruit, command, content, words):
    """The name, what it seems to be and a remedy, in one line."""
    fruit.write("odd.bin", content)
    message = fruit.fails(command, "fruit.json", "odd.bin")
    assert "odd.bin: expected a report file or a tally file, got " in message
    assert words in message


def test_a_question_in_the_wrong_place_is_named(fruit):
    """As a file of reports, or a report file, a tally or nothing in the place of the question."""
    shutil.copy(fruit.path("fruit.json"), fruit.path("same.json"))
    assert "got a question file; give it as the question" in fruit.fails(
        "tally", "fruit.json", "same.json"
    )
    fruit.write("empty.json", "")
    kinds = {"reports.bin": "a report file", "tally.bin": "a tally file",
             "people.csv": "probably CSV", "empty.json": "an empty file"}  # fmt: skip
    for name, words in kinds.items():
        message = fruit.fails("tally", name, "same.json")
        assert f"{name}: expected a question file, which is JSON, got " in message
        assert words in message


def test_a_compressed_question_reads(fruit):
    """The digest is that of the question inside."""
    fruit.write("q.gz", gzip.compress(fruit.read("fruit.json")))
    assert fruit("question", "show", "q.gz", "--json").out == fruit.read("fruit.json")
