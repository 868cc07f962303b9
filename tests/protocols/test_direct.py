"""What is special to direct encoding: counting, on both paths."""

import numpy as np
import pytest

from deniable import DE


@pytest.mark.parametrize("domain_size", [2, 1000, 70_000])
def test_many_reports_are_counted_as_few_are(domain_size: int) -> None:
    """The compiled count of many reports equals the sum of NumPy's counts of parts of them."""
    protocol = DE(2.0, domain_size)
    reports = protocol.privatize(np.arange(600_000) % domain_size, np.random.default_rng(1))
    parts = [protocol.support_counts(part) for part in np.array_split(reports, 4)]
    assert np.array_equal(protocol.support_counts(reports), sum(parts))
    assert protocol.support_counts(reports).sum() == 600_000
