"""Comparison: what changed between two estimates of one question, and what only seems to have.

The people behind the two are treated as independent samples: Monday's and Tuesday's, or those with
the old and the new version. A change is one in the populations that they were drawn from, so that
sampling counts as well as the noise of the protocol. No report may be in both: the estimates of a
week and of one of its days are not two samples, and seem to agree too well.

The same people may have answered twice with fresh noise, as two questions that differ only in name.
The sample is then the same, and people who gave an answer once are likelier to give it again: the
difference varies less than between independent samples, so that the results here are conservative.

Significance   of pure protocols by Fisher's exact test of the supports of each answer, which given
               the share are two binomials of one chance; of others by the reach of their laws
Correction     each answer is tested at alpha / d, both directions together: with d answers that
               have not changed, one is called changed with probability of at most alpha
Intervals      of pure protocols by melding the exact limits of both supports, which agrees with
               Fisher's test (``deniable.law.difference``); of others each estimate's own limits,
               squared and added (Newcombe 1998, Zou and Donner 2008), and where fewer than 50
               people sent several reports each, added as they are (Bonferroni)
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from deniable.answers.comparable import SIZES_NOTE, check_comparable, check_question, matching_rows
from deniable.answers.distribution import NumberEstimates
from deniable.answers.moved import moves, since
from deniable.estimates import Estimates
from deniable.law.difference import fisher_tail, upper_limits, with_drawn
from deniable.law.normal import Floats, Supports, upper_normal
from deniable.presentation import view as views
from deniable.presentation.exports import Presentable
from deniable.presentation.parts import Beside, Part, Sentences
from deniable.presentation.tables import Columns
from deniable.presentation.verdict import ALPHA, Verdict, disagreements, judge_changes, some_of
from deniable.protocols.sets import SetEstimates
from deniable.validation import check_probability

_FEW_PEOPLE = 50


def compare(first: Estimates, second: Estimates) -> "Comparison":
    """Compare two estimates of one question, or of two that differ only in name.

    The reports are those of different people, or of the same people with fresh noise, as of two
    questions that they answered: then changes are called and covered with more to spare.

    >>> from deniable import DE, Question
    >>> fruit = Question("fruit", ("kiwi", "fig"), DE(3.0, 2))
    >>> rng = np.random.default_rng(1)
    >>> days = (["kiwi"] * 600 + ["fig"] * 400, ["kiwi"] * 400 + ["fig"] * 600)
    >>> before, after = (fruit.estimate(fruit.tally(fruit.privatize(day, rng))) for day in days)
    >>> compare(before, after)["kiwi"].significant
    True
    """
    for estimates in (first, second):
        check_comparable(estimates)
    check_question(first, second)
    aligned = second.take(matching_rows(first, second))
    order = np.argsort(-np.abs(aligned.shares - first.shares), kind="stable")
    return Comparison(first.take(order), aligned.take(order))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Presentable):
    """The changes of shares between two estimates of the same rows, the largest first."""

    rows_name: ClassVar[str] = "changes"

    first: Estimates
    second: Estimates

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[views.Change]:
        return iter(self.rows())

    def __contains__(self, key: object) -> bool:
        return key in self.first

    def __getitem__(self, key: str | int) -> views.Change:
        return self.take(np.array([self.first.place(key)])).rows()[0]

    @property
    def total(self) -> int:
        """How many answers were estimated, and tested."""
        return max(self.first.total, self.second.total)

    @cached_property
    def differences(self) -> Floats:
        """By how much the shares changed: the second less the first."""
        return self.second.shares - self.first.shares

    @property
    def unknown(self) -> str | None:
        return self.first.unknown or self.second.unknown

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats] | None:
        """Return the lower and upper ends of the confidence intervals of the differences.

        Each covers the true difference of its own answer with probability ``level``, and with a
        little more where reports are few. None where the errors are not known.
        """
        check_probability("level", level, "0.95 is usual")
        if self.unknown is not None:
            return None
        tail = (1 - level) / 2
        if self._supports is not None:
            below, above = self._melded(*self._supports, tail)
        else:
            add, tail = self._joint(tail)
            (below_a, above_a), (below_b, above_b) = (
                _population_reach(each, tail) for each in (self.first, self.second)
            )
            below, above = add(below_b, above_a), add(above_b, below_a)
        return self.differences - below, self.differences + above

    @cached_property
    def _supports(self) -> tuple[Supports, Supports] | None:
        """How many reports of either support each answer, where both are counted by that."""
        first, second = (
            None if each.law is None else each.law.supports(each.counts)
            for each in (self.first, self.second)
        )
        return None if first is None or second is None else (first, second)

    def _melded(self, first: Supports, second: Supports, tail: float) -> tuple[Floats, Floats]:
        """Return how far below and above each difference the true one may be, by the supports."""
        (x, n), (y, m) = (first.numbers, self.first.n), (second.numbers, self.second.n)
        chances = y / m - x / n
        extra = (first.extra or 0.0) / n**2 + (second.extra or 0.0) / m**2
        on_top = upper_normal(tail) * math.sqrt(extra)
        below = (chances + upper_limits(y, m, x, n, tail)) / first.gap
        above = (upper_limits(x, n, y, m, tail) - chances) / first.gap
        return np.hypot(below, on_top), np.hypot(above, on_top)

    def _joint(self, tail: float) -> tuple[Callable[[Floats, Floats], Floats], float]:
        """Return how limits of both estimates are added, and at what tail they are taken.

        With many people the limits are added in squares. With few people who sent several reports
        they are added as they are, each at half the tail, which covers for any law (Bonferroni).
        """
        few = (each.law for each in (self.first, self.second) if each.n < _FEW_PEOPLE)
        if any(law is not None and not law.independent for law in few):
            return np.add, tail / 2
        return np.hypot, tail

    def significant(self, alpha: float = 0.05) -> np.typing.NDArray[np.bool_] | None:
        """Tell which answers changed: if none did, any is called so with at most ``alpha``.

        None where the errors are not known.
        """
        check_probability("alpha", alpha, "0.05 is usual")
        if self.unknown is not None:
            return None
        tail = alpha / max(self.total, 1) / 2
        different = np.ones(len(self), dtype=np.bool_)
        if self._supports is not None:
            different = self._fisher(*self._supports) <= tail
            if all(some.extra is None for some in self._supports):
                return different
        return different & np.asarray(np.abs(self.differences) > self._noise_reach(tail))

    def _fisher(self, first: Supports, second: Supports) -> Floats:
        """Return the smaller tail of Fisher's exact test of each answer's supports."""
        (x, n), (y, m) = (first.numbers, self.first.n), (second.numbers, self.second.n)
        return np.minimum(fisher_tail(y, m, x, n), fisher_tail(x, n, y, m))

    @property
    def complementary(self) -> bool:
        """Whether each report supports one of two answers: what one gains the other loses."""
        found = zip(self._supports or (), (self.first, self.second), strict=False)
        whole = [abs(some.numbers.sum() - each.n) < 0.5 for some, each in found]
        return len(self) == 2 and len(whole) == 2 and all(whole)

    def p_values(self) -> Floats:
        """Return for each answer how probable so large a change is if it has not changed.

        Where supports are not counted it is that of a normal variable with the reach of both laws.
        """
        supports = self._supports
        if supports is not None and supports[0].extra is None and supports[1].extra is None:
            return np.asarray(np.minimum(1.0, 2 * self._fisher(*supports)))
        scale = self._noise_reach(0.025) / upper_normal(0.025)
        return np.array([math.erfc(abs(z) / math.sqrt(2)) for z in self.differences / scale])

    def _noise_reach(self, tail: float) -> Floats:
        """Return how large a difference both laws and sampling can explain."""
        both = self.first, self.second
        add, tail = self._joint(tail)
        reach = add(*(np.maximum(*_noise_reach(each, tail)) for each in both))
        if all(x.law is not None and x.law.population(x.counts, tail) is not None for x in both):
            return reach  # these laws hold sampling already
        n, m = self.first.n, self.second.n
        pooled = ((self.first.counts + self.second.counts) / (n + m)).clip(0, 1)
        drawn = upper_normal(tail) * np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        return add(reach, drawn)

    def take(self, rows: Sequence[int] | np.typing.NDArray[np.integer]) -> "Comparison":
        return replace(self, first=self.first.take(rows), second=self.second.take(rows))

    def rows(
        self, *, level: float = 0.95, alpha: float = 0.05, truth: np.typing.ArrayLike | None = None
    ) -> tuple[views.Change, ...]:
        columns = (*(self.interval(level) or (None, None)), self.significant(alpha),
                   self.first.shares, self.second.shares)  # fmt: skip
        return views.Change.over(self.first.keys, columns, truth)

    def verdict(self) -> Verdict:
        """Return which answers have changed for sure, the largest first; for numbers, the mean."""
        if isinstance(self.first, NumberEstimates) and isinstance(self.second, NumberEstimates):
            return since(self.first, self.second)
        return judge_changes(self.rows(alpha=ALPHA), self.total, self.first.noun)

    def findings(self) -> tuple[str, ...]:
        return tuple(map(str, self.verdict().claims))

    def parts(self, beside: Beside | None = None) -> tuple[Part, ...]:
        return Sentences.of(self.verdict()), *super().parts(beside)

    def view(
        self, *, level: float = 0.95, alpha: float = 0.05, truth: np.typing.ArrayLike | None = None
    ) -> views.View:
        rows = self.rows(level=level, alpha=alpha, truth=truth)
        first, second, interval = self.first, self.second, f"{views.percent(level)} interval"
        before = f"{first.n:,}" if first.repeats is None else first.sample
        return views.View(
            rows=rows,
            headings=("first", "second", "change", interval),
            scale=views.Scale.over(rows, signed=True),
            words=views.Words(
                value="change of the share",
                interval=interval,
                axis="change of the share (percentage points)",
                truth="true change",
            ),
            name=self._name,
            headline=f"changes of {some_of(len(self), self.total, first.noun)} between {before} "
            f"and {second.sample}",
            source=None if first.provenance is None else first.provenance.line,
            notes=self._notes(level, alpha),
            doubts=disagreements(rows, level, alpha, self.total, self.first.noun),
            unknown=self.unknown,
            n=first.n + second.n,
            reports=first.reports + second.reports,
            provenance=self.constants(),
            signed=True,
        )

    def _notes(self, level: float, alpha: float) -> tuple[str, ...]:
        tests, by = views.counted(self.total, self.first.noun), self.first.estimator
        both = (("first", self.first.repeats), ("second", self.second.repeats))
        again = (f"{place}, {each.sentence}" for place, each in both if each is not None)
        return (
            self.unknown or f"significant: changed (alpha = {alpha:g}, {tests})",
            "first, second: shares of all people; change: the second less the first, in percentage "
            "points",
            *([f"shares by {by}, which may be biased"] if by else []),
            *again,
            *([SIZES_NOTE] if isinstance(self.first, SetEstimates) else []),
            *map(str, moves(self.first, self.second, level).values()),
        )

    def told(self, level: float = 0.95) -> dict[str, object]:
        found = moves(self.first, self.second, level).items()
        return {f"{name}_{end}": x for name, move in found for end, x in move.row.items()}

    def shown(self, k: int | None = None) -> "Comparison":
        """Return at most ``k`` rows to look at: the largest changes, or those of wider bins."""
        if (
            k is None
            or k >= len(self)
            or len(self) != self.total
            or not moves(self.first, self.second)
        ):
            return self.top(k)
        return compare(self.first.shown(k), self.second.shown(k))

    def columns(self, *, level: float = 0.95, alpha: float = 0.05) -> Columns:
        lower, upper = self.interval(level) or (None, None)
        return {
            "value" if self.first.labels is None else "label": self.first.keys,
            "first_share": self.first.shares,
            "second_share": self.second.shares,
            "difference": self.differences,
            "lower": lower,
            "upper": upper,
            "significant": self.significant(alpha),
        }

    def constants(self) -> dict[str, object] | None:
        mine, other = self.first.constants(), self.second.constants()
        if mine is None or other is None:
            return None
        found = {key: mine[key] for key in mine if key not in ("n", "reports", "law")}
        found |= {"first_n": self.first.n, "second_n": self.second.n}
        for place, each in (("first", mine), ("second", other)):
            if "law" in each:
                found |= {f"{place}_reports": each["reports"], f"{place}_law": each["law"]}
        if other["digest"] != mine["digest"]:
            found |= {"second_question": other["question"], "second_digest": other["digest"]}
        return found

    def summary(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, object]:
        return {
            "provenance": self.constants(),
            "first_n": self.first.n,
            "second_n": self.second.n,
            "answers": self.total,
            "level": level,
            "interval_of": "difference of the shares, the second less the first",
            "unknown": self.unknown,
            "alpha": alpha,
            **{
                name.replace(" ", "_"): m.row
                for name, m in moves(self.first, self.second, level).items()
            },
        }

    def title(self) -> str:
        return f"Changes: {self._name or 'Estimates'}"

    @property
    def _name(self) -> str | None:
        """The name of the question, or both names where there are two."""
        before, after = (
            None if each.provenance is None else each.provenance.question
            for each in (self.first, self.second)
        )
        return before if before == after else f"{before} and {after}"


def _population_reach(estimates: Estimates, tail: float) -> tuple[Floats, Floats]:
    """Return how far below and above each share the share in the population may be.

    The limits of the count and those of sampling are added in squares.
    """
    law = estimates.law
    if law is not None and (known := law.population(estimates.counts, tail)) is not None:
        return known
    below, above = _noise_reach(estimates, tail)
    k = upper_normal(tail) ** 2 / estimates.n
    return with_drawn(1 - estimates.shares, below, k), with_drawn(estimates.shares, above, k)


def _noise_reach(estimates: Estimates, tail: float) -> tuple[Floats, Floats]:
    """Return how far below and above each share the people's own share may be, by the law."""
    if estimates.law is not None:
        lower, upper = estimates.law.interval(estimates.counts, tail)
        return (estimates.counts - lower) / estimates.n, (upper - estimates.counts) / estimates.n
    errors = np.asarray(estimates.std_errors, dtype=np.float64)
    reach = upper_normal(tail) * np.maximum(errors, estimates.null_std_error or 0.0) / estimates.n
    return reach, reach
