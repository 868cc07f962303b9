"""A lower bound on epsilon from samples, for what cannot be enumerated.

Some reports choose an event that tells two values apart; others measure it, and Clopper-Pearson
limits turn the two counts into a bound that fails with probability below 1e-7. Events are sets of
*features*: which of the two values a report supports, the whole report, the bytes in which the two
differ most, and for floating-point reports the grid that each number lies on.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.auditing.probe import Bytes, Probe, Values
from deniable.binomial import clopper_pearson

FAILURE = 1e-7
_PAIRS = 4
_LIMITS = 16
"""At most so many limits are taken for a pair: two for each of four features, both ways."""
_SCREENED = 64

Codes = npt.NDArray[np.int64]
Draw = Callable[[int, int], Bytes]
"""Return reports of a value, so many of them."""


def sampled_bound(
    probe: Probe, values: Values, draw: Draw, samples: int
) -> tuple[float, tuple[int, int]]:
    """Return a lower bound on epsilon and the pair of values that gave it."""
    pairs = _suspects(values, draw, samples // 3)
    best, witness = 0.0, pairs[0]
    per_value = max(500, samples // (3 * len(pairs)))
    for first, second in pairs:
        reports = [draw(v, per_value) for v in (first, second)]
        for mine, theirs in _features(probe, first, second, *reports):
            for a, b, pair in ((mine, theirs, (first, second)), (theirs, mine, (second, first))):
                bound = _event_bound(a, b, FAILURE / (_LIMITS * len(pairs)))
                if bound > best:
                    best, witness = bound, pair
    return best, witness


def _suspects(values: Values, draw: Draw, samples: int) -> list[tuple[int, int]]:
    """Return pairs of values that a first look tells apart best, and the outermost."""
    listed = values.tolist()
    chosen = [(listed[0], listed[-1])]
    rows = [draw(v, max(100, samples // len(listed))) for v in listed]
    scores: dict[tuple[int, int], float] = {}
    for column in range(min(_SCREENED, rows[0].shape[1])):
        counts = np.array([np.bincount(r[:, column], minlength=256) for r in rows], dtype=float)
        most, least = counts.argmax(axis=0), counts.argmin(axis=0)
        top, low = counts.max(axis=0), counts.min(axis=0)
        score = np.maximum(top - 3 * np.sqrt(top), 0) / (low + 3 * np.sqrt(low) + 3)
        for cell in np.argsort(-score)[:_PAIRS]:
            pair = (listed[most[cell]], listed[least[cell]])
            scores[pair] = max(scores.get(pair, 0.0), float(score[cell]))
    ranked = sorted(scores, key=lambda pair: -scores[pair])
    chosen += [pair for pair in ranked if pair[0] != pair[1] and pair not in chosen]
    return chosen[:_PAIRS]


def _features(
    probe: Probe, first: int, second: int, mine: Bytes, theirs: Bytes
) -> list[tuple[Codes, ...]]:
    found: list[tuple[Codes, ...]] = []
    supported = [[probe.supports(r, v) for v in (first, second)] for r in (mine, theirs)]
    if supported[0][0] is not None:
        found.append(tuple(np.asarray(a, np.int64) * 2 + np.asarray(b) for a, b in supported))
    if probe.floating is not None:
        flat = [np.ascontiguousarray(r).view(probe.floating).astype(float) for r in (mine, theirs)]
        columns = {min(v, flat[0].shape[1] - 1) for v in (first, second)}
        found.extend((_grid(flat[0][:, c]), _grid(flat[1][:, c])) for c in columns)
    half = len(mine) // 2
    top = np.argsort(-_byte_distance(mine[:half], theirs[:half]))[:2]
    found.append(tuple(_joint(r[:, top]) for r in (mine, theirs)))
    packed = np.ascontiguousarray(np.concatenate([mine, theirs]))
    whole = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    codes = np.unique(whole, return_inverse=True)[1].astype(np.int64)
    found.append((codes[: len(mine)], codes[len(mine) :]))
    return found


def _grid(numbers: npt.NDArray[np.float64]) -> Codes:
    """Return the magnitude of each float and how many of its last bits are zero."""
    bits = np.ascontiguousarray(numbers).view(np.uint64)
    lowest = bits & (~bits + np.uint64(1))
    zeros = np.where(lowest == 0, 64, np.log2(np.maximum(lowest, 1).astype(np.float64)))
    exponent = (bits >> np.uint64(52)).astype(np.int64)
    return exponent * 65 + zeros.astype(np.int64)


def _joint(columns: Bytes) -> Codes:
    codes = np.zeros(len(columns), dtype=np.int64)
    for column in columns.T:
        codes = codes * 256 + column
    return codes


def _byte_distance(mine: Bytes, theirs: Bytes) -> npt.NDArray[np.float64]:
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
    return log_ratio_bound(
        (int(np.isin(test_a, event).sum()), len(test_a)),
        (int(np.isin(test_b, event).sum()), len(test_b)),
        failure,
    )


def log_ratio_bound(mine: tuple[int, int], theirs: tuple[int, int], failure: float) -> float:
    """Return a lower bound on the logarithm of the ratio of two chances, from counts of trials."""
    low, _ = clopper_pearson(*mine, failure)
    _, high = clopper_pearson(*theirs, failure)
    return math.log(low / high) if low > 0 else 0.0
