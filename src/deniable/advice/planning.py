"""How many people, what epsilon, what error: any one of them from the other two.

The *standard error* of a plan is the typical one: the root of the mean squared error of the
shares over all answers, which the exact variance gives whatever people will answer (see
``ranking``). Rare answers have a little less, frequent ones more, and a plan says how much. A plan
for what will be significant takes the protocol with the least variance of rare answers.

What *will be significant* is by the law that ``Estimates.significant`` decides by: an answer that
so many people hold exceeds the threshold with a probability of at least 95 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from deniable.advice.ranking import (
    find_protocols,
    in_bytes,
    mean_variance,
    rank,
    saving,
    std_error,
    variance,
)
from deniable.errors import InvalidParameter, brief
from deniable.validation import check_domain_size, check_epsilon, check_positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable.law import KnownLaw
    from deniable.protocol import Closed

SMALLEST_EPSILON, LARGEST_EPSILON = 0.01, 10.0
"""Between these an epsilon is looked for; beyond 10 a report hides next to nothing."""
MOST_USERS = 8_000_000_000
ALPHA, POWER = 0.05, 0.95
"""A share will be significant when ``significant(ALPHA)`` accepts it with at least POWER."""
_LEAST_GOAL = 1e-12
"""An accuracy that more people than live on Earth would not reach is asked for by mistake."""


@dataclass(frozen=True)
class Plan:
    """A collection that reaches its goal, or the nearest one that does not.

    ``error`` is the typical standard error of an estimated share, the root of the mean square
    over all answers; ``rare_error`` is that of an answer nobody gives, sqrt(Var* / n), and
    ``largest_error`` the largest that any share has. ``significant`` is the smallest share of the
    people that will be significant [sec:eval]: when k = significant * users hold an answer,
    ``Estimates.significant`` accepts it with a probability of at least 95 %. It is None if there
    is none. When ``reachable`` is False the numbers are those at the limit, and ``explanation``
    says what is missing.
    """

    domain_size: int
    users: int
    epsilon: float
    error: float
    rare_error: float
    largest_error: float
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

    The accuracy is either ``error``, the typical standard error of an estimated share, or
    ``significant``, the smallest share that will be significant, here and among any larger
    number of people. ``protocol`` fixes the protocol by name.

    >>> plan(12, users=20_000, error=0.01).epsilon
    1.201
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
    pick = _picker(domain_size, 0.0 if significant is not None else None, protocol)
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

    @property
    def share(self) -> float | None:
        """The share whose variance counts: that of rare answers, or None for the mean."""
        return 0.0 if self.significance else None

    def reached(self, protocol: Closed, users: int) -> bool:
        """Tell whether ``users`` people are enough."""
        if not self.significance:
            return std_error(protocol, users) <= self.target
        law = _law(protocol, users)
        held = min(math.ceil(self.target * users), users)
        return law.exceeds(held, law.limit(_tail(protocol))) >= POWER

    def users(self, protocol: Closed) -> int:
        """Return how many people it takes."""
        if not self.significance:
            return math.ceil(mean_variance(protocol) / self.target**2)
        return _law(protocol, 1).people(self.target, _tail(protocol), POWER)

    def met(self, found: Plan) -> Plan:
        """Return a plan that reaches the goal, with the share as it was asked for.

        A share of the people is rounded up to a whole number of them, whose share is larger.
        """
        if not self.significance or found.significant is None:
            return found
        return replace(found, significant=min(found.significant, self.target))

    def words(self) -> str:
        """Say what is to be reached."""
        if self.significance:
            return f"{_percent(self.target)} as the smallest share that will be significant"
        return f"a typical standard error of {_percent(self.target)}"


def _goal(error: float | None, significant: float | None) -> _Goal:
    name, target = ("error", error) if significant is None else ("significant", significant)
    number: object = target
    if not isinstance(number, int | float) or not _LEAST_GOAL <= number < 1:
        raise InvalidParameter(
            f"expected {name} as a share between {_LEAST_GOAL:g} and 1, got {brief(target)}; "
            "0.01 is one percentage point",
            value=target,
        )
    return _Goal(float(number), significant is not None)


def _solve_users(protocol: Closed, goal: _Goal) -> Plan:
    users = goal.users(protocol)
    if users <= MOST_USERS:
        start = f"For {goal.words()}: "
        return goal.met(_planned(protocol, users, start, share=goal.share))
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
        return goal.reached(pick(thousandths / 1000), users)

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
    start = f"{start} {goal.words()}: "
    return goal.met(_planned(pick(high / 1000), users, start, share=goal.share))


def _planned(protocol: Closed, users: int, start: str = "", *, share: float | None = None) -> Plan:
    error, held = std_error(protocol, users), _detectable(protocol, users)
    rare, unanimous = (math.sqrt(variance(protocol, share) / users) for share in (0.0, 1.0))
    smallest = None if held is None else _share_of(held, users)
    found = (
        f"an answer of {held:,} of them or more ({_percent(smallest)}) will be significant with a "
        "probability of at least 95 %"
        if held is not None and smallest is not None
        else "no answer will be significant, not even one that all people give"
    )
    explanation = (
        f"{start}with {users:,} people and {protocol.domain_size:,} answers, {protocol.name} at "
        f"epsilon = {protocol.epsilon:g} estimates shares with a typical standard error of "
        f"{_percent(error)} ({_percent(rare)} for an answer that nobody gives, "
        f"{_percent(unanimous)} for one that all give), and {found}; a report takes "
        f"{in_bytes(protocol.report_dtype.itemsize)}."
    )
    spared = saving(protocol, users, share)
    explanation += "" if spared is None else f" {spared}"
    return Plan(
        domain_size=protocol.domain_size,
        users=users,
        epsilon=protocol.epsilon,
        error=error,
        rare_error=rare,
        largest_error=max(rare, unanimous),
        significant=smallest,
        protocol=protocol,
        reachable=True,
        explanation=explanation[0].upper() + explanation[1:],
    )


def _picker(
    domain_size: int, share: float | None, protocol: str | None
) -> Callable[[float], Closed]:
    wanted = 1 / domain_size if share is None else share

    def pick(epsilon: float) -> Closed:
        able = find_protocols(epsilon, domain_size, share)
        found = [p for p in able if p.law(1) is not None]
        if protocol is not None:
            named = [p for p in found if p.name == protocol]
            if not named:
                raise InvalidParameter(
                    f"expected a protocol among {', '.join(p.name for p in found)}, "
                    f"got {brief(protocol)}",
                    value=protocol,
                )
            found = named
        return rank(found, wanted, None)[0]

    return pick


def _detectable(protocol: Closed, users: int) -> int | None:
    """Return the smallest number of people whose answer will be significant, or None."""
    law = _law(protocol, users)
    limit = law.limit(_tail(protocol))
    if law.exceeds(users, limit) < POWER:
        return None
    low, high = 0, users
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if law.exceeds(middle, limit) >= POWER else (middle, high)
    return high


def _law(protocol: Closed, users: int) -> KnownLaw:
    law = protocol.law(users)
    if law is None:
        raise InvalidParameter.expected(
            "a protocol whose law is known before anything is collected",
            protocol.name,
            "leave the choice to the plan, or try it out with simulate",
        )
    return law


def _share_of(held: int, users: int) -> float:
    """Return a share of which the product with ``users``, rounded up, is ``held``."""
    share = held / users
    return share if math.ceil(share * users) <= held else math.nextafter(share, 0.0)


def _tail(protocol: Closed) -> float:
    return ALPHA / protocol.domain_size


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _people(users: int) -> str:
    return f"{users:,} people" if users <= MOST_USERS else "more people than live on Earth"
