"""True and false positives on Kosarak as the threshold varies, which two figures show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from tools.paper.drawing import blank_figure, column, draw_curves, finish_axes, names_in
from tools.paper.experiment import Context, Row
from tools.paper.kosarak import THRESHOLDS, at_thresholds, by_setting, run_trials, titled
from tools.paper.trials import spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def threshold_rows(context: Context, epsilons: Sequence[float]) -> list[Row]:
    """Return the positives of each protocol at each threshold."""
    found: list[Row] = []
    for (name, epsilon), runs in by_setting(run_trials(context, epsilons)).items():
        columns = (at_thresholds(runs, f"{key}_at") for key in ("above", "true", "false"))
        for limit, above, true, false in zip(THRESHOLDS, *columns, strict=True):
            row: Row = {"epsilon": epsilon, "protocol": name, "runs": len(runs),
                        "threshold": limit, "above": above[0]}  # fmt: skip
            row["true_positives"], row["true_positives_std"] = spread(true)
            row["false_positives"], row["false_positives_std"] = spread(false)
            row["data"] = runs[0]["data"]
            found.append(row)
    return found


def threshold_figure(rows: Sequence[Row], title: str) -> Figure:
    """Draw for each epsilon the true positives, and the false ones on a logarithmic scale."""
    epsilons = list(dict.fromkeys(cast("float", row["epsilon"]) for row in rows))
    result = blank_figure(11.0, 0.6 + 4.1 * len(epsilons))
    for (true, false), epsilon in zip(
        result.subplots(len(epsilons), 2, squeeze=False), epsilons, strict=True
    ):
        own = [row for row in rows if row["epsilon"] == epsilon]
        one = [row for row in own if row["protocol"] == names_in(own)[0]]
        true.plot(column(one, "threshold"), column(one, "above"), color="#999999", lw=4, alpha=0.5,
                  label="pages above the threshold")  # fmt: skip
        for axes, key, least in ((true, "true_positives", 10), (false, "false_positives", 1)):
            draw_curves(axes, own, "threshold", key)
            axes.set_yscale("symlog", linthresh=least)
            axes.set_ylim(bottom=0)
            name = key.replace("_", " ")
            finish_axes(
                axes,
                "threshold (clicks)",
                f"number of {name}",
                title=f"{name}, epsilon = {epsilon:g}",
            )
    result.suptitle(titled(title, rows))
    return result


def positives(rows: Sequence[Row], epsilon: float, limit: int, key: str) -> dict[str, float]:
    """Return the average number of positives of each protocol at one threshold."""
    return {
        str(row["protocol"]): cast("float", row[key])
        for row in rows
        if row["epsilon"] == epsilon and row["threshold"] == limit
    }


def listed(numbers: dict[str, float]) -> str:
    """Return the numbers of all protocols as text."""
    return ", ".join(f"{name} {number:,.1f}" for name, number in numbers.items())
