"""Polynomials over prime fields, against the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.kernels import parallel, polynomials
from tests.marks import examples
from tests.naive import sets as naive

PRIMES = (2, 3, 5, 13, 251, 1009, 32_749, 32_771, 65_521, 1_048_573)
pytestmark = pytest.mark.usefixtures("way")


@settings(deadline=None, max_examples=examples(60))
@given(st.sampled_from(PRIMES), st.data())
def test_interpolation_is_that_of_lagrange(g: int, data: st.DataObject) -> None:
    """A polynomial goes through all its points and has its leading coefficient."""
    degree = data.draw(st.integers(1, min(g, 6)))
    points = data.draw(
        st.lists(st.integers(0, g - 1), min_size=degree, max_size=degree, unique=True)
    )
    values = data.draw(st.lists(st.integers(0, g - 1), min_size=degree, max_size=degree))
    leading = data.draw(st.integers(0, g - 1))
    rows = (np.array([each], dtype=np.uint64) for each in (points, values))
    made = polynomials.interpolate(*rows, np.array([leading], dtype=np.uint64), g)
    assert made[0].tolist() == naive.through(points, values, leading, g)
    for x, y in zip(points, values, strict=True):
        assert polynomials.evaluate(made, x, g)[0] == y


@settings(deadline=None, max_examples=examples(40))
@given(st.sampled_from(PRIMES), st.integers(1, 5), st.integers(0, 40), st.data())
def test_counts_are_those_of_every_value(
    g: int, degree: int, points: int, data: st.DataObject
) -> None:
    """Stepping by differences counts the same as evaluating at each point."""
    m, count = data.draw(st.integers(1, g - 1)), data.draw(st.integers(0, 30))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    kind = next(kind for kind in (np.uint8, np.uint16, np.uint32) if g - 1 <= np.iinfo(kind).max)
    some = rng.integers(0, g, (count, degree + 1)).astype(kind)
    found = polynomials.count_below(some, m, g, points)
    expected = [sum(naive.evaluate(h, x, g) < m for h in some.tolist()) for x in range(points)]
    assert found.tolist() == expected


@pytest.mark.parametrize("g", [1009, 32_749, 41_281, 1_048_573])
def test_chunks_and_lanes_lose_no_polynomial(g: int) -> None:
    """More polynomials than fit into a chunk, by one thread or two, at the largest degree."""
    rng = np.random.default_rng(g)
    some = rng.integers(0, g, (polynomials._CHUNK + 777, 33)).astype(np.uint32)
    parallel.set_threads(1)
    alone = polynomials.count_below(some, g // 9, g, 40)
    parallel.set_threads(2)
    assert polynomials.count_below(some, g // 9, g, 40).tolist() == alone.tolist()
    for x in (0, 1, 39):
        assert alone[x] == np.count_nonzero(polynomials.evaluate(some, x, g) < g // 9)
