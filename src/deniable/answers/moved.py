"""How numbers moved from one group of people to another: quartiles, the mean, the share above one.

The limits of both figures are added in squares (Zou and Donner 2008), which are those of normal
variables for the mean and the share. A share is told as a figure in percent, and moves by points.
"""

import math
from dataclasses import dataclass

from deniable.answers.distribution import NumberEstimates
from deniable.answers.scale import told
from deniable.presentation.verdict import ALPHA, Verdict
from deniable.presentation.view import Figure, Shown, percent


@dataclass(frozen=True, repr=False)
class Move(Shown):
    """A figure of two groups of people, and by how much that of the second is larger."""

    name: str
    first: Figure
    second: Figure
    number: float | None = None
    """Of a share of people, which is told in percent: above which number they are."""

    @property
    def by(self) -> Figure:
        was, now = self.first, self.second
        by = now.value - was.value
        below = math.hypot(now.value - now.lower, was.upper - was.value)
        above = math.hypot(now.upper - now.value, was.value - was.lower)
        unit = "points" if now.unit == "%" else now.unit
        return Figure(by, by - below, by + above, unit)

    def __str__(self) -> str:
        return f"{self.name}: {self.first}, then {self.second}: changed by {self.by}"

    @property
    def row(self) -> dict[str, float]:
        by, whole = self.by, 1 if self.number is None else 100
        names = ("first", "second", "difference", "lower", "upper")
        values = (self.first.value, self.second.value, by.value, by.lower, by.upper)
        found = {name: value / whole for name, value in zip(names, values, strict=True)}
        return found if self.number is None else {"number": self.number, **found}


def mean_moved(before: NumberEstimates, after: NumberEstimates, level: float = 0.95) -> Move:
    """Return how the mean moved."""
    return Move("mean", before.mean_at(level), after.mean_at(level))


def moves(before: object, after: object, level: float = 0.95) -> dict[str, Move]:
    """Return how the figures of numbers moved, by name; none where the answers are no numbers."""
    if not (isinstance(before, NumberEstimates) and isinstance(after, NumberEstimates)):
        return {}
    was, now = before.figures(level), after.figures(level)
    found = {name: Move(name, was[name], now[name]) for name in was if name in now}
    if after.asked is not None and "median" in found:
        row = after.above(after.asked)
        first, second = (_in_percent(each, after.asked, level) for each in (before, after))
        found["above"] = Move(row.label, first, second, after.asked)
    return found


def _in_percent(found: NumberEstimates, number: float, level: float) -> Figure:
    row = found.above(number, level=level)
    value, lower, upper = (100 * each / found.n for each in (row.count, *row.ends))
    return Figure(value, lower, upper, "%")


def since(before: NumberEstimates, after: NumberEstimates, when: str = "") -> Verdict:
    """Return how the mean has changed since other people were asked, the median and the share."""
    found, sure = moves(before, after), mean_moved(before, after, 1 - ALPHA).by
    mean = found["mean"]
    value, spread = mean.by.cells
    if sure.lower <= 0 <= sure.upper:
        steady = "The mean has not changed by more than chance explains"
        wide = f"{sure.cells[1]}, {percent(1 - ALPHA)} sure"
        claims = [told(f"{steady}: by {value} ({wide}).", "steady")]
    else:
        ends = f"from {mean.first.cells[0]} to {mean.second.cells[0]}"
        said = f"The mean changed by |{value}| ({spread}), {ends}{f' {when}' if when else ''}."
        claims = [told(said, "changed")]
    if "median" in found:
        median = found["median"]
        said = f"The median was {median.first}, and is {median.second}: changed by {median.by}."
        claims.append(told(said))
    if "above" in found:
        above = found["above"]
        was, now = (f"{each.value:z.1f} %" for each in (above.first, above.second))
        name = f"{above.name[:1].upper()}{above.name[1:]}"
        claims.append(
            told(f"{name} were {was} of the people, and are {now}: changed by {above.by}.")
        )
    return Verdict(tuple(claims))
