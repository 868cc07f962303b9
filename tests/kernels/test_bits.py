import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.kernels import bits, parallel
from tests.naive import bits as naive

WEIGHT = st.one_of(
    st.integers(1, 2**64 - 1),
    st.sampled_from([1, 2**56 - 1, 2**56, 2**63 - 1, 2**63, 255 << 56, 2**64 - 1]),
)


class Seeded:
    """Random bytes from a seed; with `alphabet`, only some values, so that ties are common."""

    def __init__(self, seed, alphabet=None):
        self.seed, self.alphabet = seed, alphabet
        self.generator = np.random.default_rng(seed)

    def bytes(self, count):
        if self.alphabet is None:
            return self.generator.integers(0, 256, count, dtype=np.uint8)
        return self.generator.choice(np.array(self.alphabet, np.uint8), count)

    def split(self, count):
        return [Seeded([*self.seed, k], self.alphabet) for k in range(count)]


class Scripted:
    """One chunk's bytes, given call by call."""

    def __init__(self, *calls):
        self.calls = [np.array(call) for call in calls]

    def bytes(self, count):
        drawn = self.calls.pop(0).view(np.uint8)
        assert len(drawn) == count
        return drawn

    def split(self, count):
        assert count == 1
        return [self]


@pytest.fixture(autouse=True)
def default_threads():
    """Leave each test with the default number of threads."""
    yield
    parallel.set_threads(None)


@given(st.data(), st.integers(1, 140), WEIGHT, WEIGHT, st.integers(0, 2**32))
@settings(deadline=None)
def test_perturbed_bits_are_those_of_the_twin(data, domain_size, p_weight, q_weight, seed):
    """From the same bytes, ties included, the kernel makes the rows of the twin."""
    values = data.draw(st.lists(st.integers(0, domain_size - 1), max_size=12))
    top = q_weight >> 56
    nearby = data.draw(st.sampled_from([None, [top], [max(0, top - 1), top, min(255, top + 1)]]))
    parallel.set_threads(data.draw(st.integers(1, 3)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bits, "PERTURB_CHUNK", data.draw(st.sampled_from([1, 300, 1 << 20])))
        chunk = bits.perturb_rows(domain_size)
        settings = (p_weight, q_weight, domain_size)
        rows = bits.perturb_bits(np.array(values, np.int64), *settings, Seeded([seed], nearby))
    assert rows.shape == (len(values), -(-domain_size // 8))
    assert rows.tolist() == naive.perturb_bits(
        values, *settings, Seeded([seed], nearby), chunk=chunk
    )
    assert bits.padding_is_clean(rows, domain_size)


def test_bits_have_the_given_probabilities():
    """True and other bits occur as weighed, and weights 1 % off would be noticed."""
    n, d, p, q = 1_000_000, 9, 0.5, 0.25
    values = np.random.default_rng(0).integers(0, d, n)
    rows = bits.perturb_bits(values, int(p * 2**64), int(q * 2**64), d, Seeded([1]))
    ones = np.unpackbits(rows, axis=1, count=d, bitorder="little")
    true = ones[np.arange(n), values].sum(dtype=np.int64)
    others = ones.sum(dtype=np.int64) - true
    for count, trials, probability in ((true, n, p), (others, n * (d - 1), q)):

        def deviation(expected, count=count, trials=trials):
            return abs(count - trials * expected) / (trials * expected * (1 - expected)) ** 0.5

        assert deviation(probability) < 4
        assert deviation(1.01 * probability) > 5
        assert deviation(0.99 * probability) > 5


def test_ties_are_decided_by_the_low_bits_of_the_weight():
    """If every byte ties, the 56 bits that follow decide exactly at the weight."""
    d, q_weight = 11, 0x80_0000_0000_0005
    low = q_weight % 2**56
    # The low byte of a further word does not count, and neither does the true bit's own byte.
    words = [(low - 1 + i % 2) << 8 | 0xFF * (i % 2 == 0) for i in range(d - 1)]
    ties = np.full(16, q_weight >> 56, np.uint8)
    first = np.concatenate([np.array([7], "<u8").view(np.uint8), ties])
    source = Scripted(first, np.array(words, "<u8"))
    rows = bits.perturb_bits(np.array([4]), 8, q_weight, d, source)
    others = [1, 0] * 5
    assert rows.tolist() == [naive.pack([*others[:4], 1, *others[4:]])]
    assert not source.calls


@pytest.mark.parametrize("p_weight", [1, 2**32, 2**63, 2**64 - 1])
def test_true_bit_is_exact_to_the_last_word(p_weight):
    """The true bit is 1 for the word just below its weight and 0 for the weight itself."""
    words = np.array([p_weight - 1, p_weight], "<u8").view(np.uint8)
    source = Scripted(np.concatenate([words, np.full(16, 255, np.uint8)]))
    rows = bits.perturb_bits(np.array([2, 2]), p_weight, 1 << 56, 3, source)
    assert rows.tolist() == [[0b100], [0]]


def test_threads_change_no_perturbed_bit(monkeypatch):
    """The number of threads changes no bit."""
    monkeypatch.setattr(bits, "PERTURB_CHUNK", 256)
    values = np.arange(100) % 20
    results = []
    for threads in (1, 2, 40):
        parallel.set_threads(threads)
        rows = bits.perturb_bits(values, 2**63, 2**62, 20, Seeded([3]))
        results.append(rows.tobytes())
    assert results[0] == results[1] == results[2]


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
@pytest.mark.parametrize(("n", "width"), [(90_000, 1), (20_000, 13), (9000, 128), (700, 1300)])
def test_many_rows_are_counted_exactly(n, width, threads):
    """Long inputs, in several chunks and blocks of columns, lose no bit."""
    parallel.set_threads(threads)
    rows = np.random.default_rng(0).integers(0, 256, (n, width), dtype=np.uint8)
    expected = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bits, "COUNT_CHUNK", 10_000)
        patch.setattr(bits, "LEAST_ROWS", 100)
        chunked = bits.count_bits(rows, 8 * width)
    assert chunked.tolist() == bits.count_bits(rows, 8 * width).tolist() == expected.tolist()


def test_planes_are_flushed_before_they_overflow():
    """All ones, more of them than sixteen bit planes can hold, are all counted."""
    rows = np.full((70_000, 600), 255, np.uint8)
    assert set(bits.count_bits(rows, 4800).tolist()) == {70_000}
    counts = np.zeros(4800, np.int64)
    bits.add_bits(rows, counts)
    assert set(counts.tolist()) == {70_000}


def test_rows_need_not_be_contiguous():
    """Views with gaps, reversed or unaligned, are counted like their copies."""
    rows = np.random.default_rng(5).integers(0, 256, (101, 21), dtype=np.uint8)
    for view in (rows[::2], rows[::-1], rows[:, 1:19], rows[:, ::3], rows.T):
        width = view.shape[1]
        assert bits.count_bits(view, 8 * width).tolist() == naive.count_bits(view, 8 * width)


def test_dirty_padding_is_noticed():
    """A one past the domain is noticed in any row, and a domain of whole bytes has no padding."""
    rows = np.zeros((5, 2), np.uint8)
    rows[:, 1] = 0b111
    assert bits.padding_is_clean(rows, 11)
    rows[3, 1] |= 0b1000
    assert not bits.padding_is_clean(rows, 11)
    assert bits.padding_is_clean(rows, 12)
    assert bits.padding_is_clean(np.full((2, 1), 255, np.uint8), 8)
    assert bits.padding_is_clean(rows[:0], 9)


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
@pytest.mark.parametrize("size", [3, 5000])
def test_many_values_are_counted_exactly(monkeypatch, threads, size):
    """Chunks, and views with gaps, lose no value whatever the number of threads."""
    monkeypatch.setattr(bits, "VALUES_CHUNK", 1000)
    parallel.set_threads(threads)
    pairs = np.random.default_rng(2).integers(0, size + 1, (300_000, 2), dtype=np.uint32)
    counted, others = bits.count_values(pairs[:, 1], size)
    expected = np.bincount(pairs[:, 1], minlength=size + 1)
    assert [*counted.tolist(), others] == expected.tolist()
