"""Which installed fonts have the characters of some labels, and what to do about the others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

from deniable.optional import load

_FIRST = "DejaVu Sans"
# Known to have what the first lacks; whatever else is installed is looked at after them.
_PREFERRED = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "Source Han Sans SC",
    "WenQuanYi Zen Hei", "Hiragino Sans", "PingFang SC", "Microsoft YaHei", "Yu Gothic",
    "Malgun Gothic", "Noto Emoji", "Symbola", "Segoe UI Emoji", "Segoe UI Symbol", "Unifont",
)  # fmt: skip
_NOT_TEXT = ("Color", "LastResort", "Last Resort")


def choose_fonts(labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the labels as they can be drawn, and the families of fonts to draw them with.

    What no installed font has is spelled as an escape, and a warning says so once.
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
            "the figure spells them as escapes; install a font that has them, for example Noto "
            "Sans CJK or Noto Emoji",
            stacklevel=2,
        )
    return ["".join(_spelled(c, wanted) for c in label) for label in labels], families


def _charmaps() -> Iterator[tuple[str, set[int]]]:
    """Yield the families that are installed with their characters, the usual ones first."""
    manager = load("matplotlib.font_manager", "plot")
    files: dict[str, str] = {}
    for font in manager.fontManager.ttflist:
        files.setdefault(font.name, font.fname)
    order = [_FIRST, *(name for name in _PREFERRED if name in files)]
    others = sorted(set(files) - set(order))
    for name in (*order, *others):
        # Pictures in colour and tofu for everything are no text that matplotlib can draw.
        if name not in files or any(word in name for word in _NOT_TEXT):
            continue
        try:
            yield name, set(manager.get_font(files[name]).get_charmap())
        except (OSError, RuntimeError):  # a broken file, or bitmaps without outlines
            continue


def _spelled(character: str, missing: set[int]) -> str:
    return character.encode("unicode_escape").decode() if ord(character) in missing else character
