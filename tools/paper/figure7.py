"""Figure 7 [fig:rappor]: how the number of RAPPOR's cohorts changes its squared error."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from tools.paper.clicks import zipf_shares
from tools.paper.drawing import blank_figure, draw_curves, finish_axes
from tools.paper.experiment import Claim, Context, Part, Row
from tools.paper.trials import (
    collect,
    make_protocol,
    most_frequent,
    rappor_name,
    spread,
    squared_error,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.figure import Figure

NAME = "fig7"
TITLE = "Figure 7: average squared error by the number of cohorts, top 10 values"
NOTES = (
    "the text has 10,000,000 values of Zipf's law (1.5), the caption a normal law of 1,000,000 "
    "points; this follows the text, with the law cut to its 128 most frequent values",
)

PEOPLE, DOMAIN_SIZE, TOP = 10_000_000, 128, 10
COHORTS = (8, 16, 32, 64, 128)
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
QUICK_EPSILONS = (1.0, 4.0)
NAMES = ("OLH", *(rappor_name(cohorts) for cohorts in COHORTS))


def rows(context: Context) -> list[Row]:
    """Return the error of OLH and of RAPPOR with each number of cohorts, at each epsilon."""
    n = context.people(PEOPLE)
    truth = context.rng("zipf 1.5 of 128").multinomial(n, zipf_shares(DOMAIN_SIZE, 1.5))
    epsilons = QUICK_EPSILONS if context.quick else EPSILONS
    settings = [(name, epsilon) for name in NAMES for epsilon in epsilons]
    found = context.outcomes(
        Part(
            f"zipf 1.5 of 128 of {n}, {name}, epsilon {epsilon:g}, run {run + 1}",
            partial(_try, truth, name, epsilon),
        )
        for name, epsilon in settings
        for run in range(context.repetitions)
    )
    table: list[Row] = []
    for position, (name, epsilon) in enumerate(settings):
        runs = found[position * context.repetitions : (position + 1) * context.repetitions]
        mean, std = spread(run["error"] for run in runs)
        table.append({"protocol": name, "epsilon": epsilon, "runs": len(runs),
                      "error": mean, "error_std": std})  # fmt: skip
    return table


def _try(truth: npt.NDArray[np.int64], name: str, epsilon: float, rng: np.random.Generator) -> Row:
    found = collect(make_protocol(name, epsilon, len(truth)), truth, rng).counts
    return {"error": squared_error(found, truth, most_frequent(truth, TOP))}


def figure(rows: Sequence[Row]) -> Figure:
    """Draw one curve for each number of cohorts."""
    result = blank_figure(7.4, 5.0)
    axes = result.subplots()
    draw_curves(axes, rows, "epsilon", "error")
    axes.set_yscale("log")
    finish_axes(axes, "epsilon", "average squared error (people squared)")
    result.suptitle(TITLE)
    return result


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Compare with what the paper reads off the figure."""
    error = {(str(r["protocol"]), cast("float", r["epsilon"])): cast("float", r["error"])
             for r in rows}  # fmt: skip
    last = max(epsilon for _, epsilon in error)
    at = {name: error[name, last] for name in NAMES}
    rappor = {name: at[name] for name in NAMES if name != "OLH"}
    ratios = ", ".join(f"{name} {value / at['OLH']:.1f}" for name, value in rappor.items())
    epsilons = sorted({epsilon for _, epsilon in error})
    wins = [e for e in epsilons if error["OLH", e] == min(error[name, e] for name in NAMES)]
    return [
        Claim("fig:rappor", "more cohorts do not necessarily lower the squared error",
              f"error over OLH's at epsilon = {last:g}: {ratios}",
              min(rappor, key=lambda name: rappor[name]) != rappor_name(COHORTS[-1])
              or rappor[rappor_name(128)] > 0.8 * rappor[rappor_name(64)]),
        Claim("fig:rappor", "OLH still performs best",
              f"best at epsilon = {', '.join(f'{e:g}' for e in wins) or 'none'}",
              len(wins) >= len(epsilons) - 1),
    ]  # fmt: skip
