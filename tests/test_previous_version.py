"""What earlier versions wrote is read, written again byte for byte, and estimated to the same."""

import json
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from deniable import RAPPOR, Question
from deniable.files import read_reports, read_tally, write_reports, write_tally
from deniable.protocol import Memoising
from deniable.protocols import discover

DATA = Path(__file__).parent / "data"
SUMS = "ffc4849d5f062146a7f20f4720885b58ea4c8edc5330f4c18a57e1502c92ea16"
"""The SHA-256 of the list of sums beside the files of version 0.2.0."""
WRITTEN = sorted(DATA.glob("v*/[0-9][0-9]-*.json"))


@pytest.fixture(params=WRITTEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def kept(request):
    """Return a document of an earlier version, and the question in it."""
    document = json.loads(request.param.read_text(encoding="utf-8"))
    return document, Question.from_json(document["question"])


def labels_of(question):
    """Return the labels that the earlier version had answers to."""
    return question.labels or tuple(f"answer {i}" for i in range(30))


@pytest.mark.parametrize(("version", "count"), [("v0.1.0", 13), ("v0.2.0", 15)])
def test_every_protocol_of_that_version_is_there(version, count):
    """All protocols of a version have been kept, and all of them are still known."""
    names = {path.stem.partition("-")[2] for path in WRITTEN if path.parent.name == version}
    assert len(names) == count
    assert names <= set(discover())


def test_no_file_has_changed():
    """The files of version 0.2.0 are to the byte those that it wrote."""
    listed = (DATA / "v0.2.0" / "SHA256SUMS").read_bytes()
    assert sha256(listed).hexdigest() == SUMS
    for line in listed.decode().splitlines():
        expected, _, name = line.partition("  ")
        assert sha256((DATA / "v0.2.0" / name).read_bytes()).hexdigest() == expected, name


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
    """Counts and standard errors are those of the earlier version, to the last bit.

    Only RAPPOR's are compared to 12 digits: scikit-learn solves its regression by the machine's
    BLAS, which may round the last bits in another way on another processor.
    """
    document, question = kept
    tally = read_tally(BytesIO(bytes.fromhex(document["tally"])), question)
    rounds = 1 if isinstance(question.protocol, Memoising) else None
    candidates = labels_of(question) if question.labels is None else None
    found = question.estimate(tally, candidates, rounds=rounds)
    rtol = 1e-12 if isinstance(question.protocol, RAPPOR) else 0
    np.testing.assert_allclose(found.counts, document["counts"], rtol=rtol)
    np.testing.assert_allclose(found.std_errors, document["std_errors"], rtol=rtol)


def test_a_single_report_is_the_same(kept):
    """The same answer and the same randomness make the same report."""
    document, question = kept
    report = question.privatize([labels_of(question)[1]], np.random.default_rng(7))
    assert report.tobytes().hex() == document["single"]
