"""The tails of the binomial law, against the definition."""

from fractions import Fraction
from math import comb

import pytest
from scipy import special

from deniable.law.binomial_sum import Chance, beta_cdf, clopper_pearson, tail_of


def naive_tail(trials: int, chance: Fraction, k: int) -> Fraction:
    """Return the probability of more than k successes, term by term."""
    return sum(
        (
            comb(trials, i) * chance**i * (1 - chance) ** (trials - i)
            for i in range(k + 1, trials + 1)
        ),
        start=Fraction(0),
    )


def binomial_tail(trials: int, chance: float, least: int) -> float:
    """Return the probability of at least so many successes, as the sum of one binomial."""
    return tail_of(trials, 0, least, Chance(chance, 1 - chance), Chance(chance, 1 - chance))


@pytest.mark.parametrize(("trials", "k"), [(50, 30), (200, 20), (1000, 600), (1000, 3)])
def test_tails_have_their_digits(trials: int, k: int) -> None:
    """Tails far below rounding beside one are right to eleven digits all the same."""
    for chance in (Fraction(1, 100), Fraction(1, 3)):
        exact = float(naive_tail(trials, chance, k))
        assert beta_cdf(float(chance), k + 1, trials - k) == pytest.approx(exact, rel=1e-11)
        assert binomial_tail(trials, float(chance), k + 1) == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("trials", [10**9, 10**12, 10**18 - 1])
def test_many_trials_lose_no_digits(trials: int) -> None:
    """With a mean of 10, more trials are no different from Poisson's limit of them."""
    for least in (12, 20, 35):
        poisson = special.pdtrc(least - 1, 10.0)
        assert binomial_tail(trials, 10 / trials, least) == pytest.approx(poisson, rel=1e-7)


def test_tails_beyond_the_law() -> None:
    """None or more is certain, and more than all impossible."""
    assert binomial_tail(5, 0.3, 0) == 1
    assert binomial_tail(5, 0.3, 6) == 0


def test_limits_of_a_probability_are_where_the_tails_are_small() -> None:
    """At each exact limit what was seen, or more extreme, has just the probability of failure."""
    low, high = clopper_pearson(7, 60, 0.01)
    assert binomial_tail(60, low, 7) == pytest.approx(0.01, rel=1e-9)
    assert 1 - binomial_tail(60, high, 8) == pytest.approx(0.01, rel=1e-9)
    assert clopper_pearson(0, 9, 0.01)[0] == 0
    assert clopper_pearson(9, 9, 0.01)[1] == 1
