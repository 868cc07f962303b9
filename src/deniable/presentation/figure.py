"""A view as a matplotlib figure: bars for few rows, a curve over ranks for many.

This module needs the extra ``plot``. Figures are made without pyplot: no display, no global state.
"""

from __future__ import annotations

import json
import re
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from io import BytesIO
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import font_manager
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from deniable.documents import PathName, check_path
from deniable.errors import InvalidParameter
from deniable.presentation.palette import LIGHT
from deniable.presentation.text import fit_labels, one_line, printable, wrapped
from deniable.presentation.view import Row, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 60
_KINDS = ("png", "svg", "pdf")
_LABEL_WIDTH, _TITLE_WIDTH, _FINDING_WIDTH = 40, 90, 62
_RARE = {True: ", which may hold no change", False: " of what may be none"}
_BLUE, _ORANGE, _GREY = LIGHT.interval, LIGHT.warn, LIGHT.weak
_FIRST = "DejaVu Sans"
# These are known to have what the first lacks; other installed fonts are tried after them.
_PREFERRED = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "Source Han Sans SC",
    "WenQuanYi Zen Hei", "Hiragino Sans", "PingFang SC", "Microsoft YaHei", "Yu Gothic",
    "Malgun Gothic", "Noto Emoji", "Symbola", "Segoe UI Emoji", "Segoe UI Symbol", "Unifont",
)  # fmt: skip
_EMOJI = ("So", "Sk")
"""The categories of emoji and of what modifies them."""
_NOT_TEXT = ("Color", "LastResort", "Last Resort")


class Picture(Figure):
    """A figure that a notebook shows without pyplot and without its inline mode."""

    def _repr_png_(self) -> bytes:
        sink = BytesIO()
        self.savefig(sink, format="png")
        return sink.getvalue()


def draw(view: View, finding: str = "", axes: Axes | None = None) -> Figure:
    """Draw the rows with their intervals under what they say.

    On the caller's own axes only the rows and their heading are drawn.
    """
    few, own = len(view.rows) <= MOST_BARS, axes is None
    if axes is None:
        height = 2.4 + 0.3 * len(view.rows) if few else 5.6
        axes = Picture(figsize=(8.0, max(height, 3.2)), layout="constrained").add_subplot()
    (_draw_bars if few else _draw_ranks)(axes, view)
    axes.spines[["top", "right", "left" if few else "top"]].set_visible(False)
    axes.spines[:].set_color(LIGHT.line)
    axes.tick_params(color=LIGHT.line, labelcolor=LIGHT.ink, length=0 if few else 3)
    drawn = axes.figure.figure if isinstance(axes.figure, SubFigure) else axes.figure
    if own:
        _add_words(drawn, view, finding or view.heading)
    else:
        (line,), fonts = choose_fonts([printable(view.heading)])
        axes.set_title(one_line(line, _FINDING_WIDTH), loc="left", fontsize="medium",
                       color=LIGHT.ink, fontfamily=fonts, parse_math=False)  # fmt: skip
    return drawn


def _turns(text: str) -> bool:
    return any(unicodedata.bidirectional(c) in ("R", "AL") for c in text)


def _upright(lines: Sequence[str]) -> str:
    """Join lines of English, which a name that runs from right to left would turn around."""
    return "\n".join(f"\u200e{line}" if _turns(line) else line for line in lines)


def _set_apart(finding: str, labels: Sequence[str]) -> str:
    """Isolate the names that run from right to left from each other and from what is around."""
    turning = sorted({one_line(each, 60) for each in labels if _turns(each)}, key=len, reverse=True)
    found = "|".join(map(re.escape, turning))
    return re.sub(found, "\u2068\\g<0>\u2069", finding) if turning else finding


def _add_words(drawn: Figure, view: View, finding: str) -> None:
    """Write what the rows say over them, and below what the marks are and where it comes from."""
    names = [row.label for row in view.rows]
    whole = _set_apart(printable(finding.replace("\u00a0", " ")), names)
    (title,), fonts = choose_fonts([whole])
    drawn.suptitle(_upright(wrapped(title, _FINDING_WIDTH)[:3]), x=0.01, ha="left",
                   fontsize="x-large", fontweight="bold", color=LIGHT.ink, parse_math=False,
                   fontfamily=fonts)  # fmt: skip
    name, more = view.name or "", [each for each in (view.source, view.unknown) if each is not None]
    said = [name, view.headline, *more, *view.doubts]
    (name, head, *more), fonts = choose_fonts([printable(line) for line in said])
    name = one_line(name, _TITLE_WIDTH)
    first = f"\u2068{name}\u2069: {head}" if _turns(name) else f"{name}: {head}" if name else head
    rest = [one_line(line, 3 * _TITLE_WIDTH) for line in more]
    footer = _upright([fill(line, _TITLE_WIDTH) for line in (first, *rest)])
    # Named, since matplotlib warns where it finds nothing by itself: there may be no bar.
    named = [axes.get_legend_handles_labels() for axes in drawn.axes]
    marks = [mark for found in named for mark in found[0]]
    words = [name for found in named for name in found[1]]
    legend = drawn.legend(marks, words, loc="outside lower left", ncols=3, frameon=False,
                          fontsize="small", labelcolor=LIGHT.muted, alignment="left",
                          reverse=True)  # fmt: skip
    legend.set_title(footer, font_manager.FontProperties(family=fonts, size="small"))
    legend.get_title().set(color=LIGHT.muted, parse_math=False)


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
    """Draw a faint bar to each value with its interval; what may be none has a grey one alone.

    What may be none and has no interval, though others have one, has a grey mark at its value.
    """
    places = np.arange(len(view.rows))
    lower, upper, value = (_numbers(view.rows, name) for name in ("lower", "upper", "value"))
    rare = np.array([row.significant is False for row in view.rows], dtype=bool)
    if not rare.all():
        axes.barh(places[~rare], value[~rare], height=0.62, color=LIGHT.bar, label=view.words.value)
    if view.unknown is None:
        bare = rare & np.isnan(lower)
        if bare.any():
            axes.plot(value[bare], places[bare], "o", ms=7, mfc="none", mew=2, color=_GREY,
                      label=view.words.bare)  # fmt: skip
        known = rare & ~bare
        for some, colour, what in ((~rare, _BLUE, ""), (known, _GREY, _RARE[view.signed])):
            if some.any():
                axes.hlines(places[some], lower[some], upper[some], color=colour, lw=5,
                            label=f"{view.words.interval}{what}")  # fmt: skip
    if view.true:
        true = _numbers(view.rows, "truth")
        axes.plot(true, places, "|", ms=13, mew=2, color=_ORANGE, label=view.words.truth)
    axes.axvline(0, color=LIGHT.muted, lw=0.8)
    names, fonts = choose_fonts([printable(row.label) for row in view.rows])
    shown = fit_labels(names, _LABEL_WIDTH)
    axes.set_yticks(places, shown, parse_math=False, fontfamily=fonts)
    axes.set_ylim(len(view.rows) - 0.4, -0.6)
    axes.grid(axis="x", color=LIGHT.line, lw=0.8)
    axes.set_axisbelow(True)
    if view.signed:
        axes.set_xlabel(view.words.axis, color=LIGHT.muted)
        axes.xaxis.set_major_formatter(_signed)
        return
    # Counts are drawn, and read as shares.
    axes.set_xlabel(f"share of people (of {view.n:,})", color=LIGHT.muted)
    axes.xaxis.set_major_locator(_Percents(view.n))
    axes.xaxis.set_major_formatter(lambda x, _: f"{100 * x / view.n:.4g} %" if x else "0")


class _Percents(MaxNLocator):
    """Finds ticks at round percentages of a number."""

    def __init__(self, n: int) -> None:
        super().__init__(nbins=6, steps=[1, 2, 2.5, 5, 10])
        self._n = n

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        scale = self._n / 100
        return [scale * place for place in super().tick_values(vmin / scale, vmax / scale)]


def _draw_ranks(axes: Axes, view: View) -> None:
    """Draw counts by rank, and changes from the largest rise to the largest fall."""
    rows = sorted(view.rows, key=lambda row: -row.value) if view.signed else view.rows
    ranks = np.arange(1, len(rows) + 1)
    lower, upper, value = (_numbers(rows, name) for name in ("lower", "upper", "value"))
    if view.unknown is None:
        axes.fill_between(ranks, lower, upper, color=LIGHT.band, lw=0, rasterized=True,
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


def _numbers(rows: Sequence[Row], name: str) -> np.typing.NDArray[np.float64]:
    """Return one number of each row, or NaN where it is missing."""
    return np.array([getattr(row, name) for row in rows], dtype=np.float64)


def _thousands(value: float, _: float) -> str:
    return f"{value:,.0f}"


def _signed(value: float, _: float) -> str:
    return f"{100 * value:+.4g}" if value else "0"


def choose_fonts(labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the labels as they can be drawn, and the font families to draw them with.

    Emoji that no installed font has are named in brackets, other such characters become escapes,
    and one warning says so. Fonts of colours do not count: matplotlib draws outlines alone.
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
            "the figure shows names or escapes instead; install a font of outlines that has them, "
            "for example Noto Sans CJK, Noto Emoji or Symbola",
            stacklevel=2,
        )
    return [_spelled(label, wanted) for label in labels], families


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


def _spelled(label: str, missing: set[int]) -> str:
    """Name the emoji that are missing, those that belong together as one, and escape the rest."""
    if not any(ord(c) in missing for c in label):
        return label
    emoji = "".join(chr(code) for code in missing if unicodedata.category(chr(code)) in _EMOJI)
    if emoji:
        one = f"[{re.escape(emoji)}]"
        label = re.sub(f"{one}(?:[\u200d\ufe0f]*{one})*", _named, label)
    return "".join(c.encode("unicode_escape").decode() if ord(c) in missing else c for c in label)


def _named(emoji: re.Match[str]) -> str:
    """Return names in brackets; the letters of a flag are one word."""
    names = [unicodedata.name(c, f"U+{ord(c):X}") for c in emoji[0] if c not in "\u200d\ufe0f"]
    parts = [name.replace("EMOJI MODIFIER FITZPATRICK", "skin").lower() for name in names]
    said = re.sub("(?:, )?regional indicator symbol letter (.)", r"\1", ", ".join(parts))
    return f"[{said}]"
