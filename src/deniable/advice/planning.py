"""How many people, what epsilon, what error: any one of them from the other two.

The *standard error* of a plan is the typical one: the root of the mean squared error of the shares
over all answers, which the exact variance gives whatever people will answer (see ``ranking``). Rare
answers have a little less, frequent ones more, and a plan says how much. A plan for what will be
significant takes the protocol with the least variance of rare answers.

What *will be significant* follows from the law by which ``Estimates.significant`` decides: an
answer of that many people exceeds the threshold with a probability of at least 95 %. Without a
known variance there is no plan, and without a known law none for what will be significant.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from deniable.advice import ranking
from deniable.advice.ranking import Listed, percent
from deniable.errors import InvalidParameter
from deniable.law.binomial_sum import last_true
from deniable.presentation.parts import Fact, summary
from deniable.presentation.verdict import points, rounded, share
from deniable.presentation.view import counted
from deniable.protocols.sets import Sets
from deniable.validation import check_domain_size, check_epsilon, check_positive

SMALLEST_EPSILON, LARGEST_EPSILON = 0.01, 10.0
"""Between these an epsilon is looked for; beyond 10 a report hides next to nothing."""
MOST_USERS = 8_000_000_000
ALPHA, POWER = 0.05, 0.95
"""A share will be significant when ``significant(ALPHA)`` accepts it with at least POWER."""
_SURE = 1.96
"""So many standard errors to either side are where 95 % of errors lie."""
_LEAST_GOAL = 1e-12
"""An accuracy that more people than live on Earth would not reach is asked for by mistake."""


@dataclass(frozen=True)
class Plan:
    """A collection that reaches its goal, the nearest one that does not, or why there is no plan.

    ``error`` is the typical standard error of an estimated share, the root of the mean square over
    all answers; ``rare_error`` is that of an answer nobody gives, sqrt(Var* / n), and
    ``largest_error`` the largest that any share has. ``significant`` is the smallest share of the
    people that will be significant [sec:eval]: when k = significant * users hold an answer,
    ``Estimates.significant`` accepts it with a probability of at least 95 %. It is None if there
    is none. When ``reachable`` is False the numbers are those at the limit, and ``explanation``
    says what is missing. Where the protocol's error is not known, the numbers that would have
    followed from it are None.
    """

    domain_size: int
    users: int | None
    epsilon: float | None
    error: float | None
    rare_error: float | None
    largest_error: float | None
    significant: float | None
    protocol: Listed
    reachable: bool
    explanation: str

    def __str__(self) -> str:
        return self.explanation

    def _repr_html_(self) -> str:
        return summary(self.verdict, self.facts, *([self.explanation] if self.reachable else ()))

    @property
    def verdict(self) -> str:
        """What the plan comes to, in a sentence for everybody, or why it is out of reach."""
        if not self.reachable or self.users is None or self.error is None:
            return self.explanation
        people = f"{rounded(self.users)} people" if self.users > 10**6 else f"{self.users:,} people"
        within = f"{people}: each share is right to ± {points(_SURE * self.error)}"
        if self.significant is None:
            known = self.protocol.law(self.users) is not None
            return f"{within}, and no answer will stand out." if known else f"{within}."
        return f"{within}, and answers above {share(self.significant, up=True)} will stand out."

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The plan as a few figures, as far as they are known."""
        people = None if self.users is None else f"{self.users:,}"
        margin = None if self.error is None else f"± {points(_SURE * self.error)}"
        rare = None if self.significant is None else f"{share(self.significant, up=True)} and more"
        size = counted(self.protocol.report_dtype.itemsize, "byte")
        found = (
            Fact("People", people or "", f"who choose among {self.domain_size:,} answers"),
            Fact("Privacy", f"epsilon = {self.protocol.epsilon:g}", "of one report"),
            Fact("Margin of error", margin or "", "95 % sure, for a typical answer"),
            Fact("Stands out", rare or "", "with a chance of at least 95 %"),
            Fact("Report", size, self.protocol.name),
        )
        return tuple(fact for fact in found if fact.value)

    def row(self) -> dict[str, object]:
        size = self.protocol.report_dtype.itemsize
        return {**vars(self), "protocol": self.protocol.name, "report_bytes": size}


def plan(  # noqa: PLR0913 - three of the five numbers of a plan, and a protocol if it is not free
    domain_size: int,
    *,
    users: int | None = None,
    epsilon: float | None = None,
    error: float | None = None,
    significant: float | None = None,
    protocol: str | None = None,
    at_most: int | None = None,
) -> Plan:
    """Solve for the third of users, epsilon and accuracy, with the best protocol at that point.

    The accuracy is either ``error``, the typical standard error of an estimated share, or
    ``significant``, the smallest share that will be significant, here and among any larger number
    of people. ``protocol`` fixes the protocol by name. With ``at_most`` people give sets of up to
    so many answers.

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
    users = users if users is None else check_positive("users", users)
    epsilon = epsilon if epsilon is None else check_epsilon(epsilon)
    # Rare values are what must pass the threshold, so there Var* decides between protocols.
    pick = _picker(domain_size, at_most, significant is not None, protocol)
    first = pick(1.0 if epsilon is None else epsilon)
    if not _plannable(first, significant is not None):
        return Plan(domain_size, users, epsilon, error, None, None, significant, first, False,
                    ranking.not_known(first.name, "not for plans"))  # fmt: skip
    if users is None:
        return _solve_users(first, _goal(error, significant))
    if epsilon is not None:
        return _planned(first, users)
    return _solve_epsilon(pick, users, _goal(error, significant))


@dataclass(frozen=True)
class _Goal:
    """What a plan has to reach: a value at most ``target``."""

    target: float
    significance: bool

    @property
    def share(self) -> float | None:
        """The share whose variance counts: that of rare answers, or None for the mean."""
        return 0.0 if self.significance else None

    def reached(self, protocol: Listed, users: int) -> bool:
        if not self.significance:
            return ranking.std_error(protocol, users) <= self.target
        law = protocol.law(users)
        held = min(math.ceil(self.target * users), users)
        return (
            law is not None and law.exceeds(held, law.limit(_tail_of_an_answer(protocol))) >= POWER
        )

    def users(self, protocol: Listed) -> int:
        law = protocol.law(1) if self.significance else None
        if law is None:
            return math.ceil(ranking.mean_variance(protocol) / self.target**2)
        return law.people(self.target, _tail_of_an_answer(protocol), POWER)

    def met(self, found: Plan) -> Plan:
        """Return a plan that reaches the goal, with the share as it was asked for.

        A share of the people is rounded up to a whole number of them, whose share is larger.
        """
        if not self.significance or found.significant is None:
            return found
        return replace(found, significant=min(found.significant, self.target))

    def words(self) -> str:
        if self.significance:
            return f"{percent(self.target)} as the smallest share that will be significant"
        return f"a typical standard error of {percent(self.target)}"


def _goal(error: float | None, significant: float | None) -> _Goal:
    name, target = ("error", error) if significant is None else ("significant", significant)
    number: object = target
    if not isinstance(number, int | float) or not _LEAST_GOAL <= number < 1:
        wanted = f"{name} as a share between {_LEAST_GOAL:g} and 1"
        raise InvalidParameter.expected(wanted, target, "0.01 is one percentage point")
    return _Goal(float(number), significant is not None)


def _plannable(protocol: Listed, significance: bool) -> bool:
    return protocol.variance(1) is not None and not (significance and protocol.law(1) is None)


def _picker(
    domain_size: int, at_most: int | None, significance: bool, name: str | None
) -> Callable[[float], Listed]:
    """Return what takes the best protocol at an epsilon, or the named one, plannable or not."""
    share = 0.0 if significance else None

    def pick(epsilon: float) -> Listed:
        found = ranking.find_protocols(epsilon, domain_size, share, at_most)
        able = [p for p in found if _plannable(p, significance)]
        if name is None:
            mean = (at_most or 1) / domain_size
            return ranking.rank(able, mean if share is None else share, None)[0]
        named = next((p for p in found if p.name == name), None)
        if named is None:
            known = ", ".join(p.name for p in able)
            raise InvalidParameter.expected(f"a protocol among {known}", name)
        return named

    return pick


def _solve_users(protocol: Listed, goal: _Goal) -> Plan:
    users = goal.users(protocol)
    if users <= MOST_USERS:
        start = f"For {goal.words()}: "
        return goal.met(_planned(protocol, users, start, share=goal.share))
    return replace(
        _planned(protocol, MOST_USERS),
        reachable=False,
        explanation=f"Out of reach: {goal.words()} takes {users:.2g} people at epsilon = "
        f"{protocol.epsilon:g} with {protocol.name}, more than live on Earth; raise epsilon or "
        "accept a larger error.",
    )


def _solve_epsilon(pick: Callable[[float], Listed], users: int, goal: _Goal) -> Plan:
    def reaches(thousandths: int) -> bool:
        return goal.reached(pick(thousandths / 1000), users)

    smallest, end = round(1000 * SMALLEST_EPSILON), round(1000 * LARGEST_EPSILON)
    if not reaches(end):
        needed = goal.users(pick(1.0))
        people = f"{needed:,} people" if needed <= MOST_USERS else "more people than live on Earth"
        return replace(
            _planned(pick(LARGEST_EPSILON), users),
            reachable=False,
            explanation=f"Out of reach: even at epsilon = {LARGEST_EPSILON:g}, where a report "
            f"hides next to nothing, {users:,} people do not give {goal.words()}; "
            f"at epsilon = 1 it takes {people}.",
        )
    # By halves, since the error of sets is not monotone where the best size of reports changes.
    low, high = smallest - 1, end
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    start = "For" if high > smallest else f"Any epsilon down to {SMALLEST_EPSILON:g} will do for"
    start = f"{start} {goal.words()}: "
    return goal.met(_planned(pick(high / 1000), users, start, share=goal.share))


def _planned(protocol: Listed, users: int, start: str = "", *, share: float | None = None) -> Plan:
    error = ranking.std_error(protocol, users)
    rare, unanimous = (math.sqrt(ranking.variance(protocol, each) / users) for each in (0.0, 1.0))
    smallest, found = _significant(protocol, users)
    several = f", up to {protocol.at_most} each" if isinstance(protocol, Sets) else ""
    explanation = (
        f"{start}with {users:,} people and {protocol.domain_size:,} answers{several}, "
        f"{protocol.name} at epsilon = {protocol.epsilon:g} estimates shares with a typical "
        f"standard error of {percent(error)} ({percent(rare)} for an answer that nobody gives, "
        f"{percent(unanimous)} for one that all give), and {found}; a report takes "
        f"{counted(protocol.report_dtype.itemsize, 'byte')}."
    )
    spared = ranking.saving(protocol, users, share)
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


def significant_share(protocol: Listed, users: int) -> float | None:
    """Return the smallest share that will be significant with at least POWER, if one will."""
    return _significant(protocol, users)[0]


def _significant(protocol: Listed, users: int) -> tuple[float | None, str]:
    """Return the smallest share that will be significant, if one will, and say so."""
    law = protocol.law(users)
    if law is None:
        return None, "which answers will be significant is not known beforehand"
    limit = law.limit(_tail_of_an_answer(protocol))
    held = 1 + last_true(lambda k: k < users and law.exceeds(k, limit) < POWER, users)
    if law.exceeds(users, limit) < POWER:
        return None, "no answer will be significant, not even one that all people give"
    share = held / users
    # Its product with the people, rounded up, has to be as many as hold it.
    share = share if math.ceil(share * users) <= held else math.nextafter(share, 0.0)
    return share, (
        f"an answer of {held:,} of them or more ({percent(share)}) will be significant with a "
        "probability of at least 95 %"
    )


def _tail_of_an_answer(protocol: Listed) -> float:
    return ALPHA / protocol.domain_size
