"""Estimates of sets: people gave several answers, and how many is estimated as well.

The set of a person is filled up to ``at_most`` points: with the first of as many dummies, so that
dummy j is in it if the person gave fewer than at_most - j answers. The shares of the dummies are
thus the distribution of the sizes. Whoever has no dummy at all gave ``at_most`` answers, or more,
of which the others were left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from deniable.estimates import Estimates, Floats
from deniable.presentation import charts
from deniable.presentation.parts import Beside, Part, Sentences
from deniable.presentation.verdict import Claim, Span, Verdict
from deniable.presentation.view import Change, View, percent
from deniable.validation import check_probability


@dataclass(frozen=True)
class Cut:
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

    ``ends`` has for each size the counts of people who gave at most so many answers and fewer,
    not a number where the count is known beforehand. A size is the difference of both, which are
    not independent: its interval goes from the lower end of the one less the upper end of the
    other, at half of the tail each.
    """

    ends: Floats = field(kw_only=True)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        check_probability("level", level, "0.95 is usual")
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
        check_probability("alpha", alpha, "0.05 is usual")
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
        words = replace(shown.words, axis=f"people who gave so many answers (of {self.n:,})")
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
        fewer = np.concatenate([self.padding, [np.nan]])
        # Dummy j counts the people with fewer than at_most - j answers.
        upper, lower = np.concatenate([[np.nan], self.padding])[::-1], fewer[::-1]
        counts = np.where(np.isnan(upper), self.n, upper) - np.where(np.isnan(lower), 0.0, lower)
        last = f"{self.at_most} or more" if self.cuts else f"{self.at_most}"
        return Sizes(
            counts,
            None,
            self.n,
            None,
            labels=(*map(str, range(self.at_most)), last),
            law=self.law,
            provenance=self.provenance,
            ends=np.stack([upper, lower], axis=1),
        )

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
