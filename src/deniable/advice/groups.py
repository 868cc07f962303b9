"""Plans for rounds, segments and experiments: what a round, a cell or an arm can tell, and of whom.

With p and q of a pure protocol and a share f, a report supports the answer with chance
r = q + f (p - q), and n reports of people drawn from a population estimate f with the variance
r (1 - r) / (p - q)^2 / n. In terms of what every protocol knows, that is its own variance at the
share f, plus f (1 - f) for who was drawn.

Round    of a rota of W rounds has n / W of n people: its variance is W times that of all
Cell     is shown from the number of reports on that carries an error of 5 points at any share
Arm      n = (z_(1 - alpha / 2) + z_power)^2 (v_1 + v_2) / lift^2, alpha divided by the tests
"""

import math
from dataclasses import dataclass

from deniable import validation as valid
from deniable.advice.planning import SURE
from deniable.advice.ranking import Listed, find_protocols, percent, rank, variance
from deniable.errors import InvalidParameter
from deniable.law import upper_normal
from deniable.presentation.parts import Fact, summary
from deniable.presentation.verdict import points, rounded
from deniable.protocol import Protocol

CELL_ERROR = 0.05
"""The largest standard error of any share in a segment that is shown."""
FEW_PEOPLE = 20
"""With fewer people that look the same, a label nearly names a person."""
ALPHA, POWER = 0.05, 0.8


def sampled_variance(protocol: Listed, share: float) -> float:
    """Return n times the variance of a share of a population: the noise, and who was drawn."""
    return variance(protocol, share) + share * (1 - share)


def _planned(epsilon: float, d: int, at_most: int | None, share: float) -> tuple[Listed, str]:
    """Return the protocol that a question would take, and among what people choose."""
    if at_most is None:
        return rank(find_protocols(epsilon, d), share, None)[0], f"{d:,} answers"
    sets = rank(find_protocols(epsilon, d, at_most=at_most), 0.0, None)[0]
    return sets, f"sets of at most {at_most} of {d:,} answers"


def cell_minimum(protocol: Protocol, error: float = CELL_ERROR) -> int | None:
    """Return how many reports carry an error of at most ``error`` at any share; None if unknown.

    >>> from deniable import DE
    >>> cell_minimum(DE(1.0, 2))
    469
    """
    rare, unanimous = protocol.variance(1, 0.0), protocol.variance(1, 1.0)
    if rare is None or unanimous is None:
        return None
    low, slope = float(rare), float(unanimous) - float(rare)
    worst = min(1.0, max(0.0, (1 + slope) / 2))
    return math.ceil((low + slope * worst + worst * (1 - worst)) / error**2)


@dataclass(frozen=True)
class RoundsPlan:
    """What a rota can tell: errors of shares in a round, in a mean of rounds, and of a change."""

    domain_size: int
    users: int
    rounds: int
    times: int
    lifetime: float
    epsilon: float
    protocol: str
    pooled: int
    round_error: float
    mean_error: float
    change_error: float
    explanation: str

    def __str__(self) -> str:
        return self.explanation

    def _repr_html_(self) -> str:
        return summary(self.verdict, self.facts, self.explanation)

    @property
    def verdict(self) -> str:
        """What the plan comes to, in a sentence for everybody."""
        return (
            f"{self.users:,} people in {self.rounds} rounds: a typical share is right to ± "
            f"{points(SURE * self.round_error)} in a round, and its change between two rounds to ± "
            f"{points(SURE * self.change_error)}."
        )

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The plan as a few figures."""
        often = "once" if self.times == 1 else f"{self.times} times at most"
        return (
            Fact("People", f"{self.users:,}", f"about {self.users // self.rounds:,} in a round"),
            Fact("Privacy", f"epsilon = {self.lifetime:g}", f"in all: each is asked {often}"),
            Fact("A round", f"± {points(SURE * self.round_error)}", "95 % sure"),
            Fact(f"Mean of {self.pooled}", f"± {points(SURE * self.mean_error)}", "95 % sure"),
            Fact("A change", f"± {points(SURE * self.change_error)}", "between two rounds"),
        )


def plan_rounds(  # noqa: PLR0913 - the numbers of a rota, each by name
    domain_size: int,
    *,
    users: int,
    rounds: int,
    lifetime: float,
    times: int = 1,
    pooled: int = 4,
    share: float | None = None,
    at_most: int | None = None,
) -> RoundsPlan:
    """Say what a question tells that asks each person in one of some rounds.

    ``lifetime`` is what all reports of a person reveal together, at most ``times`` of them. Errors
    are those of an answer with the given share, 1 / domain_size unless it is named. With
    ``at_most`` people give sets of up to that many answers, whose share is at_most / domain_size.

    >>> plan_rounds(100, users=100_000, rounds=52, lifetime=4.0).round_error.__round__(4)
    0.0062
    """
    valid.check_domain_size(domain_size)
    valid.check_positive("users", users)
    valid.check_whole("rounds", rounds, 2, 520, "one round is a question that is asked once")
    valid.check_whole("times", times, 1, 100)
    valid.check_whole("the number of rounds that are pooled", pooled, 1, rounds)
    epsilon = valid.check_epsilon(lifetime) / times
    mean_share = min(1.0, (at_most or 1) / domain_size)
    at = mean_share if share is None else valid.check_probability("share", share)
    protocol, choice = _planned(epsilon, domain_size, at_most, at)
    error = math.sqrt(rounds * sampled_variance(protocol, at) / users)
    mean, change = error / math.sqrt(pooled), error * math.sqrt(2)
    often = "once" if times == 1 else f"{times} times"
    explanation = (
        f"With {users:,} people and {choice}, each person answers {often}, in a "
        f"round drawn by the person's own device, at epsilon = {epsilon:g} with {protocol.name}: "
        f"{lifetime:g} in all, for ever, whatever changes in between. A round has about "
        f"{users // rounds:,} people. The share of an answer that {percent(at)} give has a "
        f"standard error of {percent(error)} in a round, {percent(mean)} in the mean of "
        f"{pooled} rounds and {percent(change)} for the change between two rounds "
        f"({percent(mean * math.sqrt(2))} between two means of {pooled})."
    )
    return RoundsPlan(
        domain_size, users, rounds, times, lifetime, epsilon, protocol.name, pooled,
        error, mean, change, explanation,
    )  # fmt: skip


@dataclass(frozen=True)
class ArmsPlan:
    """How many people each arm of an experiment needs to find a lift."""

    domain_size: int
    arms: int
    tests: int
    people: int
    epsilon: float
    protocol: str
    power: float
    explanation: str

    def __str__(self) -> str:
        return self.explanation

    def _repr_html_(self) -> str:
        return summary(self.verdict, self.facts, self.explanation)

    @property
    def verdict(self) -> str:
        """What the plan comes to, in a sentence for everybody."""
        found = f"to find such a change with a chance of {percent(self.power)}"
        return f"Each of {self.arms} arms needs {self.people:,} people {found}."

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The plan as a few figures."""
        return (
            Fact("People", f"{self.arms * self.people:,}", f"{self.people:,} in each arm"),
            Fact("Privacy", f"epsilon = {self.epsilon:g}", f"of one report, {self.protocol}"),
            Fact("Tests", f"{self.tests:,}", "at most 5 % for any false alarm"),
        )


def plan_arms(  # noqa: PLR0913 - the numbers of an experiment, each by name
    domain_size: int,
    *,
    epsilon: float,
    start: float,
    lift: float,
    arms: int = 2,
    primary: bool = False,
    looks: int = 1,
    power: float = POWER,
    at_most: int | None = None,
) -> ArmsPlan:
    """Say how many people each arm needs to find that a share has grown from ``start`` by ``lift``.

    ``primary``: only one answer, named beforehand, is tested; otherwise each answer of each arm is.
    With ``at_most`` people give sets of up to that many answers.

    >>> plan_arms(10, epsilon=2.0, start=0.1, lift=0.02).people
    40773
    """
    valid.check_domain_size(domain_size)
    valid.check_whole("arms", arms, 2, 64)
    valid.check_whole("looks", looks, 1, 1000)
    end = valid.check_probability("the share to start from", start) + lift
    if lift == 0 or not 0 < end < 1:
        raise InvalidParameter.expected(
            "a lift that leads to another share between 0 and 1", lift, "0.02 is two points"
        )
    answers = 1 if primary else domain_size - (domain_size == 2 and at_most is None)
    tests = answers * (arms - 1)
    alpha = ALPHA / tests / looks
    protocol, choice = _planned(valid.check_epsilon(epsilon), domain_size, at_most, start)
    z = upper_normal(alpha / 2) + upper_normal(1 - valid.check_probability("power", power))
    spread = sampled_variance(protocol, start) + sampled_variance(protocol, end)
    people = math.ceil(z * z * spread / lift**2)
    tested = "one answer" if answers == 1 else f"{answers:,} answers"
    plain = start * (1 - start) + end * (1 - end)
    explanation = (
        f"To find that an answer goes from {percent(start)} to {percent(end)} with a "
        f"probability of {percent(power)}, each of {arms} arms needs {people:,} people at "
        f"epsilon = {epsilon:g} with {protocol.name} for {choice}. The test is of {tested} in "
        f"{'one arm' if arms == 2 else f'{arms - 1} arms'} against the control, with at most 5 % "
        "for any false alarm"
        + ("" if looks == 1 else f" over {looks} looks")
        + f". Without privacy it would take {math.ceil(z * z * plain / lift**2):,}."
    )
    return ArmsPlan(domain_size, arms, tests, people, epsilon, protocol.name, power, explanation)


def tells(users: int, *, cells: int = 1, days: int = 1, relays: int = 1) -> str:
    """Say what the public parts of a report tell of a person, before anybody is asked.

    >>> print(tells(100_000, cells=8, days=182).partition(":")[2])
     of 100,000 people about 69 look the same. Fewer than 20 would nearly name a person.
    """
    valid.check_positive("users", users)
    alike = users / (cells * days * relays)
    few = f"{alike:.2g}" if alike < 10 else rounded(alike)
    parts = [f"its day (one of {days:,})" if days > 1 else "its day"]
    parts += [f"its segment (one of {cells})"] if cells > 1 else []
    parts += [f"the relay that brought it (one of {relays})"] if relays > 1 else []
    named = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    said = (
        f"A report names {named}, and nothing hides them: of {users:,} people about "
        f"{few} look the same."
    )
    if alike >= FEW_PEOPLE:
        return f"{said} Fewer than {FEW_PEOPLE} would nearly name a person."
    return (
        f"{said} That nearly names a person: ask with fewer segments, fewer values, or less "
        "often. What the person answered stays hidden; that it was this person does not."
    )
