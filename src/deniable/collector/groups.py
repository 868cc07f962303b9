"""Results by segment: the estimates of each value of a dimension, and the verdict of an experiment.

A segment is shown from the number of reports on that carries an error of 5 points at any share. The
smaller ones are summed as one, because of their error: that hides nobody.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.advice.groups import FEW_PEOPLE
from deniable.collector.jobs import Sums
from deniable.errors import InvalidParameter
from deniable.estimates import Estimates
from deniable.experiment import Experiment, compare_arms
from deniable.presentation.tables import csv_text
from deniable.presentation.view import plain
from deniable.segments import NOT_STATED

POOLED = "other segments"
"""The name of the sum of the segments that are too small to be shown."""


@dataclass(frozen=True)
class Division:
    """How results are divided: a dimension, and for an experiment its control and what is tested.

    Without a control nothing is compared.
    """

    dimension: str
    control: str | None = None
    primary: str | None = None
    looks: int = 1
    form: str = "json"


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
        if 0 < self.n < FEW_PEOPLE:
            return "this label nearly names a person; ask again with coarser values"
        return None


@dataclass(frozen=True)
class Parts:
    """The values of a dimension, and what an experiment found."""

    division: Division
    minimum: int
    parts: tuple[Part, ...]
    experiment: Experiment | None


def divide(sums: Sums, division: Division) -> Parts:
    """Estimate each value of a dimension from the first wanted slice."""
    question, wanted = sums.question, sums.order.wanted
    whole, days = wanted.parts[0], sums.tallies[wanted.parts[0]][1]
    inside = wanted.cells
    groups = question.segments.by(division.dimension)
    least = sums.least
    parts: list[Part] = []
    small: list[int] = []
    for value, cells in groups.items():
        mine = [cell for cell in cells if inside is None or cell in inside]
        tally = sums.tally(whole, mine)
        shown = tally.n >= least
        found = sums.estimate(tally, wanted.candidates, days) if shown else None
        if tally.n or value != NOT_STATED:
            parts.append(Part(value, tally.n, max(0, least - tally.n), found))
        small += [] if shown else mine
    rest = sums.tally(whole, small)
    if rest.n >= least and sum(part.estimates is None for part in parts) > 1:
        parts.append(Part(POOLED, rest.n, 0, sums.estimate(rest, wanted.candidates, days)))
    return Parts(division, least, tuple(parts), _experiment(parts, division))


def _experiment(parts: Sequence[Part], division: Division) -> Experiment | None:
    if division.control is None:
        return None
    arms = {part.value: part.estimates for part in parts
            if part.estimates is not None and part.value not in (NOT_STATED, POOLED)}  # fmt: skip
    if division.control not in {part.value for part in parts}:
        raise InvalidParameter.expected(
            f"a value of {division.dimension} as control", division.control
        )
    if division.control not in arms or len(arms) < 2:
        return None
    return compare_arms(
        arms, control=division.control, primary=division.primary, looks=division.looks
    )


def export(sums: Sums, division: Division) -> bytes:
    """Return the estimates by segment as JSON, or those of the segments that are shown as CSV."""
    found = divide(sums, division)
    if division.form == "csv":
        return _csv(found, division.dimension).encode()
    question = sums.question
    said: dict[str, object] = {
        "question": question.name,
        "digest": question.digest,
        "dimension": division.dimension,
        "shown_from": found.minimum,
        "segments": [
            {
                "value": part.value,
                "n": part.n,
                "missing": part.missing,
                "warning": part.warning,
                "estimates": None
                if part.estimates is None
                else json.loads(part.estimates.to_json())["estimates"],
            }
            for part in found.parts
        ],
    }
    if division.control is not None:
        said["experiment"] = _said(found.experiment)
    return json.dumps(said, indent=1, ensure_ascii=False).encode()


def _csv(found: Parts, dimension: str) -> str:
    """Return a row for each segment that is shown and answer, the segment in the first column."""
    shown = [(part.value, part.estimates) for part in found.parts if part.estimates is not None]
    columns: dict[str, list[object]] = {dimension: []}
    for value, estimates in shown:
        columns[dimension] += [value] * len(estimates)
        for name, column in estimates.columns().items():
            columns.setdefault(name, []).extend(plain(column, len(estimates)))
    table = {name: np.array(cells, dtype=object) for name, cells in columns.items()}
    return csv_text(table, shown[0][1].constants() if shown else None)


def _said(found: Experiment | None) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "control": found.control,
        "verdict": found.verdict,
        "split_is_broken": found.broken,
        "sample_ratio_p_value": found.sample_ratio,
        "alpha": found.alpha,
        "looks": found.looks,
        "tests": found.tests,
        "differences": found.rows(),
    }
