"""Ratings: how many stars a person gives each of some items, a row of whole numbers.

Encode   stars s_1, ..., s_k -> the row s_1 - 1, ..., s_k - 1
Perturb  draw an item j by lot, whatever the answer is; report j, and the stars of this item by
         direct encoding over m values with the whole epsilon
Support  of the reports on item j those with its stars, hence p* = p and q* = q among them
Privacy  the lot tells nothing, so the worst ratio is that of direct encoding, e^eps

Random bytes: two words. The first gives the item; the second is that of ``DE``.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from deniable.answers.base import Answers
from deniable.answers.choice import check_labels
from deniable.candidates import Chosen
from deniable.estimates import Estimates
from deniable.protocol import Protocol
from deniable.randomness import Direct, Uniform, Words
from deniable.tally import Counted
from deniable.validation import (
    Footprint,
    check_below,
    check_epsilon,
    check_rows,
    check_shares,
    check_whole,
    smallest_unsigned,
)


@dataclass(frozen=True)
class Ratings(Answers):
    """From 1 to ``stars`` stars for each of the ``items``: ``[5, 3]`` for two of them."""

    items: tuple[str, ...]
    stars: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", check_labels(self.items))
        check_whole("the number of items", len(self.items), 1, 64)
        check_whole("the number of stars", self.stars, 2, 100)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"{item}: {s + 1}" for item in self.items for s in range(self.stars))

    @property
    def value_count(self) -> int:
        return int(self.stars ** len(self.items))

    @property
    def value_dtype(self) -> np.dtype[np.generic]:
        return np.dtype((np.uint64, (len(self.items),)))

    @property
    def wanted(self) -> str:
        return f"a list of {len(self.items)} whole numbers from 1 to {self.stars}"

    def value(self, answer: object) -> list[int] | None:
        if not isinstance(answer, list) or len(answer) != len(self.items):
            return None
        sound = all(type(stars) is int and 1 <= stars <= self.stars for stars in answer)
        return [stars - 1 for stars in answer] if sound else None

    def suggest(self, epsilon: float, goal: str = "mean") -> Protocol:
        return RatingByLot(epsilon, len(self.items), self.stars)


@dataclass(frozen=True)
class RatingByLot(Counted, Protocol):
    """One of ``items`` ratings, drawn by lot, by direct encoding over ``stars`` values."""

    epsilon: float
    items: int
    stars: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_whole("items", self.items, 1, 64)
        check_whole("stars", self.stars, 2, 100)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(1.0, 2, 3), cls(0.5, 3, 2)]

    @cached_property
    def _weights(self) -> Direct:
        return Direct.at(self.epsilon, self.stars)

    @property
    def worst_ratio(self) -> Fraction:
        return self._weights.ratio

    @property
    def report_dtype(self):
        return smallest_unsigned(self.items * self.stars - 1)

    @property
    def value_count(self) -> int:
        return int(self.stars**self.items)

    @property
    def value_dtype(self) -> np.dtype[np.generic]:
        return np.dtype((np.uint64, (self.items,)))

    def numbered(self, numbers):
        rows = np.empty((len(numbers), self.items), dtype=np.uint64)
        for j in range(self.items):
            numbers, rows[:, j] = np.divmod(numbers, np.uint64(self.stars))
        return rows

    @cached_property
    def words(self) -> Words:
        return Words(2, Uniform(self.items).limits)

    def _details(self) -> dict[str, object]:
        return self._weights.document()

    def _check_values(self, values):
        return check_rows(values, self.stars, self.items)

    def _perturb(self, values, words):
        item = Uniform(self.items).of(words[:, 0])
        held = values[np.arange(len(values)), item.astype(np.intp)]
        code = item * np.uint64(self.stars) + self._weights.perturb(held, words[:, 1])
        return code.astype(self.report_dtype)

    def _validate(self, reports) -> None:
        check_below("codes", int(reports.max(initial=0)), self.items * self.stars)

    @property
    def _footprint(self) -> Footprint:
        return Footprint(self.items * self.stars, total=(1, 1))

    def _count(self, reports):
        return np.bincount(reports, minlength=self.items * self.stars)

    def _choose(self, candidates):
        return Chosen()

    def _estimate(self, tally, chosen) -> Estimates:
        support = tally.statistic.values.reshape(self.items, self.stars)
        asked = np.maximum(support.sum(axis=1, keepdims=True), 1)
        p, q = map(float, self._weights.shares)
        shares = ((support / asked - q) / (p - q)).ravel()
        errors = np.sqrt(self.variance(tally.n, np.clip(shares, 0, 1)))
        null = float(np.sqrt(self.variance(tally.n)))
        return Estimates(tally.n * shares, errors, tally.n, null)

    def variance(self, n, share=0.0):
        """Return the variance of a count from the n / items reports that tell of it."""
        p, q = map(float, self._weights.shares)
        chance = q + check_shares(n, share) * (p - q)
        return n * self.items * chance * (1 - chance) / (p - q) ** 2
