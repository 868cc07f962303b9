"""What epsilon means for one person, as a change of odds.       [def:dlp]."""

from __future__ import annotations

import math

from deniable.mechanism import Mechanism
from deniable.protocol import Memoising
from deniable.validation import check_epsilon


def reveals(protocol: Mechanism) -> str:
    """Say how much answering reveals, once and for ever.

    >>> from deniable import DE, BasicRAPPOR
    >>> print(reveals(BasicRAPPOR(32, 0.5, 0.75, 0.25)))
    epsilon = 1.02 by one report, 2.2 by answering for ever, as long as the answer stays the same
    >>> print(reveals(DE(1.0, 4)))
    epsilon = 1 by one report, and as much again by each further one
    """
    one = f"epsilon = {protocol.epsilon:.3g} by one report"
    if isinstance(protocol, Memoising):
        total = f"{protocol.total_epsilon:.3g}"
        return f"{one}, {total} by answering for ever, as long as the answer stays the same"
    return f"{one}, and as much again by each further one"


def meaning(epsilon: float, *, forever: float | None = None) -> str:
    """Say what epsilon means for one person, in words.

    ``forever`` is what any number of reports reveals, where the protocol memoises.

    >>> print(meaning(1.0).partition(":")[0])
    One report changes the odds of any guess about a person's answer by a factor of at most 2.72
    """
    power = math.exp(check_epsilon(epsilon))
    low, high = _percent(1 / (1 + power), power / (1 + power))
    more = (
        "Several reports of one person multiply their factors."
        if forever is None
        else "Any number of reports of one person, as long as the answer stays the same, change "
        f"them by a factor of at most {_factor(forever)}."
    )
    return (
        "One report changes the odds of any guess about a person's answer by a factor of at most "
        f"{_factor(epsilon)}: a guess held for 50 % likely becomes at least {low} and at most "
        f"{high} likely, one held for 1 % likely at most "
        f"{_percent(power / (99 + power), 99 / (99 + power))[0]}. {more}"
    )


def _factor(epsilon: float) -> str:
    power = math.exp(check_epsilon(epsilon))
    return f"{power:.3g}" if power < 1000 else f"{power:,.0f}" if power < 1e9 else f"{power:.1e}"


def _percent(share: float, rest: float) -> tuple[str, str]:
    """Return a share and what it lacks of one, with the digits that tell both from 0 and 1."""
    distance = min(share, rest)
    if distance < 1e-8:
        ends = ("practically 0 %", "practically 100 %")
        return ends if share < rest else (ends[1], ends[0])
    near_half = abs(share - rest) < 0.1
    digits = max(0, 1 - math.floor(math.log10(100 * distance))) + near_half
    return f"{100 * share:.{digits}f} %", f"{100 * rest:.{digits}f} %"
