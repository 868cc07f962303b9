"""Text: any text is an answer, and the answers to count are named at estimation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable.answers.base import Answers, list_texts
from deniable.candidates import FINGERPRINTS, fingerprint, fingerprints
from deniable.documents import encodes
from deniable.errors import InvalidParameter, OutOfDomain
from deniable.estimates import Estimates
from deniable.protocol import Open, Protocol
from deniable.protocols.hashing import OpenLH
from deniable.randomness import Source

if TYPE_CHECKING:
    from deniable.advice.ranking import Goal


@dataclass(frozen=True)
class Text(Answers):
    """Any text; its value is its 64-bit fingerprint.

    >>> Text().encode(["kiwi", "fig"]).dtype
    dtype('uint64')
    """

    textual = True
    labels = None
    value_count = FINGERPRINTS
    wanted = "a text that UTF-8 can encode"

    def value(self, answer: object) -> int | None:
        return fingerprint(answer) if isinstance(answer, str) and encodes(answer) else None

    def takes(self, answer: object) -> bool:
        return isinstance(answer, str) and encodes(answer)

    def encode(
        self, answers: Iterable[object], rng: "np.random.Generator | Source | None" = None
    ) -> np.typing.NDArray[np.uint64]:
        del rng
        listed = list_texts(answers)
        if not encodes("".join(listed)):
            position = next(i for i, answer in enumerate(listed) if not encodes(answer))
            raise OutOfDomain(
                "expected answers that UTF-8 can encode; the one at position "
                f"{position} has half of a surrogate pair: write the character itself",
                value=position,
            )
        return fingerprints(listed)

    def suggest(self, epsilon: float, goal: "Goal" = "mean") -> Protocol:
        return OpenLH(epsilon)

    def check(self, protocol: Protocol) -> None:
        if not isinstance(protocol, Open):
            raise InvalidParameter(
                f"expected labels for {protocol.name}, which is closed, got none; list the "
                "answers, or take OpenLH or RAPPOR",
                value=protocol,
            )

    def candidates(self, wanted: Sequence[str] | None) -> Sequence[str] | None:
        return wanted

    def results(self, found: Estimates, wanted: Sequence[str] | None) -> Estimates:
        """Return the estimates as they are: the protocol was given the names of the rows."""
        return found

    def first_form(self) -> dict[str, object]:
        return {"labels": None, "other": None}
