"""Question: what is asked, which answers there are, and the protocol that hides them.

A question is one JSON document; the SHA-256 digest of its canonical form is checked on both sides,
so that a client and a server with different parameters can never be mixed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, overload

from deniable import documents, presentation
from deniable.answers import Answers, Choice
from deniable.answers.base import find_kind
from deniable.answers.choice import few_labels
from deniable.documents import MOST_BYTES, PathName, canonical_json, encodes
from deniable.errors import IncompatibleTally, InvalidDocument, InvalidParameter, brief
from deniable.estimates import Estimates
from deniable.mechanism import Reports
from deniable.policy import CEILING, DOCUMENT_BYTES
from deniable.presentation.view import Provenance
from deniable.protocol import Client, Goal, Memoising, Protocol
from deniable.randomness import Source, randomise
from deniable.rota import Repeat
from deniable.segments import MOST_CELLS, Dimension, Segments
from deniable.tally import Accumulator, Tally
from deniable.validation import check_epsilon

if TYPE_CHECKING:
    import numpy as np

    from deniable.discoveries import Discoveries

_FORMAT = "deniable-question"
_FIELDS = {
    1: ({"format", "version", "name", "labels", "other", "protocol"}, 1000),
    2: ({"format", "version", "name", "answers", "protocol", "repeat", "segments"}, 8000),
}
"""The fields of each version of the document, all always there, and how many values it may have; a
list of strings is one."""


@dataclass(frozen=True, repr=False, init=False)
class Question:
    """A name, what an answer is, and the protocol that hides it.

    ``answers`` is a kind of answers, a list of labels, which is a ``Choice``, or None for ``Text``.
    Without a protocol the best one at ``epsilon`` is chosen: for the mean over all answers or, with
    the goal "rare", for answers that few people give. ``other`` is the label of a list that stands
    for all answers that are not among the labels; without it they are refused. With ``repeat``
    people are asked again, each in a round of their own; ``segments`` are public groups, such as
    ``{"platform": ("linux", "mac")}``, by which reports are counted.

    >>> fruit = Question("fruit", ("kiwi", "fig", "other"), epsilon=1.0, other="other")
    >>> fruit.protocol.name
    'DE'
    >>> tally = fruit.tally(fruit.privatize(["kiwi", "plum", "fig"]))
    >>> fruit.estimate(tally).labels
    ('kiwi', 'fig', 'other')
    >>> Question.from_json(fruit.to_json()) == fruit
    True
    """

    name: str
    answers: Answers
    protocol: Protocol
    repeat: Repeat | None
    segments: Segments

    def __init__(  # noqa: PLR0913 - one for each part of a question
        self,
        name: str,
        answers: Answers | Sequence[str] | None,
        protocol: Protocol | None = None,
        *,
        epsilon: float | None = None,
        other: str | None = None,
        goal: Goal = "mean",
        repeat: Repeat | None = None,
        segments: Segments | Mapping[str, Sequence[str]] | Sequence[Dimension] = (),
    ) -> None:
        if not isinstance(name, str) or not name or not encodes(name):
            raise InvalidParameter.expected(
                "a name as a string that is not empty and that UTF-8 can encode", name
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "answers", _answers(answers, other))
        if protocol is None:
            protocol = self.answers.suggest(_given(epsilon), goal)
        elif not isinstance(protocol, Protocol):
            raise InvalidParameter(
                f"expected a protocol, got {type(protocol).__name__}; for example "
                "deniable.OUE(epsilon=1.0, domain_size=len(labels)), or none and epsilon=1.0",
                value=protocol,
            )
        elif epsilon is not None:
            said = "has an epsilon of its own; pass a protocol or epsilon=, not both"
            raise InvalidParameter(f"{protocol.name} {said}", value=epsilon)
        self.answers.check(protocol)
        object.__setattr__(self, "protocol", protocol)
        repeat = Repeat.of(repeat, protocol.name, memoises=protocol.memoises)
        object.__setattr__(self, "repeat", repeat)
        object.__setattr__(self, "segments", Segments.of(segments))

    def __repr__(self) -> str:
        mine = self.answers
        shown = few_labels(mine.labels) if isinstance(mine, Choice) else repr(mine)
        rest = "" if self.other is None else f", other={brief(self.other)}"
        rest += f", repeat={self.repeat!r}" if self.repeat else ""
        rest += f", segments={self.segments.dimensions!r}" if self.segments else ""
        return f"Question({brief(self.name)}, {shown}, {self.protocol!r}{rest})"

    def _repr_html_(self) -> str:
        hidden = (self.protocol.name, self.protocol.epsilon, self.protocol.report_dtype.itemsize)
        return presentation.parts.question_html(self.name, self.labels, hidden, self.digest)

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The names of the rows of results, or None where they are named at estimation."""
        return self.answers.labels

    @property
    def other(self) -> str | None:
        """The label that stands for all answers that are not among the labels, if there is one."""
        return self.answers.other if isinstance(self.answers, Choice) else None

    @property
    def version(self) -> int:
        """The version of the document: the newer one only says what the older one cannot."""
        return 2 if self._first_form() is None else 1

    def _first_form(self) -> dict[str, object] | None:
        """Return the answers as version 1 of the document says them, if it can say everything."""
        return None if self.repeat or self.segments else self.answers.first_form()

    @property
    def total_epsilon(self) -> float:
        """What everything one person ever sends reveals; ceilings and budgets are about this."""
        return self.protocol.total_epsilon * (self.repeat.times if self.repeat else 1)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the canonical JSON form, in hexadecimal."""
        return sha256(canonical_json(self._document())).hexdigest()

    @cached_property
    def provenance(self) -> Provenance:
        """What estimates say of where they come from."""
        document = {key: value for key, value in self._document().items() if key != "name"}
        substance = sha256(canonical_json(document)).hexdigest()
        return Provenance(
            self.protocol.name, self.protocol.epsilon, self.name, self.digest, substance=substance
        )

    def _document(self) -> dict[str, object]:
        said, rest = self._first_form(), dict[str, object]()
        if said is None:
            said = {"answers": self.answers.document()}
            again = None if self.repeat is None else self.repeat.document()
            rest = {"repeat": again, "segments": self.segments.document()}
        head = {"format": _FORMAT, "version": self.version, "name": self.name}
        return {**head, **said, "protocol": self.protocol.specification(), **rest}

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: PathName) -> None: ...
    def to_json(self, path: PathName | None = None) -> str | None:
        """Return or write the question as JSON for people to read, its digest included."""
        document = {**self._document(), "digest": self.digest}
        return documents.returned(json.dumps(document, indent=2, ensure_ascii=False) + "\n", path)

    @classmethod
    def open(cls, path: PathName) -> Question:
        """Read the question in a file, as ``from_json`` does; errors name the file."""
        try:
            return cls.from_json(documents.read_file(path))
        except InvalidDocument as error:
            raise InvalidDocument(f"{path}: {error}", value=error.value) from error

    @classmethod
    def load(
        cls,
        document: str | bytes,
        ceiling: float = CEILING,
        *,
        digest: str | None = None,
        most_bytes: int = DOCUMENT_BYTES,
        most_cells: int = MOST_CELLS,
    ) -> Question:
        """Read a question on a device, which decides itself how much it is willing to reveal.

        Refuses a question that would reveal more than ``ceiling`` by all that one person ever sends
        (``total_epsilon``), or that divides people into more than ``most_cells`` segments.
        ``digest`` is that of the question which the device was told to answer; a document with
        another is refused.
        """
        question = cls.from_json(document, most_bytes=most_bytes)
        limit, total = check_epsilon(ceiling), question.total_epsilon
        question.segments.check(most_cells)
        if total > limit:
            raise InvalidDocument(
                f"this question reveals up to epsilon = {total:g}, more than the ceiling of "
                f"{limit:g}; do not answer it, or raise the ceiling by name",
                value=total,
            )
        if digest is not None and digest != question.digest:
            raise InvalidDocument(
                f"expected the question {brief(digest)}, got {question.digest}; answer only the "
                "question that was named",
                value=question.digest,
            )
        return question

    @staticmethod
    def from_json(text: str | bytes, *, most_bytes: int = MOST_BYTES) -> Question:
        """Read a question, refusing one that was altered or that this version cannot answer.

        This is the analyst's door and has no ceiling on epsilon; a device uses ``load``.
        """
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        document = documents.read_document(data, most_bytes, _FORMAT, tuple(_FIELDS))
        claimed = document.pop("digest", None)
        documents.check_fields(document, *_FIELDS[int(document["version"])])
        found = sha256(canonical_json(document)).hexdigest()
        if claimed != found:
            raise InvalidDocument(
                f"expected the digest {str(claimed)[:80]}, got {found}; the question was altered: "
                "create a new one instead of editing it, or reports and tallies will not match",
                value=found,
            )
        try:
            # A package that brings a kind of answers may bring its protocol along.
            answers = _read_answers(document)
            protocol = Protocol.from_specification(document["protocol"])
            again = Repeat.from_document(document.get("repeat"))
            groups = Segments.from_document(document.get("segments", []))
            question = Question(document["name"], answers, protocol, repeat=again, segments=groups)
        except InvalidParameter as error:
            raise InvalidDocument(f"{error} (in the question)") from error
        if question.digest != found:
            raise InvalidDocument(
                "this is not the form in which deniable writes the question; create it anew, and "
                "do not edit the file",
                value=found,
            )
        return question

    def client(self, secret: bytes) -> Respondent:
        """Return a client for people who answer again, bound to this question by its digest.

        Only protocols that memoise have one. Better still, let people answer once: keep the report
        until it is delivered, send the same bytes on a retry, and nothing after.
        """
        if not isinstance(self.protocol, Memoising):
            raise InvalidParameter(
                f"{self.protocol.name} is for people who answer once: keep the report, and send "
                "the same bytes on a retry; people who answer again need a protocol that "
                "memoises, such as BasicRAPPOR",
                value=self.protocol,
            )
        return Respondent(self, self.protocol.client(secret, context=self.digest))

    def takes(self, answer: object) -> bool:
        """Tell whether something is an answer that ``values`` takes."""
        return self.answers.takes(answer)

    def values(
        self, answers: Iterable[object], rng: np.random.Generator | Source | None = None
    ) -> np.typing.NDArray[np.uint64]:
        """Return the protocol's value of each answer, or name the first position that has none.

        Errors never hold an answer, since they may leave the device by way of a log.
        """
        return self.answers.encode(answers, rng)

    def privatize(
        self, answers: Iterable[object], rng: np.random.Generator | Source | None = None
    ) -> Reports:
        """Turn each answer into a deniable report."""
        return randomise(self.protocol, self.answers.encode(answers, rng), rng)

    def parse(self, data: bytes, count: int | None = 1) -> Reports:
        """Turn untrusted bytes into exactly ``count`` reports, or with None into any number."""
        return self.protocol.parse(data, count)

    def accumulator(self) -> Accumulator:
        """Return an empty accumulator whose tallies remember the question."""
        return Accumulator(self.protocol, self.digest)

    def tally(self, reports: Reports | Iterable[Reports]) -> Tally:
        """Sum up reports; the tally remembers the question."""
        return self.accumulator().take(reports).tally()

    def estimate(
        self,
        tally: Tally,
        candidates: Sequence[str] | None = None,
        *,
        people: int | None = None,
        rounds: int | None = None,
    ) -> Estimates:
        """Estimate how many people gave each answer; an open question needs ``candidates``.

        Of a closed question ``candidates`` are some of the labels. A protocol that memoises is for
        people who answer again, whose reports are not independent: it takes ``rounds``, in how many
        of them the reports came (1 if everybody answered once), none with two reports of one
        person, or where that is known ``people``, how many sent about as many reports each.
        """
        if isinstance(self.protocol, Memoising) and people is None and rounds is None:
            raise InvalidParameter(
                f"expected rounds= or people= for {self.protocol.name}, whose people may answer "
                "again, got neither; say in how many rounds the reports came, 1 if everybody "
                "answered once, or how many people sent them"
            )
        self._check_own(tally)
        among = self.answers.candidates(candidates)
        found = self.protocol.estimate(tally, among, people=people, rounds=rounds)
        return self.answers.results(replace(found, provenance=self.provenance), candidates)

    def discover(
        self,
        tally: Tally,
        candidates: Sequence[str] | None = None,
        *,
        alpha: float = 0.05,
        rate: float = 0.1,
    ) -> Discoveries[Question]:
        """Find the frequent texts that nobody listed, and count the ``candidates`` beside them.

        At most ``alpha`` texts that nobody gave are expected among the sure ones, and about a
        ``rate`` of the longer list. Choose candidates without a look at the reports.
        """
        from deniable import discoveries  # noqa: PLC0415 - large, and few questions need it

        self._check_own(tally)
        code = getattr(self.answers, "discover", None)
        ask = partial(Question, self.name)
        subject = discoveries.Subject(self.protocol, code, self.provenance, ask)
        return discoveries.discover(subject, tally, candidates, alpha=alpha, rate=rate)

    def _check_own(self, tally: Tally) -> None:
        if isinstance(tally, Tally) and tally.question not in (None, self.digest):
            raise IncompatibleTally(
                f"expected a tally of the question {self.digest}, got one of {tally.question}; "
                "estimate with the question that it was collected for",
                value=tally.question,
            )


@dataclass(frozen=True)
class Respondent:
    """One person's device that answers one question again and again."""

    question: Question
    client: Client

    def privatize(
        self, answers: Iterable[object], rng: np.random.Generator | Source | None = None
    ) -> Reports:
        """Turn each answer into a report; equal answers share their permanent response."""
        return self.client.privatize(self.question.values(answers, rng), rng)


def _answers(given: Answers | Sequence[str] | None, other: str | None) -> Answers:
    """Return the kind of answers that a caller means."""
    if given is not None and not isinstance(given, Answers):
        return Choice(given, other)
    if other is not None:
        raise InvalidParameter(
            "other belongs to a list of labels: a question for any text needs none, and a Choice "
            "has its own, as in Choice(labels, other)",
            value=other,
        )
    return find_kind("text")() if given is None else given


def _given(epsilon: float | None) -> float:
    if epsilon is None:
        raise InvalidParameter(
            "a question needs a protocol or an epsilon; pass epsilon=1.0, and the best protocol "
            "is chosen"
        )
    return epsilon


def _read_answers(document: dict[str, Any]) -> Answers:
    """Return what an answer is by a document of either version."""
    if document["version"] == 1:
        return _answers(document["labels"], document["other"])
    return Answers.from_document(document["answers"])
