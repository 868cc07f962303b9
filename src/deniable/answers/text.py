"""Text: any text is an answer, and the answers to count are named at estimation, or discovered."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from deniable.answers.base import Answers, list_texts
from deniable.candidates import FINGERPRINTS, Candidates, fingerprint, fingerprints
from deniable.documents import encodes
from deniable.errors import InvalidDocument, InvalidParameter, OutOfDomain
from deniable.estimates import Estimates
from deniable.protocol import Goal, Open, Protocol
from deniable.protocols.discovery import Code, Discovery
from deniable.protocols.hashing import OpenLH
from deniable.randomness import Source


@dataclass(frozen=True)
class Text(Answers):
    """Any text; its value is its 64-bit fingerprint.

    With ``discover``, a public code or the name of one that comes with the package, its value is
    its code instead, and frequent texts are found that nobody listed.

    >>> Text().encode(["kiwi", "fig"]).dtype
    dtype('uint64')
    >>> Text(discover="english").encode(["kiwi", "fig"]).shape
    (2, 3)
    """

    discover: Code | None = None

    textual = True
    optional = "discover"
    labels = None
    value_count = FINGERPRINTS

    if TYPE_CHECKING:

        def __init__(self, discover: Code | str | None = None) -> None:
            """Take a code, or the name of one."""

    def __post_init__(self) -> None:
        given: object = self.discover
        if isinstance(given, str):
            object.__setattr__(self, "discover", Code.preset(given))
        elif isinstance(given, Mapping):  # as documents have it
            if set(given) != {"code"}:
                raise InvalidDocument("expected discover as an object with a code")
            object.__setattr__(self, "discover", Code.from_document(given["code"]))
        elif given is not None and not isinstance(given, Code):
            raise InvalidParameter.expected(
                "discover as a code, or the name of one", given, 'such as "english"'
            )

    @property
    def build(self) -> str:
        return self.kind if self.discover is None else "discover"

    @property
    def wanted(self) -> str:
        return "a text that UTF-8 can encode" if self.discover is None else "a text"

    @property
    def value_dtype(self) -> np.dtype[np.generic]:
        return np.dtype(np.uint64 if self.discover is None else (np.uint64, (3,)))

    def value(self, answer: object) -> int | Sequence[int] | None:
        if not isinstance(answer, str) or not self.takes(answer):
            return None
        return fingerprint(answer) if self.discover is None else self.discover.value(answer)

    def takes(self, answer: object) -> bool:
        """Tell whether something is a text; one that is to be discovered is never refused."""
        return isinstance(answer, str) and (self.discover is not None or encodes(answer))

    def encode(
        self, answers: Iterable[object], rng: "np.random.Generator | Source | None" = None
    ) -> np.typing.NDArray[np.uint64]:
        """Return the fingerprint of each answer, or its code."""
        del rng
        listed = list_texts(answers)
        if self.discover is not None:
            return self.discover.values(listed)
        check_encodes(listed)
        return fingerprints(listed)

    def suggest(self, epsilon: float, goal: Goal = "mean") -> Protocol:
        del goal  # there is one protocol for texts that nobody listed
        return OpenLH(epsilon) if self.discover is None else Discovery(epsilon)

    def check(self, protocol: Protocol) -> None:
        """Refuse a protocol that has to know the answers beforehand, or takes other values."""
        if isinstance(protocol, Discovery) != (self.discover is not None):
            raise InvalidParameter(
                "texts that are to be discovered need the protocol Discovery, and it needs a code: "
                'make the question with Text(discover="english") and epsilon=',
                value=protocol,
            )
        if not isinstance(protocol, Open):
            raise InvalidParameter(
                f"expected labels for {protocol.name}, which is closed, got none; list the "
                "answers, or take OpenLH or RAPPOR",
                value=protocol,
            )

    def candidates(self, wanted: Sequence[str] | None) -> Candidates | None:
        """Return the texts themselves, or their codes where texts are to be discovered."""
        if self.discover is None or wanted is None:
            return wanted
        if isinstance(wanted, str) or not isinstance(wanted, Collection) or not len(wanted):
            raise InvalidParameter("expected candidates as a list of texts", value=None)
        listed = list_texts(wanted)
        check_encodes(listed)  # what a device reads is never refused, but these become labels
        # Two spellings that are read as one text would be counted twice.
        if len({self.discover.clean(text) for text in listed}) < len(listed):
            raise InvalidParameter(
                "expected each candidate once; letters that Unicode has two forms of, capital ones "
                "with a folded code, and what is beyond 1,024 bytes do not make another text",
                value=None,
            )
        return self.discover.values(listed)

    def results(self, found: Estimates, wanted: Sequence[str] | None) -> Estimates:
        """Return the estimates of the candidates, and how many people gave none of them."""
        named = found
        if self.discover is not None and wanted is not None:
            named = replace(found, labels=tuple(map(str, wanted)))
        if found.joint is None:
            return named
        some = found.combined(np.ones((1, len(found))), ["none of these candidates"])
        return replace(named, rest=replace(some, counts=found.n - some.counts))

    def document(self) -> dict[str, object]:
        code = {} if self.discover is None else {"discover": {"code": self.discover.document()}}
        return {"kind": self.kind, **code}

    def first_form(self) -> dict[str, object] | None:
        return {"labels": None, "other": None} if self.discover is None else None


def check_encodes(texts: Sequence[str]) -> None:
    """Refuse texts that no file can hold, without saying what they are."""
    if not encodes("".join(texts)):
        position = next((i for i, text in enumerate(texts) if not encodes(text)), 0)
        raise OutOfDomain(
            "expected answers that UTF-8 can encode; the one at position "
            f"{position} has half of a surrogate pair: write the character itself",
            value=position,
        )
