"""Estimates: unbiased counts with honest error bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, overload

import numpy as np
import numpy.typing as npt

from deniable import presentation
from deniable.documents import PathName
from deniable.errors import InvalidParameter, OutOfDomain, brief
from deniable.law import Law, upper_normal
from deniable.presentation import Answer, Columns, Presentable, View
from deniable.presentation.rows import counted
from deniable.validation import check_probability
from deniable.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Provenance:
    """Where estimates come from: the protocol, the question if there is one, and the version."""

    protocol: str
    epsilon: float
    question: str | None = None
    digest: str | None = None
    version: str = __version__
    substance: str | None = None
    """The digest of the question without its name: questions that share it ask the same thing."""


@dataclass(frozen=True)
class Repeats:
    """Reports of people who may have answered again, and the number of people they are judged by.

    With ``rounds`` these are the people of an average round. That is on the safe side whoever
    answered how often, as long as nobody did twice in one round. Without, their number was given.
    """

    reports: int
    people: int
    rounds: int | None = None
    unit: str = "round"

    @staticmethod
    def over(rounds: int, reports: int) -> Repeats:
        """Return as many people as an average round has reports, rounded down.

        >>> print(Repeats.over(30, 30_007))
        1,000 people over 30 rounds
        """
        return Repeats(reports, max(1, reports // rounds), rounds)

    def __str__(self) -> str:
        people = f"{self.people:,} {'person' if self.people == 1 else 'people'}"
        return people if self.rounds is None else f"{people} over {counted(self.rounds, self.unit)}"

    @property
    def sentence(self) -> str:
        """What errors and intervals rest on."""
        if self.people == self.reports:
            return f"errors: by the law of {self}, one report each"
        return (
            f"errors: by the law of {self}, who sent {counted(self.reports, 'report')}; those of "
            "one person are not independent"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(Presentable):
    """How many of ``n`` people gave each answer, as far as the reports can tell.

    ``counts`` are unbiased, so rare answers come out negative about half the time; they are left
    so. ``std_errors`` are exact standard deviations with the estimated share put in for the
    true one; ``null_std_error`` is that of an answer nobody gave, the square root of Var*.
    ``law`` is the law of the counts, where it is known: intervals and significance are by it.

    Three fields are set only on what was made from other estimates: ``values`` and ``tested`` (how
    many answers there were) by ``take`` and ``top``; ``adjusted`` (the name of the method) and
    ``unbiased`` (the counts before it) by ``deniable.consistency``. ``provenance`` says where they
    come from, and stays with whatever is made of them. ``repeats`` says of people who may have
    answered again how many they are taken for; then ``n`` is their number.

    Estimates are a collection of their rows: ``estimates["kiwi"].share`` is one answer's share.

    >>> e = Estimates(np.array([90.0, 3.0]), np.array([5.0, 4.0]), n=100, null_std_error=4.0)
    >>> e.shares
    array([0.9 , 0.03])
    >>> e.significant()
    array([ True, False])
    """

    rows_name: ClassVar[str] = "estimates"

    counts: npt.NDArray[np.float64]
    std_errors: npt.NDArray[np.float64]
    n: int
    null_std_error: float
    labels: tuple[str, ...] | None = None
    values: npt.NDArray[np.int64] | None = None
    tested: int | None = None
    adjusted: str | None = None
    unbiased: npt.NDArray[np.float64] | None = None
    law: Law | None = None
    provenance: Provenance | None = None
    repeats: Repeats | None = None

    def __post_init__(self) -> None:
        if self.labels is not None and len(self.labels) != len(self.counts):
            raise InvalidParameter(
                f"expected {len(self.counts)} labels, got {len(self.labels)}; give one per count",
                value=len(self.labels),
            )
        for name in ("counts", "std_errors", "values", "unbiased"):
            array = getattr(self, name)
            if array is not None and array.flags.writeable:
                own = array.copy()  # the caller's own array stays as it is, and writable
                own.setflags(write=False)
                object.__setattr__(self, name, own)

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.rows())

    def __contains__(self, key: object) -> bool:
        return key in self._index

    def __getitem__(self, key: str | int) -> Answer:
        """Return the row of a label or, where there are none, of a value."""
        return self.take([self.place(key)]).rows()[0]

    def rows(self, *, level: float = 0.95, alpha: float = 0.05) -> tuple[Answer, ...]:
        """Return one row for each answer, with its interval and whether it is significant."""
        return Columns.of(self, level, alpha).rows()

    @cached_property
    def _index(self) -> dict[object, int]:
        keys = range(len(self)) if self.values is None else self.values.tolist()
        return {key: i for i, key in enumerate(keys if self.labels is None else self.labels)}

    def place(self, key: object) -> int:
        """Return where the row of a label, or of a value, is."""
        place = self._index.get(key) if isinstance(key, str | int | np.integer) else None
        if place is None:
            raise OutOfDomain.expected("labels that were estimated", key, "check its spelling")
        return place

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Estimates):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]  # holds arrays, as NumPy's own are unhashable

    @cached_property
    def shares(self) -> npt.NDArray[np.float64]:
        """The counts as fractions of ``n``."""
        return self.counts / self.n

    @property
    def unbiased_counts(self) -> npt.NDArray[np.float64]:
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

    def interval(
        self, level: float = 0.95
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the lower and upper ends of the confidence intervals of the counts.

        Each interval covers its own true count with probability ``level``, for most counts a
        little more: it holds the counts of which the estimate is in neither tail of (1 - level)/2
        by the exact law of the counts. Where that is not known it is the estimate and z estimated
        standard errors on both sides. It may go beyond 0 and n, and always holds the estimate. An
        adjusted count has no interval of its own: the one returned is that of the unbiased count.
        """
        check_probability("level", level, "0.95 is usual")
        tail = (1 - level) / 2
        if self.law is not None:
            return self.law.interval(self.unbiased_counts, tail)
        half = upper_normal(tail) * self.std_errors
        return self.unbiased_counts - half, self.unbiased_counts + half

    def threshold(self, alpha: float = 0.05) -> float:
        """Return the count above which an answer is significant.

        With d answers that nobody gave, one of them comes out above it with probability of at
        most ``alpha``: each exceeds it with at most alpha / d, by the exact law of the counts.
        Where only their variance is known, and in the limit of many reports, this is the paper's
        T_s = Phi^-1(1 - alpha / d) sqrt(Var*).       [sec:eval]
        """
        check_probability("alpha", alpha, "0.05 is usual")
        tail = alpha / max(self.total, 1)
        if self.law is not None:
            return self.law.threshold(tail)
        return upper_normal(tail) * self.null_std_error

    def significant(self, alpha: float = 0.05) -> npt.NDArray[np.bool_]:
        """Tell which unbiased counts are above ``threshold``, and by their own errors.

        Where the law of the counts is not known, a count must also be above as many of its own
        standard errors: they may hold more than T_s does, such as what the other answers add to
        the bits of this one in RAPPOR's filters.
        """
        limit = self.threshold(alpha)
        if self.law is None and self.null_std_error > 0:
            limits = limit * np.maximum(self.std_errors / self.null_std_error, 1.0)
            return np.asarray(self.unbiased_counts > limits)
        return self.unbiased_counts > limit

    def select(self, labels: Sequence[str]) -> Estimates:
        """Return the estimates of some labels, in the given order.

        The threshold is that of a question about these labels alone, which is right when they
        were chosen without looking at the estimates; ``take`` and ``top`` are for the other case.
        """
        if isinstance(labels, str) or not (
            isinstance(labels, Iterable) and isinstance(labels, Sized)
        ):
            raise InvalidParameter(
                f"expected a list of labels, got {brief(labels)}; pass a list, also of one",
                value=labels,
            )
        if self.labels is None and len(labels):
            raise OutOfDomain(
                f"expected estimates with labels, got values and {brief(labels)}; use take",
                value=labels,
            )
        places = [self.place(label) for label in labels]
        return replace(self.take(places), tested=None)

    def take(self, rows: Sequence[int] | npt.NDArray[np.integer]) -> Estimates:
        """Return some rows; the threshold stays that of all answers."""
        index = np.asarray(rows, dtype=np.int64)
        values = np.arange(len(self)) if self.values is None else self.values
        return replace(
            self,
            counts=self.counts[index],
            std_errors=self.std_errors[index],
            labels=None if self.labels is None else tuple(self.labels[i] for i in index),
            values=None if self.labels is not None else values[index],
            tested=self.total,
            unbiased=None if self.unbiased is None else self.unbiased[index],
        )

    def top(self, k: int | None = None) -> Estimates:
        """Return the ``k`` largest counts, or all of them, largest first.

        >>> e = Estimates(np.array([3.0, 90.0]), np.array([4.0, 5.0]), n=100, null_std_error=4.0)
        >>> e.top(1).counts
        array([90.])
        """
        return self.take(np.argsort(-self.counts, kind="stable")[:k])

    def columns(
        self, *, level: float = 0.95, alpha: float = 0.05
    ) -> dict[str, Sequence[str] | npt.NDArray[np.generic]]:
        """Return the columns of the exports by name, in the order of the answers.

        The first is ``label`` or, without labels, ``value``. Adjusted estimates have an
        ``unbiased_count``, and their error and interval are named ``unbiased_...`` as well.
        """
        return presentation.columns(self, level, alpha)

    def summary(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, object]:
        """Return what is said once about all rows: provenance, n, level, threshold and so on."""
        return presentation.summary(self, level, alpha)

    def constants(self) -> dict[str, object] | None:
        """Return the provenance by the names of the exports, with n."""
        return presentation.provenance_of(self)

    def view(
        self,
        *,
        level: float = 0.95,
        alpha: float = 0.05,
        truth: npt.NDArray[np.generic] | None = None,
    ) -> View:
        """Return what text, page and figure show; ``truth`` has the true counts of the rows."""
        return presentation.view(self, level, alpha, truth)

    def title(self) -> str:
        """Return the name of the question, if there is one."""
        return (self.provenance and self.provenance.question) or "Estimates"

    @overload
    def plot(
        self,
        path: None = None,
        *,
        top: int | None = ...,
        level: float = ...,
        alpha: float = ...,
        truth: npt.ArrayLike | None = ...,
    ) -> Figure: ...
    @overload
    def plot(
        self,
        path: PathName,
        *,
        top: int | None = ...,
        level: float = ...,
        alpha: float = ...,
        truth: npt.ArrayLike | None = ...,
    ) -> None: ...
    def plot(
        self,
        path: PathName | None = None,
        *,
        top: int | None = 25,
        level: float = 0.95,
        alpha: float = 0.05,
        truth: npt.ArrayLike | None = None,
    ) -> Figure | None:
        """Return or write a matplotlib figure of the largest counts; needs the extra ``plot``.

        A notebook shows the figure; a file is PNG, SVG or PDF by its name. Few answers are drawn
        as bars, more than sixty as a curve over their rank. ``truth``, the true counts of a
        simulation, one for each answer, is drawn beside them.
        """
        true = None if truth is None else np.asarray(truth, dtype=np.float64)
        if true is not None and true.shape != self.counts.shape:
            raise InvalidParameter.expected(
                f"{len(self)} true counts, one for each answer",
                true.shape,
                "count the answers with numpy.bincount(values, minlength=domain_size)",
            )
        order = np.argsort(-self.counts, kind="stable")[:top]
        shown = None if true is None else true[order]
        view = self.take(order).view(level=level, alpha=alpha, truth=shown)
        return presentation.draw(view, path)


def _same(mine: object, theirs: object) -> bool:
    if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
        return np.array_equal(mine, theirs)  # type: ignore[arg-type]  # None is unequal to any array
    return mine == theirs
