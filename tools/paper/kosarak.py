"""The simulations on Kosarak; each figure shows another side of them.            [sec:eval].

A page is a true positive at a threshold when both its true and its estimated count are above it,
and a false positive when only the estimate is. T_s is the threshold for significance at
alpha = 0.05; RAPPOR has no exact variance, so its T_s rests on the one without collisions. What
is significant by ``Estimates.significant`` has to stand out from its collisions as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import numpy as np

from deniable.law import upper_normal
from tools.paper.clicks import Clicks
from tools.paper.experiment import Context, Part, Row
from tools.paper.trials import METHODS, collect, make_protocol, most_frequent, squared_error

EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
QUICK_EPSILONS = (1.0, 2.0, 4.0, 8.0)
ALPHA = 0.05
TOP = 30
THRESHOLDS = tuple(range(1_000, 20_001, 1_000))


def run_trials(context: Context, epsilons: Sequence[float] | None = None) -> list[Row]:
    """Return one row for each protocol, epsilon and run; figures that share trials share parts."""
    chosen = epsilons or (QUICK_EPSILONS if context.quick else EPSILONS)
    clicks = context.kosarak
    every = [
        (name, epsilon, run)
        for name in METHODS
        for epsilon in chosen
        for run in range(1, context.repetitions + 1)
    ]
    parts = [
        Part(
            f"kosarak {clicks.digest}, {name}, epsilon {epsilon:g}, run {run}",
            partial(_try, clicks, name, epsilon),
        )
        for name, epsilon, run in every
    ]
    return [
        {"protocol": name, "epsilon": epsilon, "data": clicks.label, **outcome}
        for (name, epsilon, _), outcome in zip(every, context.outcomes(parts), strict=True)
    ]


def _try(clicks: Clicks, name: str, epsilon: float, rng: np.random.Generator) -> Row:
    truth = clicks.counts
    estimates = collect(make_protocol(name, epsilon, clicks.domain_size), truth, rng)
    # The paper's T_s, which the exact threshold exceeds by a few people.       [sec:eval]
    limit = upper_normal(ALPHA / clicks.domain_size) * (estimates.null_std_error or 0.0)
    found = estimates.counts
    return {
        "top_error": squared_error(found, truth, most_frequent(truth, TOP)),
        "threshold": limit,
        "above": int(np.sum(truth > limit)),
        "true_positives": int(np.sum((found > limit) & (truth > limit))),
        "identified": int(np.sum(found > limit)),
        "significant": len(estimates.only_significant(ALPHA)),
        "true_at": [int(np.sum((found > t) & (truth > t))) for t in THRESHOLDS],
        "false_at": [int(np.sum((found > t) & (truth <= t))) for t in THRESHOLDS],
        "above_at": [int(np.sum(truth > t)) for t in THRESHOLDS],
    }


def by_setting(trials: Sequence[Row]) -> dict[tuple[str, float], list[Row]]:
    """Return the runs of each protocol and epsilon."""
    groups: dict[tuple[str, float], list[Row]] = {}
    for trial in trials:
        key = str(trial["protocol"]), cast("float", trial["epsilon"])
        groups.setdefault(key, []).append(trial)
    return groups


def titled(title: str, rows: Sequence[Row]) -> str:
    """Return a title that says which data the rows are about."""
    return f"{title}\n{rows[0]['data']}"


def at_thresholds(trials: Sequence[Row], key: str) -> list[list[int]]:
    """Return for each threshold the numbers of all runs."""
    return [list(numbers) for numbers in zip(*(cast("list[int]", t[key]) for t in trials))]  # noqa: B905 - all have one number for each threshold
