"""What docs/alternatives.md says about others is what its command computes."""

import math

import pytest

from benchmarks import alternatives


def test_the_page_has_the_tables_that_its_command_makes() -> None:
    """Every number of the page can be made again by the command that it names."""
    page = alternatives.PAGE.read_text(encoding="utf-8")
    assert "python -m benchmarks.alternatives" in page
    assert alternatives.written(page) == page


def test_shuffling_reveals_no_more_than_the_reports_themselves() -> None:
    """The bound never exceeds the local epsilon, and falls as more people are shuffled."""
    for local in (0.5, 1.0, 4.0, 12.0):
        bounds = [alternatives.shuffled_epsilon(local, 10**k) for k in range(3, 10)]
        assert bounds == sorted(bounds, reverse=True)
        assert max(bounds) <= local


@pytest.mark.parametrize("n", [10_000, 1_000_000])
def test_the_local_epsilon_is_the_largest_that_shuffling_allows(n: int) -> None:
    """A little more would reveal more than was asked for."""
    found = alternatives.largest_local(1.0, n)
    assert alternatives.shuffled_epsilon(found, n) <= 1.0
    assert alternatives.shuffled_epsilon(found + 1e-3, n) > 1.0


def test_a_sketch_is_no_better_than_its_bits() -> None:
    """Apple's sketch has the variance of symmetric unary encoding, and collisions on top."""
    bits = math.exp(0.5) / (math.exp(0.5) - 1) ** 2
    assert alternatives.sketch_variance(1.0) == pytest.approx(bits + 1 / 1024, rel=0.01)
    assert alternatives.sketch_variance(1.0) > bits
