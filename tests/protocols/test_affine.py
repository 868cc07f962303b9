"""What is special to affine selection."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import DE, AffineSelection, InvalidDocument, InvalidParameter, Protocol, Tally
from deniable.kernels import windows
from deniable.kernels.fields import field
from deniable.protocols.affine import TOLERANCE
from deniable.randomness import WORD, Replayed
from deniable.statistics import Counts, Table
from tests.marks import examples, shortened
from tests.naive import selection as naive

ORDERS = (2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 25, 27)
SHAPES = sorted(
    ((g, t) for g in ORDERS for t in (1, 2, 3) if g**t <= 729),
    key=lambda shape: shape[0] ** shape[1],
)


def starts(protocol: AffineSelection) -> tuple[np.ndarray, list[int]]:
    """Return the first words of every piece of the two random words, and the weights of places."""
    g, t, m = protocol.g, protocol.digits, protocol.window
    weights = [protocol._places.inside] * m + [protocol._places.outside] * (g - m)
    step = min(protocol._function.step, WORD - 1)
    functions = np.arange(g**t - 1, dtype=np.uint64) * np.uint64(step)
    edges = np.array([sum(weights[:y]) for y in range(g)], dtype=np.uint64)
    mesh = np.meshgrid(functions, edges, indexing="ij")
    return np.stack([column.ravel() for column in mesh], axis=1), weights


@pytest.mark.parametrize("shape", shortened(SHAPES, "large enumerations", keep=14), ids=str)
def test_p_and_q_are_the_formula_for_all_pairs(shape: tuple[int, int]) -> None:
    """The enumerated law supports a value and any other with exactly p* and q*, for each window."""
    g, t = shape
    v, f, rng = g**t, field(g), np.random.default_rng(g * t)
    functions = np.arange(1, v, dtype=np.uint64)
    hashes = f.dot(functions[:, None], np.arange(v, dtype=np.uint64)[None, :], t)
    for m in range(1, g):
        protocol = AffineSelection(1.5, v, g, t, m)
        words, weights = starts(protocol)
        total = (v - 1) * sum(weights)
        inside = np.tile(np.arange(g) < m, v - 1)
        p = Fraction(m * weights[0], sum(weights))
        q = (m * g ** (t - 1) - p) / (v - 1)
        assert (protocol.parameters.exact_p, protocol.parameters.exact_q) == (p, q)
        # All pairs of up to 100 points, else 200 pairs at random.
        for x in range(v) if v <= 100 else rng.choice(v, 10, replace=False):
            reports = protocol.privatize(
                np.full(len(words), x), Replayed(words.astype("<u8").tobytes())
            ).astype(np.intp)
            others = np.arange(v) if v <= 100 else np.append(rng.choice(v, 20), x)
            supported = f.sums[hashes[:, others][reports // g], (reports % g)[:, None]] < m
            near, far = supported[inside].sum(axis=0), supported[~inside].sum(axis=0)
            for other, a, b in zip(others, near.tolist(), far.tolist(), strict=True):
                chance = Fraction(a * weights[0] + b * weights[-1], total)
                assert chance == (p if other == x else q)
            asked = protocol.supports(reports.astype(protocol.report_dtype), int(others[0]))
            assert np.array_equal(asked, supported[:, 0])


@pytest.mark.parametrize(("g", "t"), [(5, 1), (8, 1), (9, 1), (3, 2), (4, 2)])
def test_every_report_has_the_likelihood_of_its_place(g: int, t: int) -> None:
    """Over the whole law, each report comes with the weight w1 or w0, so no ratio exceeds w1/w0."""
    for m in range(1, g):
        protocol = AffineSelection(1.0, g**t, g, t, m)
        words, weights = starts(protocol)
        for x in range(g**t):
            reports = protocol.privatize(
                np.full(len(words), x), Replayed(words.astype("<u8").tobytes())
            )
            assert len(np.unique(reports)) == len(reports) == (g**t - 1) * g
            inside = np.tile(np.arange(g) < m, g**t - 1)
            assert np.array_equal(protocol.supports(reports, x), inside)
        assert protocol.worst_ratio == Fraction(weights[0], weights[-1])


@st.composite
def instances(draw) -> AffineSelection:
    """Draw a protocol: any field, digits, window, and a domain that is a power of g or not."""
    g, t = draw(st.sampled_from([*SHAPES, (31, 1), (32, 1), (49, 1), (2, 7), (3, 5), (4, 4)]))
    m = draw(st.integers(1, g - 1))
    d = draw(st.integers(2, min(g**t, 300)))
    return AffineSelection(draw(st.sampled_from([0.5, 1.0, 4.0])), d, g, t, m)


@settings(deadline=None, max_examples=examples(60))
@given(instances(), st.integers(0, 60), st.integers(0, 2**32))
def test_decoded_supports_are_the_definition(
    protocol: AffineSelection, count: int, seed: int
) -> None:
    """Whatever the setting, decoding counts for each value the reports that support it."""
    rng = np.random.default_rng(seed)
    size = (protocol.g**protocol.digits - 1) * protocol.g
    reports = rng.integers(0, size, count).astype(protocol.report_dtype)
    expected = [protocol.supports(reports, x).sum() for x in range(protocol.domain_size)]
    assert protocol.support_counts(reports).tolist() == expected
    f = field(protocol.g)
    shape = f, protocol.digits, protocol.window
    for x in range(min(8, protocol.domain_size)):
        twin = [naive.affine_supports(int(code), x, *shape) for code in reports[:3]]
        assert protocol.supports(reports[:3], x).tolist() == twin


@settings(deadline=None)
@given(instances(), st.data())
def test_reports_are_those_of_the_twin(protocol: AffineSelection, data: st.DataObject) -> None:
    """The same words make the same reports as the definition, one by one and in bulk."""
    limits = protocol.words.limits
    word = [st.integers(0, limits.get(i, WORD) - 1) for i in (0, 1)]
    edge = protocol._places.kept * protocol._places.inside
    second = st.one_of(st.sampled_from([0, edge - 1, edge, protocol._places.limit - 1]), word[1])
    rows = data.draw(
        st.lists(st.tuples(st.integers(0, protocol.domain_size - 1), word[0], second), max_size=8)
    )
    values = np.array([v for v, *_ in rows], np.uint64)
    words = np.array([w for _, *w in rows], np.uint64).reshape(-1, 2)
    shape = field(protocol.g), protocol.digits, protocol.window
    weights = protocol._places.inside, protocol._places.outside
    expected = [naive.affine_report(v, w, shape, weights) for v, *w in rows]
    assert protocol._perturb(values, words).tolist() == expected
    assert protocol._perturb_many(values, words).tolist() == expected


@settings(deadline=None, max_examples=examples(40))
@given(instances(), st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(0, 2**32))
def test_grouping_of_reports_changes_no_byte(
    protocol: AffineSelection, sizes: list[int], seed: int
) -> None:
    """Tallies of parts, in any order, add up to the bytes of the tally of everything."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, protocol.domain_size, sum(sizes))
    reports = protocol.privatize(values, rng)
    parts = np.split(reports, np.cumsum(sizes)[:-1])
    whole = protocol.tally(reports).to_bytes()
    assert protocol.tally(iter(parts)).to_bytes() == whole
    assert sum(protocol.tally(part) for part in reversed(parts)).to_bytes() == whole
    assert Tally.from_bytes(whole).to_bytes() == whole


@pytest.mark.parametrize("shape", [(4, 4, 1), (9, 3, 4), (13, 3, 4), (101, 2, 30)])
def test_many_reports_are_folded_as_few_are(shape: tuple[int, int, int]) -> None:
    """Counting all codes first gives the table that reports one by one give."""
    g, t, m = shape
    protocol = AffineSelection(1.0, g**t - 1, g, t, m)
    rng = np.random.default_rng(1)
    reports = protocol.privatize(rng.integers(0, g**t - 1, 40_000), rng)
    few = (reports[i : i + 5_000] for i in range(0, 40_000, 5_000))
    assert protocol.tally(reports) == sum(protocol.tally(part) for part in few)


@settings(deadline=None, max_examples=examples(30))
@given(st.sampled_from([2, 3, 5, 8, 9, 13, 53, 101]), st.integers(0, 300), st.data())
def test_lines_are_counted_alike_in_every_way(g: int, count: int, data: st.DataObject) -> None:
    """Counted or sorted first, reports of one digit have the supports by definition."""
    m, f = data.draw(st.integers(1, g - 1)), field(g)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    codes = rng.integers(0, (g - 1) * g, count).astype(np.uint64)
    u, s = codes // np.uint64(g) + np.uint64(1), codes % np.uint64(g)
    values = f.add(f.dot(u[:, None], np.arange(g)[None, :], 1), s[:, None])
    expected = (values < m).sum(axis=0).tolist()
    assert windows.count_supports(codes, f, m, g).tolist() == expected
    if f.degree == 1:
        assert windows._count_points(codes, f, m).tolist() == expected


@pytest.mark.parametrize("d", [877_951, 161_979])
def test_many_values_have_a_line_where_epsilon_is_large(d: int) -> None:
    """One digit is taken where it has less variance, over a prime field, and decodes exactly."""
    protocol = AffineSelection(10.0, d)
    assert protocol.digits == 1
    assert protocol._field.degree == 1  # 877969, the next prime power, is the square of 937
    reports = protocol.privatize(np.arange(500) * 7, np.random.default_rng(1))
    counts = protocol.support_counts(reports)
    assert counts.sum() <= 500 * protocol.window
    for value in (0, 7, 3493, d - 1):
        assert counts[value] == np.count_nonzero(protocol.supports(reports, value))


def test_one_digit_keeps_counts_and_more_keep_lines() -> None:
    """The statistic of a tally is the supports for t = 1, and n m folded cells for t >= 2."""
    rng = np.random.default_rng(2)
    line = AffineSelection(1.0, 13, 13, 1, 4)
    plane = AffineSelection(1.0, 13, 4, 2, 3)
    for protocol, kind in ((line, Counts), (plane, Table)):
        tally = protocol.tally(protocol.privatize(np.arange(100) % 13, rng))
        assert isinstance(tally.statistic, kind)
    assert tally.statistic.dense().sum() == 100 * 3
    assert line.support_counts(line.privatize([5] * 10, rng)).sum() == 10 * 4


def test_tallies_that_no_reports_leave_are_refused() -> None:
    """Lines of the function zero, or one line more often than there are reports, are no tally."""
    protocol = AffineSelection(1.0, 13, 4, 2, 2)
    cells = protocol._lines.cells
    for codes, counts in (([0, cells - 1], [2, 2]), ([0, 3], [3, 1])):
        table = Table(cells, np.array(codes, np.uint64), np.array(counts))
        with pytest.raises(InvalidDocument, match="in the tally"):
            Tally.from_bytes(Tally(protocol, 2, table).to_bytes())


@settings(deadline=None)
@given(
    st.sampled_from([2, 3, 4, 5, 8, 9, 16, 25, 27, 49, 53, 64, 81, 125, 128]),
    st.integers(1, 4),
    st.data(),
)
def test_window_sums_are_the_definition(g: int, rows: int, data: st.DataObject) -> None:
    """D[z] is the sum over j < m of what stands at z + j, in the field."""
    m, f = data.draw(st.integers(1, g - 1)), field(g)
    cells = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 9, (rows, g))
    places = f.add(np.arange(g)[:, None], np.arange(m)[None, :])
    assert np.array_equal(windows.window_sums(cells, f, m), cells[:, places].sum(axis=2))


def test_settings_are_the_best_unless_given() -> None:
    """What is left out is filled in, and what is filled in stays in the specification."""
    protocol = AffineSelection(2.0, 41_270)
    stored = protocol.specification()
    assert all(isinstance(stored[name], int) for name in ("g", "digits", "window"))
    assert Protocol.from_specification(stored) == protocol
    for name in ("g", "digits", "window"):
        given_ = AffineSelection(2.0, 41_270, **{name: getattr(protocol, name)})
        assert getattr(given_, name) == getattr(protocol, name)
        assert float(given_.variance(1)) <= TOLERANCE**2 * float(protocol.variance(1))
    other = AffineSelection(2.0, 41_270, g=25)
    assert (other.g, other.digits, other.window) == (25, 4, 3)
    assert AffineSelection(2.0, 50, digits=1).g == 53


@pytest.mark.parametrize(
    "given_",
    [
        {"g": 6},
        {"g": 1},
        {"g": 2.0},
        {"g": True},
        {"g": 3, "digits": 2},
        {"g": 5, "window": 5},
        {"g": 5, "digits": 40},
        {"window": 0},
        {"digits": 0},
        {"digits": "2"},
        {"g": 5, "digits": 28, "window": 1},
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(given_: dict[str, object]) -> None:
    """Fields that do not exist, too few points, or more reports than eight bytes name."""
    with pytest.raises(InvalidParameter, match="expected"):
        AffineSelection(1.0, 20, **given_)


def test_one_digit_and_a_window_of_one_is_direct_encoding() -> None:
    """With t = m = 1 it has the variance of direct encoding on g values."""
    affine, direct = AffineSelection(2.0, 7, 7, 1, 1), DE(2.0, 7)
    assert float(affine.variance(1, 0.1)) == pytest.approx(float(direct.variance(1, 0.1)))


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 6.0, 20.0, 50.0, 100.0])
@pytest.mark.parametrize("d", [2, 3, 1000, 2**31 - 1])
def test_any_epsilon_and_domain_can_be_had(epsilon: float, d: int) -> None:
    """From two values to all that fit, at any epsilon, a report takes at most eight bytes."""
    protocol = AffineSelection(epsilon, d)
    assert protocol.realised_epsilon <= epsilon
    assert protocol.report_dtype.itemsize <= 8
    report = protocol.privatize([d - 1], np.random.default_rng(0))
    assert len(protocol.parse(report.tobytes())) == 1
    assert math.isfinite(float(protocol.variance(1)))
