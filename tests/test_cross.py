"""Cross tables: shares within rows, with intervals that hold, and what records say first."""

import csv
import io

import numpy as np
import pytest

from deniable import Choice, Number, Question, Record
from deniable.answers import survey
from deniable.answers.cross import CrossEstimates
from deniable.presentation.verdict import ALPHA

JOINT = np.array([[0.30, 0.20], [0.08, 0.22], [0.12, 0.03], [0.04, 0.01]])


def asked(epsilon: float = 2.0) -> Question:
    """Return a question about a country and a plan."""
    record = Record(
        country=Choice(["DE", "FR", "IT", "LU"]), plan=Choice(["free", "pro"]), tables="pairs"
    )
    return Question("set-up", record, epsilon=epsilon)


def crossed(question: Question, n: int, seed: int, *names: str) -> CrossEstimates:
    """Return a table of people drawn from the joint shares."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(JOINT.size, n, p=JOINT.ravel())
    reports = question.protocol.privatize(cells.astype(np.uint64), rng)
    found = question.estimate(question.tally(reports)).cross(*(names or ("country", "plan")))
    assert isinstance(found, CrossEstimates)
    return found


def test_a_table_is_a_page_of_its_own() -> None:
    """Also where it is empty, since nothing is significant."""
    found = crossed(asked(), 3000, 1)
    for table in (found, found.take([])):
        assert "of its country (95 % interval)" in table.to_html()


def test_a_grid_is_printed_as_rows_and_columns() -> None:
    """One line for each row, with the labels of columns above."""
    grid = crossed(asked(), 3000, 1).grid()
    head, *lines = str(grid).splitlines()
    assert head.split() == ["free", "pro"]
    assert [line.split()[0] for line in lines] == ["DE", "FR", "IT", "LU"]
    assert lines[0].split()[1] == f"{100 * grid.shares[0, 0]:.1f}"
    assert len({len(line) for line in (head, *lines)}) == 1


@pytest.mark.parametrize("names", [("country", "plan"), ("plan", "country")])
def test_shares_within_rows_are_cells_over_the_sums_of_their_rows(names: tuple[str, str]) -> None:
    """The attribute that is named first makes the rows."""
    found = crossed(asked(), 30_000, 1, *names)
    table, within = found.grid().shares, found.within()
    rows = table.sum(axis=int(names[0] == "country"), keepdims=True)
    assert within is not None
    assert np.allclose(within.shares.reshape(4, 2), np.clip(table / rows, 0, 1))
    assert np.all((within.lower <= within.shares) & (within.shares <= within.upper))


def test_labels_may_hold_what_stands_between_them() -> None:
    """Cells, margins and pages are those of the same people under plain labels."""
    plain = Record(a=["x", "y"], b=["u", "v"], tables="pairs")
    odd = Record(a=["x", "x / y"], b=["z", "y / z"], tables="pairs")
    values = np.random.default_rng(1).choice(4, 3000, p=(0.5, 0.1, 0.3, 0.1)).astype(np.uint64)
    tables = []
    for record in (plain, odd):
        question = Question("odd", record, epsilon=3.0)
        reports = question.protocol.privatize(values, np.random.default_rng(2))
        found = question.estimate(question.tally(reports))
        assert "a by b" in found.to_html()
        tables.append(found.cross("a", "b"))
    assert np.array_equal(tables[0].grid().shares, tables[1].grid().shares)
    assert np.array_equal(tables[0].margin(1).counts, tables[1].margin(1).counts)
    assert tables[1].grid().columns == ("z", "y / z")
    assert tables[1].take([3, 1]).margin(0).labels == ("x / y", "x")


def test_some_rows_have_the_shares_that_they_have_among_all() -> None:
    """A row that was taken keeps its share within the whole row of the table."""
    found = crossed(asked(), 30_000, 2)
    few, every = found.take([5, 0]).within(), found.within()
    assert few is not None
    assert every is not None
    assert np.allclose(few, np.array(every)[:, [5, 0]])


def test_intervals_within_rows_cover() -> None:
    """Of 95 % intervals, also of rare rows, 93.5 to 97 % hold the population's share."""
    question, true = asked(), (JOINT / JOINT.sum(axis=1, keepdims=True)).ravel()
    held, short = [], []
    for seed in range(600):
        found = crossed(question, 3000, seed).within()
        assert found is not None
        held.append((found.lower <= true) & (true <= found.upper))
        known = ~np.isnan(found.shares)
        middle, half = (found.lower + found.upper) / 2, 0.35 * (found.upper - found.lower)
        short.append((np.abs(true - middle) <= half)[known].mean())
    # Cells of a row agree, so 2,400 independent ones: the standard error is 0.0045.
    assert 0.935 < np.mean(held) < 0.97
    assert np.mean(short) < 0.92  # intervals that are 30 % too short would not do


def test_a_row_that_may_be_empty_has_no_shares() -> None:
    """Nothing is claimed of rows that cannot be told from none."""
    found = crossed(asked(0.5), 200, 3)
    within = found.within()
    assert within is not None
    unknown = np.isnan(within.shares)
    assert unknown.any()
    assert set(within.lower[unknown]) == {0.0}
    assert set(within.upper[unknown]) == {1.0}
    cells = {row.label: row.cells[-1] for row in found.view().rows}
    assert cells["LU / pro"] == "not known" if unknown[7] else "%" in cells["LU / pro"]


def test_shares_within_rows_are_in_tables_files_and_pages() -> None:
    """Text, CSV and pages tell them, with their intervals."""
    question = asked()
    found = crossed(question, 30_000, 4)
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    within = found.within()
    assert within is not None
    assert [float(row["row_share"]) for row in rows] == within.shares.tolist()
    assert [float(row["row_upper"]) for row in rows] == within.upper.tolist()
    assert "of its country (95 % interval)" in str(found)
    assert "of its country (95 % interval)" in found.to_html()
    rng = np.random.default_rng(5)
    cells = rng.choice(8, 30_000, p=JOINT.ravel()).astype(np.uint64)
    whole = question.estimate(question.tally(question.protocol.privatize(cells, rng)))
    assert "plan within each country" in whole.to_html()


def test_a_record_says_first_what_is_sure_and_names_the_attribute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of many towns nothing can be told, of two plans the leader; all claims share one level."""
    towns = Choice([f"town {i}" for i in range(200)])
    question = Question("q", Record(town=towns, plan=Choice(["free", "pro"])), epsilon=0.5)
    rng = np.random.default_rng(6)
    places = [rng.integers(0, 200, 4000), (rng.random(4000) < 0.05).astype(np.int64)]
    values = question.answers.join(places)
    found = question.estimate(question.tally(question.protocol.privatize(values, rng)))
    levels, judge = [], survey.judge

    def watched(*given, alpha: float, **named):
        levels.append(alpha)
        return judge(*given, alpha=alpha, **named)

    monkeypatch.setattr(survey, "judge", watched)
    said = found.verdict()
    assert said.sure
    assert str(said.headline).startswith("plan: free leads")
    assert str(said.claims[-1]).startswith("town: too few reports to tell any of these 200")
    assert levels == [ALPHA / 2] * 2


def test_numbers_are_shown_in_bins_that_hold_everybody() -> None:
    """Tables and figures have few bins in order; files have all, with mean and quartiles."""
    question, rng = Question("h", Number(0, 300, step=1), epsilon=2.0), np.random.default_rng(7)
    numbers = np.clip(rng.normal(150, 40, 20_000), 0, 300)
    found = question.estimate(question.tally(question.privatize(numbers, rng)))
    shown = found.shown(25)
    assert [label.split(" to ")[0] for label in shown.labels] == [str(20 * i) for i in range(16)]
    assert shown.counts.sum() == pytest.approx(found.counts.sum())
    assert "median" in str(found)
    assert "0 to 49" in str(found)
    assert found.take([7, 30, 8]).shown(2).labels == found.take([7, 30, 8]).top(2).labels
    row = next(csv.DictReader(io.StringIO(found.to_csv())))
    for name, figure in found.figures().items():
        start = name.replace(" ", "_")
        told = [float(row[f"{start}_{end}"]) for end in ("value", "lower", "upper")]
        assert told == [figure.value, figure.lower, figure.upper]
    title = found.plot().get_suptitle()
    assert "middle half" in title
    drawn = [tick.get_text() for tick in found.plot().axes[0].get_yticklabels()]
    assert drawn == list(shown.labels)
