"""The kinds of answers that the form for a new question offers, each with its own fields.

A kind is an instance of ``Kind`` in ``KINDS``. It names its fields, reads them into the answers of
a question, and says what asking will tell. The form shows whatever is listed here, in this order:
a further kind adds an entry, and a file of its own if it needs one.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from deniable.collector.drafts import Draft, split_labels
from deniable.collector.problems import Mistake


class Field(NamedTuple):
    """One field of a kind: its name in the form, what it asks, and how it is filled in."""

    name: str
    title: str
    hint: str = ""
    rows: int = 0
    """Lines of a text area; 0 is a field of one line."""


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
        labels, other = split_labels(fields["labels"]), fields["other"].strip()
        if len(labels) + bool(other) < 2:
            raise Wrong("Enter at least two answers, one on each line.", "labels")
        seen: set[str] = set()
        for label in labels:
            if label in seen:
                raise Wrong(f"“{label[:60]}” is in the list twice. Remove one of them.", "labels")
            seen.add(label)
        return draft._replace(labels=labels, other=other or None)


class AnyText(Kind):
    """Any text; what to count is named later."""

    def read(self, fields: Mapping[str, str], draft: Draft) -> Draft:
        del fields
        return draft._replace(labels=None, other=None)


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
        AnyText("open", "Any text", "You name the answers to count later; nobody else sees them."),
    )
}
