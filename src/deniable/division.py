"""Results by segment: the estimates of each value of a dimension.

A segment is shown from the number of reports on that carries an error of 5 points at any share. The
smaller ones are summed as one, because of their error: that hides nobody, since the total less the
others gives them.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from deniable.advice.groups import CELL_ERROR, FEW_PEOPLE, cell_minimum
from deniable.answers.base import Answers
from deniable.answers.forecast import largest_variance
from deniable.estimates import Estimates
from deniable.presentation.exports import Limits
from deniable.presentation.tables import csv_text, guarded
from deniable.presentation.view import plain
from deniable.protocol import Protocol
from deniable.protocols.views import Views
from deniable.question import Question
from deniable.segments import NOT_STATED
from deniable.tally import Tally

POOLED = "other segments"
"""The name of the sum of the segments that are too small to be shown."""


@dataclass(frozen=True)
class Part:
    """One value of a dimension: how many reports, how many are missing, and the estimates."""

    value: str
    n: int
    missing: int
    estimates: Estimates | None

    @property
    def warning(self) -> str | None:
        """What is wrong with so small a segment, if anything is."""
        if 0 < self.n < FEW_PEOPLE and self.value != NOT_STATED:
            return (
                f"fewer than {FEW_PEOPLE} reports so far: if it stays so, this label nearly names "
                "a person, so ask with coarser values next time"
            )
        return None

    def told(self, **limits: Unpack[Limits]) -> dict[str, object]:
        """Return the rows as plain data, and what the kind of answer tells beside them."""
        found = self.estimates
        if found is None:
            return {"estimates": None}
        everything = json.loads(found.to_json(**limits))
        rows, known = everything.pop(found.rows_name), Estimates.summary(found)
        return {"estimates": rows, **{k: v for k, v in everything.items() if k not in known}}


@dataclass(frozen=True)
class Parts:
    """The values of a dimension, shown from ``minimum`` reports on."""

    question: Question
    dimension: str
    minimum: int
    parts: tuple[Part, ...]

    def document(self, **limits: Unpack[Limits]) -> dict[str, object]:
        """Return all segments as plain data; those that are not shown have no estimates."""
        return {
            "question": self.question.name,
            "digest": self.question.digest,
            "dimension": self.dimension,
            "shown_from": self.minimum,
            "segments": [
                {
                    "value": part.value,
                    "n": part.n,
                    "missing": part.missing,
                    "warning": part.warning,
                    **part.told(**limits),
                }
                for part in self.parts
            ],
        }

    def to_csv(self, delimiter: str = ",", *, level: float = 0.95, alpha: float = 0.05) -> str:
        """Return a row for each shown segment and answer, the segment in the first column.

        That column has the name of the dimension, with ``group_`` before it as long as another
        column or dimension has that name.
        """
        shown = [(part.value, part.estimates) for part in self.parts if part.estimates is not None]
        cells: dict[str, list[object]] = {}
        for _, found in shown:
            rows = len(found)
            for name, column in found.columns(level=level, alpha=alpha).items():
                cells.setdefault(name, []).extend(plain(column, rows))
            for name, same in found.repeated(level).items():
                cells.setdefault(name, []).extend([same] * rows)
        heading = self.dimension
        taken = cells.keys() | ({each.name for each in self.question.segments} - {heading})
        while heading in taken:
            heading = f"group_{heading}"
        values = [value for value, found in shown for _ in range(len(found))]
        columns = {name: np.array(column, dtype=object) for name, column in cells.items()}
        return csv_text({guarded(heading): values, **columns}, None, delimiter)


def divide(  # noqa: PLR0913 - what is divided and how, each by name
    question: Question,
    cells: Mapping[int, Tally],
    dimension: str,
    *,
    minimum: int = 1,
    within: Sequence[int] | None = None,
    estimate: Callable[[Tally], Estimates] | None = None,
) -> Parts:
    """Estimate each value of a dimension from the tallies of cells.

    ``minimum`` is the fewest reports that are wanted beside what the error asks for, ``within`` the
    cells that count. ``estimate`` makes estimates of a tally, as ``question.estimate`` does.

    >>> from deniable import DE
    >>> fruit = Question("fruit", ("kiwi", "fig"), DE(3.0, 2), segments={"os": ("linux", "mac")})
    >>> rng = np.random.default_rng(1)
    >>> def tally(n):
    ...     return fruit.tally(fruit.privatize(["kiwi"] * n, rng))
    >>> found = divide(fruit, {0: tally(500), 1: tally(30)}, "os")
    >>> found.minimum, [(part.value, part.n, part.missing) for part in found.parts]
    (123, [('linux', 500, 0), ('mac', 30, 93)])
    """
    make = question.estimate if estimate is None else estimate
    least = least_reports(question, minimum)

    def add(some: Sequence[int]) -> Tally:
        total = question.accumulator()
        for cell in some:
            if cell in cells:
                total.merge(cells[cell])
        return total.tally()

    parts: list[Part] = []
    small: list[int] = []
    for value, all_of_it in question.segments.by(dimension).items():
        mine = [cell for cell in all_of_it if within is None or cell in within]
        tally = add(mine)
        shown = tally.n >= least
        if tally.n or value != NOT_STATED:
            missing = max(0, least - tally.n)
            parts.append(Part(value, tally.n, missing, make(tally) if shown else None))
        small += [] if shown else mine
    rest = add(small)
    if rest.n >= least and sum(part.estimates is None for part in parts) > 1:
        parts.append(Part(POOLED, rest.n, 0, make(rest)))
    return Parts(question, dimension, least, tuple(parts))


def least_reports(question: Question, minimum: int = 1) -> int:
    """Return the fewest reports with which a segment is shown: its error is 5 points at most."""
    return max(minimum, fewest(question.answers, question.protocol))


def fewest(answers: Answers, protocol: Protocol) -> int:
    """Return the fewest reports with which a segment of these answers is shown."""
    if not isinstance(protocol, Views):
        return cell_minimum(protocol) or 1
    return math.ceil((largest_variance(answers, protocol) or 0.0) / CELL_ERROR**2)
