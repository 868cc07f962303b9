"""A plan for discovery: whether a code fits, and how frequent a text must be to be found."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter
from deniable.law import upper_normal
from deniable.protocols.discovery import Code, Discovery
from deniable.protocols.discovery.search import CUT, levels
from deniable.protocols.discovery.tables import RARE
from deniable.protocols.discovery.verification import LEAST, crafted
from deniable.validation import check_number, check_positive

TESTED, ALPHA, POWER = 100, 0.05, 0.9
"""How many candidates a plan assumes, its alpha, and how likely a text is found."""
MOST_CUT = 0.05
"""The largest share of the examples whose codes may be too long."""
MOST_PEOPLE = 8 * 10**9
_BEAM = 1.03
"""Beyond 24 bits the search sees only the strongest beginnings, which costs this much."""
_LONG = 24

Floats = npt.NDArray[np.float64]
Sizes = npt.NDArray[np.int64]


def power(
    protocol: Discovery, n: int, sizes: Sizes, shares: Floats, *, tested: float = TESTED
) -> Floats:
    """Return the chance that texts with these sizes of code and these shares will be sure.

    Payload people have to make each a candidate, and check people to verify it; a code that goes
    on after the payload has no chance. Both are by the normal law.
    """
    layout, (p, q) = protocol.layout, (protocol.probabilities.p, protocol.probabilities.q)
    limits = levels(layout)[np.minimum(sizes, CUT)]
    wide = np.sqrt(1 + shares * (p * (1 - p) / (q * (1 - q)) - 1))
    step = shares * (p - q) / math.sqrt(q * (1 - q))
    found = np.where(sizes <= layout.length, 1.0, 0.0)
    check = np.full(len(shares), upper_normal(ALPHA / tested))
    for pieces, limit in ((layout.payload, limits), (layout.check, check)):
        reached = (step * math.sqrt(n * pieces / layout.pieces) - limit) / wide
        found = found * np.array([math.erfc(-z / math.sqrt(2)) / 2 for z in reached.tolist()])
    return np.asarray(found)


@dataclass(frozen=True)
class DiscoveryPlan:
    """What a collection will find: the protocol that fits the examples, and in words what follows.

    ``bits`` are the sizes of the examples' codes at 5, 50 and 95 %; ``cut`` is the share of them
    that is too long; ``share`` the smallest share of a text that is found with 90 %, None if even
    a text that all people give is not.
    """

    protocol: Discovery
    users: int
    bits: tuple[int, int, int]
    cut: float
    share: float | None
    reachable: bool
    explanation: str

    def __str__(self) -> str:
        return self.explanation

    def row(self) -> dict[str, object]:
        """Return the plan as JSON has it."""
        return {
            "users": self.users, "epsilon": self.protocol.epsilon, "payload": self.protocol.payload,
            "bits": list(self.bits), "cut": self.cut, "share": self.share,
            "reachable": self.reachable, "explanation": self.explanation,
        }  # fmt: skip


def plan_discovery(
    examples: Iterable[str],
    *,
    epsilon: float,
    users: int | None = None,
    share: float | None = None,
    code: Code | str = "english",
) -> DiscoveryPlan:
    """Plan a question whose texts are to be discovered, from public examples of such texts.

    Give ``users`` for the smallest share that will be found, ``share`` for how many people it
    takes to find a text that so many give, or both for whether it will be. A code that cuts more
    than 5 % of the examples is refused.
    """
    chosen = Code.preset(code) if isinstance(code, str) else code
    listed = list(dict.fromkeys(examples))
    if not listed or not all(isinstance(text, str) for text in listed):
        raise InvalidParameter("expected public examples as texts, at least one", value=None)
    if users is None and share is None:
        raise InvalidParameter("give users, share or both", value=None)
    if share is not None and not 0 < check_number("share", share) <= 1:
        raise InvalidParameter.expected("share above 0 and at most 1", share)
    sizes = chosen.values(listed)[:, 2].astype(np.int64)
    low, middle, high = (int(x) for x in np.percentile(sizes, (5, 50, 95), method="higher"))
    protocol = Discovery(epsilon, min(6, max(4, math.ceil(high / 10))))
    cut = float((sizes > protocol.layout.length).mean())
    if cut > MOST_CUT:
        raise InvalidParameter(
            f"this code is too long for {cut:.0%} of the examples: half of them take more than "
            f"{middle} bits, and {protocol.layout.length} fit; learn a code from public examples "
            "of your own, with deniable code learn or Code.learn, or shorten the texts",
            value=cut,
        )
    size = min(high, protocol.layout.length)
    people = _people(protocol, size, share or 0.0) if users is None else check_positive("u", users)
    smallest = smallest_share(protocol, people, size)
    reached = people <= MOST_PEOPLE and smallest is not None
    reached = reached and (share is None or share >= (smallest or 1) * (1 - 1e-9))
    said = _sentences(protocol, people, (low, middle, high), cut, smallest)
    if share is not None and people <= MOST_PEOPLE:
        verb = "will be found" if reached else "will most likely not be found"
        said.append(f"A text that {_percent(share)} of the people give {verb}.")
    return DiscoveryPlan(
        protocol, people, (low, middle, high), cut, smallest, reached, " ".join(said)
    )


def smallest_share(protocol: Discovery, n: int, size: int) -> float | None:
    """Return the smallest share that is found with 90 %, for a code of ``size`` bits."""
    if n / protocol.layout.pieces * protocol.probabilities.q < LEAST:
        return None

    def found(share: float) -> bool:
        given = share / (_BEAM if size > _LONG else 1.0)
        return bool(power(protocol, n, np.array([size]), np.array([given]))[0] >= POWER)

    low, high = 0.0, 1.0
    if not found(high):
        return None
    while high - low > RARE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def _people(protocol: Discovery, size: int, share: float) -> int:
    """Return how many people it takes, or more than there are."""
    low, high = 1, 2 * MOST_PEOPLE
    while high - low > 1:
        middle = (low + high) // 2
        found = smallest_share(protocol, middle, size)
        low, high = (middle, high) if found is None or found > share else (low, middle)
    return high


def _sentences(
    protocol: Discovery, n: int, bits: tuple[int, int, int], cut: float, smallest: float | None
) -> list[str]:
    low, middle, high = bits
    said = [
        f"The code takes {middle} bits for a middling example, {low} to {high} for most; "
        f"{protocol.layout.length} bits fit into {protocol.payload} pieces, and {cut:.1%} of the "
        f"examples are longer: those can only be named from a list."
    ]
    if n > MOST_PEOPLE:
        return [*said, "Out of reach: it takes more people than live on Earth; raise epsilon."]
    start = f"With {n:,} people and epsilon = {protocol.epsilon:g}"
    if smallest is None:
        return [*said, f"{start} nothing will be found; ask more people, or raise epsilon."]
    hope = " That is hopeless for most questions." if smallest > 0.05 else ""
    size = protocol.report_dtype.itemsize
    return [
        *said,
        f"{start} a text of {high} bits is found with 90 % if at least {_percent(smallest)} of the "
        f"people give it, {math.ceil(smallest * n):,} of them.{hope}",
        f"Counts have 1.6 times the error of a closed question; a report takes {size} bytes, and "
        f"about {crafted(protocol, n):,} crafted reports would plant a text.",
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
