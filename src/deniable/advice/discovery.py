"""A plan for discovery: whether a code fits, and how frequent a text must be to be found."""

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deniable.advice.ranking import percent
from deniable.errors import InvalidParameter
from deniable.law.binomial_sum import last_true
from deniable.law.normal import Floats, upper_normal
from deniable.presentation import verdict
from deniable.protocols.discovery import Code, Discovery
from deniable.protocols.discovery.books import MOST_PHRASES
from deniable.protocols.discovery.cells import RARE
from deniable.protocols.discovery.code import USUAL_PHRASES, presets
from deniable.protocols.discovery.search import CUT, levels
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
_NAMED, _SHOWN = 3, 40
"""How many examples are named that are too long, and how much of each is shown."""
_STEP, _TRIED = 4, 2000
"""In steps of how many characters texts are shortened, and with how many in each half."""

Sizes = np.typing.NDArray[np.int64]


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
    too_long: tuple[str, ...] = ()
    """The examples whose codes are too long, the longest first."""

    def __str__(self) -> str:
        return self.explanation

    @property
    def verdict(self) -> str:
        """What the plan comes to, in a sentence for everybody, or why it is out of reach."""
        if not self.reachable or self.share is None:
            return self.explanation
        least = verdict.share(self.share, up=True)
        return f"{self.users:,} people: a text that {least} of them give is found 9 times in 10."

    def row(self) -> dict[str, object]:
        return {
            "users": self.users, "epsilon": self.protocol.epsilon, "payload": self.protocol.payload,
            "bits": list(self.bits), "cut": self.cut, "share": self.share,
            "reachable": self.reachable, "explanation": self.explanation,
            "too_long": list(self.too_long),
        }  # fmt: skip


class Fit(NamedTuple):
    """The settings that examples of texts take, and which of the examples are too long."""

    protocol: Discovery
    bits: tuple[int, int, int]
    cut: float
    too_long: tuple[str, ...]
    longest: str
    """The longest of them with their bits, in words."""


def fit(examples: Iterable[str], code: Code, epsilon: float) -> Fit:
    """Choose the settings of a question from public examples, as plans and new questions do.

    A code that cuts more than 5 % of the examples is refused.
    """
    given = list(examples) if isinstance(examples, Iterable) else []
    if isinstance(examples, str) or not given or not all(isinstance(text, str) for text in given):
        raise InvalidParameter("expected public examples as a list of texts, at least one")
    listed = list(dict.fromkeys(map(code.clean, given)))
    sizes = code.values(listed)[:, 2].astype(np.int64)
    low, middle, high = (int(x) for x in np.percentile(sizes, (5, 50, 95), method="higher"))
    protocol = Discovery(epsilon, min(6, max(4, math.ceil(high / 10))))
    cut = float((sizes > protocol.layout.length).mean())
    order = np.argsort(-sizes, kind="stable")
    long = [(listed[i], int(sizes[i])) for i in order if sizes[i] > protocol.layout.length]
    named = [f"{_short(text)} ({size} bits)" for text, size in long[:_NAMED]]
    longest = ", ".join(named) + (f" and {len(long) - _NAMED:,} more" if long[_NAMED:] else "")
    if cut > MOST_CUT:
        ways = (
            "learn a code from public examples of your own, with deniable code learn or "
            "Code.learn, or shorten the texts"
            if code in map(Code.preset, presets())
            else _shortened(listed, code, protocol.layout.length)
        )
        raise InvalidParameter(
            f"this code is too long for {percent(cut)} of the examples: half of them take {middle} "
            f"bits or more, and at most {protocol.layout.length} fit. The longest are {longest}. "
            f"What helps: {ways}",
            value=cut,
        )
    return Fit(protocol, (low, middle, high), cut, tuple(text for text, _ in long), longest)


def _shortened(listed: list[str], code: Code, length: int) -> str:
    """Say what to do where a learned code is too long, leaving out what was done already."""
    able = ["--fold-case"] if code.fold == "none" and any(t != t.lower() for t in listed) else []
    if len(code.phrases) <= USUAL_PHRASES:
        more = Code.learn(listed, phrases=MOST_PHRASES, fold=code.fold)
        # Other examples of the same kind give about as many phrases, and not quite as many.
        able += [f"--phrases {MOST_PHRASES}"] * (len(more.phrases) > 1.1 * len(code.phrases))

    ways = "leave out numbers, offsets, paths and what else hardly two of them have in common"
    ways = f"shorten the texts: {ways}; learn the code from more texts of this kind"
    ways += f", with {' and '.join(able)}" if able else ""
    if size := _fitting(listed, code.fold, length):
        kept = len({text[:size] for text in listed})
        ways += (
            f"; or cut them to their first {size} characters, on the device and in the examples "
            f"alike, and learn the code anew with --phrases {MOST_PHRASES}: about 95 % of them fit "
            f"then, and {kept:,} of {len(listed):,} examples stay different"
        )
    return ways


def _fitting(listed: list[str], fold: str, length: int) -> int:
    """Return how many characters of texts fit, 0 if none: learned from one half, tried on both."""
    half = listed[: 2 * _TRIED : 2]

    def too_long(size: int) -> bool:
        code = Code.learn([text[:size] for text in half], phrases=MOST_PHRASES, fold=fold)
        for part in (half, listed[1 : 2 * _TRIED : 2] or half):
            sizes = code.values(list({text[:size] for text in part}))[:, 2]
            if (sizes > length).mean() > MOST_CUT:
                return True
        return False

    steps = range(_STEP, max(map(len, listed)), _STEP)
    return _STEP * bisect_left(steps, True, key=too_long)


def _short(text: str) -> str:
    half = _SHOWN // 2  # of each end: long texts often begin alike
    return repr(text if len(text) <= _SHOWN else f"{text[:half]}…{text[1 - half :]}")


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
    if not isinstance(chosen, Code):
        raise InvalidParameter.expected("a code, or the name of one", code, 'such as "english"')
    if users is None and share is None:
        raise InvalidParameter("give users, share or both")
    if share is not None and not 0 < check_number("share", share) <= 1:
        raise InvalidParameter.expected("share above 0 and at most 1", share)
    fitted = fit(examples, chosen, epsilon)
    protocol, high = fitted.protocol, fitted.bits[2]
    size = min(high, protocol.layout.length)
    people = check_positive("users", users) if users is not None else None
    people = people or _people(protocol, size, share or 0.0)
    smallest = smallest_share(protocol, people, size)
    reached = people <= MOST_PEOPLE and smallest is not None
    reached = reached and (share is None or share >= (smallest or 1) * (1 - 1e-9))
    said = _sentences(fitted, people, smallest)
    if share is not None and people <= MOST_PEOPLE:
        verb = "is found with 90 %" if reached else "will most likely not be found"
        said.append(f"A text of up to {size} bits that {percent(share)} of the people give {verb}.")
    return DiscoveryPlan(protocol, people, fitted.bits, fitted.cut, smallest, reached,
                         " ".join(said), fitted.too_long)  # fmt: skip


def smallest_share(
    protocol: Discovery, n: int, size: int, *, tested: float = TESTED
) -> float | None:
    """Return the smallest share that is found with 90 %, for a code of ``size`` bits."""
    if n / protocol.layout.pieces * protocol.probabilities.q < LEAST:
        return None

    def found(share: float) -> bool:
        given = share / (_BEAM if size > _LONG else 1.0)
        chance = power(protocol, n, np.array([size]), np.array([given]), tested=tested)
        return bool(chance[0] >= POWER)

    low, high = 0.0, 1.0
    if not found(high):
        return None
    while high - low > RARE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def _people(protocol: Discovery, size: int, share: float) -> int:
    """Return how many people it takes, or more than there are."""

    def too_few(people: int) -> bool:
        found = smallest_share(protocol, people, size)
        return people < 2 * MOST_PEOPLE and (found is None or found > share)

    return 1 + last_true(too_few, MOST_PEOPLE)


def _sentences(fitted: Fit, n: int, smallest: float | None) -> list[str]:
    protocol, (low, middle, high) = fitted.protocol, fitted.bits
    longer = "no example is longer."
    if fitted.too_long:
        longer = (
            f"{percent(fitted.cut)} of the examples are longer, and such texts can only be named "
            f"from a list: {fitted.longest}."
        )
    said = [
        f"The code takes {middle} bits for a middling example, {low} to {high} for most; "
        f"{protocol.layout.length} bits fit into {protocol.payload} pieces, and {longer}"
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
        f"{start} a text of {high} bits is found with 90 % if at least {percent(smallest)} of the "
        f"people give it, {math.ceil(smallest * n):,} of them.{hope}",
        f"Counts have 1.6 times the error of a closed question; a report takes {size} bytes, and "
        f"about {crafted(protocol, n):,} crafted reports would plant a text.",
        f"A collector keeps about {size + 1} bytes for each report, "
        f"{max(1, (size + 1) * n / 1e6):,.0f} MB over all days, and as much again in the sums that "
        "it has shown.",
    ]
