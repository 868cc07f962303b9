"""A lower bound on epsilon where a simple map explains most reports, but not all of them.

The law of the map is known exactly; only what departs from it has to be sampled. A departure of one
report in a thousand is lost in the noise of plain samples and stands out among the exceptions.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from deniable.auditing.bounds import FAILURE
from deniable.auditing.model import Model
from deniable.auditing.probe import Bytes, Probe
from deniable.binomial import clopper_pearson

_FIRST_ROWS = 1 << 14
_ROWS = 1 << 22
_WORDS = 1 << 26
_PART_WORDS = 1 << 22
_EVENTS = 2
_LIMITS = 6


def exceptional_bound(probe: Probe, models: list[Model]) -> tuple[float, tuple[int, int]]:
    """Return a lower bound on epsilon from reports that the models do not predict."""
    rows = max(256, min(_FIRST_ROWS, _WORDS // (4 * len(models) * probe.count)))
    laws = [model.law() for model in models]
    found: list[tuple[int, int, bytes]] = []
    for k, model in enumerate(models):
        actual, predicted = _fresh(probe, model, rows)
        missed = np.any(actual != predicted, axis=1)
        common = Counter(row.tobytes() for row in actual[missed]).most_common(2)
        found += [(times, k, report) for report, times in common]
    best, witness = 0.0, (models[0].value, models[-1].value)
    for _, k, report in sorted(found, reverse=True)[:_EVENTS]:
        other = min((i for i in range(len(models)) if i != k), key=lambda i: laws[i].chance(report))
        counted = [_count(probe, models[i], report) for i in (k, other)]
        bound = _bound(counted, [laws[i].chance(report) for i in (k, other)])
        if bound > best:
            best, witness = bound, (models[k].value, models[other].value)
    return best, witness


def _bound(counted: list[tuple[int, int, int]], chances: list[float]) -> float:
    """Return a bound on the log ratio: exact chances, corrected by the exceptions either way."""
    (gained, lost, rows), (theirs, _, their_rows) = counted
    failure = FAILURE / (_EVENTS * _LIMITS)
    low = chances[0] + clopper_pearson(gained, rows, failure)[0]
    low -= clopper_pearson(lost, rows, failure)[1]
    high = chances[1] + clopper_pearson(theirs, their_rows, failure)[1]
    return math.log(low / high) if low > 0 else 0.0


def _count(probe: Probe, model: Model, report: bytes) -> tuple[int, int, int]:
    """Count the exceptions that give the report, and those that ought to have given it."""
    wanted = np.frombuffer(report, dtype=np.uint8)
    rows = min(_ROWS, _WORDS // probe.count)
    part = max(1, min(rows, _PART_WORDS // probe.count))
    gained = lost = 0
    for _ in range(rows // part):
        actual, predicted = _fresh(probe, model, part)
        is_it, ought = np.all(actual == wanted, axis=1), np.all(predicted == wanted, axis=1)
        gained += int((is_it & ~ought).sum())
        lost += int((ought & ~is_it).sum())
    return gained, lost, rows // part * part


def _fresh(probe: Probe, model: Model, rows: int) -> tuple[Bytes, Bytes]:
    words = probe.random_words(rows)
    shown = list(probe.public)
    words[:, shown] = model.words[shown]
    return probe.run_one(model.value, words), model.predict(words)
