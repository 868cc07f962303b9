"""The largest tallies there can be, 10^18 - 1 reports: right counts, right decisions, no error."""

import math

import numpy as np
import pytest
from scipy import stats

from deniable import (
    DE,
    SHE,
    AffineSelection,
    Discovery,
    IncompatibleTally,
    Open,
    Protocol,
    RandomMatrixProjection,
    SubsetSelection,
    Tally,
)
from deniable.law import upper_normal
from deniable.law.binomial_sum import Chance, upper_quantile
from deniable.protocols import discover
from deniable.statistics import Counts, Table

LARGEST = 10**18 - 1
SOME = 81 * 7 * 13
"""A number of reports that divides the largest."""


def _multiplied(tally: Tally, times: int) -> Tally:
    """Return the tally of every report so many times, read from its bytes."""
    statistic = tally.statistic
    if isinstance(statistic, Counts):
        statistic = Counts(statistic.values * times)
    else:
        assert isinstance(statistic, Table)
        cells, counts = statistic.hits()
        statistic = Table(statistic.size, cells, counts * times)
    large = Tally(tally.protocol, tally.n * times, statistic)
    return Tally.from_bytes(large.to_bytes())


def _protocols() -> list[Protocol]:
    """Return examples of all protocols whose tallies do not keep the reports themselves."""
    wide = [AffineSelection(0.3, 1000, 32, 2, 14), AffineSelection(1.0, 1000)]
    rows = [RandomMatrixProjection(1.0, 8, 1 << 48), SubsetSelection(0.1, 67)]
    listed = [example for kind in discover().values() for example in kind.examples()]
    # Of SHE some answers have to share the people: 16 steps for each of 10^18 have no room.
    all_there_are = [*listed, *wide, *rows, SHE(1.0, 40), DE(5.0, 4)]
    fitting = [p for p in all_there_are if not isinstance(p, SHE) or p.domain_size > 3]
    # Discovery takes so many equal reports for copies, and cuts them.
    kept = [p for p in fitting if not isinstance(p, Discovery)]
    return [p for p in kept if isinstance(p.tally([]).statistic, Counts | Table)]


@pytest.mark.parametrize("protocol", _protocols(), ids=str)
def test_the_largest_tally_is_estimated(protocol: Protocol) -> None:
    """Counts are those of the small tally times as many, and all decisions the normal law's."""
    rng, times = np.random.default_rng(1), LARGEST // SOME
    answers = 4 if isinstance(protocol, Open) else protocol.value_count
    held = rng.integers(0, max(2, answers // 2), SOME).astype(np.uint64)
    keys = np.arange(4, dtype=np.uint64) if isinstance(protocol, Open) else None
    small = protocol.tally(protocol.privatize(protocol.numbered(held), rng))
    before = protocol.estimate(small, keys)
    found = protocol.estimate(_multiplied(small, times), keys)
    assert np.allclose(found.counts / times, before.counts, rtol=1e-9, atol=1e-4)
    if found.unknown is not None:
        return
    limit = upper_normal(0.05 / found.total) * found.null_std_error
    assert found.threshold() == pytest.approx(limit, rel=1e-6)
    lower, upper = found.interval()
    assert np.all((lower <= found.counts) & (found.counts <= upper))
    if not isinstance(protocol, RandomMatrixProjection):  # whose shared rows are most of it
        widths = 2 * upper_normal(0.025) * found.std_errors
        assert upper - lower == pytest.approx(widths, rel=1e-5)
    assert "✓" in found.table()


@pytest.mark.parametrize("n", [10**12, 10**15, LARGEST])
@pytest.mark.parametrize("chance", [1e-16, 3e-7, 0.02, 0.2689, 0.5, 0.9])
def test_limits_are_scipys(n: int, chance: float) -> None:
    """The quantile of so many reports is within a millionth of a deviation of the true one."""
    for tail in (0.025, 0.05 / 1000, 1e-9):
        found = upper_quantile(n, Chance(chance, 1 - chance), tail)
        mean, spread = n * chance, math.sqrt(n * chance * (1 - chance))
        if mean < 1e6:
            assert abs(found - stats.poisson.isf(tail, mean)) <= 1
        else:
            skew = (1 - 2 * chance) / spread
            z = upper_normal(tail)
            expected = mean + spread * (z + (z**2 - 1) / 6 * skew)
            assert abs(found - expected) <= max(2.0, 1e-6 * spread)


def test_sums_beyond_64_bits_are_refused() -> None:
    """SHE counts 16 steps a person: where their sum has no room, adding is an error and no wrap."""
    protocol, rng = SHE(8.0, 2), np.random.default_rng(2)
    held = 4 * 10**17
    half = Tally(protocol, held, Counts(np.array([16 * held, 0])))
    assert protocol.estimate(half).counts.tolist() == [float(held), 0.0]
    with pytest.raises(IncompatibleTally, match="64 bits"):
        half + half
    summed = protocol.accumulator()
    summed.merge(half)
    with pytest.raises(IncompatibleTally, match="64 bits"):
        summed.merge(half)
    assert summed.tally() == half
    full = Tally(protocol, 6 * 10**17, Counts(np.array([2**63 - 1, 0])))
    summed = protocol.accumulator()
    summed.merge(full)
    reports = protocol.privatize(np.zeros(200_000, dtype=np.int64), rng)
    with pytest.raises(IncompatibleTally, match="64 bits"):
        summed.add(reports)
    assert summed.tally() == full
