"""Whether reports follow a law: exact tail bounds for every cell, nothing asymptotic.

Chernoff's bound says how unlikely a count is; a cell fails when that is below e^-37 = 1e-16. An
audit looks at fewer than 10^9 cells, so honest reports fail with a chance below 1e-6 in all.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from deniable.auditing.law import Law
from deniable.auditing.probe import Bytes

FAR = 37.0
"""Nats by which no cell is off by chance."""
_FEW_BYTES = 64

Floats = npt.NDArray[np.float64]
Counted = npt.NDArray[np.int64]


def departure(law: Law, rows: Bytes) -> str | None:
    """Return how reports of one value depart from its law, or None."""
    if len(rows) == 0:
        return None
    for places, weights, total in zip(law.positions, law.weights, law.totals, strict=True):
        if not places:
            continue
        keys, counts = _count(rows[:, list(places)])
        index = {key: i for i, key in enumerate(weights)}
        if not index.keys() >= keys.keys():
            impossible = next(key for key in keys if key not in index)
            return f"a report that the law excludes ({impossible.hex()} in bytes {_span(places)})"
        seen = np.zeros(len(index), dtype=np.int64)
        seen[[index[key] for key in keys]] = counts
        chances = np.array([weight / total for weight in weights.values()])
        nats = _nats(seen, len(rows), chances)
        if nats.max() > FAR:
            cell = int(nats.argmax())
            return (
                f"{seen[cell]:,} of {len(rows):,} reports are {list(weights)[cell].hex()} in bytes "
                f"{_span(places)}, where {len(rows) * chances[cell]:,.1f} are expected"
            )
    return _repeated(law, rows)


def difference(mine: Bytes, theirs: Bytes, flags: list[tuple[Floats, Floats]]) -> str | None:
    """Return how two samples differ that ought to have one law, or None.

    ``flags`` are further yes-or-no features of the reports of each sample.
    """
    features = [("reports", *_joint_counts(mine, theirs)), ("bytes", *_places(mine, theirs))]
    features += [
        ("features", *(np.array([int(f.sum()), len(f) - int(f.sum())]) for f in pair))
        for pair in flags
    ]
    share = len(mine) / (len(mine) + len(theirs))
    for name, a, b in features:
        both = a + b
        nats = _nats(a[both > 0], both[both > 0], np.full(int((both > 0).sum()), share))
        if nats.max(initial=0.0) > FAR:
            cell = np.flatnonzero(both > 0)[int(nats.argmax())]
            return (
                f"one of its {name} came {a[cell]:,} times in {len(mine):,} against {b[cell]:,} "
                f"times in {len(theirs):,}"
            )
    return None


def detectable(n: int) -> float:
    """Return by how much the chance of any one event may be off and be seen with 99 % chance."""
    return min(1.0, (math.sqrt(2 * FAR) + 2.33) * 0.5 / math.sqrt(max(1, n)))


def _nats(seen: Counted, trials: int | Counted, chances: Floats) -> Floats:
    """Return minus the logarithm of Chernoff's bound for counts as far off as these."""
    rate = seen / trials
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(rate > 0, rate * np.log(rate / chances), 0.0)
        down = np.where(rate < 1, (1 - rate) * np.log((1 - rate) / (1 - chances)), 0.0)
    return np.asarray(trials * (up + down))


def _repeated(law: Law, rows: Bytes) -> str | None:
    """Return whether some whole report came too often: sum over reports of C(n, k) chance^k."""
    keys, counts = _count(rows)
    n, k = len(rows), int(counts.max())
    if k < 2:
        return None
    log_bound = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    for weights, total in zip(law.weights, law.totals, strict=True):
        chances = np.array([weight / total for weight in weights.values()])
        log_bound += k * math.log(chances.max())
        log_bound += math.log(float(np.sum((chances / chances.max()) ** k)))
    if log_bound > -FAR:
        return None
    report = list(keys)[int(counts.argmax())]
    return f"the report {report[:16].hex()} came {k} times in {n:,}"


def _count(rows: Bytes) -> tuple[dict[bytes, int], Counted]:
    """Return the different rows, numbered, and how often each came."""
    packed = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()
    keys, counts = np.unique(packed, return_counts=True)
    return {key.tobytes(): i for i, key in enumerate(keys)}, counts.astype(np.int64)


def _joint_counts(mine: Bytes, theirs: Bytes) -> tuple[Counted, Counted]:
    keys_a, a = _count(mine)
    keys_b, b = _count(theirs)
    every = {key: i for i, key in enumerate(keys_a | keys_b)}
    counts = np.zeros((2, len(every)), dtype=np.int64)
    counts[0, [every[key] for key in keys_a]] = a
    counts[1, [every[key] for key in keys_b]] = b
    return counts[0], counts[1]


def _places(mine: Bytes, theirs: Bytes) -> tuple[Counted, Counted]:
    """Count what each byte is, or where reports are long each bit."""
    if mine.shape[1] <= _FEW_BYTES:
        both = [[np.bincount(c, minlength=256) for c in rows.T] for rows in (mine, theirs)]
        return np.concatenate(both[0]), np.concatenate(both[1])
    a, b = (np.concatenate([_ones(rows), len(rows) - _ones(rows)]) for rows in (mine, theirs))
    return a, b


def _ones(rows: Bytes) -> Counted:
    total = np.zeros(8 * rows.shape[1], dtype=np.int64)
    for i in range(0, len(rows), 256):
        total += np.unpackbits(rows[i : i + 256], axis=1).sum(axis=0, dtype=np.int64)
    return total


def _span(places: tuple[int, ...]) -> str:
    return f"{places[0]}" if len(places) == 1 else f"{places[0]} to {places[-1]}"
