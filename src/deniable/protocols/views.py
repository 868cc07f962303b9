"""Views: some digits of a mixed-radix value, drawn by a public lot, with the whole epsilon.

Encode   v -> its digits in the given radices, the most significant first; a view is some of them
Perturb  draw a view by lot, whatever the value is, then perturb the number that its digits make by
         the closed protocol of that view
Support  that of the drawn view's protocol, among the people who drew the view
Privacy  Pr[view, report | v] is the lot times Pr[report | digits], so the worst ratio is the
         largest of the views' protocols: epsilon covers the whole value
         (docs/proofs.md#views)

A record is a value whose digits are its attributes, and its views are the tables that are wanted. A
number is a value of binary digits whose views are its first 1, 2, ... digits. Every table is
estimated from all views that tell of it (``deniable.law.tables``).

A report is one integer, the codes of all earlier views' reports plus the report of the drawn view's
protocol, in the narrowest unsigned integer that holds all; so all reports have the same length.
Random bytes: one word for the lot, which is the first view whose cumulated lots exceed it; then
columns for the words of each view's protocol in turn, each with its own limits. Only those of the
drawn view are used, and large batches draw only those.

The tally has the number of people of each view, then what each view's protocol counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import prod, sqrt
from typing import Self

import numpy as np

from deniable import validation
from deniable.candidates import Candidates, Chosen
from deniable.errors import InvalidParameter
from deniable.estimates import Estimates
from deniable.kernels.parallel import run_chunks
from deniable.law.samples import LotLaw, TableJoint
from deniable.law.tables import Cells, Digits, Tables, ViewTable
from deniable.mechanism import Coded, Reports, Values
from deniable.protocol import Protocol
from deniable.protocols.direct import DE
from deniable.protocols.levels import Levels
from deniable.protocols.parts import Lots, Part, Small, check_radices, check_views, complete, passed
from deniable.randomness import WORD, Integers, Source, Words
from deniable.statistics import Counts, Statistic, of_form
from deniable.sums import CountsSum, Sum
from deniable.tally import Tally

MOST_CELLS = 1 << 22
_BLOCK = 1 << 20
"""How many people are grouped by their views at once."""
_CACHED = 1 << 16
"""How many of them are sorted at once, within a core's cache."""


@dataclass(frozen=True)
class Views(Protocol, Coded):
    """Some digits of a value by lot: ``lots`` are decimal strings that add up to 2^64.

    Without lots all views are as likely; without protocols each view has the best one.

    >>> survey = Views(1.0, radices=(4, 3), views=((0,), (1,), (0, 1)))
    >>> [part.name for part in survey.protocols], survey.report_bits
    (['DE', 'DE', 'SubsetSelection'], 8)
    """

    epsilon: float
    radices: tuple[int, ...]
    views: tuple[Digits, ...]
    lots: tuple[str, ...] | None = None
    protocols: tuple[Part, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.check_epsilon(self.epsilon))
        object.__setattr__(self, "radices", check_radices(self.radices))
        object.__setattr__(self, "views", check_views(self.views, len(self.radices)))
        sizes = [prod(self.radices[d] for d in view) for view in self.views]
        if sum(sizes) > MOST_CELLS:
            raise InvalidParameter.expected(
                f"views with at most {MOST_CELLS:,} cells in all", sum(sizes), "ask for fewer"
            )
        lots, parts = complete(self.epsilon, sizes, self.lots, self.protocols)
        object.__setattr__(self, "lots", tuple(map(str, lots.weights)))
        object.__setattr__(self, "protocols", parts)
        kinds = [(v, type(p) is Levels) for v, p in zip(self.views, self._parts, strict=True)]
        if len(set(kinds)) != len(kinds):
            raise InvalidParameter("expected each view once; drop the repeats", value=self.views)
        if self._offsets[-1] > WORD:
            raise InvalidParameter.expected(
                "at most 2^64 reports", self._offsets[-1], "make fewer or smaller tables"
            )

    @classmethod
    def examples(cls) -> list[Self]:
        numbers = ((0,), (0, 1), (0, 1, 2), (0, 1, 2))
        parts = (DE(2.0, 2), DE(2.0, 4), DE(2.0, 8), Levels(2.0, 8, 3))
        return [
            cls(1.0, (2, 3), ((0,), (1,), (0, 1))),
            cls(2.0, (2, 2, 2), numbers, tuple(map(str, Lots.near((1, 2, 4, 1)).weights)), parts),
            cls(1.0, (2, 2, 2), ((0,), (1,), (2,)), tuple(map(str, Lots.near((1, 1, 6)).weights))),
        ]

    @classmethod
    def further_examples(cls) -> list[Self]:
        tree = tuple(tuple(range(i + 1)) for i in range(5))
        return [cls(1.0, (9, 16, 42), ((0, 1), (1, 2))), cls(4.0, (2,) * 5, tree)]

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        return self.protocols or ()

    @cached_property
    def _lots(self) -> Lots:
        return Lots.read(self.lots or ())

    @cached_property
    def _offsets(self) -> list[int]:
        """The first report of each view, and the number of all reports."""
        ends = np.cumsum([0, *(part.codes for part in self._parts)], dtype=object)
        return [int(end) for end in ends]

    @cached_property
    def _slices(self) -> list[slice]:
        """Where the counts of each view stand in a tally, behind the numbers of people."""
        ends = np.cumsum([len(self.views), *(_cells(part) for part in self._parts)]).tolist()
        return [slice(start, stop) for start, stop in pairwise(ends)]

    @property
    def _length(self) -> int:
        return len(self.views) + sum(_cells(part) for part in self._parts)

    @property
    def worst_ratio(self) -> Fraction:
        return max(part.worst_ratio for part in self._parts)

    @property
    def codes(self) -> int:
        return self._offsets[-1]

    @property
    def value_count(self) -> int:
        return prod(self.radices)

    @cached_property
    def words(self) -> Words:
        """The lot, then the words of each view in columns of their own, so that limits stand."""
        at, limits = 1, dict[int, int]()
        for part in self._parts:
            limits |= {at + place: limit for place, limit in part.words.limits.items()}
            at += part.words.count
        return Words(at, limits)

    def specification(self) -> dict[str, object]:
        """Return everything as JSON has it, which knows no tuples."""
        lists = {
            "radices": list(self.radices),
            "views": [list(view) for view in self.views],
            "lots": list(self.lots or ()),
            "protocols": [part.specification() for part in self._parts],
        }
        return super().specification() | lists

    def _check_values(self, values: Values) -> Integers:
        return validation.check_values(values, self.value_count)

    def drawn(self, reports: Reports) -> np.typing.NDArray[np.int64]:
        """Return which view each report is of, by its place: it is public."""
        return passed(reports, self._offsets[1:-1]).astype(np.int64)

    def _held(self, values: Integers, view: Digits) -> Integers:
        """Return the numbers that the digits of a view make."""
        held = np.zeros(len(values), dtype=np.uint64)
        for digit in view:
            shifted = values // np.uint64(prod(self.radices[digit + 1 :]))
            radix = np.uint64(self.radices[digit])
            # A quotient by a constant is fast, a remainder is not.
            held = held * radix + (shifted - shifted // radix * radix)
        return held

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        place, at = self._lots.of(words[:, 0]), 1
        reports = np.zeros(len(values), dtype=np.uint64)
        for i, (view, part) in enumerate(zip(self.views, self._parts, strict=True)):
            columns = slice(at, at + part.words.count)
            at, mine = columns.stop, np.flatnonzero(place == i)
            if len(mine):
                own = part._perturb(self._held(values[mine], view), words[mine, columns])
                reports[mine] = own.astype(np.uint64) + np.uint64(self._offsets[i])
        return reports.astype(self.report_dtype)

    def _privatize_bulk(self, values: Integers, source: Source) -> Reports:
        starts = range(0, len(values), _BLOCK)
        blocks = [self._privatize_block(values[i : i + _BLOCK], source) for i in starts]
        return np.concatenate(blocks)

    def _privatize_block(self, values: Integers, source: Source) -> Reports:
        """Draw the lots of all first, then only the words of the drawn views."""
        sources = source.split(len(self.views) + -(-len(values) // _CACHED))

        def draw(start: int, stop: int) -> Small:
            return self._lots.draw(sources[-1 - start // _CACHED], stop - start)

        grouped = _Grouped(values, draw, len(self.views))
        reports = np.empty(len(values), dtype=self.report_dtype)

        def fill(start: int, stop: int) -> None:
            for i in range(start, stop):
                part, mine = self._parts[i], grouped.of(i)
                words = part.words.draw(sources[i], len(mine))
                own = part._perturb_many(self._held(mine, self.views[i]), words)
                reports[grouped.where(i)] = own + self.report_dtype.type(self._offsets[i])

        run_chunks(fill, len(self.views), 1)
        return reports

    def _new_sum(self) -> Sum:
        return CountsSum(self._length, self._add_counts)

    def _add_counts(self, reports: Reports, total: np.typing.NDArray[np.int64]) -> None:
        for start in range(0, len(reports), _BLOCK):
            self._add_block(reports[start : start + _BLOCK], total)

    def _add_block(self, reports: Reports, total: np.typing.NDArray[np.int64]) -> None:
        ends = self._offsets[1:-1]

        def drawn(start: int, stop: int) -> Small:
            return passed(reports[start:stop], ends)

        grouped = _Grouped(reports, drawn, len(self.views))

        def add(start: int, stop: int) -> None:
            for i in range(start, stop):
                own, part = grouped.of(i) - reports.dtype.type(self._offsets[i]), self._parts[i]
                total[i] += len(own)
                if len(own):
                    part._add_counts(own.astype(part.report_dtype), total[self._slices[i]])

        run_chunks(add, len(self.views), 1)

    def _read_statistic(self, data: memoryview, n: int) -> Statistic:
        """Read the people of each view, then its counts, by the rules of its protocol."""
        if len(data) != 8 * self._length:
            raise validation.forged(f"{8 * self._length} bytes of counts", f"{len(data)}")
        values = np.frombuffer(data, dtype="<i8").astype(np.int64)
        people = [int(each) for each in values[: len(self.views)]]
        if min(people) < 0 or sum(people) != n:
            raise validation.forged(f"{n} people over all views", f"{sum(people)}")
        for part, each, place in zip(self._parts, people, self._slices, strict=True):
            part._read_statistic(data[8 * place.start : 8 * place.stop], each)
        return Counts(values)

    def _choose(self, candidates: Candidates | None) -> Chosen:
        if candidates is not None:
            raise InvalidParameter(
                "a value seen by views has no candidates; take the rows of the table you want"
            )
        return Chosen()

    def _estimate_bytes(self, chosen: Chosen) -> int:
        del chosen
        return 64 * self._length

    def counted(self, tally: Tally) -> list[tuple[int, np.typing.NDArray[np.int64]]]:
        """Return of each view how many people drew it, and what its protocol counted."""
        values = of_form(self._own(tally).statistic, Counts).values
        return [(int(values[i]), values[place]) for i, place in enumerate(self._slices)]

    def cell(self, place: int) -> tuple[Digits, Part, int]:
        """Return the view that a cell of all views' is of, its protocol, and the place in it."""
        for view, part in zip(self.views, self._parts, strict=True):
            if place < _cells(part):
                return view, part, place
            place -= _cells(part)
        raise InvalidParameter.expected(f"a cell below {self._length - len(self.views)}", place)

    def tables(self, tally: Tally) -> Tables:
        """Return the tables that the views give, but for those of levels."""
        found = zip(self.views, self._parts, self.counted(tally), strict=True)
        return Tables.of(
            self.radices,
            [
                ViewTable(view, n, counts, part.pairs)
                for view, part, (n, counts) in found
                if not isinstance(part, Levels)
            ],
        )

    def _estimate(self, tally: Tally, chosen: Chosen) -> "ViewEstimates":
        """Return the margins of all digits, one after the other."""
        del chosen
        tables = self.tables(tally)
        rows = [(d,) for d in range(len(self.radices))]
        return ViewEstimates(**vars(estimates_of(tables, rows, tally.n)), tally=tally)


@dataclass(frozen=True, eq=False, repr=False)
class ViewEstimates(Estimates):
    """The margins of all digits, and from the tally everything else."""

    tally: Tally = field(kw_only=True)

    def cross(self, *digits: int) -> Estimates:
        """Return the table over some digits, in ascending order."""
        tables = views_of(self.tally).tables(self.tally)
        found = estimates_of(tables, [digits], self.n, strict=True)
        return replace(found, provenance=self.provenance)


def views_of(tally: Tally) -> Views:
    """Return the protocol of a tally that ``Views`` made."""
    assert isinstance(tally.protocol, Views)
    return tally.protocol


def estimates_of(
    tables: Tables, rows: Sequence[Digits], n: int, *, strict: bool = False
) -> Estimates:
    """Return the cells of some tables as counts of n people, one table after the other.

    Cells of which nobody has told may be anything: they have even shares, and intervals from 0 to
    n. With ``strict`` they are refused.
    """
    for row in rows if strict else ():
        if not tables.tells(row):
            held = ", ".join(str(view.digits) for view in tables.views)
            raise InvalidParameter(
                f"expected a table that some view with people holds, got {row}; there are {held}",
                value=row,
            )
    found: list[Cells | int] = [
        tables.cells(row) if tables.tells(row) else tables.size(row) for row in rows
    ]
    known = [cells for cells in found if not isinstance(cells, int)]
    parts = [np.full(c, 1 / c) if isinstance(c, int) else c.shares for c in found]
    counts = n * np.concatenate(parts)
    if not known:
        return Estimates(counts, None, n, None)
    null = sqrt(max(min(cells.null for cells in known), 0.0))
    law = LotLaw.over(n, found, null)
    made = Estimates(counts, law.std_errors, n, n * null, law=law)
    if len(rows) > 1:
        return replace(made, adds_up=False)
    return replace(made, joint=TableJoint(n, tables, rows[0]))


def _cells(part: Part) -> int:
    """Return how many numbers a tally has of a view."""
    return part.codes if isinstance(part, Levels) else part.domain_size


class _Grouped:
    """Items brought together by their places: first within chunks, which caches hold."""

    def __init__(self, items: Reports, places: Callable[[int, int], Small], count: int) -> None:
        self._items, self._order = np.empty_like(items), np.empty(len(items), dtype=np.int64)

        def sort(start: int, stop: int) -> list[int]:
            own = places(start, stop)
            order = np.argsort(own, kind="stable")
            self._items[start:stop] = items[start:stop][order]
            np.add(order, start, out=self._order[start:stop])
            return [start, *(start + np.cumsum(np.bincount(own, minlength=count))).tolist()]

        bounds = run_chunks(sort, len(items), _CACHED)
        self._parts = [[slice(b[i], b[i + 1]) for b in bounds] for i in range(count)]

    def of(self, place: int) -> Reports:
        """Return the items of a place."""
        return np.concatenate([self._items[part] for part in self._parts[place]])

    def where(self, place: int) -> np.typing.NDArray[np.int64]:
        """Return where they stood."""
        return np.concatenate([self._order[part] for part in self._parts[place]])
