"""Parts: what a result offers to pages, and all that a page knows of results.

A result page is a list of parts, drawn in their order: first what a result says, then the few
figures to judge it by, then pictures and tables. A kind of result has a method

    def parts(self, beside: Beside | None = None) -> tuple[Part, ...]

and every page, notebook and export shows whatever it returns; ``Presentable`` has a plain one.
``Beside`` is what is known where the result is shown, such as changes; take what you can use. A
new kind of result therefore adds no page and no template: it returns ready-made parts filled with
its own words, or a part of its own, which is a frozen dataclass with ``html`` and ``lines``.

    Sentences   what the result says, the most important first: a ``Verdict``, or phrases
    Facts       two to four figures, each with a name and a short note
    Table       cells under headings, for anything else
    Listing     all numbers of a ``View``; ``folded`` behind a summary

and in ``charts``

    Bars        a share with its interval for each row, on one axis, with changes if there are any
    Curves      shares from day to day, one small picture for each row
    Grid        a share for each pair of a row and a column

and in ``histogram``

    Histogram   shares by ranges of a number, with quartiles

The contract of a part:

- It is made of plain values and can be pickled: one process makes it, another one shows it.
- It decides what is shown and how it is rounded. The page that draws it computes nothing.
- ``name`` is its id on a page, a word that no other part of the same result has; ``title`` is a
  heading, and empty where the part needs none; ``note`` says beside the heading how to read it.
- ``html`` has no style, script, colour or address. All text is escaped, labels by ``label_html``;
  classes are those of table.css. A picture is hidden from screen readers where the same numbers
  stand beside it, and has a title and a description where they do not.
- ``lines`` says the same in text of at most ``width`` columns.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

from deniable.presentation.html import html_fragment, notebook
from deniable.presentation.text import columns_of, one_line, printable, table_lines, wrapped
from deniable.presentation.verdict import Claim, Phrase, Verdict
from deniable.presentation.view import NOT_KNOWN, Change, Figure, View, counted, percent


@dataclass(frozen=True)
class Beside:
    """What is known beside a result, where it is shown."""

    rows: int | None = 50
    """How many rows to show at most."""
    level: float = 0.95
    alpha: float = 0.05
    changes: Mapping[str, Change] = field(default_factory=dict)
    """How answers changed, by label; significant are those that may be called changes."""
    against: str = ""
    """What the changes are against, as a heading: "vs last week"."""
    since: str = ""
    """The same in a sentence: "since last week"."""
    news: tuple[Claim, ...] = ()
    """What changed, where that is more than the changes of rows."""
    truth: Mapping[str, float] = field(default_factory=dict)
    """The true shares, which only a simulation knows."""
    facts: tuple[Fact, ...] = ()
    """Figures that the result does not know itself."""
    epsilon: float | None = None
    """What all reports of a person reveal together, where that is known beside one report."""


class Fact(NamedTuple):
    """One figure: what it is, how much, and a few words about it."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Part(ABC):
    """One part of a result; the module says what it promises."""

    name: str
    title: str = ""
    note: str = field(default="", kw_only=True)
    folded: bool = field(default=False, kw_only=True)
    """Whether it is shown only when somebody opens it."""

    @abstractmethod
    def html(self) -> str:
        """Return the part without its heading."""

    @abstractmethod
    def lines(self, width: int) -> list[str]:
        """Return the part as text, without its heading."""


@dataclass(frozen=True)
class Sentences(Part):
    """What a result says: the first phrase large, the others below."""

    phrases: tuple[Phrase, ...] = ()
    sure: bool = True
    """Whether it says anything about the answers, and not that there is too little to tell."""
    small: bool = False
    """Whether it is about another part, and no headline."""

    @staticmethod
    def of(verdict: Verdict) -> Sentences:
        phrases = tuple(claim.phrase for claim in verdict.claims)
        return Sentences("verdict", phrases=phrases, sure=verdict.sure)

    def html(self) -> str:
        first, *rest = map(_phrase_html, self.phrases)
        if self.small:
            return f"<p>{first}</p>"
        kind = "say" if self.sure else "say unsure"
        return f'<p class="{kind}">{first}</p>' + (f"<p>{' '.join(rest)}</p>" if rest else "")

    def lines(self, width: int) -> list[str]:
        return wrapped(str(self), width)

    @property
    def headline(self) -> str:
        return "".join(span.text for phrase in self.phrases[:1] for span in phrase)

    def __str__(self) -> str:
        """Return all of it in one line; names are fit to be printed already."""
        return " ".join("".join(span.text for span in phrase) for phrase in self.phrases)


@dataclass(frozen=True)
class Facts(Part):
    """A few figures to judge a result by."""

    facts: tuple[Fact, ...] = ()

    def html(self) -> str:
        rows = (
            f"<div><dt>{escape(fact.name)}</dt><dd>{escape(fact.value)}"
            f"{f'<small>{escape(fact.note)}</small>' if fact.note else ''}</dd></div>"
            for fact in self.facts
        )
        return f'<dl class="facts">{"".join(rows)}</dl>'

    def lines(self, width: int) -> list[str]:
        said = (
            f"{fact.name}: {fact.value}{f' ({fact.note})' * bool(fact.note)}" for fact in self.facts
        )
        return [line for each in said for line in wrapped(each, width, "  ")]


@dataclass(frozen=True)
class Table(Part):
    """Cells under headings; the first cell of a row heads it, the others are numbers or words."""

    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    words: tuple[int, ...] = ()
    """Columns, counted from 0, that hold words and not numbers."""

    def html(self) -> str:
        kinds = [
            "" if i in (0, *self.words) else ' class="number"' for i in range(len(self.headings))
        ]
        heads = (
            f'<th scope="col" role="columnheader"{kind}>{label_html(name)}</th>'
            for name, kind in zip(self.headings, kinds, strict=True)
        )
        rows = (
            f'<tr role="row"><th scope="row" role="rowheader">{label_html(first)}</th>'
            + "".join(
                f'<td role="cell"{kind} data-head="{escape(printable(head))}">'
                f"{escape(printable(cell)) if cell else ''}</td>"
                for cell, kind, head in zip(rest, kinds[1:], self.headings[1:], strict=True)
            )
            + "</tr>"
            for first, *rest in self.rows
        )
        return (
            '<table class="plain rows" role="table"><thead role="rowgroup"><tr role="row">'
            f'{"".join(heads)}</tr></thead><tbody role="rowgroup">{"".join(rows)}</tbody></table>'
        )

    def lines(self, width: int) -> list[str]:
        every = [self.headings, *self.rows]
        shown = [[one_line(cell, 40) if cell else "" for cell in row] for row in every]
        widths = [max(map(columns_of, column)) for column in zip(*shown, strict=True)]
        lines = []
        for row in shown:
            pads = [" " * (wide - columns_of(cell)) for cell, wide in zip(row, widths, strict=True)]
            cells = [
                cell + pad if i in (0, *self.words) else pad + cell
                for i, (cell, pad) in enumerate(zip(row, pads, strict=True))
            ]
            lines.append(one_line("  ".join(cells).rstrip(), width))
        return lines


@dataclass(frozen=True)
class Listing(Part):
    """All numbers of a view, as exports have them."""

    view: View = field(kw_only=True)
    pictures: bool = field(default=True, kw_only=True)

    def html(self) -> str:
        return html_fragment(self.view, self.view.headline, pictures=self.pictures)

    def lines(self, width: int) -> list[str]:
        found = table_lines(self.view, width)
        return ["".join(span.text for span in line).rstrip() for line in found]


def render(parts: Iterable[Part]) -> str:
    """Return parts as HTML one after the other, each under its heading."""
    return "\n".join(map(_section, parts))


def _section(part: Part) -> str:
    if part.folded:
        return (
            f'<details class="part" id="{part.name}"><summary>{escape(part.title)}</summary>'
            f"{part.html()}</details>"
        )
    if not part.title:
        return part.html()
    note = f'<span class="note">{escape(part.note)}</span>' if part.note else ""
    return (
        f'<section class="part panel" aria-labelledby="{part.name}"><div class="head">'
        f'<h2 id="{part.name}">{escape(part.title)}</h2>{note}</div>\n{part.html()}</section>'
    )


def summary(title: str, facts: Iterable[Fact], *said: str) -> str:
    """Return what a notebook shows of something that is no result: a title, figures, sentences."""
    title = one_line(title.replace("\u00a0", " "), 200)
    head = f'<p class="say">{label_html(title)}</p>'
    figures = Facts("facts", facts=tuple(facts)).html()
    return notebook(head + figures + "".join(f"<p>{escape(printable(each))}</p>" for each in said))


def privacy_word(epsilon: float) -> str:
    """Return how strong the privacy of one answer is, in a word; docs/choosing.md has the scale.

    >>> privacy_word(1.0), privacy_word(2.5), privacy_word(4.0), privacy_word(8.0)
    ('Strong', 'Medium', 'Weak', 'Very weak')
    """
    limits = ((1.0, "Strong"), (3.0, "Medium"), (5.0, "Weak"))
    return next((word for limit, word in limits if epsilon <= limit), "Very weak")


def question_html(
    name: str, labels: Sequence[str] | None, hidden: tuple[str, float, int], digest: str
) -> str:
    """Return what a notebook shows of a question; by which protocol, epsilon and bytes it hides."""
    many, some = "any text", ""
    if labels is not None:
        many, some = f"{len(labels):,}", ", ".join(one_line(label, 30) for label in labels[:6])
    facts = (
        Fact("Answers", many, some + (", …" if labels and len(labels) > 6 else "")),
        privacy_fact(hidden[1]),
        Fact("One report", counted(hidden[2], "byte"), hidden[0]),
    )
    return summary(name, facts, f"Digest {digest}")


def privacy_fact(epsilon: float) -> Fact:
    """Return what one report reveals at most: a word, epsilon, and what an even guess becomes."""
    guess = 1 / (1 + math.exp(-min(epsilon, 700.0)))
    below = f"below {math.ceil(100 * guess)}\u00a0%" if guess < 0.99 else "at nearly 100\u00a0%"
    note = f"ε = {epsilon:.3g}: a 50:50 guess about an answer ends {below}"
    return Fact("Privacy of each answer", privacy_word(epsilon), note)


def figure_fact(name: str, figure: Figure, level: float) -> Fact:
    """Return a figure with its range, or without one where the range has a single number."""
    value, spread = figure.cells
    sure = f"{percent(level)} sure"
    single = figure.lower == figure.upper
    return Fact(name.capitalize(), value, sure if single else f"{spread}, {sure}")


def moves(changes: Iterable[Change], names: tuple[str, str], *, note: str = "") -> Table:
    """Return how shares changed between two slices with these names; what is not sure is said."""
    rows = tuple(
        (each.label, _whole(each.first), _whole(each.second), *_reach(each)) for each in changes
    )
    headings = ("Answer", *names, "Change", "95 % sure, in points")
    return Table("changes", "What changed", note=note, headings=headings, rows=rows)


def moved(change: Change) -> tuple[str, str]:
    """Return how a share changed, in words, and a class for the colour of these."""
    if not change.significant:
        return "no clear change", "still"
    size = f"{100 * abs(change.difference):.1f}\u00a0pts"
    return (f"▲ {size}", "up") if change.difference > 0 else (f"▼ {size}", "down")


def _whole(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.1f} %"


def _reach(change: Change) -> tuple[str, str]:
    said = moved(change)[0].replace("\u00a0", " ")  # cells do not break
    if change.lower is None:
        return said, NOT_KNOWN
    ends = (f"{100 * end:+z.1f}".replace("-", "\u2212") for end in change.ends)
    return said, " to ".join(ends)


def label_html(label: str) -> str:
    """Return a label as HTML, set apart so that its direction does not turn what is around it."""
    return f"<bdi>{escape(printable(label))}</bdi>"


def _phrase_html(phrase: Phrase) -> str:
    marks = {"name": "<bdi>{}</bdi>", "figure": "<b>{}</b>"}
    found = "".join(marks.get(span.kind, "{}").format(escape(span.text)) for span in phrase)
    return found.replace(" %", "\u00a0%")
