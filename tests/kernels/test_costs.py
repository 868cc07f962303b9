from hashlib import sha256

import pytest

from deniable import OLH
from deniable.kernels import costs
from deniable.kernels.fields import field

DOMAINS = [2, 10, 64, 100, 1000, 4096, 41_270, 100_000, 2**24, 2**31 - 1]
RANGES = {
    0.1: [2] * 10,
    0.5: [3] * 10,
    1: [4] * 10,
    1.5: [5] * 10,
    2: [8, 8, 8, 8, 8, 8, 9, 8, 8, 8],
    2.5: [13, 11, 13, 11, 11, 13, 13, 11, 11, 11],
    3: [23, 23, 23, 23, 23, 23, 23, 19, 23, 23],
    4: [47, 47, 64, 47, 47, 64, 47, 47, 64, 47],
    5: [128] * 10,
    6: [401] * 10,
    8: [2971] * 10,
    10: [22_027] * 10,
    15: [3_269_011] * 8 + [2_642_239] * 2,
    20: [485_165_237] * 9 + [2**31 - 1],
}


@pytest.mark.parametrize(("epsilon", "ranges"), RANGES.items())
def test_ranges_of_stored_questions_never_change(epsilon, ranges):
    """A question computes its g from epsilon and d again: what 0.1.0 chose stays chosen."""
    assert [OLH(epsilon, d).g for d in DOMAINS] == ranges


def test_ranges_in_between_never_change():
    """The same for a finer grid, as one fingerprint of what 0.1.0 chose."""
    grid = [(k / 16, int(1.7**j)) for k in range(1, 100, 3) for j in range(2, 40, 3)]
    text = ",".join(f"{epsilon} {d} {OLH(epsilon, d).g}" for epsilon, d in grid)
    assert (
        sha256(text.encode()).hexdigest()
        == "9dfc23070e5fed2cd34c41a65623a6ac8881b7e77bb3c0f5016181b99a3df6ce"
    )


@pytest.mark.parametrize(
    ("g", "t", "d", "m", "ways"),
    [
        (8, 4, 1000, 10**6, {"solve": (503750000.0, 16016000), "fold": (5154245.65, 112368)}),
        (64, 3, 41_270, 10, {"solve": (14660.9375, 660480), "fold": (1309460.4312500001, 6391344)}),
    ],
)
def test_the_ratings_behind_the_ranges_never_change(g, t, d, m, ways):
    """The ratings themselves are pinned, to find what a changed range comes from."""
    rated = costs.decode_cost(field(g), t, d, m)
    for way, (nanoseconds, memory) in ways.items():
        assert rated[way] == (pytest.approx(nanoseconds), memory)
