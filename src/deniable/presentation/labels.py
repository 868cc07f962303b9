"""Labels made fit to be shown: printable, on one line, and told apart when they are cut."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence

_INVISIBLE = ("Mn", "Me")


def printable(label: str) -> str:
    r"""Return a label without control characters, on one line; an empty one as quotes.

    >>> print(printable("two\nlines"), printable(""))
    two\nlines ""
    """
    if label.isprintable():
        return label or '""'
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in label)


def one_line(label: str, width: int = 40) -> str:
    r"""Return a label as it can be printed in ``width`` columns; what is too long loses its middle.

    >>> print(one_line("two\nlines"), one_line("https://example.com/page/17", width=12))
    two\nlines https:…ge/17
    """
    # What is cut away need not be escaped first: a label may have a million characters.
    if len(label) > 2 * width + 2:
        label = label[: width + 1] + label[-width - 1 :]
        return _elided(printable(label), width, must=True)
    return _elided(printable(label), width)


def fit_labels(labels: Sequence[str], width: int) -> list[str]:
    """Cut printable labels to ``width`` columns such that different ones stay different.

    The middle goes first. Labels that then look the same differ in the middle: of these the part
    from the first difference on is shown after a short beginning, if that tells them apart.
    """
    shown = [one_line(label, width) for label in labels]
    alike: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(shown):
        alike[text].append(place)
    for places in alike.values():
        if len(places) > 1 and len({labels[place] for place in places}) > 1:
            shared = _shared([labels[place] for place in places])
            for place in places:
                shown[place] = _from(labels[place], shared, width)
    return shown


def columns_of(text: str) -> int:
    """Return how many columns a terminal takes for printable text."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(c) in _INVISIBLE
        else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _elided(text: str, width: int, *, must: bool = False) -> str:
    if not must and columns_of(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{_start(text, width - 1 - tail)}…{_start(text[::-1], tail)[::-1]}"


def _shared(labels: Sequence[str]) -> int:
    """Return how many characters all labels begin with in common."""
    first, last = min(labels), max(labels)
    pairs = zip(first, last, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(first), len(last)))


def _from(text: str, shared: int, width: int) -> str:
    """Return a short beginning and what stands around the first difference, cut to the width."""
    head = _start(text, width // 4)
    rest = text[max(shared - 2, len(head)) :]
    room = width - columns_of(head) - 1
    if columns_of(rest) > room:
        rest = _start(rest, room - 1) + "…"
    return f"{head}…{rest}"


def _start(text: str, width: int) -> str:
    used = 0
    for place, character in enumerate(text):
        used += columns_of(character)
        if used > width:
            return text[:place]
    return text
