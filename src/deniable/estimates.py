"""Estimates: unbiased counts with honest error bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter, OutOfDomain


@dataclass(frozen=True, eq=False)
class Estimates:
    """How many of ``n`` people gave each answer, as far as the reports can tell.

    ``counts`` are unbiased, so rare answers come out negative about half the time; they are left
    so. ``std_errors`` are exact standard deviations with the estimated frequency put in for the
    true one; ``null_std_error`` is that of an answer nobody gave, the square root of Var*.

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

    def __post_init__(self) -> None:
        if self.labels is not None and len(self.labels) != len(self.counts):
            raise InvalidParameter(
                f"expected {len(self.counts)} labels, got {len(self.labels)}; give one per count",
                value=len(self.labels),
            )
        self.counts.setflags(write=False)
        self.std_errors.setflags(write=False)

    def __len__(self) -> int:
        return len(self.counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Estimates):
            return NotImplemented
        return (
            self.n == other.n
            and self.null_std_error == other.null_std_error
            and self.labels == other.labels
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.std_errors, other.std_errors)
        )

    __hash__ = None  # type: ignore[assignment]  # holds arrays, as NumPy's own are unhashable

    @cached_property
    def frequencies(self) -> npt.NDArray[np.float64]:
        """The counts as fractions of ``n``."""
        return self.counts / self.n

    def interval(
        self, level: float = 0.95
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the lower and upper ends of the confidence intervals of the counts.

        Each interval covers its own true count with probability ``level``, by the normal law that
        a sum of many independent reports follows closely.
        """
        if not 0 < level < 1:
            raise InvalidParameter(
                f"expected a level between 0 and 1, got {level!r}; 0.95 is usual", value=level
            )
        half = _normal_quantile((1 + level) / 2) * self.std_errors
        return self.counts - half, self.counts + half

    def threshold(self, alpha: float = 0.05) -> float:
        """Return the count above which an answer is significant.

        T_s = Phi^-1(1 - alpha / d) sqrt(Var*): with d answers that nobody gave, one of them
        comes out above T_s with probability of at most about ``alpha``.       [sec:eval]
        """
        if not 0 < alpha < 1:
            raise InvalidParameter(
                f"expected alpha between 0 and 1, got {alpha!r}; 0.05 is usual", value=alpha
            )
        return _normal_quantile(1 - alpha / len(self.counts)) * self.null_std_error

    def significant(self, alpha: float = 0.05) -> npt.NDArray[np.bool_]:
        """Tell which counts are above the threshold."""
        return self.counts > self.threshold(alpha)

    def select(self, labels: Sequence[str]) -> Estimates:
        """Return the estimates of some labels, in the given order."""
        index = {label: i for i, label in enumerate(self.labels or ())}
        unknown = next((label for label in labels if label not in index), None)
        if unknown is not None:
            raise OutOfDomain(
                f"expected labels that were estimated, got {unknown!r}; check its spelling",
                value=unknown,
            )
        rows = [index[label] for label in labels]
        return replace(
            self, counts=self.counts[rows], std_errors=self.std_errors[rows], labels=tuple(labels)
        )


def _normal_quantile(probability: float) -> float:
    from statistics import NormalDist  # noqa: PLC0415 - keeps `import deniable` fast

    return NormalDist().inv_cdf(probability)
