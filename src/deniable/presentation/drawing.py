"""A view as a matplotlib figure: bars for few rows, a curve over ranks for many.

Figures are made as objects, without pyplot: no display, no global state. A notebook shows them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.documents import PathName, check_path
from deniable.errors import InvalidParameter
from deniable.optional import load
from deniable.presentation.fonts import choose_fonts
from deniable.presentation.labels import fit_labels, one_line, printable
from deniable.presentation.rows import Row, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS = 60
_KINDS = ("png", "svg", "pdf")
_LABEL_WIDTH, _TITLE_WIDTH = 40, 90
_BLUE, _ORANGE, _GREY = "#2f6db3", "#cc6600", "#9db4cf"


def figure(view: View) -> Figure:
    """Draw the rows with their intervals and the threshold of significance."""
    load("matplotlib.figure", "plot")
    from deniable.presentation.picture import Picture  # noqa: PLC0415 - needs the extra

    few = len(view.rows) <= MOST_BARS
    height = 2.6 + 0.26 * len(view.rows) if few else 5.6
    result = Picture(figsize=(8.0, max(height, 3.2)), layout="constrained")
    axes = result.add_subplot()
    (_draw_bars if few else _draw_ranks)(axes, view)
    said = [view.heading] if view.source is None else [view.heading, view.source]
    lines, fonts = choose_fonts([printable(line) for line in said])
    title = "\n".join(one_line(line, _TITLE_WIDTH) for line in lines)
    result.suptitle(title, fontsize="medium", parse_math=False, fontfamily=fonts)
    axes.spines[["top", "right"]].set_visible(False)
    if view.rows:
        doubts = "\n".join(fill(doubt, _TITLE_WIDTH) for doubt in view.doubts)
        result.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small",
                      title=doubts or None, title_fontsize="small")  # fmt: skip
    return result


def save(drawn: Figure, view: View, path: PathName) -> None:
    """Write a figure of a view to a file, in the format that its name says, with its origin."""
    kind = check_path(path).suffix.lower().removeprefix(".")
    if kind not in _KINDS:
        raise InvalidParameter(
            f"expected a name that ends with .{', .'.join(_KINDS)}, got {str(path)!r}; other "
            "formats are for the figure itself: plot().savefig(path)",
            value=str(path),
        )
    drawn.savefig(path, format=kind, dpi=150, metadata=metadata(view, kind))


def metadata(view: View, kind: str) -> dict[str, str]:
    """Return where a figure comes from, in full, by the names that files of a kind have for it."""
    about = json.dumps(view.provenance, ensure_ascii=False)
    place = {"png": "deniable.provenance", "pdf": "Subject"}.get(kind, "Description")
    creator = "Software" if kind == "png" else "Creator"
    return {"Title": view.heading, place: about, creator: "deniable"}


def _draw_bars(axes: Axes, view: View) -> None:
    places = np.arange(len(view.rows))
    lower, upper, value = (_numbers(view.rows, name) for name in ("lower", "upper", "value"))
    significant = np.array([row.significant for row in view.rows], dtype=bool)
    for some, colour, what in ((significant, _BLUE, ""), (~significant, _GREY, "not ")):
        if some.any():
            label = f"{view.words.value}, {what}significant"
            axes.barh(places[some], value[some], color=colour, label=label)
    axes.errorbar(
        (lower + upper) / 2,
        places,
        xerr=(upper - lower) / 2,
        fmt="none",
        ecolor="#222222",
        elinewidth=1,
        capsize=2.5,
        label=view.words.interval,
    )
    if view.marked:
        true = _numbers(view.rows, "mark")
        axes.plot(true, places, "D", ms=5, mfc="none", mec=_ORANGE, label=view.words.mark)
    if view.scale.limit is not None:
        axes.axvline(view.scale.limit, color=_ORANGE, ls="--", lw=1, label=view.words.limit)
    axes.axvline(0, color="#666666", lw=0.8)
    names, fonts = choose_fonts([printable(row.label) for row in view.rows])
    shown = fit_labels(names, _LABEL_WIDTH)
    axes.set_yticks(places, shown, parse_math=False, fontfamily=fonts)
    axes.set_ylim(len(view.rows) - 0.4, -0.6)
    axes.set_ylabel("answer")
    axes.set_xlabel(view.words.axis)
    axes.xaxis.set_major_formatter(_signed if view.signed else _thousands)
    if not view.signed:
        _add_shares(axes, view.n)


def _add_shares(axes: Axes, n: int) -> None:
    """Show the counts as shares too, on an axis at the top."""
    percents = 100 / n
    share = axes.secondary_xaxis(
        "top", functions=(lambda x: np.multiply(x, percents), lambda x: np.divide(x, percents))
    )
    share.set_xlabel("share of all people (%)", fontsize="small")
    share.tick_params(labelsize="small")


def _draw_ranks(axes: Axes, view: View) -> None:
    """Draw counts over their rank, and changes from the largest rise to the largest fall."""
    rows = sorted(view.rows, key=lambda row: -row.value) if view.signed else view.rows
    ranks = np.arange(1, len(rows) + 1)
    lower, upper, value = (_numbers(rows, name) for name in ("lower", "upper", "value"))
    axes.fill_between(
        ranks, lower, upper, color=_GREY, alpha=0.5, lw=0, rasterized=True,
        label=view.words.interval,
    )  # fmt: skip
    if view.marked:
        axes.plot(ranks, _numbers(rows, "mark"), ".", ms=2, color=_ORANGE, alpha=0.6,
                  rasterized=True, label=view.words.mark)  # fmt: skip
    axes.plot(ranks, value, color=_BLUE, lw=1.5, label=view.words.value)
    found = np.array([row.significant for row in rows], dtype=bool)
    limit = view.scale.limit
    if limit is None:
        axes.plot(ranks[found], value[found], "o", ms=3, color=_ORANGE,
                  label=f"{np.count_nonzero(found):,} significant")  # fmt: skip
        axes.axhline(0, color="#666666", lw=0.8)
        axes.set_xlabel("answers, from the largest rise to the largest fall")
    else:
        name = f"{view.words.limit}: {np.count_nonzero(found):,} significant"
        axes.axhline(limit, color=_ORANGE, ls="--", lw=1, label=name)
        # Linear up to the threshold, so that negative counts stay visible, and logarithmic beyond.
        axes.set_yscale("symlog", linthresh=max(limit, 1.0))
        axes.set_ylim(1.1 * min(lower.min(), 0.0), 1.5 * max(upper.max(), limit))
        axes.set_xlabel("rank of the answer")
        axes.set_xscale("log")
    axes.set_ylabel(view.words.axis)
    axes.yaxis.set_major_formatter(_signed if view.signed else _thousands)
    axes.xaxis.set_major_formatter(_thousands)


def _numbers(rows: Sequence[Row], name: str) -> npt.NDArray[np.float64]:
    """Return one number of each row; one that is missing is not a number."""
    return np.array([getattr(row, name) for row in rows], dtype=np.float64)


def _thousands(value: float, _: float) -> str:
    return f"{value:,.0f}"


def _signed(value: float, _: float) -> str:
    return f"{100 * value:+.4g}" if value else "0"
