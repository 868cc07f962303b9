"""What workers do, without Spark: Arrow batches in, Arrow batches out."""

from collections import Counter
from datetime import date
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import DE, OUE, BasicRAPPOR, OpenLH, Question, Tally
from deniable.errors import InvalidParameter, InvalidReport, OutOfDomain
from deniable.protocols import discover
from deniable.spark import frames, partitions
from deniable.spark.partitions import group_rows, read_reports
from tests.fuzz import answers_of
from tests.spark.conftest import column_of


def sums(batches):
    """Return what came out, by group: the sum of all tallies, and the refused by reason."""
    tallies, refused = {}, Counter()
    for batch in batches:
        for row in batch.to_pylist():
            if row["reason"] is not None:
                refused[row["reason"]] += row["n"]
                continue
            key = tuple(v for k, v in row.items() if k not in {"n", "tally", "reason"})
            tally = Tally.from_bytes(row["tally"])
            assert tally.n == row["n"]
            tallies[key] = tally + tallies[key] if key in tallies else tally
    return tallies, refused


def reports_of(table, question):
    """Return the reports in a table, all of which are sound."""
    return np.frombuffer(b"".join(table["report"].to_pylist()), question.protocol.report_dtype)


@pytest.mark.parametrize("rows", [1, 7, 10_000, 20_000])
def test_a_partition_has_the_bytes_of_the_local_tally_whatever_its_batches(table, question, rows):
    """A partition adds up to the local tally, in batches of any size."""
    found, refused = sums(
        partitions.partial_tallies(
            table.slice(0, 2_000 if rows == 1 else None).to_batches(rows),
            question,
            "report",
            strict=True,
        )
    )
    local = question.tally(reports_of(table.slice(0, 2_000 if rows == 1 else None), question))
    assert found[()].to_bytes() == local.to_bytes()
    assert not refused


@pytest.mark.parametrize("kind", sorted(set(discover()) - {"Levels"}))
def test_every_protocol_is_tallied_equally(kind):
    """The tally of a partition is the local one for every protocol that questions have."""
    protocol = discover()[kind].examples()[0]
    numbers = np.arange(50, dtype=np.uint64) % np.uint64(min(protocol.value_count, 3))
    reports = protocol.privatize(protocol.numbered(numbers), np.random.default_rng(3))
    question = Question("q", answers_of(protocol), protocol)
    batches = pa.table({"r": column_of(reports)}).to_batches(20)
    found, _ = sums(partitions.partial_tallies(batches, question, "r", strict=True))
    assert found[()].to_bytes() == question.tally(reports).to_bytes()


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_groups_add_up_to_their_local_tallies(table, question, monkeypatch, most):
    """Each group has its own tally, also where groups are given away before the end."""
    monkeypatch.setattr(partitions, "_MOST_GROUPS", most)
    monkeypatch.setattr(partitions, "_CHUNK_ROWS", 3_000)
    batches = table.to_batches(1_000)
    found, _ = sums(
        partitions.partial_tallies(batches, question, "report", by=["day", "country"], strict=True)
    )
    reports, rows = reports_of(table, question), list(zip(*table.to_pydict().values(), strict=True))
    keys = [(day, country) for _, day, country in rows]
    assert set(found) == set(keys)
    for key, tally in found.items():
        mine = np.array([other == key for other in keys])
        assert tally.to_bytes() == question.tally(reports[mine]).to_bytes()


def test_stored_tallies_add_up_and_whole_groups_come_out_where_they_stand_together(
    table, question, monkeypatch
):
    """Sorted partial tallies of a group become one row each."""
    by = ["country"]
    pieces = [
        batch
        for part in table.to_batches(2_500)
        for batch in partitions.partial_tallies([part], question, "report", by=by, strict=True)
    ]
    ordered = pa.Table.from_batches(pieces).sort_by("country")
    monkeypatch.setattr(partitions, "_MOST_GROUPS", 1)
    merged = partitions.merged_tallies(ordered.to_batches(), question, "tally", by=by, strict=True)
    rows = pa.Table.from_batches(list(merged)).to_pylist()
    assert len(rows) == len({row["country"] for row in rows}) == 4
    assert sum(row["n"] for row in rows) == len(table)


def test_what_is_no_tally_of_the_question_is_refused_by_reason(question):
    """Nulls, other bytes and tallies of other questions are three reasons."""
    other = Question("other", question.labels, question.protocol)
    reports = question.privatize(["page 1"])
    stored = [question.tally(reports).to_bytes(), other.tally(reports).to_bytes(), b"kiwi", None]
    batch = pa.record_batch({"tally": pa.array(stored, pa.binary())})
    found, refused = sums(partitions.merged_tallies([batch], question, "tally", strict=False))
    assert found[()].n == 1
    assert refused == {"null": 1, "not a tally": 1, "of another question": 1}


def test_a_strict_partition_stops_at_the_first_row_that_is_no_report(question):
    """Strict work goes no further than the batch with the first refused row."""

    def batches():
        yield pa.record_batch({"r": pa.array([None], pa.binary())})
        raise AssertionError("read on")

    found, refused = sums(partitions.partial_tallies(batches(), question, "r", strict=True))
    assert not found
    assert refused == {"null": 1}


def test_rows_that_are_no_reports_are_counted_by_reason():
    """Wrong lengths, impossible codes, nulls and text are told apart, and the rest is kept."""
    protocol = OUE(1.0, 12)
    sound = protocol.privatize(np.zeros(6, dtype=np.uint64), np.random.default_rng(1))
    good = column_of(sound).to_pylist()
    rows = [None, *good[:2], b"\xff\xff", b"", *good[2:], b"text", b"\0\xf0", None]
    column = pa.array(rows, pa.binary())
    twice = pa.concat_arrays([column, column])
    for array in (column, column.cast(pa.large_binary()), twice[len(column) :]):
        reports, kept, refused = read_reports(array, protocol)
        assert reports.tobytes() == sound.tobytes()
        assert [row for row, keep in zip(rows, kept, strict=True) if keep] == good
        assert refused == {"null": 2, "wrong length": 2, "impossible report": 2}


@given(
    st.lists(
        st.one_of(st.none(), st.binary(max_size=2), st.integers(0, 4).map(lambda v: bytes([v])))
    )
)
def test_reading_a_column_agrees_with_parsing_row_by_row(rows):
    """A row is kept exactly where parse takes its bytes."""
    protocol = DE(1.0, 3)

    def takes(row):
        try:
            return row is not None and protocol.parse(row) is not None
        except InvalidReport:
            return False

    _, kept, refused = read_reports(pa.array(rows, pa.binary()), protocol)
    assert kept.tolist() == [takes(row) for row in rows]
    assert refused.total() == len(rows) - kept.sum()


def test_a_column_of_text_is_refused_as_a_whole():
    """Text is no column of reports, and the error says how to decode it."""
    with pytest.raises(InvalidReport, match="unbase64"):
        read_reports(pa.array(["kiwi"]), DE(1.0, 3))


@pytest.mark.parametrize("most", [4, 1 << 16])
@pytest.mark.parametrize(
    "first",
    [
        pa.array([1, 2, None, 1, 2]),
        pa.array([-(1 << 63), (1 << 63) - 1, 0, -(1 << 63), (1 << 63) - 1]),
        pa.array([-(1 << 15), (1 << 15) - 1, 5, -(1 << 15), (1 << 15) - 1], pa.int16()),
        pa.array([date(2026, 1, 1), date(1969, 1, 1), date(2026, 1, 3)]).take(
            pa.array([0, 1, 2, 0, 1])
        ),
        pa.array([True, False, None, True, False]),
        pa.array(["kiwi", "", None, "kiwi", ""]),
    ],
    ids=["nulls", "wide", "narrow", "dates", "booleans", "text"],
)
def test_rows_are_grouped_by_equal_keys(monkeypatch, first, most):
    """Keys of any type and width are told apart, also with more combinations than codes."""
    monkeypatch.setattr("deniable.spark.partitions._MOST_CODES", most)
    keys = [first, pa.array(["a", "b", "a", "a", "c"])]
    order, groups = group_rows(keys, 5)
    found = {key: order[part].tolist() for key, part in groups}
    one, two, three = (first[i].as_py() for i in range(3))
    assert found == {(one, "a"): [0, 3], (two, "b"): [1], (three, "a"): [2], (two, "c"): [4]}
    assert len(groups) == 4


def test_no_rows_have_no_groups():
    """An empty batch has no groups, whatever the types of its keys."""
    order, groups = group_rows([pa.array([], pa.int32()), pa.array([], pa.string())], 0)
    assert order.tolist() == groups == []


def test_support_is_counted_as_by_the_local_kernel():
    """Partial support counts add up to the local ones, whatever the batches."""
    question = Question("word", None, OpenLH(2.0))
    reports = question.privatize(["kiwi", "fig"] * 500, np.random.default_rng(4))
    keys = np.arange(30, dtype=np.uint64)
    batches = pa.table({"r": column_of(reports)}).to_batches(300)
    parts = [
        part
        for batch in batches
        for part in partitions.partial_supports([batch], question, "r", keys=keys, strict=True)
    ]
    (total,) = partitions.added_supports(parts, question, size=30)
    counts = np.frombuffer(total["tally"][0].as_py(), "<i8")
    assert total["n"][0].as_py() == 1000
    assert counts.tolist() == question.protocol.support_counts(reports, keys).tolist()


def test_each_answer_becomes_one_report_beside_its_other_columns(question):
    """Answers become reports row by row; rows without one are left out, or an error."""
    batch = pa.record_batch({"a": ["page 1", None, "page 9", "kiwi"], "id": [1, 2, 3, 4]})
    (made,) = partitions.private_reports([batch], question, "a", keep=["id"], strict=False)
    assert made.schema.names == ["report", "id"]
    assert made["id"].to_pylist() == [1, 3]
    assert len(read_reports(made["report"], question.protocol)[0]) == 2
    (counted,) = partitions.refused_answers([batch], question, "a")
    assert dict(zip(counted["reason"].to_pylist(), counted["n"].to_pylist(), strict=True)) == {
        "null": 1, "not an answer": 1,
    }  # fmt: skip
    with pytest.raises(OutOfDomain) as caught:
        list(partitions.private_reports([batch], question, "a", keep=["id"], strict=True))
    assert "kiwi" not in str(caught.value)


class _Frame:
    """What ``estimate`` asks of a frame beside its reports: the types of columns, and days."""

    def __init__(self, **types):
        fields = [
            SimpleNamespace(name=name, dataType=SimpleNamespace(typeName=lambda kind=kind: kind))
            for name, kind in types.items()
        ]
        self.schema = SimpleNamespace(fields=fields)

    def select(self, name):
        assert name == "day"
        return self

    def distinct(self):
        return self

    def count(self):
        return 4


def test_people_who_may_answer_again_are_estimated_by_rounds(monkeypatch):
    """The days of a column are the rounds, or their number is given; without, nothing is read."""
    question = Question("mood", ("good", "bad"), BasicRAPPOR(2, 0.5, 0.75, 0.25))
    reports = question.privatize(["good", "bad", "good"] * 100, np.random.default_rng(5))
    batches = pa.table({"report": column_of(reports)}).to_batches(70)

    def add_up(frame, question, column, *, refused=None):
        del frame, refused
        return sums(partitions.partial_tallies(batches, question, column, strict=True))[0][()]

    frame = _Frame(report="binary", day="string")
    with pytest.raises(InvalidParameter, match="expected rounds= or people="):
        frames.estimate(frame, question)
    monkeypatch.setattr(frames, "tally", add_up)
    local = question.estimate(question.tally(reports), rounds=4)
    for rounds in (4, "day"):
        assert frames.estimate(frame, question, rounds=rounds) == local
    some = frames.estimate(frame, question, ["bad"], rounds=4)
    assert some.counts.tolist() == local.select(["bad"]).counts.tolist()
    with pytest.raises(InvalidParameter, match="a column among report, day"):
        frames.estimate(frame, question, rounds="week")
    once, several = Question("a", ("x", "y"), DE(1.0, 2)), Question("b", None, OpenLH(1.0))
    monkeypatch.setattr(frames, "tally", lambda *_, **__: once.tally(once.privatize(["x"])))
    with pytest.raises(InvalidParameter, match="reports of DE are independent"):
        frames.estimate(frame, once, rounds=4)
    with pytest.raises(InvalidParameter, match="reports of OpenLH are independent"):
        frames.estimate(frame, several, ["kiwi"], rounds=4)


def test_a_column_has_reports_and_rows_that_are_none():
    """Rows that are no reports are left out, and counted by reason."""
    column = pa.array([b"\0", None, b"\3", b"", b"\1"], pa.binary())
    reports, rows, refused = read_reports(column, DE(1.0, 3))
    assert (reports.tolist(), rows.tolist()) == ([0, 1], [True, False, False, False, True])
    assert refused == {"impossible report": 1, "null": 1, "wrong length": 1}


def test_equal_keys_are_brought_together():
    """Rows are ordered by the first appearance of their keys, and each key has its place."""
    order, groups = group_rows([pa.array(["b", "a", "b"]), pa.array([1, 1, 1])], 3)
    found = [(key, order[part].tolist()) for key, part in groups]
    assert found == [(("b", 1), [0, 2]), (("a", 1), [1])]
