"""Search among whole numbers for where a property ends."""

from __future__ import annotations

from collections.abc import Callable

MOST = 10**18
"""No number of people is looked for beyond."""


def last_true(holds: Callable[[int], bool], guess: int) -> int:
    """Return the last number that a property holds for, if it holds up to there: 0 for none.

    >>> last_true(lambda i: i * i <= 200, guess=3)
    14
    """
    low, high, step = 0, MOST, 1
    middle = min(max(guess, 1), MOST)
    # Steps that double, away from the guess, until the end is between two numbers.
    while low < middle < high:
        if holds(middle):
            low, middle = middle, min(middle + step, high)
        else:
            high, middle = middle, max(middle - step, low)
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
