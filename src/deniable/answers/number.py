"""Number: a number between two ends; results are its distribution, quantiles and mean.

A number is rounded to the nearest of some evenly spaced values, halves up, and what lies outside is
treated as the nearest end. Its value is its place among them, read in digits of which all but the
first are binary; a person is asked by lot for some leading digits, or for a level (``Views``).
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np

from deniable import validation
from deniable.answers.base import Answers, list_answers, refused
from deniable.answers.distribution import NumberEstimates
from deniable.answers.scale import Scale
from deniable.documents import encodes
from deniable.errors import InvalidParameter
from deniable.estimates import Estimates
from deniable.law.normal import Floats
from deniable.protocol import Goal, Protocol
from deniable.protocols.levels import MOST_STEPS, Levels
from deniable.protocols.views import ViewEstimates, Views
from deniable.randomness import Source

WANTS = ("distribution", "mean")
"""What a question for a number may be for."""
LONGEST_UNIT = 20
_WRITTEN = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DUST = 1e-6
"""How far a distance may be from whole steps: tenths are no doubles."""


@dataclass(frozen=True)
class Number(Answers):
    """A number from ``low`` to ``high``, rounded to whole ``step``s from ``low`` on.

    ``want`` is what it is for: the distribution, with its quantiles, the mean, or both.

    >>> hours = Number(0, 100, step=5, unit="h")
    >>> hours.encode([0, 37.4, 37.5, 400]).tolist()
    [0, 7, 8, 20]
    """

    low: float
    high: float
    step: float = 1
    unit: str = ""
    want: tuple[str, ...] = ("distribution",)

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, _check_number(name, getattr(self, name)))
        if not (isinstance(self.unit, str) and len(self.unit) <= LONGEST_UNIT):
            raise InvalidParameter.expected(f"a unit of up to {LONGEST_UNIT} letters", self.unit)
        if not encodes(self.unit):
            raise InvalidParameter("the unit cannot be encoded as UTF-8; write another")
        want = tuple(self.want) if isinstance(self.want, list | tuple) else ()
        if not want or not set(want) <= set(WANTS) or len(set(want)) != len(want):
            raise InvalidParameter.expected(f"want as a list of {' or '.join(WANTS)}", self.want)
        object.__setattr__(self, "want", tuple(name for name in WANTS if name in want))
        _ = self.steps

    @cached_property
    def steps(self) -> int:
        """How many values there are, both ends included."""
        # In doubles, whose arithmetic is the same in every language.
        low, high, step = map(float, (self.low, self.high, self.step))
        if low >= high or step <= 0:
            raise InvalidParameter.expected(
                "low below high and a step above 0", (self.low, self.high, self.step)
            )
        distance = (high - low) / step
        if not distance < MOST_STEPS - 0.5:
            raise InvalidParameter.expected(
                f"at most {MOST_STEPS:,} values from low to high",
                self.step,
                "use larger steps",
                came=f"{distance + 1:,.0f} with steps of {step:g}",
            )
        count = math.floor(distance + 0.5)
        if count < 1 or abs(distance - count) >= _DUST:
            raise InvalidParameter.expected(
                "a step that divides the distance from low to high",
                self.step,
                "change high, or the step",
            )
        return count + 1

    @cached_property
    def scale(self) -> Scale:
        low, step = Decimal(repr(self.low)), Decimal(repr(self.step))
        return Scale(tuple(float(low + i * step) for i in range(self.steps)), self.unit)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The rows of results: bins or, where the distribution is not wanted, both ends."""
        scale = self.scale
        return scale.bins(scale.starts) if "distribution" in self.want else scale.ends

    @property
    def value_count(self) -> int:
        return self.steps

    @property
    def build(self) -> str:
        return "views"

    @property
    def wanted(self) -> str:
        of = f" of {self.unit}, without the unit" if self.unit else ""
        return f"a number{of}, such as {self.scale.numbers[self.steps // 2]:.12g}"

    def read(self, text: str) -> object:
        """Return the number that a text is, written as people and programs write them."""
        written = text.strip()
        return float(written) if _WRITTEN.fullmatch(written) else None

    def value(self, answer: object) -> int | None:
        """Return the place of the nearest value; what is no finite number is no answer."""
        if isinstance(answer, bool | np.bool_) or not isinstance(
            answer, int | float | np.floating | np.integer | Decimal
        ):
            return None
        try:
            number = float(answer)
        except OverflowError:
            return None
        if not math.isfinite(number):
            return None
        inside = min(max(number, self.low), self.high)
        return min(math.floor((inside - self.low) / self.step + 0.5), self.steps - 1)

    def encode(
        self, answers: Iterable[object], rng: "np.random.Generator | Source | None" = None
    ) -> np.typing.NDArray[np.uint64]:
        """Return the place of the value nearest to each number, or name the first that is none."""
        del rng
        if not (isinstance(answers, np.ndarray) and answers.dtype.kind in "iuf"):
            return super().encode(list_answers(answers))
        if answers.ndim != 1:
            raise InvalidParameter.expected("a column of numbers", answers.shape, "pass one of it")
        numbers = answers.astype(np.float64)
        wrong = ~np.isfinite(numbers)
        if wrong.any():
            position = int(np.argmax(wrong))
            raise refused("that are finite numbers", float(numbers[position]), position)
        inside = np.clip(numbers, self.low, self.high)
        places = np.floor((inside - self.low) / self.step + 0.5).astype(np.uint64)
        return np.minimum(places, np.uint64(self.steps - 1))

    def true_counts(self, values: np.typing.NDArray[np.integer]) -> Floats:
        if "distribution" in self.want:
            starts = np.asarray(self.scale.starts)
            return super().true_counts(np.searchsorted(starts, values, side="right") - 1)
        high = float(np.sum(values) / (self.steps - 1))
        return np.array([len(values) - high, high])

    def cell(self, protocol: Protocol, place: int) -> str:
        """Return the range of numbers of which a view tells, or the number nearest to a level."""
        assert isinstance(protocol, Views), "numbers have no other"
        _, part, place = protocol.cell(place)
        last = self.steps - 1
        if isinstance(part, Levels):
            near = round(place * (protocol.value_count - 1) / (part.codes - 1))
            return f"about {self.scale.written(min(near, last))}"
        width = protocol.value_count // part.domain_size
        first = min(place * width, last)
        starts = [first, first + width] if first + width <= last else [first]
        return self.scale.bins(starts)[0]

    def suggest(self, epsilon: float, goal: Goal = "mean") -> Protocol:
        from deniable.advice import designs  # noqa: PLC0415 - few questions need advice

        if goal != "mean":
            raise InvalidParameter('a number has no goal but "mean"; leave it out', value=goal)
        distribution, mean = (name in self.want for name in WANTS)
        return designs.number(epsilon, self.steps, distribution=distribution, mean=mean)

    def check(self, protocol: Protocol) -> None:
        """Refuse a protocol other than views of leading digits that tell what is wanted."""
        fits = isinstance(protocol, Views) and protocol.value_count >= self.steps
        if not (fits and isinstance(protocol, Views) and _tells(protocol, self.want)):
            raise InvalidParameter(
                f"expected Views of the leading digits of {self.steps:,} values that tell the "
                f"{' and the '.join(self.want)}, got {protocol.name}; leave it out and give "
                "epsilon=, and a fitting one is chosen",
                value=protocol,
            )

    def results(self, found: Estimates, wanted: Sequence[str] | None) -> Estimates:
        if not isinstance(found, ViewEstimates):
            raise InvalidParameter("expected the estimates of views of a number")
        made = NumberEstimates.of(found, self.scale, distribution="distribution" in self.want)
        return made if wanted is None else made.select(wanted)


def _check_number(name: str, value: object) -> float:
    number = validation.check_number(name, value)
    if not math.isfinite(number):
        raise InvalidParameter.expected(f"{name} as a finite number", value)
    # Whole numbers are kept as such, so that a document has one form.
    return int(number) if number == int(number) and abs(number) < 1 << 53 else number


def _tells(protocol: Views, want: Sequence[str]) -> bool:
    """Tell whether views are leading digits, and such that they tell what is wanted."""
    every = tuple(range(len(protocol.radices)))
    parts = list(zip(protocol.views, protocol.protocols or (), strict=True))
    levels = [view for view, part in parts if isinstance(part, Levels)]
    leading = all(view == every[: len(view)] for view, _ in parts)
    tree = len(levels) < len(parts)
    return leading and (tree or "distribution" not in want) and set(levels) <= {every}
