"""The kinds of answers that the form for a new question offers, each with its own fields.

A kind is an instance of ``Kind`` in ``KINDS``. It names its fields, reads them into the answers of
a question, and says what asking will tell. The form shows whatever is listed here, in this order:
a further kind adds an entry, and a file of its own if it needs one.
"""

import csv
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from re import compile
from typing import NamedTuple, TypeVar

from deniable.answers import Answers, Choice, Choices, Number, Record, Text
from deniable.answers.number import LONGEST_UNIT
from deniable.collector.drafts import Draft, split_labels
from deniable.collector.problems import Mistake
from deniable.errors import DeniableError
from deniable.protocols.discovery.code import presets
from deniable.protocols.levels import MOST_STEPS

A = TypeVar("A", bound=Answers)
_CODES = tuple((name, name.capitalize()) for name in presets())
"""The codes that come with the package."""
_DUST = 1e-6


class Field(NamedTuple):
    """One field of a kind: its name in the form, what it asks, and how it is filled in."""

    name: str
    title: str
    hint: str = ""
    rows: int = 0
    """Lines of a text area; 0 is a field of one line."""
    options: tuple[tuple[str, str], ...] = ()
    """Values with their names, where it is a list to choose from."""
    initial: str = ""
    short: bool = False
    """Whether it is a number or a word, so that such fields stand side by side."""


class Wrong(Mistake):
    """A mistake at a field, which the form shows there."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Kind(ABC):
    """A kind of answers as people choose it."""

    name: str
    title: str
    hint: str
    fields: tuple[Field, ...] = ()

    @abstractmethod
    def read(self, fields: Mapping[str, str], draft: Draft) -> Draft:
        """Return the draft with these answers, or raise ``Wrong`` at a field."""


class Listed(Kind):
    """One answer of a list."""

    def read(self, fields: Mapping[str, str], draft: Draft) -> Draft:
        other = fields["other"].strip()
        labels = _labels(fields["labels"], "labels", 1 if other else 2)
        return draft._replace(labels=labels, other=other or None)


class Several(Kind):
    """Any of a list, up to a number of them."""

    def read(self, fields: Mapping[str, str], draft: Draft) -> Draft:
        labels = _labels(fields["boxes"], "boxes", 2)
        most = _number(fields, "at_most", "how many may be chosen")
        if most != int(most) or not 1 <= most < len(labels):
            raise Wrong(f"Enter a whole number from 1 to {len(labels) - 1}.", "at_most")
        cut = fields["more"] == "cut"
        return draft._replace(answers=_made("boxes", Choices, labels, int(most), cut))


class Numeric(Kind):
    """A number between two ends."""

    def read(self, fields: Mapping[str, str], draft: Draft) -> Draft:
        low, high, step = (
            _number(fields, name, title)
            for name, title in (("low", "the least"), ("high", "the largest"), ("step", "a step"))
        )
        if not low < high:
            raise Wrong("The largest number must be above the least.", "high")
        if not step > 0:
            raise Wrong("Enter a step above 0.", "step")
        steps = (high - low) / step
        if steps > MOST_STEPS - 1:
            raise Wrong(f"Enter a larger step: at most {MOST_STEPS - 1:,} are possible.", "step")
        if abs(steps - round(steps)) > _DUST:
            said = f"Steps of {step:g} from {low:g} on miss {high:g}. Change one of them."
            raise Wrong(said, "step")
        want, unit = tuple(fields["want"].split()), fields["unit"].strip()
        if len(unit) > LONGEST_UNIT:
            raise Wrong(f"Enter a unit of up to {LONGEST_UNIT} letters.", "unit")
        number = _made("step", Number, low, high, step, unit, want)
        return draft._replace(answers=number)


class Attributes(Kind):
    """Several attributes of one person, one on each line."""

    def read(self, fields: Mapping[str, str], draft: Draft) -> Draft:
        parts: dict[str, Choice | Number] = {}
        for line in filter(None, map(str.strip, fields["parts"].split("\n"))):
            name, colon, rest = (each.strip() for each in line.partition(":"))
            if not (name and colon and rest):
                said = f"“{line[:60]}” has no answers. Write, for example, plan: free, pro"
                raise Wrong(said, "parts")
            if name in parts:
                raise Wrong(f"“{name[:60]}” is there twice. Remove one of them.", "parts")
            parts[name] = _attribute(name, rest)
        if len(parts) < 2:
            raise Wrong("Enter at least two attributes, one on each line.", "parts")
        others = _cells(fields["others"])
        parts = {name: _with_other(part, others) for name, part in parts.items()}
        used = {part.other for part in parts.values() if isinstance(part, Choice)}
        for label in others:
            if label not in used:
                said = f"“{label[:60]}” is no answer of an attribute. List it there as well"
                raise Wrong(f"{said}, for example country: DE, FR, elsewhere", "others")
        tables = _tables(fields["tables"], fields["crossed"], list(parts))
        field = "parts" if isinstance(tables, str) else "crossed"
        return draft._replace(answers=_made(field, Record, parts, tables))


class Discovered(Kind):
    """Any text; the frequent ones are found."""

    def read(self, fields: Mapping[str, str], draft: Draft) -> Draft:
        examples = split_labels(fields["examples"])
        if not examples:
            raise Wrong("Enter a few examples of texts that people may give.", "examples")
        text = _made("code", Text, fields["code"])
        return draft._replace(answers=text, examples=examples)


class AnyText(Kind):
    """Any text; what to count is named later."""

    def read(self, fields: Mapping[str, str], draft: Draft) -> Draft:
        del fields
        return draft._replace(answers=Text())


def _labels(text: str, field: str, least: int) -> tuple[str, ...]:
    labels = split_labels(text)
    if len(labels) < least:
        raise Wrong("Enter at least two answers, one on each line.", field)
    if twice := _twice(labels):
        raise Wrong(f"“{twice[:60]}” is in the list twice. Remove one of them.", field)
    return labels


def _twice(labels: tuple[str, ...]) -> str:
    """Return the first label that is there again, or nothing."""
    seen: set[str] = set()
    for label in labels:
        if label in seen:
            return label
        seen.add(label)
    return ""


def _number(fields: Mapping[str, str], name: str, title: str) -> float:
    try:
        found = float(fields[name])
    except ValueError:
        raise Wrong(f"Enter {title} as a number.", name) from None
    if not isfinite(found):
        raise Wrong(f"Enter {title} as a number.", name)
    return found


_RANGE = compile(r"(-?[0-9.]+) (?:to|-) (-?[0-9.]+)(?: step ([0-9.]+))?(?: ([^0-9,]{1,20}))?")
"""An attribute that is a number: from, to, a step and a unit."""


def _attribute(name: str, text: str) -> Choice | Number:
    """Return an attribute: a range of numbers, or labels with commas between them."""
    if (found := _RANGE.fullmatch(text)) is not None:
        low, high, step, unit = found.groups()
        try:
            ends = float(low), float(high), float(step or 1)
        except ValueError:
            raise Wrong(f"“{name[:60]}” needs numbers, such as 0 to 100 step 5.", "parts") from None
        return _made("parts", Number, *ends, unit or "", about=name)
    labels = _cells(text)
    if len(labels) < 2:
        said = f"“{name[:60]}” needs at least two answers, with commas between them."
        raise Wrong(said, "parts")
    if twice := _twice(labels):
        said = f"“{name[:60]}” has “{twice[:60]}” twice. Remove one of them."
        raise Wrong(said, "parts")
    return _made("parts", Choice, labels, about=name)


def _tables(which: str, named: str, names: Sequence[str]) -> str | list[tuple[str, ...]]:
    """Return which tables are wanted: those that are named, and each attribute that is in none.

    >>> _tables("named", "plan + os", ["plan", "os", "age"])
    [('plan', 'os'), ('age',)]
    """
    given = _cells(named)
    if which != "named":
        if given:
            said = "Choose “Only the cross tables that I name” above, or leave this empty."
            raise Wrong(said, "crossed")
        return which
    if not given:
        some = "+".join(names[:2])
        raise Wrong(f"Name at least one cross table, for example {some[:120]}.", "crossed")
    tables = [tuple(map(str.strip, each.split("+"))) for each in given]
    for table in tables:
        for unknown in set(table).difference(names):
            said = f"“{unknown[:60]}” is no attribute. There are {', '.join(names)[:200]}."
            raise Wrong(said, "crossed")
    used = {name for table in tables for name in table}
    return [*tables, *((name,) for name in names if name not in used)]


def _cells(text: str) -> tuple[str, ...]:
    """Return what stands between commas."""
    cells = next(csv.reader([text], skipinitialspace=True), [])
    return tuple(filter(None, map(str.strip, cells)))


def _with_other(part: Choice | Number, others: Collection[str]) -> Choice | Number:
    """Let the first of some labels that an attribute has stand for what is not listed there."""
    if not isinstance(part, Choice):
        return part
    held = next((label for label in others if label in part.labels), None)
    return Choice(part.labels, other=held)


def _made(field: str, kind: Callable[..., A], *given: object, about: str = "") -> A:
    """Return answers, or say at a field why there are none such."""
    try:
        return kind(*given)
    except DeniableError as error:
        where = f"“{about[:60]}”: " if about else ""
        raise Wrong(f"{where}This cannot be asked: {error}.", field) from error


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Listed(
            "closed",
            "One of a list",
            "People choose one answer.",
            (
                Field("labels", "The answers, one on each line", rows=7),
                Field(
                    "other",
                    "A name for all other answers",
                    "Optional. Without it the device refuses an answer that is not in the list.",
                ),
            ),
        ),
        Several(
            "choices",
            "Several of a list",
            "People tick boxes.",
            (
                Field("boxes", "The boxes, one on each line", rows=7),
                Field(
                    "at_most",
                    "How many at most",
                    "Fewer are known better.",
                    initial="3",
                    short=True,
                ),
                Field(
                    "more",
                    "If somebody has more",
                    "The form lets nobody tick more. A page or a program may know more.",
                    options=(
                        ("cut", "Some of theirs count, at random"),
                        ("refuse", "They are refused: none is ever left out"),
                    ),
                    initial="cut",
                ),
            ),
        ),
        Numeric(
            "number",
            "A number",
            "Median, quartiles and any range, or the mean.",
            (
                Field("low", "Least", initial="0", short=True),
                Field("high", "Largest", initial="100", short=True),
                Field("step", "Step", initial="5", short=True),
                Field("unit", "Unit", short=True),
                Field(
                    "want",
                    "What you want to know",
                    "Numbers are rounded to steps; what lies outside counts as the nearest end.",
                    options=(
                        ("distribution", "The distribution, with its quartiles"),
                        ("mean", "The mean only, which is then known best"),
                        ("distribution mean", "Both"),
                    ),
                    initial="distribution",
                ),
            ),
        ),
        Attributes(
            "record",
            "Several attributes",
            "Such as country and plan, with cross tables.",
            (
                Field(
                    "parts",
                    "The attributes, one on each line",
                    "Such as “plan: free, pro, no answer” or “age: 0 to 100 step 5 years”. Each "
                    "person is asked about some of them, by lot, and everything they said is "
                    "protected together.",
                    rows=5,
                ),
                Field(
                    "others",
                    "Which of these stand for all other answers",
                    "Optional, such as “elsewhere, other”. An attribute that lists one takes it "
                    "for whatever is not listed there.",
                ),
                Field(
                    "tables",
                    "What you want to know",
                    options=(
                        ("margins", "Each attribute by itself"),
                        ("pairs", "Every two of them crossed as well"),
                        ("named", "Only the cross tables that I name"),
                    ),
                    initial="margins",
                ),
                Field(
                    "crossed",
                    "Cross tables by name",
                    "For the last choice above, such as “country+plan, plan+age”. Each table costs "
                    "the others precision, so name those that you will look at.",
                ),
            ),
        ),
        AnyText("open", "Any text", "You name the answers to count later; nobody else sees them."),
        Discovered(
            "discover",
            "Any text, to be discovered",
            "The frequent ones are found, without a list.",
            (
                Field("code", "What the texts are like", options=_CODES, initial="english"),
                Field(
                    "examples",
                    "A few examples, one on each line",
                    "Public ones, to see whether such texts fit; they are not stored.",
                    rows=3,
                ),
            ),
        ),
    )
}
