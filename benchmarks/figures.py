"""The measurements as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from benchmarks.timing import Result
from deniable.presentation.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (LIGHT.accent, LIGHT.down, LIGHT.up)
_AXES = {
    "domain": ("domain_size", "values in the domain, d"),
    "reports": ("reports", "reports, n"),
}


def draw_scaling(result: Result, folder: Path) -> None:
    """Draw decoding time along d and along n."""
    for name, (variable, label) in _AXES.items():
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = figure.subplots()
        rows = result[name]
        for epsilon, colour in zip(
            sorted({row["epsilon"] for row in rows}), _COLOURS, strict=False
        ):
            points = [row for row in rows if row["epsilon"] == epsilon]
            exponent = result["exponents"][name][f"{epsilon:g}"]
            axes.plot(
                [row[variable] for row in points],
                [1000 * row["seconds"] for row in points],
                marker="o",
                markersize=4,
                color=colour,
                label=f"ε = {epsilon:g}, exponent {exponent:.2f}",
            )
        fixed = result["sizes"]["fixed_reports" if name == "domain" else "fixed_domain"]
        axes.set_title(
            f"OLH: from a tally to all estimates, {'n' if name == 'domain' else 'd'} = {fixed:,}",
            loc="left",
            fontsize=11,
        )
        _finish(axes, label, "milliseconds")
        figure.savefig(folder / f"bench-{name}.png", dpi=150)


def draw_stages(result: Result, folder: Path) -> None:
    """Draw where the time of a billion reports goes."""
    streams = result["streams"]
    figure = Figure(figsize=(6.4, 0.9 + 0.6 * len(streams)), layout="constrained")
    axes = figure.subplots()
    stages = ("simulate", "privatize", "tally", "decode")
    colours = dict(zip(stages, (LIGHT.weak, *_COLOURS), strict=True))
    for position, stream in enumerate(reversed(streams)):
        left = 0.0
        for stage, seconds in stream["seconds"].items():
            axes.barh(
                position,
                seconds,
                left=left,
                color=colours[stage],
                label=stage if position == 0 else None,
            )
            left += seconds
    axes.set_yticks(range(len(streams)), [_name(stream) for stream in reversed(streams)])
    axes.set_xlabel("seconds")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=5, frameon=False, fontsize=9)
    figure.savefig(folder / "bench-billion.png", dpi=150)


def _name(stream: Result) -> str:
    randomness = "seeded" if stream["seeded"] else "OS randomness"
    return f"n = {stream['reports']:,}\nd = {stream['domain_size']:,}\n{randomness}"


def _finish(axes: Axes, x: str, y: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high < 100 * low:  # a flat line should look flat
        middle = (low * high) ** 0.5
        axes.set_ylim(middle / 10, middle * 10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
