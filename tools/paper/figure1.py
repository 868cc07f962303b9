"""Figure 1 [fig:cmp_e]: the analytical variance over epsilon, in two panels.

The first [fig:e_d] sets direct encoding over several domains against OUE and OLH, whose variance
does not depend on the domain; the second [fig:all_e_l_large] has all protocols at d = 2^10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from deniable.protocol import Protocol
from deniable.protocols.direct import DE
from tools.paper.drawing import blank_figure
from tools.paper.experiment import Claim, Context, Row, variance
from tools.paper.table2 import COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "fig1"
TITLE = "Figure 1: numerical values of the analytical variance"
NOTES = (
    "the text of the paper does not say for which domains its first panel draws DE; these are ours",
    "OLH is drawn with the whole g that it uses, so it lies up to 2 % above OUE",
)

_DIRECT_SIZES = (2, 4, 16, 128, 2048)
_MARKS = "os^vD*xP"


def _direct(domain_size: int) -> Callable[[float], Protocol]:
    return lambda epsilon: DE(epsilon, domain_size)


PANELS: dict[str, dict[str, Callable[[float], Protocol]]] = {
    "vary epsilon": {f"DE (d = {d})": _direct(d) for d in _DIRECT_SIZES}
    | {name: COLUMNS[name] for name in ("OUE", "OLH")},
    "vary epsilon, d = 2^10": {
        name.replace("DE (d = 2^10)", "DE"): make
        for name, make in COLUMNS.items()
        if name not in ("DE (d = 2)", "DE (d = 32)")
    },
}


def rows(context: Context) -> list[Row]:
    """Return Var*/n of each curve at each epsilon, in one long table.       [eq:absvar]."""
    step = 0.5 if context.quick else 0.25
    epsilons = [0.5 + step * i for i in range(round(4.5 / step) + 1)]
    return [
        {"panel": panel, "protocol": name, "epsilon": epsilon, "variance": _value(make, epsilon)}
        for panel, curves in PANELS.items()
        for name, make in curves.items()
        for epsilon in epsilons
    ]


def _value(make: Callable[[float], Protocol], epsilon: float) -> float:
    return variance(make(epsilon))


def figure(rows: Sequence[Row]) -> Figure:
    """Draw both panels on logarithmic scales."""
    result = blank_figure(11.0, 4.6)
    for axes, panel in zip(result.subplots(1, 2), PANELS, strict=True):
        _draw_panel(axes, [row for row in rows if row["panel"] == panel])
        axes.set_title(panel)
    result.suptitle(TITLE)
    return result


def _draw_panel(axes: Axes, rows: Sequence[Row]) -> None:
    names = list(dict.fromkeys(str(row["protocol"]) for row in rows))
    for mark, name in zip(_MARKS, names, strict=False):
        points = [
            (cast("float", row["epsilon"]), cast("float", row["variance"]))
            for row in rows
            if row["protocol"] == name
        ]
        # The two coincide, so the one drawn last is dashed and the other shows through.
        style = "--" if name == "OLH" else "-"
        axes.plot(*zip(*points, strict=True), style, marker=mark, ms=4, lw=1.2, label=name)
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("Var* / n (people squared, per person)")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(fontsize="small", frameon=False)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Compare with what the paper reads off the figure."""
    at = {
        (str(r["panel"]), str(r["protocol"]), cast("float", r["epsilon"])):
            cast("float", r["variance"]) for r in rows
    }  # fmt: skip
    domains, all_ = PANELS
    epsilons = sorted({epsilon for *_, epsilon in at})
    quarter = [
        at[domains, "OUE", epsilon] / at[domains, "DE (d = 2)", epsilon] for epsilon in epsilons
    ]
    better = [e for e in epsilons if at[all_, "SHE", e] < at[all_, "BLH", e]]
    falls = {
        str(name): at[all_, name, epsilons[0]] / at[all_, name, epsilons[-1]]
        for name in PANELS[all_]
    }
    least, most = min(falls, key=falls.__getitem__), max(falls, key=falls.__getitem__)
    return [
        Claim("fig:e_d", "at d = 2 the variance of DE is exactly 1/4 of that of OUE and OLH",
              f"OUE / DE is {min(quarter):.4f} to {max(quarter):.4f}",
              all(abs(ratio - 4) < 1e-6 for ratio in quarter)),
        Claim("fig:all_e_l_large", "for epsilon > 2.5 SHE performs better than BLH",
              f"from epsilon = {better[0]:g} on", 2.0 < better[0] <= 3.0),
        Claim("fig:all_e_l_large", "BLH is least and DE most sensitive to epsilon",
              f"least {least}, most {most}", (least, most) == ("BLH", "DE")),
    ]  # fmt: skip
