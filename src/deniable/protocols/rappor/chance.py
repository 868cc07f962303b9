"""What noise alone makes of few reports: the ones of a candidate that nobody holds are binomial.

Each bit of each report is a one with probability q. Where such bits are few, their sum has a
heavier tail than the normal law that the regression's errors are read by: of two reports all four
bits of a candidate are ones in one case of two hundred, which are 3.3 standard errors.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.law import upper_normal
from deniable.law.sums import Chance, tail_of

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_NEARLY_NORMAL = 20.0
_LARGEST_ALPHA = 0.2
_LEAST = 1e-9


def nearly_normal(trials: int, chance: Chance) -> bool:
    """Tell whether so many bits are enough for the normal law."""
    return trials * chance.variance > _NEARLY_NORMAL


def least_standing(candidates: int) -> float:
    """Return by how many errors a count stands out that some usual alpha calls significant."""
    return upper_normal(_LARGEST_ALPHA / max(candidates, 1))


def widen(
    counts: Floats, std_errors: Floats, trials: Integers, ones: Integers, chance: Chance
) -> Floats:
    """Return errors by which no count stands out further than its ones do by the exact law."""
    tails = [
        tail_of(n, 0, seen, chance, chance)
        for n, seen in zip(trials.tolist(), ones.tolist(), strict=True)
    ]
    out = np.array([upper_normal(tail) if tail < 1 else 0.0 for tail in tails])
    return np.asarray(np.maximum(std_errors, counts / np.maximum(out, _LEAST)))
