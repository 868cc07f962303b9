"""Estimates: unbiased counts with honest error bars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sized
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable import presentation
from deniable.binomial import upper_quantile
from deniable.errors import InvalidParameter, OutOfDomain, brief
from deniable.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas
    import polars
    import pyarrow
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Provenance:
    """Where estimates come from: the protocol, the question if there is one, and the version."""

    protocol: str
    epsilon: float
    question: str | None = None
    digest: str | None = None
    version: str = __version__


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """How many of ``n`` people gave each answer, as far as the reports can tell.

    ``counts`` are unbiased, so rare answers come out negative about half the time; they are left
    so. ``std_errors`` are exact standard deviations with the estimated frequency put in for the
    true one; ``null_std_error`` is that of an answer nobody gave, the square root of Var*, and
    ``variance_slope`` is how much the variance grows with each person who gave it, if it does so
    linearly. ``chance`` is q*, where each report supports an answer that nobody gave with that
    probability and the counts come from the numbers of these reports.

    Three fields are set only on what was made from other estimates: ``values`` and ``tested`` (how
    many answers there were) by ``take`` and ``top``; ``adjusted`` (the name of the method) and
    ``unbiased`` (the counts before it) by ``deniable.consistency``.

    >>> e = Estimates(np.array([90.0, 3.0]), np.array([5.0, 4.0]), n=100, null_std_error=4.0)
    >>> e.frequencies
    array([0.9 , 0.03])
    >>> e.significant()
    array([ True, False])
    """

    counts: npt.NDArray[np.float64]
    std_errors: npt.NDArray[np.float64]
    n: int
    null_std_error: float
    labels: tuple[str, ...] | None = None
    values: npt.NDArray[np.int64] | None = None
    tested: int | None = None
    adjusted: str | None = None
    unbiased: npt.NDArray[np.float64] | None = None
    variance_slope: float | None = None
    chance: float | None = None
    provenance: Provenance | None = None

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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Estimates):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]  # holds arrays, as NumPy's own are unhashable

    @cached_property
    def frequencies(self) -> npt.NDArray[np.float64]:
        """The counts as fractions of ``n``."""
        return self.counts / self.n

    @property
    def unbiased_counts(self) -> npt.NDArray[np.float64]:
        """The counts as they were before any adjustment; intervals and significance are theirs."""
        return self.counts if self.unbiased is None else self.unbiased

    @property
    def total(self) -> int:
        """How many answers were estimated, those that are not shown here included."""
        return len(self.counts) if self.tested is None else self.tested

    def interval(
        self, level: float = 0.95
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the lower and upper ends of the confidence intervals of the counts.

        Each interval covers its own true count with probability ``level``, by the normal law that
        a sum of many independent reports follows closely. It holds the counts c for which the
        estimate is within z standard errors *of c*, the score interval, where the variance is
        known as a function of c; else z estimated standard errors on both sides. Where only a few
        reports support a rare answer by chance, as with one value in a thousand among a thousand
        people, their number is no longer near normal and 95 % may be 92 or 97. An adjusted count
        has no interval of its own: the one returned is that of the unbiased count.
        """
        _check_probability("level", level, usual=0.95)
        z = -_normal_quantile((1 - level) / 2)
        if self.variance_slope is not None:
            return self._score_interval(z, self.variance_slope)
        half = z * self.std_errors
        return self.unbiased_counts - half, self.unbiased_counts + half

    def _score_interval(
        self, z: float, slope: float
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Solve (estimate - c)^2 = z^2 v(c), v linear between 0 and n and constant beyond."""
        estimate = self.unbiased_counts
        start = self.null_std_error**2
        below, above = z * self.null_std_error, z * math.sqrt(max(start + slope * self.n, 0.0))
        centre = estimate + z**2 * slope / 2
        root = z * np.sqrt(np.maximum(start + slope * estimate + (z * slope / 2) ** 2, 0.0))
        lower, upper = (
            np.select(
                [estimate <= -sign * below, estimate >= self.n - sign * above],
                [estimate + sign * below, estimate + sign * above],
                centre + sign * root,
            )
            for sign in (-1, 1)
        )
        return lower, upper

    def threshold(self, alpha: float = 0.05) -> float:
        """Return the count above which an answer is significant.

        T_s = Phi^-1(1 - alpha / d) sqrt(Var*): with d answers that nobody gave, one of them
        comes out above T_s with probability of at most about ``alpha``.       [sec:eval]
        """
        _check_probability("alpha", alpha, usual=0.05)
        return -_normal_quantile(alpha / max(self.total, 1)) * self.null_std_error

    def significant(self, alpha: float = 0.05) -> npt.NDArray[np.bool_]:
        """Tell which unbiased counts are above ``least_significant``, and by their own errors.

        Where the variance is not known as a function of the count, a count must also be above as
        many of its own standard errors: they may hold more than T_s does, such as what the other
        answers add to the bits of this one in RAPPOR's filters.
        """
        limit = self.least_significant(alpha)
        if self.variance_slope is None and self.null_std_error > 0:
            limits = limit * np.maximum(self.std_errors / self.null_std_error, 1.0)
            return np.asarray(self.unbiased_counts > limits)
        return self.unbiased_counts > limit

    def least_significant(self, alpha: float = 0.05) -> float:
        """Return the count that a significant one exceeds: T_s, or more for few reports.

        T_s takes the number of reports that support an answer by chance for normal. Where they
        are few it is skewed, and its exact law, the binomial, asks for more.
        """
        limit = self.threshold(alpha)
        if self.chance is None or not 0 < self.chance < 1 or self.null_std_error <= 0:
            return limit
        most = upper_quantile(self.n, self.chance, alpha / max(self.total, 1))
        gap = math.sqrt(self.n * self.chance * (1 - self.chance)) / self.null_std_error
        # Half a report more, so that rounding does not lift a count above its own limit.
        return max(limit, (most + 0.5 - self.n * self.chance) / gap)

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
        index = {label: i for i, label in enumerate(self.labels or ())}
        for label in labels:
            if not isinstance(label, str) or label not in index:
                raise OutOfDomain(
                    f"expected labels that were estimated, got {brief(label)}; check its spelling",
                    value=label,
                )
        return replace(self.take([index[label] for label in labels]), tested=None)

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

    def __repr__(self) -> str:
        return self.table(top=10)

    def _repr_html_(self) -> str:
        return presentation.html_table(self.top(50))

    def table(self, top: int | None = 25, *, level: float = 0.95, alpha: float = 0.05) -> str:
        """Return the largest counts as a text table with bars."""
        return presentation.text_table(self.top(top), level, alpha)

    def columns(
        self, *, level: float = 0.95, alpha: float = 0.05
    ) -> dict[str, Sequence[str] | npt.NDArray[np.generic]]:
        """Return the columns of the exports by name, in the order of the answers.

        The first is ``label`` or, without labels, ``value``. Adjusted estimates have an
        ``unbiased_count``, and their error and interval are named ``unbiased_...`` as well.
        """
        return presentation.columns(self, level, alpha)

    def to_csv(self, *, level: float = 0.95, alpha: float = 0.05) -> str:
        """Return the columns as CSV, numbers in full."""
        return presentation.csv_text(self, level, alpha)

    def to_json(self, *, level: float = 0.95, alpha: float = 0.05) -> str:
        """Return the columns as JSON, one object for each answer, with n and the threshold."""
        return presentation.json_text(self, level, alpha)

    def to_html(self, title: str = "Estimates", *, level: float = 0.95, alpha: float = 0.05) -> str:
        """Return a web page that stands alone, with all rows in the order they have here."""
        return presentation.html_page(self, title, level, alpha)

    def to_pandas(self, *, level: float = 0.95, alpha: float = 0.05) -> pandas.DataFrame:
        """Return the columns as a pandas data frame; needs the extra ``frames``."""
        return presentation.pandas_frame(self, level, alpha)

    def to_polars(self, *, level: float = 0.95, alpha: float = 0.05) -> polars.DataFrame:
        """Return the columns as a Polars data frame; needs the extra ``frames``."""
        return presentation.polars_frame(self, level, alpha)

    def to_arrow(self, *, level: float = 0.95, alpha: float = 0.05) -> pyarrow.Table:
        """Return the columns as an Arrow table; needs the extra ``arrow``."""
        return presentation.arrow_table(self, level, alpha)

    def plot(
        self,
        top: int | None = 25,
        *,
        level: float = 0.95,
        alpha: float = 0.05,
        truth: npt.ArrayLike | None = None,
    ) -> Figure:
        """Return a matplotlib figure of the largest counts; needs the extra ``plot``.

        Few answers are drawn as bars, more than sixty as a curve over their rank. ``truth``, the
        true counts of a simulation, one for each answer, is drawn beside them.
        """
        return presentation.figure(self, top, truth=truth, level=level, alpha=alpha)


def _same(mine: object, theirs: object) -> bool:
    if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
        return np.array_equal(mine, theirs)  # type: ignore[arg-type]  # None is unequal to any array
    return mine == theirs


def _check_probability(name: str, value: float, usual: float) -> None:
    number: object = value
    if not isinstance(number, int | float | np.floating) or not 0 < value < 1:
        raise InvalidParameter(
            f"expected {name} between 0 and 1, both excluded, got {value!r}; {usual} is usual",
            value=value,
        )


def _normal_quantile(probability: float) -> float:
    from statistics import NormalDist  # noqa: PLC0415 - keeps `import deniable` fast

    return NormalDist().inv_cdf(max(probability, math.ulp(0.0)))
