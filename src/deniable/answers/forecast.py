"""What a question will tell before anybody is asked: the error of each table, item and figure.

Each is a *standard error*, the typical one over the cells of a table, the items of a set or the
thresholds of a distribution, by the variances that the design of the protocol is made with. They
fall with the root of the number of people, so that people, epsilon and error follow from each
other.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from deniable.advice import designs
from deniable.advice.planning import (
    ALPHA,
    LARGEST_EPSILON,
    MOST_USERS,
    POWER,
    SMALLEST_EPSILON,
    significant_share,
)
from deniable.answers.base import Answers
from deniable.answers.choices import Choices
from deniable.answers.number import Number
from deniable.answers.record import Record
from deniable.errors import InvalidParameter
from deniable.law.normal import upper_normal
from deniable.law.tables import Tables, ViewTable
from deniable.presentation.parts import Fact, Table, summary
from deniable.presentation.verdict import points, share
from deniable.protocol import Protocol
from deniable.protocols.levels import Levels
from deniable.protocols.sets import Sets
from deniable.protocols.views import Views
from deniable.randomness import WORD
from deniable.validation import check_epsilon, check_positive

_HOPELESS = 0.2
"""A range of the share, up or down, with which nothing is known of it."""
_SURE = 1.96
_PEOPLE, _THRESHOLDS = 1 << 40, 64


class Forecast(NamedTuple):
    """One thing that will be told: what, and n times the variance of its share, or of its mean.

    A mean is taken between 0 and 1, and ``extent`` times that in its ``unit``.
    """

    what: str
    variance: float
    extent: float | None = None
    unit: str = ""
    planned: bool = True
    """Whether a plan is about it, and not only tells it."""

    def error(self, users: int) -> float:
        return math.sqrt(self.variance / users)

    def shown(self, users: int) -> str:
        """Return how far it may be off, 95 % sure."""
        reach = _SURE * self.error(users)
        if self.extent is None:
            return f"± {points(reach)}".replace("\u00a0", " ")
        return f"± {float(f'{reach * self.extent:.3g}'):,.12g} {self.unit}".rstrip()


def forecast(answers: Answers, protocol: Protocol) -> tuple[Forecast, ...]:
    """Return what a protocol will tell of some answers, the coarsest first.

    >>> [each.what for each in forecast(Number(0, 10), Number(0, 10).suggest(1.0))][:1]
    ['share of people up to a number']
    """
    if isinstance(answers, Record) and isinstance(protocol, Views):
        tables = [(" by ".join(table), answers.digits(table)) for table in answers.tables]
        return tuple(
            Forecast(f"share in {name}", designs.cell_variance(protocol, digits))
            for name, digits in tables
        )
    if isinstance(answers, Number) and isinstance(protocol, Views):
        return tuple(_of_number(answers, protocol))
    if isinstance(answers, Choices) and isinstance(protocol, Sets):
        items = float(protocol.variance(1, answers.at_most / len(answers.labels)))
        # A size is the difference of two shares of any size, whatever these have in common.
        size = 4 * max(float(protocol.variance(1, share)) for share in (0.0, 1.0))
        sizes = Forecast("share of a size, at most", size, planned=False)
        return Forecast("share of an item", items), sizes
    listed = answers.labels
    variance = protocol.variance(1, 1 / len(listed)) if listed else protocol.variance(1)
    if variance is None:
        raise InvalidParameter(
            f"the error of {protocol.name} is not known beforehand; plan with the number of "
            "answers, or try it with deniable simulate",
            value=protocol.name,
        )
    return (Forecast("share of an answer" if listed else "share of a text", float(variance)),)


def _of_number(answers: Number, protocol: Views) -> list[Forecast]:
    found, extent = [], float(answers.high - answers.low)
    if "distribution" in answers.want:
        below = designs.threshold_variance(protocol, answers.steps)
        found.append(Forecast("share of people up to a number", below))
        found.append(
            Forecast("a quantile, if all numbers are as frequent", below, extent, answers.unit)
        )
    every = zip(protocol.protocols or (), protocol.lots or (), strict=True)
    for part, lot in every:
        if isinstance(part, Levels):
            wide = (protocol.value_count - 1) / (answers.steps - 1)
            variance = part.largest_variance * wide**2 / (int(lot) / 2**64)
            found.append(Forecast("the mean, at most", variance, extent, answers.unit))
    return found


def largest_variance(answers: Answers, protocol: Views) -> float | None:
    """Return n times the largest variance of any figure, whatever people answer, or None.

    Of a record that is the share of any value of an attribute, of numbers the share of people up to
    any of them, and the mean as a part of the range.

    >>> record = Record(plan=["free", "pro"], os=["a", "b", "c"])
    >>> round(largest_variance(record, record.suggest(1.0)), 2)
    3.46
    """
    every = zip(protocol.views, protocol.protocols or (), protocol.lots or (), strict=True)
    shares = [(view, part, max(1, int(lot) * _PEOPLE // WORD)) for view, part, lot in every]
    tables = Tables.of(
        protocol.radices,
        [
            ViewTable(view, n, np.zeros(part.domain_size, np.int64), part.pairs)
            for view, part, n in shares
            if not isinstance(part, Levels)
        ],
    )
    found = list[float]()
    if not isinstance(answers, Number):
        single = [(digit,) for digit in range(len(protocol.radices)) if tables.tells((digit,))]
        each = (tables.largest_variances(d, np.eye(1, tables.size(d))) for d in single)
        found = [float(variance) for (variance,) in each]
    elif tables.views:
        target = max((view.digits for view in tables.views), key=len)
        cells = np.arange(tables.size(target))
        # All thresholds of a small scale, and some of a large one, whose neighbours are alike.
        until = np.unique(np.linspace(0, len(cells) - 2, _THRESHOLDS).astype(np.int64))
        below = (cells <= until[:, None]).astype(np.float64)
        found = tables.largest_variances(target, below).tolist()
    wide = (protocol.value_count - 1) / (answers.steps - 1) if isinstance(answers, Number) else 1.0
    levels = [(p.largest_variance + 0.25) / n for _, p, n in shares if isinstance(p, Levels)]
    return max((_PEOPLE * each for each in (*found, *(wide**2 * x for x in levels))), default=None)


@dataclass(frozen=True)
class AnswersPlan:
    """How many people at which epsilon, and what they will tell.

    ``error`` is the largest of the typical standard errors, as a share or as a part of the range
    of numbers. When ``reachable`` is False it is what the limit gives.
    """

    answers: Answers
    protocol: Protocol
    users: int
    error: float
    forecasts: tuple[Forecast, ...]
    reachable: bool = True

    @property
    def worst(self) -> Forecast:
        """What the plan is about: the one with the largest error."""
        planned = [each for each in self.forecasts if each.planned]
        return max(planned, key=lambda each: each.error(self.users))

    @property
    def significant(self) -> float | None:
        """The smallest share of a row that will be significant, or None if no row will.

        Of sets it is exact; of records it is by the normal law, as their intervals are.
        """
        answers, protocol = self.answers, self.protocol
        if isinstance(protocol, Sets):
            return significant_share(protocol, self.users)
        if not isinstance(answers, Record) or not isinstance(protocol, Views):
            return None
        digits = range(len(answers.parts))
        worst = max(designs.cell_variance(protocol, (digit,)) for digit in digits)
        reach = upper_normal(ALPHA / len(answers.labels)) + upper_normal(1 - POWER)
        found = reach * math.sqrt(worst / self.users)
        return found if found <= 1 else None

    @property
    def stands_out(self) -> str:
        """Which answers will be significant, in a sentence; of numbers there is none."""
        if not isinstance(self.answers, Choices | Record):
            return ""
        if self.significant is None:
            return "No answer will stand out, not even one that all people give."
        return f"Answers above {share(self.significant, up=True)} will stand out."

    @property
    def verdict(self) -> str:
        """The plan in a sentence or two."""
        planned, worst = [each for each in self.forecasts if each.planned], self.worst
        who = "1 person" if self.users == 1 else f"{self.users:,} people"
        said = f"{who} at epsilon = {self.protocol.epsilon:g}: "
        told = f"{worst.what} is right to {worst.shown(self.users)}, 95 % sure"
        if not self.reachable:
            return f"Out of reach: even with {said}{told}; accept a larger error."
        rest = ", and everything else is more exact." if len(planned) > 1 else "."
        if _SURE * worst.error(self.users) > _HOPELESS:
            rest = ", which tells next to nothing: ask more people."
        return f"{said}{told}{rest} {self.stands_out}".rstrip()

    def __str__(self) -> str:
        return "\n".join([self.verdict, "", *self.table.lines(100)])

    def _repr_html_(self) -> str:
        people = Fact("People", f"{self.users:,}")
        privacy = Fact("Privacy", f"epsilon = {self.protocol.epsilon:g}", "of one report")
        told = (Fact(each.what, each.shown(self.users)) for each in self.forecasts[:8])
        return summary(self.verdict, (people, privacy, *told))

    @property
    def table(self) -> Table:
        """What will be told, and how far it may be off."""
        rows = tuple((each.what, each.shown(self.users)) for each in self.forecasts)
        return Table("plan", headings=("what", "95 % sure"), rows=rows)

    def row(self) -> dict[str, object]:
        told = [
            {"what": each.what, "std_error": each.error(self.users) * (each.extent or 1.0),
             "unit": each.unit or None}
            for each in self.forecasts
        ]  # fmt: skip
        return {
            "users": self.users,
            "epsilon": self.protocol.epsilon,
            "error": self.error,
            "reachable": self.reachable,
            "protocol": self.protocol.name,
            "report_bytes": self.protocol.report_dtype.itemsize,
            "significant": self.significant,
            "told": told,
        }


def plan_answers(
    answers: Answers,
    *,
    users: int | None = None,
    epsilon: float | None = None,
    error: float | None = None,
) -> AnswersPlan:
    """Solve for the third of users, epsilon and error, for answers of any kind.

    ``error`` is the largest of the typical standard errors of what is wanted: 0.01 is a percentage
    point, or a hundredth of the range of numbers.

    >>> record = Record(plan=["free", "pro"], os=["a", "b", "c"])
    >>> plan_answers(record, epsilon=1.0, error=0.01).users
    30762
    """
    if sum(each is None for each in (users, epsilon, error)) != 1:
        raise InvalidParameter(
            "expected two of users, epsilon and error; leave out the one to solve for", value=None
        )
    if error is not None and not 0 < error < 1:
        raise InvalidParameter.expected("error as a share between 0 and 1", error, "0.01 is usual")
    if epsilon is None:
        assert users is not None
        assert error is not None
        return _least_epsilon(answers, check_positive("users", users), error)
    if users is not None:
        return _planned(answers, check_epsilon(epsilon), check_positive("users", users))
    assert error is not None
    one = _planned(answers, check_epsilon(epsilon), 1)
    needed = math.ceil((one.error / error) ** 2)
    found = _planned(answers, epsilon, min(needed, MOST_USERS))
    return replace(found, reachable=needed <= MOST_USERS)


def _planned(answers: Answers, epsilon: float, users: int) -> AnswersPlan:
    protocol = answers.suggest(epsilon)
    told = forecast(answers, protocol)
    worst = max(each.error(users) for each in told if each.planned)
    return AnswersPlan(answers, protocol, users, worst, told)


def _least_epsilon(answers: Answers, users: int, error: float) -> AnswersPlan:
    low, high = 0, round(100 * LARGEST_EPSILON)
    best = _planned(answers, LARGEST_EPSILON, users)
    if best.error > error:
        return replace(best, reachable=False)
    while high - low > 1:
        middle = (low + high) // 2
        found = _planned(answers, max(middle / 100, SMALLEST_EPSILON), users)
        low, high, best = (low, middle, found) if found.error <= error else (middle, high, best)
    return best
