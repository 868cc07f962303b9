import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.kernels import linear, parallel
from deniable.kernels.fields import field
from tests.kernels.survey import fold_codes
from tests.marks import examples, shortened
from tests.naive import fields as naive

ORDERS = [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 53, 64, 101]
LARGE = [1031, 2048, 37**2, 65537]


def digits_needed(g, d):
    """Return the smallest t >= 1 with g^t >= d."""
    return next(t for t in range(1, 64) if g**t >= d)


@st.composite
def tallies(draw, orders=ORDERS, largest=150):
    """Draw a field, t, d, sorted distinct codes and their counts."""
    g, d = draw(st.sampled_from(orders)), draw(st.integers(1, largest))
    # More digits than the domain needs are allowed, while codes stay small.
    t = digits_needed(g, d) + draw(st.integers(0, 2 if g < 10 else 0))
    codes = sorted(draw(st.sets(st.integers(0, g ** (t + 1) - 1), max_size=12)))
    # The largest counts overflow 32 bits, alone or together.
    count = st.one_of(st.integers(1, 9), st.integers(2**30, 2**40))
    counts = draw(st.lists(count, min_size=len(codes), max_size=len(codes)))
    return field(g), t, d, codes, counts


def arrays(codes, counts):
    """Return codes and counts as a tally has them: in arrays that cannot be written to."""
    columns = np.array(codes, np.uint64), np.array(counts, np.int64)
    for column in columns:
        column.setflags(write=False)
    return columns


def random_tally(g, d, m, seed=0):
    """Return a field, t and m random codes with small counts, sorted and distinct."""
    rng, t = np.random.default_rng(seed), digits_needed(g, d)
    codes = np.unique(rng.integers(0, g ** (t + 1), m, dtype=np.uint64))
    return field(g), t, codes, rng.integers(1, 9, len(codes))


def supports(f, t, d, codes, counts):
    """Count supports with the field's own scalar product, itself tested against its twin."""
    g = np.uint64(f.order)
    hashes = f.dot((codes // g)[:, None], np.arange(d)[None, :], t)
    return counts @ (hashes == (codes % g)[:, None])


def solve(codes, counts, f, t, d):
    """Decode reports by solving for the values that each supports."""
    return linear.solve_cells(linear.fold_each(codes, f, t), counts, f, t, d)


@given(tallies(), st.integers(1, 4))
@settings(deadline=None)
def test_every_way_of_decoding_is_that_of_the_twin(case, threads):
    """Solving and folding, from codes or a table, count exactly the supports by definition."""
    f, t, d, codes, counts = case
    parallel.set_threads(threads)
    expected = naive.support_counts(codes, counts, f, t, d)
    columns = arrays(codes, counts)
    folded = fold_codes(*columns, f, t)
    table = np.zeros(f.order ** (t + 1), np.int64)
    table[columns[0].astype(np.int64)] = columns[1]
    for result in (
        solve(*columns, f, t, d),
        linear.decode_folded(folded, f, t, d),
        linear.count_keys(
            linear.fold_each(columns[0], f, t), columns[1], f, t, np.arange(d, dtype=np.uint64)
        ),
    ):
        assert result.dtype == np.int64
        assert result.tolist() == expected
    for most in (sum(counts), 1 << 62):
        assert (linear.fold_table(table, f, t, most) == folded).all()
    assert folded.sum() == sum(counts)


@given(st.sampled_from([*ORDERS, 1031, 37**2]), st.integers(1, 3), st.data())
def test_cells_are_those_of_the_twin(g, t, data):
    """Each report folds onto the one multiple of it whose lowest digit other than 0 is 1."""
    f, code = field(g), st.integers(0, g ** (t + 1) - 1)
    special = st.sampled_from([0, 1, g - 1, g, g**t, g ** (t + 1) - 1])
    codes = data.draw(st.lists(st.one_of(code, special), max_size=9))
    cells = linear.fold_each(np.array(codes, np.uint64), f, t)
    assert cells.dtype == np.uint64
    folds = [naive.fold(code, f, t) for code in codes]
    assert cells.tolist() == [linear.level_start(g, t, level) + cell for level, cell in folds]


@given(tallies(orders=LARGE, largest=3000))
@settings(deadline=None, max_examples=examples(40))
def test_large_fields_decode_by_solving(case):
    """Fields too large for tables of products decode as well, prime or not."""
    f, t, d, codes, counts = case
    columns = arrays(codes, counts)
    expected = supports(f, t, d, *columns)
    assert (solve(*columns, f, t, d) == expected).all()


@pytest.mark.parametrize(
    ("g", "d"),
    [(2, 3000), (3, 5000), (4, 4097), (5, 3126), (8, 5000), (9, 7000), (27, 19684), (53, 3000),
     (64, 5000), (101, 10300), (256, 1000)],
)  # fmt: skip
def test_long_vectors_decode_alike(g, d):
    """With more digits than Hypothesis tries, all ways agree with the scalar product."""
    f, t, codes, counts = random_tally(g, d, 200)
    expected = supports(f, t, d, codes, counts)
    assert (solve(codes, counts, f, t, d) == expected).all()
    folded = fold_codes(codes, counts, f, t)
    assert (linear.decode_folded(folded, f, t, d) == expected).all()


@pytest.mark.parametrize(
    "size", shortened([(27, 700), (64, 4000), (2, 400_000), (4, 200_000)], "large tables", keep=2)
)
def test_the_number_of_threads_changes_nothing(size):
    """Full tables give the same supports with one thread, several, and more than rows."""
    g, d = size
    f, t = field(g), digits_needed(g, d)
    table = np.random.default_rng(g).integers(0, 5, g ** (t + 1))
    codes = np.flatnonzero(table).astype(np.uint64)
    counts = table[table > 0]
    results = []
    for threads in (1, 2, 100):
        parallel.set_threads(threads)
        folded = linear.fold_table(table, f, t), fold_codes(codes, counts, f, t)
        results += [linear.decode_folded(cells, f, t, d) for cells in folded]
        results.append(solve(codes[:99], counts[:99], f, t, d))
    assert all((result == results[0]).all() for result in results[::3])
    assert all((result == results[0]).all() for result in results[1::3])
    assert all((result == results[2]).all() for result in results[2::3])


def test_a_field_much_larger_than_the_domain_takes_little_memory():
    """Solving in a field of two milliards of elements needs no array of that length."""
    g, d = 2**31 - 1, 1000
    codes = np.array([0, 1, 5 * g + 5, 7 * g + 3, (g - 1) * g + 999], np.uint64)
    counted = solve(codes, np.arange(1, 6), field(g), 1, d)
    assert counted.tolist() == supports(field(g), 1, d, codes, np.arange(1, 6)).tolist()


@pytest.mark.parametrize(
    ("g", "d", "m", "shears"),
    [
        (64, 41_270, 10, False),
        (64, 41_270, 6_000_000, True),
        (1031, 41_270, 6_000_000, False),
        (128, 2**31, 1_000_000, False),
    ],
)
def test_the_cheapest_way_that_fits_is_chosen(g, d, m, shears):
    """Few reports are solved, many are sheared as a table, where there may be one."""
    assert linear.shears(field(g), digits_needed(g, d), d, m) is shears
