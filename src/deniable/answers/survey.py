"""What a survey of records tells: margins, cross tables, means, and whether attributes depend.

Rows are the margins of all attributes, one attribute after the other. On a page each attribute has
its own chart, and each wanted pair a table and a sentence.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from math import isnan
from typing import Protocol

import numpy as np

from deniable.answers.choice import Choice
from deniable.answers.cross import CrossEstimates, Within
from deniable.answers.number import Number
from deniable.answers.scale import InOrder, plain, told
from deniable.errors import InvalidParameter
from deniable.estimates import Estimates
from deniable.law.normal import Floats, upper_normal
from deniable.law.tables import Digits, Draw, Independence, Tables, drawing, independence
from deniable.presentation import charts
from deniable.presentation.parts import Beside, Part, Sentences
from deniable.presentation.trend import Reading
from deniable.presentation.verdict import ALPHA, Claim, Phrase, Span, Verdict, judge
from deniable.presentation.view import Change, Figure
from deniable.protocols.levels import Levels
from deniable.protocols.parts import Selection
from deniable.protocols.views import ViewEstimates, estimates_of, views_of
from deniable.rows import SEPARATOR
from deniable.tally import Tally
from deniable.validation import check_probability, check_whole

_MOST_TABLES = 12
"""The most cross tables on a page; the others are a call, or an address, away."""


class Attributes(Protocol):
    """What estimates ask of a record."""

    @property
    def parts(self) -> tuple[tuple[str, Choice | Number], ...]: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def tables(self) -> tuple[tuple[str, ...], ...]: ...
    def digits(self, table: Iterable[str]) -> Digits: ...


@dataclass(frozen=True, eq=False, repr=False)
class RecordEstimates(Estimates):
    """The margins of all attributes as rows; ``margin`` and ``cross`` return tables."""

    record: Attributes = field(kw_only=True)
    tally: Tally = field(kw_only=True)

    @classmethod
    def of(cls, record: Attributes, found: ViewEstimates) -> "RecordEstimates":
        held = vars(plain(found)) | {"labels": record.labels}
        return cls(**held, record=record, tally=found.tally)

    def largest(self, k: int | None = None) -> np.typing.NDArray[np.integer]:
        """Return the places of the ``k`` largest rows, or of all, attribute by attribute."""
        found, ranks = super().largest(k).tolist(), self._ranks
        return np.array(sorted(found, key=ranks.__getitem__), dtype=np.int64)

    def followed(self, k: int | None = None) -> "RecordEstimates":
        """Return the largest rows of attributes that are not numbers; of these the mean is read."""
        parts = enumerate(self.record.parts)
        numbers = {place for place, (_, part) in parts if isinstance(part, Number)}
        return self.take([i for i, (at, _) in enumerate(self._ranks) if at not in numbers]).top(k)

    def readings(self, level: float = 0.95) -> tuple[Reading, ...]:
        """Return the mean of each attribute that is a number."""
        return tuple(
            Reading(f"{name[:1].upper()}{name[1:]}", **each.row, unit=each.unit, scale=name)
            for name, each in self.figures(level).items()
        )

    def caption(self) -> str:
        """Return what stands over a figure: the names of the attributes, if they are several."""
        places = sorted({place for place, _ in self._ranks})
        if len(places) < 2:
            return super().caption()
        names = [self.record.names[place] for place in places]
        return f"Share of people by {', '.join(names[:-1])} and {names[-1]}"

    @cached_property
    def _ranks(self) -> list[tuple[int, int]]:
        """The attribute of each row by its place, and of a number the place of its value."""
        labels = iter(self.record.labels)
        ranks = {
            next(labels): (place, row if isinstance(part, Number) else 0)
            for place, (_, part) in enumerate(self.record.parts)
            for row in range(len(row_labels(part)))
        }
        return [ranks[str(key)] for key in self.keys]

    @cached_property
    def _tables(self) -> Tables:
        return views_of(self.tally).tables(self.tally)

    def cross(self, *names: str) -> Estimates:
        """Return the table over some attributes, with labels such as "DE / pro".

        The first that is named makes the rows within which shares are told as well.
        """
        record, target = self.record, self.record.digits(names)
        if not target or len(set(target)) != len(target):
            raise InvalidParameter.expected("attributes, each once", names)
        if not self._tables.tells(target):
            told = {SEPARATOR.join(record.names[d] for d in v.digits) for v in self._tables.views}
            about = f"{' and '.join(names)}{' together' if len(names) > 1 else ''}"
            asked = any(set(names) <= set(table) for table in record.tables)
            raise InvalidParameter(
                f"nobody has told of {about} yet: wait for more reports"
                if asked
                else f"people are not asked for {about}; there are "
                f"{', '.join(sorted(told)) or 'no tables yet'}",
                value=names,
            )
        axes = tuple(row_labels(record.parts[digit][1]) for digit in target)
        labels = tuple(map(SEPARATOR.join, product(*axes)))
        found = estimates_of(self._tables, [target], self.n, strict=True)
        made = replace(found, labels=labels, provenance=self.provenance)
        if len(target) == 1:
            return made
        row = target.index(record.digits(names[:1])[0])
        return CrossEstimates(**vars(made), row=row, row_name=names[0], axes=axes)

    def margin(self, place: str | int, separator: str = SEPARATOR) -> Estimates:
        """Return one attribute by itself, whose shares add up to 1."""
        if isinstance(place, str):
            return self.cross(place)
        return super().margin(place, separator)

    def mean(self, name: str, *, level: float = 0.95) -> Figure:
        """Return the mean of an attribute that is a number, with its interval."""
        check_probability("level", level, "0.95 is usual")
        digit = self.record.digits([name])
        part = self.record.parts[digit[0]][1]
        if not isinstance(part, Number):
            raise InvalidParameter.expected("an attribute that is a number", name)
        if not self._tables.tells(digit):
            raise InvalidParameter(f"nobody has told of {name} yet: wait for more reports")
        numbers = np.array([part.scale.numbers])
        value, variance = self._tables.figures(digit, numbers)
        reach = upper_normal((1 - level) / 2) * float(np.sqrt(variance[0]))
        return Figure(float(value[0]), float(value[0]) - reach, float(value[0]) + reach, part.unit)

    def independence(
        self, first: str, second: str, *, runs: int = 199, rng: "np.random.Generator | None" = None
    ) -> Independence:
        """Test whether two attributes are independent, by a parametric bootstrap.

        If they are, the p-value is at most 0.05 in about 5 % of surveys.
        """
        pair = self.record.digits([first, second])
        self.cross(first, second)  # refuses what nobody told of
        parts = zip(self._tables.views, _selections(self.tally), strict=True)
        chosen = [(view, part) for view, part in parts if set(pair) <= set(view.digits)]
        tables = Tables.of(self._tables.radices, [view for view, _ in chosen])
        draws = [_draw(part) for _, part in chosen]
        repeats = check_whole("runs", runs, 19, 100_000, "199 is usual")
        generator = np.random.default_rng() if rng is None else rng
        return independence(tables, (pair[0], pair[1]), draws, repeats, generator)

    def verdict(self, changes: Sequence[Change] = (), *, since: str = "") -> Verdict:
        """Return what can be said of each attribute, first those about which anything can.

        Leaders of all attributes share the level that one question has; a mean has its interval.
        """
        sure, unsure, attributes = list[Claim](), list[Claim](), list(self._attributes())
        for name, own in attributes:
            moved = [change for change in changes if change.label in own]
            found = judge(own, moved, since=since, alpha=ALPHA / len(attributes))
            said = [_about(name, claim) for claim in found.claims[:2]]
            certain, digit = found.sure, self.record.digits([name])
            part = self.record.parts[digit[0]][1]
            if isinstance(part, Number) and self._tables.tells(digit):
                said[0] = told(*part.scale.mean_said(self.mean(name), f"{name}: the"))
                certain |= said[0].kind == "figure"
            (sure if certain else unsure).extend(said)
        return Verdict((*sure, *unsure))

    def _attributes(self) -> Iterator[tuple[str, Estimates]]:
        """Yield each attribute with its rows, whose shares add up to 1."""
        parts = self.record.parts
        ends = np.cumsum([0, *(len(row_labels(part)) for _, part in parts)]).tolist()
        for (name, part), (start, stop) in zip(parts, pairwise(ends), strict=True):
            labels = self.record.labels[start:stop]
            if all(label in self for label in labels):
                rows = plain(self.take([self.place(label) for label in labels]))
                kind = InOrder if isinstance(part, Number) else Estimates
                yield name, kind(**vars(rows) | {"adds_up": True, "tested": None})

    def _pairs(self) -> list[tuple[str, str]]:
        """Return the wanted tables of two attributes that anybody has told of."""
        pairs = [(t[0], t[1]) for t in self.record.tables if len(t) == 2]
        return [pair for pair in pairs if self._tables.tells(self.record.digits(pair))]

    def parts(self, beside: Beside | None = None) -> tuple[Part, ...]:
        """Return a chart for each attribute, and of each wanted pair a table and a sentence."""
        beside = beside or Beside()
        if len(self) != self.total:
            return super().parts(beside)
        said = self.verdict(tuple(beside.changes.values()), since=beside.since)
        found: list[Part] = [Sentences.of(said), charts.facts_of(self, beside)]
        for place, (name, own) in enumerate(self._attributes()):
            short = replace(own, labels=tuple(label[len(name) + 2 :] for label in own.labels or ()))
            start = len(name) + 2
            near = replace(
                beside,
                changes={key[start:]: x for key, x in beside.changes.items() if key in own},
                truth={key[start:]: x for key, x in beside.truth.items() if key in own},
            )
            found.append(charts.chart_of(short, near, f"attribute-{place}", name))
        pairs = self._pairs()
        for place, (first, second) in enumerate(pairs[:_MOST_TABLES]):
            found += self._cross_parts(place, first, second, beside)
        if len(pairs) > _MOST_TABLES:
            more = f"{len(pairs) - _MOST_TABLES} more tables were asked for: name one to see it."
            found.append(Sentences("more", "Other tables", phrases=((Span(more),),)))
        return (*found, charts.listing_of(self, beside))

    def _cross_parts(self, place: int, first: str, second: str, beside: Beside) -> list[Part]:
        table, title = self.cross(first, second), f"{first} by {second}"
        grid, rows = table.grid(level=beside.level), iter(table.rows(level=beside.level))
        cells = tuple(
            tuple(
                charts.Bar(row.label, row.share, float(low), float(high), row.significant)
                for low, high, row in zip(lows, highs, rows, strict=False)
            )
            for lows, highs in zip(grid.lower, grid.upper, strict=True)
        )
        # The same people have the same p-value each time that a page is drawn.
        tested = self.independence(first, second, rng=np.random.default_rng(self.n))
        found: list[Part] = [
            charts.Grid(f"table-{place}", title, note="share of all people; ranges are "
                        "below, in all numbers", rows=grid.rows, columns=grid.columns, cells=cells),
            Sentences(f"independence-{place}", phrases=(_dependence(first, second, tested),),
                      sure=tested.p_value <= ALPHA, small=True),
            charts.listing_of(table, beside, f"table-{place}-numbers", f"{title}: all numbers"),
        ]  # fmt: skip
        within = table.within(beside.level) if isinstance(table, CrossEstimates) else None
        if within is not None:
            bars = _bars(within, (row.significant for row in table.rows(level=beside.level)))
            each = tuple(tuple(next(bars) for _ in grid.columns) for _ in grid.rows)
            note, name = f"share of the people of one {first}", f"{second} within each {first}"
            found.insert(1, charts.Grid(f"rows-{place}", name, note=note, rows=grid.rows,
                                        columns=grid.columns, cells=each))  # fmt: skip
        return found

    def figures(self, level: float = 0.95) -> dict[str, Figure]:
        """Return the mean of each attribute that is a number."""
        told = [name for place, (name, part) in enumerate(self.record.parts)
                if isinstance(part, Number) and self._tables.tells((place,))]  # fmt: skip
        return {f"mean of {name}": self.mean(name, level=level) for name in told}

    def summary(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, object]:
        tables = [list(pair) for pair in self._pairs()]
        figures = self.figures(level).items()
        means = {name.removeprefix("mean of "): each.row for name, each in figures}
        own = {"adds_up": False, "tables": tables, "means": means}
        return {**super().summary(level=level, alpha=alpha), **own}


def _about(name: str, claim: Claim) -> Claim:
    """Return a claim that says which attribute it is about, as the names of answers do."""
    named = [place for place, span in enumerate(claim.phrase) if span.kind == "name"]
    if named:  # the first says it for all
        short = [
            span._replace(text=span.text.removeprefix(f"{name}: ")) if place in named[1:] else span
            for place, span in enumerate(claim.phrase)
        ]
        return replace(claim, phrase=tuple(short))
    first, *rest = claim.phrase
    text = f": {first.text[:1].lower()}{first.text[1:]}"
    return replace(claim, phrase=(Span(name, "name"), Span(text), *rest))


def _bars(within: Within, told: Iterable[bool | None]) -> Iterator[charts.Bar]:
    """Yield the shares within rows as cells; those that are not known have only a limit."""
    columns = (column.tolist() for column in within)
    for share, low, high, known in zip(*columns, told, strict=True):
        sure = known and not isnan(share)
        yield charts.Bar("", share if sure else 0.0, low, high, sure)


def _dependence(first: str, second: str, found: Independence) -> Phrase:
    names = Span(first, "name"), Span(" and "), Span(second, "name")
    if found.p_value <= ALPHA:
        return *names, Span(f" depend on each other (p at most {ALPHA:g}).")
    said = f" depend on each other (p = {found.p_value:.2g}, above {ALPHA:g})."
    return Span("It is not sure that "), *names, Span(said)


def _selections(tally: Tally) -> Iterator[Selection]:
    """Yield the protocols of the views that people told of, but for levels."""
    protocol = views_of(tally)
    for part, (n, _) in zip(protocol.protocols or (), protocol.counted(tally), strict=True):
        if n and not isinstance(part, Levels):
            yield part


def _draw(part: Selection) -> Draw:
    """Return what draws the supports of a view's cells."""

    def draw(
        shares: Floats, n: int, runs: int, rng: "np.random.Generator"
    ) -> np.typing.NDArray[np.int64]:
        supports = np.zeros((runs, len(shares)), dtype=np.int64)
        held = rng.choice(len(shares), n * runs, p=shares / shares.sum()).astype(np.uint64)
        reports = part.privatize(held, rng).reshape(runs, n)
        for own, total in zip(reports, supports, strict=True):
            part._add_counts(own, total)
        return supports

    return drawing(part.pairs, draw)


def row_labels(part: Choice | Number) -> tuple[str, ...]:
    """Return a label for each value of an attribute."""
    if isinstance(part, Choice):
        return part.labels
    return tuple(part.scale.written(place) for place in range(part.steps))
