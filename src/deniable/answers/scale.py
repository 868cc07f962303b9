"""The scale of numbers: the values that answers are rounded to, and results in their order."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from deniable.estimates import Estimates
from deniable.presentation.verdict import Claim, Span, Verdict
from deniable.presentation.view import Change, Figure

_MOST_ROWS = 120


def told(sentence: str, kind: str = "figure") -> Claim:
    """Return a sentence in which what stands between bars is stressed."""
    pieces = enumerate(sentence.split("|"))
    return Claim(kind, (), tuple(Span(text, "figure" if i % 2 else "words") for i, text in pieces))


@dataclass(frozen=True)
class Scale:
    """The numbers that answers are rounded to, in ascending order, and their unit."""

    numbers: tuple[float, ...]
    unit: str = ""

    def written(self, place: int, thousands: str = "") -> str:
        return f"{Decimal(repr(self.numbers[place])).normalize():{thousands}f} {self.unit}".strip()

    @property
    def starts(self) -> range:
        """Where the bins of results start."""
        return self.starts_of(_MOST_ROWS)

    def starts_of(self, most: int) -> range:
        """Return where bins of 1, 2, 5, 10 or so places each start, ``most`` of them at most."""
        size = len(self.numbers)
        widths = (lead * 10**power for power in range(6) for lead in (1, 2, 5))
        return range(0, size, next(width for width in widths if -(-size // width) <= most))

    def place(self, number: float) -> float:
        """Return where a number is between both ends, 0 and 1, in the middle of its own step."""
        low, high, size = self.numbers[0], self.numbers[-1], len(self.numbers)
        inside = (min(max(number, low), high) - low) / (high - low)
        return (inside * (size - 1) + 0.5) / size

    def mean_said(self, mean: Figure, of: str = "The") -> tuple[str, str]:
        """Return what is said of a mean, and of what kind that is: it is between both ends."""
        inside = mean.within(self.numbers[0], self.numbers[-1])
        value, spread = inside.cells
        if 4 * inside.reach > self.numbers[-1] - self.numbers[0]:
            unsure = f"{of} mean cannot be told from so few reports: somewhere from {spread}"
            return f"{unsure} {self.unit}".rstrip() + ".", "nothing"
        return f"{of} mean is |{value}| ({spread}).", "figure"

    def bins(self, starts: Sequence[int]) -> tuple[str, ...]:
        """Return the names of bins that start at these places: "40 to 44 h"."""
        ends = [*(start - 1 for start in starts[1:]), len(self.numbers) - 1]
        first = (f"{Decimal(repr(self.numbers[start])).normalize():f} to " for start in starts)
        return tuple(
            f"{'' if start == end else name}{self.written(end)}"
            for name, start, end in zip(first, starts, ends, strict=True)
        )

    @property
    def ends(self) -> tuple[str, ...]:
        """The names of both ends, for a question that only the mean is wanted of."""
        return f"towards {self.written(0)}", f"towards {self.written(-1)}"


@dataclass(frozen=True, eq=False, repr=False)
class InOrder(Estimates):
    """Estimates whose rows have an order of their own, in which they are shown."""

    @property
    def noun(self) -> str:
        return "bin"

    def largest(self, k: int | None = None) -> np.typing.NDArray[np.integer]:
        """Return the places of the ``k`` largest rows, or of all, in their own order."""
        return np.sort(super().largest(k))


@dataclass(frozen=True, eq=False, repr=False)
class Bins(InOrder):
    """The bins of numbers: none of them leads, so that it is only said what they are."""

    about: str = "Share of people in each range of numbers."

    def verdict(self, changes: Sequence[Change] = (), *, since: str = "") -> Verdict:
        del changes, since
        return Verdict((told(self.about),))


@dataclass(frozen=True, eq=False, repr=False)
class Cumulated(Bins):
    """How many people are at or below each number."""

    about: str = "Share of people at or below each number."

    @property
    def noun(self) -> str:
        return "number"

    def largest(self, k: int | None = None) -> np.typing.NDArray[np.integer]:
        """Return the places of ``k`` rows from the first to the last, or of all."""
        some = len(self) if k is None else min(k, len(self))
        return np.linspace(len(self) - 1, 0, some).round().astype(np.int64)[::-1]


def plain(found: Estimates) -> Estimates:
    """Return estimates without what a subclass adds."""
    names = Estimates.__dataclass_fields__
    return Estimates(**{name: value for name, value in vars(found).items() if name in names})
