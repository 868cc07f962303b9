"""Views: what is special to them; the conformance suite has everything else."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from benchmarks import answers
from deniable import (
    DE,
    AffineSelection,
    InvalidDocument,
    InvalidParameter,
    Levels,
    Protocol,
    SubsetSelection,
    Tally,
    Views,
)
from deniable.advice import designs
from deniable.law.pairs import Pairs
from deniable.law.tables import Tables, ViewTable
from deniable.protocols.parts import Lots
from deniable.randomness import WORD, Replayed, exponential_bounds
from deniable.statistics import Counts
from tests.marks import shortened


def small() -> Views:
    """Return some views of three digits."""
    return Views(1.0, (3, 2, 4), ((0,), (1,), (0, 1), (1, 2)))


def test_tables_are_those_of_generalised_least_squares() -> None:
    """Any table by parts of views is the one that matrices give."""
    rng = np.random.default_rng(1)
    assert max(answers.design_error(rng) for _ in range(50)) < 1e-9


def test_the_variance_of_cells_is_that_of_their_own_sums() -> None:
    """Margins with signs and rows of coefficients give the same variances."""
    protocol, rng = small(), np.random.default_rng(2)
    values = rng.integers(0, 24, 5000).astype(np.uint64)
    tables = protocol.tables(protocol.tally(protocol.privatize(values, rng)))
    for view in protocol.views:
        cells = tables.cells(view)
        found, variances = tables.figures(view, np.eye(len(cells.shares)))
        assert np.allclose(found, cells.shares)
        assert np.allclose(variances, cells.variances, rtol=1e-9)


def test_the_view_is_drawn_by_the_first_word_alone() -> None:
    """Whatever the value and the other words are, the lot decides which view is told."""
    protocol = small()
    ends = np.cumsum([0, *(int(lot) for lot in protocol.lots)], dtype=object)
    rng = np.random.default_rng(3)
    for place in range(4):
        for first in (int(ends[place]), int(ends[place + 1]) - 1):
            words = rng.integers(0, WORD, (24, protocol.words.count), dtype=np.uint64)
            words[:, 1:] >>= np.uint64(2)  # below every limit
            words[:, 0] = first
            reports = protocol.privatize(np.arange(24), Replayed(words.tobytes()))
            assert set(protocol.drawn(reports).tolist()) == {place}


def test_other_digits_do_not_show() -> None:
    """With the same words, values that differ outside the drawn view give the same report."""
    protocol, rng = small(), np.random.default_rng(4)
    words = rng.integers(0, WORD // 4, (200, protocol.words.count), dtype=np.uint64)
    words[:, 0] = 0  # the view of the first digit, which every eighth value changes
    one, other = (protocol.privatize(np.full(200, v), Replayed(words.tobytes())) for v in (8, 15))
    assert np.array_equal(one, other)


def test_lots_are_met_and_large_batches_draw_them_too() -> None:
    """Views come as often as their lots say, one by one and in bulk."""
    lots = Lots.near((1, 2, 5))
    protocol = Views(2.0, (2, 3), ((0,), (1,), (0, 1)), tuple(map(str, lots.weights)))
    values = np.zeros(60_000, dtype=np.uint64)
    many = protocol.privatize(values, np.random.default_rng(5))
    few = protocol.privatize(values[:4000], np.random.default_rng(6))
    for reports in (many, few):
        shares = np.bincount(protocol.drawn(reports), minlength=3) / len(reports)
        # Six shares, none of which is five standard errors off but with probability 4e-6.
        assert np.all(np.abs(shares - [1 / 8, 2 / 8, 5 / 8]) < 5 * 0.5 / np.sqrt(len(reports)))


@pytest.mark.parametrize("epsilon", shortened([4.0, 0.5], "more epsilons"))
def test_errors_of_a_table_are_those_that_are_stated(epsilon: float) -> None:
    """Squared errors match the variances, and variances that are 30 % off would not."""
    radices, views = (4, 3, 2), ((0,), (1, 2), (0, 1))
    protocol, rng = Views(epsilon, radices, views), np.random.default_rng(7)
    shares = rng.dirichlet(np.full(24, 0.4))
    true = shares.reshape(radices).sum(axis=2).ravel()
    squares, stated = [], []
    for _ in range(300):
        values = rng.choice(24, 3000, p=shares).astype(np.uint64)
        cells = protocol.tables(protocol.tally(protocol.privatize(values, rng))).cells((0, 1))
        squares.append((cells.shares - true) ** 2)
        stated.append(cells.variances)
    ratio = np.sum(squares) / np.sum(stated)
    # 3,600 squares: a standard error of about 4 %.
    assert 0.85 < ratio < 1.15


def test_intervals_of_cells_cover() -> None:
    """A short form of ``benchmarks.answers cells``: mean coverage of 95 % intervals.

    Of people who answer every time, their own share is covered; of new people, the population's.
    """
    rng = np.random.default_rng(8)
    views = tuple(v for k in (1, 2) for v in combinations(range(3), k))
    protocol, shares = Views(1.0, (5, 4, 3), views), rng.dirichlet(np.full(60, 0.3))
    anew = answers.drawn_from(shares, 20_000, rng)
    same = anew()
    for crowd, true in ((anew, shares), (lambda: same, np.bincount(same, minlength=60) / 20_000)):
        covered = answers.cell_coverage(protocol, true, crowd, 40, rng)
        # 2,360 intervals, whose mean has a standard error of about .006.
        assert 0.93 < covered.mean() < (0.97 if crowd is anew else 1)


def test_few_people_have_exact_limits() -> None:
    """The supports of a view by itself are binomial: its intervals are Clopper and Pearson's."""
    protocol = Views(3.0, (3,), ((0,),))
    rng, covered = np.random.default_rng(9), []
    for _ in range(40):
        values = rng.choice(3, 12, p=[0.7, 0.3, 0.0]).astype(np.uint64)
        found = protocol.estimate(protocol.tally(protocol.privatize(values, rng)))
        lower, upper = found.interval()
        true = 12 * np.array([0.7, 0.3, 0.0])
        covered.append((lower <= true) & (true <= upper))
    assert np.mean(covered) >= 0.95  # and of so few people more
    assert np.all((found.counts >= lower) & (found.counts <= upper))


def test_what_nobody_told_of_may_be_anything() -> None:
    """Rows of views without people span from 0 to n, are not significant, and tables refuse."""
    protocol = Views(1.0, (2, 3), ((0,), (1,)))
    first = protocol.tally(np.zeros(5, dtype=protocol.report_dtype))
    found = protocol.estimate(first)
    lower, upper = found.interval()
    assert lower[2:].tolist() == [0, 0, 0]
    assert upper[2:].tolist() == [5, 5, 5]
    assert not found.significant()[2:].any()
    with pytest.raises(InvalidParameter, match="some view with people"):
        found.cross(1)


def test_pairs_of_two_points_have_no_third() -> None:
    """With two points b is 0, and the variance that of a coin."""
    pairs = Pairs.selection(Fraction(3, 4), Fraction(1, 4), 1, 2)
    view = ViewTable((0,), 100, np.array([70, 30]), pairs)
    cells = Tables.of((2,), [view]).cells((0,))
    share = (0.7 - 0.25) / 0.5
    assert cells.shares[0] == pytest.approx(share)
    assert cells.variances[0] == pytest.approx(0.7 * 0.3 / 0.25 / 100)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"radices": (2, 1)}, "radix"),
        ({"radices": ()}, "not empty"),
        ({"radices": (1 << 30, 1 << 30, 1 << 30)}, "2\\^64"),
        ({"views": ((0,), (2,))}, "digit of a view"),
        ({"views": ((0, 0),)}, "once each"),
        ({"views": ((1, 0),)}, "ascending"),
        ({"views": ((0,), (0,))}, "each view once"),
        ({"views": ((),)}, "not empty"),
        ({"views": ((0,),) * 600}, "at most 512"),
        ({"lots": ("1", "2", "3")}, "2\\^64"),
        ({"lots": ("0", str(WORD - 1), "1")}, "2\\^64"),
        ({"lots": (str(WORD),)}, "a lot and a protocol"),
        ({"lots": (1, 2, 3)}, "2\\^64"),
        ({"protocols": (DE(1.0, 3), DE(1.0, 2), DE(1.0, 5))}, "for a view"),
        ({"protocols": (DE(2.0, 3), DE(1.0, 2), DE(1.0, 6))}, "for a view"),
        ({"protocols": (DE(1.0, 3),)}, "a lot and a protocol"),
        ({"protocols": ("DE", "DE", "DE")}, "for a view"),
        ({"protocols": (AffineSelection(1.0, 3, 2, 2, 1), DE(1.0, 2), DE(1.0, 6))}, "one digit"),
        ({"epsilon": 0}, "epsilon"),
    ],
)  # fmt: skip
def test_bad_designs_are_refused(given: dict[str, object], match: str) -> None:
    """Each says what is wrong with it."""
    sound = {"epsilon": 1.0, "radices": (3, 2), "views": ((0,), (1,), (0, 1))}
    with pytest.raises(InvalidParameter, match=match):
        Views(**sound | given)


def test_too_many_reports_or_cells_are_refused() -> None:
    """A report has at most eight bytes, and a tally what memory holds."""
    parts = (SubsetSelection(0.1, 67), SubsetSelection(0.1, 67))
    with pytest.raises(InvalidParameter, match="fewer or smaller tables"):
        Views(0.1, (67, 67), ((0,), (1,)), protocols=parts)
    with pytest.raises(InvalidParameter, match="cells in all"):
        Views(1.0, (3000, 3000), ((0, 1),))


@pytest.mark.parametrize("name", ["radices", "views", "lots", "protocols"])
@pytest.mark.parametrize("value", [None, [], {}, "1", [[]], [None], [True], [[[0]]], ["1"], 3.5])
def test_hostile_specifications_are_refused(name: str, value: object) -> None:
    """A specification that was altered is refused as a document, not by what it breaks."""
    specification = small().specification()
    with pytest.raises(InvalidDocument):
        Protocol.from_specification({**specification, name: value})


def test_a_view_of_other_weights_is_refused() -> None:
    """No view of a specification can spend more than epsilon, by however little."""
    specification = Views(1.0, (2, 3), ((0,), (1,))).specification()
    part = specification["protocols"][0]
    weights = {"p": str(int(part["weights"]["p"]) + 1), "q": str(int(part["weights"]["q"]) - 1)}
    altered = {
        **specification,
        "protocols": [{**part, "weights": weights}, specification["protocols"][1]],
    }
    with pytest.raises(InvalidDocument, match="not the specification"):
        Protocol.from_specification(altered)


def test_tallies_that_views_cannot_leave_are_refused() -> None:
    """People of views add up to n, and no support exceeds the people of its view."""
    protocol = small()
    tally = protocol.tally(protocol.privatize(np.arange(24), np.random.default_rng(1)))
    values = tally.statistic.values
    for place, change in ((0, 1), (4, 30), (0, -100)):
        forged = values.copy()
        forged[place] += change
        with pytest.raises(InvalidDocument, match="in the tally"):
            Tally.from_bytes(replace(tally, statistic=Counts(forged)).to_bytes())


def test_levels_are_without_bias_for_every_number() -> None:
    """What a report stands for is the number itself on average, exactly by its law."""
    protocol = Levels(1.0, 8, 3)
    p, q = protocol._weights.shares
    for value in range(8):
        exact = Fraction(2 * value, 7)
        low, rest = divmod(2 * value, 7)
        mean = sum(
            (chance * (p if y == level else q)) * y
            for level, chance in ((low, 1 - Fraction(rest, 7)), (low + 1, Fraction(rest, 7)))
            for y in range(3)
        )
        assert (mean - 3 * q) / (p - q) == exact


@pytest.mark.parametrize(("epsilon", "bound"), [(1.0, 4.69), (2.0, 1.01), (4.0, 0.178)])
def test_levels_have_the_stated_largest_variance(epsilon: float, bound: float) -> None:
    """On [-1, 1], whatever the numbers are."""
    assert 0.99 * bound < 4 * Levels(epsilon, 101).largest_variance <= bound


@pytest.mark.parametrize(
    ("epsilon", "bound"), [(0.5, 53.9), (1.0, 12.8), (2.0, 2.67), (4.0, 0.457)]
)
def test_the_best_lots_of_a_tree(epsilon: float, bound: float) -> None:
    """The variance of a distribution function on 64 values, on average over thresholds."""
    made = designs.number(epsilon, 64, distribution=True, mean=False)
    assert 0.98 * bound < designs.threshold_variance(made, 64) <= bound


def test_lots_for_tables_have_less_error_in_all_and_lots_for_shares_in_a_cell() -> None:
    """Each goal is the better one at what it is for."""
    sizes, pairs = (9, 16, 2), list(combinations(range(3), 2))
    made = {goal: designs.survey(1.0, sizes, pairs, goal) for goal in ("share", "table")}
    each = {
        goal: [designs.cell_variance(protocol, pair) for pair in pairs]
        for goal, protocol in made.items()
    }
    cells = [sizes[i] * sizes[j] for i, j in pairs]
    assert np.dot(each["table"], cells) < np.dot(each["share"], cells)
    assert np.mean(each["share"]) < np.mean(each["table"])


@pytest.mark.parametrize(("epsilon", "bound"), [(0.5, 95.9), (1.0, 23.0), (2.0, 4.96)])
def test_margins_of_a_survey_are_as_exact_as_stated(epsilon: float, bound: float) -> None:
    """A short form of ``benchmarks.answers margins``: nine attributes of 2 to 42 labels."""
    made = designs.survey(epsilon, answers.SIZES, answers.SINGLES)
    found = np.mean([designs.cell_variance(made, table) for table in answers.SINGLES])
    assert 0.9 * bound < found <= 1.01 * bound


def test_pair_tables_are_as_exact_as_the_design_says() -> None:
    """A short form of ``benchmarks.answers tables``: lots for tables, and errors by theory."""
    sizes, rng, n = (6, 5, 4), np.random.default_rng(4), 20_000
    pairs = [(0, 1), (0, 2), (1, 2)]
    made = designs.survey(1.0, sizes, pairs, "table")
    theory = sum(designs.cell_variance(made, p) * sizes[p[0]] * sizes[p[1]] for p in pairs) / n
    errors = []
    for _ in range(40):
        values = rng.integers(0, 120, n).astype(np.uint64)
        found = made.tables(made.tally(made.privatize(values, rng)))
        even = [found.shares(p) - 1 / (sizes[p[0]] * sizes[p[1]]) for p in pairs]
        errors.append(sum(float((each**2).sum()) for each in even))
    # The mean of 40 sums of 74 squares has a standard error of about 3 %.
    assert np.mean(errors) == pytest.approx(theory, rel=0.15)


def test_a_short_form_of_the_laws() -> None:
    """Random settings spend at most their epsilon; ``benchmarks.answers law`` runs 500."""
    for made in answers.drawn_settings(8).values():
        assert all(p.worst_ratio <= exponential_bounds(p.epsilon)[0] for p in made)


@pytest.mark.parametrize("shares", [(1, 2, 5), (1,), (1e-9, 1, 1e-9, 1e-9), (1,) * 300])
def test_lots_of_a_batch_are_those_of_whole_words(shares):
    """Lots drawn of two bytes, and of the others where they count, are those of all eight."""
    lots, rng = Lots.near(shares), np.random.default_rng(4)
    ends = np.cumsum(np.array(lots.weights, dtype=object))[:-1]
    near = [int(end) + step for end in ends for step in (-1, 0)] * 2
    drawn = rng.integers(0, WORD, 5_000, dtype=np.uint64)
    words = np.concatenate([drawn, np.array(near, dtype=np.uint64)])
    leading = words >> np.uint64(48)
    open_ = np.isin(leading, np.array([int(end) - step >> 48 for end in ends for step in (0, 1)]))
    rest = (words[open_] << np.uint64(16)).tobytes()
    source = Replayed(leading.astype("<u2").tobytes() + rest)
    found = lots.draw(source, len(words))
    assert found.tolist() == lots.of(words).tolist()


def test_reports_of_a_large_batch_stand_where_their_values_stood():
    """Each report of many chunks is of its own value, which a large epsilon hardly hides."""
    protocol, rng = Views(30.0, (2, 3), ((0,), (1,), (0, 1))), np.random.default_rng(6)
    values = rng.integers(0, 6, 150_000)
    reports = protocol.privatize(values, rng).astype(np.int64)
    views = protocol.drawn(reports.astype(protocol.report_dtype))
    told = np.choose(views, [values // 3, 2 + values % 3, 5 + values])
    assert np.array_equal(reports, told)
    counts = np.concatenate([np.bincount(views), np.bincount(reports, minlength=11)])
    tally = protocol.tally(reports.astype(protocol.report_dtype))
    assert np.array_equal(
        np.concatenate(
            [[n for n, _ in protocol.counted(tally)], *(c for _, c in protocol.counted(tally))]
        ),
        counts,
    )
