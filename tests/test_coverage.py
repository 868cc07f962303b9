"""The 95 % intervals of every protocol cover the truth in 94 to 96 % of cases."""

import numpy as np
import pytest

from deniable import BLH, DE, LH, OLH, OUE, SHE, SUE, THE, UE, OpenLH, Protocol, Pure
from deniable.advice.ranking import find_protocols

CASES = 20_000
D = 32
FREQUENT = np.array([0.25, 0.2, 0.15, 0.1, 0.08, 0.06, 0.04, 0.03])
"""The shares of the first values; half of the others share the rest, half are held by nobody."""


def _true_counts(n: int) -> np.ndarray:
    frequent = np.round(n * FREQUENT).astype(np.int64)
    rare = np.zeros(D - len(frequent), dtype=np.int64)
    rare[: len(rare) // 2] = (n - frequent.sum()) // (len(rare) // 2)
    rare[0] += n - frequent.sum() - rare.sum()
    return np.concatenate([frequent, rare])


def _coverage(protocol: Protocol, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the shares of frequent and of rare (value, run) cases that the interval covers."""
    truth = _true_counts(n)
    rng = np.random.default_rng(31)
    values = np.repeat(np.arange(D), truth)
    k = len(FREQUENT)
    covered = []
    for _ in range(CASES // k):
        tally = protocol.tally(protocol.privatize(values, rng))
        if isinstance(protocol, OpenLH):
            found = protocol.estimate(tally, np.arange(D, dtype=np.uint64))
        else:
            found = protocol.estimate(tally)
        lower, upper = found.interval(level)
        covered.append((lower <= truth) & (truth <= upper))
    hits = np.array(covered)
    return float(hits[:, :k].mean()), float(hits[: CASES // (D - k) + 1, k:].mean())


CHOSEN: list[tuple[Protocol, int]] = [
    (DE(1.0, D), 2000),
    (DE(4.0, D), 2000),
    (SHE(1.0, D), 300),
    (THE(2.0, D), 800),
    (SUE(1.0, D), 800),
    (OUE(1.0, D), 800),
    (OUE(4.0, D), 2000),
    (UE(0.75, 0.25, D), 800),
    (BLH(1.0, D), 1500),
    (OLH(1.0, D), 1500),
    (OLH(4.0, D), 2000),
    (LH(1.0, D, g=6), 300),
    (OpenLH(2.0), 300),
]


def _cases() -> list[tuple[Protocol, int]]:
    """Return the chosen cases, and one of each pure protocol that is not among them."""
    chosen = {protocol.name for protocol, _ in CHOSEN}
    return CHOSEN + [
        (p, 1000) for p in find_protocols(2.0, D) if isinstance(p, Pure) and p.name not in chosen
    ]


@pytest.mark.parametrize(("protocol", "n"), _cases(), ids=str)
def test_intervals_cover_the_truth(protocol: Protocol, n: int) -> None:
    """Rare and frequent values are each covered in 94 to 96 % of 20,000 (value, run) cases."""
    for share in _coverage(protocol, n):
        assert 0.94 <= share <= 0.96


def test_the_check_has_power() -> None:
    """Intervals of 93 or 97 % would not pass for ones of 95 %."""
    for level in (0.93, 0.97):
        for share in _coverage(DE(4.0, D), 2000, level):
            assert not 0.94 <= share <= 0.96
