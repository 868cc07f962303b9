import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.kernels import hashes, parallel
from tests.naive import hashes as naive

pytestmark = pytest.mark.usefixtures("way")

WORD = st.integers(0, 2**64 - 1)
RANGE = st.one_of(st.integers(2, 70), st.sampled_from([255, 256, 257, 2**16, 2**31, 2**32 - 1]))


@st.composite
def reports_and_keys(draw):
    """Draw g, reports (a1, a2, b, y), half of them made from a key, and keys."""
    g = draw(RANGE)
    keys = draw(st.lists(WORD, max_size=20))
    reports = []
    for a1, a2, b in draw(st.lists(st.tuples(WORD, WORD, WORD), max_size=20)):
        of_key = bool(keys) and draw(st.booleans())
        y = naive.hash_key(a1, a2, b, draw(st.sampled_from(keys)), g) if of_key else b % g
        reports.append((a1, a2, b, y))
    return g, reports, keys


def as_columns(reports):
    """Return the reports as four arrays of words."""
    return tuple(np.array(reports, np.uint64).reshape(-1, 4).T)


def random_reports(n, g, seed=0):
    """Return n random reports as columns, the last of a narrower type."""
    rng = np.random.default_rng(seed)
    words = (rng.integers(0, 2**64, n, dtype=np.uint64) for _ in range(3))
    return (*words, rng.integers(0, g, n, dtype=np.uint32))


@given(reports_and_keys(), st.integers(1, 5))
@settings(deadline=None)
@example((2, [], [1, 2]), 2)
@example((2, [(1, 2, 3, 0)], []), 2)
def test_support_is_that_of_the_twin(case, threads):
    """The kernel counts for each key the reports whose hash of it is their y."""
    g, reports, keys = case
    parallel.set_threads(threads)
    counted = hashes.count_support(*as_columns(reports), np.array(keys, np.uint64), g)
    assert counted.dtype == np.int64
    assert counted.tolist() == naive.count_support(reports, keys, g)


@given(reports_and_keys(), st.integers(0, 40))
@settings(deadline=None)
def test_support_of_small_keys_is_that_of_the_twin(case, domain_size):
    """Over consecutive keys, whose upper halves are 0, it counts what the twin counts."""
    g, reports, _ = case
    reports = [(a, 0, b, naive.hash_key(a, 0, b, y % 40, g)) for a, _, b, y in reports]
    keys = np.arange(domain_size, dtype=np.uint64)
    counted = hashes.count_support(*as_columns(reports), keys, g)
    assert counted.tolist() == naive.count_support(reports, range(domain_size), g)


@pytest.mark.parametrize(("n", "size"), [(3, 40_000), (1500, 2_000), (70_000, 5)])
def test_blocks_and_tasks_add_up(n, size):
    """Many keys, many reports or both give the counts of elementwise hashing."""
    g = 7
    a1, a2, b, y = random_reports(n, g)
    keys = np.random.default_rng(1).integers(0, 2**64, size, dtype=np.uint64)
    small = np.arange(size, dtype=np.uint64)
    expected, expected_small = np.zeros(size, int), np.zeros(size, int)
    for i in range(0, size, 500):
        shape = (a1[:, None], a2[:, None], b[:, None])
        supports = hashes.hash_keys(*shape, keys[i : i + 500], g) == y[:, None]
        expected[i : i + 500] = supports.sum(axis=0)
        supports = hashes.hash_keys(*shape, small[i : i + 500], g) == y[:, None]
        expected_small[i : i + 500] = supports.sum(axis=0)
    assert hashes.count_support(a1, a2, b, y, keys, g).tolist() == expected.tolist()
    assert hashes.count_support(a1, a2, b, y, small, g).tolist() == expected_small.tolist()


def test_threads_change_no_count(monkeypatch):
    """The number of threads changes no count, even if there are more of them than keys."""
    monkeypatch.setattr(hashes, "PAIRS", 64)
    monkeypatch.setattr(hashes, "SPAN", 4)
    reports, keys = random_reports(100, 3), np.arange(2**40, 2**40 + 10, dtype=np.uint64)
    results = []
    for threads in (1, 2, 30):
        parallel.set_threads(threads)
        results.append(hashes.count_support(*reports, keys, 3).tolist())
    assert results[0] == results[1] == results[2]


def test_fields_of_a_structured_array_are_columns():
    """Reports may be fields of one packed array, neither contiguous nor aligned."""
    a1, a2, b, y = random_reports(50, 4)
    packed = np.zeros(50, [("y", "u1"), ("a1", "<u8"), ("a2", "<u8"), ("b", "<u8")])
    packed["a1"], packed["a2"], packed["b"], packed["y"] = a1, a2, b, y
    keys = np.arange(9, dtype=np.uint64)
    from_fields = hashes.count_support(*(packed[name] for name in ("a1", "a2", "b", "y")), keys, 4)
    assert from_fields.tolist() == hashes.count_support(a1, a2, b, y, keys, 4).tolist()


@given(RANGE, st.lists(st.tuples(WORD, WORD, WORD, WORD), max_size=20))
def test_elementwise_hash_is_that_of_the_twin(g, rows):
    """The hash of each row's key is that of the twin."""
    a1, a2, b, keys = as_columns(rows)
    expected = [naive.hash_key(*row, g) for row in rows]
    assert hashes.hash_keys(a1, a2, b, keys, g).tolist() == expected


@given(RANGE, WORD)
def test_preimage_is_exactly_what_hashes_to_y(g, draw):
    """Both ends of the preimage of y hash to y, and the words just outside do not."""
    y = draw % g
    low, width = (int(part[0]) for part in hashes.preimage(np.array([y], np.uint32), g))
    ends = [low, low + width - 1, (low - 1) % 2**64, (low + width) % 2**64]
    assert [naive.hash_key(0, 0, h, 0, g) == y for h in ends] == [True, True, False, False]


@pytest.mark.parametrize("g", [2, 3, 64, 1000])
def test_preimages_cover_every_word_once(g):
    """The preimages of 0..g-1 are consecutive and together have 2^64 words."""
    low, width = hashes.preimage(np.arange(g, dtype=np.uint32), g)
    ends = [int(start) + int(size) for start, size in zip(low, width, strict=True)]
    assert [*low.tolist(), 2**64] == [0, *ends]


@pytest.mark.parametrize("at_once", [1, 7, hashes.ENDINGS])
@pytest.mark.parametrize(("beginnings", "done"), [(0, 20), (1, 0), (40, 20), (40, 50)])
def test_endings_are_those_of_the_twin(beginnings, done, at_once, monkeypatch):
    """The kernel finds all pairs with the right bucket, however many it hashes at once."""
    monkeypatch.setattr(hashes, "ENDINGS", at_once)
    rng = np.random.default_rng(done)
    words = rng.integers(0, 2**64, beginnings, dtype=np.uint64) >> np.uint64(64 - done or 63)
    words <<= np.uint64(64 - done or 63)
    firsts, counts = rng.integers(0, 30, beginnings), rng.integers(0, 60, beginnings)
    counts[::5] = 0
    rows = hashes.Beginnings(words, rng.integers(0, 4, beginnings), firsts, counts)
    sizes = rng.integers(1, 11, 90)
    bits = rng.integers(0, 2**10, 90).astype(np.uint64) << np.uint64(54)
    ends, salt = hashes.Endings(bits, sizes, done), int(rng.integers(2**63))
    owners, places = hashes.match_endings(rows, ends, salt, 2)
    table = [(int(b), int(s), done) for b, s in zip(bits, sizes, strict=True)]
    wanted = naive.match_endings(
        [tuple(map(int, row)) for row in zip(*rows, strict=True)], table, salt, 2
    )
    assert list(zip(owners.tolist(), places.tolist(), strict=True)) == wanted
    assert beginnings < 2 or len(wanted) > 100
