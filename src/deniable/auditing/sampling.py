"""A lower bound on epsilon from samples, for what cannot be enumerated.

Half of the reports choose an event that tells two values apart; the other half measures it, and
Clopper-Pearson limits turn the two counts into a bound that fails with probability below 1e-6.
Events are sets of *features*: which of the two values a report supports, the bytes in which the two
differ most, and for floating-point reports the grid that each number lies on.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from deniable.binomial import clopper_pearson
from deniable.mechanism import Reports
from deniable.protocol import Protocol

_FAILURE = 1e-6
_PAIRS = 4
_LIMITS = 16
"""At most so many limits are taken for a pair: two for each of four features, both ways."""


def sampled_bound(
    protocol: Protocol, samples: int, rng: np.random.Generator | None
) -> tuple[float, tuple[int, int]]:
    """Return a lower bound on epsilon and the pair of values that gave it."""
    chooser = np.random.default_rng(20170816)
    last = protocol.value_count - 1
    pairs = [(0, last)] + [
        tuple(int(v) for v in chooser.integers(0, last, 2, dtype=np.uint64, endpoint=True))
        for _ in range(_PAIRS - 1)
    ]
    best, witness = 0.0, (0, last)
    per_value = max(500, samples // (2 * len(pairs)))
    for first, second in pairs:
        if first == second:
            continue
        reports = [_sample(protocol, v, per_value, rng) for v in (first, second)]
        for mine, theirs in _features(protocol, first, second, *reports):
            for a, b, pair in ((mine, theirs, (first, second)), (theirs, mine, (second, first))):
                bound = _event_bound(a, b, _FAILURE / (_LIMITS * len(pairs)))
                if bound > best:
                    best, witness = bound, pair
    return best, witness


def _sample(protocol: Protocol, value: int, count: int, rng: np.random.Generator | None) -> Reports:
    # Small batches, so that reports of d integers each do not fill the memory.
    batch = max(1, (1 << 22) // max(1, protocol.report_dtype.itemsize))
    kept = max(1, (1 << 28) // max(1, protocol.report_dtype.itemsize))
    count = min(count, kept)
    parts = [
        protocol.privatize(np.full(min(batch, count - i), value, dtype=np.uint64), rng)
        for i in range(0, count, batch)
    ]
    return np.concatenate(parts)


Codes = npt.NDArray[np.int64]


def _features(
    protocol: Protocol, first: int, second: int, mine: Reports, theirs: Reports
) -> list[tuple[Codes, Codes]]:
    found = []
    supports = getattr(protocol, "supports", None)
    if supports is not None:
        found.append(
            tuple(
                supports(r, first).astype(np.int64) * 2 + supports(r, second)
                for r in (mine, theirs)
            )
        )
    if mine.dtype.kind == "f":
        flat = [r.reshape(len(r), -1).astype(np.float64) for r in (mine, theirs)]
        columns = {min(v, flat[0].shape[1] - 1) for v in (first, second)}
        found.extend((_grid(flat[0][:, c]), _grid(flat[1][:, c])) for c in columns)
    rows = [np.frombuffer(r.tobytes(), np.uint8).reshape(len(r), -1) for r in (mine, theirs)]
    half = len(rows[0]) // 2
    top = np.argsort(-_byte_distance(rows[0][:half], rows[1][:half]))[:2]
    found.append(tuple(_joint(r[:, top]) for r in rows))
    return found


def _grid(numbers: npt.NDArray[np.float64]) -> Codes:
    """Return the magnitude of each float and how many of its last bits are zero."""
    bits = numbers.view(np.uint64)
    lowest = bits & (~bits + np.uint64(1))
    zeros = np.where(lowest == 0, 64, np.log2(np.maximum(lowest, 1).astype(np.float64)))
    exponent = (bits >> np.uint64(52)).astype(np.int64)
    return exponent * 65 + zeros.astype(np.int64)


def _joint(columns: npt.NDArray[np.uint8]) -> Codes:
    codes = np.zeros(len(columns), dtype=np.int64)
    for column in columns.T:
        codes = codes * 256 + column
    return codes


def _byte_distance(
    mine: npt.NDArray[np.uint8], theirs: npt.NDArray[np.uint8]
) -> npt.NDArray[np.float64]:
    width = mine.shape[1]
    distance = np.empty(width)
    for j in range(width):
        a = np.bincount(mine[:, j], minlength=256)
        b = np.bincount(theirs[:, j], minlength=256)
        distance[j] = np.abs(a - b).sum()
    return distance


def _event_bound(mine: Codes, theirs: Codes, failure: float) -> float:
    """Return a lower bound on ln(P[event | mine] / P[event | theirs]) for a chosen event."""
    half_a, half_b = len(mine) // 2, len(theirs) // 2
    labels, inverse = np.unique(
        np.concatenate([mine[:half_a], theirs[:half_b]]), return_inverse=True
    )
    a = np.bincount(inverse[:half_a], minlength=len(labels))
    b = np.bincount(inverse[half_a:], minlength=len(labels))
    order = np.argsort(-(a + 0.5) / (b + 0.5))
    in_a, in_b = np.cumsum(a[order]), np.cumsum(b[order])
    least = np.maximum(in_a + 1 - 2 * np.sqrt(in_a + 1), 1e-9)
    cut = int(np.argmax(least / (in_b + 1 + 2 * np.sqrt(in_b + 1)))) + 1
    event = labels[order[:cut]]
    test_a, test_b = mine[half_a:], theirs[half_b:]
    low, _ = clopper_pearson(int(np.isin(test_a, event).sum()), len(test_a), failure)
    _, high = clopper_pearson(int(np.isin(test_b, event).sum()), len(test_b), failure)
    return math.log(low / high) if low > 0 else 0.0
