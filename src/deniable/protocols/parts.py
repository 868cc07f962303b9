"""Parts: what views are made of, digits of a value and the protocol that reports them.

A view is reported by one of the closed protocols whose reports are integers: direct encoding,
subset selection, affine selection with one digit over a field of prime order, which takes little
arithmetic, or levels for the mean of numbers. Each has ``codes`` different reports, the integers
below that, and a tally of counts.
"""

from collections.abc import Callable
from math import prod

from deniable import validation
from deniable.errors import InvalidParameter
from deniable.kernels.fields import is_prime, next_prime
from deniable.protocol import Protocol
from deniable.protocols.affine import AffineSelection
from deniable.protocols.direct import DE
from deniable.protocols.levels import Levels
from deniable.protocols.subset import SubsetSelection
from deniable.randomness import WORD

Selection = DE | SubsetSelection | AffineSelection
Part = Selection | Levels
Digits = tuple[int, ...]

MOST_VIEWS = 512

_TIE = 1.005
"""Within this factor of the least variance protocols are alike; the one of fewest reports wins."""


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


def check_part(given: object, epsilon: float, size: int) -> Part:
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


def listed_in(name: str, given: object) -> list[object]:
    if not isinstance(given, list | tuple) or not given:
        raise InvalidParameter.expected(f"{name} as a list that is not empty", given)
    return list(given)


def check_radices(given: object) -> tuple[int, ...]:
    radices = [
        validation.check_whole("a radix", r, 2, validation.MAX_DOMAIN)
        for r in listed_in("radices", given)
    ]
    if len(radices) > 64 or prod(radices) > WORD:
        raise InvalidParameter(
            "expected radices whose product is at most 2^64; leave out an attribute, or give one "
            "fewer labels",
            value=len(radices),
        )
    return tuple(radices)


def check_views(given: object, digits: int) -> tuple[Digits, ...]:
    listed = listed_in("views", given)
    if len(listed) > MOST_VIEWS:
        raise InvalidParameter.expected(f"at most {MOST_VIEWS} views", len(listed))
    views = []
    for view in listed:
        own = [
            validation.check_whole("a digit of a view", d, 0, digits - 1)
            for d in listed_in("a view", view)
        ]
        if sorted(set(own)) != own:
            raise InvalidParameter.expected("the digits of a view once each, ascending", view)
        views.append(tuple(own))
    return tuple(views)
