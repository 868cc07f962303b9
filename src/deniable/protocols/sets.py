"""Sets of items: what their protocols have in common.

A set of at most l of d items is padded with dummies to exactly l of d + l points. A report supports
points, and has E = e^eps times the weight of others if it supports any point of the padded set: it
*hits* the set. Which points a report supports, and how one that hits is drawn, is for each protocol
to say: ``SetSelection`` and ``PolynomialSelection``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from deniable import validation
from deniable.candidates import Candidates, Chosen, choose_some
from deniable.errors import InvalidParameter, OutOfDomain
from deniable.kernels import subsets
from deniable.mechanism import Values
from deniable.protocol import Pure
from deniable.randomness import WORD, Integers, exponential_bounds
from deniable.sizes import SetEstimates
from deniable.tally import Tally

MOST_ITEMS = 32
"""The largest ``at_most``."""


@dataclass(frozen=True)
class Cases:
    """The cases of a report, of which a word draws one: no hit, then the ways to hit.

    ``counts`` are the N_c reports of each case, ``weights`` their probabilities T_c over 2^64:
    T_c = floor(2^64 E N_c / (E (N_1 + N_2 + ...) + N_0)) for a hit with E the lower bound of e^eps,
    and T_0 is what is left. Within a case all reports are equally likely.
    """

    counts: tuple[int, ...]
    weights: tuple[int, ...]

    @classmethod
    def at(cls, epsilon: float, counts: Sequence[int]) -> Self:
        low, _ = exponential_bounds(epsilon)
        total = low * sum(counts[1:]) + counts[0]
        hits = [math.floor(WORD * low * count / total) for count in counts[1:]]
        return cls(tuple(counts), (WORD - sum(hits), *hits))

    @cached_property
    def each(self) -> tuple[Fraction, ...]:
        """The weight of one report of each case."""
        return tuple(map(Fraction, self.weights, self.counts))

    def holds(self, epsilon: float) -> bool:
        """Tell whether no two reports differ by more than e^eps, and all can be drawn."""
        low, _ = exponential_bounds(epsilon)
        return min(self.weights) > 0 and max(self.each) <= low * min(self.each)

    def check(self, epsilon: float) -> None:
        """Refuse weights that 64 bits are too few for."""
        if not self.holds(epsilon) or max(self.each) == self.each[0]:
            raise no_weights(epsilon)

    @cached_property
    def _edges(self) -> Integers:
        return np.array(list(accumulate(self.weights))[:-1], dtype=np.uint64)

    def draw(self, words: Integers) -> np.typing.NDArray[np.int64]:
        """Return the case of each word: the first whose weight and those before exceed it."""
        return np.asarray(np.add.reduce(words[:, None] >= self._edges, axis=1, dtype=np.int64))

    def document(self) -> dict[str, object]:
        """Return the weights as a specification has them: strings, since JSON numbers may round."""
        return {"weights": list(map(str, self.weights))}


def part_of(words: Integers, limit: int, size: int) -> Integers:
    """Return the integer below ``size`` that each word below ``limit``, a multiple, stands for."""
    return words // np.uint64(limit // size) if size > 1 else np.zeros_like(words)


def no_weights(epsilon: float) -> InvalidParameter:
    """Return the error for an epsilon whose weights 64 bits cannot tell apart."""
    return InvalidParameter.expected(
        "an epsilon that 64-bit probabilities can express for such sets",
        epsilon,
        "use a larger epsilon, or smaller sets",
    )


def count_sets(domain_size: int, at_most: int) -> int:
    """Return how many sets of at most so many items there are."""
    return sum(math.comb(domain_size, size) for size in range(at_most + 1))


def check_at_most(at_most: object, domain_size: int) -> int:
    """Return how many items a set has at most, or say what is wrong with that."""
    most = min(MOST_ITEMS, domain_size - 1)
    remedy = "where people may choose any number, ask about each item by itself"
    return validation.check_whole("at_most", at_most, 1, most, remedy)


class Sets(Pure, abstract=True):
    """A pure protocol over sets of at most ``at_most`` of ``domain_size`` items.

    A value is a row of ``at_most`` points, ascending: the items of the set, then as many of the
    dummies as are missing, from the first on. Sets are numbered by their size and then by the rank
    of their items.
    """

    usual_settings: ClassVar[dict[str, object]] = {"at_most": 2}

    if TYPE_CHECKING:

        def __init__(self, epsilon: float, domain_size: int, at_most: int) -> None: ...

        @property
        def domain_size(self) -> int:
            """d, the number of items."""

        @property
        def at_most(self) -> int:
            """l, how many items a set has at most."""

        @property
        def _cases(self) -> Cases: ...

    def _details(self) -> dict[str, object]:
        return self._cases.document()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.check_epsilon(self.epsilon))
        object.__setattr__(self, "domain_size", validation.check_domain_size(self.domain_size))
        object.__setattr__(self, "at_most", check_at_most(self.at_most, self.domain_size))

    @classmethod
    def usual(cls, epsilon: float, domain_size: int, at_most: int) -> Self:
        """Return the protocol with the best settings for rare items."""
        return cls(epsilon, domain_size, at_most)

    @property
    def points(self) -> int:
        """How many points there are: items and dummies."""
        return self.domain_size + self.at_most

    @property
    def value_count(self) -> int:
        return count_sets(self.domain_size, self.at_most)

    @property
    def value_dtype(self) -> np.dtype[np.generic]:
        return np.dtype((np.uint64, (self.at_most,)))

    def numbered(self, numbers: np.typing.NDArray[np.uint64]) -> np.typing.NDArray[np.uint64]:
        d, most = self.domain_size, self.at_most
        rows = np.zeros((len(numbers), most), np.uint64)
        first = 0
        for size in range(most + 1):
            last = first + math.comb(d, size)
            inside = numbers >= first
            if last < WORD:
                inside &= numbers < last
            chosen = np.flatnonzero(inside)
            if size and len(chosen):
                ranks = numbers[chosen] - np.uint64(first)
                rows[chosen, :size] = subsets.unrank(ranks, subsets.binomials(d, size))
            rows[chosen, size:] = np.arange(d, d + most - size)
            if last >= WORD:
                break
            first = last
        return rows

    def _check_values(self, values: Values) -> np.typing.NDArray[np.uint64]:
        d, most = self.domain_size, self.at_most
        rows = validation.check_rows(values, d + most, most)
        ascending = (rows[:, 1:] > rows[:, :-1]).all(axis=1)
        dummies = (rows >= d).sum(axis=1, dtype=np.uint64)
        # Ascending dummies whose last is the number of them, less one, are the first dummies.
        padded = (dummies == 0) | (rows[:, -1] + np.uint64(1) == dummies + np.uint64(d))
        sound = ascending & padded
        if not sound.all():
            position = int(np.argmin(sound))
            raise OutOfDomain(
                f"expected rows of ascending items and then the first dummies, from {d} on; the "
                f"one at position {position} is none: map answers to values with a Question",
                value=position,
            )
        return rows

    def _check_point(self, value: int) -> int:
        return int(validation.check_values([value], self.points)[0])

    def _choose(self, candidates: Candidates | None) -> Chosen:
        return Chosen() if candidates is None else choose_some(candidates, self.domain_size)

    def _estimate(self, tally: Tally, chosen: Chosen) -> SetEstimates:
        """Apply the unbiased estimator to items and dummies alike.       [eq:absestimate]."""
        d, found = self.domain_size, super()._estimate(tally, chosen)
        errors = None if found.std_errors is None else found.std_errors[:d]
        null, law, padding = found.null_std_error, found.law, found.counts[d:]
        return SetEstimates(found.counts[:d], errors, tally.n, null, law=law, padding=padding)

    def _estimate_bytes(self, chosen: Chosen) -> int:
        return super()._estimate_bytes(chosen) + 64 * self.points

    def _check_counted(self, values: Sequence[int]) -> np.typing.NDArray[np.uint64]:
        return validation.check_values(list(values), self.domain_size)

    def decoding_time(self, n: int) -> float:
        """Estimate the nanoseconds that ``n`` reports take to tally and decode, on one core."""
        return float(n * self.points * self.at_most)
