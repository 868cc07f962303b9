"""Parts of results: how many digits they have, and what they say where little is known."""

import re
from datetime import date, timedelta
from itertools import pairwise

import pytest

from deniable.presentation.charts import Bar, Bars, Grid
from deniable.presentation.parts import figure_fact, moves
from deniable.presentation.trend import Period, Reading, Trend, trend_svg
from deniable.presentation.view import Change, Figure


def _change(label: str, first: float, second: float, reach: float, *, sure: bool) -> Change:
    by = second - first
    return Change(
        label=label, lower=by - reach, upper=by + reach, significant=sure, truth=None,
        first=first, second=second,
    )  # fmt: skip


def test_a_comparison_says_which_changes_are_sure() -> None:
    """Shares are in percent and never below 0, changes in points, and chance is called that."""
    fell = _change("tea", 0.325, 0.2203, 0.03, sure=True)
    still = _change("fig", -0.003, 0.02, 0.024, sure=False)
    table = moves((fell, still), ("5–11 Nov", "12–18 Nov"))
    assert table.headings == ("Answer", "5–11 Nov", "12–18 Nov", "Change", "95 % sure, in points")
    assert table.rows == (
        ("tea", "32.5 %", "22.0 %", "▼ 10.5 pts", "−13.5 to −7.5"),
        ("fig", "0.0 %", "2.0 %", "no clear change", "−0.1 to +4.7"),
    )
    assert "\\x" not in table.html()


def test_cells_of_a_table_name_their_column_for_narrow_screens() -> None:
    """Each cell has the heading of its column, as text, and the table stays a table."""
    change = _change("<b>", 0.2, 0.3, 0.01, sure=True)
    html = moves((change,), ("<i>", "now")).html()
    assert re.findall('data-head="([^"]*)"', html) == [
        "&lt;i&gt;", "now", "Change", "95 % sure, in points"
    ]  # fmt: skip
    assert html.count('role="cell"') == 4
    assert "<b>" not in html


def test_a_figure_has_its_range_unless_that_is_one_number() -> None:
    """The range stands beside the figure; where it is a single number, only how sure it is."""
    assert figure_fact("mean", Figure(29, 27.3, 30.6, "min"), 0.95)[2] == "27.3 to 30.6, 95 % sure"
    assert figure_fact("median", Figure(25, 25, 25, "min"), 0.95) == (
        "Median",
        "25 min",
        "95 % sure",
    )


def test_digits_follow_the_margin_of_error() -> None:
    """Shares that may be off by 10 points have no decimals; a limit of 100 % is no limit."""
    wide = (Bar("a", 0.41, 0.304, 0.516), Bar("b", 0.2, -0.01, 0.6973, False))
    wider = Bar("c", 1.2, -1.3, 2.6, False)
    html = Bars("shares", bars=(*wide, wider)).html().replace("\u00a0", " ")
    assert re.findall('share">([^<]*)<', html) == ["41 %", "under 70 %", "up to 100 %"]
    narrow = Bars("shares", bars=(Bar("a", 0.41, 0.4, 0.42),)).html().replace("\u00a0", " ")
    assert re.findall('share">([^<]*)<', narrow) == ["41.0 %"]


def test_labels_of_a_cross_table_are_cut() -> None:
    """A label of 10,000 characters takes no more room there than in a chart."""
    long = "y" * 10_000
    cells = ((Bar("", 0.5, 0.4, 0.6),),)
    html = Grid("cross", rows=(long,), columns=(long,), cells=cells).html()
    assert "y" * 20 in html
    assert len(html) < 2000


@pytest.mark.parametrize(("days", "shown"), [(5, 3), (6, 2), (7, 4), (8, 2), (9, 3), (21, 4)])
def test_dates_below_a_short_trend_are_evenly_spaced(days: int, shown: int) -> None:
    """The first and the last day are labelled, and between them as many as leave even steps."""
    numbers = range(days)
    dates = [(date(2026, 10, 1) + timedelta(number)).isoformat() for number in numbers]
    trend = Trend(tuple(Period(day, 100, (Reading("a", 0.5, 0.4, 0.6),)) for day in dates))
    svg = trend_svg(trend, trend.series[0], "a")
    labelled = [int(day) for day in re.findall(r">(\d+) Oct<", svg)]
    steps = [second - first for first, second in pairwise(labelled)]
    assert (labelled[0], labelled[-1], len(labelled)) == (1, days, shown)
    assert max(steps) - min(steps) <= (1 if days > 12 else 0)
