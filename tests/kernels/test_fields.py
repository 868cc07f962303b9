import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameter
from deniable.kernels import fields
from tests.naive import fields as naive

ORDERS = [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 53, 64, 101]
LARGER = [11, 13, 125, 128, 243, 1024, 1031, 37**2]


def twin(field):
    """Return the slow addition and multiplication of a field."""
    p, k, modulus = field.characteristic, field.degree, field.modulus
    return (lambda a, b: naive.add(a, b, p, k)), (lambda a, b: naive.multiply(a, b, p, modulus))


@given(st.integers(0, 2000))
def test_prime_powers_are_those_of_the_twin(g):
    """A number is a prime power where its smallest factor, multiplied with itself, gives it."""
    assert fields.prime_power(g) == naive.factor(g)
    assert fields.is_prime(g) == (naive.factor(g) == (g, 1))


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (2**31 - 1, True),
        (2**31 - 3, False),
        (3215031751, False),
        (3825123056546413051, False),
        (2**61 - 1, True),
    ],
)
def test_large_primes_are_recognised(n, expected):
    """The test for primes is not fooled by strong pseudoprimes to its first bases."""
    assert fields.is_prime(n) is expected


@pytest.mark.parametrize(
    ("n", "above"),
    [(0, 2), (2, 2), (6, 7), (10, 11), (26, 27), (62, 64), (63, 64), (2**31, 2**31)],
)
def test_next_prime_power(n, above):
    """The next prime power may be the number itself."""
    assert fields.next_prime_power(n) == above


@pytest.mark.parametrize("g", [0, 1, 6, 12, 100, 2**17, 3**11, 2147483659])
def test_impossible_orders_are_refused(g):
    """An order without a field, or with one too large, is refused and told."""
    with pytest.raises(InvalidParameter, match=str(g)) as error:
        fields.field(g)
    assert error.value.value == g


@pytest.mark.parametrize("g", [4, 8, 9, 16, 25, 27, 32, 49, 64, 81, 121, 125, 128, 243])
def test_modulus_is_the_smallest_primitive_polynomial(g):
    """The modulus is the first polynomial whose x runs through all nonzero elements."""
    p, k = naive.factor(g)
    assert fields.field(g).modulus == naive.smallest_primitive(p, k)


def test_moduli_of_well_known_fields():
    """Moduli are fixed for ever: they are part of what a report means."""
    assert fields.field(53).modulus == ()
    assert fields.field(256).modulus == (1, 0, 1, 1, 1, 0, 0, 0, 1)
    assert fields.field(1024).modulus == (1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1)
    assert fields.field(65536).modulus == (1, 0, 1, 1, 0, 1, *[0] * 10, 1)


@pytest.mark.parametrize("g", ORDERS)
def test_arithmetic_is_that_of_the_twin(g):
    """All sums, products, negatives and inverses are those of polynomials with remainder."""
    field = fields.field(g)
    add, multiply = twin(field)
    every = np.arange(g)
    a, b = every[:, None], every[None, :]
    sums, products = field.add(a, b), field.multiply(a, b)
    assert sums.dtype == products.dtype == np.uint64
    assert sums.tolist() == [[add(x, y) for y in range(g)] for x in range(g)]
    assert products.tolist() == [[multiply(x, y) for y in range(g)] for x in range(g)]
    assert not field.add(every, field.negate(every)).any()
    assert (field.multiply(every, field.inverse(every)) == (every > 0)).all()
    assert (field.products == products).all()
    assert (field.sums == sums).all()


@given(st.sampled_from([*ORDERS, 1024, 37**2, 3**10, 2**16, 65537, 2**31 - 1]), st.data())
def test_field_axioms(g, data):
    """Addition and multiplication commute, associate and distribute."""
    field = fields.field(g)
    a, b, c = (data.draw(st.integers(0, g - 1)) for _ in range(3))
    add, multiply = field.add, field.multiply
    assert add(a, b) == add(b, a)
    assert multiply(a, b) == multiply(b, a)
    assert add(a, add(b, c)) == add(add(a, b), c)
    assert multiply(a, multiply(b, c)) == multiply(multiply(a, b), c)
    assert multiply(a, add(b, c)) == add(multiply(a, b), multiply(a, c))
    assert add(a, 0) == multiply(a, 1) == a
    assert add(a, field.negate(a)) == 0
    assert multiply(a, field.inverse(a)) == (a > 0)


@given(st.integers(1, 2**32), st.lists(st.integers(0, 2**64 - 1), max_size=9))
def test_division_is_that_of_python(divisor, numbers):
    """Quotients and remainders are right to the last word."""
    quotients, remainders = fields.divide(np.array(numbers, np.uint64), divisor)
    expected = [divmod(number, divisor) for number in numbers]
    assert list(zip(quotients.tolist(), remainders.tolist(), strict=True)) == expected


@given(st.integers(2, 300), st.integers(0, 6), st.data())
def test_digits_are_those_of_the_twin(base, count, data):
    """Numbers below a power of the base are cut into as many digits."""
    numbers = data.draw(st.lists(st.integers(0, base**count - 1), min_size=1, max_size=5))
    parts = fields.cut(np.array(numbers, np.uint64), base, count)
    found = [[int(part[i]) for part in parts] for i in range(len(numbers))]
    assert found == [naive.digits(number, base, count) for number in numbers]


@given(st.sampled_from([*ORDERS, *LARGER]), st.integers(1, 7), st.data())
def test_dot_is_that_of_the_twin(g, t, data):
    """Blocks of digits, and the rest that fills no block, give <u, v>."""
    field = fields.field(g)
    t = min(t, int(60 / np.log2(g)))
    index = st.lists(st.integers(0, g**t - 1), min_size=1, max_size=5)
    u, v = data.draw(index), data.draw(index)
    result = field.dot(np.array(u, np.uint64)[:, None], np.array(v)[None, :], t)
    assert result.dtype == np.uint64
    assert result.tolist() == [[naive.dot(x, y, t, field) for y in v] for x in u]


@given(st.sampled_from([*ORDERS, *LARGER]), st.integers(0, 6), st.data())
def test_multiples_are_those_of_the_twin(g, t, data):
    """Each digit is multiplied by the factor, in blocks or alone; no digits stay none."""
    t, f = min(t, int(60 / np.log2(g))), fields.field(g)
    pair = st.tuples(st.integers(0, g - 1), st.integers(0, g**t - 1))
    pairs = data.draw(st.lists(pair, min_size=1, max_size=4))
    factors, vectors = np.array(pairs, np.uint64).T
    expected = [
        naive.number([naive.multiply(c, x, f.characteristic, f.modulus) for x in digits], g)
        for c, digits in ((c, naive.digits(u, g, t)) for c, u in pairs)
    ]
    assert f.scale(factors, vectors, t).tolist() == expected


@given(st.sampled_from([125, 243, 625, 37**2, 3**10]), st.data())
def test_larger_fields_are_those_of_the_twin(g, data):
    """Sums, products and negatives of fields without small tables are those of polynomials."""
    field = fields.field(g)
    add, multiply = twin(field)
    a, b = (data.draw(st.lists(st.integers(0, g - 1), min_size=3, max_size=3)) for _ in range(2))
    x, y = np.array(a, np.uint64), np.array(b, np.uint64)
    assert field.add(x, y).tolist() == list(map(add, a, b))
    assert field.multiply(x, y).tolist() == list(map(multiply, a, b))
    assert field.add(x, field.negate(x)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(("g", "t"), [(2, 5), (3, 4), (4, 3), (5, 3), (8, 2), (9, 2), (25, 1)])
def test_two_values_collide_with_probability_one_in_g(g, t):
    """Among all g^t hash functions exactly one in g gives two different values the same hash."""
    every = np.arange(g**t)
    hashes = fields.field(g).dot(every[:, None], every[None, :], t)
    collisions = sum((hashes[:, :, None] == hashes[:, None, :]).astype(int))
    assert (collisions == np.where(np.eye(g**t), g**t, g ** (t - 1))).all()


@pytest.mark.parametrize("g", [7, 64])
def test_a_field_is_one_object(g):
    """Asking twice, or pickling, gives the same field."""
    assert fields.field(g) is fields.field(g)
    assert pickle.loads(pickle.dumps(fields.field(g))) is fields.field(g)


def test_tables_are_kept_for_small_fields_only():
    """Tables that would be too large, or that a field does not need, are refused."""
    with pytest.raises(InvalidParameter, match="1024"):
        _ = fields.field(1031).products
    with pytest.raises(InvalidParameter, match="logarithms"):
        _ = fields.field(7).logarithms
