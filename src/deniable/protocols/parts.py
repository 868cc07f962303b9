"""Parts: what views are made of, digits of a value, the lot and the protocol that reports them.

A view is reported by one of the closed protocols whose reports are integers: direct encoding,
subset selection, affine selection with one digit over a field of prime order, which takes little
arithmetic, or levels for the mean of numbers. Each has ``codes`` different reports, the integers
below that, and a tally of counts. Which one a person tells of is drawn by lot (``Lots``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any, Self

import numpy as np

from deniable import validation
from deniable.errors import InvalidParameter
from deniable.kernels.fields import is_prime, next_prime
from deniable.protocol import Protocol
from deniable.protocols.affine import AffineSelection
from deniable.protocols.direct import DE
from deniable.protocols.levels import Levels
from deniable.protocols.subset import SubsetSelection
from deniable.randomness import WORD, Integers, Source

Selection = DE | SubsetSelection | AffineSelection
Part = Selection | Levels
Digits = tuple[int, ...]
Small = np.typing.NDArray[np.uint8] | np.typing.NDArray[np.uint16]

MOST_VIEWS = 512

_TIE = 1.005
"""Within this factor of the least variance protocols are alike; the one of fewest reports wins."""


@dataclass(frozen=True)
class Lots:
    """A public draw, made before the answer is looked at: integer weights that add up to 2^64.

    >>> Lots.near([0.25, 0.75]).of(np.array([2**62 - 1, 2**62], dtype=np.uint64))
    array([0, 1])
    """

    weights: tuple[int, ...]

    @classmethod
    def near(cls, shares: Sequence[float]) -> Self:
        """Return the lots nearest to shares, which need not add up to 1."""
        scaled = [max(1, int(WORD * float(share / sum(shares)))) for share in shares]
        scaled[scaled.index(max(scaled))] += WORD - sum(scaled)
        return cls(tuple(scaled))

    @classmethod
    def read(cls, texts: Sequence[object]) -> Self:
        """Return lots from the decimal strings of a specification, since JSON numbers may round."""
        short = [t for t in texts if isinstance(t, str) and t.isdecimal() and len(t) <= 20]
        weights = tuple(map(int, short))
        if len(weights) != len(texts) or sum(weights) != WORD or 0 in weights:
            raise InvalidParameter.expected("lots as positive integers that add up to 2^64", texts)
        return cls(weights)

    def of(self, words: Integers) -> np.typing.NDArray[np.int64]:
        return passed(words, list(accumulate(self.weights[:-1]))).astype(np.int64)

    def draw(self, source: Source, count: int) -> Small:
        """Draw as many lots as ``of`` gives of whole words, which few of them need.

        The two leading bytes settle all lots but those next to where one ends.
        """
        leading = source.bytes(2 * count).view("<u2")
        settled, unsettled = self._settled
        places, rest = settled.take(leading), np.flatnonzero(unsettled.take(leading))
        words = source.bytes(8 * len(rest)).view("<u8") >> np.uint64(16)
        places[rest] = self.of(words | leading[rest].astype(np.uint64) << np.uint64(48))
        return places

    @cached_property
    def _settled(self) -> tuple[Small, np.typing.NDArray[np.bool_]]:
        """The lot of the least word with each two leading bytes, and whether others differ."""
        least = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
        ends = list(accumulate(self.weights[:-1]))
        places = passed(least, ends)
        return places, places != passed(least + np.uint64((1 << 48) - 1), ends)


def passed(words: np.typing.NDArray[Any], ends: Sequence[int]) -> Small:
    """Count how many of the ends each word has reached, by comparing it with all of them."""
    few = len(ends) < 256
    count: Small = np.zeros(len(words), np.uint8) if few else np.zeros(len(words), np.uint16)
    for end in ends:
        # Numbers of one byte make this several times as fast as longer ones.
        count += (words >= words.dtype.type(end)).view(np.uint8)
    return count


def best_part(epsilon: float, size: int) -> Selection:
    """Return the best protocol for a view of ``size`` cells.

    >>> [best_part(1.0, size).name for size in (2, 12, 1000)]
    ['DE', 'SubsetSelection', 'AffineSelection']
    """
    makers: list[Callable[[], Selection]] = [
        lambda: DE(epsilon, size),
        lambda: SubsetSelection(epsilon, size),
        lambda: AffineSelection(epsilon, size, next_prime(size), 1),
    ]
    made: list[Selection] = []
    for make in makers:
        try:
            made.append(make())
        except InvalidParameter:  # it cannot be had at this epsilon and size
            continue
    if not made:
        return DE(epsilon, size)  # which says why
    noise = {part: float(part.variance(1, 1 / size)) for part in made}
    alike = [part for part in made if noise[part] <= _TIE * min(noise.values())]
    return min(alike, key=lambda part: part.codes)


def _check_part(given: object, epsilon: float, size: int) -> Part:
    """Return the protocol of a view, from itself or its specification, or the best for None."""
    if given is None:
        return best_part(epsilon, size)
    part = Protocol.from_specification(given) if isinstance(given, dict) else given
    line = not isinstance(part, AffineSelection) or (part.digits == 1 and is_prime(part.g or 0))
    if isinstance(part, Part) and line and (part.epsilon, part.domain_size) == (epsilon, size):
        return part
    raise InvalidParameter.expected(
        f"DE, SubsetSelection, AffineSelection with one digit and a prime g, or Levels for a view, "
        f"with {size} values at epsilon {epsilon:g}",
        part,
        "leave the protocols out for the best ones",
    )


def complete(
    epsilon: float, sizes: Sequence[int], lots: object, given: object
) -> tuple[Lots, tuple[Part, ...]]:
    """Return the lots and the protocols of views of these sizes, with what was not given."""
    drawn = Lots.near([1.0] * len(sizes)) if lots is None else Lots.read(_listed("lots", lots))
    parts = [None] * len(sizes) if given is None else _listed("protocols", given)
    if not len(parts) == len(drawn.weights) == len(sizes):
        raise InvalidParameter(
            f"expected a lot and a protocol for each of {len(sizes)} views, got "
            f"{len(drawn.weights)} and {len(parts)}",
            value=len(parts),
        )
    return drawn, tuple(_check_part(p, epsilon, s) for p, s in zip(parts, sizes, strict=True))


def _listed(name: str, given: object) -> list[object]:
    if not isinstance(given, list | tuple) or not given:
        raise InvalidParameter.expected(f"{name} as a list that is not empty", given)
    return list(given)


def check_radices(given: object) -> tuple[int, ...]:
    radices = [
        validation.check_whole("a radix", r, 2, validation.MAX_DOMAIN)
        for r in _listed("radices", given)
    ]
    if len(radices) > 64 or prod(radices) > WORD:
        raise InvalidParameter(
            "expected radices whose product is at most 2^64; leave out an attribute, or give one "
            "fewer labels",
            value=len(radices),
        )
    return tuple(radices)


def check_views(given: object, digits: int) -> tuple[Digits, ...]:
    listed = _listed("views", given)
    if len(listed) > MOST_VIEWS:
        raise InvalidParameter.expected(
            f"at most {MOST_VIEWS} views", len(listed), "ask for fewer tables"
        )
    views = []
    for view in listed:
        own = [
            validation.check_whole("a digit of a view", d, 0, digits - 1)
            for d in _listed("a view", view)
        ]
        if sorted(set(own)) != own:
            raise InvalidParameter.expected("the digits of a view once each, ascending", view)
        views.append(tuple(own))
    return tuple(views)
