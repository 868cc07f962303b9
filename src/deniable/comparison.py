"""Comparison: what changed between two estimates of one question, and what only seems to have.

The people of the two are taken for independent samples: Monday's and Tuesday's, or those with the
old and the new version. A change is one of the shares in the populations that they were drawn from,
so that besides the noise of the protocol the chance of who was asked counts too. Nobody may be in
both: the estimates of a week and of one of its days are no two samples, and compared they seem to
agree too well.

Significance   of pure protocols by Fisher's exact test of the supports of each answer, which given
               the share are two binomials of one chance; of others by the reach of their laws
Correction     each answer is tested at alpha / d, both directions together: with d answers that
               have not changed, one is called changed with probability of at most alpha
Intervals      each estimate's own limits, squared and added (Newcombe 1998, Zou and Donner 2008),
               those of pure protocols being Wilson's with a correction for continuity; of fewer
               than 50 people who sent several reports each, added as they are (Bonferroni)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from deniable.errors import IncompatibleTally, InvalidParameter, OutOfDomain, brief
from deniable.estimates import Estimates
from deniable.law import RepeatedLaw, SupportLaw, WidenedLaw, upper_normal
from deniable.law.contrast import upper_tail
from deniable.presentation import Presentable, View
from deniable.presentation.changes import Change, constants, view_changes
from deniable.presentation.rows import Column, keys
from deniable.validation import check_probability

Floats = npt.NDArray[np.float64]

_FEW_PEOPLE = 50


def compare(first: Estimates, second: Estimates) -> Comparison:
    """Compare two estimates of one question, made from reports of different people.

    >>> from deniable import DE, Question
    >>> fruit = Question("fruit", ("kiwi", "fig"), DE(3.0, 2))
    >>> rng = np.random.default_rng(1)
    >>> days = (["kiwi"] * 600 + ["fig"] * 400, ["kiwi"] * 400 + ["fig"] * 600)
    >>> before, after = (fruit.estimate(fruit.tally(fruit.privatize(day, rng))) for day in days)
    >>> compare(before, after)["kiwi"].significant
    True
    """
    for estimates in (first, second):
        _check(estimates)
    _check_question(first, second)
    aligned = second.take(_places(first, second))
    order = np.argsort(-np.abs(aligned.frequencies - first.frequencies), kind="stable")
    return Comparison(first.take(order), aligned.take(order))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Presentable):
    """The changes of the shares from one estimate to another, the largest first.

    ``compare`` makes them; both estimates have the same answers in the same order.
    """

    rows_name: ClassVar[str] = "changes"

    first: Estimates
    second: Estimates

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.rows())

    def __contains__(self, key: object) -> bool:
        return key in self.first

    def __getitem__(self, key: str | int) -> Change:
        """Return the change of a label or, where there are none, of a value."""
        place = self.first.place(key)
        return self.take(np.array([place])).rows()[0]

    @property
    def total(self) -> int:
        """How many answers were estimated, and tested."""
        return max(self.first.total, self.second.total)

    @cached_property
    def differences(self) -> Floats:
        """By how much the shares changed: the second less the first."""
        return self.second.frequencies - self.first.frequencies

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the lower and upper ends of the confidence intervals of the differences.

        Each covers the true difference of its own answer with probability ``level``, and with a
        little more where reports are few.
        """
        check_probability("level", level, "0.95 is usual")
        add, tail = self._joint((1 - level) / 2)
        (below_a, above_a), (below_b, above_b) = (
            _reach(each, tail) for each in (self.first, self.second)
        )
        return (
            self.differences - add(below_b, above_a),
            self.differences + add(above_b, below_a),
        )

    def _joint(self, tail: float) -> tuple[Callable[[Floats, Floats], Floats], float]:
        """Return how limits of both estimates are added, and at what tail they are taken.

        Squares are for many people. Of a few who sent several reports the limits are themselves
        added, each at half the tail, which covers whatever the laws are (Bonferroni).
        """
        both = (self.first, self.second)
        if any(isinstance(each.law, RepeatedLaw) and each.n < _FEW_PEOPLE for each in both):
            return np.add, tail / 2
        return np.hypot, tail

    def significant(self, alpha: float = 0.05) -> npt.NDArray[np.bool_]:
        """Tell which answers changed: if none did, any is called so with at most ``alpha``."""
        check_probability("alpha", alpha, "0.05 is usual")
        tail = alpha / max(self.total, 1) / 2
        first, second = _supports(self.first), _supports(self.second)
        different = np.ones(len(self), dtype=np.bool_)
        if first is not None and second is not None:
            n, m = self.first.n, self.second.n
            rose, fell = upper_tail(second, m, first, n), upper_tail(first, n, second, m)
            different = np.minimum(rose, fell) <= tail
            if isinstance(self.first.law, SupportLaw) and isinstance(self.second.law, SupportLaw):
                return different
        return different & self._stand_out(tail)

    def _stand_out(self, tail: float) -> npt.NDArray[np.bool_]:
        """Tell which differences are beyond the reach of both laws and of who was drawn."""
        add, tail = self._joint(tail)
        reach = add(*(np.maximum(*_noise(each, tail)) for each in (self.first, self.second)))
        pooled = (self.first.counts + self.second.counts) / (self.first.n + self.second.n)
        drawn = _drawn(pooled, tail) * math.sqrt(1 / self.first.n + 1 / self.second.n)
        return np.asarray(np.abs(self.differences) > add(reach, drawn))

    def top(self, k: int | None = None) -> Comparison:
        """Return the ``k`` largest changes, or all of them; the significance stays as it is."""
        return self.take(np.arange(len(self))[:k])

    def take(self, places: npt.NDArray[np.integer]) -> Comparison:
        """Return some rows; the significance stays that of all answers."""
        return replace(self, first=self.first.take(places), second=self.second.take(places))

    def rows(self, *, level: float = 0.95, alpha: float = 0.05) -> tuple[Change, ...]:
        """Return one row for each answer, with its interval and whether it is significant."""
        lower, upper = self.interval(level)
        columns = (lower, upper, self.significant(alpha), self.first.frequencies,
                   self.second.frequencies)  # fmt: skip
        names = [str(key) for key in keys(self.first)]
        listed = zip(names, *(column.tolist() for column in columns), strict=True)
        return tuple(Change(*fields) for fields in listed)

    def view(self, *, level: float = 0.95, alpha: float = 0.05) -> View:
        """Return what text, page and figure show."""
        rows = self.rows(level=level, alpha=alpha)
        return view_changes(rows, self.first, self.second, level=level, alpha=alpha)

    def columns(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, Column]:
        """Return the columns of the exports by name, shares in full, the largest change first."""
        lower, upper = self.interval(level)
        return {
            "value" if self.first.labels is None else "label": keys(self.first),
            "first_frequency": self.first.frequencies,
            "second_frequency": self.second.frequencies,
            "difference": self.differences,
            "lower": lower,
            "upper": upper,
            "significant": self.significant(alpha),
        }

    def constants(self) -> dict[str, object] | None:
        """Return the provenance by the names of the exports, with both numbers of people."""
        return constants(self.first, self.second)

    def summary(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, object]:
        """Return what is said once about all rows."""
        return {
            "provenance": self.constants(),
            "first_n": self.first.n,
            "second_n": self.second.n,
            "answers": self.total,
            "level": level,
            "interval_of": "difference of the shares, the second less the first",
            "alpha": alpha,
        }

    def title(self) -> str:
        """Return the name of the question, if there is one."""
        return f"Changes: {self.first.title()}"


def _reach(estimates: Estimates, tail: float) -> tuple[Floats, Floats]:
    """Return how far below and above each share the share in the population may be.

    Of a pure protocol the supports are one binomial, and Wilson's limits of its chance are those
    of the share. Of others the limits of the count, and of who was drawn, are added in squares.
    """
    supports, law = _supports(estimates), _support_law(estimates)
    if supports is not None and law is not None:
        n, gap = estimates.n, float(law.p - law.q)
        extra = estimates.law.extra if isinstance(estimates.law, WidenedLaw) else 0.0
        on_top = upper_normal(tail) * math.sqrt(extra) / n
        # What is below the share of supports is above the share of those who do not support.
        limits = _wilson(n - supports, n, tail) / gap, _wilson(supports, n, tail) / gap
        return np.hypot(limits[0], on_top), np.hypot(limits[1], on_top)
    below, above = _noise(estimates, tail)
    root = math.sqrt(estimates.n)
    return (
        np.hypot(below, _drawn(estimates.frequencies - below, tail) / root),
        np.hypot(above, _drawn(estimates.frequencies + above, tail) / root),
    )


def _wilson(successes: Floats, n: int, tail: float) -> Floats:
    """Return how far Wilson's upper limit, corrected for continuity, is above successes / n."""
    z2 = upper_normal(tail) ** 2
    share = successes / n
    root = np.sqrt(z2 * (z2 + 2 - 1 / n + 4 * share * (n * (1 - share) - 1)))
    limit = (2 * successes + z2 + 1 + root) / (2 * (n + z2))
    return np.where(successes < n, np.minimum(limit, 1.0), 1.0) - share


def _noise(estimates: Estimates, tail: float) -> tuple[Floats, Floats]:
    """Return how far below and above each share the people's own share may be, by the law."""
    if estimates.law is None:
        errors = np.maximum(estimates.std_errors, estimates.null_std_error) / estimates.n
        return upper_normal(tail) * errors, upper_normal(tail) * errors
    lower, upper = estimates.law.interval(estimates.counts, tail)
    return (estimates.counts - lower) / estimates.n, (upper - estimates.counts) / estimates.n


def _drawn(shares: Floats, tail: float) -> Floats:
    """Return how far drawing one person takes a share from that in the population."""
    inside = shares.clip(0, 1)
    return np.asarray(upper_normal(tail) * np.sqrt(inside * (1 - inside)))


def _supports(estimates: Estimates) -> Floats | None:
    """Return how many reports support each answer, where the counts are made from that."""
    law = _support_law(estimates)
    if law is None:
        return None
    found = estimates.counts * float(law.p - law.q) + float(law.n * law.q)
    return np.asarray(np.rint(found).clip(0, law.n), dtype=np.float64)


def _support_law(estimates: Estimates) -> SupportLaw | None:
    """Return the law of the supports, with or without an error on top of it."""
    law = estimates.law.law if isinstance(estimates.law, WidenedLaw) else estimates.law
    return law if isinstance(law, SupportLaw) else None


def _check(estimates: object) -> None:
    if not isinstance(estimates, Estimates):
        raise InvalidParameter.expected(
            "estimates to compare", estimates, "make them with question.estimate(tally)"
        )
    if estimates.adjusted is not None:
        raise InvalidParameter.expected(
            "unbiased estimates",
            estimates.adjusted,
            "compare the estimates of the tallies",
            came=f"ones adjusted by {estimates.adjusted}, whose errors are not known",
        )


def _check_question(first: Estimates, second: Estimates) -> None:
    one, other = (
        each.provenance and replace(each.provenance, version="") for each in (first, second)
    )
    if one != other:
        raise IncompatibleTally.expected(
            "estimates of one question",
            other,
            "compare what was asked in the same way",
            came=f"{_origin(first)} and {_origin(second)}",
        )


def _origin(estimates: Estimates) -> str:
    found = estimates.provenance
    if found is None:
        return "some of unknown origin"
    asked = f"{brief(found.question)} ({found.digest}), " if found.digest else ""
    return f"those of {asked}{found.protocol} at epsilon = {found.epsilon:.6g}"


def _places(first: Estimates, second: Estimates) -> list[int]:
    """Return where the answers of the first are in the second."""
    same = "the same answers in both estimates"
    if len(first) != len(second) or first.total != second.total:
        raise InvalidParameter.expected(
            same,
            len(second),
            "compare all answers and take the top afterwards",
            came=f"{len(first)} of {first.total} and {len(second)} of {second.total}",
        )
    try:
        return [second.place(key) for key in keys(first)]
    except OutOfDomain as error:
        raise InvalidParameter.expected(
            same,
            error.value,
            "compare all answers, or select the same ones of both",
            came=f"{brief(error.value)} only in the first",
        ) from error
