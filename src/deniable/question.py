"""Question: what is asked, which answers there are, and the protocol that hides them.

A question is one JSON document; the SHA-256 digest of its canonical form is checked on both sides,
so that a client and a server with different parameters can never be mixed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import overload

import numpy as np
import numpy.typing as npt

import deniable.protocols  # noqa: F401 - a question may be of any of them
from deniable.candidates import check_labels, few_labels, fingerprints
from deniable.documents import (
    MOST_BYTES,
    PathName,
    canonical_json,
    encodes,
    extent,
    read_document,
    read_file,
    returned,
)
from deniable.errors import (
    IncompatibleTally,
    InvalidDocument,
    InvalidParameter,
    OutOfDomain,
    brief,
)
from deniable.estimates import Estimates, Provenance
from deniable.mechanism import Reports
from deniable.policy import CEILING, DOCUMENT_BYTES
from deniable.protocol import Client, Memoising, Protocol, batches_of
from deniable.pure import Closed
from deniable.randomness import Source
from deniable.tally import Accumulator, Tally
from deniable.validation import check_answers, check_epsilon

_FORMAT = "deniable-question"
_VERSION = 1
_FIELDS = {"format", "version", "name", "labels", "other", "protocol"}
_LARGEST_PROTOCOL = 1000


@dataclass(frozen=True, repr=False)
class Question:
    """A name, the labels of the answers, and a protocol.

    ``labels`` are the answers of a closed question, one for each value of the protocol, in order;
    None makes the question open. Answers that are not among the labels are refused, unless
    ``other`` names the label that stands for them.

    >>> from deniable import OUE
    >>> fruit = Question("fruit", ("kiwi", "fig", "other"), OUE(1.0, 3), other="other")
    >>> tally = fruit.tally(fruit.privatize(["kiwi", "plum", "fig"]))
    >>> fruit.estimate(tally).labels
    ('kiwi', 'fig', 'other')
    >>> Question.from_json(fruit.to_json()) == fruit
    True
    """

    name: str
    labels: tuple[str, ...] | None
    protocol: Protocol
    other: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or not encodes(self.name):
            raise InvalidParameter(
                "expected a name as a string that is not empty and that UTF-8 can encode, got "
                f"{brief(self.name)}",
                value=self.name,
            )
        if not isinstance(self.protocol, Protocol):
            raise InvalidParameter(
                f"expected a protocol, got {type(self.protocol).__name__}; for example "
                "deniable.OUE(epsilon=1.0, domain_size=len(labels))",
                value=self.protocol,
            )
        if self.labels is not None:
            object.__setattr__(self, "labels", check_labels(self.labels))
        self._check_openness()
        if self.other is not None and (
            not isinstance(self.other, str) or self.other not in self._index
        ):
            raise InvalidParameter(
                f"expected other to be one of the labels, got {brief(self.other)}; add it to them",
                value=self.other,
            )

    def _check_openness(self) -> None:
        closed = isinstance(self.protocol, Closed)
        if closed != (self.labels is not None):
            raise InvalidParameter.expected(
                "labels for a closed protocol and none for an open one",
                self.protocol,
                "an open question takes OpenLH or RAPPOR",
                came=f"{self.protocol.name} with {'no ' if self.labels is None else ''}labels",
            )
        if (
            self.labels is not None
            and isinstance(self.protocol, Closed)
            and len(self.labels) != self.protocol.domain_size
        ):
            raise InvalidParameter.expected(
                f"{self.protocol.domain_size} labels, one for each value of the protocol",
                len(self.labels),
                f"make the protocol with domain_size={len(self.labels)}",
            )
        if self.labels is None and self.other is not None:
            raise InvalidParameter(
                "expected no other label in an open question, which takes any answer",
                value=self.other,
            )

    def __repr__(self) -> str:
        """Return a short line, however many labels there are."""
        other = "" if self.other is None else f", other={brief(self.other)}"
        return f"Question({brief(self.name)}, {few_labels(self.labels)}, {self.protocol!r}{other})"

    @cached_property
    def _index(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels or ())}

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
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "name": self.name,
            "labels": None if self.labels is None else list(self.labels),
            "other": self.other,
            "protocol": self.protocol.specification(),
        }

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: PathName) -> None: ...
    def to_json(self, path: PathName | None = None) -> str | None:
        """Return or write the question as JSON for people to read, its digest included."""
        document = {**self._document(), "digest": self.digest}
        return returned(json.dumps(document, indent=2, ensure_ascii=False) + "\n", path)

    @classmethod
    def open(cls, path: PathName) -> Question:
        """Read the question in a file, as ``from_json`` does; errors name the file."""
        try:
            return cls.from_json(read_file(path))
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
    ) -> Question:
        """Read a question on a device, which decides itself how much it is willing to reveal.

        Refused is a question whose answer would reveal more than ``ceiling``: the epsilon of one
        report or, where the protocol memoises, of any number of them. ``digest`` is that of the
        question which the device was told to answer; a document with another is refused.
        """
        question = cls.from_json(document, most_bytes=most_bytes)
        limit, total = check_epsilon(ceiling), question.protocol.total_epsilon
        if total > limit:
            raise InvalidDocument.expected(
                f"a question that reveals at most epsilon = {limit:g}",
                total,
                "do not answer it, or raise the ceiling by name",
                came=f"one that reveals {total:g}",
            )
        if digest is not None and digest != question.digest:
            raise InvalidDocument.expected(
                f"the question {brief(digest)}",
                question.digest,
                "answer only the question that was named",
                came=question.digest,
            )
        return question

    @staticmethod
    def from_json(text: str | bytes, *, most_bytes: int = MOST_BYTES) -> Question:
        """Read a question, refusing one that was altered or that this version cannot answer.

        This is the analyst's door and has no ceiling on epsilon; a device uses ``load``.
        """
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        document = read_document(data, most_bytes, _FORMAT, _VERSION)
        claimed = document.pop("digest", None)
        _check_structure(document)
        found = sha256(canonical_json(document)).hexdigest()
        if claimed != found:
            raise InvalidDocument.expected(
                f"the digest {str(claimed)[:80]}",
                found,
                "the question was altered: create a new one instead of editing it, or reports and "
                "tallies will not match",
                came=found,
            )
        try:
            question = Question(
                document["name"],
                document["labels"],
                Protocol.from_specification(document["protocol"]),
                document["other"],
            )
        except InvalidParameter as error:
            raise InvalidDocument(f"{error} (in the question)", value=None) from error
        if question.digest != found:
            raise InvalidDocument("expected a question in canonical form", value=found)
        return question

    def client(self, secret: bytes) -> Respondent:
        """Return a client for people who answer again, bound to this question by its digest.

        Only protocols that memoise have one. Better still, let people answer once: keep the report
        until it is delivered, send the same bytes on a retry, and nothing after.
        """
        if not isinstance(self.protocol, Memoising):
            raise InvalidParameter.expected(
                "a protocol that memoises, such as BasicRAPPOR, for people who answer again",
                self.protocol,
                "let a person answer once: keep the report, and send the same bytes on a retry",
                came=self.protocol.name,
            )
        return Respondent(self, self.protocol.client(secret, context=self.digest))

    def takes(self, answer: object) -> bool:
        """Tell whether something is an answer that ``values`` takes."""
        if not isinstance(answer, str):
            return False
        if self.labels is None:
            return encodes(answer)
        return self.other is not None or answer in self._index

    def values(self, answers: Iterable[object]) -> npt.NDArray[np.uint64]:
        """Return the protocol's value of each answer, or say which position has none.

        Errors never hold an answer, since they may leave the device by way of a log.
        """
        listed = check_answers(answers)
        if self.labels is None:
            if not encodes("".join(listed)):
                position = next(i for i, answer in enumerate(listed) if not encodes(answer))
                raise OutOfDomain(
                    "expected answers that UTF-8 can encode; the one at position "
                    f"{position} has half of a surrogate pair: write the character itself",
                    value=position,
                )
            return fingerprints(listed)
        missing = -1 if self.other is None else self._index[self.other]
        found = [self._index.get(answer, missing) for answer in listed]
        if missing < 0 and -1 in found:
            position = found.index(-1)
            raise OutOfDomain(
                f"expected one of the {len(self.labels)} labels of {self.name!r}; the answer at "
                f"position {position} is none of them: correct it, or make the question with an "
                "other label for such answers",
                value=position,
            )
        return np.array(found, dtype=np.uint64)

    def privatize(
        self, answers: Iterable[object], rng: np.random.Generator | Source | None = None
    ) -> Reports:
        """Turn each answer into a deniable report."""
        return self.protocol._randomise(self.values(answers), rng)

    def parse(self, data: bytes, count: int | None = 1) -> Reports:
        """Turn untrusted bytes into exactly ``count`` reports, or with None into any number."""
        return self.protocol.parse(data, count)

    def accumulator(self) -> Accumulator:
        """Return an empty accumulator whose tallies remember the question."""
        return Accumulator(self.protocol, self.digest)

    def tally(self, reports: Reports | Iterable[Reports]) -> Tally:
        """Sum up reports; the tally remembers the question."""
        accumulator = self.accumulator()
        for batch in batches_of(reports):
            accumulator.add(batch)
        return accumulator.tally()

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
                "answered once, or how many people sent them",
                value=None,
            )
        if isinstance(tally, Tally) and tally.question not in (None, self.digest):
            raise IncompatibleTally.expected(
                f"a tally of the question {self.digest}",
                tally.question,
                "estimate with the question that it was collected for",
                came=f"one of {tally.question}",
            )
        among = None if self.labels is not None else candidates
        found = self.protocol.estimate(tally, among, people=people, rounds=rounds)
        found = replace(found, provenance=self.provenance)
        if self.labels is None:
            return found
        named = replace(found, labels=self.labels)
        return named if candidates is None else named.select(candidates)


@dataclass(frozen=True)
class Respondent:
    """One person's device that answers one question again and again."""

    question: Question
    client: Client

    def privatize(
        self, answers: Iterable[object], rng: np.random.Generator | Source | None = None
    ) -> Reports:
        """Turn each answer into a report; equal answers share their permanent response."""
        return self.client.privatize(self.question.values(answers), rng)


def _check_structure(document: dict[str, object]) -> None:
    """Refuse a document whose fields are not of the kinds that they must be.

    Then its canonical form takes no longer than reading it did: strings, and little else.
    """
    labels, texts = document.get("labels"), (document.get("name"), document.get("other"))
    kinds = isinstance(labels, list | None) and all(isinstance(text, str | None) for text in texts)
    listed = not isinstance(labels, list) or all(isinstance(label, str) for label in labels)
    small = extent(document.get("protocol"), _LARGEST_PROTOCOL) <= _LARGEST_PROTOCOL
    if set(document) != _FIELDS or not (kinds and listed and small):
        raise InvalidDocument.expected(
            f"the fields {', '.join(sorted(_FIELDS))}, labels as a list of strings or null, and "
            f"a protocol of at most {_LARGEST_PROTOCOL} values",
            sorted(document),
            "check the file",
        )
