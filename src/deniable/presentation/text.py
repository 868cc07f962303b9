"""Text: labels that are safe to print and fit a width, and a view as a table of text.

The table is laid out once: Python prints it as it is, and a terminal colours its spans.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from deniable.presentation.view import Row, Scale, View

_INVISIBLE = ("Mn", "Me", "Cf")
_JOINER, _JOINERS = "\u200d", "\u200c\u200d"
_JOINED = rf"(?<=[^\s{_JOINERS}\u0000-\u001f])[{_JOINERS}](?=[^\s{_JOINERS}\u0000-\u001f])"
"""A joiner between two characters that are seen."""
_SKIN = range(0x1F3FB, 0x1F400)
"""Modifiers of the emoji before them."""
_WIDEST_BAR, _NARROWEST_BAR = 30, 6
_WIDEST_LABEL, _NARROWEST_LABEL_BESIDE_A_BAR, _NARROWEST_LABEL = 120, 16, 8
_USUAL_WIDTH = 80
YES, NO = "✓", "·"
_MARKS = {True: YES, False: NO, None: "?"}
SOLID, SHADE, ZERO, TICK = "█", "▒", "┊", "│"


def printable(label: str) -> str:
    r"""Return a label on one line, with control characters escaped, and one of spaces in quotes.

    Joiners between visible characters stay: emoji and Persian are written with them.

    >>> print(printable("two\nlines"), printable(""), printable(" "))
    two\nlines "" " "
    """
    if label.isprintable():
        return label if label.strip() else f'"{label}"'
    inside = re.sub(_JOINED, "", label)
    if inside.isprintable():
        return label
    kept = {match.start() for match in re.finditer(_JOINED, label)}
    return "".join(
        c if c.isprintable() or place in kept else c.encode("unicode_escape").decode()
        for place, c in enumerate(label)
    )


def one_line(label: str, width: int = 40) -> str:
    r"""Return a label that fits into ``width`` columns; one that is too long loses its middle.

    >>> print(one_line("two\nlines"), one_line("https://example.com/page/17", width=12))
    two\nlines https:…ge/17
    """
    # Escape only what will be left: a label may have a million characters.
    if len(label) > 2 * width + 2:
        label = label[: width + 1] + label[-width - 1 :]
        return _elided(printable(label), width, must=True)
    return _elided(printable(label), width)


def fit_labels(labels: Sequence[str], width: int) -> list[str]:
    """Cut printable labels to ``width`` columns so that different ones stay different.

    The middle goes first. Labels that then look the same differ in the middle: of these a short
    beginning is shown, and then the part from the first difference on.
    """
    shown = [one_line(label, width) for label in labels]
    alike: dict[str, set[str]] = defaultdict(set)
    for label, text in zip(labels, shown, strict=True):
        alike[text].add(label)
    shared = {text: _shared(found) for text, found in alike.items() if len(found) > 1}
    return [
        _from(label, shared[text], width) if text in shared else text
        for label, text in zip(labels, shown, strict=True)
    ]


def columns_of(text: str) -> int:
    """Return how many columns printable text takes on a terminal."""
    if text.isascii():
        return len(text)
    columns, before = 0, ""
    for c in text:
        hidden = unicodedata.category(c) in _INVISIBLE or before == _JOINER or ord(c) in _SKIN
        columns += 0 if hidden else 1 + (unicodedata.east_asian_width(c) in "WF")
        before = c
    return columns


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Divide a sentence into lines of at most ``width`` columns, the further ones indented.

    A number stays with its sign and its unit. A word that is wider than a line has one of its own.

    >>> wrapped("a guess becomes 73 % likely", 18, "  ")
    ['a guess becomes', '  73 % likely']
    """
    lines, line = [], " " * (len(text) - len(text.lstrip(" ")))
    for word in re.findall(r"(?:± )?\S+(?: (?:%|points?\b)\S*)?", text.replace("\u00a0", " ")):
        longer = f"{line} {word}" if line.strip() else line + word
        if line.strip() and columns_of(longer) > width:
            lines.append(line)
            longer = indent + word
        line = longer
    return [*lines, line] if line.strip() else lines


def fitted(text: str, width: int) -> list[str]:
    r"""Return the lines of a table and an empty one; none if there is no table or no room for it.

    >>> fitted("   a  b\nc  1  2", 7), fitted("   a  b\nc  1  2", 6), fitted("", 80)
    (['   a  b', 'c  1  2', ''], [], [])
    """
    lines = text.splitlines()
    return [*lines, ""] if lines and max(map(columns_of, lines)) <= width else []


def _elided(text: str, width: int, *, must: bool = False) -> str:
    if not must and columns_of(text) <= width:
        return text
    tail = (width - 1) // 2
    parts = _clusters(text)
    return f"{_start(parts, width - 1 - tail)}…{_start(parts[::-1], tail, backwards=True)}"


def _shared(labels: Iterable[str]) -> int:
    """Return how many characters all of some different labels begin with in common."""
    first, last = min(labels), max(labels)
    pairs = zip(first, last, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), len(first))


def _from(text: str, shared: int, width: int) -> str:
    """Return a short beginning and the text around the first difference, cut to the width."""
    head = _start(_clusters(text), width // 4)
    rest = text[max(shared - 2, len(head)) :]
    room = width - columns_of(head) - 1
    if columns_of(rest) > room:
        rest = _start(_clusters(rest), room - 1) + "…"
    return f"{head}…{rest}"


def _start(parts: Sequence[str], width: int, *, backwards: bool = False) -> str:
    """Return as many characters as fit into a width, and no part of one."""
    used, place = 0, 0
    for place, part in enumerate([*parts, " " * (width + 1)]):  # noqa: B007 - the end is used
        used += columns_of(part)
        if used > width:
            break
    return "".join(parts[:place][::-1] if backwards else parts[:place])


def _clusters(text: str) -> Sequence[str]:
    """Divide text into what readers see as one character: with marks, joined, coloured."""
    if text.isascii():
        return text
    found: list[str] = []
    for c in text:
        mark = unicodedata.category(c) in _INVISIBLE or ord(c) in _SKIN
        if found and (mark or found[-1].endswith(_JOINER)):
            found[-1] += c
        else:
            found.append(c)
    return found


class Span(NamedTuple):
    """A piece of text, and what it is in the table, so that a terminal may colour it."""

    text: str
    part: str = ""


Line = tuple[Span, ...]


@dataclass(frozen=True)
class Layout:
    """The width of each column, and the labels cut to theirs. A bar of width 0 is left out."""

    labels: list[str]
    widths: tuple[int, ...]
    bar: int

    @staticmethod
    def of(view: View, width: int | None, encoding: str) -> Layout:
        """Divide a width: bars shrink first, then labels lose their middle, and numbers stay whole.

        Without a width no label is cut, and the bars are made to fit into the usual one.
        """
        labels = (printable(row.label) for row in view.rows)
        # What the encoding lacks is escaped.
        names = [each.encode(encoding, "backslashreplace").decode(encoding) for each in labels]
        heads = ("#", *view.headings)
        cells = [(str(i), *row.cells) for i, row in enumerate(view.rows, start=1)]
        numbers = tuple(
            max(columns_of(cell) for cell in column) for column in zip(heads, *cells, strict=True)
        )
        # Two columns after the rank, the label and each number, and one for the mark.
        room = (width or _USUAL_WIDTH) - sum(numbers) - 2 * (len(numbers) + 1) - 1
        label, least = _widest(names), _NARROWEST_BAR * (2 if view.signed else 1)
        bar = room - 2 - label
        if width is None:
            # One endless label pushes only its own numbers aside.
            label, bar = min(label, _WIDEST_LABEL), max(bar, least)
        elif bar < least:
            label, bar = room - 2 - least, least
            if label < _NARROWEST_LABEL_BESIDE_A_BAR:
                label, bar = max(room, _NARROWEST_LABEL), 0
            names = fit_labels(names, label)
            label = _widest(names)
        return Layout(names, (label, *numbers), min(bar, _WIDEST_BAR))


def _widest(names: Sequence[str]) -> int:
    return max(columns_of(name) for name in [*names, "answer"])


def text_table(view: View, width: int | None = None) -> str:
    """Return the view as text: the headline, the source, the rows and the legend."""
    said = [] if view.source is None else [printable(view.source)]
    lines = ["".join(span.text for span in line).rstrip() for line in table_lines(view, width)]
    return "\n".join([printable(view.heading), *said, *lines])


def table_lines(view: View, width: int | None = None, encoding: str = "utf-8") -> list[Line]:
    """Return the headings, the rows and the legend as lines of spans."""
    layout = Layout.of(view, width, encoding)
    heads = _line("#", "answer", view.headings, layout, "head")
    scale = view.scale if view.signed else Scale(0.0, view.scale.right)
    lines = [heads]
    for place, (row, label) in enumerate(zip(view.rows, layout.labels, strict=True), start=1):
        mark = Span(_MARKS[row.significant], "yes" if row.significant else "no")
        line = _line(str(place), label, row.cells, layout, "")
        bar = (Span("  "), *bar_spans(row, scale, layout.bar)) if layout.bar else ()
        lines.append((*line, Span("  "), mark, *bar))
    wide = max(width or _USUAL_WIDTH, _NARROWEST_LABEL)
    said = [line for note in (*view.notes[1:], *view.doubts) for line in wrapped(note, wide)]
    return [*lines, *_legend(view, layout.bar > 0, wide), *((Span(line),) for line in said)]


def bar_spans(row: Row, scale: Scale, width: int) -> Line:
    """Return a bar: solid from zero to the interval, and shaded over the interval."""
    lower, upper = row.ends
    zero, low, high = [round(x * width) for x in scale.places(0.0, lower, upper)]
    parts = [" "] * width
    near, far = (low, high) if lower > 0 else (high, low)
    if lower > 0 or upper < 0:
        parts[min(zero, near) : max(zero, near)] = [SOLID] * abs(near - zero)
        parts[min(near, far) : max(near, far)] = [SHADE] * abs(far - near)
    else:
        parts[low:high] = [SHADE] * (high - low)
    if scale.left < 0 and parts[min(zero, width - 1)] == " ":
        parts[min(zero, width - 1)] = ZERO
    if row.truth is not None:
        parts[min(int(scale.places(row.truth)[0] * width), width - 1)] = TICK
    names = {SOLID: "solid", SHADE: "shade", TICK: "tick", ZERO: "zero"}
    runs = groupby("".join(parts).rstrip())
    return tuple(Span("".join(run), names.get(part, "")) for part, run in runs)


def _line(
    place: str, label: str, cells: Sequence[str], layout: Layout, part: str
) -> tuple[Span, ...]:
    names, rank, *numbers = layout.widths
    padded = [cell.rjust(width) for cell, width in zip(cells, numbers, strict=True)]
    return (
        Span(place.rjust(rank), part or "dim"),
        Span(f"  {label}{' ' * (names - columns_of(label))}", part),
        *(Span(f"  {cell}", part) for cell in padded[:-1]),
        Span(f"  {padded[-1]}", part or "dim"),
    )


def _legend(view: View, bars: bool, width: int) -> list[Line]:
    """Say what marks and bars mean; the first note is about the marks."""
    mark = Span(YES, "yes") if view.unknown is None else Span(_MARKS[None], "no")
    first, *further = wrapped(view.notes[0], width - 2)
    lines: list[Line] = [(mark, Span(f" {first}")), *((Span(f"  {line}"),) for line in further)]
    if bars and view.rows and view.unknown is None:
        lines.insert(0, (Span(SOLID, "solid"), Span(" at least  "), Span(SHADE, "shade"),
                         Span(f" {view.words.interval}"),
                         *((Span(f"  {TICK}", "tick"), Span(f" {view.words.truth}"))
                           if view.true else ())))  # fmt: skip
    return lines
