"""Trends: what the worker process makes of the single days or rounds of a sum."""

from collections.abc import Sequence
from datetime import date

from deniable.answers.distribution import NumberEstimates
from deniable.collector.jobs import Lacking, Sums
from deniable.collector.stores.records import Slice, write_day
from deniable.errors import InvalidParameter
from deniable.estimates import Estimates
from deniable.presentation.tables import csv_text, json_text
from deniable.presentation.trend import Period, Reading, Trend

ROWS = 5
"""Number of answers a trend follows by default."""
_LEVEL = 0.95


def follow(sums: Sums, labels: Sequence[str]) -> Trend:
    """Follow answers, and what is read of numbers, from day to day or from round to round."""
    wanted, days = sums.order.wanted, sums.order.days
    least = 1 if wanted.cells is None else sums.least
    enough = [day for day in days if sums.tally(day).n >= least]
    found = [period for day in enough if (period := _period(sums, day, labels)) is not None]
    every = 1 if wanted.rounds is None else wanted.rounds.every
    return Trend(tuple(found), sums.order.left_out + len(days) - len(found), every)


def _period(sums: Sums, part: Slice, labels: Sequence[str]) -> Period | None:
    """Return what is read of a day or round, or None if nobody drew by lot what is wanted.

    A day is one round, in which each report is the only one of a person.
    """
    wanted, day = sums.order.wanted, write_day(part.days.first)
    number = None if wanted.rounds is None else wanted.rounds.round_of(date.fromisoformat(day))
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


def export(sums: Sums, form: str) -> bytes | Lacking:
    """Return the trend of the named answers, or of what is read of a result, as CSV or JSON."""
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
