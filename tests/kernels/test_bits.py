import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.kernels import bits, parallel
from tests.naive import bits as naive

pytestmark = pytest.mark.usefixtures("way")


@given(st.integers(0, 60), st.integers(1, 90), st.integers(1, 4), st.integers(0, 2**32))
@settings(deadline=None)
def test_counts_of_bits_are_those_of_the_twin(n, domain_size, threads, seed):
    """The kernel counts the ones of each position, in as many rows as there are."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 256, (n, -(-domain_size // 8)), dtype=np.uint8)
    parallel.set_threads(threads)
    counted = bits.count_bits(rows, domain_size)
    assert counted.dtype == np.int64
    assert counted.tolist() == naive.count_bits(rows, domain_size)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("n", "width"), [(90_000, 1), (20_000, 13), (9000, 128), (700, 1300), (300, 5000)]
)
def test_many_rows_are_counted_exactly(n, width, threads):
    """Long inputs, in several chunks and blocks of columns, lose no bit."""
    parallel.set_threads(threads)
    rows = np.random.default_rng(0).integers(0, 256, (n, width), dtype=np.uint8)
    expected = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bits, "COUNT_CHUNK", 10_000)
        chunked = bits.count_bits(rows, 8 * width)
    assert chunked.tolist() == bits.count_bits(rows, 8 * width).tolist() == expected.tolist()


def test_no_sum_of_ones_overflows():
    """All ones, more of them than the narrow sums inside can hold, are all counted."""
    rows = np.full((70_000, 60), 255, np.uint8)
    assert set(bits.count_bits(rows, 480).tolist()) == {70_000}


def test_rows_need_not_be_contiguous():
    """Views with gaps, reversed or unaligned, are counted like their copies."""
    rows = np.random.default_rng(5).integers(0, 256, (101, 21), dtype=np.uint8)
    for view in (rows[::2], rows[::-1], rows[:, 1:19], rows[:, ::3], rows.T):
        width = view.shape[1]
        assert bits.count_bits(view, 8 * width).tolist() == naive.count_bits(view, 8 * width)


@given(st.data(), st.sampled_from(["u1", "u2", "u4", "u8"]), st.integers(0, 300))
@settings(deadline=None)
def test_counts_of_values_are_those_of_the_twin(data, dtype, size):
    """The kernel counts each value below the size, and all others together."""
    largest = int(np.iinfo(dtype).max)
    value = st.one_of(st.integers(0, min(largest, size + 2)), st.integers(0, largest))
    values = data.draw(st.lists(value, max_size=50))
    parallel.set_threads(data.draw(st.integers(1, 4)))
    counted, others = bits.count_values(np.array(values, dtype), size)
    assert counted.dtype == np.int64
    assert (counted.tolist(), others) == naive.count_values(values, size)


@pytest.mark.parametrize("threads", [1, 2, 9])
@pytest.mark.parametrize("size", [3, 5000, 300_000])
def test_many_values_are_counted_exactly(monkeypatch, threads, size):
    """Chunks, and views with gaps, lose no value whatever the number of threads."""
    monkeypatch.setattr(bits, "VALUES_CHUNK", 1000)
    parallel.set_threads(threads)
    pairs = np.random.default_rng(2).integers(0, size + 1, (300_000, 2), dtype=np.uint32)
    counted, others = bits.count_values(pairs[:, 1], size)
    expected = np.bincount(pairs[:, 1], minlength=size + 1)
    assert [*counted.tolist(), others] == expected.tolist()
