"""The distribution of numbers: how many are where, up to where, between what, and their mean.

Rows are bins of the numbers' values. Everything else is a method, each with its interval: ``mean``,
``quantile``, ``cdf``, ``bins`` and ``between``. All but the mean rest on the unbiased shares of the
values by all views; a quantile's point, and ``curve``, on the nearest possible ones. Of very
many values people are only asked for ranges, within which numbers count as even.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from deniable.answers.scale import Bins, Cumulated, InOrder, Scale, plain, told
from deniable.errors import InvalidParameter, OutOfDomain
from deniable.estimates import Estimates
from deniable.law.normal import Floats, upper_normal
from deniable.law.tables import Tables
from deniable.presentation import charts
from deniable.presentation.histogram import Column, Histogram, Mark
from deniable.presentation.parts import Beside, Part, Sentences, figure_fact
from deniable.presentation.trend import Reading
from deniable.presentation.verdict import Claim, Verdict
from deniable.presentation.view import Answer, Change, Figure, percent
from deniable.protocols.levels import Levels
from deniable.protocols.views import ViewEstimates, estimates_of, views_of
from deniable.tally import Tally
from deniable.validation import check_number, check_probability, check_whole

_QUARTILES = (("lower quartile", 0.25), ("median", 0.5), ("upper quartile", 0.75))
_MOST_BARS = 40
_MOST_THRESHOLDS = 1 << 10
_USUAL = 0.025
"""The tail by which means of several views are weighted."""


@dataclass(frozen=True, eq=False, repr=False)
class NumberEstimates(InOrder):
    """How many people gave which number: rows are bins.

    ``asked`` is a number above which the share of people is told as well (``asking``).
    """

    scale: Scale = field(kw_only=True)
    tally: Tally = field(kw_only=True)
    asked: float | None = None

    @classmethod
    def of(cls, found: ViewEstimates, scale: Scale, *, distribution: bool) -> "NumberEstimates":
        """Return the bins of a scale, or its ends where only the mean was asked for."""
        rows = replace(plain(found), labels=None, joint=None, law=None, adds_up=True)
        bare = cls(**vars(rows), scale=scale, tally=found.tally)
        if distribution:
            rows = bare.binned(scale.starts)
        else:
            mean, error, _ = bare._mean(0.025)
            shares, n = np.array([1 - mean, mean]), found.n
            rows = Estimates(n * shares, np.full(2, n * error), n, n * error, scale.ends)
        held = {k: v for k, v in vars(rows).items() if k in Estimates.__dataclass_fields__}
        held |= {"provenance": found.provenance}
        return cls(**held, scale=scale, tally=found.tally)

    @property
    def noun(self) -> str:
        return "bin" if self._tables.views else "end"

    def figures(self, level: float = 0.95) -> dict[str, Figure]:
        quartiles = _QUARTILES if self._tables.views else ()
        found = {name: self.quantile(share, level=level) for name, share in quartiles}
        return {**found, "mean": self.mean_at(level)}

    def shown(self, k: int | None = None) -> "NumberEstimates":
        """Return at most ``k`` bins, in order; if only some were taken, the largest of them."""
        whole = len(self) == self.total and self.adjusted is None and self._tables.views
        if k is None or k >= len(self) or not whole:
            return self.top(k)
        return replace(self, **vars(plain(self.brief(max(k, 1)))))

    def followed(self, k: int | None = None) -> "NumberEstimates":
        """Return no rows: numbers are followed by their figures, not by single steps."""
        del k
        return self.take([])

    def readings(self, level: float = 0.95) -> tuple[Reading, ...]:
        """Return the median, the mean if it was asked for, the share above, and the quartiles."""
        found, protocols = self.figures(level), views_of(self.tally).protocols
        levels = any(isinstance(part, Levels) for part in protocols or ())
        names = ("median", "mean") if levels else ("median",)
        names = (*names, "lower quartile", "upper quartile")
        read = [
            Reading(name.capitalize(), **found[name].row, unit=self.scale.unit, scale="number")
            for name in names
            if name in found
        ]
        if self.asked is not None:
            row = self.above(self.asked, level=level)
            read.insert(1, Reading.of(row, self.n, f"A{row.label[1:]}"))
        return tuple(read)

    def caption(self) -> str:
        """Return where half of the people are, the middle half, and the share asked for."""
        said = self.findings()
        above = said[-1:] if self.asked is not None else ()
        return " ".join((*said[: 2 if self._tables.views else 1], *above))

    def brief(self, rows: int, like: Estimates | None = None) -> Estimates:
        """Return at most ``rows`` bins; none where only the mean was asked for."""
        del like  # all have the same bins
        return self.binned(self.scale.starts_of(rows)) if self._tables.views else self.take([])

    def _notes(self, level: float, alpha: float, threshold: float | None) -> tuple[str, ...]:
        """Add the mean, and median and quartiles where the distribution is told."""
        *quartiles, mean = (f"{name} {each}" for name, each in self.figures(level).items())
        said = [*super()._notes(level, alpha, threshold), mean]
        if quartiles:
            said.append(", ".join(quartiles))
        if self.asked is not None:
            said.append(self._above(self.asked, level).replace("|", ""))
        return *said, self._ends

    def _above(self, number: float, level: float) -> str:
        row = self.above(number, level=level)
        counts = (row.ends[0], row.count, row.ends[1])
        low, some, high = (f"{100 * min(max(x / self.n, 0.0), 1.0):.1f}" for x in counts)
        return f"{row.label} are |{some} %| of the people ({low} to {high} %)"

    @property
    def _ends(self) -> str:
        low, high = self.scale.written(0, ","), self.scale.written(-1, ",")
        return f"numbers below {low} count as {low}, those above {high} as {high}"

    def summary(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, object]:
        told: dict[str, object] = {
            name.replace(" ", "_"): each.row for name, each in self.figures(level).items()
        }
        if self.asked is not None:
            told["above"] = self._asked(self.asked, level)
        return {**super().summary(level=level, alpha=alpha), "unit": self.scale.unit, **told}

    def told(self, level: float = 0.95) -> dict[str, object]:
        asked = {} if self.asked is None else self._asked(self.asked, level)
        return super().told(level) | {f"above_{name}": x for name, x in asked.items()}

    def _asked(self, number: float, level: float) -> dict[str, float | None]:
        """Return the share of people above a number, with its interval, as the exports have it."""
        row = self.above(number, level=level)
        lower, upper = (None if end is None else end / self.n for end in (row.lower, row.upper))
        return {"number": number, "share": row.share, "lower": lower, "upper": upper}

    def verdict(self, changes: Sequence[Change] = (), *, since: str = "") -> Verdict:
        """Return where half of the people are, and the mean; single steps say less."""
        del changes, since
        claims: list[Claim] = []
        if self._tables.views:
            median, scale = self.quantile(0.5), self.scale
            value, spread = median.cells
            if median.upper - median.lower > (scale.numbers[-1] - scale.numbers[0]) / 2:
                unsure = "Too few reports to tell where half of the people are: somewhere from"
                claims.append(told(f"{unsure} {spread} {scale.unit}".rstrip() + ".", "nothing"))
            else:
                sure = "" if median.lower == median.upper else f" ({spread})"
                claims.append(told(f"Half of the people are at or below |{value}|{sure}."))
                low, high = (self.quantile(share).cells[0] for share in (0.25, 0.75))
                claims.append(told(f"The middle half is between {low} and {high}."))
        claims.append(told(*self.scale.mean_said(self.mean)))
        if self.asked is not None:
            said = self._above(self.asked, 0.95)
            claims.append(told(f"{said[:1].upper()}{said[1:]}."))
        return Verdict(tuple(claims))

    def parts(self, beside: Beside | None = None) -> tuple[Part, ...]:
        """Return the quartiles and the mean in words and figures, and a histogram."""
        beside = beside or Beside()
        said = Verdict((*self.verdict().claims, *beside.news))
        ends = self.scale.numbers[0], self.scale.numbers[-1]
        figures = {k: each.within(*ends) for k, each in self.figures(beside.level).items()}
        facts = [figure_fact(name, figure, beside.level) for name, figure in figures.items()]
        found = [Sentences.of(said), charts.facts_of(self, beside, *facts)]
        if self._tables.views:
            found.append(self._histogram([*figures.values()][:-1], str(said), beside))
        return (*found, charts.listing_of(self, replace(beside, rows=None)))

    def _histogram(self, quartiles: Sequence[Figure], said: str, beside: Beside) -> Histogram:
        scale = self.scale
        starts, size = list(scale.starts_of(_MOST_BARS)), len(scale.numbers)
        if len(starts) > 2 and 2 * (size - starts[-1]) < starts[1]:
            starts.pop()  # a sliver at the end would look like a bar
        rows = self.binned(starts).rows(level=beside.level)
        columns = tuple(
            Column(
                charts.Bar(row.label, row.share, row.ends[0] / self.n, row.ends[1] / self.n),
                start / size,
                stop / size,
            )
            for row, start, stop in zip(rows, starts, [*starts[1:], size], strict=True)
        )
        marks = tuple(
            Mark(*(scale.place(x) for x in (each.value, each.lower, each.upper)))
            for each in quartiles
        )
        ticks = tuple(
            ((place + 0.5) / size, f"{scale.numbers[place]:,.12g} {scale.unit}".strip())
            for place in (0, (size - 1) // 2, size - 1)
        )
        note = f"line: {percent(beside.level)} sure · bracket: the middle half · {self._ends}"
        return Histogram(
            "histogram", "Share of people", note=note, columns=columns, quartiles=marks,
            ticks=ticks, said=said,
        )  # fmt: skip

    @cached_property
    def _tables(self) -> Tables:
        return views_of(self.tally).tables(self.tally)

    def _ranges(self, most: int | None = None) -> tuple[Estimates, int]:
        """Return the finest ranges that reports tell of, at most ``most``, and their width."""
        told = [view.digits for view in self._tables.views]
        small = [d for d in told if most is None or self._tables.size(d) <= most]
        if not small:
            parts = views_of(self.tally).protocols or ()
            asked = not all(isinstance(part, Levels) for part in parts)
            raise InvalidParameter(
                "nobody has told of the distribution yet: wait for more reports"
                if asked
                else "people are only asked for the mean; make a question that wants the "
                "distribution too"
            )
        target = max(small, key=len)
        width = views_of(self.tally).value_count // self._tables.size(target)
        found = estimates_of(self._tables, [target], self.n, strict=True)
        rows = found.take(np.arange(-(-len(self.scale.numbers) // width)))
        return replace(rows, tested=None, provenance=self.provenance), width

    def _averages(self, values: Floats, width: int) -> Floats:
        """Return means over ranges of what rows say of each value."""
        starts = np.arange(0, values.shape[-1], width)
        counts = np.diff(np.append(starts, values.shape[-1]))
        return np.asarray(np.add.reduceat(values, starts, axis=-1) / counts)

    def binned(self, starts: Sequence[int]) -> Estimates:
        """Return how many people are in bins that start at these places."""
        each, width = self._ranges()
        labels = self.scale.bins(starts)
        if width == 1 and len(starts) == len(each):
            return replace(each, labels=labels, values=None)
        places = np.arange(len(self.scale.numbers))
        bins = np.searchsorted(np.asarray(starts), places, side="right") - 1
        member = (bins == np.arange(len(starts))[:, None]).astype(np.float64)
        return each.combined(self._averages(member, width), labels)

    def bins(self, count: int) -> Estimates:
        """Return how many people are in each of ``count`` bins of equal width."""
        size = len(self.scale.numbers)
        bins = check_whole("the number of bins", count, 1, size)
        return Bins(**vars(plain(self.binned([size * i // bins for i in range(bins)]))))

    def between(self, low: float, high: float, *, level: float = 0.95) -> Answer:
        """Return how many people gave a number from ``low`` to ``high``, both included."""
        low, high = check_number("low", low), check_number("high", high)
        inside = [low <= number <= high for number in self.scale.numbers]
        if not any(inside):
            raise OutOfDomain.expected("a range that holds some value", (low, high))
        each, width = self._ranges()
        within = self._averages(np.array([inside], dtype=np.float64), width)
        # Of a range that is inside in part the interval leaves open how many people are.
        name = [f"{low:,.12g} to {high:,.12g} {self.scale.unit}".strip()]
        some = (within, np.floor(within), np.ceil(within))
        row, least, most = (each.combined(x, name).rows(level=level)[0] for x in some)
        lower, upper = min(row.ends[0], least.ends[0]), max(row.ends[1], most.ends[1])
        return replace(row, lower=lower, upper=upper, significant=least.significant)

    def above(self, number: float, *, level: float = 0.95) -> Answer:
        """Return how many people gave a number above this one."""
        scale = self.scale
        if not scale.numbers[0] <= check_number("the number", number) < scale.numbers[-1]:
            ends = f"{scale.written(0)} to below {scale.written(-1)}"
            raise OutOfDomain.expected(
                f"a number from {ends}, to tell the share above it", number, came=f"{number:.12g}"
            )
        first = next(each for each in scale.numbers if each > number)
        found = self.between(first, scale.numbers[-1], level=level)
        return replace(found, label=f"above {number:,.12g} {scale.unit}".strip())

    def asking(self, number: float) -> "NumberEstimates":
        """Return the same estimates, which also tell the share of people above a number."""
        self.above(number)  # refuses what cannot be told
        return replace(self, asked=float(number))

    def cdf(self) -> Estimates:
        """Return how many people gave at most each value; of very many values, some."""
        return self._cumulated

    @cached_property
    def _cumulated(self) -> Estimates:
        (each, width), scale = self._ranges(_MOST_THRESHOLDS), self.scale
        last = [min((i + 1) * width, len(scale.numbers)) - 1 for i in range(len(each))]
        rows = np.tril(np.ones((len(each), len(each))))
        rows[-1] = 0  # all people are below the last value, whatever the noise is
        found = each.combined(rows, [f"up to {scale.written(place)}" for place in last])
        counts = np.append(found.counts[:-1], self.n)
        return Cumulated(**vars(plain(replace(found, counts=counts))))

    def quantile(self, share: float, *, level: float = 0.95) -> Figure:
        """Return the number that a share of people do not exceed: 0.5 is the median.

        The interval goes from the least to the largest value that the distribution function's
        intervals leave possible, at this share by itself.
        """
        check_probability("the share of people", share, "0.5 is the median")
        numbers, found = self.scale.numbers, self.cdf()
        _, width = self._ranges(_MOST_THRESHOLDS)
        ends = found.interval(level)
        if ends is None:
            raise InvalidParameter("the errors of these estimates are not known")
        low, high = (np.clip(end / self.n, 0, 1) for end in ends)
        before = np.append(0.0, low[:-1])
        possible = np.flatnonzero((before <= share) & (share <= np.append(high[:-1], 1.0)))
        reached = np.cumsum(self.curve()) >= share - 1e-12
        point = int(np.argmax(reached)) if reached.any() else len(numbers) - 1
        first = min(int(possible.min(initial=len(found))) * width, point)
        last = max(min((int(possible.max(initial=0)) + 1) * width, len(numbers)) - 1, point)
        return Figure(numbers[point], numbers[first], numbers[last], self.scale.unit)

    def curve(self) -> Floats:
        """Return the most fitting shares of all values: none negative, and 1 in all."""
        (each, width), numbers = self._ranges(), len(self.scale.numbers)
        counts = np.diff(np.append(np.arange(0, numbers, width), numbers))
        return np.asarray(np.repeat(self._tables.nearest(len(each)) / counts, counts))

    @property
    def mean(self) -> Figure:
        """The mean of the numbers with its 95 % interval."""
        return self.mean_at(0.95)

    def mean_at(self, level: float) -> Figure:
        """Return the mean of the numbers with its interval."""
        check_probability("level", level, "0.95 is usual")
        mean, _, reach = self._mean((1 - level) / 2)
        low, extent = self.scale.numbers[0], self.scale.numbers[-1] - self.scale.numbers[0]
        value, half = low + extent * mean, extent * reach
        return Figure(value, value - half, value + half, self.scale.unit)

    def _mean(self, tail: float) -> tuple[float, float, float]:
        """Return the mean between both ends as 0 and 1, its error and reach, by all views."""
        protocol, last, found = views_of(self.tally), len(self.scale.numbers) - 1, []
        parts = zip(protocol.protocols or (), protocol.counted(self.tally), strict=True)
        for part, (n, counts) in parts:
            if isinstance(part, Levels) and n > 1:
                stretched = (protocol.value_count - 1) / last
                _, _, usual = part.mean(counts, _USUAL)
                found.append([stretched * each for each in (*part.mean(counts, tail), usual)])
        if self._tables.views:
            target = max((view.digits for view in self._tables.views), key=len)
            place = np.minimum(np.arange(protocol.value_count), last) / last
            means = place.reshape(self._tables.size(target), -1).mean(axis=1)
            value, variance = self._tables.figures(target, means[None, :])
            error = math.sqrt(float(variance[0]))
            reaches = upper_normal(tail) * error, upper_normal(_USUAL) * error
            found.append([float(value[0]), error, *reaches])
        if not found:
            raise InvalidParameter(
                "nobody has told of the mean yet; wait for more reports", value=None
            )
        mean, error, reach, usual = np.array(found).T
        weights = 1 / np.maximum(usual, 1e-12) ** 2
        weights /= weights.sum()
        combined = float(np.hypot.reduce(weights * error)), float(np.hypot.reduce(weights * reach))
        return float(weights @ mean), *combined
