"""Figure 3 [fig:varkosarak]: the squared error of the 30 most frequent pages of Kosarak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from tools.paper.drawing import blank_figure, draw_curves, finish_axes
from tools.paper.experiment import Claim, Context, Row
from tools.paper.kosarak import TOP, by_setting, run_trials, titled
from tools.paper.trials import METHODS, spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "fig3"
TITLE = f"Figure 3: average squared error of the {TOP} most frequent pages"
NOTES = ("RAPPOR's hash functions are drawn anew in each run, as OLH's are for each person",)


def rows(context: Context) -> list[Row]:
    """Return the error of each protocol at each epsilon."""
    found: list[Row] = []
    for (name, epsilon), runs in by_setting(run_trials(context)).items():
        mean, std = spread(run["top_error"] for run in runs)
        found.append({"protocol": name, "epsilon": epsilon, "runs": len(runs),
                      "error": mean, "error_std": std, "data": runs[0]["data"]})  # fmt: skip
    return found


def figure(rows: Sequence[Row]) -> Figure:
    """Draw the errors on a logarithmic scale."""
    result = blank_figure(7.4, 5.0)
    axes = result.subplots()
    draw_curves(axes, rows, "epsilon", "error")
    axes.set_yscale("log")
    finish_axes(axes, "epsilon", "average squared error (clicks squared)")
    result.suptitle(titled(TITLE, rows))
    return result


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Compare with what the paper reads off the figure."""
    error = {(str(r["protocol"]), cast("float", r["epsilon"])): cast("float", r["error"])
             for r in rows}  # fmt: skip
    epsilons = sorted({epsilon for _, epsilon in error})
    beyond = [epsilon for epsilon in epsilons if epsilon > 1]
    rivals = [name for name in METHODS if name != "OLH"]
    behind = min(
        error[name, epsilon] / error["OLH", epsilon] for name in rivals for epsilon in beyond
    )
    start, middle, end = beyond[0], min(beyond, key=lambda e: abs(e - 4)), beyond[-1]
    falls = {name: error[name, start] / error[name, end] for name in METHODS}
    early = {name: error[name, start] / error[name, middle] for name in METHODS}
    late = {name: error[name, middle] / error[name, end] for name in METHODS}
    rappor = [name for name in METHODS if name.startswith("RAP")]
    return [
        Claim("fig:varkosarak", "for epsilon > 1 OLH has the least error",
              f"for epsilon >= {start:g} every rival has at least {behind:.1f} times its error",
              behind > 1),
        Claim("fig:varkosarak", "the error of OLH decreases fastest of the four",
              f"from epsilon {start:g} to {end:g} divided by " + _listed(falls),
              all(falls["OLH"] > falls[name] for name in rivals)),
        Claim("fig:varkosarak", "RAPPOR does not benefit from larger epsilon, because of "
              "collisions in the Bloom filters",
              f"from epsilon {middle:g} to {end:g} divided by {_listed(late)}; from {start:g} to "
              f"{middle:g} by {_listed(early)}",
              all(late[name] < 2 and falls[name] < falls["OLH"] / 10 for name in rappor),
              "little: what less noise leaves beside the collisions"),
    ]  # fmt: skip


def _listed(ratios: dict[str, float]) -> str:
    return ", ".join(f"{ratio:.1f} ({name})" for name, ratio in ratios.items())
