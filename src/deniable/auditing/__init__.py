"""Audit: prove or measure the epsilon of any protocol, from the code that clients run.

``audit`` treats ``privatize`` as a black box. On small domains it finds, by replaying chosen random
bytes, where the output changes, and so enumerates the exact law of the reports and the worst
likelihood ratio. On large ones, and for mechanisms whose randomness it cannot replay, it samples
reports and gives a lower bound on epsilon that holds with high confidence. Between the two are
domains and public hash functions of which only some can be enumerated: each ratio is exact then,
but the worst of them is a lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.auditing.enumeration import (
    Law,
    NotEnumerable,
    check_bulk,
    enumerate_laws,
    worst_pair,
)
from deniable.auditing.sampling import sampled_bound
from deniable.errors import InvalidParameter
from deniable.protocol import Protocol
from deniable.pure import Open
from deniable.randomness import log_above

__all__ = ["Audit", "Law", "audit", "output_law"]

_MANY_VALUES = 64
_SOME_VALUES = 16
_FEW_VALUES = 8
_FEW_WORDS = 16


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    ``exact`` tells whether ``epsilon`` was computed from enumerated laws, and ``complete`` whether
    these were the laws of all values and hash functions: then it is the privacy loss. Computed from
    some of them it is a lower bound, and from samples a lower bound that is wrong with probability
    of at most 1e-6. ``worst_ratio`` is exact or None; ``witness`` is the pair of values that are
    easiest to tell apart.
    """

    epsilon: float
    claimed: float
    exact: bool
    worst_ratio: Fraction | None
    witness: tuple[int, int]
    detail: str
    complete: bool = False

    @property
    def holds(self) -> bool:
        """Whether the protocol spends no more than it claims, as far as the audit can tell."""
        return self.epsilon <= self.claimed

    def __str__(self) -> str:
        kind = "exactly" if self.complete else "at least"
        passed = "holds" if self.complete else "no violation found"
        verdict = passed if self.holds else "BROKEN"
        found, claimed = f"{self.epsilon:.12g}", f"{self.claimed:.12g}"
        return f"{verdict}: epsilon is {kind} {found}, claimed {claimed} ({self.detail})"


def audit(
    protocol: Protocol, *, samples: int = 200_000, rng: np.random.Generator | None = None
) -> Audit:
    """Audit a protocol: by enumeration where that is possible, else from samples.

    >>> from deniable import DE
    >>> found = audit(DE(epsilon=1.0, domain_size=3))
    >>> found.exact, found.holds, found.epsilon == DE(1.0, 3).realised_epsilon
    (True, True, True)
    """
    if samples < 1000:
        raise InvalidParameter(f"expected at least 1000 samples, got {samples!r}", value=samples)
    if not (
        protocol.value_count <= _MANY_VALUES or isinstance(protocol, Open) or protocol.words.public
    ):
        return _sampled(protocol, samples, rng, "the domain is large")
    values = _some_values(protocol.value_count, _affordable(protocol))
    try:
        laws = enumerate_laws(protocol, values)
        if len(laws) == 1:
            for value, law in list(zip(values, laws[0], strict=True))[:_FEW_VALUES]:
                check_bulk(protocol, value, law)
    except NotEnumerable as reason:
        return _sampled(protocol, samples, rng, str(reason))
    found = _exact(protocol, values, laws)
    if len(laws) > 1 and found.holds:
        # Given a hash function a large batch has no law to be compared with; samples bound it.
        sampled = _sampled(protocol, samples, rng, "large batches differ from single reports")
        return found if sampled.holds else sampled
    return found


def _sampled(
    protocol: Protocol, samples: int, rng: np.random.Generator | None, reason: str
) -> Audit:
    bound, witness = sampled_bound(protocol, samples, rng)
    detail = f"from {samples} samples, because {reason}"
    return Audit(bound, protocol.epsilon, False, None, witness, detail)


def output_law(protocol: Protocol, value: int) -> Law:
    """Return the exact law of the reports of one value, on a small domain."""
    return enumerate_laws(protocol, [value])[0][0]


def _exact(protocol: Protocol, values: list[int], laws: list[list[Law]]) -> Audit:
    ratio, pair = Fraction(1), (0, 0)
    for each in laws:
        found, (first, second) = worst_pair(each)
        if found is None:
            witness = (values[first], values[second])
            detail = "some report of the first value is impossible under the second"
            return Audit(math.inf, protocol.epsilon, True, None, witness, detail, complete=True)
        if found > ratio:
            ratio, pair = found, (first, second)
    given = f", given each of {len(laws)} hash functions" if len(laws) > 1 else ""
    return Audit(
        log_above(ratio),
        protocol.epsilon,
        True,
        ratio,
        (values[pair[0]], values[pair[1]]),
        f"all reports of {len(values)} values enumerated{given}",
        complete=len(values) == protocol.value_count and len(laws) == 1,
    )


def _affordable(protocol: Protocol) -> int:
    """Return how many values are enumerated: all of a small domain, few where each costs much."""
    if protocol.words.public:
        return _SOME_VALUES if protocol.value_count <= _SOME_VALUES else _FEW_VALUES
    if protocol.value_count <= _MANY_VALUES:
        return _MANY_VALUES
    return 2 * _SOME_VALUES if protocol.words.count <= _FEW_WORDS else _FEW_VALUES


def _some_values(domain_size: int, most: int) -> list[int]:
    if domain_size <= most:
        return list(range(domain_size))
    spread = np.random.default_rng(0).integers(0, domain_size - 1, most - 2, dtype=np.uint64)
    return [0, *(int(v) for v in spread), domain_size - 1]
