"""What earlier versions wrote is read, written again byte for byte, and estimated to the same."""

import json
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from deniable import RAPPOR, Question, Views
from deniable.files import read_reports, read_segments, read_tally, write_reports, write_tally
from deniable.protocol import Memoising
from deniable.protocols import discover

DATA = Path(__file__).parent / "data"
SUMS = {
    "v0.2.0": "ffc4849d5f062146a7f20f4720885b58ea4c8edc5330f4c18a57e1502c92ea16",
    "v0.3.0": "0db5ad12a147ac507d07c87b702e9847ed0413a9a71568282ca3fca17e743885",
}
"""The SHA-256 of the list of sums beside the files of each version."""
WRITTEN = sorted(DATA.glob("v*/[0-9][0-9]-*.json"))


@pytest.fixture(params=WRITTEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def kept(request):
    """Return a document of an earlier version, and the question in it."""
    document = json.loads(request.param.read_text(encoding="utf-8"))
    return document, Question.from_json(document["question"])


def answers_of(document, question):
    """Return the answers that the earlier version had reports of."""
    listed = question.labels or tuple(f"answer {i}" for i in range(30))
    return document.get("given", listed)


@pytest.mark.parametrize(("version", "count"), [("v0.1.0", 13), ("v0.2.0", 15), ("v0.3.0", 5)])
def test_every_protocol_of_that_version_is_there(version, count):
    """All protocols of a version, of 0.3.0 those of new kinds, were kept and are still known."""
    names = {path.stem.partition("-")[2] for path in WRITTEN if path.parent.name == version}
    assert len(names) == count
    assert names <= set(discover())


@pytest.mark.parametrize("version", SUMS)
def test_no_file_has_changed(version):
    """The files of a version are to the byte those that it wrote."""
    listed = (DATA / version / "SHA256SUMS").read_bytes()
    assert sha256(listed).hexdigest() == SUMS[version]
    for line in listed.decode().splitlines():
        expected, _, name = line.partition("  ")
        assert sha256((DATA / version / name).read_bytes()).hexdigest() == expected, name


def test_questions_are_the_same(kept):
    """A question reads, and writes to the same bytes with the same digest."""
    document, question = kept
    assert question.digest == document["digest"]
    assert question.to_json() == document["question"]


def test_report_files_are_the_same(kept):
    """A report file reads, and the reports in it write to the same bytes."""
    document, question = kept
    data = bytes.fromhex(document["reports"])
    cells, batches = zip(*read_segments(BytesIO(data), question), strict=True)
    assert sum(map(len, batches)) == len(document["answers"])
    again = BytesIO()
    write_reports(again, question, batches, cells=cells)
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

    Only RAPPOR's and those of views are compared to 12 digits: scikit-learn's regression and their
    matrices are the machine's BLAS's, which may round the last bits in another way elsewhere.
    """
    document, question = kept
    tally = read_tally(BytesIO(bytes.fromhex(document["tally"])), question)
    rounds = 1 if isinstance(question.protocol, Memoising) else None
    candidates = answers_of(document, question) if question.labels is None else None
    found = question.estimate(tally, candidates, rounds=rounds)
    rtol = 1e-12 if isinstance(question.protocol, RAPPOR | Views) else 0
    np.testing.assert_allclose(found.counts, document["counts"], rtol=rtol)
    np.testing.assert_allclose(found.std_errors, document["std_errors"], rtol=rtol)


def test_a_single_report_is_the_same(kept):
    """The same answer and the same randomness make the same report."""
    document, question = kept
    report = question.privatize([answers_of(document, question)[1]], np.random.default_rng(7))
    assert report.tobytes().hex() == document["single"]
