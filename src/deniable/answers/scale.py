"""The scale of numbers: the values that answers are rounded to, and what is said of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from deniable.presentation.verdict import Claim, Span

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

    def written(self, place: int) -> str:
        return f"{Decimal(repr(self.numbers[place])).normalize():f} {self.unit}".strip()

    @property
    def starts(self) -> range:
        """Where the bins of results start."""
        return self.starts_of(_MOST_ROWS)

    def starts_of(self, most: int) -> range:
        """Return where bins of 1, 2, 5, 10 or so places each start, at most so many."""
        size = len(self.numbers)
        widths = (lead * 10**power for power in range(6) for lead in (1, 2, 5))
        return range(0, size, next(width for width in widths if -(-size // width) <= most))

    def place(self, number: float) -> float:
        """Return where a number is between both ends, 0 and 1, in the middle of its own step."""
        low, high, size = self.numbers[0], self.numbers[-1], len(self.numbers)
        inside = (min(max(number, low), high) - low) / (high - low)
        return (inside * (size - 1) + 0.5) / size

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
