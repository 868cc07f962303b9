"""Figure 6 [fig:syn]: the squared error on synthetic populations of 10,000,000 people.

One follows Zipf's law with exponent 1.5, the other a normal law of mean 500 and standard deviation
10, rounded; the values run from 0 to 1000.                                     [sec:addi_eval]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from tools.paper.clicks import zipf_shares
from tools.paper.drawing import blank_figure, draw_curves, finish_axes
from tools.paper.experiment import Claim, Context, Part, Row
from tools.paper.trials import (
    METHODS,
    collect,
    make_protocol,
    most_frequent,
    spread,
    squared_error,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "fig6"
TITLE = "Figure 6: average squared error on synthetic populations"
NOTES = ("all 1,001 values are candidates, those that nobody holds included",)

PEOPLE, DOMAIN_SIZE = 10_000_000, 1_001
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
QUICK_EPSILONS = (1.0, 4.0)
TOPS = (100, 50, 10)
PANELS = (("Zipf", 100), ("normal", 100), ("Zipf", 50), ("Zipf", 10))


def populations(context: Context) -> dict[str, npt.NDArray[np.int64]]:
    """Return how many people hold each value, in either population."""
    n = context.people(PEOPLE)
    normal = context.rng("normal(500, 10)").normal(500.0, 10.0, n)
    values = np.clip(np.rint(normal), 0, DOMAIN_SIZE - 1).astype(np.int64)
    zipf = context.rng("zipf 1.5").multinomial(n, zipf_shares(DOMAIN_SIZE, 1.5))
    return {"Zipf": zipf, "normal": np.bincount(values, minlength=DOMAIN_SIZE)}


def rows(context: Context) -> list[Row]:
    """Return the error of each protocol at each epsilon, on the top 100, 50 and 10 values."""
    held, n = populations(context), context.people(PEOPLE)
    epsilons = QUICK_EPSILONS if context.quick else EPSILONS
    settings = [(law, name, epsilon) for law in held for name in METHODS for epsilon in epsilons]
    found = context.outcomes(
        Part(
            f"{law} of {n}, {name}, epsilon {epsilon:g}, run {run + 1}",
            partial(_try, held[law], name, epsilon),
        )
        for law, name, epsilon in settings
        for run in range(context.repetitions)
    )
    table: list[Row] = []
    for position, (law, name, epsilon) in enumerate(settings):
        runs = found[position * context.repetitions : (position + 1) * context.repetitions]
        for top in TOPS:
            mean, std = spread(run[str(top)] for run in runs)
            table.append({"population": law, "top": top, "protocol": name, "epsilon": epsilon,
                          "runs": len(runs), "error": mean, "error_std": std})  # fmt: skip
    return table


def _try(truth: npt.NDArray[np.int64], name: str, epsilon: float, rng: np.random.Generator) -> Row:
    found = collect(make_protocol(name, epsilon, len(truth)), truth, rng).counts
    return {str(top): squared_error(found, truth, most_frequent(truth, top)) for top in TOPS}


def figure(rows: Sequence[Row]) -> Figure:
    """Draw the paper's four panels on logarithmic scales."""
    result = blank_figure(11.0, 8.4)
    for axes, (law, top) in zip(result.subplots(2, 2).flat, PANELS, strict=True):
        own = [row for row in rows if (row["population"], row["top"]) == (law, top)]
        draw_curves(axes, own, "epsilon", "error")
        axes.set_yscale("log")
        finish_axes(axes, "epsilon", "average squared error (people squared)",
                    title=f"{law}, top {top} values")  # fmt: skip
    result.suptitle(TITLE)
    return result


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Compare with what the paper reads off the figure."""
    keys = ("population", "top", "protocol", "epsilon")
    error = {tuple(row[key] for key in keys): cast("float", row["error"]) for row in rows}
    spreads = {tuple(row[key] for key in keys): cast("float", row["error_std"]) for row in rows}
    epsilons = sorted({cast("float", row["epsilon"]) for row in rows})
    lead = [
        (error[law, top, "OLH", epsilon] - min(error[law, top, name, epsilon] for name in METHODS))
        / max(spreads[law, top, "OLH", epsilon], 1e-300)
        for law, top in PANELS for epsilon in epsilons
    ]  # fmt: skip
    best, level = sum(x == 0 for x in lead), sum(0 < x <= 1 for x in lead)
    beyond = [epsilon for epsilon in epsilons if epsilon > 1]
    ratios = {
        (law, top): [error[law, top, "RAP(16)", e] / error[law, top, "BLH", e] for e in beyond]
        for law, top in PANELS
    }
    last = epsilons[-1]
    laws = {
        name: error["normal", 100, name, last] / error["Zipf", 100, name, last] for name in METHODS
    }
    at = f"RAP(16) / BLH at epsilon = {', '.join(f'{e:g}' for e in beyond)}: "
    return [
        Claim("fig:syn", "OLH performs best among all distributions",
              f"best in {best} of {len(lead)} points, and within one standard deviation of the "
              f"best in {level} others", best + level == len(lead)),
        Claim("fig:syn", "methods perform similarly in different distributions",
              f"normal / Zipf at epsilon = {last:g}: " + ", ".join(
                  f"{name} {ratio:.2f}" for name, ratio in laws.items()),
              all(0.5 <= ratio <= 2 for ratio in laws.values()),
              "under Zipf's law one value is held by 38 % of all, which disturbs those that share "
              "bits with it in RAPPOR's filters"),
        Claim("fig:syn", "RAPPOR with 16 cohorts performs better than BLH (top 100)",
              at + f"{_listed(ratios['Zipf', 100])} (Zipf), "
              f"{_listed(ratios['normal', 100])} (normal)",
              all(ratios[law, 100][-1] < 1 for law in ("Zipf", "normal")),
              "for large epsilon; at small ones the noise of two bits that share epsilon is more"),
        Claim("fig:syn", "on the top 10 values RAP(16) and BLH perform similarly",
              at + _listed(ratios["Zipf", 10]), 0.5 <= median(ratios["Zipf", 10]) <= 2,
              "BLH hardly gains from epsilon, so that the ratio falls"),
    ]  # fmt: skip


def _listed(ratios: Sequence[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)
