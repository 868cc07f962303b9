"""Choice: one of a list of labels, with or without a label for all other answers."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from deniable.answers.base import Answers, list_texts
from deniable.documents import encodes
from deniable.errors import InvalidParameter, OutOfDomain, brief
from deniable.protocol import Closed, Goal, Open, Protocol
from deniable.randomness import Source

_FEW, _SHORT = 8, 120


@dataclass(frozen=True, repr=False)
class Choice(Answers):
    """One of the ``labels``, in this order; the value of a label is its place.

    Answers that are not among the labels are refused, unless ``other`` names the label that stands
    for them.

    >>> Choice(("kiwi", "fig", "other"), other="other").encode(["fig", "plum"]).tolist()
    [1, 2]
    """

    labels: tuple[str, ...]
    other: str | None = None

    textual = True

    if TYPE_CHECKING:

        def __init__(self, labels: Sequence[str], other: str | None = None) -> None:
            """Take any sequence of labels, which is kept as a tuple."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", check_labels(self.labels))
        if self.other is not None and (
            not isinstance(self.other, str) or self.other not in self._index
        ):
            wanted = "other to be one of the labels"
            raise InvalidParameter.expected(wanted, self.other, "add it to them")

    def __repr__(self) -> str:
        """Return a short line, however many labels there are."""
        other = "" if self.other is None else f", other={brief(self.other)}"
        return f"Choice({few_labels(self.labels)}{other})"

    @cached_property
    def _index(self) -> dict[object, int]:
        return {label: i for i, label in enumerate(self.labels)}

    @property
    def value_count(self) -> int:
        return len(self.labels)

    @property
    def wanted(self) -> str:
        return f"one of the {len(self.labels):,} labels"

    def value(self, answer: object) -> int | None:
        if not isinstance(answer, str):
            return None
        elsewhere = None if self.other is None else self._index[self.other]
        return self._index.get(answer, elsewhere)

    def encode(
        self, answers: Iterable[object], rng: "np.random.Generator | Source | None" = None
    ) -> np.typing.NDArray[np.uint64]:
        del rng
        # Most come as a list of strings, and a device has one: nothing is called for each.
        plain = type(answers) is list and set(map(type, answers)) == {str}
        listed = answers if plain else list_texts(answers)
        missing = -1 if self.other is None else self._index[self.other]
        found = list(map(self._index.get, listed, repeat(missing)))
        if missing < 0 and -1 in found:
            position = found.index(-1)
            raise OutOfDomain(
                f"expected {self.wanted}; the answer at position {position} is none of them: "
                "correct it, or make the question with an other label for such answers",
                value=position,
            )
        return np.array(found, dtype=np.uint64)

    def suggest(self, epsilon: float, goal: Goal = "mean") -> Protocol:
        from deniable.advice.ranking import recommend  # noqa: PLC0415 - few questions need advice

        return recommend(epsilon, len(self.labels), goal=goal).best.protocol

    def check(self, protocol: Protocol) -> None:
        if not isinstance(protocol, Closed | Open):
            raise InvalidParameter(
                f"expected a protocol for one of {len(self.labels):,} labels, got {protocol.name}, "
                "which is for other answers; leave it out and give epsilon=",
                value=protocol,
            )
        if isinstance(protocol, Open):
            raise InvalidParameter(
                f"expected no labels for {protocol.name}, which is open, got {len(self.labels):,}; "
                "leave them out, or take a closed protocol",
                value=protocol,
            )
        if protocol.domain_size != len(self.labels):
            raise InvalidParameter.expected(
                f"{protocol.domain_size} labels, one for each value of the protocol",
                len(self.labels),
                f"make the protocol with domain_size={len(self.labels)}",
            )

    def first_form(self) -> dict[str, object]:
        return {"labels": list(self.labels), "other": self.other}


def few_labels(labels: tuple[str, ...]) -> str:
    """Return labels as Python writes them, of many only the first two.

    >>> few_labels(("kiwi", "fig"))
    "('kiwi', 'fig')"
    >>> few_labels(tuple(map(str, range(30_000))))
    "('0', '1', … 30,000 labels)"
    """
    if len(labels) <= _FEW and len(repr(labels)) <= _SHORT:
        return repr(labels)
    return f"({', '.join(map(brief, labels[:2]))}, … {len(labels):,} labels)"


def check_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of a question, each a string of its own, or say what is wrong with them."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        wanted = "a sequence of labels"
        raise InvalidParameter.expected(wanted, labels, "pass a tuple of strings")
    result = tuple(labels)
    sound = all(isinstance(label, str) for label in result) and encodes("".join(result))
    for label in () if sound else result:
        if not isinstance(label, str) or not encodes(label):
            raise InvalidParameter.expected("labels as strings that UTF-8 can encode", label)
    if len(set(result)) != len(result):
        twice = Counter(result).most_common(1)[0][0]
        raise InvalidParameter(
            f"expected each label once, got {twice[:80]!r} more than once; drop the repeats",
            value=twice,
        )
    return tuple(str(label) for label in result)
