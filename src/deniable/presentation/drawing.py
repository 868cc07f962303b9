"""Estimates as a matplotlib figure: bars for few answers, a curve over ranks for many.

Figures are made as objects, without pyplot: no display, no global state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter
from deniable.extras import load
from deniable.presentation.data import keys
from deniable.presentation.text import headline, one_line, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from deniable.estimates import Estimates

MOST_BARS = 60
_LABEL_WIDTH = 32
_FONTS = ("DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Hiragino Sans", "Microsoft YaHei")
_BLUE, _ORANGE, _GREY = "#2f6db3", "#cc6600", "#9db4cf"


def figure(
    estimates: Estimates,
    top: int | None,
    *,
    truth: npt.ArrayLike | None,
    level: float,
    alpha: float,
) -> Figure:
    """Draw the largest counts with their intervals and the threshold of significance."""
    true = None if truth is None else np.asarray(truth, dtype=np.float64)
    if true is not None and true.shape != estimates.counts.shape:
        raise InvalidParameter(
            f"expected {len(estimates)} true counts, one for each answer, got {true.shape}; "
            "count the answers with numpy.bincount(values, minlength=domain_size)",
            value=true.shape,
        )
    order = np.argsort(-estimates.counts, kind="stable")[:top]
    shown = estimates.take(order)
    figures = load("matplotlib.figure", "plot")
    height = 2.3 + 0.26 * len(shown) if len(shown) <= MOST_BARS else 5.4
    result: Figure = figures.Figure(figsize=(8.0, max(height, 3.0)), layout="constrained")
    axes = result.add_subplot()
    draw = _draw_bars if len(shown) <= MOST_BARS else _draw_ranks
    draw(axes, shown, None if true is None else true[order], level, alpha)
    axes.set_title(headline(shown), fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    if len(shown) or true is not None:
        result.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    return result


def _draw_bars(
    axes: Axes, shown: Estimates, true: npt.NDArray[np.float64] | None, level: float, alpha: float
) -> None:
    rows = np.arange(len(shown))
    lower, upper = shown.interval(level)
    middle = (lower + upper) / 2
    name = "unbiased count" if shown.adjusted is None else f"count adjusted by {shown.adjusted}"
    significant = shown.significant(alpha)
    for some, colour, what in ((significant, _BLUE, ""), (~significant, _GREY, "not ")):
        if some.any():
            label = f"{name}, {what}significant"
            axes.barh(rows[some], shown.counts[some], color=colour, label=label)
    axes.errorbar(
        middle,
        rows,
        xerr=(upper - lower) / 2,
        fmt="none",
        ecolor="#222222",
        elinewidth=1,
        capsize=2.5,
        label=_interval_name(shown, level),
    )
    if true is not None:
        axes.plot(true, rows, "D", ms=5, mfc="none", mec=_ORANGE, label="true count")
    axes.axvline(
        shown.least_significant(alpha), color=_ORANGE, ls="--", lw=1, label=_threshold_name(alpha)
    )
    axes.axvline(0, color="#666666", lw=0.8)
    names, fonts = _drawable([str(key) for key in keys(shown)])
    axes.set_yticks(rows, names, parse_math=False, fontfamily=fonts)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_ylabel("answer")
    axes.set_xlabel(f"people who gave the answer (of {shown.n:,})")
    axes.xaxis.set_major_formatter(_thousands)
    percents = 100 / shown.n
    share = axes.secondary_xaxis(
        "top", functions=(lambda x: np.multiply(x, percents), lambda x: np.divide(x, percents))
    )
    share.set_xlabel("share of all people (%)", fontsize="small")
    share.tick_params(labelsize="small")


def _draw_ranks(
    axes: Axes, shown: Estimates, true: npt.NDArray[np.float64] | None, level: float, alpha: float
) -> None:
    ranks = np.arange(1, len(shown) + 1)
    lower, upper = shown.interval(level)
    name = "unbiased count" if shown.adjusted is None else f"count adjusted by {shown.adjusted}"
    axes.fill_between(
        ranks,
        lower,
        upper,
        color=_GREY,
        alpha=0.5,
        lw=0,
        rasterized=True,
        label=_interval_name(shown, level),
    )
    if true is not None:
        axes.plot(
            ranks, true, ".", ms=2, color=_ORANGE, alpha=0.6, rasterized=True, label="true count"
        )
    axes.plot(ranks, shown.counts, color=_BLUE, lw=1.5, label=name)
    threshold = shown.least_significant(alpha)
    stand_out = int(np.count_nonzero(shown.significant(alpha)))
    name = f"{_threshold_name(alpha)}: {stand_out:,} significant"
    axes.axhline(threshold, color=_ORANGE, ls="--", lw=1, label=name)
    axes.set_xscale("log")
    # Linear up to the threshold, so that negative counts stay visible, and logarithmic beyond.
    axes.set_yscale("symlog", linthresh=max(threshold, 1.0))
    axes.set_ylim(1.1 * min(lower.min(), 0.0), 1.5 * max(upper.max(), threshold))
    axes.set_xlabel("rank of the answer")
    axes.set_ylabel(f"people who gave the answer (of {shown.n:,})")
    axes.yaxis.set_major_formatter(_thousands)
    axes.xaxis.set_major_formatter(_thousands)


def _interval_name(shown: Estimates, level: float) -> str:
    return f"{percent(level)} interval" + (
        "" if shown.adjusted is None else " of the unbiased count"
    )


def _threshold_name(alpha: float) -> str:
    return f"threshold of significance (alpha = {alpha:g})"


def _thousands(value: float, _: float) -> str:
    return f"{value:,.0f}"


def _drawable(labels: list[str]) -> tuple[list[str], list[str]]:
    """Return the labels, and the fonts for them; what no installed font has is spelled in ASCII."""
    manager = load("matplotlib.font_manager", "plot")
    installed = {font.name: font.fname for font in manager.fontManager.ttflist}
    fonts = [name for name in _FONTS if name in installed]
    known: set[int] = set()
    for name in fonts:
        known.update(manager.get_font(installed[name]).get_charmap())
    spelled = [
        "".join(
            c if ord(c) in known or not c.isprintable() else c.encode("unicode_escape").decode()
            for c in label[: _LABEL_WIDTH + 1]
        )
        for label in labels
    ]
    return [one_line(label, _LABEL_WIDTH) for label in spelled], fonts
