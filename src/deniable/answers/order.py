"""Estimates whose rows have an order of their own, as numbers have."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.answers.scale import told
from deniable.estimates import Estimates
from deniable.presentation.verdict import Verdict
from deniable.presentation.view import Change


@dataclass(frozen=True, eq=False, repr=False)
class InOrder(Estimates):
    """Estimates whose rows have an order of their own, in which they are shown."""

    def largest(self, k: int | None = None) -> np.typing.NDArray[np.integer]:
        """Return the places of the ``k`` largest rows, or of all, in their own order."""
        return np.sort(super().largest(k))


@dataclass(frozen=True, eq=False, repr=False)
class Bins(InOrder):
    """The bins of numbers: none of them leads, so that it is only said what they are."""

    about: str = "Share of people in each range of numbers."

    def verdict(self, changes: Sequence[Change] = (), *, since: str = "") -> Verdict:
        """Return what the rows are."""
        del changes, since
        return Verdict((told(self.about),))


@dataclass(frozen=True, eq=False, repr=False)
class Cumulated(Bins):
    """How many people are at or below each number."""

    about: str = "Share of people at or below each number."

    def largest(self, k: int | None = None) -> np.typing.NDArray[np.integer]:
        """Return the places of ``k`` rows from the first to the last, or of all."""
        some = len(self) if k is None else min(k, len(self))
        return np.linspace(len(self) - 1, 0, some).round().astype(np.int64)[::-1]


def plain(found: Estimates) -> Estimates:
    """Return estimates without what a subclass adds."""
    names = Estimates.__dataclass_fields__
    return Estimates(**{name: value for name, value in vars(found).items() if name in names})
