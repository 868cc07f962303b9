"""The rows of a result: which one a label names, and what several add up to.

The errors of rows depend on each other, and a sum has the variance that follows
(``deniable.law.pairs``). Where that is not known, a sum is refused. Sums are always those of the
unbiased counts, also of estimates that were adjusted.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from deniable.errors import InvalidParameter, OutOfDomain, brief
from deniable.law import Joint
from deniable.law.normal import Floats, Law
from deniable.presentation.exports import Presentable
from deniable.presentation.tables import Column
from deniable.presentation.view import Answer


class Answered(Protocol):
    """What has a row for each answer."""

    def rows(self, *, level: float = 0.95, alpha: float = 0.05) -> tuple[Answer, ...]:
        """Return one row for each answer, with its interval and whether it is significant."""


Result = TypeVar("Result", bound=Answered)

SEPARATOR = " / "
"""What stands between the parts of a label that names a cell of a table."""


@dataclass(frozen=True, eq=False)
class Combined(Joint):
    """Sums of counts: each row of ``coefficients`` makes one of them."""

    joint: Joint
    coefficients: Floats
    counts: Floats

    def variance(self, coefficients: Floats, counts: Floats) -> Floats:
        """Return the variance of sums of sums, by the counts that these were made of."""
        del counts
        return self.joint.variance(coefficients @ self.coefficients, self.counts)

    def law(self, coefficients: Floats, errors: Floats, null: float) -> Law | None:
        return self.joint.law(coefficients @ self.coefficients, errors, null)

    def take(self, rows: np.typing.NDArray[np.int64]) -> "Combined":
        return Combined(self.joint, self.coefficients[rows], self.counts)

    @property
    def errors(self) -> Floats:
        return np.sqrt(self.joint.variance(self.coefficients, self.counts))

    @property
    def null(self) -> float:
        """The least standard error of a sum that nobody is in, if that can come out wrong."""
        nobody = self.joint.variance(self.coefficients, np.zeros_like(self.counts))
        return float(np.sqrt(nobody[nobody > 0].min(initial=nobody.max())))


class Grid(NamedTuple):
    """A cross table: shares and their intervals, by rows and columns."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shares: Floats
    lower: Floats
    upper: Floats

    def __str__(self) -> str:
        """Return the shares in percent, as rows and columns."""
        from deniable.presentation.text import columns_of, printable  # noqa: PLC0415 - few print it

        heads = ["", *map(printable, self.columns)]
        lines = [
            [printable(name), *(f"{100 * share:z.1f} %" for share in row)]
            for name, row in zip(self.rows, self.shares.tolist(), strict=True)
        ]
        wide = [max(map(columns_of, column)) for column in zip(heads, *lines, strict=True)]
        shown = []
        for name, *cells in (heads, *lines):
            padded = name + " " * (wide[0] - columns_of(name))
            rest = (" " * (w - columns_of(x)) + x for x, w in zip(cells, wide[1:], strict=True))
            shown.append("  ".join([padded, *rest]))
        return "\n".join(shown)

    def __repr__(self) -> str:
        return str(self)


class Rows(Presentable, Generic[Result]):
    """Rows with labels or values, and with sums whose errors hold."""

    if TYPE_CHECKING:
        n: int
        labels: tuple[str, ...] | None
        values: np.typing.NDArray[np.int64] | None
        joint: Joint | None

        @property
        def unbiased_counts(self) -> Floats: ...

        def rows(self, *, level: float = 0.95, alpha: float = 0.05) -> tuple[Answer, ...]: ...

        def interval(self, level: float = 0.95) -> tuple[Floats, Floats] | None: ...

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return NotImplemented
        return type(self) is type(other) and _equal_fields(self, other)

    __hash__ = None  # type: ignore[assignment]  # holds arrays, as NumPy's own are unhashable

    def __contains__(self, key: object) -> bool:
        return key in self._index

    @property
    def noun(self) -> str:
        """What one row is about, as headings and sentences call it."""
        return "answer"

    @property
    def keys(self) -> Column:
        """What the rows are about: labels, or values where there are none."""
        if self.labels is not None:
            return self.labels
        return np.arange(len(self)) if self.values is None else self.values

    @cached_property
    def _index(self) -> dict[object, int]:
        return {key: place for place, key in enumerate(self.keys)}

    def place(self, key: object) -> int:
        """Return where the row of a label, or of a value, is."""
        place = self._index.get(key) if isinstance(key, str | int | np.integer) else None
        if place is None:
            raise OutOfDomain.expected("labels that were estimated", key, "check its spelling")
        return place

    @abstractmethod
    def combined(self, coefficients: Floats, labels: Sequence[str]) -> Result:
        """Return sums of the rows, one for each row of coefficients, under new labels."""

    def sums(self, coefficients: Floats) -> Combined:
        """Return the errors of sums of the rows, or say that they are not known."""
        if self.joint is None:
            raise InvalidParameter(
                "how the errors of these rows depend on each other is not known, so that a sum has "
                "no error; take the rows of one table, of a protocol that knows it"
            )
        return Combined(self.joint, coefficients, self.unbiased_counts)

    def sum(self, labels: Sequence[str], *, level: float = 0.95) -> Answer:
        """Return how many people gave any of some answers, with an interval.

        >>> from deniable import Question
        >>> fruit = Question("fruit", ["kiwi", "fig", "plum"], epsilon=3.0)
        >>> rng = np.random.default_rng(1)
        >>> found = fruit.estimate(fruit.tally(fruit.privatize(["kiwi", "fig"] * 500, rng)))
        >>> both = found.sum(["kiwi", "fig"])
        >>> both.lower < 1000 < both.upper
        True
        """
        if isinstance(labels, str):
            raise InvalidParameter.expected("a list of labels", labels, "pass a list, also of one")
        places = [self.place(label) for label in labels]
        if len(set(places)) != len(places):
            raise InvalidParameter(
                "expected each label once in a sum; drop the repeats", value=None
            )
        coefficients = np.zeros((1, len(self)))
        coefficients[0, places] = 1
        name = " + ".join(map(str, labels)) or "nothing"
        return self.combined(coefficients, [name]).rows(level=level)[0]

    def group(self, mapping: Mapping[str, str]) -> Result:
        """Return the groups that a mapping of every label names, in the order of their labels."""
        keys = self.labels or ()
        missing = [key for key in keys if key not in mapping]
        if missing or not keys:
            without = brief(missing[0]) if missing else "rows without labels"
            raise OutOfDomain(
                f"expected a group for every label, got none for {without}; name one, or take sum "
                "for some labels only",
                value=len(missing),
            )
        return self._grouped([mapping[key] for key in keys])

    def _grouped(self, names: Sequence[str]) -> Result:
        """Return the groups that have a name for each row, in the order of the rows."""
        groups = list(dict.fromkeys(names))
        member = np.array([[name == group for name in names] for group in groups])
        return self.combined(member.astype(np.float64), groups)

    def cdf(self) -> Result:
        """Return how many people gave a label or one before it, of labels in a natural order."""
        if self.labels is None:
            raise OutOfDomain("these estimates have no labels, hence no order")
        labels = [f"up to {label}" for label in self.labels]
        return self.combined(np.tril(np.ones((len(self), len(self)))), labels)

    def margin(self, place: int, separator: str = SEPARATOR) -> Result:
        """Return the sums over one part of labels such as "DE / pro", by the place of that part."""
        parts = self._split(separator)
        if not 0 <= place < len(parts[0]):
            raise InvalidParameter.expected(f"a part from 0 to {len(parts[0]) - 1}", place)
        return self._grouped([each[place] for each in parts])

    def grid(self, separator: str = SEPARATOR, *, level: float = 0.95) -> Grid:
        """Return labels of two parts, such as "DE / pro", as a cross table of shares."""
        parts = self._split(separator)
        rows, columns = (tuple(dict.fromkeys(p[i] for p in parts)) for i in (0, 1))
        found = {tuple(each): place for place, each in enumerate(parts)}
        wanted = list(product(rows, columns))
        if len(parts) != len(wanted) or found.keys() != set(wanted):
            raise InvalidParameter(
                "expected labels of two parts, every pair of them once; make such labels with "
                f"{separator!r} in between",
                value=len(self),
            )
        places, shape = [found[cell] for cell in wanted], (len(rows), len(columns))
        ends = self.interval(level) or (np.full(len(self), np.nan),) * 2
        cells = (self.unbiased_counts, *ends)
        return Grid(rows, columns, *(each[places].reshape(shape) / self.n for each in cells))

    def _split(self, separator: str) -> Sequence[Sequence[str]]:
        """Return the parts that the label of each row is made of."""
        parts = [label.split(separator) for label in self.labels or ()]
        if not parts or len({len(each) for each in parts}) > 1 or len(parts[0]) < 2:
            raise InvalidParameter(
                f"expected labels with as many parts each, {separator!r} in between, as those of "
                "a cross table have",
                value=separator,
            )
        return parts


def _equal_fields(mine: Any, theirs: Any) -> bool:
    return all(_same(getattr(mine, f.name), getattr(theirs, f.name)) for f in fields(mine))


def _same(mine: Any, theirs: Any) -> bool:
    """Tell whether two values are equal, with the arrays that laws and tables hold."""
    if isinstance(mine, np.ndarray) and isinstance(theirs, np.ndarray):
        return np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
    if type(mine) is not type(theirs) or mine is theirs:
        return mine is theirs
    if isinstance(mine, tuple):
        return len(mine) == len(theirs) and all(map(_same, mine, theirs))
    if is_dataclass(mine):
        return _equal_fields(mine, theirs)
    return bool(mine == theirs)
