"""Results divided: by day or by round, and by segment with the verdict of an experiment."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from deniable.advice.groups import FEW_PEOPLE
from deniable.answers.distribution import NumberEstimates
from deniable.collector.jobs import Lacking, Sums
from deniable.collector.stores.records import Slice, date_of
from deniable.division import POOLED, Part, Parts, divide
from deniable.errors import DeniableError, InvalidParameter
from deniable.estimates import Estimates
from deniable.experiment import Experiment, compare_arms
from deniable.presentation import parts as shown
from deniable.presentation.charts import Grid, Multiples, Panel, bars_of
from deniable.presentation.tables import csv_text, json_text
from deniable.presentation.text import one_line
from deniable.presentation.trend import Period, Reading, Trend
from deniable.presentation.verdict import Span
from deniable.presentation.view import counted
from deniable.segments import NOT_STATED

ROWS = 5
"""Number of answers a trend follows by default."""
_LEVEL = 0.95


def follow(sums: Sums, labels: Sequence[str]) -> Trend:
    """Follow answers, or the figures of a number, from day to day or from round to round."""
    wanted, days = sums.order.wanted, sums.order.days
    least = 1 if wanted.cells is None else sums.least
    enough = [day for day in days if sums.tally(day).n >= least]
    found = [period for day in enough if (period := _period(sums, day, labels)) is not None]
    every = 1 if wanted.rounds is None else wanted.rounds.every
    return Trend(tuple(found), sums.order.left_out + len(days) - len(found), every)


def _period(sums: Sums, part: Slice, labels: Sequence[str]) -> Period | None:
    """Return the figures of a day or round, or None if nobody drew by lot what is wanted.

    A day is one round, in which each report is the only one of a person.
    """
    wanted, first = sums.order.wanted, date_of(part.days.first)
    day, number = (
        first.isoformat(),
        None if wanted.rounds is None else wanted.rounds.round_of(first),
    )
    if wanted.candidates:
        found = sums.estimate(sums.tally(part), labels, 1)
        return Period(day, found.n, _shares(found, labels), round=number)
    try:
        found = sums.estimate(sums.tally(part), None, 1)
        figures, told = found.readings(_LEVEL), found.told(_LEVEL)
    except InvalidParameter:
        return None
    return Period(day, found.n, _shares(found, labels), figures, told, number)


def _shares(found: Estimates, labels: Sequence[str]) -> tuple[Reading, ...]:
    some = found.take([found.place(label) for label in labels])
    return tuple(Reading.of(row, some.n) for row in some.rows(level=_LEVEL))


def export_trend(sums: Sums, form: str) -> bytes | Lacking:
    """Return the trend of the named answers, or of a result's figures, as CSV or JSON."""
    if lacking := sums.lacking():
        return lacking
    question, whole = sums.question, sums.estimates()
    trend = follow(sums, sums.order.wanted.candidates or whole.followed(ROWS).labels or ())
    metadata: dict[str, object] = {
        "question": question.name,
        "digest": question.digest,
        "protocol": question.protocol.name,
        "epsilon": question.protocol.epsilon,
        "level": _LEVEL,
    }
    if question.protocol.memoises:
        metadata["law"] = "as many people as reports, on each day by itself"
    if isinstance(whole, NumberEstimates) and whole.scale is not None:
        metadata["unit"] = whole.scale.unit
    if form == "csv":
        return csv_text(trend.columns(), metadata).encode()
    metadata["days_left_out"] = trend.left_out
    return json_text(trend.columns(), metadata, "trend").encode()


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


def parts_of(sums: Sums, division: Division) -> Parts:
    wanted = sums.order.wanted
    whole, days = wanted.parts[0], sums.tallies[wanted.parts[0]][1]
    return divide(
        sums.question,
        sums.cells.get(whole, {}),
        division.dimension,
        minimum=sums.order.minimum,
        within=wanted.cells,
        estimate=lambda tally: sums.estimate(tally, wanted.candidates, days),
    )


def experiment_of(parts: Sequence[Part], division: Division) -> Experiment | None:
    """Compare the values of a dimension with the control, if both have enough reports."""
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


def export_parts(sums: Sums, division: Division) -> bytes:
    found = parts_of(sums, division)
    if division.form == "csv":
        return found.to_csv().encode()
    said = found.document()
    if division.control is not None:
        experiment = experiment_of(found.parts, division)
        said["experiment"] = experiment and experiment.document()
    return json.dumps(said, ensure_ascii=False).encode()


_ARMS = ("arm", "arms", "variant", "experiment")
"""Dimensions with such a name are the arms of an experiment, whose first value is the control."""
_SHOWN, _OPENED = 12, 200
"""How many answers of each group are shown, and how many when somebody asks for all."""


def group_parts(sums: Sums, overall: Estimates) -> list[shown.Part]:
    """Return what a page shows of each dimension: small charts on one scale, and a verdict.

    All charts have the same answers in the same order, those that are the largest of all people.
    """
    parts: list[shown.Part] = []
    note = "public groups on one scale: a report does not hide the group of its sender"
    if len(overall) > _SHOWN and not isinstance(overall, NumberEstimates):
        left = len(overall) - _SHOWN
        note += f" · the {_SHOWN} most frequent of {len(overall):,} answers of all people, "
        note += f"the other {left:,} below"
    compared = any(each.name.lower() in _ARMS for each in sums.question.segments)
    for place, dimension in enumerate(sums.question.segments):
        control = dimension.values[0] if dimension.name.lower() in _ARMS else None
        division = Division(dimension.name, control)
        divided = parts_of(sums, division)
        found, name, title = divided.parts, f"groups-{place}", f"By {dimension.name}"
        if all(part.estimates is None for part in found if part.value != POOLED):
            parts += _too_small(divided, name, title)
            continue
        with suppress(DeniableError):  # errors that are not known cannot be compared
            if (experiment := experiment_of(found, division)) is not None:
                phrase = (Span(str(experiment)),)
                sure = any(each.significant for each in experiment.differences)
                parts.append(shown.Sentences(
                    f"verdict-{place}", f"Experiment: {dimension.name}", phrases=(phrase,),
                    sure=sure, note=f"against {control}, by Holm's procedure",
                ))  # fmt: skip
        panels = tuple(
            Panel(part.value, _about(part),
                  () if part.estimates is None else bars_of(part.estimates, _SHOWN, overall))
            for part in found
        )  # fmt: skip
        only = " · only groups called arm, variant or experiment are tested against each other"
        tested = "" if compared else only
        parts.append(Multiples(name, title, note=note + tested, panels=panels,
                               every=_every(name, title, found, overall)))  # fmt: skip
    return parts


def _too_small(divided: Parts, name: str, title: str) -> list[shown.Part]:
    """Say that no group can be shown yet, how many reports it takes, and what helps; no chart."""
    groups = [part for part in divided.parts if part.value not in (NOT_STATED, POOLED)]
    largest = max(groups, key=lambda part: part.n)
    few = [one_line(part.value, 60) for part in groups if part.warning]
    rare = f" Groups with fewer than {FEW_PEOPLE} reports, such as {few[0]}, " if few else ""
    names = "nearly name a person if it stays so." if few else ""
    said = (
        Span("No group can be shown yet: each needs "),
        Span(counted(divided.minimum, "report"), "figure"),
        Span(", since with fewer the error of its shares is too large. The largest, "),
        Span(one_line(largest.value, 60), "name"),
        Span(f", has {largest.n:,}, and {largest.missing:,} more are needed. Wait for more people "
             "to answer; a next question fills its groups sooner with fewer and coarser values."
             f"{rare}{names}"),
    )  # fmt: skip
    rows = tuple((part.value, f"{part.n:,}", f"{part.missing:,}") for part in groups)
    table = shown.Table(
        f"{name}-reports", f"Reports {title[:1].lower()}{title[1:]}",
        headings=("Group", "Reports", "More needed"), rows=rows, folded=True,
    )  # fmt: skip
    return [shown.Sentences(name, title, phrases=(said,), small=True), table]


def _every(name: str, title: str, found: Sequence[Part], overall: Estimates) -> Grid | None:
    """Return all answers in the same order, where the panels leave some of them out."""
    if len(overall) <= _SHOWN or isinstance(overall, NumberEstimates):
        return None
    told = {part.value: bars_of(part.estimates, _OPENED, overall)
            for part in found if part.estimates is not None}  # fmt: skip
    rows = tuple(zip(*told.values(), strict=True))
    if not rows:
        return None
    some = f"The {len(rows)} most frequent of {len(overall):,}"
    many = f"All {len(rows)}" if len(rows) == len(overall) else some
    return Grid(
        f"{name}-all",
        f"{many} answers {title[:1].lower()}{title[1:]}",
        rows=tuple(first.label for first, *_ in rows),
        columns=tuple(told),
        cells=rows,
        ranges=True,
    )


def _about(part: Part) -> str:
    said = counted(part.n, "report")
    if part.estimates is None:
        said += f"; {part.missing:,} more are needed, because of the error"
    else:
        said += "".join(f"; {name} {each}" for name, each in part.estimates.figures().items())
    return said if part.warning is None else f"{said}; {part.warning}"
