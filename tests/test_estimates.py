import csv
import io
import json
import math
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import DE, OLH, OUE, Estimates, InvalidParameter, OutOfDomain, compare
from deniable.consistency import norm_sub
from deniable.law import Variance, upper_normal
from deniable.presentation import unguarded
from deniable.presentation.view import Answer, Provenance
from tests.naive.law import NormalLaw

NASTY = (
    "plain",
    'quote " comma ,',
    "two\nlines",
    "",
    "<b>&amp;</b>",
    "日本語",
    "$x_1$ \x1b[31m",
    "=1+1",
)


def _estimates(labels: tuple[str, ...] | None = NASTY) -> Estimates:
    counts = np.array([50.0, 400.0, -20.0, 30.0, 120.0, -5.0, 300.0, 60.0])
    return Estimates(counts, np.full(8, 30.0), 1000, 30.0, labels)


def test_threshold_is_the_papers() -> None:
    """T_s = Phi^-1(1 - alpha / d) sqrt(Var*), for the numbers of the paper's data set."""
    protocol = OUE(4.0, 41_270)
    error = float(protocol.variance(8_019_470)) ** 0.5
    found = Estimates(np.zeros(41_270), np.full(41_270, error), 8_019_470, error)
    assert found.threshold(0.05) == pytest.approx(3681, abs=30)


def test_tiny_alpha_has_a_threshold() -> None:
    """An alpha that rounding would lose beside one still gives a threshold."""
    assert 8 * 30 < _estimates().threshold(1e-20) < 11 * 30


@pytest.mark.parametrize("bad", [0, 1, -0.1, 1.1, float("nan"), "0.95", None])
def test_levels_that_are_none_are_refused(bad: float) -> None:
    """A level or alpha outside (0, 1) is refused."""
    with pytest.raises(InvalidParameter, match=r"expected level (as a number|between 0 and 1)"):
        _estimates().interval(bad)
    with pytest.raises(InvalidParameter, match=r"expected alpha (as a number|between 0 and 1)"):
        _estimates().threshold(bad)


def test_plain_interval() -> None:
    """Without a law the interval is z standard errors on both sides."""
    lower, upper = _estimates().interval(0.95)
    assert np.allclose((upper - lower) / 2, 1.959964 * 30)
    assert np.allclose((upper + lower) / 2, _estimates().counts)


@given(
    count=st.floats(-500, 1500),
    slope=st.floats(-0.8, 18),  # beyond 2 null / z what fits may be two intervals
    null=st.floats(30, 300),
    level=st.floats(0.5, 0.999),
)
def test_score_interval_holds_what_fits(
    count: float, slope: float, null: float, level: float
) -> None:
    """A true count is in the score interval just when the estimate is within z of its errors."""
    n = 1000
    law = NormalLaw(Variance(n, null**2, slope))
    found = Estimates(np.array([count]), np.ones(1), n, null, law=law)
    lower, upper = (float(end[0]) for end in found.interval(level))
    half = float(Estimates(np.zeros(1), np.ones(1), n, null).interval(level)[1][0])
    assert lower <= count <= upper
    for true in np.linspace(-600, 1600, 221):
        allowed = half**2 * (null**2 + slope * min(max(true, 0), n))
        if abs((count - true) ** 2 - allowed) > 1e-6 * allowed:
            assert (lower <= true <= upper) == ((count - true) ** 2 <= allowed)


def test_top_is_sorted_and_keeps_the_threshold() -> None:
    """The largest counts come first, and are judged as the best of all answers."""
    found = _estimates()
    top = found.top(3)
    assert top.labels == (NASTY[1], NASTY[6], NASTY[4])
    assert top.threshold() == found.threshold()
    assert (len(top), top.total) == (3, 8)
    assert all(a >= b for a, b in pairwise(found.top().counts))


def test_select_is_a_question_about_those_labels() -> None:
    """Selected labels come in the given order with a threshold for their number."""
    found = _estimates().select(["", "plain"])
    assert found.labels == ("", "plain")
    assert found.counts.tolist() == [30.0, 50.0]
    assert found.threshold() < _estimates().threshold()
    with pytest.raises(OutOfDomain, match="'fog'"):
        found.select(["fog"])


def test_estimates_compare_by_content() -> None:
    """Equal content is equal; any field makes a difference; pickling keeps all of it."""
    found = _estimates()
    assert found == _estimates()
    assert pickle.loads(pickle.dumps(found)) == found
    for other in (
        found.top(),
        replace(found, n=1001),
        replace(found, labels=None),
        replace(found, unbiased=found.counts),
        replace(found, adjusted="norm-sub"),
        "estimates",
    ):
        assert found != other


def test_arrays_are_read_only() -> None:
    """Counts cannot be changed after the fact."""
    with pytest.raises(ValueError, match="read-only"):
        _estimates().counts[0] = 1.0


def test_csv_reads_back() -> None:
    """CSV gives every label and every bit of every number back."""
    found = _estimates()
    rows = list(csv.DictReader(io.StringIO(found.to_csv(), newline="")))
    assert [unguarded(row["label"]) for row in rows] == list(NASTY)
    assert [float(row["count"]) for row in rows] == found.counts.tolist()
    assert [row["significant"] for row in rows].count("true") == int(found.significant().sum())


def test_json_reads_back() -> None:
    """JSON says once what is true of all rows, and gives each row as an object."""
    found = _estimates()
    document = json.loads(found.to_json(alpha=0.01))
    assert document["n"] == 1000
    assert document["threshold"] == found.threshold(0.01)
    assert document["interval_of"] == "unbiased count"
    assert [row["label"] for row in document["estimates"]] == list(NASTY)
    assert [row["upper"] for row in document["estimates"]] == found.interval()[1].tolist()


def test_adjusted_estimates_are_labelled() -> None:
    """Exports of adjusted counts name the interval as that of the unbiased count."""
    found = replace(_estimates(), adjusted="norm-sub", unbiased=_estimates().counts + 1)
    names = list(found.columns())
    assert names == [
        "label",
        "count",
        "share",
        "unbiased_count",
        "outside",
        "unbiased_std_error",
        "unbiased_lower",
        "unbiased_upper",
        "significant",
    ]
    assert not found.columns()["outside"].any()
    moved = replace(found, counts=found.counts + 1e6)
    assert moved.columns()["outside"].all()
    assert "† 8 counts are outside" in moved.table().replace("\n", " ")
    assert "those of the unbiased counts" in found.table()
    assert "interval of the unbiased count" in found.to_html()
    assert json.loads(found.to_json())["adjusted"] == "norm-sub"


def test_empty_estimates_are_presentable() -> None:
    """When no row is left, every form still has its frame."""
    none = _estimates().take([])
    assert none.table().startswith("0 of 8 answers")
    assert json.loads(none.to_json())["estimates"] == []
    assert none.to_csv().count("\n") == 1
    assert "<tbody></tbody>" in none.to_html()
    none.plot().canvas.draw()  # type: ignore[attr-defined]


def test_table_is_one_line_a_row() -> None:
    """No label breaks the table or reaches the terminal as a control sequence."""
    text = _estimates().table()
    assert len(text.splitlines()) == 1 + 1 + 8 + 4
    assert "\x1b" not in text
    assert text.splitlines()[2].startswith('1  quote " comma ,')
    assert repr(_estimates()) == _estimates().table(10)


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "rect", "path"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("form", ["page", "notebook"])
def test_html_is_self_contained_and_escaped(form: str) -> None:
    """Labels cannot add elements, all elements are closed, and nothing is fetched."""
    found = _estimates()
    page = found.to_html(title="<script>") if form == "page" else found._repr_html_()
    parser = _Texts()
    parser.feed(page)
    assert not parser.open
    assert not {"script", "img", "link"} & set(parser.tags)
    assert "<b>bold" not in page
    assert parser.tags.count("svg") == 1 + 8
    assert "http" not in page


def test_notebook_table_is_short() -> None:
    """A notebook shows the largest fifty."""
    many = Estimates(np.arange(40_000.0), np.ones(40_000), 10**6, 1.0)
    assert many._repr_html_().count('<svg class="bars"') == 50
    assert "50 of 40,000 answers" in many._repr_html_()


def test_plot_has_axes_units_and_legend() -> None:
    """Bars carry their labels, the axes their units, and the legend every element."""
    found = replace(_estimates(), labels=tuple("abcdefgh"))
    figure = found.plot(truth=np.full(8, 100.0))
    axes, (legend,) = figure.axes[0], figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {
        "unbiased count",
        "95 % interval",
        "95 % interval of what may be none",
        "true count",
    }
    assert axes.get_xlabel() == "share of people (of 1,000)"
    assert [text.get_text() for text in axes.get_yticklabels()] == list(found.top(8).labels)
    assert len(axes.patches) == np.count_nonzero(found.significant())


def test_the_legend_stands_below_the_bars() -> None:
    """No bar is under the legend, and what may be none has no bar and the interval it names."""
    counts = np.array([100.0, 99.0, 98.0, 2.0])
    law = NormalLaw(Variance(300, 1.0, 0.0))
    figure = Estimates(counts, np.ones(4), 300, 1.0, law=law).plot()
    figure.savefig(io.BytesIO(), format="png")
    axes, (legend,) = figure.axes[0], figure.legends
    assert legend.get_window_extent().y1 <= axes.get_window_extent().y0
    names = [text.get_text() for text in legend.get_texts()]
    handles = dict(zip(names, legend.legend_handles, strict=True))
    assert [bar.get_width() for bar in axes.patches] == [100.0, 99.0, 98.0]
    assert handles["unbiased count"].get_facecolor() == axes.patches[0].get_facecolor()
    found, rare = axes.collections
    assert [line[0, 1] for line in found.get_segments()] == [0, 1, 2]
    assert [line[0, 1] for line in rare.get_segments()] == [3]
    for lines in (found, rare):
        assert (handles[lines.get_label()].get_color() == lines.get_color()).all()
    assert rare.get_label() == "95 % interval of what may be none"
    assert (found.get_color() != rare.get_color()).any()
    few = Estimates(np.array([1.0, -1.0]), np.ones(2), 300, 1.0, law=law).plot()
    assert [text.get_text() for text in few.legends[0].get_texts()] == [rare.get_label()]


def test_the_answer_keeps_its_width_on_a_narrow_screen() -> None:
    """The column of labels has a least width, and the table scrolls instead."""
    page = _estimates().to_html()
    assert "min-width: 8em" in page
    assert "overflow-x: auto" in page


def test_no_number_is_minus_zero() -> None:
    """What rounds to nothing has no sign."""
    found = Estimates(np.array([-0.001, 9.0]), np.zeros(2), 100, 1.0)
    assert "-0" not in found.table()
    assert "-0<" not in found.to_html()
    assert "-0.00 %" not in found.to_html()


def test_only_all_is_a_hundred_percent() -> None:
    """A level close to 1 is shown with the digits that tell it from 1."""
    assert "99.999999999999 % interval" in _estimates().table(level=0.99999999999999)


def test_csv_quotes_every_line_end() -> None:
    """Labels with any character come back from the CSV as they were."""
    odd = ("a\rb", "a\nb", "\r\n", "\r", 'say "hi"', "a,b", " a ", "\ufeffa", "\0", "'", "")
    found = Estimates(np.zeros(len(odd)), np.ones(len(odd)), 5, 1.0, labels=odd)
    rows = list(csv.reader(io.StringIO(found.to_csv(), newline="")))
    assert tuple(unguarded(row[0]) for row in rows[1:]) == odd
    assert "\r\n" not in found.top(1).to_csv()
    assert "plain,0.0" in replace(found.take([0]), labels=("plain",)).to_csv()


def test_plot_draws_any_label() -> None:
    """No label is taken for a formula, and none makes matplotlib warn of a missing glyph."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no installed font has")
        figure = _estimates().plot()
    figure.savefig(io.BytesIO(), format="png")
    figure.savefig(io.BytesIO(), format="svg")


def test_plot_of_many_values_is_a_rank_plot() -> None:
    """40,000 values become one curve over their rank, in a file of ordinary size."""
    rng = np.random.default_rng(2)
    counts = 1e6 / np.arange(1, 40_001) + rng.normal(0, 500, 40_000)
    many = Estimates(counts, np.full(40_000, 500.0), 10_000_000, 500.0)
    figure = many.plot(top=None, truth=1e6 / np.arange(1, 40_001))
    assert figure.axes[0].get_xlabel() == "rank of the answer"
    image = io.BytesIO()
    figure.savefig(image, format="png")
    assert 5_000 < len(image.getvalue()) < 500_000
    assert len(many.plot().axes[0].patches) == 25


def test_plot_refuses_a_truth_of_another_length() -> None:
    """True counts have to be one for each answer."""
    with pytest.raises(InvalidParameter, match="expected 8 true values"):
        _estimates().plot(truth=[1, 2, 3])


def test_plot_leaves_pyplot_alone() -> None:
    """Drawing imports no pyplot, whose state is global."""
    code = (
        "import io, sys, numpy as np, deniable;"
        "figure = deniable.Estimates(np.ones(3), np.ones(3), 9, 1.0).plot();"
        "figure.savefig(io.BytesIO(), format='png');"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("protocol", "n"),
    [
        (DE(4.0, 100), 1000),
        (DE(6.0, 1000), 5000),
        (DE(1.0, 1000), 1000),
        (OUE(4.0, 1000), 1000),
        (OLH(4.0, 1000), 1000),
    ],
    ids=repr,
)
def test_few_chance_supports_do_not_pass_for_significant(protocol, n: int) -> None:
    """Nobody's answers are called significant in at most 5 % of runs, also where T_s is too low."""
    rng, runs = np.random.default_rng(43), 300
    people = np.repeat(np.arange(10), n // 10)
    by_threshold = by_law = 0
    for _ in range(runs):
        found = protocol.estimate(protocol.tally(protocol.privatize(people, rng)))
        normal = upper_normal(0.05 / len(found)) * found.null_std_error
        by_threshold += bool(np.any(found.counts[10:] > normal))
        by_law += bool(found.significant()[10:].any())
    assert by_threshold > 0.1 * runs
    assert by_law <= 0.05 * runs + 4 * (0.05 * 0.95 * runs) ** 0.5


def test_the_threshold_nears_the_papers() -> None:
    """With many reports the exact limit and T_s differ by a few people."""
    for n, few in ((10**6, 10), (10**9, 10)):
        found = OLH(4.0, 41_270).unbiased(np.zeros(41_270, dtype=np.int64), n)
        normal = upper_normal(0.05 / 41_270) * found.null_std_error
        assert normal < found.threshold() < normal + few


def test_the_arrays_of_the_caller_stay_writable() -> None:
    """Estimates keep their own copy: what is changed afterwards outside does not change them."""
    counts, errors = np.array([90.0, 3.0]), np.array([5.0, 4.0])
    found = Estimates(counts, errors, 100, 4.0)
    counts[0] = errors[0] = -1.0
    assert found.counts.tolist() == [90.0, 3.0]
    assert found.std_errors.tolist() == [5.0, 4.0]
    assert not found.counts.flags.writeable


@pytest.mark.parametrize("labels", [None, 5, "plain", iter(["plain"]), [["plain"]], [None]])
def test_what_is_no_list_of_labels_is_not_selected(labels) -> None:
    """Only estimated labels, in a list, can be selected."""
    with pytest.raises((InvalidParameter, OutOfDomain), match="expected"):
        _estimates().select(labels)


def test_estimates_are_a_collection_of_rows() -> None:
    """A label gives its row, iteration gives all of them, and membership is by label."""
    found = _estimates()
    row = found["plain"]
    assert (row.label, row.count, row.share, row.std_error) == ("plain", 50.0, 0.05, 30.0)
    assert (row.lower, row.upper) == tuple(float(end[0]) for end in found.interval())
    assert [each.label for each in found] == list(NASTY)
    assert all(isinstance(each, Answer) for each in found)
    assert [each.significant for each in found] == found.significant().tolist()
    assert "plain" in found
    assert "fog" not in found
    assert 0 not in found
    with pytest.raises(OutOfDomain, match="'fog'"):
        found["fog"]


def test_rows_of_some_answers_keep_the_threshold_of_all() -> None:
    """One row is as significant as it is among all answers."""
    counts = np.array([75.0, *np.zeros(999)])
    found = Estimates(counts, np.full(1000, 30.0), 1000, 30.0)
    assert not found[0].significant
    assert Estimates(counts[:1], np.full(1, 30.0), 1000, 30.0)[0].significant
    assert found.top(3)[0].label == "0"
    assert np.int64(2) in found
    with pytest.raises(OutOfDomain, match="got 1000"):
        found[1000]


def test_rows_take_a_level_and_alpha() -> None:
    """The interval of a row is that of the level asked for."""
    found = _estimates()
    wide, narrow = (found.rows(level=level)[0] for level in (0.99, 0.5))
    assert wide.lower < narrow.lower < narrow.upper < wide.upper
    assert [row.significant for row in found.rows(alpha=0.5)] == found.significant(0.5).tolist()


def test_provenance_stays_with_what_is_made_of_estimates() -> None:
    """Taking, selecting, sorting and adjusting keep where estimates come from."""
    source = Provenance("OUE", 1.0, "fruit", "ab" * 32)
    found = replace(_estimates(), provenance=source)
    for made in (found.top(3), found.take([1]), found.select(["plain"]), norm_sub(found)):
        assert made.provenance == source
    assert found != _estimates()


@pytest.mark.parametrize("errors", [None, np.full(3, np.nan)], ids=["none", "nan"])
def test_estimates_without_errors_say_so(errors: np.ndarray | None) -> None:
    """There is no interval, no threshold and no verdict, and every form of output says why."""
    counts = np.array([60.0, 30.0, 10.0])
    found = Estimates(counts, errors, 100, None if errors is None else math.nan, estimator="EM")
    assert found.interval() is found.threshold() is found.significant() is None
    assert found == replace(found.take([0, 1, 2]), values=None, tested=None)
    said = "no intervals, no significance: the error of these estimates is not known"
    for text in (repr(found), found.to_html(), found._repr_html_()):
        assert said in text
        assert "counts by EM, which may be biased" in text
        assert "unbiased" not in text
    row = found.rows()[0]
    assert (row.share, row.lower, row.upper, row.std_error, row.significant) == (0.6, *4 * [None])
    assert row.verdict == "not known"
    document = json.loads(found.to_json(), parse_constant=pytest.fail)
    assert (document["threshold"], document["interval_of"]) == (None, None)
    assert document["estimates"][1] == {
        "value": 1,
        "count": 30.0,
        "share": 0.3,
        "std_error": None,
        "lower": None,
        "upper": None,
        "significant": None,
    }
    assert found.to_csv().splitlines()[1] == "0,60.0,0.6,,,,"
    with pytest.raises(InvalidParameter, match="no significance"):
        found.only_significant()
    adjusted = repr(norm_sub(replace(found, estimator=None)))
    assert "counts adjusted by norm-sub" in adjusted
    assert "those of the unbiased" not in adjusted


def test_single_errors_may_be_missing() -> None:
    """A row whose error is not a number has no interval; the others have theirs."""
    errors = np.array([5.0, math.nan])
    found = Estimates(np.array([60.0, 40.0]), errors, 100, 4.0)
    first, second = found.rows()
    assert first.lower < 60 < first.upper
    assert (second.lower, second.upper, second.std_error, second.significant) == (None,) * 4
    rows = json.loads(found.to_json(), parse_constant=pytest.fail)["estimates"]
    assert (rows[0]["significant"], rows[1]["lower"], rows[1]["significant"]) == (True, None, None)
    assert "40.00 %      not known  ?" in repr(found)
    assert "leaves out 0" not in repr(found)


def test_changes_without_errors_say_so() -> None:
    """Shares are compared all the same, without interval and verdict."""
    known, bare = (
        Estimates(np.array([60.0, 40.0]), errors, 100, null)
        for errors, null in ((np.array([5.0, 5.0]), 4.0), (None, None))
    )
    for first, second in ((known, bare), (bare, known), (bare, bare)):
        found = compare(first, second)
        assert found.interval() is found.significant() is None
        assert "no intervals, no significance" in repr(found)
        assert found.rows()[0].cells[-1] == "not known"
        assert json.loads(found.to_json(), parse_constant=pytest.fail)["unknown"] == found.unknown
