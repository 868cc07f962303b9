"""Columns of any kind go in, and estimates come out as columns of any kind."""

import array
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from deniable import (
    OUE,
    DeniableError,
    Estimates,
    InvalidParameter,
    OpenLH,
    OutOfDomain,
    Question,
)

pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.frames

VALUES = [0, 1, 2, 3, 3, 0]
ANSWERS = ["fig", "kiwi", 'Ügly, "one"', "elsewhere", "fig"]
QUESTION = Question("fruit", ("fig", "kiwi", 'Ügly, "one"', "other"), OUE(1.0, 4), other="other")

VALUE_COLUMNS: dict[str, Callable[[list[int]], object]] = {
    "list": list,
    "tuple": tuple,
    "array": lambda values: array.array("i", values),
    "numpy": np.array,
    "numpy uint8": lambda values: np.array(values, dtype=np.uint8),
    "numpy big-endian": lambda values: np.array(values, dtype=">i4"),
    "pandas": lambda values: pd.Series(values, index=range(10, 10 + len(values))),
    "pandas nullable": lambda values: pd.Series(values, dtype="Int64"),
    "pandas arrow": lambda values: pd.Series(values, dtype="int64[pyarrow]"),
    "pandas categorical": lambda values: pd.Series(values, dtype="category"),
    "polars": pl.Series,
    "polars uint8": lambda values: pl.Series(values, dtype=pl.UInt8),
    "arrow": pa.array,
    "arrow chunked": lambda values: pa.chunked_array([values[:2], values[2:]]),
}
ANSWER_COLUMNS: dict[str, Callable[[list[str]], object]] = {
    "list": list,
    "generator": iter,
    "numpy": np.array,
    "numpy object": lambda answers: np.array(answers, dtype=object),
    "numpy string": lambda answers: np.array(answers, dtype=np.dtypes.StringDType()),
    "pandas": lambda answers: pd.Series(answers, index=range(10, 10 + len(answers))),
    "pandas string": lambda answers: pd.Series(answers, dtype="string"),
    "pandas arrow": lambda answers: pd.Series(answers, dtype="string[pyarrow]"),
    "pandas categorical": lambda answers: pd.Series(answers, dtype="category"),
    "polars": pl.Series,
    "polars categorical": lambda answers: pl.Series(answers, dtype=pl.Categorical),
    "arrow": pa.array,
    "arrow large": lambda answers: pa.array(answers, pa.large_string()),
    "arrow dictionary": lambda answers: pa.array(answers).dictionary_encode(),
    "arrow chunked": lambda answers: pa.chunked_array([answers[:2], answers[2:]]),
}


@pytest.mark.parametrize("kind", VALUE_COLUMNS)
def test_protocols_take_values_of_any_column(kind: str) -> None:
    """The same values make the same reports, whatever column they come in."""
    protocol = OUE(1.0, 4)
    found = protocol.privatize(VALUE_COLUMNS[kind](VALUES), np.random.default_rng(1))  # type: ignore[arg-type]
    assert np.array_equal(found, protocol.privatize(VALUES, np.random.default_rng(1)))


@pytest.mark.parametrize("kind", ANSWER_COLUMNS)
def test_questions_take_answers_of_any_column(kind: str) -> None:
    """The same answers make the same reports, whatever column they come in."""
    found = QUESTION.privatize(ANSWER_COLUMNS[kind](ANSWERS), np.random.default_rng(1))  # type: ignore[arg-type]
    assert np.array_equal(found, QUESTION.privatize(ANSWERS, np.random.default_rng(1)))


def test_open_questions_take_columns() -> None:
    """An open question fingerprints the text of any column."""
    question = Question("word", None, OpenLH(1.0))
    expected = question.values(ANSWERS)
    for make in ANSWER_COLUMNS.values():
        assert np.array_equal(question.values(make(ANSWERS)), expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([0, None], dtype="Int64"),
        pd.Series([0, np.nan]),
        pl.Series([0, None]),
        pa.array([0, None]),
    ],
    ids=["pandas nullable", "pandas", "polars", "arrow"],
)
def test_missing_values_are_refused(column: object) -> None:
    """A missing value is nobody's answer, so it is not taken for one."""
    with pytest.raises(InvalidParameter, match="expected whole numbers"):
        OUE(1.0, 4).privatize(column)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "column",
    [pd.Series(["fig", None]), pl.Series(["fig", None]), pa.array(["fig", None])],
    ids=["pandas", "polars", "arrow"],
)
def test_missing_answers_are_refused(column: object) -> None:
    """A missing answer is refused by position, even where other answers have a label."""
    with pytest.raises(OutOfDomain, match="position 1"):
        QUESTION.privatize(column)  # type: ignore[arg-type]


def _estimates() -> Estimates:
    rng = np.random.default_rng(5)
    return QUESTION.estimate(QUESTION.tally(QUESTION.privatize(ANSWERS * 100, rng)))


def test_frames_hold_the_same_columns() -> None:
    """pandas, Polars and Arrow get the names and numbers of ``columns``."""
    found = _estimates()
    columns = found.columns()
    for frame in (found.to_pandas(), found.to_polars().to_pandas(), found.to_arrow().to_pandas()):
        assert list(frame.columns) == list(columns)
        assert frame["label"].tolist() == list(QUESTION.labels or ())
        for name in list(columns)[1:]:
            assert np.array_equal(frame[name].to_numpy(), columns[name])


def test_frames_say_what_they_are() -> None:
    """What is true of all rows travels in the metadata of pandas and Arrow."""
    found = _estimates()
    assert found.to_pandas().attrs["n"] == 500
    assert found.to_arrow().schema.metadata[b"deniable.n"] == b"500"


def test_frames_can_be_written_to() -> None:
    """A data frame owns its numbers; writing to it leaves the estimates alone."""
    found = _estimates()
    frame = found.to_pandas()
    before = found.counts.copy()
    frame.loc[0, "count"] = -1.0
    assert np.array_equal(found.counts, before)


def test_values_stay_numbers_without_labels() -> None:
    """Estimates without labels have a column of values."""
    found = replace(_estimates(), labels=None)
    assert found.to_polars()["value"].to_list() == [0, 1, 2, 3]
    assert found.top(2).to_pandas()["value"].tolist() == np.argsort(-found.counts)[:2].tolist()


@pytest.mark.parametrize(
    ("method", "module", "extra"),
    [
        ("to_pandas", "pandas", "frames"),
        ("to_polars", "polars", "frames"),
        ("to_arrow", "pyarrow", "arrow"),
        ("plot", "matplotlib.figure", "plot"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    method: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the optional package the error says what to install."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DeniableError, match=rf"pip install 'deniable\[{extra}\]'"):
        getattr(_estimates(), method)()


@pytest.mark.parametrize(
    "table",
    [
        {"fig": 1, "kiwi": 2},
        pd.DataFrame({"fig": ["kiwi"]}),
        pl.DataFrame({"fig": ["kiwi"]}),
        pa.table({"fig": ["kiwi"]}),
    ],
    ids=["dict", "pandas", "polars", "arrow"],
)
def test_tables_are_no_answers(table: object) -> None:
    """The keys of a dict and the names of columns are not taken for answers."""
    for question in (QUESTION, Question("word", None, OpenLH(1.0))):
        with pytest.raises(InvalidParameter, match="pass one of its columns"):
            question.privatize(table)  # type: ignore[arg-type]
