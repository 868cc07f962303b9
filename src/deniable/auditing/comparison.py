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
    features += [("features", _yes_no(a), _yes_no(b)) for a, b in flags]
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


def _yes_no(flags: Floats) -> Counted:
    return np.array([int(flags.sum()), len(flags) - int(flags.sum())], dtype=np.int64)


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
    _, first, counts = np.unique(_codes(rows), return_index=True, return_counts=True)
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
    report = rows[first[int(counts.argmax())]].tobytes()[:16]
    return f"the report {report.hex()} came {k} times in {n:,}"


def _count(rows: Bytes) -> tuple[dict[bytes, int], Counted]:
    """Return the different rows, numbered, and how often each came."""
    _, first, counts = np.unique(_codes(rows), return_index=True, return_counts=True)
    keys = [row.tobytes() for row in np.ascontiguousarray(rows[first])]
    return {key: i for i, key in enumerate(keys)}, counts


def _joint_counts(mine: Bytes, theirs: Bytes) -> tuple[Counted, Counted]:
    codes = np.concatenate([_codes(mine), _codes(theirs)])
    distinct, which = np.unique(codes, return_inverse=True)
    a = np.bincount(which[: len(mine)], minlength=len(distinct))
    b = np.bincount(which[len(mine) :], minlength=len(distinct))
    return a, b


def _codes(rows: Bytes) -> npt.NDArray[np.uint64]:
    """Return a number for each row, the same for the same row; long rows are hashed.

    Two rows of the same hash only make one cell of two, which a comparison may.
    """
    width = rows.shape[1]
    if width <= 8:
        padded = np.zeros((len(rows), 8), dtype=np.uint8)
        padded[:, :width] = rows
        return padded.view("<u8").ravel()
    factors = np.random.default_rng(0).integers(0, 1 << 64, width, dtype=np.uint64)
    parts = [rows[i : i + 4096].astype(np.uint64) @ factors for i in range(0, len(rows), 4096)]
    return np.concatenate([*parts, np.empty(0, dtype=np.uint64)])


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
