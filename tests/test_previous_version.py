"""What version 0.1.0 wrote is read, written again byte for byte, and estimated to the same."""

import json
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from deniable import Question
from deniable.files import read_reports, read_tally, write_reports, write_tally
from deniable.protocols import discover

WRITTEN = sorted((Path(__file__).parent / "data" / "v0.1.0").glob("*.json"))


@pytest.fixture(params=WRITTEN, ids=lambda path: path.stem)
def kept(request):
    """Return a document of the previous version, and the question in it."""
    document = json.loads(request.param.read_text(encoding="utf-8"))
    return document, Question.from_json(document["question"])


def labels_of(question):
    """Return the labels that the previous version had answers to."""
    return question.labels or tuple(f"answer {i}" for i in range(30))


def test_every_protocol_of_that_version_is_there():
    """All thirteen protocols have been kept, and all of them are still known."""
    names = {path.stem.partition("-")[2] for path in WRITTEN}
    assert len(names) == 13
    assert names <= set(discover())


def test_questions_are_the_same(kept):
    """A question reads, and writes to the same bytes with the same digest."""
    document, question = kept
    assert question.digest == document["digest"]
    assert question.to_json() == document["question"]


def test_report_files_are_the_same(kept):
    """A report file reads, and the reports in it write to the same bytes."""
    document, question = kept
    data = bytes.fromhex(document["reports"])
    batches = list(read_reports(BytesIO(data), question))
    assert sum(map(len, batches)) == len(document["answers"])
    again = BytesIO()
    write_reports(again, question, batches)
    assert again.getvalue() == data


def test_tallies_are_the_same(kept):
    """A tally file reads and writes to the same bytes, and so does a new tally of the reports."""
    document, question = kept
    data = bytes.fromhex(document["tally"])
    tally, again = read_tally(BytesIO(data), question), BytesIO()
    write_tally(again, tally)
    assert again.getvalue() == data
    reports = read_reports(BytesIO(bytes.fromhex(document["reports"])), question)
    assert question.tally(reports).to_bytes() == data


def test_estimates_are_the_same(kept):
    """Counts and standard errors are those of the previous version, to the last bit."""
    document, question = kept
    tally = read_tally(BytesIO(bytes.fromhex(document["tally"])), question)
    found = question.estimate(tally, labels_of(question) if question.labels is None else None)
    np.testing.assert_array_equal(found.counts, document["counts"])
    np.testing.assert_array_equal(found.std_errors, document["std_errors"])


def test_a_single_report_is_the_same(kept):
    """The same answer and the same randomness make the same report."""
    document, question = kept
    report = question.privatize([labels_of(question)[1]], np.random.default_rng(7))
    assert report.tobytes().hex() == document["single"]
