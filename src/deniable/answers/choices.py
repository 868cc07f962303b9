"""Choices: some of a list of labels, up to a limit, in no order.

::

    plug-ins ["git", "vim"] of at most 4 --encode--> [3, 17, d, d + 1]: two items and two dummies

A set with more labels than that is cut, unless it is refused: the device draws a word w before it
looks at the answer, gives the item i the key word(w, i) of ``deniable.kernels.hashes``, and keeps
the items with the smallest keys.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np

from deniable.answers.base import Answers, list_answers, refused
from deniable.answers.choice import check_labels, few_labels
from deniable.candidates import Candidates
from deniable.errors import InvalidParameter, OutOfDomain
from deniable.estimates import Estimates
from deniable.kernels.hashes import words_of
from deniable.presentation.view import counted
from deniable.protocol import Goal, Protocol
from deniable.protocols.sets import SetEstimates, Sets, check_at_most, count_sets
from deniable.randomness import Source, open_source
from deniable.validation import check_domain_size

Places = np.typing.NDArray[np.int64]

_SEPARATOR = ";"


@dataclass(frozen=True, repr=False)
class Choices(Answers):
    """Up to ``at_most`` of the ``labels``; none at all is an answer, too.

    An answer is a list of labels, or text: a JSON list, or labels with semicolons between them. Of
    a larger set that many are kept, at random; with ``cut=False`` it is refused.

    >>> Choices(("git", "vim", "tmux"), at_most=2).encode([["vim"], "git;tmux", []]).tolist()
    [[1, 3], [0, 2], [3, 4]]
    """

    labels: tuple[str, ...]
    at_most: int
    cut: bool = True

    drawn = True

    if TYPE_CHECKING:

        def __init__(self, labels: Sequence[str], at_most: int, cut: bool = True) -> None:
            """Take any sequence of labels, which is kept as a tuple."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", check_labels(self.labels))
        most = check_at_most(self.at_most, check_domain_size(len(self.labels)))
        object.__setattr__(self, "at_most", most)
        if not isinstance(self.cut, bool):
            raise InvalidParameter.expected(
                "cut as True or False", self.cut, "True cuts larger sets, False refuses them"
            )

    def __repr__(self) -> str:
        cut = "" if self.cut else ", cut=False"
        return f"Choices({few_labels(self.labels)}, at_most={self.at_most}{cut})"

    @cached_property
    def _index(self) -> dict[object, int]:
        return {label: i for i, label in enumerate(self.labels)}

    @property
    def value_count(self) -> int:
        return count_sets(len(self.labels), self.at_most)

    @property
    def value_dtype(self) -> np.dtype[np.generic]:
        return np.dtype((np.uint64, (self.at_most,)))

    @property
    def wanted(self) -> str:
        most = "any" if self.cut else f"at most {self.at_most}"
        return f"a list of {most} of the {len(self.labels):,} labels, none of them twice"

    def value(self, answer: object) -> Sequence[int] | None:
        try:
            return [int(point) for point in self.encode([answer])[0]]
        except OutOfDomain:
            return None

    def read(self, text: str) -> object:
        """Return the list that a text stands for: JSON, or labels between semicolons.

        No text at all is the list of none.
        """
        stripped = text.strip()
        if stripped.startswith("["):
            try:
                return json.loads(stripped)
            except (ValueError, RecursionError):
                return None
        return [part.strip() for part in text.split(_SEPARATOR)] if stripped else []

    def encode(
        self, answers: Iterable[object], rng: "np.random.Generator | Source | None" = None
    ) -> np.typing.NDArray[np.uint64]:
        """Return the items of each answer in ascending order, and dummies for those missing.

        ``rng`` draws which items stay of a set that is too large.
        """
        listed = list_answers(answers)
        sets = [self._set_of(answer) for answer in listed]
        sizes = np.fromiter(map(len, sets), np.int64, len(sets))
        found = map(self._index.get, chain.from_iterable(sets), repeat(-1))
        items = np.fromiter(found, np.int64, int(sizes.sum()))
        person = np.repeat(np.arange(len(sets)), sizes)
        wrong = person[items < 0].tolist()
        order = np.argsort(person * len(self.labels) + items)
        items = items[order]
        wrong += person[1:][(items[1:] == items[:-1]) & (person[1:] == person[:-1])].tolist()
        if not self.cut:
            wrong += np.flatnonzero(sizes > self.at_most).tolist()
        if wrong:
            raise refused(f"that are {self.wanted}", listed[min(wrong)], min(wrong))
        if self.cut:
            words = open_source(rng).bytes(8 * len(sets)).view("<u8")
            items, person = self._kept(items, person, words)
            sizes = np.minimum(sizes, self.at_most)
        rows = self._dummies[sizes]
        first = np.cumsum(sizes) - sizes
        rows[person, np.arange(len(items)) - first[person]] = items
        return rows

    def _set_of(self, answer: object) -> list[str | None]:
        """Return what an answer lists, with None for what is no text or no list."""
        found = self.read(answer) if isinstance(answer, str) else answer
        found = found.tolist() if isinstance(found, np.ndarray) else found
        if not isinstance(found, list | tuple | set | frozenset):
            return [None]
        return [each if isinstance(each, str) else None for each in found]

    def _kept(
        self,
        items: np.typing.NDArray[np.int64],
        person: np.typing.NDArray[np.int64],
        words: np.typing.NDArray[np.uint64],
    ) -> tuple[np.typing.NDArray[np.int64], np.typing.NDArray[np.int64]]:
        """Return the items with the smallest keys of each person, and whose they are."""
        keys = words_of(words[person], items.astype(np.uint64))
        order = np.lexsort([keys, person])
        place = np.empty(len(items), np.int64)
        place[order] = np.arange(len(items)) - np.searchsorted(person, person)
        stay = place < self.at_most
        return items[stay], person[stay]

    @cached_property
    def _dummies(self) -> np.typing.NDArray[np.uint64]:
        """The rows of sets of each size, with nothing in the place of items."""
        most, rows = self.at_most, np.zeros((self.at_most + 1, self.at_most), np.uint64)
        for size in range(most):
            rows[size, size:] = len(self.labels) + np.arange(most - size)
        return rows

    def true_counts(self, values: np.typing.NDArray[np.integer]) -> np.typing.NDArray[np.float64]:
        items = values.astype(np.int64).ravel()
        return super().true_counts(items[items < len(self.labels)])

    def suggest(self, epsilon: float, goal: Goal = "mean") -> Protocol:
        from deniable.advice.ranking import recommend  # noqa: PLC0415 - few questions need advice

        del goal  # settings are chosen for rare items, and that is what decides
        advice = recommend(epsilon, len(self.labels), goal="rare", at_most=self.at_most)
        return advice.best.protocol

    def check(self, protocol: Protocol) -> None:
        """Refuse a protocol for other sets, or for no sets."""
        mine = (len(self.labels), self.at_most)
        if not isinstance(protocol, Sets) or (protocol.domain_size, protocol.at_most) != mine:
            raise InvalidParameter(
                f"expected a protocol for sets of at most {mine[1]} of {mine[0]:,} items, got "
                f"{protocol!r}; leave it out and give epsilon=, and the best one is chosen",
                value=protocol,
            )

    def cell(self, protocol: Protocol, place: int) -> str:
        """Return the label of an item; a dummy is there where people gave few answers."""
        if place < len(self.labels):
            return super().cell(protocol, place)
        most = self.at_most - 1 - (place - len(self.labels))
        return f"at most {counted(most, 'answer')}" if most else "no answer"

    def candidates(self, wanted: Sequence[str] | None) -> Candidates | None:
        """Return the places of the wanted labels, so that no others need be counted."""
        if wanted is None or isinstance(wanted, str) or not set(wanted) <= set(self.labels):
            return None  # and the results refuse what is no list of labels
        return [self._index[label] for label in wanted]

    def results(self, found: Estimates, wanted: Sequence[str] | None) -> Estimates:
        if isinstance(found, SetEstimates):
            found = replace(found, cuts=self.cut)
        some = wanted is not None and len(found) < len(self.labels)
        named = replace(found, labels=tuple(wanted or ()) if some else self.labels, values=None)
        return named if wanted is None or some else named.select(wanted)
