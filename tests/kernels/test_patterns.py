from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.kernels import bits, parallel
from tests.marks import examples
from tests.naive import bits as naive

pytestmark = pytest.mark.usefixtures("way")

WEIGHT = st.one_of(
    st.integers(1, 2**64 - 1),
    st.sampled_from([1, 2**56 - 1, 2**56, 2**63 - 1, 2**63, 255 << 56, 2**64 - 1]),
)


class Seeded:
    """Random bytes from a seed; with `alphabet`, only some values, so that much is undecided."""

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
        self.calls = list(calls)

    def bytes(self, count):
        drawn = np.frombuffer(self.calls.pop(0), np.uint8)
        assert len(drawn) == count
        return drawn

    def split(self, count):
        assert count == 1
        return [self]


@given(st.data(), st.integers(1, 60), WEIGHT, WEIGHT, st.integers(0, 2**32))
@settings(deadline=None, max_examples=examples(60))
def test_perturbed_bits_are_those_of_the_twin(data, domain_size, p_weight, q_weight, seed):
    """From the same bytes, undecided ones included, the kernel makes the rows of the twin."""
    values = data.draw(st.lists(st.integers(0, domain_size - 1), max_size=8))
    starts = bits.patterns(q_weight).exact
    near = data.draw(st.sampled_from(starts)) >> 496 & 0xFFFF
    alphabet = data.draw(st.sampled_from([None, [near & 255, near >> 8], [0, 255]]))
    parallel.set_threads(data.draw(st.integers(1, 3)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bits, "PERTURB_CHUNK", data.draw(st.sampled_from([1, 30, 1 << 20])))
        chunk = bits.perturb_rows(domain_size)
        settings = (p_weight, q_weight, domain_size)
        rows = bits.perturb_bits(np.array(values, np.int64), *settings, Seeded([seed], alphabet))
    assert rows.shape == (len(values), -(-domain_size // 8))
    assert rows.tolist() == naive.perturb_bits(
        values, *settings, Seeded([seed], alphabet), chunk=chunk
    )


@pytest.mark.parametrize("weight", [1, 3 << 60, 2**63, 4960937203141820417, 2**64 - 1])
def test_intervals_of_patterns_are_exact_at_every_resolution(weight):
    """All starts are the sums of products of weights, and each resolution agrees with the next."""
    found = bits.patterns(weight)
    q = Fraction(weight, 2**64)
    chances = [q ** b.bit_count() * (1 - q) ** (8 - b.bit_count()) for b in range(256)]
    assert sum(chances) == 1
    assert [Fraction(c, 2**512) for c in found.exact] == [sum(chances[:b]) for b in range(1, 256)]
    for number in [0, 1, 2**15, 2**16 - 1, *(c >> 496 for c in found.exact[::16])]:
        if number < 2**16:
            expected = naive.pattern_of(number, 16, weight)
            assert found.table[number] == (bits.UNDECIDED if expected is None else expected)


@pytest.mark.parametrize("pattern", [1, 77, 200, 255])
@pytest.mark.parametrize("past", [-1, 0])
def test_all_512_bits_decide(pattern, past):
    """The last number before an interval has the pattern before, its first number the pattern."""
    weight = 4960937203141820417
    number = bits.patterns(weight).exact[pattern - 1] + past
    leading, further = number >> 496, number >> 448 & 2**48 - 1
    source = Scripted(
        (0).to_bytes(8, "little") + leading.to_bytes(2, "little"),
        (further << 16 | 0xABCD).to_bytes(8, "little"),
        (number % 2**448).to_bytes(56, "little"),
    )
    rows = bits.perturb_bits(np.array([0]), 1, weight, 8, source)
    assert rows[0, 0] | 1 == (pattern + past) | 1
    assert not source.calls


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


@pytest.mark.parametrize("p_weight", [1, 2**32, 2**63, 2**64 - 1])
def test_true_bit_is_exact_to_the_last_word(p_weight):
    """The true bit is 1 for the word just below its weight and 0 for the weight itself."""
    words = np.array([p_weight - 1, p_weight], "<u8").tobytes()
    source = Scripted(words + bytes(4))
    rows = bits.perturb_bits(np.array([2, 2]), p_weight, 1 << 56, 3, source)
    assert rows.tolist() == [[0b100], [0]]


def test_threads_change_no_perturbed_bit(monkeypatch):
    """The number of threads changes no bit."""
    monkeypatch.setattr(bits, "PERTURB_CHUNK", 64)
    values = np.arange(100) % 20
    results = []
    for threads in (1, 2, 40):
        parallel.set_threads(threads)
        rows = bits.perturb_bits(values, 2**63, 2**62, 20, Seeded([3]))
        results.append(rows.tobytes())
    assert results[0] == results[1] == results[2]
