"""Sets of items: what their protocols have in common.

A set of at most l of d items is padded with dummies to exactly l of d + l points. A report supports
points, and has E = e^eps times the weight of others if it supports any point of the padded set: it
*hits* the set. Which points a report supports, and how one that hits is drawn, is for each protocol
to say: ``SetSelection`` and ``PolynomialSelection``.

Dummy j is in the set of a person who gave fewer than l - j answers. So the shares of the dummies
are the distribution of the sizes. People without a dummy gave l answers, or more, of which the
others were left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from deniable import validation
from deniable.candidates import Candidates, Chosen, choose_some
from deniable.errors import InvalidParameter, OutOfDomain
from deniable.estimates import Estimates, Floats
from deniable.kernels import subsets
from deniable.mechanism import Values
from deniable.presentation import charts
from deniable.presentation.parts import Beside, Part, Sentences
from deniable.presentation.verdict import Claim, Span, Verdict
from deniable.presentation.view import Change, Shown, View, percent
from deniable.protocol import Pure
from deniable.randomness import WORD, Integers, exponential_bounds
from deniable.tally import Tally

MOST_ITEMS = 32
"""The largest ``at_most``."""


@dataclass(frozen=True)
class Cases:
    """The cases of a report, of which a word draws one: no hit, then the ways to hit.

    ``counts`` are the N_c reports of each case, ``weights`` their probabilities T_c over 2^64:
    T_c = floor(2^64 E N_c / (E (N_1 + N_2 + ...) + N_0)) for a hit with E the lower bound of e^eps,
    and T_0 is what is left. Within a case all reports are equally likely.
    """

    counts: tuple[int, ...]
    weights: tuple[int, ...]

    @classmethod
    def at(cls, epsilon: float, counts: Sequence[int]) -> Self:
        low, _ = exponential_bounds(epsilon)
        total = low * sum(counts[1:]) + counts[0]
        hits = [math.floor(WORD * low * count / total) for count in counts[1:]]
        return cls(tuple(counts), (WORD - sum(hits), *hits))

    @cached_property
    def each(self) -> tuple[Fraction, ...]:
        """The weight of one report of each case."""
        return tuple(map(Fraction, self.weights, self.counts))

    def holds(self, epsilon: float) -> bool:
        """Tell whether no two reports differ by more than e^eps, and all can be drawn."""
        low, _ = exponential_bounds(epsilon)
        return min(self.weights) > 0 and max(self.each) <= low * min(self.each)

    def check(self, epsilon: float) -> None:
        """Refuse weights that 64 bits are too few for."""
        if not self.holds(epsilon) or max(self.each) == self.each[0]:
            raise no_weights(epsilon)

    @cached_property
    def _edges(self) -> Integers:
        return np.array(list(accumulate(self.weights))[:-1], dtype=np.uint64)

    def draw(self, words: Integers) -> np.typing.NDArray[np.int64]:
        """Return the case of each word: the first whose weight and those before exceed it."""
        return np.asarray(np.add.reduce(words[:, None] >= self._edges, axis=1, dtype=np.int64))


def part_of(words: Integers, limit: int, size: int) -> Integers:
    """Return the integer below ``size`` that each word below ``limit``, a multiple, stands for."""
    return words // np.uint64(limit // size) if size > 1 else np.zeros_like(words)


def no_weights(epsilon: float) -> InvalidParameter:
    """Return the error for an epsilon whose weights 64 bits cannot tell apart."""
    return InvalidParameter.expected(
        "an epsilon that 64-bit probabilities can express for such sets",
        epsilon,
        "use a larger epsilon, or smaller sets",
    )


def count_sets(domain_size: int, at_most: int) -> int:
    """Return how many sets of at most ``at_most`` items there are."""
    return sum(math.comb(domain_size, size) for size in range(at_most + 1))


def check_at_most(at_most: object, domain_size: int) -> int:
    """Return how many items a set has at most, or say what is wrong with that."""
    most = min(MOST_ITEMS, domain_size - 1)
    remedy = "where people may choose any number, ask about each item by itself"
    return validation.check_whole("at_most", at_most, 1, most, remedy)


@dataclass(frozen=True, repr=False)
class Cut(Shown):
    """The share of people whose set may have been cut, and its interval at a level."""

    share: float
    lower: float
    upper: float
    at_most: int
    possible: bool = True
    """Whether larger sets were taken at all. If they were refused, none was cut."""

    def __str__(self) -> str:
        if not self.possible:
            return f"no set was cut: more than {self.at_most} answers were refused"
        low, share, high = (f"{100 * each:.0f} %" for each in (self.lower, self.share, self.upper))
        return (
            f"about {share} of the people ({low} to {high}) gave {self.at_most} answers or had "
            "more, and what was beyond is not counted: no share is too low by more than that"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Sizes(Estimates):
    """How many people gave no answer, one, two and so on; these counts do add up.

    ``ends`` has for each size the counts of people who gave at most that many answers and fewer,
    not a number where the count is known beforehand. A size is the difference of both, which are
    not independent: its interval goes from the lower end of the one less the upper end of the
    other, at half of the tail each.
    """

    ends: Floats = field(kw_only=True)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        validation.check_probability("level", level, "0.95 is usual")
        first, second = np.isfinite(self.ends).T
        lower, upper = np.empty(len(self)), np.empty(len(self))
        tail = (1 - level) / 2
        for both, share in ((True, tail / 2), (False, tail)):
            rows = np.flatnonzero((first & second) == both)
            (low, high), (less, more) = (self._ends(self.ends[rows, k], k, share) for k in (0, 1))
            lower[rows], upper[rows] = low - more, high - less
        return np.minimum(lower, self.counts), np.maximum(upper, self.counts)

    def _ends(self, counts: Floats, place: int, tail: float) -> tuple[Floats, Floats]:
        """Return an interval of the counts; what is known is everybody, or nobody."""
        known = float(self.n if place == 0 else 0)
        lower, upper = np.full(len(counts), known), np.full(len(counts), known)
        rows = np.flatnonzero(np.isfinite(counts))
        if self.law is not None and len(rows):
            lower[rows], upper[rows] = self.law.interval(counts[rows], tail)
        return lower, upper

    def threshold(self, alpha: float = 0.05) -> float:
        """Return a count above which a size is significant: the widest lower half of an interval.

        A larger count leaves 0 outside of its interval, which goes down to alpha / sizes.
        """
        validation.check_probability("alpha", alpha, "0.05 is usual")
        lower, _ = self.interval(1 - 2 * alpha / max(self.total, 2))
        return float(np.max(self.counts - lower, initial=0.0))

    def take(self, rows: Sequence[int] | np.typing.NDArray[np.integer]) -> Self:
        return replace(super().take(rows), ends=self.ends[np.asarray(rows, dtype=np.int64)])

    def largest(self, k: int | None = None) -> np.typing.NDArray[np.integer]:
        """Return the places of the first ``k`` sizes: they are shown in their own order."""
        return np.arange(len(self))[:k]

    def verdict(self, changes: Sequence[Change] = (), *, since: str = "") -> Verdict:
        """Return what the rows are: no size leads."""
        del changes, since
        return Verdict((Claim("figure", (), (Span("How many answers people gave."),)),))

    def view(
        self, *, level: float = 0.95, alpha: float = 0.05, truth: np.typing.ArrayLike | None = None
    ) -> View:
        shown = super().view(level=level, alpha=alpha, truth=truth)
        words = replace(shown.words, axis=f"people who gave this number of answers (of {self.n:,})")
        headline = f"how many answers people gave, estimated from {self.sample}"
        return replace(shown, headline=headline, words=words)


@dataclass(frozen=True, eq=False, repr=False)
class SetEstimates(Estimates):
    """How many of ``n`` people had each answer in their set: these counts do not add up to n.

    ``padding`` has the counts of the dummies. ``cuts`` tells whether larger sets were cut; if not,
    they were refused.
    """

    padding: Floats = field(kw_only=True)
    cuts: bool = field(default=True, kw_only=True)

    adds_up: bool = False

    @property
    def at_most(self) -> int:
        """How many answers a set has at most."""
        return len(self.padding)

    @property
    def sizes(self) -> Sizes:
        """How many people gave no answer, one, two, up to ``at_most`` or more."""
        # Dummy j counts the people with fewer than at_most - j answers.
        padded = np.concatenate([[np.nan], self.padding, [np.nan]])[::-1]
        upper, lower = padded[1:], padded[:-1]
        counts = np.where(np.isnan(upper), self.n, upper) - np.where(np.isnan(lower), 0.0, lower)
        last = f"{self.at_most} or more" if self.cuts else f"{self.at_most}"
        labels, ends = (*map(str, range(self.at_most)), last), np.stack([upper, lower], axis=1)
        return Sizes(counts, None, self.n, None, labels, law=self.law, ends=ends,
                     provenance=self.provenance)  # fmt: skip

    @property
    def cut(self) -> Cut:
        """The share of people whose set may have been cut, with its 95 % interval."""
        return self.cut_at(0.95)

    def cut_at(self, level: float) -> Cut:
        """Return the share of people whose set may have been cut, with its interval."""
        if not self.cuts:
            return Cut(0.0, 0.0, 0.0, self.at_most, possible=False)
        full = self.sizes.take([self.at_most])
        lower, upper = full.interval(level)
        ends = np.clip([full.counts[0], lower[0], upper[0]], 0, self.n) / self.n
        share, low, high = ends.tolist()
        return Cut(share, low, high, self.at_most)

    def repeated(self, level: float = 0.95) -> dict[str, object]:
        cut = self.cut_at(level)
        ends = {"cut": cut.share, "cut_lower": cut.lower, "cut_upper": cut.upper}
        return {**super().repeated(level), "at_most": self.at_most, **ends}

    def summary(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, object]:
        cut, sizes = self.cut_at(level), self.sizes
        lower, upper = sizes.interval(level)
        columns = zip(sizes.labels or (), sizes.counts, lower, upper, strict=True)
        return {
            **super().summary(level=level, alpha=alpha),
            "adds_up": False,
            "at_most": self.at_most,
            "cut": {"share": cut.share, "lower": cut.lower, "upper": cut.upper},
            "sizes": [
                {"size": size, "count": float(count), "lower": float(low), "upper": float(high)}
                for size, count, low, high in columns
            ],
        }

    def parts(self, beside: Beside | None = None) -> tuple[Part, ...]:
        """Return the shares, how many answers people gave, and how many may have been cut."""
        beside = beside or Beside()
        said, facts, shares, numbers = charts.parts_of(self, beside)
        note = f"people who have it: shares do not add up to 100 % · {shares.note}"
        bare = replace(beside, changes={}, truth={}, against="", rows=None)
        return (
            said,
            facts,
            replace(shares, note=note),
            charts.chart_of(self.sizes, bare, "sizes", "How many answers people gave"),
            Sentences("cut", phrases=((Span(f"{str(self.cut_at(beside.level)).capitalize()}."),),),
                      small=True),
            numbers,
            charts.listing_of(self.sizes, bare, "sizes-numbers", "Numbers of answers"),
        )  # fmt: skip

    def _notes(self, level: float, alpha: float, threshold: float | None) -> tuple[str, ...]:
        cut = self.cut_at(level)
        at = f" ({percent(level)} interval)" if cut.possible and level != 0.95 else ""
        return (
            *super()._notes(level, alpha, threshold),
            "people gave several answers: shares do not add up to 100 %",
            f"{cut}{at}",
        )


class Sets(Pure, abstract=True):
    """A pure protocol over sets of at most ``at_most`` of ``domain_size`` items.

    A value is a row of ``at_most`` points, ascending: the items of the set, then as many of the
    dummies as are missing, from the first on. Sets are numbered by their size and then by the rank
    of their items.
    """

    usual_settings: ClassVar[dict[str, object]] = {"at_most": 2}

    if TYPE_CHECKING:

        def __init__(self, epsilon: float, domain_size: int, at_most: int) -> None: ...

        @property
        def domain_size(self) -> int:
            """d, the number of items."""

        @property
        def at_most(self) -> int:
            """l, how many items a set has at most."""

        @property
        def _cases(self) -> Cases: ...

    def _details(self) -> dict[str, object]:
        return {"weights": list(map(str, self._cases.weights))}  # JSON numbers may round

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.check_epsilon(self.epsilon))
        object.__setattr__(self, "domain_size", validation.check_domain_size(self.domain_size))
        object.__setattr__(self, "at_most", check_at_most(self.at_most, self.domain_size))

    @classmethod
    def usual(cls, epsilon: float, domain_size: int, at_most: int) -> Self:
        """Return the protocol with the best settings for rare items."""
        return cls(epsilon, domain_size, at_most)

    @property
    def points(self) -> int:
        """How many points there are: items and dummies."""
        return self.domain_size + self.at_most

    @property
    def value_count(self) -> int:
        return count_sets(self.domain_size, self.at_most)

    @property
    def value_dtype(self) -> np.dtype[np.generic]:
        return np.dtype((np.uint64, (self.at_most,)))

    def numbered(self, numbers: np.typing.NDArray[np.uint64]) -> np.typing.NDArray[np.uint64]:
        d, most = self.domain_size, self.at_most
        rows = np.zeros((len(numbers), most), np.uint64)
        first = 0
        for size in range(most + 1):
            last = first + math.comb(d, size)
            inside = numbers >= first
            if last < WORD:
                inside &= numbers < last
            chosen = np.flatnonzero(inside)
            if size and len(chosen):
                ranks = numbers[chosen] - np.uint64(first)
                rows[chosen, :size] = subsets.unrank(ranks, subsets.binomials(d, size))
            rows[chosen, size:] = np.arange(d, d + most - size)
            if last >= WORD:
                break
            first = last
        return rows

    def _check_values(self, values: Values) -> np.typing.NDArray[np.uint64]:
        d, most = self.domain_size, self.at_most
        rows = validation.check_rows(values, d + most, most)
        ascending = (rows[:, 1:] > rows[:, :-1]).all(axis=1)
        dummies = (rows >= d).sum(axis=1, dtype=np.uint64)
        # Ascending dummies whose last is the number of them, less one, are the first dummies.
        padded = (dummies == 0) | (rows[:, -1] + np.uint64(1) == dummies + np.uint64(d))
        sound = ascending & padded
        if not sound.all():
            position = int(np.argmin(sound))
            raise OutOfDomain(
                f"expected rows of ascending items and then the first dummies, from {d} on; the "
                f"one at position {position} is none: map answers to values with a Question",
                value=position,
            )
        return rows

    def _check_point(self, value: int) -> int:
        return int(validation.check_values([value], self.points)[0])

    def _choose(self, candidates: Candidates | None) -> Chosen:
        return Chosen() if candidates is None else choose_some(candidates, self.domain_size)

    def _estimate(self, tally: Tally, chosen: Chosen) -> SetEstimates:
        """Apply the unbiased estimator to items and dummies alike.       [eq:absestimate]."""
        d, found = self.domain_size, super()._estimate(tally, chosen)
        errors = None if found.std_errors is None else found.std_errors[:d]
        null, law, padding = found.null_std_error, found.law, found.counts[d:]
        return SetEstimates(found.counts[:d], errors, tally.n, null, law=law, padding=padding)

    def _estimate_bytes(self, chosen: Chosen) -> int:
        return super()._estimate_bytes(chosen) + 64 * self.points

    def _check_counted(self, values: Sequence[int]) -> np.typing.NDArray[np.uint64]:
        return validation.check_values(list(values), self.domain_size)

    def decoding_time(self, n: int) -> float:
        """Estimate the nanoseconds that ``n`` reports take to tally and decode, on one core."""
        return float(n * self.points * self.at_most)
