"""Estimates: what a tally tells, with as much as is known about its error.

Each of these may be known or not, and code that shows or uses estimates asks for it:

unbiased counts  unless ``estimator`` names another way of estimating, or ``adjusted`` a method
known errors     ``std_errors``; without them there is no interval and no significance
known law        ``law``: intervals and significance are exact by it, else by the errors alone
"""

from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import numpy.typing as npt

from deniable import presentation
from deniable.errors import InvalidParameter, OutOfDomain
from deniable.law import Joint, Law, upper_normal
from deniable.presentation import view as views
from deniable.presentation.tables import Columns
from deniable.rows import Rows
from deniable.validation import check_probability

if TYPE_CHECKING:
    from deniable.presentation.parts import Beside, Part
    from deniable.presentation.verdict import Verdict

Floats = npt.NDArray[np.float64]

_EXPLANATIONS = {
    "threshold": "the count that a significant answer exceeds: any of the answers that nobody gave "
    "comes out above it with probability of at most alpha",
    "null_std_error": "the standard error of the count of an answer that nobody gave",
    "significant": "about all answers at once, while lower and upper are about one answer by "
    "itself: an interval that leaves out 0 need not be significant",
}


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(Rows["Estimates"]):
    """How many of ``n`` people gave each answer, as far as the reports can tell.

    ``counts`` are unbiased, so rare answers come out negative about half the time; they are left
    so. Counts estimated in another way have its name as ``estimator``, and may be biased.
    ``std_errors`` are exact standard deviations with the estimated share put in for the true one;
    ``null_std_error`` is that of an answer nobody gave, the square root of Var*. Both are None
    where they are not known; if only some errors are known, the others are not numbers. ``law`` is
    the law of the counts, where it is known: intervals and significance are by it.

    Three fields are set only on what was made from other estimates: ``values`` and ``tested`` (how
    many answers there were) by ``take`` and ``top``; ``adjusted`` (the name of the method) and
    ``unbiased`` (the counts before it) by ``deniable.consistency``. ``provenance`` says where they
    come from, and stays with whatever is made of them. Where people may have answered again,
    ``repeats`` says how many people are assumed; ``n`` is then their number. ``adds_up`` is False
    where people gave several answers each, so that the counts of all do not add up to ``n``.
    ``joint`` tells how the errors of rows depend on each other, so that their sums have one. Where
    rows are some candidates of many answers, ``rest`` is how many people gave none of them.

    Estimates are a collection of their rows: ``estimates["kiwi"].share`` is one answer's share.

    >>> e = Estimates(np.array([90.0, 3.0]), np.array([5.0, 4.0]), n=100, null_std_error=4.0)
    >>> e.shares
    array([0.9 , 0.03])
    >>> e.significant()
    array([ True, False])
    """

    rows_name: ClassVar[str] = "estimates"

    counts: Floats
    std_errors: Floats | None
    n: int
    null_std_error: float | None
    labels: tuple[str, ...] | None = None
    values: npt.NDArray[np.int64] | None = None
    tested: int | None = None
    adjusted: str | None = None
    unbiased: Floats | None = None
    law: Law | None = None
    provenance: views.Provenance | None = None
    repeats: views.Repeats | None = None
    estimator: str | None = None
    adds_up: bool = True
    joint: Joint | None = None
    rest: "Estimates | None" = None

    def __post_init__(self) -> None:
        if self.labels is not None and len(self.labels) != len(self.counts):
            wanted = f"{len(self.counts)} labels"
            raise InvalidParameter.expected(wanted, len(self.labels), "give one per count")
        if self.std_errors is not None and len(self) and np.isnan(self.std_errors).all():
            object.__setattr__(self, "std_errors", None)
        if self.null_std_error is not None and np.isnan(self.null_std_error):
            object.__setattr__(self, "null_std_error", None)
        for name in ("counts", "std_errors", "values", "unbiased"):
            array = getattr(self, name)
            if array is not None and array.flags.writeable:
                own = array.copy()  # the caller's own array stays as it is, and writable
                own.setflags(write=False)
                object.__setattr__(self, name, own)

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[views.Answer]:
        return iter(self.rows())

    def __getitem__(self, key: str | int) -> views.Answer:
        return self.take([self.place(key)]).rows()[0]

    def rows(self, *, level: float = 0.95, alpha: float = 0.05) -> tuple[views.Answer, ...]:
        """Return one row for each answer, with its interval and whether it is significant."""
        return self._rows(level, self.threshold(alpha))

    def _rows(
        self, level: float, threshold: float | None, truth: npt.ArrayLike | None = None
    ) -> tuple[views.Answer, ...]:
        lower, upper = self.interval(level) or (None, None)
        columns = (lower, upper, self._verdicts(threshold), self.counts, self.shares,
                   self.std_errors)  # fmt: skip
        return views.Answer.over(self.keys, columns, truth)

    @cached_property
    def shares(self) -> Floats:
        """The counts as shares of ``n``."""
        return self.counts / self.n

    @property
    def unbiased_counts(self) -> Floats:
        """The counts as they were before any adjustment; intervals and significance are theirs."""
        return self.counts if self.unbiased is None else self.unbiased

    @property
    def reports(self) -> int:
        """How many reports there were: ``n``, or more where people sent several."""
        return self.n if self.repeats is None else self.repeats.reports

    @property
    def total(self) -> int:
        """How many answers were estimated, those that are not shown here included."""
        return len(self.counts) if self.tested is None else self.tested

    @property
    def unknown(self) -> str | None:
        """Why there are no intervals and no significance, where there are none."""
        if self.law is not None or self.std_errors is not None:
            return None
        of = "these estimates" if self.provenance is None else self.provenance.protocol
        return f"no intervals, no significance: the error of {of} is not known in closed form"

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats] | None:
        """Return the lower and upper ends of the confidence intervals of the counts.

        Each interval covers its own true count with probability ``level``, for most counts a
        little more: it holds the true counts that leave the estimate in neither tail of
        (1 - level)/2, by the exact law of the counts. Where the law is not known it is the
        estimate and z standard errors on both sides; without these there is no interval, and None
        is returned. It may go beyond 0 and n, and always holds the estimate. An adjusted count has
        no interval of its own: the one returned is that of the unbiased count.
        """
        check_probability("level", level, "0.95 is usual")
        tail = (1 - level) / 2
        if self.law is not None:
            return self.law.interval(self.unbiased_counts, tail)
        if self.std_errors is None:
            return None
        half = upper_normal(tail) * self.std_errors
        return self.unbiased_counts - half, self.unbiased_counts + half

    def threshold(self, alpha: float = 0.05) -> float | None:
        """Return the count above which an answer is significant, or None if no error is known.

        With d answers that nobody gave, one of them comes out above it with probability of at
        most ``alpha``: each exceeds it with at most alpha / d, by the exact law of the counts.
        Where only their variance is known, and in the limit of many reports, this is the paper's
        T_s = Phi^-1(1 - alpha / d) sqrt(Var*).       [sec:eval]
        """
        check_probability("alpha", alpha, "0.05 is usual")
        tail = alpha / max(self.total, 1)
        if self.law is not None:
            return self.law.threshold(tail)
        return None if self.null_std_error is None else upper_normal(tail) * self.null_std_error

    def significant(self, alpha: float = 0.05) -> npt.NDArray[np.bool_] | None:
        """Tell which unbiased counts are above ``threshold``, and by their own errors.

        Where the law of the counts is not known, a count must also be above as many of its own
        standard errors: they may hold more than T_s does, such as what the other answers add to
        the bits of this one in RAPPOR's filters. None if no error is known.
        """
        return self._exceed(self.threshold(alpha))

    def _exceed(self, threshold: float | None) -> npt.NDArray[np.bool_] | None:
        if threshold is None:
            return None
        own = self.law is None or self.law.by_row
        if own and self.std_errors is not None and self.null_std_error:
            limits = threshold * np.maximum(self.std_errors / self.null_std_error, 1.0)
            return np.asarray(self.unbiased_counts > limits)
        return self.unbiased_counts > threshold

    def _verdicts(self, threshold: float | None) -> npt.NDArray[np.generic] | None:
        """Return what ``significant`` tells, and None for each count whose error is not known."""
        found = self._exceed(threshold)
        if found is None or self.law is not None or self.std_errors is None:
            return found
        missing, told = np.isnan(self.std_errors), found.astype(object)
        told[missing] = None
        return told if missing.any() else found

    def take(self, rows: Sequence[int] | npt.NDArray[np.integer]) -> Self:
        index = np.asarray(rows, dtype=np.int64)
        values = np.arange(len(self)) if self.values is None else self.values
        return replace(
            self,
            counts=self.counts[index],
            std_errors=None if self.std_errors is None else self.std_errors[index],
            labels=None if self.labels is None else tuple(self.labels[i] for i in index),
            values=None if self.labels is not None else values[index],
            tested=self.total,
            unbiased=None if self.unbiased is None else self.unbiased[index],
            law=None if self.law is None else self.law.take(index),
            joint=None if self.joint is None else self.joint.take(index),
        )

    def combined(self, coefficients: Floats, labels: Sequence[str]) -> "Estimates":
        """Return sums of the rows, one for each row of coefficients, under new labels."""
        sums = self.sums(coefficients)
        found, errors, null = coefficients @ sums.counts, sums.errors, sums.null
        law = sums.joint.law(coefficients, errors, null)
        made = Estimates(found, errors, self.n, null, tuple(labels), law=law, joint=sums)
        parted = self.adds_up and bool(np.all(coefficients.sum(axis=0) == 1))
        return replace(made, adds_up=parted, provenance=self.provenance, repeats=self.repeats)

    def select(self, labels: Sequence[str]) -> "Estimates":
        """Return the estimates of some labels, in the given order.

        The threshold is that of a question about these labels alone, which is right when they
        were chosen without looking at the estimates; ``take`` and ``top`` are for the other case.
        """
        listed = isinstance(labels, Iterable) and isinstance(labels, Sized)
        if isinstance(labels, str) or not listed:
            raise InvalidParameter.expected("a list of labels", labels, "pass a list, also of one")
        if self.labels is None and len(labels):
            raise OutOfDomain("these estimates have no labels, but values; use take", value=labels)
        places = [self.place(label) for label in labels]
        return replace(self.take(places), tested=None)

    def largest(self, k: int | None = None) -> npt.NDArray[np.integer]:
        """Return the places of the ``k`` largest counts, or of all of them, largest first.

        >>> e = Estimates(np.array([3.0, 90.0]), np.array([4.0, 5.0]), n=100, null_std_error=4.0)
        >>> e.largest(1), e.top(1).counts
        (array([1]), array([90.]))
        """
        return np.argsort(-self.counts, kind="stable")[:k]

    def columns(self, *, level: float = 0.95, alpha: float = 0.05) -> Columns:
        """Return the columns of the exports by name, in the order of the answers.

        The first is ``label`` or, without labels, ``value``. Adjusted estimates have an
        ``unbiased_count``, and their error and interval are named ``unbiased_...`` as well;
        ``outside`` tells which counts have left that interval. A column that is not known is None.
        """
        lower, upper = self.interval(level) or (None, None)
        unbiased: Columns = {}
        if self.adjusted is not None:
            unbiased = {"unbiased_count": self.unbiased_counts}
            if lower is not None and upper is not None:
                unbiased["outside"] = (self.counts < lower) | (self.counts > upper)
        of = "" if self.adjusted is None else "unbiased_"
        return {
            "value" if self.labels is None else "label": self.keys,
            "count": self.counts,
            "share": self.shares,
            **unbiased,
            f"{of}std_error": self.std_errors,
            f"{of}lower": lower,
            f"{of}upper": upper,
            "significant": self._verdicts(self.threshold(alpha)),
        }

    def summary(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, object]:
        """Return what holds for all rows: provenance, n, level, threshold and so on."""
        return {
            "provenance": self.constants(),
            "n": self.n,
            "answers": self.total,
            "level": level,
            "estimator": self.estimator or "unbiased",
            "interval_of": None
            if self.unknown
            else f"{'' if self.estimator else 'unbiased '}count",
            "unknown": self.unknown,
            "adjusted": self.adjusted,
            "alpha": alpha,
            "threshold": self.threshold(alpha),
            "null_std_error": self.null_std_error,
            "explanations": _EXPLANATIONS,
        }

    def brief(self, rows: int, like: "Estimates | None" = None) -> "Estimates":
        """Return at most ``rows`` rows for a small chart: the largest, or those of ``like``."""
        return self.take((self if like is None else like).largest(rows))

    def constants(self) -> dict[str, object] | None:
        """Return the provenance by the names of the exports, with n.

        Where people may have answered again it also has the number of reports and the law.
        """
        if self.provenance is None:
            return None
        repeats = self.repeats
        again = {} if repeats is None else {"reports": repeats.reports, "law": str(repeats)}
        return self.provenance.facts(self.n) | again

    @property
    def sample(self) -> str:
        """What the counts are made from: reports, and of how many people if not one each."""
        of = "" if self.repeats is None else f" of {self.repeats}"
        return f"{views.counted(self.reports, 'report')}{of}"

    def view(
        self, *, level: float = 0.95, alpha: float = 0.05, truth: npt.ArrayLike | None = None
    ) -> views.View:
        threshold = self.threshold(alpha)
        rows = self._rows(level, threshold, truth)
        adjusted, origin = self.adjusted, self.provenance
        some = presentation.verdict.some_of(len(rows), self.total, self.noun)
        interval = f"{views.percent(level)} interval"
        plain = f"count by {self.estimator}" if self.estimator else "unbiased count"
        return views.View(
            rows=rows,
            headings=(*(() if truth is None else ("true",)), "count", "share", interval),
            scale=views.Scale.over(rows, threshold),
            words=views.Words(
                value=plain if adjusted is None else f"count adjusted by {adjusted}",
                interval=interval if adjusted is None else f"{interval} of the unbiased count",
                axis=f"people who gave the answer (of {self.n:,})",
                truth="true count",
                limit=f"threshold of significance (alpha = {alpha:g})",
            ),
            name=None if origin is None else origin.question,
            headline=f"{some}, estimated from {self.sample}",
            source=None if origin is None else origin.line,
            notes=(*self._notes(level, alpha, threshold), *_moved(rows)),
            doubts=presentation.verdict.disagreements(rows, level, alpha, self.total, self.noun),
            unknown=self.unknown,
            n=self.n,
            reports=self.reports,
            provenance=self.constants(),
        )

    def _notes(self, level: float, alpha: float, threshold: float | None) -> tuple[str, ...]:
        by_row = self.law is None or self.law.by_row
        own = " and as far by its own error" if by_row else ""
        said = [
            self.unknown or "significance is not known"
            if threshold is None
            else f"significant: above {threshold:,.0f}{own} (alpha = {alpha:g}, "
            f"{views.counted(self.total, self.noun)})"
        ]
        if self.estimator is not None:
            said.append(f"counts by {self.estimator}, which may be biased")
        if self.repeats is not None:
            said.append(self.repeats.sentence)
        if self.rest is not None:
            (row,) = self.rest.rows(level=level)
            said.append(f"{row.label}: {row.cells[1]} of people, {row.cells[2]} of {self.n:,}")
        if self.adjusted is not None:
            theirs = f"; the {views.percent(level)} intervals and what is significant"
            known = "" if self.unknown else f"{theirs} are those of the unbiased counts"
            said.append(f"counts adjusted by {self.adjusted}{known}")
        return tuple(said)

    def verdict(self, changes: Sequence[views.Change] = (), *, since: str = "") -> "Verdict":
        """Return what can be said of all answers, and of changes that are given."""
        return presentation.verdict.judge(self, changes, since=since)

    def findings(self) -> tuple[str, ...]:
        return tuple(map(str, self.verdict().claims))

    def parts(self, beside: "Beside | None" = None) -> "tuple[Part, ...]":
        return presentation.charts.parts_of(self, beside or presentation.parts.Beside())

    def title(self) -> str:
        return (self.provenance and self.provenance.question) or "Estimates"


def _moved(rows: Sequence[views.Answer]) -> tuple[str, ...]:
    """Say how many counts an adjustment has moved out of their own intervals."""
    moved = sum(row.outside for row in rows)
    if not moved:
        return ()
    some = "1 count is" if moved == 1 else f"{moved:,} counts are"
    return (f"† {some} outside of the interval of the unbiased count, which holds all the same",)
