"""Segments: public groups by which reports are counted, such as the platform or the arm of a test.

They are declared in the question, so that its digest pins them and a device can refuse them, and
travel as one byte beside the report. **Local differential privacy does not cover them**: whoever
receives a report learns its segment as it is. What the person answered stays as deniable as before,
even where a segment has a single person.

Each combination of values is a *cell*. Cells are numbered in mixed radix, the first dimension the
most significant one; one number more says that the segment was not stated.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from deniable.documents import encodes
from deniable.errors import InvalidDocument, InvalidParameter, InvalidReport, brief
from deniable.validation import check_below, check_whole

MOST_DIMENSIONS, MOST_VALUES, MOST_CELLS = 4, 32, 64
_LONGEST_NAME = 64
_BRACKETS = re.compile(r"\[.*\]", re.DOTALL)
_SEPARATORS = (":", "=")
"""What stands between a dimension and its value in addresses and commands."""
NOT_STATED = "not stated"
"""What stands in tables and addresses for people who named no segment."""


@dataclass(frozen=True)
class Dimension:
    """A name and its values; ``other`` is the value that stands for all that are not listed."""

    name: str
    values: tuple[str, ...]
    other: str | None = None

    def __post_init__(self) -> None:
        given: object = self.values
        values = tuple(given) if isinstance(given, list | tuple) else ()
        if not _is_name(self.name) or set(self.name) & set(_SEPARATORS):
            raise InvalidParameter.expected(
                f"the name of a dimension as 1 to {_LONGEST_NAME} printable characters without "
                f"{' and '.join(_SEPARATORS)}",
                self.name,
            )
        for value in values:
            if not _is_name(value) or value == NOT_STATED:
                raise InvalidParameter.expected(
                    f"the values of {self.name} as 1 to {_LONGEST_NAME} printable characters, none "
                    f"of them {NOT_STATED!r}",
                    value,
                )
        check_whole(f"the number of values of {brief(self.name)}", len(values), 2, MOST_VALUES)
        if len(set(values)) < len(values):
            raise InvalidParameter.expected(
                f"each value of {brief(self.name)} once", values, "drop the repeats"
            )
        if self.other is not None and self.other not in values:
            raise InvalidParameter.expected(
                f"other of {brief(self.name)} as one of its values", self.other, "add it to them"
            )
        object.__setattr__(self, "values", values)

    @staticmethod
    def of(name: str, values: object) -> "Dimension":
        """Return a dimension as people write it: a value in brackets stands for all others."""
        listed = tuple(values) if isinstance(values, list | tuple) else ()
        others = [each for each in listed if isinstance(each, str) and _BRACKETS.fullmatch(each)]
        if len(others) > 1:
            raise InvalidParameter.expected(
                f"at most one value of {name} in brackets: it stands for all others", listed
            )
        plain = tuple(each[1:-1] if each in others else each for each in listed)
        return Dimension(name, plain, others[0][1:-1] if others else None)

    def place(self, value: str | None) -> int | None:
        """Return the number of a value, or that of ``other``; None if nothing is stated."""
        if value in self.values:
            return self.values.index(value)
        if self.other is None and value is not None:
            raise InvalidParameter.expected(
                f"{self.name} as one of {', '.join(self.values)}",
                value,
                "declare one that stands for all others, such as [other], or state none",
            )
        return None if self.other is None else self.values.index(self.other)


@dataclass(frozen=True)
class Segments:
    """The dimensions of a question, and the cells that they divide people into.

    >>> groups = Segments.of({"platform": ("linux", "mac"), "arm": ("A", "B", "C")})
    >>> groups.cells, groups.cell({"platform": "mac", "arm": "A"}), groups.cell()
    (6, 3, 6)
    >>> groups.named(3), groups.select({"arm": "B"})
    ('platform: mac, arm: A', (1, 4))
    >>> Segments.of({"platform": ("linux", "[other]")}).cell({"platform": "mac"})
    1
    """

    dimensions: tuple[Dimension, ...] = ()

    def __post_init__(self) -> None:
        names = [each.name for each in self.dimensions]
        check_whole("the number of dimensions", len(names), 0, MOST_DIMENSIONS, "leave some out")
        if len(set(names)) < len(names):
            raise InvalidParameter.expected("each dimension once", names, "rename one of them")
        if self.cells > MOST_CELLS:
            raise InvalidParameter(
                f"these dimensions make {self.cells} cells, more than {MOST_CELLS}; leave one out "
                "or give it fewer values: each cell needs reports of its own",
                value=self.cells,
            )

    @staticmethod
    def of(given: object) -> "Segments":
        """Return the segments that a caller means: as they are, or values by dimension."""
        if isinstance(given, Segments):
            return given
        if isinstance(given, Mapping):
            return Segments(tuple(Dimension.of(name, given[name]) for name in given))
        if isinstance(given, list | tuple) and all(isinstance(part, Dimension) for part in given):
            return Segments(tuple(given))
        raise InvalidParameter.expected(
            'segments such as {"platform": ("linux", "mac")}, or a list of dimensions', given
        )

    def check(self, most: int) -> None:
        """Refuse more cells than a device is willing to be told apart by."""
        if self and self.cells > most:
            raise InvalidDocument(
                f"this question divides people into {self.cells} segments, more than {most}; do "
                "not answer it, or raise most_cells by name",
                value=self.cells,
            )

    def __bool__(self) -> bool:
        """Tell whether there are any: a question without segments has none."""
        return bool(self.dimensions)

    def __iter__(self) -> Iterator[Dimension]:
        return iter(self.dimensions)

    @cached_property
    def cells(self) -> int:
        """How many combinations of values there are; 1 without dimensions."""
        return prod(len(each.values) for each in self.dimensions)

    @property
    def codes(self) -> int:
        """How many numbers the byte of a report can have: a cell, or not stated."""
        return self.cells + 1 if self else 1

    @property
    def width(self) -> int:
        """How many bytes say the segment of a report: one, or none if there are no segments."""
        return 1 if self else 0

    def cell(self, stated: Mapping[str, str] | None = None) -> int:
        """Return the number of the cell of a person; without a value for each, of not stated.

        A value that is not listed is the dimension's ``other``, or is refused where it has none.
        """
        stated = {} if stated is None else stated
        self._check_names(stated)
        places = [each.place(stated.get(each.name)) for each in self.dimensions]
        number = 0
        for dimension, place in zip(self.dimensions, places, strict=True):
            if place is None:
                return self.cells
            number = number * len(dimension.values) + place
        return number

    def encode(self, stated: Mapping[str, str] | None = None) -> bytes:
        """Return the byte that stands before a report, or nothing where there are no segments."""
        cell = self.cell(stated)
        return bytes([cell]) if self else b""

    def join(self, cells: int | bytes, reports: bytes, size: int) -> bytes:
        """Return reports of ``size`` bytes each, before each the byte of its cell.

        ``cells`` is the cell of all of them, or has a byte for each.
        """
        if not self:
            return reports
        rows = np.frombuffer(reports, np.uint8).reshape(-1, size)
        if isinstance(cells, int):
            cells = bytes([check_whole("the cell", cells, 0, self.cells)]) * len(rows)
        column = np.frombuffer(cells, np.uint8)
        check_below("segments", int(column.max(initial=0)), self.codes)
        return np.insert(rows, 0, column, axis=1).tobytes()

    def split(self, data: bytes, size: int) -> tuple[bytes, bytes]:
        """Separate the cells of reports from the reports, of ``size`` bytes each.

        Untrusted bytes enter here; whether the reports are sound is for the protocol to say.
        """
        if not self:
            return b"", data
        if len(data) % (1 + size):
            raise InvalidReport.expected(
                f"reports of {size} bytes, each after the byte of its segment", len(data),
                came=f"{len(data)} bytes",
            )  # fmt: skip
        rows = np.frombuffer(data, np.uint8).reshape(-1, 1 + size)
        check_below("segments", int(rows[:, 0].max(initial=0)), self.codes)
        return rows[:, 0].tobytes(), rows[:, 1:].tobytes()

    def values(self, cell: int) -> tuple[str, ...]:
        if cell == self.cells and self:
            return (NOT_STATED,) * len(self.dimensions)
        check_whole("the cell", cell, 0, self.cells - 1)
        found: list[str] = []
        for dimension in reversed(self.dimensions):
            cell, place = divmod(cell, len(dimension.values))
            found.append(dimension.values[place])
        return tuple(reversed(found))

    def named(self, cell: int) -> str:
        """Return the name of a cell for people to read."""
        if cell == self.cells:
            return NOT_STATED
        pairs = zip(self.dimensions, self.values(cell), strict=True)
        return ", ".join(f"{dimension.name}: {value}" for dimension, value in pairs)

    def select(self, wanted: Mapping[str, str]) -> tuple[int, ...]:
        """Return the cells with the given values; dimensions that are not named are summed up."""
        self._check_names(wanted)
        for dimension in self.dimensions:
            value = wanted.get(dimension.name)
            if value is not None and value not in (*dimension.values, NOT_STATED):
                raise InvalidParameter.expected(
                    f"{dimension.name} as one of {', '.join(dimension.values)}", value
                )
        names = [each.name for each in self.dimensions]
        return tuple(
            cell
            for cell in range(self.codes)
            if all(self.values(cell)[names.index(name)] == wanted[name] for name in wanted)
        )

    def by(self, name: str) -> dict[str, tuple[int, ...]]:
        """Return the cells of each value of a dimension, those that did not state it last."""
        dimension = self.dimension(name)
        return {value: self.select({name: value}) for value in (*dimension.values, NOT_STATED)}

    def dimension(self, name: str) -> Dimension:
        self._check_names({name: ""})
        return next(each for each in self.dimensions if each.name == name)

    def _check_names(self, stated: Mapping[str, str]) -> None:
        names = [each.name for each in self.dimensions]
        for name in stated:
            if name not in names:
                known = f"one of the dimensions {', '.join(names)}" if names else "no segment"
                raise InvalidParameter.expected(f"{known} of the question", name)

    def document(self) -> list[dict[str, object]]:
        return [
            {"name": each.name, "values": list(each.values), "other": each.other}
            for each in self.dimensions
        ]

    @staticmethod
    def from_document(document: object) -> "Segments":
        wanted = {"name", "values", "other"}
        parts = document if isinstance(document, list) else []
        found = [part for part in parts if isinstance(part, dict) and set(part) == wanted]
        if not isinstance(document, list) or len(found) < len(document):
            raise InvalidDocument(
                f"expected segments as a list of objects with name, values and other, got "
                f"{brief(document)}; check the file, or upgrade deniable"
            )
        return Segments(tuple(Dimension(**part) for part in found))


def _is_name(text: object) -> bool:
    if not isinstance(text, str) or not 1 <= len(text) <= _LONGEST_NAME:
        return False
    return encodes(text) and not any(letter < " " or letter == "\x7f" for letter in text)
