"""How many people, what epsilon, what error: any one of them from the other two.

What is promised is the root of the mean squared error over all answers, which the exact variance
gives whatever people will answer (see ``ranking``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

from deniable.advice.ranking import (
    find_protocols,
    in_bytes,
    mean_variance,
    rank,
    std_error,
    variance,
)
from deniable.errors import InvalidParameter
from deniable.validation import check_domain_size, check_epsilon, check_positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable.pure import Closed

SMALLEST_EPSILON, LARGEST_EPSILON = 0.01, 10.0
"""Between these an epsilon is looked for; beyond 10 a report hides next to nothing."""
MOST_USERS = 8_000_000_000
ALPHA, POWER = 0.05, 0.95
"""A frequency will be significant when its estimate passes T_s (ALPHA) with probability POWER."""


@dataclass(frozen=True)
class Plan:
    """A collection that reaches its goal, or the nearest one that does not.

    ``error`` is the standard error of an estimated frequency, typical over all answers;
    ``significant`` the smallest frequency whose estimate passes the threshold [sec:eval] with
    95 % probability, None if there is none. When ``reachable`` is False the numbers are those
    at the limit, and ``explanation`` says what is missing.
    """

    domain_size: int
    users: int
    epsilon: float
    error: float
    significant: float | None
    protocol: Closed
    reachable: bool
    explanation: str

    def __str__(self) -> str:
        return self.explanation

    def row(self) -> dict[str, object]:
        """Return the plan as plain data."""
        return {f.name: getattr(self, f.name) for f in fields(self)} | {
            "protocol": self.protocol.name,
            "report_bytes": self.protocol.report_dtype.itemsize,
        }


def plan(  # noqa: PLR0913 - three of the five numbers of a plan, and a protocol if it is not free
    domain_size: int,
    *,
    users: int | None = None,
    epsilon: float | None = None,
    error: float | None = None,
    significant: float | None = None,
    protocol: str | None = None,
) -> Plan:
    """Solve for the third of users, epsilon and accuracy, with the best protocol at that point.

    The accuracy is either ``error``, the standard error of an estimated frequency, or
    ``significant``, the smallest frequency that will be significant. ``protocol`` fixes the
    protocol by name.

    >>> plan(12, users=20_000, error=0.01).epsilon
    1.344
    >>> plan(41_270, users=100, epsilon=0.5).significant is None
    True
    """
    check_domain_size(domain_size)
    given = [x is not None for x in (users, epsilon, error, significant)]
    if sum(given) != 2 or (error is not None and significant is not None):
        raise InvalidParameter(
            "expected two of users, epsilon and accuracy (error or significant), got "
            f"{sum(given)} of them; leave out the one to solve for",
            value=sum(given),
        )
    # Rare values are what must pass the threshold, so there Var* decides between protocols.
    frequency = 0.0 if significant is not None else 1 / domain_size
    pick = _picker(domain_size, frequency, protocol)
    if epsilon is None:
        goal = _goal(error, significant)
        return _solve_epsilon(pick, check_positive("users", users), goal)
    best = pick(check_epsilon(epsilon))
    if users is None:
        return _solve_users(best, _goal(error, significant))
    return _planned(best, check_positive("users", users))


@dataclass(frozen=True)
class _Goal:
    """What a plan has to reach: a value at most ``target``."""

    target: float
    significance: bool

    def reached(self, protocol: Closed, users: int) -> float:
        """Return the value that ``users`` people reach."""
        if not self.significance:
            return std_error(protocol, users)
        return _detectable(protocol, users) or math.inf

    def users(self, protocol: Closed) -> int:
        """Return how many people it takes."""
        if not self.significance:
            return math.ceil(mean_variance(protocol) / self.target**2)
        rare, frequent = variance(protocol, 0.0), variance(protocol, self.target)
        quantiles = _threshold_quantile(protocol) * math.sqrt(rare) + _z(POWER) * math.sqrt(
            frequent
        )
        return math.ceil(max((quantiles / self.target) ** 2, 1 / self.target))

    def words(self) -> str:
        """Say what is to be reached."""
        if self.significance:
            return f"{_share(self.target)} as the smallest frequency that will be significant"
        return f"a standard error of {_share(self.target)}"


def _goal(error: float | None, significant: float | None) -> _Goal:
    name, target = ("error", error) if significant is None else ("significant", significant)
    number: object = target
    if not isinstance(number, int | float) or not 0 < number < 1:
        raise InvalidParameter(
            f"expected {name} as a frequency between 0 and 1, got {target!r}; "
            "0.01 is one percentage point",
            value=target,
        )
    return _Goal(float(number), significant is not None)


def _solve_users(protocol: Closed, goal: _Goal) -> Plan:
    users = goal.users(protocol)
    if users <= MOST_USERS:
        return _planned(protocol, users, start=f"For {goal.words()}: ")
    limit = _planned(protocol, MOST_USERS)
    return replace(
        limit,
        reachable=False,
        explanation=f"Out of reach: {goal.words()} takes {users:.2g} people at epsilon = "
        f"{protocol.epsilon:g} with {protocol.name}, more than live on Earth; raise epsilon or "
        "accept a larger error.",
    )


def _solve_epsilon(pick: Callable[[float], Closed], users: int, goal: _Goal) -> Plan:
    def reaches(thousandths: int) -> bool:
        return goal.reached(pick(thousandths / 1000), users) <= goal.target

    smallest, high = round(1000 * SMALLEST_EPSILON), round(1000 * LARGEST_EPSILON)
    if not reaches(high):
        limit = _planned(pick(LARGEST_EPSILON), users)
        needed = goal.users(pick(1.0))
        return replace(
            limit,
            reachable=False,
            explanation=f"Out of reach: even at epsilon = {LARGEST_EPSILON:g}, where a report "
            f"hides next to nothing, {users:,} people do not give {goal.words()}; "
            f"at epsilon = 1 it takes {_people(needed)}.",
        )
    low = smallest - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    start = "For" if high > smallest else f"Any epsilon down to {SMALLEST_EPSILON:g} will do for"
    return _planned(pick(high / 1000), users, f"{start} {goal.words()}: ")


def _planned(protocol: Closed, users: int, start: str = "") -> Plan:
    error, smallest = std_error(protocol, users), _detectable(protocol, users)
    size = protocol.report_dtype.itemsize
    found = (
        f"a frequency of {_share(smallest)} or more will be significant"
        if smallest is not None
        else "no frequency will be significant, not even that of an answer all people give"
    )
    explanation = (
        f"{start}with {users:,} people and {protocol.domain_size:,} answers, {protocol.name} at "
        f"epsilon = {protocol.epsilon:g} estimates frequencies with a standard error of "
        f"{_share(error)}, and {found}; a report takes {in_bytes(size)}."
    )
    explanation = explanation[0].upper() + explanation[1:]
    return Plan(
        protocol.domain_size, users, protocol.epsilon, error, smallest, protocol, True, explanation
    )


def _picker(domain_size: int, frequency: float, protocol: str | None) -> Callable[[float], Closed]:
    def pick(epsilon: float) -> Closed:
        found = find_protocols(epsilon, domain_size)
        if protocol is not None:
            named = [p for p in found if p.name == protocol]
            if not named:
                raise InvalidParameter(
                    f"expected a protocol among {', '.join(p.name for p in found)}, "
                    f"got {protocol!r}",
                    value=protocol,
                )
            found = named
        return rank(found, frequency, None)[0]

    return pick


def _detectable(protocol: Closed, users: int) -> float | None:
    """Return the smallest frequency that will be significant, or None.

    It solves n f = T_s + z sqrt(n v(f)). The difference of the sides is convex in f and negative
    at 0, so there is at most one solution, found by bisection. One person is the least there is.
    """
    threshold = _threshold_quantile(protocol) * math.sqrt(variance(protocol, 0.0))

    def lacking(frequency: float) -> bool:
        noise = threshold + _z(POWER) * math.sqrt(variance(protocol, frequency))
        return frequency * math.sqrt(users) < noise

    low, high = 0.0, 1.0
    if lacking(high):
        return None
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if lacking(middle) else (low, middle)
    return max(high, 1 / users)


def _threshold_quantile(protocol: Closed) -> float:
    return -_z(ALPHA / protocol.domain_size)


def _z(probability: float) -> float:
    return NormalDist().inv_cdf(probability)


def _share(frequency: float) -> str:
    return f"{100 * frequency:.3g} %"


def _people(users: int) -> str:
    return f"{users:,} people" if users <= MOST_USERS else "more people than live on Earth"
