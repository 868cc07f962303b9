"""The tails of the binomial law, against the definition."""

from fractions import Fraction
from math import comb

import pytest

from deniable.binomial import beta_cdf, upper_quantile


def naive_tail(trials: int, chance: Fraction, k: int) -> Fraction:
    """Return the probability of more than k successes, term by term."""
    return sum(
        (
            comb(trials, i) * chance**i * (1 - chance) ** (trials - i)
            for i in range(k + 1, trials + 1)
        ),
        start=Fraction(0),
    )


@pytest.mark.parametrize("trials", [1, 2, 7, 60, 200])
@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1 << 40)])
def test_quantile_is_the_definition(trials: int, chance: Fraction) -> None:
    """The quantile is the least k whose tail is small enough, and no k below it is."""
    for tail in (Fraction(1, 3), Fraction(1, 1000), Fraction(1, 10**7 + 1)):
        k = upper_quantile(trials, float(chance), float(tail))
        assert naive_tail(trials, chance, k) <= tail
        assert k == 0 or naive_tail(trials, chance, k - 1) > tail


@pytest.mark.parametrize(("trials", "k"), [(50, 30), (200, 20), (1000, 600), (1000, 3)])
def test_tails_have_their_digits(trials: int, k: int) -> None:
    """Tails far below rounding beside one are right to eleven digits all the same."""
    for chance in (Fraction(1, 100), Fraction(1, 3)):
        exact = float(naive_tail(trials, chance, k))
        assert beta_cdf(float(chance), k + 1, trials - k) == pytest.approx(exact, rel=1e-11)
