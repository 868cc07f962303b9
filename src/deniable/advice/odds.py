"""What epsilon means for one person, as a change of odds.       [def:dlp]."""

from __future__ import annotations

import math

from deniable.validation import check_epsilon


def meaning(epsilon: float) -> str:
    """Say what epsilon means for one person, in words.

    >>> print(meaning(1.0).partition(":")[0])
    One report changes the odds of any guess about a person's answer by a factor of at most 2.72
    """
    power = math.exp(check_epsilon(epsilon))
    factor = f"{power:.3g}" if power < 1000 else f"{power:,.0f}" if power < 1e9 else f"{power:.1e}"
    low, high = _percent(1 / (1 + power), power / (1 + power))
    return (
        "One report changes the odds of any guess about a person's answer by a factor of at most "
        f"{factor}: a guess held for 50 % likely becomes at least {low} and at most {high} likely, "
        f"one held for 1 % likely at most {_percent(power / (99 + power), 99 / (99 + power))[0]}. "
        "Several reports of one person multiply their factors."
    )


def _percent(share: float, rest: float) -> tuple[str, str]:
    """Return a share and what it lacks of one, with the digits that tell both from 0 and 1."""
    distance = min(share, rest)
    if distance < 1e-8:
        ends = ("practically 0 %", "practically 100 %")
        return ends if share < rest else (ends[1], ends[0])
    near_half = abs(share - rest) < 0.1
    digits = max(0, 1 - math.floor(math.log10(100 * distance))) + near_half
    return f"{100 * share:.{digits}f} %", f"{100 * rest:.{digits}f} %"
