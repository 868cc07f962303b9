"""Parameters of which ``make test`` runs the first few, and ``make test-all`` the rest as well."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from hypothesis import settings

_QUICK = bool(os.environ.get("QUICK"))
"""Whether ``make quick`` runs, for which one parameter of each is enough."""


def examples(most: int) -> int:
    """Return how many examples Hypothesis, or a loop, looks at: a fifth without long tests."""
    return max(5, most * settings().max_examples // 100)


def shortened(values: Iterable[object], why: str, *, keep: int = 1) -> list[object]:
    """Mark all parameters but the first ``keep`` as long, and say why they are."""
    kept, keep = list(values), min(keep, 1) if _QUICK else keep
    mark = pytest.mark.long(why)
    return kept[:keep] + [pytest.param(value, marks=mark) for value in kept[keep:]]
