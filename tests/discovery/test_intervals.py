"""What check people say by their law: intervals that hold after selection, and exact tails."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.law.samples import SampleLaw, chi_square_tail


def test_interval_of_what_is_shown_covers_as_often_as_it_says() -> None:
    """By the law itself, among supports that reach the limit, 95 % of the intervals hold."""
    law = SampleLaw(10**6, 375_000, Fraction(1, 2), Fraction(1, 53))
    least = law.least(0.0005)
    for target in (0.1, 0.5, 0.9):
        share = _share_of(law, least, target)
        covered, plain = _coverage(law, least, share)
        assert 0.94 < covered < 0.965
        assert (plain < 0.85) == (target == 0.1)


def _coverage(law: SampleLaw, least: int, share: float) -> tuple[float, float]:
    """Return how often intervals hold a share if they are shown, and how often plain ones would."""
    chance = float(law.q) + share * law.asked.gap
    spread = math.sqrt(law.people * chance)
    last, found = round(law.people * chance + 8 * spread), []

    def plain(support: int) -> list[float]:
        return [end[0] for end in law.interval(law.counts(np.array([support])), 0.025)]

    for ends in (lambda support: law.shown(support, least, 0.025), plain):
        lowest = _first(lambda s, ends=ends: ends(s)[1] >= share * law.n, least, last)
        beyond = _first(lambda s, ends=ends: ends(s)[0] > share * law.n, least, last)
        held = stats.binom.sf([lowest - 1, beyond - 1], law.people, chance)
        found.append((held[0] - held[1]) / stats.binom.sf(least - 1, law.people, chance))
    return found[0], found[1]


def _first(holds, low: int, high: int) -> int:
    """Return the first number from ``low`` on from which a property holds."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _share_of(law: SampleLaw, least: int, target: float) -> float:
    """Return the share that reaches a limit with a given chance."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        chance = float(law.q) + middle * law.asked.gap
        reached = stats.binom.sf(least - 1, law.people, chance)
        low, high = (middle, high) if reached < target else (low, middle)
    return high


def test_plain_interval_is_exact() -> None:
    """Without a limit the ends are those of Clopper and Pearson, mapped to counts."""
    law = SampleLaw(1000, 400, Fraction(1, 2), Fraction(1, 10))
    supports = np.array([20, 40, 100, 200])
    lower, upper = law.interval(law.counts(supports), 0.025)
    ends = (
        stats.beta.ppf(0.025, supports, 401 - supports),
        stats.beta.ppf(0.975, supports + 1, 400 - supports),
    )
    assert lower == pytest.approx(law.counts(400 * ends[0]), abs=0.01)
    assert upper == pytest.approx(law.counts(400 * ends[1]), abs=0.01)
    assert law.tail(60) == pytest.approx(stats.binom.sf(59, 400, 0.1))
    assert stats.binom.sf(law.least(0.001) - 1, 400, 0.1) <= 0.001


def test_chi_square_tail_is_that_of_scipy() -> None:
    """The test of evenness is by the exact tail."""
    for freedom in (1, 2, 7, 8, 13):
        for square in (0.0, 0.5, 7.0, 60.0):
            assert chi_square_tail(square, freedom) == pytest.approx(
                stats.chi2.sf(square, freedom), rel=1e-9
            )


def test_interval_of_what_everybody_gave_holds_everybody() -> None:
    """The ends of a share are 0 and 1 themselves, not what a search comes close to."""
    law = SampleLaw(20_000, 7500, Fraction(1, 2), Fraction(1, 60))
    assert law.shown(3750, 200, 0.025)[1] == 20_000
    assert law.shown(4100, 200, 0.025)[1] == 20_000
    assert law.shown(4100, 200, 0.025)[0] < 20_000
