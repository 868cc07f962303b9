"""Record: several attributes of one person; results are their margins and cross tables.

An attribute is a choice or a number. A person is asked by lot for some attributes only, those of
one of the wanted tables or one of them by itself, with the whole epsilon (``Views``). So the whole
record is protected by it, however many attributes there are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from deniable.answers.base import LEAVE_OUT, Answers, find_kind, list_answers, refused
from deniable.answers.choice import Choice
from deniable.answers.number import Number
from deniable.answers.survey import RecordEstimates, row_labels
from deniable.documents import encodes
from deniable.errors import InvalidDocument, InvalidParameter, OutOfDomain, brief
from deniable.estimates import Estimates
from deniable.kernels.parallel import run_chunks
from deniable.law.normal import Floats
from deniable.law.tables import Digits
from deniable.protocol import Goal, Protocol
from deniable.protocols.levels import Levels
from deniable.protocols.views import ViewEstimates, Views
from deniable.randomness import WORD, Source
from deniable.validation import check_whole

Part = Choice | Number
_MOST_PARTS, _MOST_LABELS = 64, 1 << 12
_NO_ANSWER = "no answer to an attribute is a label of its own"
_CACHED = 1 << 14
"""How many records are joined at once, within a core's cache."""


@dataclass(frozen=True, init=False, repr=False)
class Record(Answers):
    """Attributes by their names, and the ``tables`` that are wanted of them.

    ``tables`` is "margins", each attribute by itself, "pairs", every two of them as well, or a list
    of tuples of names. An attribute called "parts" or "tables" is given in a mapping.

    >>> setup = Record(plan=Choice(["free", "pro"]), age=Number(0, 90, step=10), tables="pairs")
    >>> setup.encode([{"plan": "pro", "age": 41}]).tolist()
    [14]
    """

    parts: tuple[tuple[str, Part], ...]
    tables: tuple[tuple[str, ...], ...]

    def __init__(
        self,
        parts: Mapping[str, Answers | Sequence[str]] | Sequence[object] | None = None,
        tables: str | Sequence[Sequence[str]] = "margins",
        **named: Answers | Sequence[str],
    ) -> None:
        given = [*_listed_parts(parts), *named.items()]
        object.__setattr__(self, "parts", tuple((_name(n), _part(n, p)) for n, p in given))
        if not 1 <= len(given) <= _MOST_PARTS:
            raise InvalidParameter.expected(f"from 1 to {_MOST_PARTS} attributes", len(given))
        twice = [name for name in self.names if self.names.count(name) > 1]
        if twice:
            remedy = "they have names of their own"
            raise InvalidParameter.expected("each attribute once", twice[0], remedy)
        clash = [a for a in self.names for b in self.names if b.startswith(f"{a}: ")]
        if clash and len(set(self.labels)) < len(self.labels):
            raise InvalidParameter(
                f"rows of {brief(clash[0])} and of another attribute would have one name; call it "
                "something else",
                value=clash[0],
            )
        if self.value_count > WORD:
            raise InvalidParameter(
                "expected at most 2^64 different records; leave out an attribute, or give one "
                "fewer labels",
                value=self.value_count,
            )
        object.__setattr__(self, "tables", self._wanted_tables(tables))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={part!r}" for name, part in self.parts)
        return f"Record({inside}, tables={list(self.tables)!r})"

    def _wanted_tables(self, tables: object) -> tuple[tuple[str, ...], ...]:
        single = [(name,) for name in self.names]
        if tables == "margins":
            return tuple(single)
        if tables == "pairs":
            return (*single, *combinations(self.names, 2))
        if isinstance(tables, str) or not isinstance(tables, list | tuple) or not tables:
            raise InvalidParameter.expected('tables as "margins", "pairs" or a list', tables)
        found = []
        for table in tables:
            names = (table,) if isinstance(table, str) else table
            listed = list(names) if isinstance(names, list | tuple) else []
            if not listed or any(not isinstance(n, str) or n not in self.names for n in listed):
                names = ", ".join(map(brief, self.names))
                raise InvalidParameter.expected(f"attributes of the record, {names}", table)
            found.append(tuple(name for name in self.names if name in listed))
            if len(found[-1]) != len(listed):
                raise InvalidParameter.expected("each attribute of a table once", table)
        missing = [name for name in self.names if not any(name in table for table in found)]
        if missing or len(set(found)) != len(found):
            every = ",".join("+".join(table) for table in (*found, missing[:1]))
            came = f"{brief(missing[0])} in none; add it, as in {every}" if missing else ""
            raise InvalidParameter.expected(
                "each table once and every attribute in one", found, came=came or "a table twice"
            )
        return tuple(found)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.parts)

    @property
    def radices(self) -> tuple[int, ...]:
        return tuple(part.value_count for _, part in self.parts)

    @property
    def value_count(self) -> int:
        return prod(self.radices)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The rows of results: the cells of all margins, "plan: pro"."""
        return tuple(f"{name}: {each}" for name, part in self.parts for each in row_labels(part))

    @property
    def build(self) -> str:
        return "views"

    @property
    def wanted(self) -> str:
        return f"an object with {', '.join(map(brief, self.names))} and nothing else"

    def wanted_of(self, answer: object) -> str:
        """Return what the first attribute that is wrong has to be, or the record."""
        found = self.read(answer) if isinstance(answer, str) else answer
        if isinstance(found, Mapping) and set(found) == set(self.names):
            for name, part in self.parts:
                if not part.takes(found[name]):
                    return f"{part.wanted} (in {brief(name)})"
        return self.wanted

    def value(self, answer: object) -> int | None:
        if not isinstance(answer, Mapping) or set(answer) != set(self.names):
            return None
        value = 0
        for name, part in self.parts:
            held = answer[name]
            own = part.value(part.read(held) if isinstance(held, str) else held)
            if own is None:
                return None
            value = value * part.value_count + own
        return value

    def read(self, text: str) -> object:
        found = super().read(text)
        return found if isinstance(found, dict) else None

    def encode(
        self, answers: Iterable[object], rng: "np.random.Generator | Source | None" = None
    ) -> np.typing.NDArray[np.uint64]:
        """Return the value of each record: objects, JSON texts, or columns by name.

        Columns come as a mapping of names, or as a frame.
        """
        del rng
        if isinstance(answers, Mapping):
            return self._encode_columns(answers)
        if hasattr(answers, "columns") and hasattr(answers, "__getitem__"):
            held = [name for name in self.names if name in answers.columns]
            return self._encode_columns({name: answers[name] for name in held})
        records = []
        for position, each in enumerate(list_answers(answers)):
            found = self.read(each) if isinstance(each, str) else each
            if not isinstance(found, Mapping) or set(found) != set(self.names):
                raise refused(f"that are {self.wanted}", each, position)
            records.append(found)
        return self._encode_columns({name: [r[name] for r in records] for name in self.names})

    def _encode_columns(
        self, columns: Mapping[str, Iterable[object]]
    ) -> np.typing.NDArray[np.uint64]:
        missing = [name for name in self.names if name not in columns]
        if missing:
            raise InvalidParameter.expected(
                f"a column for each of {', '.join(map(brief, self.names))}",
                missing[0],
                _NO_ANSWER,
                came=f"none for {brief(missing[0])}",
            )
        found = []
        for name, part in self.parts:
            try:
                found.append(part.encode(columns[name]))
            except (OutOfDomain, InvalidParameter) as error:
                said = str(error).replace(LEAVE_OUT, _NO_ANSWER)
                raise type(error)(f"{said} (in {brief(name)})", value=error.value) from None
        return self.join(found)

    def join(self, places: Sequence[np.typing.NDArray[np.integer]]) -> np.typing.NDArray[np.uint64]:
        """Return the values of records given as places, a column for each attribute."""
        lengths = [len(column) for column in places]
        if len(places) != len(self.parts) or len(set(lengths)) > 1:
            raise InvalidParameter.expected(
                f"{len(self.parts)} columns of one length",
                lengths,
                "give every attribute for everybody",
                came=f"columns of {', '.join(map(str, lengths))}",
            )
        values = np.zeros(len(places[0]), dtype=np.uint64)

        def fill(start: int, stop: int) -> None:
            own = values[start:stop]
            for each, radix in zip(places, self.radices, strict=True):
                column = each[start:stop]
                if int(column.min()) < 0 or int(column.max()) >= radix:
                    raise OutOfDomain(f"expected places from 0 to {radix - 1} in a column")
                own *= np.uint64(radix)
                own += column.astype(np.uint64)

        run_chunks(fill, len(values), _CACHED)
        return values

    def digits(self, table: Iterable[str]) -> Digits:
        """Return the places of attributes, or say which name is none."""
        listed = list(table)
        for name in listed:
            if name not in self.names:
                names = ", ".join(map(brief, self.names))
                raise OutOfDomain.expected(f"an attribute among {names}", name)
        return tuple(sorted(self.names.index(name) for name in listed))

    def true_counts(self, values: np.typing.NDArray[np.integer]) -> Floats:
        rest, found = values.astype(np.uint64), list[Floats]()
        for radix in reversed(self.radices):
            rest, digits = np.divmod(rest, np.uint64(radix))
            found.insert(0, np.bincount(digits.astype(np.int64), minlength=radix).astype(float))
        return np.concatenate(found)

    def cell(self, protocol: Protocol, place: int) -> str:
        """Return the values of the attributes of which a view tells: "country: DE, plan: pro"."""
        assert isinstance(protocol, Views), "records have no other"
        digits, _, place = protocol.cell(place)
        sizes = [self.radices[digit] for digit in digits]
        held = zip(digits, np.unravel_index(place, sizes), strict=True)
        return ", ".join(
            f"{self.names[digit]}: {row_labels(self.parts[digit][1])[at]}" for digit, at in held
        )

    def suggest(self, epsilon: float, goal: Goal = "mean") -> Protocol:
        from deniable.advice import designs  # noqa: PLC0415 - few questions need advice

        if goal == "rare":
            raise InvalidParameter('a record has the goal "mean" or "table"', value=goal)
        tables = [self.digits(table) for table in self.tables]
        return designs.survey(epsilon, self.radices, tables, "share" if goal == "mean" else "table")

    def check(self, protocol: Protocol) -> None:
        """Refuse a protocol of other attributes, or without a view of some wanted table."""
        if not isinstance(protocol, Views) or protocol.radices != self.radices:
            raise InvalidParameter(
                f"expected Views with the radices {self.radices}, got {protocol.name}; leave it "
                "out and give epsilon=, and a fitting one is chosen",
                value=protocol,
            )
        parts = zip(protocol.views, protocol.protocols or (), strict=True)
        views = [view for view, part in parts if not isinstance(part, Levels)]
        for table in self.tables:
            wanted = set(self.digits(table))
            if not any(wanted <= set(view) for view in views):
                nearest = max(views or [()], key=lambda view: len(wanted & set(view)))
                held = " and ".join(self.names[d] for d in nearest) or "nothing"
                raise InvalidParameter(
                    f"no view holds the table of {' and '.join(table)}; the nearest has {held}: "
                    "add a view, or leave out the protocol",
                    value=table,
                )

    def results(self, found: Estimates, wanted: Sequence[str] | None) -> Estimates:
        if not isinstance(found, ViewEstimates):
            raise InvalidParameter("expected the estimates of views of a record")
        made = RecordEstimates.of(self, found)
        return made if wanted is None else made.select(wanted)

    def document(self) -> dict[str, object]:
        parts = [{"name": name, "answers": part.document()} for name, part in self.parts]
        return {"kind": self.kind, "parts": parts, "tables": [list(table) for table in self.tables]}


def _listed_parts(given: object) -> list[tuple[object, object]]:
    """Return names and answers, from a mapping or from the list of a document."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return list(given.items())
    listed = list(given) if isinstance(given, list | tuple) else [given]
    parts = [each for each in listed if isinstance(each, dict) and set(each) == {"name", "answers"}]
    if len(parts) != len(listed):
        raise InvalidParameter("expected parts as a mapping of names to answers")
    return [(each["name"], each["answers"]) for each in parts]


def _name(name: object) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= 80 or not encodes(name):
        raise InvalidParameter.expected("names of attributes as short texts", name)
    return name


def _part(name: object, given: object) -> Part:
    """Return an attribute: a kind, its document, or a list of labels, which is a choice."""
    part = given
    if isinstance(given, dict):
        kind = find_kind(str(given.get("kind")))
        if not issubclass(kind, Choice | Number):
            raise InvalidDocument.expected("a choice or a number as an attribute", kind.kind)
        part = Answers.from_document(given)
    elif isinstance(given, list | tuple):
        part = Choice(given)
    if not isinstance(part, Choice | Number):
        raise InvalidParameter.expected("a choice or a number as an attribute", part)
    check_whole(f"the number of answers to {brief(name)}", part.value_count, 2, _MOST_LABELS)
    return part
