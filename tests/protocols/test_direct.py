"""What is special to direct encoding: counting, on both paths."""

import numpy as np
import pytest

from deniable import DE, InvalidDocument, Tally
from deniable.statistics import Counts


@pytest.mark.parametrize("domain_size", [2, 1000, 70_000])
def test_many_reports_are_counted_as_few_are(domain_size: int) -> None:
    """The compiled count of many reports equals the sum of NumPy's counts of parts of them."""
    protocol = DE(2.0, domain_size)
    reports = protocol.privatize(np.arange(600_000) % domain_size, np.random.default_rng(1))
    parts = [protocol.support_counts(part) for part in np.array_split(reports, 4)]
    assert np.array_equal(protocol.support_counts(reports), sum(parts))
    assert protocol.support_counts(reports).sum() == 600_000


def test_counts_of_a_tally_add_up_to_its_reports() -> None:
    """Every report supports one value, so other sums are none that reports can have left."""
    protocol = DE(1.0, 4)
    good = Tally(protocol, 10, Counts(np.array([1, 2, 3, 4])))
    assert Tally.from_bytes(good.to_bytes()) == good
    for n, counts in [(10, [10] * 4), (10, [0] * 4), (10**18 - 1, [10**18 - 1] * 4)]:
        forged = Tally(protocol, n, Counts(np.array(counts)))
        with pytest.raises(InvalidDocument, match=f"a sum of {n}, of {n} reports"):
            Tally.from_bytes(forged.to_bytes())


def test_a_sum_that_wraps_to_the_right_one_is_noticed() -> None:
    """Counts are added up exactly: a sum that is 2^64 too large is not taken for n."""
    n = 10**18 - 1
    share, rest = divmod(2**64 + n, 32)
    counts = np.full(32, share)
    counts[0] += rest
    assert counts.max() <= n
    assert counts.sum() == n
    with pytest.raises(InvalidDocument, match="a sum of"):
        Tally.from_bytes(Tally(DE(1.0, 32), n, Counts(counts)).to_bytes())
