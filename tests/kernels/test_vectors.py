import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.kernels import vectors
from deniable.kernels.fields import field
from tests.naive import fields as naive

ORDERS = [2, 3, 4, 5, 8, 9, 11, 13, 25, 27, 64, 101, 128, 243, 1024, 1031, 37**2]


@given(st.integers(1, 2**32), st.lists(st.integers(0, 2**64 - 1), max_size=9))
def test_division_is_that_of_python(divisor, numbers):
    """Quotients and remainders are right to the last word."""
    quotients, remainders = vectors.divide(np.array(numbers, np.uint64), divisor)
    expected = [divmod(number, divisor) for number in numbers]
    assert list(zip(quotients.tolist(), remainders.tolist(), strict=True)) == expected


@given(st.sampled_from(ORDERS), st.integers(1, 6), st.data())
def test_scalar_products_are_those_of_the_twin(g, t, data):
    """Blocks of digits, and the rest that fills no block, give <u, v>."""
    t = min(t, int(60 / np.log2(g)))
    index = st.lists(st.integers(0, g**t - 1), min_size=1, max_size=4)
    u, v, f = data.draw(index), data.draw(index), field(g)
    result = vectors.dot(f, np.array(u, np.uint64)[:, None], np.array(v, np.uint64), t)
    assert result.dtype == np.uint64
    assert result.tolist() == [[naive.dot(x, y, t, f) for y in v] for x in u]


@given(st.sampled_from(ORDERS), st.integers(0, 6), st.data())
def test_multiples_are_those_of_the_twin(g, t, data):
    """Each digit is multiplied by the factor, in blocks or alone; no digits stay none."""
    t, f = min(t, int(60 / np.log2(g))), field(g)
    pair = st.tuples(st.integers(0, g - 1), st.integers(0, g**t - 1))
    pairs = data.draw(st.lists(pair, min_size=1, max_size=4))
    factors, vectors_ = np.array(pairs, np.uint64).T
    expected = [
        naive.number([naive.multiply(c, x, f.characteristic, f.modulus) for x in digits], g)
        for c, digits in ((c, naive.digits(u, g, t)) for c, u in pairs)
    ]
    assert vectors.scale(f, factors, vectors_, t).tolist() == expected


@pytest.mark.parametrize("g", [2, 3, 8, 9, 101])
def test_sums_and_products_are_those_of_the_field(g):
    """All sums and products of a small field are those that its own functions give."""
    f, every = field(g), np.arange(g, dtype=np.uint64)
    a, b = every[:, None], every
    assert (vectors.add(f, a, b) == f.add(a, b)).all()
    assert (vectors.multiply(f, a, b) == f.multiply(a, b)).all()


@pytest.mark.parametrize("g", [1031, 2048, 37**2, 65537, 2**31 - 1])
def test_fields_too_large_for_tables_compute(g):
    """In fields without tables sums and products are those that the field's functions give."""
    f, rng = field(g), np.random.default_rng(g)
    a, b = rng.integers(0, g, (2, 100)).astype(np.uint64)
    assert (vectors.add(f, a, b) == f.add(a, b)).all()
    assert (vectors.multiply(f, a, b) == f.multiply(a, b)).all()
