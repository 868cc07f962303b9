"""What the worker process makes of sums: estimates and comparisons.

The functions are pure, documents and bytes in, bytes out; the mathematics itself is the library's.
"""

import math
import pickle
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from deniable import comparison
from deniable.advice.discovery import ALPHA
from deniable.answers.distribution import NumberEstimates
from deniable.answers.survey import RecordEstimates
from deniable.collector import folding
from deniable.collector.stores import records
from deniable.discoveries import Discoveries
from deniable.division import least_reports
from deniable.errors import DeniableError, InvalidParameter
from deniable.estimates import Estimates
from deniable.presentation.exports import Presentable
from deniable.protocols.discovery import Discovery
from deniable.protocols.discovery.verification import alpha_at, fewest_reports
from deniable.question import Question
from deniable.rota import Repeat
from deniable.tally import Tally

FORMATS = {"json": "application/json", "csv": "text/csv; charset=utf-8", "html": "text/html"}
SHEET_PATH = "/static/estimates.css"
"""Where the style of HTML is: the policy of all pages allows none that is inline."""
GROWN = 4
"""A sum that is searched moves only when it has grown by a quarter."""
Candidates = tuple[str, ...] | None
Result = TypeVar("Result")


def warm_up(documents: Sequence[str]) -> None:
    """Estimate from one report of no consequence, so that the first real estimate is no slower."""
    for question in map(folding.question_of, documents):
        labels = list(question.labels or ("warm",))[:1]
        with suppress(DeniableError):  # some protocols give no report without a client's secret
            tally = question.tally(question.privatize(labels))
            render(question.estimate(tally, labels), "json", question.name)


@dataclass(frozen=True)
class Reading:
    """A question document that was read, and what collecting it will cost."""

    digest: str
    name: str
    document: str
    report_size: int
    tally_size: int


def read_question(document: bytes) -> Reading:
    """Read a question that somebody sent; its empty tally is the smallest that a day can have."""
    question = Question.from_json(document)
    size = question.protocol.report_dtype.itemsize
    tally_size = len(folding.merge(question, []).to_bytes())
    return Reading(question.digest, question.name, question.to_json(), size, tally_size)


@dataclass(frozen=True)
class Wanted:
    """What a reader asks for: one slice, or two to compare, and the answers to estimate.

    ``people`` are those who answered in each slice, where that is known. ``daily`` asks for the
    latest days of the first slice one by one, too, and with ``rounds`` for its rounds, ``pooled``
    of them together each time, once there are so many. ``cells`` are the segments that count, all
    of them without. ``cross`` names the attributes of a record's table; ``above`` is a
    number, and the share of people above it is told.
    """

    parts: tuple[records.Slice, ...]
    people: tuple[int | None, ...] = (None, None)
    candidates: Candidates = None
    daily: bool = False
    rounds: Repeat | None = None
    pooled: int = 1
    cells: tuple[int, ...] | None = None
    cross: tuple[str, ...] = ()
    above: float | None = None

    def periods(self, daily: Sequence[tuple[int, int]]) -> dict[records.Slice, int]:
        """Return the days or rounds in which reports came, in order, and how many."""
        question, days = self.parts[0].question, self.parts[0].days
        if self.rounds is None:
            return {records.Slice(question, records.Days(day, day)): n for day, n in daily}
        start, every = self.rounds.first_day.toordinal() - records.EPOCH, self.rounds.every
        counts: Counter[int] = Counter()
        for day, n in daily:
            counts[(day - start) // every] += n
        return {
            records.Slice(question, records.Days(
                max(days.first, start + (number - self.pooled + 1) * every),
                min(days.last, start + (number + 1) * every - 1),
            )): sum(counts[number - back] for back in range(self.pooled))
            for number in sorted(counts)
            if self.pooled <= number + 1 <= self.rounds.total_rounds
        }  # fmt: skip


@dataclass(frozen=True)
class Order:
    """What a job works on: published sums, and rows of which to make new ones."""

    document: str
    wanted: Wanted
    days: tuple[records.Slice, ...]
    left_out: int
    """Days of which there is no sum: too few reports, or too long ago."""
    new: tuple[records.Slice, ...]
    edition: int
    rows: records.Snapshot
    minimum: int = 1
    """The fewest new reports with which a sum appears or moves."""
    periods: tuple[records.Slice, ...] = ()
    """All days or rounds in which reports came, those without a sum too."""


@dataclass(frozen=True)
class Sums:
    """The sums of an order: tallies, on how many days the reports of each came, and segments."""

    order: Order
    tallies: Mapping[records.Slice, tuple[Tally, int]]
    cells: Mapping[records.Slice, folding.Cells] = field(default_factory=dict)
    looks: Mapping[records.Slice, int] = field(default_factory=dict)

    @property
    def question(self) -> Question:
        return folding.question_of(self.order.document)

    def estimates(self, place: int = 0) -> Estimates:
        wanted = self.order.wanted
        part = wanted.parts[place]
        tally, days = self.tally(part), self.tallies[part][1]
        return self.estimate(tally, wanted.candidates, days, wanted.people[place])

    def tally(self, part: records.Slice, cells: Sequence[int] | None = None) -> Tally:
        """Return the sum of a slice, of some of its segments if any are named or wanted."""
        some = self.order.wanted.cells if cells is None else cells
        if some is None:
            return self.tallies[part][0]
        mine = self.cells.get(part, {})
        return folding.merge(self.question, [mine[cell] for cell in some if cell in mine])

    def estimate(
        self, tally: Tally, candidates: Sequence[str] | None, days: int, people: int | None = None
    ) -> Estimates:
        """Estimate from a tally; of people who may answer again each day is a round."""
        question, named = self.question, None if candidates is None else list(candidates)
        if people is not None or not question.protocol.memoises:
            return self._told(question.estimate(tally, named, people=people))
        found = question.estimate(tally, named, rounds=max(1, days))
        return replace(found, repeats=found.repeats and replace(found.repeats, unit="day"))

    def _told(self, found: Estimates) -> Estimates:
        """Return the table or the share that is wanted of records or of numbers."""
        cross, above = self.order.wanted.cross, self.order.wanted.above
        if (cross and not isinstance(found, RecordEstimates)) or (
            above is not None and not isinstance(found, NumberEstimates)
        ):
            raise InvalidParameter(
                f"{'only records have cross tables' if cross else 'only numbers have shares above'}"
                f", and this question asks for {self.question.answers.wanted}",
                value=None,
            )
        if isinstance(found, RecordEstimates) and cross:
            return found.cross(*cross)
        if isinstance(found, NumberEstimates) and above is not None:
            return found.asking(above)
        return found

    @property
    def least(self) -> int:
        """The fewest reports with which a segment is shown: its error is 5 points at most."""
        return least_reports(self.question, self.order.minimum)

    def lacking(self) -> "Lacking | None":
        """Tell whether a wanted segment has too few reports to be estimated."""
        wanted = self.order.wanted
        if wanted.cells is None:
            return None
        n = min(self.tally(part).n for part in wanted.parts)
        return Lacking(n, self.least) if n < self.least else None

    def compared(self, first: int = 0) -> comparison.Comparison:
        """Compare the two wanted slices, which have no report in common, with one of them first."""
        return comparison.compare(self.estimates(first), self.estimates(1 - first))

    def over(self, days: Sequence[records.Slice]) -> Estimates:
        """Estimate from some of the single days together."""
        tally = folding.merge(self.question, [self.tally(day) for day in days])
        return self.estimate(tally, self.order.wanted.candidates, len(days))


class Lacking(NamedTuple):
    """A segment that has too few reports to be estimated, and how many it takes."""

    n: int
    minimum: int


class Job(NamedTuple, Generic[Result]):
    """What to make of sums: a function of this module or of ``views``, and its second argument."""

    function: Callable[[Sums, Any], Result]
    argument: Hashable = None
    slow: bool = False
    """Whether it takes long, and is done by the process for that."""


class Done(NamedTuple, Generic[Result]):
    """What came of a job, how many bytes it takes, and the sums that were added up for it."""

    result: Result
    size: int
    new: dict[records.Slice, records.Publication]


def carry_out(order: Order, job: Job[Result]) -> Done[Result]:
    """Add up what is new, do a job with all sums, and return what came of it and the new sums."""
    made, question = _add_up_slices(order), folding.question_of(order.document)
    shown = order.rows.published
    tallies = {part: (Tally.from_bytes(sum.tally), sum.days) for part, sum in shown.items()}
    cells = {part: folding.unpack_cells(sum.cells) for part, sum in shown.items()}
    looks, new = {part: sum.looks for part, sum in shown.items()}, {}
    for part, (found, counts, days) in made.items():
        before = shown.get(part) if question.segments else None
        fresh = before is None or before.edition != order.edition
        mine = found if fresh else folding.ripe(cells[part], found, counts, order.minimum)
        tally = mine[0] if [*mine] == [0] else folding.merge(question, [*mine.values()])
        # What could not be read was counted all the same, and would else seem new again and again.
        n = sum(counts[cell] if mine[cell] is found.get(cell) else mine[cell].n for cell in mine)
        packed = folding.pack_cells(mine) if question.segments else b""
        tallies[part], cells[part], data = (tally, days), mine, tally.to_bytes()
        looks[part] = _looks(question, tally.n, data, shown.get(part))
        new[part] = records.Publication(n, order.edition, data, days, packed, looks[part])
    result = job.function(Sums(order, tallies, cells, looks), job.argument)
    return Done(result, len(pickle.dumps(result)), new)


def _add_up_slices(order: Order) -> dict[records.Slice, tuple[dict[int, Tally], Counter[int], int]]:
    """Return tallies and reports by segment and the days of each new slice, no day added up twice.

    Days that belong to the same new slices are added up together, and a slice is the sum of such
    groups.
    """
    groups: dict[
        tuple[tuple[records.Slice, ...], int], tuple[list[records.Total], list[records.Total]]
    ] = {}
    added = (*order.rows.months, *order.rows.tallies)
    places: dict[int, tuple[records.Slice, ...]] = {}
    for kind, found in enumerate((added, order.rows.waiting)):
        for row in found:
            if (place := places.get(row.day)) is None:
                place = places[row.day] = tuple(p for p in order.new if row.day in p.days)
            groups.setdefault((place, row.segment), ([], []))[kind].append(row)
    question = folding.question_of(order.document)
    folding.check_months(order.document, order.rows.months)
    sums = {
        place: folding.readable_sum(question, *([row.data for row in rows] for rows in both))
        for place, both in groups.items()
    }
    made = {}
    for part in order.new:
        cells: dict[int, list[Tally]] = {}
        counts: Counter[int] = Counter()
        days = {day for day in order.rows.days if day in part.days}
        for (place, cell), both in groups.items():
            if part in place:
                cells.setdefault(cell, []).append(sums[place, cell])
                counts[cell] += sum(row.n for half in both for row in half)
                days |= {row.day for half in both for row in half if row.n}
        tallies = {
            cell: found[0] if len(found) == 1 else folding.merge(question, found)
            for cell, found in cells.items()
        }
        made[part] = tallies or {0: folding.merge(question, [])}, counts, len(days)
    return made


def total(sums: Sums, _: None) -> records.Publication:
    part = sums.order.wanted.parts[0]
    tally, days = sums.tally(part), sums.tallies[part][1]
    return records.Publication(tally.n, sums.order.edition, tally.to_bytes(), days)


def count(sums: Sums, _: None) -> int:
    """Return the number of reports in a sum, which is published by this as by any other job."""
    return sums.tally(sums.order.wanted.parts[0]).n


def export(sums: Sums, form: str) -> bytes | Lacking:
    """Return the estimates, or the comparison of two slices, in one of ``FORMATS``."""
    if lacking := sums.lacking():
        return lacking
    compares = len(sums.order.wanted.parts) > 1
    return render(sums.compared() if compares else sums.estimates(), form, sums.question.name)


def render(found: Presentable, form: str, title: str) -> bytes:
    if form == "csv":
        return found.to_csv().encode()
    if form == "html":
        return found.page(title, sheet=SHEET_PATH).encode()
    return found.to_json().encode()


def discover(sums: Sums, _: None) -> Discoveries[Question]:
    """Search the sum of the wanted slice, with the part of alpha that one look at it has.

    All groups of people together have as much of alpha as all people.
    """
    question, wanted = sums.question, sums.order.wanted
    tally, look = sums.tally(wanted.parts[0]), sums.looks[wanted.parts[0]]
    named = math.prod(1 + len(dimension.values) for dimension in question.segments) - 1
    groups = 1 if wanted.cells is None else max(1, named)
    alpha = alpha_at(ALPHA, look=max(1, look), segments=groups)
    return question.discover(tally, wanted.candidates, alpha=alpha)


def _looks(question: Question, n: int, data: bytes, before: records.Publication | None) -> int:
    """Return which look at a sum this is, at most; 0 as long as there was no search.

    Whatever changes a sum without growth, such as a source that is left out, is one look more.
    """
    if not isinstance(question.protocol, Discovery):
        return 0
    looks, same = (0, False) if before is None else (before.looks, data == before.tally)
    grown = growths(question.protocol, n)
    return max(grown, looks + (not same)) if grown else looks


def growths(protocol: Discovery, n: int) -> int:
    """Return how often n reports were searched at most: again when they had grown by a quarter."""
    least = fewest_reports(protocol)
    return 0 if n < least else 1 + math.floor(math.log(n / least) / math.log(1 + 1 / GROWN))


def follow_up(found: Discoveries[Question], name: str, epsilon: float) -> str:
    """Return the document of a closed question of the sure texts."""
    closed = found.question(epsilon)
    labels = closed.labels or ()
    return Question(f"{name}: how many", labels, closed.protocol, other=labels[-1]).to_json()
