"""A view as a matplotlib figure: bars for few rows, a curve over ranks for many.

This module needs the extra ``plot``. Figures are made without pyplot: no display, no global state.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from io import BytesIO
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib import font_manager
from matplotlib.figure import Figure

from deniable.documents import PathName, check_path
from deniable.errors import InvalidParameter
from deniable.presentation.palette import LIGHT
from deniable.presentation.text import fit_labels, one_line, printable
from deniable.presentation.view import Row, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 60
_KINDS = ("png", "svg", "pdf")
_LABEL_WIDTH, _TITLE_WIDTH = 40, 90
_BLUE, _ORANGE, _GREY = LIGHT.interval, LIGHT.warn, LIGHT.weak
_FIRST = "DejaVu Sans"
# These are known to have what the first lacks; other installed fonts are tried after them.
_PREFERRED = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "Source Han Sans SC",
    "WenQuanYi Zen Hei", "Hiragino Sans", "PingFang SC", "Microsoft YaHei", "Yu Gothic",
    "Malgun Gothic", "Noto Emoji", "Symbola", "Segoe UI Emoji", "Segoe UI Symbol", "Unifont",
)  # fmt: skip
_NOT_TEXT = ("Color", "LastResort", "Last Resort")


class Picture(Figure):
    """A figure that a notebook shows without pyplot and without its inline mode."""

    def _repr_png_(self) -> bytes:
        sink = BytesIO()
        self.savefig(sink, format="png")
        return sink.getvalue()


def draw(view: View) -> Picture:
    """Draw the rows with their intervals and the threshold of significance."""
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
        missing = () if view.unknown is None else (view.unknown,)
        doubts = "\n".join(fill(doubt, _TITLE_WIDTH) for doubt in (*missing, *view.doubts))
        result.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small",
                      title=doubts or None, title_fontsize="small")  # fmt: skip
    return result


def save(drawn: Figure, view: View, path: PathName) -> None:
    """Write a figure to a file in the format of its name, with the provenance of the view."""
    kind = check_path(path).suffix.lower().removeprefix(".")
    if kind not in _KINDS:
        raise InvalidParameter(
            f"expected a name that ends with .{', .'.join(_KINDS)}, got {str(path)!r}; for other "
            "formats use plot().savefig(path)",
            value=str(path),
        )
    drawn.savefig(path, format=kind, dpi=150, metadata=metadata(view, kind))


def metadata(view: View, kind: str) -> dict[str, str]:
    """Return the provenance of a view under the names that files of a kind have for it."""
    about = json.dumps(view.provenance, ensure_ascii=False)
    place = {"png": "deniable.provenance", "pdf": "Subject"}.get(kind, "Description")
    creator = "Software" if kind == "png" else "Creator"
    return {"Title": view.heading, place: about, creator: "deniable"}


def _draw_bars(axes: Axes, view: View) -> None:
    places = np.arange(len(view.rows))
    lower, upper, value = (_numbers(view.rows, name) for name in ("lower", "upper", "value"))
    verdicts = [row.significant for row in view.rows]
    for verdict, colour in ((True, _BLUE), (False, _GREY), (None, _BLUE)):
        some = np.array([each is verdict for each in verdicts], dtype=bool)
        if some.any():
            what = {True: ", significant", False: ", not significant", None: ""}[verdict]
            axes.barh(places[some], value[some], color=colour, label=f"{view.words.value}{what}")
    if view.unknown is None:
        axes.errorbar((lower + upper) / 2, places, xerr=(upper - lower) / 2, fmt="none",
                      ecolor=LIGHT.ink, elinewidth=1, capsize=2.5,
                      label=view.words.interval)  # fmt: skip
    if view.true:
        true = _numbers(view.rows, "truth")
        axes.plot(true, places, "D", ms=5, mfc="none", mec=_ORANGE, label=view.words.truth)
    if view.scale.limit is not None:
        axes.axvline(view.scale.limit, color=_ORANGE, ls="--", lw=1, label=view.words.limit)
    axes.axvline(0, color=LIGHT.muted, lw=0.8)
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
    """Add an axis at the top that shows the counts as shares."""
    percents = 100 / n
    share = axes.secondary_xaxis(
        "top", functions=(lambda x: np.multiply(x, percents), lambda x: np.divide(x, percents))
    )
    share.set_xlabel("share of all people (%)", fontsize="small")
    share.tick_params(labelsize="small")


def _draw_ranks(axes: Axes, view: View) -> None:
    """Draw counts by rank, and changes from the largest rise to the largest fall."""
    rows = sorted(view.rows, key=lambda row: -row.value) if view.signed else view.rows
    ranks = np.arange(1, len(rows) + 1)
    lower, upper, value = (_numbers(rows, name) for name in ("lower", "upper", "value"))
    if view.unknown is None:
        axes.fill_between(ranks, lower, upper, color=_GREY, alpha=0.5, lw=0, rasterized=True,
                          label=view.words.interval)  # fmt: skip
    if view.true:
        axes.plot(ranks, _numbers(rows, "truth"), ".", ms=2, color=_ORANGE, alpha=0.6,
                  rasterized=True, label=view.words.truth)  # fmt: skip
    axes.plot(ranks, value, color=_BLUE, lw=1.5, label=view.words.value)
    found = np.array([row.significant for row in rows], dtype=bool)
    limit = view.scale.limit
    if limit is None:
        if view.unknown is None:
            axes.plot(ranks[found], value[found], "o", ms=3, color=_ORANGE,
                      label=f"{np.count_nonzero(found):,} significant")  # fmt: skip
        axes.axhline(0, color=LIGHT.muted, lw=0.8)
        order = ", from the largest rise to the largest fall" if view.signed else " by rank"
        axes.set_xlabel(f"answers{order}")
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
    """Return one number of each row, or NaN where it is missing."""
    return np.array([getattr(row, name) for row in rows], dtype=np.float64)


def _thousands(value: float, _: float) -> str:
    return f"{value:,.0f}"


def _signed(value: float, _: float) -> str:
    return f"{100 * value:+.4g}" if value else "0"


def choose_fonts(labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the labels as they can be drawn, and the font families to draw them with.

    Characters that no installed font has become escapes, and one warning says so.
    """
    wanted = {ord(c) for label in labels for c in label if c.isprintable()}
    families: list[str] = []
    for name, known in _charmaps():
        if not families or wanted & known:
            families.append(name)
            wanted -= known
        if not wanted:
            break
    if wanted:
        some = " ".join(chr(code) for code in sorted(wanted)[:8])
        warnings.warn(
            f"no installed font has {len(wanted)} of the characters in the labels, such as {some}: "
            "the figure shows escapes instead; install a font that has them, for example Noto "
            "Sans CJK or Noto Emoji",
            stacklevel=2,
        )
    return ["".join(_spelled(c, wanted) for c in label) for label in labels], families


def _charmaps() -> Iterator[tuple[str, set[int]]]:
    """Yield the installed families with their characters, the preferred ones first."""
    files: dict[str, str] = {}
    for font in font_manager.fontManager.ttflist:
        files.setdefault(font.name, font.fname)
    order = [_FIRST, *(name for name in _PREFERRED if name in files)]
    others = sorted(set(files) - set(order))
    for name in (*order, *others):
        # Matplotlib cannot draw colour glyphs, and a last-resort font has only placeholders.
        if name not in files or any(word in name for word in _NOT_TEXT):
            continue
        try:
            yield name, set(font_manager.get_font(files[name]).get_charmap())
        except (OSError, RuntimeError):  # a broken file, or bitmaps without outlines
            continue


def _spelled(character: str, missing: set[int]) -> str:
    return character.encode("unicode_escape").decode() if ord(character) in missing else character
