"""Answers: the part of a question that says what an answer is.

::

    answer --encode--> values --privatize--> reports ... estimates --results--> rows with names

A kind of answers is a frozen dataclass. Its fields are what its constructor takes, and what stands
in the document of a question beside ``kind``. The constructor checks them: documents come from
strangers. A person's answer becomes a *value*: one integer, or a row of integers.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deniable.candidates import Candidates
from deniable.errors import DeniableError, InvalidDocument, InvalidParameter, OutOfDomain, brief
from deniable.estimates import Estimates
from deniable.optional import Registry
from deniable.protocol import Goal, Protocol
from deniable.randomness import Source
from deniable.version import __version__

LEAVE_OUT = "leave out people without an answer"
_MISSING = ("NoneType", "NAType", "NaTType")
"""The types of what stands for a missing answer in Python and in frames."""


class Answers(ABC):
    """What an answer to a question is: how it is read, encoded, named in results and stored.

    A kind supplies ``labels``, ``value_count``, ``wanted``, ``value`` and ``suggest``, and
    ``value_dtype`` where a value is a row of integers.
    """

    registry: ClassVar[Registry["Answers"]] = Registry("deniable.answers")
    kind: ClassVar[str] = ""
    """The name of the kind in documents: that of the class, in small letters."""
    drawn: ClassVar[bool] = False
    """Whether equal answers may have different values, because something is drawn for each."""
    textual: ClassVar[bool] = False
    """Whether an answer is a text itself. Of other kinds a text is read as JSON."""

    optional: ClassVar[str | None] = None
    """The field that a document leaves out where it says nothing."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

        @property
        def labels(self) -> tuple[str, ...] | None:
            """The names of the rows of results, or None where they are named at estimation."""

        @property
        def value_count(self) -> int:
            """How many values there are, which is how many the protocol must have."""

        @property
        def wanted(self) -> str:
            """What an answer has to be, in words: "one of the 5 labels"."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Register the kind by its name, unless the class is only a base of others."""
        super().__init_subclass__(**kwargs)
        if not cls.__name__.startswith("_"):
            cls.kind = cls.__name__.lower()
            Answers.registry.register(cls.kind, cls)

    @property
    def build(self) -> str:
        """The kind of client that browsers load for these answers."""
        return self.kind

    @property
    def value_dtype(self) -> np.dtype[np.generic]:
        """The form of one value: an integer or, with a shape, a row of integers."""
        return np.dtype(np.uint64)

    @abstractmethod
    def value(self, answer: object) -> int | Sequence[int] | None:
        """Return the value of one answer, or None for what is no answer."""

    def true_counts(self, values: np.typing.NDArray[np.integer]) -> np.typing.NDArray[np.float64]:
        """Return how many people are in each row of results, from everybody's value.

        Only a simulation knows that. Kinds whose values are not the rows of results say it.
        """
        if values.ndim > 1 or self.labels is None:
            raise InvalidParameter(
                f"{self} do not say how many people are in each row of results, which a simulation "
                "compares with; give true_counts to this kind of answers",
                value=self.kind,
            )
        return np.bincount(values.astype(np.int64), minlength=len(self.labels or ())).astype(float)

    @abstractmethod
    def suggest(self, epsilon: float, goal: Goal = "mean") -> Protocol:
        """Return the best protocol for these answers at an epsilon."""

    def read(self, text: str) -> object:
        """Return the answer that a text stands for: a line, a cell of a table, a form's field.

        What is no JSON is no answer, and None says so.
        """
        if self.textual:
            return text
        try:
            return json.loads(text, object_pairs_hook=_once)
        except (ValueError, RecursionError):
            return None

    def wanted_of(self, answer: object) -> str:
        """Return what this answer, which is none, has to be."""
        del answer
        return self.wanted

    def takes(self, answer: object) -> bool:
        """Tell whether something is an answer that ``encode`` takes."""
        found = self.read(answer) if isinstance(answer, str) else answer
        return self.value(found) is not None

    def encode(
        self, answers: Iterable[object], rng: "np.random.Generator | Source | None" = None
    ) -> np.typing.NDArray[np.uint64]:
        """Return the value of each answer, or name the first position that has none.

        ``rng`` is for kinds that draw a value, and for simulation. Errors never hold an
        answer, since they may leave the device by way of a log.
        """
        del rng
        listed = list_answers(answers)
        found = [self.value(self.read(a) if isinstance(a, str) else a) for a in listed]
        for position, value in enumerate(found):
            if value is None:
                raise refused(f"that are {self.wanted}", listed[position], position)
        shape = (len(found), *self.value_dtype.shape)
        return np.array(found, dtype=self.value_dtype.base).reshape(shape)

    def check(self, protocol: Protocol) -> None:
        """Refuse a protocol whose values are not those of the answers."""
        theirs = (protocol.value_dtype, protocol.value_count)
        if theirs != (self.value_dtype, self.value_count):
            raise InvalidParameter(
                f"expected a protocol with {self.value_count} values of the type "
                f"{self.value_dtype}, got {protocol.name} with {theirs[1]} of {theirs[0]}; leave "
                "it out and give epsilon=, and a fitting one is chosen",
                value=protocol,
            )

    def candidates(self, wanted: Sequence[str] | None) -> Candidates | None:
        """Return what the protocol is asked to estimate: everything, which None stands for."""
        return None

    def results(self, found: Estimates, wanted: Sequence[str] | None) -> Estimates:
        """Return estimates with the names of their rows, of some only those that are wanted."""
        named = replace(found, labels=self.labels)
        return named if wanted is None else named.select(wanted)

    def cell(self, protocol: Protocol, place: int) -> str:
        """Return the name of what reports support, by its place in what a tally counts."""
        del protocol
        return (self.labels or ())[place]

    def field(self) -> dict[str, object]:
        """Return what a form needs to know to ask for an answer."""
        return self.document()

    def document(self) -> dict[str, object]:
        """Return the answers as they stand in a document: the kind, and the fields."""
        return {
            "kind": self.kind,
            **{f.name: _as_json(getattr(self, f.name)) for f in fields(self)},
        }

    def first_form(self) -> dict[str, object] | None:
        """Return the fields by which version 1 of the document says the same, if it can."""
        return None

    @staticmethod
    def from_document(document: object) -> "Answers":
        """Return the answers that a document describes, refusing what this version does not know.

        A kind that another package brings is loaded when it is met.
        """
        if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
            raise InvalidDocument(
                f"expected answers as an object with a kind, got {brief(document)}"
            )
        given = dict(document)
        kind = find_kind(given.pop("kind"))
        names = {f.name for f in fields(kind)}
        required = {f.name for f in fields(kind) if f.name != kind.optional}
        if not required <= set(given) <= names:
            fitting = ", ".join(sorted(names)) or "nothing else"
            raise InvalidDocument.expected(
                f"answers of the kind {kind.kind} with {fitting}", sorted(given), "check the file"
            )
        return kind(**given)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object; one that says two things under one key is no answer."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)


def find_kind(name: str) -> type[Answers]:
    """Return the kind of that name: ours, or one that an installed package brings."""
    try:
        kind = Answers.registry.find(name, Answers)
    except DeniableError as error:
        raise InvalidDocument(str(error), value=name) from error
    if kind is None:
        raise InvalidDocument(
            f"this version of deniable, {__version__}, does not know answers of the kind "
            f"{brief(name)}; upgrade deniable, or install the package that brings them",
            value=name,
        )
    return kind


def _as_json(item: object) -> object:
    """Return what a field holds as JSON has it."""
    if isinstance(item, Answers):
        return item.document()
    if isinstance(item, Mapping):
        return {key: _as_json(part) for key, part in item.items()}
    return [_as_json(part) for part in item] if isinstance(item, tuple) else item


def list_answers(answers: Iterable[object]) -> list[object]:
    """Return a column of answers as a list: of Python, NumPy, Arrow or a frame."""
    items = answers.tolist() if hasattr(answers, "tolist") else answers
    if isinstance(answers, Mapping) or hasattr(answers, "columns"):
        raise InvalidParameter(
            f"expected a sequence of answers, got a {type(answers).__name__}; pass one of its "
            "columns",
            value=type(answers),
        )
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InvalidParameter(
            f"expected a sequence of answers, got a single {type(items).__name__}; pass a list of "
            "one",
            value=type(items),
        )
    return [item.as_py() if hasattr(item, "as_py") else item for item in items]


def list_texts(answers: Iterable[object]) -> list[str]:
    """Return a column of answers that are texts, or name the first that is none."""
    listed = list_answers(answers)
    texts = [answer for answer in listed if isinstance(answer, str)]
    if len(texts) < len(listed):
        position = next(i for i, answer in enumerate(listed) if not isinstance(answer, str))
        kind = type(listed[position]).__name__
        remedy = f"is of the type {kind}: write it as text, for example with str"
        raise refused("as strings", listed[position], position, remedy)
    return texts


def refused(
    wanted: str, answer: object, position: int, remedy: str = "is not: correct it"
) -> OutOfDomain:
    """Return the error that says which answer is none and what to do, without the answer."""
    nan = isinstance(answer, float) and math.isnan(answer)
    if nan or type(answer).__name__ in _MISSING:
        remedy = f"is missing: {LEAVE_OUT}"
    return OutOfDomain(
        f"expected answers {wanted}; the one at position {position} {remedy}", value=position
    )
