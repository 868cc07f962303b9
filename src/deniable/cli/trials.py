"""How trials of protocols are shown: as a table, as JSON and as a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from deniable.cli.display import (
    fitting,
    new_table,
    open_console,
    print_estimates,
    print_table,
)
from deniable.optional import load
from deniable.simulation import Population, Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DRAWN = 5
_HEADS = ("protocol", "epsilon", "bytes", "MSE", "theory", "ratio", "error")
_SPARED = ("theory", "bytes")
"""Columns that a narrow terminal does without, in this order."""


def as_document(trial: Trial, top: int, seconds: float) -> dict[str, object]:
    """Return a trial as JSON; ``seconds`` is what one run took."""
    return {
        "protocol": trial.protocol.specification(),
        "report_bytes": trial.protocol.report_dtype.itemsize,
        "mse": trial.squared_error,
        "mse_of_runs": trial.squared_errors,
        "mse_std": trial.spread,
        "theoretical_mse": trial.theory,
        f"recall_at_{top}": trial.recall,
        "significant": trial.found,
        "significant_but_absent": trial.false,
        "seconds": seconds,
    }


def print_trials(population: Population, trials: Sequence[Trial], top: int) -> None:
    """Print what the trials measured beside theory, and the estimates of the best in theory."""
    console, n, top = open_console(), population.size, min(top, len(population.labels))
    runs = len(trials[0].squared_errors)
    times = "one run" if runs == 1 else f"{runs} runs"
    console.print(f"{n:,} people, {len(population.labels):,} answers, {times}\n", style="bold")
    heads = (*_HEADS, f"top {top}", "found")
    columns = list(zip(heads, *map(_cells(n), trials), strict=True))
    columns, left_out = fitting(columns, _SPARED, console.width)
    table = new_table(*(column[0] for column in columns))
    for cells in list(zip(*columns, strict=True))[1:]:
        table.add_row(*cells)
    print_table(console, table)
    if left_out:
        console.print(f"Not shown at this width: {', '.join(left_out)}.")
    after = "" if runs == 1 else " (± its standard deviation from run to run)"
    console.print(
        "MSE: mean squared error of the counts; theory: what the exact variance predicts; ratio: "
        f"MSE to theory{after}; error: the root of the MSE as a share of all people; top {top}: "
        f"how many of the {top} most frequent answers are estimated among the most frequent; "
        "found: how many are significant.\n"
    )
    best = min(trials, key=lambda trial: trial.expected)
    rows = np.argsort(-population.truth, kind="stable")[:top]
    labelled = replace(best.estimates, labels=population.labels)
    last = "" if runs == 1 else ", in the last run"
    console.print(f"The best in theory, {best.protocol.name} at epsilon = "
                  f"{best.protocol.epsilon:g}{last}:", style="bold")  # fmt: skip
    print_estimates(console, labelled.take(rows), truth=population.truth[rows])


def _cells(n: int) -> Callable[[Trial], tuple[str, ...]]:
    """Return what writes a trial among ``n`` people as the cells of a row."""

    def write(trial: Trial) -> tuple[str, ...]:
        theory, ratio = "-", "-"
        if trial.theory is not None:
            spread = "" if trial.spread is None else f" ± {trial.spread / trial.theory:.2f}"
            theory, ratio = (
                f"{trial.theory:.3g}",
                f"{trial.squared_error / trial.theory:.2f}{spread}",
            )
        return (
            trial.protocol.name,
            f"{trial.protocol.epsilon:.4g}",
            f"{trial.protocol.report_dtype.itemsize:,}",
            f"{trial.squared_error:.3g}",
            theory,
            ratio,
            f"{100 * trial.squared_error**0.5 / n:.3g} %",
            f"{100 * trial.recall:.0f} %",
            "-" if trial.found is None else f"{trial.found:,}",
        )

    return write


def draw(population: Population, trials: Sequence[Trial], top: int) -> Figure:
    """Return a figure: the error of each protocol against theory, and the top answers."""
    height = max(4.5, 1.5 + 0.3 * len(trials))
    made = load("matplotlib.figure", "plot").Figure
    figure: Figure = made(figsize=(11, height), layout="constrained")
    errors, answers = figure.subplots(1, 2)
    n, truth = population.size, population.truth
    places = np.arange(len(trials))
    expected = [100 * trial.expected**0.5 / n for trial in trials]
    for place, trial in zip(places, trials, strict=True):
        runs = [100 * error**0.5 / n for error in trial.squared_errors]
        errors.plot(runs, [place] * len(runs), "o", ms=4, alpha=0.5, color="#2f6db3",
                    label="measured, each run" if place == 0 else None)  # fmt: skip
    errors.plot(
        expected, places, "|", ms=16, mew=2, color="#cc6600", label="theory: exact variance"
    )
    errors.set_yticks(places, [_name(trial) for trial in trials])
    errors.invert_yaxis()
    if max(expected) > 20 * min(expected):
        errors.set_xscale("log")
    else:
        errors.set_xlim(left=0)
    errors.grid(axis="y", lw=0.4)
    errors.set_xlabel("root mean squared error of a share (% of all people)")
    errors.set_title(f"{n:,} people, {len(truth):,} answers", fontsize="medium")
    rows = np.argsort(-truth, kind="stable")[: max(top, 2)]
    answers.plot([0, truth[rows].max()], [0, truth[rows].max()], color="#666666", lw=0.8,
                 label="the truth")  # fmt: skip
    best = sorted(trials, key=lambda trial: trial.expected)[:_DRAWN]
    for trial, marker in zip(best, "os^Dv", strict=False):
        answers.plot(truth[rows], trial.estimates.counts[rows], marker, ms=5, alpha=0.7,
                     label=_name(trial))  # fmt: skip
    answers.set_xlabel("true count (people)")
    answers.set_ylabel("estimated count (people)")
    of = f", the {len(best)} protocols best in theory" if len(best) < len(trials) else ""
    answers.set_title(f"the {len(rows)} most frequent answers{of}", fontsize="medium")
    for axes in (errors, answers):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(
            frameon=False,
            fontsize="small",
            ncols=2,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.13),
        )
    return figure


def _name(trial: Trial) -> str:
    setting = getattr(trial.protocol, "g", None)
    shown = f" (g = {setting})" if setting is not None else ""
    return f"{trial.protocol.name}{shown}, ε = {trial.protocol.epsilon:g}"
