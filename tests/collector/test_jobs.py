"""What the worker makes for pages, against what it says."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.collector.views import fake_reports
from deniable.protocol import Pure
from deniable.protocols.direct import DE
from deniable.protocols.hashing import BLH, OLH
from deniable.protocols.unary import OUE
from deniable.question import Question


def shift(protocol: Pure, n: int, share: float, fakes: int) -> float:
    """Return by how much the share of one answer can be moved, up or down."""
    q, gap = protocol.parameters.q, protocol.parameters.gap
    moved = [(share * n + fakes * (support - q) / gap) / (n + fakes) for support in (0, 1)]
    return max(abs(each - share) for each in moved)


@pytest.mark.parametrize(
    "protocol", [DE(6.0, 3), DE(1.0, 3), OUE(1.0, 3), OLH(1.0, 3), BLH(1.0, 3)]
)
def test_fewest_fakes_that_move_an_answer(protocol: Pure) -> None:
    """So many made-up reports move some answer by a point, and one fewer moves none."""
    question = Question("fruit", ("a", "b", "c"), protocol)
    rng = np.random.default_rng(3)
    found = question.estimate(question.tally(protocol.privatize(rng.integers(0, 2, 5000), rng)))
    fakes = fake_reports(protocol, found)
    shares = found.shares.clip(0, 1)
    assert fakes is not None
    assert max(shift(protocol, found.n, share, fakes) for share in shares) >= 0.01
    assert max(shift(protocol, found.n, share, fakes - 1) for share in shares) < 0.01
