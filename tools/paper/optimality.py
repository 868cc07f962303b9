"""How far from optimal: the paper's best choice and ours over epsilon and the domain size.

The optimum is subset selection with the best size of the sets, below whose variance no pure
protocol on d values comes. The guideline of [sec:compare] takes DE or OUE/OLH; the better of them
is set beside what ``recommend`` takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from deniable.advice import recommend
from deniable.optional import load
from deniable.protocols.affine import selection_variance
from deniable.protocols.subset import best_size
from tools.paper.drawing import blank_figure
from tools.paper.experiment import Claim, Context, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "optimality"
TITLE = "Excess variance over the optimum, before and after"
NOTES = (
    "not in the paper: its best choice is set beside the optimum that was found after it",
    "before: the better of DE, OUE and OLH; after: the best of `deniable recommend`",
    "variances are means over all values, the exact variance at the share 1/d",
)

THE_PAPERS = ("DE", "OUE", "OLH")
_OTHERS = ("SHE", "THE", "SUE", "BLH")
_COLOURS = {
    "DE": "#7d4fa0",
    "SubsetSelection": "#e08a1e",
    "AffineSelection": "#2e8b57",
    "OLH": "#1f6fb4",
    "BLH": "#c0392b",
    "OUE": "#8a6d3b",
}
_LEAST_SHOWN, _MOST_SHOWN = 0.001, 0.5


def least_variance(epsilon: float, domain_size: int) -> float:
    """Return the least mean variance of a pure protocol, for one person.

    >>> round(least_variance(1.0, 12), 4)
    3.0256
    """
    size, d = best_size(epsilon, domain_size), float(domain_size)
    return float(selection_variance(epsilon, size / d, d, 1 / d))


def rows(context: Context) -> list[Row]:
    """Return the excess variances at each epsilon and domain size."""
    count = 8 if context.quick else 40
    epsilons = np.linspace(0.1, 6.0, count).round(3)
    sizes = np.geomspace(2, 1_000_000, count + count // 5).round().astype(int)
    found = []
    for position, epsilon in enumerate(epsilons.tolist()):
        context.progress(position / count, f"epsilon = {epsilon:g}")
        found += [_compare(epsilon, d) for d in sorted({*sizes.tolist()})]
    context.progress(1.0, "")
    return found


def _compare(epsilon: float, d: int) -> Row:
    advice, least = recommend(epsilon, d), least_variance(epsilon, d)
    variances = {option.name: option.mean_variance for option in advice.options}
    before = min(THE_PAPERS, key=lambda name: variances.get(name, np.inf))
    others = [variances[name] for name in _OTHERS if name in variances]
    return {
        "epsilon": epsilon,
        "domain_size": d,
        "optimum": least,
        "before": before,
        "excess_before": variances[before] / least - 1,
        "after": advice.best.name,
        "excess_after": advice.best.mean_variance / least - 1,
        "report_bytes": advice.best.report_bytes,
        "others": min(others) / variances[before],
    }


def figure(rows: Sequence[Row]) -> Figure:
    """Draw the excess before and after, in the same colours, and what is taken where."""
    result = blank_figure(15.0, 4.8)
    before, after, choice = result.subplots(1, 3, sharey=True)
    colours = load("matplotlib.colors", "plot")
    norm = colours.LogNorm(_LEAST_SHOWN, _MOST_SHOWN)
    for axes, column, title in (
        (before, "excess_before", "before: the better of DE, OUE and OLH"),
        (after, "excess_after", "after: what is recommended"),
    ):
        shown = np.maximum(_grid(rows, column), _LEAST_SHOWN)
        mesh = axes.pcolormesh(*_axes(rows), shown, norm=norm, cmap="YlOrRd", shading="nearest")
        _finish(axes, f"{title}\nworst {100 * _worst(rows, column):.2g} %")
    bar = result.colorbar(mesh, ax=[before, after], ticks=[0.001, 0.003, 0.01, 0.03, 0.1, 0.3])
    bar.ax.set_yticklabels(["0.1 % or less", "0.3 %", "1 %", "3 %", "10 %", "30 %"])
    _draw_choice(choice, rows)
    result.suptitle(TITLE)
    return result


def _draw_choice(axes: Axes, rows: Sequence[Row]) -> None:
    names = [name for name in _COLOURS if any(row["after"] == name for row in rows)]
    colours = load("matplotlib.colors", "plot").ListedColormap([_COLOURS[n] for n in names])
    order = {name: i for i, name in enumerate(names)}
    numbered = [{**row, "choice": order[str(row["after"])]} for row in rows]
    axes.pcolormesh(*_axes(rows), _grid(numbered, "choice"), cmap=colours, shading="nearest",
                    vmin=-0.5, vmax=len(names) - 0.5)  # fmt: skip
    patch = load("matplotlib.patches", "plot").Patch
    handles = [patch(color=_COLOURS[name], label=name) for name in names]
    axes.legend(handles=handles, fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1.0),
                frameon=False)  # fmt: skip
    _finish(axes, "what is recommended where\n")


def _axes(rows: Sequence[Row]) -> tuple[list[float], list[float]]:
    epsilons = sorted({cast("float", row["epsilon"]) for row in rows})
    return epsilons, sorted({cast("float", row["domain_size"]) for row in rows})


def _grid(rows: Sequence[Row], column: str) -> npt.NDArray[np.float64]:
    epsilons, sizes = _axes(rows)
    at = {(row["epsilon"], row["domain_size"]): cast("float", row[column]) for row in rows}
    return np.array([[at[epsilon, d] for epsilon in epsilons] for d in sizes])


def _finish(axes: Axes, title: str) -> None:
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("domain size d")
    axes.set_title(title, fontsize="medium")


def _worst(rows: Sequence[Row], column: str) -> float:
    return max(cast("float", row[column]) for row in rows)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Set the guideline of the paper beside what can be reached."""
    worst = max(rows, key=lambda row: cast("float", row["excess_before"]))
    most = 100 * cast("float", worst["excess_before"])
    above = np.mean([cast("float", row["excess_before"]) > 0.01 for row in rows])
    better = min(cast("float", row["others"]) for row in rows)
    return [
        Claim("sec:compare", "of the protocols that the paper compares, DE or OUE/OLH is the best",
              f"no other has less than {100 * better:.1f} % of their variance; against the optimum "
              f"they have up to {most:.0f} % more (epsilon = {worst['epsilon']:g}, "
              f"d = {worst['domain_size']}), more than 1 % at "
              f"{100 * above:.0f} % of the points, and what is recommended now at most "
              f"{100 * _worst(rows, 'excess_after'):.2f} %", better > 0.98),
    ]  # fmt: skip
