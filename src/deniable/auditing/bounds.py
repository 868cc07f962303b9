"""Lower bounds on epsilon from samples, for what cannot be enumerated.

Some reports choose an event that tells two values apart; others measure it, and Clopper-Pearson
limits turn the two counts into a bound that fails with probability below 1e-7. Events are sets of
*features*: which of the two values a report supports, the whole report, the bytes in which the two
differ most, and for floating-point reports the grid that each number lies on.

Where a simple map explains most reports, its law is known exactly and only the exceptions have to
be sampled. A leak in one report of a thousand is lost in the noise of plain samples, and stands out
among the exceptions.
"""

import math
from collections import Counter
from collections.abc import Callable

import numpy as np

from deniable.auditing.probe import Bytes, Probe, Values
from deniable.auditing.report_law import Model
from deniable.law.binomial_sum import clopper_pearson

_FAILURE = 1e-7
_PAIRS = 4
_LIMITS = 16
"""The most limits taken for a pair: two for each of four features, both ways."""
_SCREENED = 64
_FIRST_ROWS, _ROWS = 1 << 14, 1 << 22
_WORDS, _PART_WORDS = 1 << 26, 1 << 22
_EVENTS, _EVENT_LIMITS = 2, 6

Codes = np.typing.NDArray[np.int64]
Draw = Callable[[int, int], Bytes]
"""Returns a number of reports of a value."""


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
                bound = _event_bound(a, b, _FAILURE / (_LIMITS * len(pairs)))
                if bound > best:
                    best, witness = bound, pair
    return best, witness


def _suspects(values: Values, draw: Draw, samples: int) -> list[tuple[int, int]]:
    """Return the outermost pair of values, and those that a first look tells apart best."""
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
        found.extend((_float_grid(flat[0][:, c]), _float_grid(flat[1][:, c])) for c in columns)
    half = len(mine) // 2
    counts = [[np.bincount(c, minlength=256) for c in r[:half].T] for r in (mine, theirs)]
    distances = [np.abs(a - b).sum() for a, b in zip(*counts, strict=True)]
    top = np.argsort(-np.array(distances))[:2]
    both = np.concatenate([mine, theirs])
    for part in (both[:, top], both):
        rows = np.ascontiguousarray(part).view(np.dtype((np.void, part.shape[1]))).ravel()
        codes = np.unique(rows, return_inverse=True)[1].astype(np.int64)
        found.append((codes[: len(mine)], codes[len(mine) :]))
    return found


def _float_grid(numbers: np.typing.NDArray[np.float64]) -> Codes:
    """Return the magnitude of each float and how many of its last bits are zero."""
    bits = np.ascontiguousarray(numbers).view(np.uint64)
    lowest = bits & (~bits + np.uint64(1))
    zeros = np.where(lowest == 0, 64, np.log2(np.maximum(lowest, 1).astype(np.float64)))
    exponent = (bits >> np.uint64(52)).astype(np.int64)
    return exponent * 65 + zeros.astype(np.int64)


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


def exceptional_bound(probe: Probe, models: list[Model]) -> tuple[float, tuple[int, int]]:
    """Return a lower bound on epsilon from reports that the models do not predict."""
    rows = max(256, min(_FIRST_ROWS, _WORDS // (4 * len(models) * probe.count)))
    laws = [model.law() for model in models]
    found: list[tuple[int, int, bytes]] = []
    for k, model in enumerate(models):
        actual, predicted = _fresh_reports(probe, model, rows)
        missed = np.any(actual != predicted, axis=1)
        common = Counter(row.tobytes() for row in actual[missed]).most_common(2)
        found += [(times, k, report) for report, times in common]
    best, witness = 0.0, (models[0].value, models[-1].value)
    failure = _FAILURE / (_EVENTS * _EVENT_LIMITS)
    for _, k, report in sorted(found, reverse=True)[:_EVENTS]:
        other = min((i for i in range(len(models)) if i != k), key=lambda i: laws[i].chance(report))
        gained, lost, rows = _count_exceptions(probe, models[k], report)
        theirs, _, their_rows = _count_exceptions(probe, models[other], report)
        # Exact chances, corrected by the exceptions both ways.
        low = laws[k].chance(report) + clopper_pearson(gained, rows, failure)[0]
        low -= clopper_pearson(lost, rows, failure)[1]
        high = laws[other].chance(report) + clopper_pearson(theirs, their_rows, failure)[1]
        bound = math.log(low / high) if low > 0 else 0.0
        if bound > best:
            best, witness = bound, (models[k].value, models[other].value)
    return best, witness


def _count_exceptions(probe: Probe, model: Model, report: bytes) -> tuple[int, int, int]:
    """Count the exceptions that give the report, and those that should have given it."""
    wanted = np.frombuffer(report, dtype=np.uint8)
    rows = min(_ROWS, _WORDS // probe.count)
    part = max(1, min(rows, _PART_WORDS // probe.count))
    gained = lost = 0
    for _ in range(rows // part):
        actual, predicted = _fresh_reports(probe, model, part)
        is_it, ought = np.all(actual == wanted, axis=1), np.all(predicted == wanted, axis=1)
        gained += int((is_it & ~ought).sum())
        lost += int((ought & ~is_it).sum())
    return gained, lost, rows // part * part


def _fresh_reports(probe: Probe, model: Model, rows: int) -> tuple[Bytes, Bytes]:
    """Return reports of fresh words, and what the model predicts."""
    words = probe.random_words(rows, like=model.words)
    return probe.run_one(model.value, words), model.predict(words)
