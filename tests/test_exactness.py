"""Epsilon is never exceeded, at any parameter, and hardly anything of it is lost."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable import BLH, DE, LH, OLH, OUE, SHE, SUE, THE, UE, OpenLH, Protocol
from deniable.protocols.histogram import UNIT, best_threshold, laplace_weights
from deniable.randomness import (
    WORD,
    Direct,
    Replayed,
    Words,
    exponential_bounds,
    log_above,
)

EPSILONS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.3, 1.7, 2.0, 2.5, 3.0, 3.7, 4.0]
EPSILONS += [4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0]
SIZES = [2, 3, 4, 5, 7, 10, 16, 33, 100, 255, 256, 257, 1000, 1024, 2000, 4095, 4096]
SIZES += [10_000, 41_270, 2**16, 10**5, 2**20 // 3, 10**6]


@pytest.mark.parametrize("kind", [DE, SUE, OUE, SHE, THE, BLH, OLH])
def test_realised_epsilon_is_at_most_epsilon_and_close(kind: type[Protocol]) -> None:
    """598 pairs of epsilon and domain size: never above, within 1e-12 below for d <= 4096."""
    pairs = [(epsilon, d) for epsilon in EPSILONS for d in SIZES]
    assert len(pairs) >= 500
    for epsilon, d in pairs:
        protocol = kind(epsilon=epsilon, domain_size=d)
        assert protocol.realised_epsilon <= epsilon
        # Thresholding discards what the noisy histogram cost, so THE spends less by nature.
        if d <= 4096 and kind is not THE:
            assert epsilon - protocol.realised_epsilon <= 1e-12


@pytest.mark.parametrize("g", [2, 3, 6, 53, 100, 4096])
def test_every_hash_range_is_exact(g: int) -> None:
    """Local hashing with any range spends epsilon to within 1e-12."""
    for epsilon in EPSILONS:
        for protocol in (LH(epsilon, 1000, g), OpenLH(epsilon, g)):
            assert 0 <= epsilon - protocol.realised_epsilon <= 1e-12


def test_general_unary_encoding_spends_what_follows_from_p_and_q() -> None:
    """UE states the epsilon of its own weights, [eq:uereq]."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        q, p = sorted(rng.uniform(0.001, 0.999, 2))
        protocol = UE(p, q, 10)
        exact = math.log(p * (1 - q) / ((1 - p) * q))
        assert protocol.realised_epsilon == protocol.epsilon == pytest.approx(exact, abs=1e-9)


def test_the_spends_less_because_it_thresholds() -> None:
    """Only bits are sent, so the loss is that of unary encoding with THE's p and q."""
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        protocol = THE(epsilon, 100, theta=1.0)
        assert protocol.realised_epsilon == pytest.approx(math.log(2 * math.exp(epsilon / 2) - 1))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0, 4.0, 8.0])
def test_best_threshold_beats_its_neighbours(epsilon: float) -> None:
    """The chosen theta has the least variance, and lies in (1/2, 1)."""
    best = THE(epsilon, 10)
    assert 0.5 < best.theta < 1
    for other in (best.theta - 0.01, best.theta + 0.01, 1.0, 0.5):
        assert best.variance(1) <= THE(epsilon, 10, theta=other).variance(1)
    assert best_threshold(epsilon) == best.theta


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 4.0, 16.0])
def test_laplace_table_is_complete_centred_and_within_its_ratio(epsilon: float) -> None:
    """The weights add up to 2^64, average exactly zero, and no ratio exceeds e^(eps/2)."""
    weights = laplace_weights(epsilon)
    reach = (len(weights) - UNIT - 1) // 2
    assert sum(weights) == WORD
    assert sum((i - reach) * w for i, w in enumerate(weights)) == 0
    assert min(weights) > 0
    low, _ = exponential_bounds(Fraction(epsilon) / 2)
    assert all(w <= low * m for w, m in zip(weights, reversed(weights), strict=True))
    assert SHE(epsilon, 3).variance(1) == pytest.approx(
        8 / epsilon**2 - 1 / (6 * UNIT**2), rel=1e-3
    )


def test_direct_offset_steps_exactly_at_its_weights() -> None:
    """Words below p keep the value; each further run of q words is one other value."""
    direct = Direct.at(1.0, 5)
    p, q = direct.p, direct.q
    edges = np.array([0, p - 1, p, p + q - 1, p + q, p + 4 * q - 1], dtype=np.uint64)
    offsets = direct.perturb(np.zeros(6, dtype=np.uint64), edges)
    assert p + 4 * q == WORD
    assert offsets.tolist() == [0, 0, 1, 1, 2, 4]


def test_words_at_their_limit_are_redrawn_in_order() -> None:
    """A rejected word is replaced by the next one read, after all others."""
    words = np.array([[9, 1], [3, 2], [8, 0], [7, 7], [4, 4]], dtype="<u8")
    drawn = Words(2, {0: 8}).draw(Replayed(words.tobytes()), 3)
    assert drawn.tolist() == [[7, 1], [3, 2], [7, 0]]


@pytest.mark.parametrize("x", [-3.0, -0.1, 1e-9, 0.5, 1.0, 16.0, 50.0])
def test_exponential_bounds_enclose_the_power(x: float) -> None:
    """The two rationals are apart by less than any weight can notice."""
    low, high = exponential_bounds(x)
    assert low < high
    assert float(low) == pytest.approx(math.exp(x), rel=1e-15)
    assert (high - low) / low < Fraction(1, 10**60)
    assert log_above(low) <= x <= log_above(high)


def test_uniform_hash_functions_are_exactly_uniform() -> None:
    """Every u of the linear family has the same number of words that lead to it."""
    family = OLH(0.5, 7)._family
    limit = family.words.limits[0]
    assert limit % family.functions == 0
    edges = np.array([[0, 0], [limit - 1, 0]], dtype=np.uint64)
    reports = family.perturb(np.zeros(2, dtype=np.uint64), edges, Direct.at(0.5, 3))
    assert reports.tolist() == [0, family.reports - 3]
