import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import OUE, RAPPOR, Estimates, OpenLH, Question, __version__
from deniable.presentation import tables, unguarded
from deniable.presentation.tables import guarded

FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''+1")
HARMLESS = ("kiwi", "a=b", "'tis", "'", "", " =1", "日本")


@pytest.mark.frames
def test_every_export_says_where_it_comes_from(question: Question, estimates: Estimates) -> None:
    """Name, digest, protocol, epsilon, n and version stand in CSV, JSON, pandas and Parquet."""
    import pandas as pd  # noqa: PLC0415 - an extra
    import pyarrow.parquet  # noqa: PLC0415 - the same

    expected = {
        "question": "pages",
        "digest": question.digest,
        "protocol": "OUE",
        "epsilon": 2.0,
        "n": 20_000,
        "version": __version__,
    }
    assert json.loads(estimates.to_json())["provenance"] == expected
    assert estimates.to_pandas().attrs["provenance"] == expected
    sink = io.BytesIO()
    pyarrow.parquet.write_table(estimates.to_arrow(), sink)
    metadata = pyarrow.parquet.read_table(io.BytesIO(sink.getvalue())).schema.metadata
    assert json.loads(metadata[b"deniable.provenance"]) == expected
    frame = pd.read_csv(io.StringIO(estimates.to_csv()))
    for name, value in expected.items():
        assert set(frame[name]) == {value}
    page = estimates.to_html()
    assert f'<meta name="deniable.digest" content="{question.digest}">' in page


@pytest.mark.frames
def test_csv_is_read_by_pandas_as_it_is(estimates: Estimates) -> None:
    """The measured columns come first, with nothing before the header."""
    import pandas as pd  # noqa: PLC0415 - an extra

    for delimiter in (",", "\t"):
        text = estimates.to_csv(delimiter=delimiter)
        frame = pd.read_csv(io.StringIO(text), sep=delimiter)
        names = list(estimates.columns())
        assert list(frame.columns[: len(names)]) == names
        assert frame["count"].tolist() == estimates.counts.tolist()
        assert frame["significant"].dtype == bool


def test_estimates_of_no_question_have_no_columns_about_it(estimates: Estimates) -> None:
    """Without provenance there is nothing to repeat."""
    bare = replace(estimates, provenance=None)
    assert bare.to_csv().splitlines()[0].endswith("significant")
    assert json.loads(bare.to_json())["provenance"] is None


def test_json_explains_its_limits(estimates: Estimates) -> None:
    """Whatever is no plain word has a sentence of its own."""
    document = json.loads(estimates.to_json())
    explained = {"threshold", "null_std_error", "significant"}
    assert set(document["explanations"]) == explained
    assert explained <= {*document, *document["estimates"][0]}


@pytest.mark.parametrize("protocol", [OpenLH(1.0), RAPPOR(1.0)], ids=lambda p: p.name)
def test_open_questions_have_provenance(protocol: OpenLH) -> None:
    """Estimates of candidates name their question too."""
    question = Question("word", None, protocol)
    reports = question.privatize(["a", "b"] * 50, np.random.default_rng(1))
    source = question.estimate(question.tally(reports), ["a", "b"]).provenance
    assert source is not None
    assert (source.question, source.digest) == ("word", question.digest)
    assert source.protocol == protocol.name


def test_protocols_alone_have_provenance_without_a_question() -> None:
    """What no question asked has a protocol and an epsilon."""
    protocol = OUE(1.0, 4)
    source = protocol.estimate(protocol.tally(protocol.privatize([1, 2]))).provenance
    assert source is not None
    assert (source.protocol, source.epsilon, source.digest) == ("OUE", 1.0, None)


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_no_cell_is_a_formula(delimiter: str) -> None:
    """Text that a spreadsheet would compute is behind an apostrophe; numbers stay numbers."""
    labels = FORMULAS + HARMLESS
    found = Estimates(np.linspace(-9, 9, len(labels)), np.ones(len(labels)), 10, 1.0, labels)
    text = found.to_csv(delimiter=delimiter)
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
    cells = [row["label"] for row in rows]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)
    assert cells[len(FORMULAS) :] == list(HARMLESS)
    assert [unguarded(cell) for cell in cells] == list(labels)
    assert [float(row["count"]) for row in rows] == found.counts.tolist()


def test_the_name_of_a_question_is_no_formula_either() -> None:
    """The constant columns are guarded as labels are."""
    question = Question("=evil()", ("a", "b"), OUE(1.0, 2))
    text = question.estimate(question.tally(question.privatize(["a", "b"]))).to_csv()
    assert ",'=evil()," in text


def test_constant_columns_are_guarded_once(
    estimates: Estimates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many rows there are, the provenance that they share is looked at once."""
    seen: list[str] = []

    def recorded(text: str) -> str:
        seen.append(text)
        return guarded(text)

    monkeypatch.setattr(tables, "guarded", recorded)
    estimates.to_csv()
    constants = [value for value in (estimates.constants() or {}).values() if type(value) is str]
    assert sorted(seen) == sorted([*(estimates.labels or ()), *constants])


@given(st.text(alphabet="'=+-@\t\r\na", max_size=6))
def test_guards_come_off_as_they_went_on(text: str) -> None:
    """Whatever the text, guarding and unguarding give it back."""
    assert unguarded(guarded(text)) == text
