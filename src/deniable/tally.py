"""Tallies: what is left of many reports, and the one way in which reports are summed.

A ``Summable`` mechanism is all that a server needs to know. An ``Accumulator`` takes its reports in
batches of any size; a ``Tally`` is what it has at a moment, or what was read from a file. Tallies
add in any order and grouping, with equal bytes. What a tally tells is up to ``Protocol``.
"""

import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from hashlib import sha256
from typing import ClassVar, Self, overload

import numpy as np

from deniable import presentation
from deniable.documents import PathName, as_bytes, canonical_json, parse_json, read_file, returned
from deniable.errors import DeniableError, IncompatibleTally, InvalidDocument, InvalidParameter
from deniable.mechanism import Mechanism, Reports, batches
from deniable.memory import memory_budget
from deniable.optional import Registry
from deniable.statistics import Counts, Statistic
from deniable.sums import CountsSum, Sum
from deniable.validation import Footprint

MOST_REPORTS = 10**18 - 1
"""The largest n of a tally, which leaves room in 64 bits for sums of a few."""
MAGIC = b"dnbtally"
_VERSION = 1
_LARGEST_HEADER = 1 << 18
_FIELDS = {"n", "protocol", "question", "statistic"}
_DIGEST = re.compile("[0-9a-f]{64}")
_START = b'{"n":"%d",'
_COUNTED = re.compile(rb'\{"n":"([0-9]{1,18})",')
_WAITING_BYTES, _MOST_WAITING = 1 << 19, 1 << 15
_BLOCK_BYTES, _MANY = 1 << 20, 4
"""How many bytes of tallies are read at once, and how many that are alike add up faster so."""


class Summable(Mechanism):
    """A mechanism whose reports add up to a tally: what a server does, without estimates.

    A subclass supplies what a mechanism does, and ``_new_sum`` and ``_read_statistic``.
    """

    registry: ClassVar[Registry["Summable"]] = Registry("deniable.protocols")
    memoises: ClassVar[bool] = False
    """Whether people may answer again, because what is permanent bounds what they reveal."""

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: object) -> None:
        """Register the class by its name, unless it is only a base of others."""
        super().__init_subclass__(**kwargs)
        if not abstract and not cls.__name__.startswith("_"):
            Summable.registry.register(cls.__name__, cls)

    @abstractmethod
    def _new_sum(self) -> Sum:
        """Return an empty sum of reports."""

    @abstractmethod
    def _read_statistic(self, data: memoryview, n: int) -> Statistic:
        """Read a tally's statistic, refusing what ``n`` reports cannot have left."""

    @classmethod
    @abstractmethod
    def examples(cls) -> list[Self]:
        """Return small instances, which the conformance suite puts through every property."""

    def accumulator(self) -> "Accumulator":
        """Return an empty accumulator, which sums reports batch by batch."""
        return Accumulator(self)

    def tally(self, reports: Reports | Iterable[Reports]) -> "Tally":
        """Sum up reports: one array, or any iterable of arrays, in memory that n does not grow."""
        return self.accumulator().take(reports).tally()

    @staticmethod
    def named(name: str) -> "type[Summable] | None":
        """Return the class of that name: ours, or one that an installed distribution offers."""
        return Summable.registry.find(name, Summable)

    @classmethod
    def from_specification(cls, specification: object) -> Self:
        """Return the mechanism that a specification describes, refusing any that differs."""
        if not isinstance(specification, dict):
            raise InvalidDocument.expected("a protocol as a JSON object", specification)
        name = specification.get("name")
        try:
            kind = Summable.named(name) if isinstance(name, str) else None
        except DeniableError as error:
            raise InvalidDocument(str(error), value=name) from error
        if kind is None or not issubclass(kind, cls):
            known = ", ".join(Summable.registry.names())
            raise InvalidDocument.expected(f"a protocol among {known}", name)
        arguments = {f.name: specification.get(f.name) for f in fields(kind)}
        try:
            made = kind(**arguments)
        except InvalidParameter as error:
            raise InvalidDocument(f"{error} (in the protocol {name})", value=arguments) from error
        if made.specification() != specification:
            raise InvalidDocument(
                f"this is not the specification of {made} as this version computes it; the "
                "document was altered or made by an incompatible version",
                value=specification,
            )
        return made


class Counted(Summable, abstract=True):
    """Reports whose tally is integers that add: how many, and what a batch makes of them."""

    @property
    @abstractmethod
    def _footprint(self) -> Footprint:
        """How many integers a tally has, and what one report can add to them."""

    def _count(self, reports: Reports) -> np.typing.NDArray[np.int64]:
        """Return what a batch of reports, which have been checked, adds to the integers."""
        total = np.zeros(self._footprint.length, dtype=np.int64)
        self._add_counts(reports, total)
        return total

    def _add_counts(self, reports: Reports, total: np.typing.NDArray[np.int64]) -> None:
        """Add a batch to the integers; a subclass supplies this or ``_count``."""
        total += self._count(reports)

    def _new_sum(self) -> Sum:
        return CountsSum(self._footprint.length, self._add_counts, self._footprint)

    def _read_statistic(self, data: memoryview, n: int) -> Counts:
        return Counts.decode(data, n, self._footprint)


@dataclass(frozen=True, eq=False)
class Tally:
    """What is left of ``n`` reports: a statistic that adds, and nothing about any one of them.

    ``question`` is the digest of the question that the reports answer, when there is one.
    """

    protocol: Summable
    n: int
    statistic: Statistic
    question: str | None = None

    def __add__(self, other: "Tally") -> "Tally":
        if not isinstance(other, Tally):
            return NotImplemented
        _check_alike(self, other)
        return replace(self, n=_add_up(self.n, other.n), statistic=self.statistic + other.statistic)

    def __radd__(self, other: object) -> "Tally":
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        mine, its = ((each.protocol, each.n, each.question) for each in (self, other))
        return mine == its and self.statistic.encode() == other.statistic.encode()

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def __repr__(self) -> str:
        of = "" if self.question is None else f", question={self.question[:16]}…"
        return f"Tally({self.protocol!r}, n={self.n:,}{of})"

    def _repr_html_(self) -> str:
        fact = presentation.parts.Fact
        facts = (
            fact("Reports", f"{self.n:,}"),
            fact("Protocol", self.protocol.name, f"epsilon = {self.protocol.epsilon:g}"),
            fact("What is kept", self.statistic.form, "nothing about any one report"),
        )
        of = () if self.question is None else (f"Of the question with the digest {self.question}",)
        return presentation.parts.summary("A tally", facts, *of)

    def _header(self) -> bytes:
        return _START % self.n + _rest_of_header(self.protocol, self.question, self.statistic.form)

    @overload
    def to_bytes(self, path: None = None) -> bytes: ...
    @overload
    def to_bytes(self, path: PathName) -> None: ...
    def to_bytes(self, path: PathName | None = None) -> bytes | None:
        """Return or write the tally: magic, version, header, statistic, SHA-256."""
        header = self._header()
        start = MAGIC + _VERSION.to_bytes(4, "little") + len(header).to_bytes(4, "little")
        body = start + header + self.statistic.encode()
        return returned(body + sha256(body).digest(), path)

    @staticmethod
    def open(path: PathName) -> "Tally":
        """Read the tally in a file; errors name the file.

        Whether it is of the question at hand is checked when it is estimated or added.
        """
        try:
            return Tally.from_bytes(read_file(path, memory_budget()))
        except InvalidDocument as error:
            raise InvalidDocument(f"{path}: {error}", value=error.value) from error

    @staticmethod
    def from_bytes(data: bytes) -> "Tally":
        """Read a tally, refusing what is foreign, cut short or altered."""
        return Tally._read(*_split_file(memoryview(as_bytes(data))))

    @staticmethod
    def _read(written: bytes, payload: memoryview) -> "Tally":
        counted = _COUNTED.match(written)
        # Many tallies differ in n alone, and what is alike is read once.
        alike = written if counted is None else _START % 0 + written[counted.end() :]
        protocol, question = _read_header(alike)
        n = int(counted[1]) if counted else 0
        tally = Tally(protocol, n, protocol._read_statistic(payload, n), question)
        # White space, 1.0 or true for 1: the same tally must not have two forms.
        if tally._header() != written:
            raise InvalidDocument(
                "expected a tally header in canonical form; the file was not written by deniable",
                value=written[:80],
            )
        return tally


class Accumulator:
    """Sums the reports of one protocol, batch by batch, in memory that n does not grow.

    (Open protocols keep their reports, so there it does.) Small batches wait until there are
    enough of them, so that adding single reports is cheap.

    >>> from deniable import DE
    >>> protocol = DE(epsilon=1.0, domain_size=4)
    >>> accumulator = protocol.accumulator()
    >>> for value in (0, 1, 1):
    ...     accumulator.add(protocol.privatize([value]))
    >>> accumulator.tally().n
    3
    """

    def __init__(self, protocol: Summable, question: str | None = None) -> None:
        self.protocol, self.question, self.n = protocol, question, 0
        self._sum = protocol._new_sum()
        size = protocol.report_dtype.itemsize
        room = min(_MOST_WAITING, max(1, _WAITING_BYTES // size))
        self._waiting = np.empty(room, dtype=protocol.report_dtype)
        self._count = 0

    def add(self, reports: Reports) -> None:
        """Add an array of reports; one that is refused changes nothing."""
        batch = self.protocol._check_reports(reports)
        total = _add_up(self.n, len(batch))
        if len(batch) >= len(self._waiting):
            self._sum.add(batch)
        else:
            if self._count + len(batch) > len(self._waiting):
                self._flush()
            self._waiting[self._count : self._count + len(batch)] = batch
            self._count += len(batch)
        self.n = total

    def take(self, reports: Reports | Iterable[Reports]) -> Self:
        """Add an array of reports, or all arrays of an iterable, and return this."""
        for batch in batches(reports):
            self.add(batch)
        return self

    def merge(self, other: "Accumulator | Tally") -> None:
        """Add all that another accumulator or tally of the same protocol and question holds."""
        tally = other.tally() if isinstance(other, Accumulator) else other
        if not isinstance(tally, Tally):
            raise IncompatibleTally.expected("a tally or an accumulator", other)
        _check_alike(self, tally)
        total = _add_up(self.n, tally.n)
        self._sum.merge(tally.statistic)
        self.n = total

    def merge_bytes(self, tallies: Iterable[bytes]) -> None:
        """Add tallies as ``to_bytes`` writes them, many at once where they are alike.

        When one is refused, some of the others may have been added.
        """
        lots: dict[tuple[bytes, int], list[tuple[bytes, memoryview]]] = {}
        size = 0
        for data in tallies:
            written, payload = _split_file(memoryview(as_bytes(data)))
            alike = written[written.find(b",") :], len(payload)
            lots.setdefault(alike, []).append((written, payload))
            size += len(data)
            if size >= _BLOCK_BYTES:
                self._merge_lots(lots.values())
                lots, size = {}, 0
        self._merge_lots(lots.values())

    def _merge_lots(self, lots: Iterable[Sequence[tuple[bytes, memoryview]]]) -> None:
        for lot in lots:
            if len(lot) < _MANY or not self._merge_alike(lot):
                for each in lot:
                    self.merge(Tally._read(*each))

    def _merge_alike(self, lot: Sequence[tuple[bytes, memoryview]]) -> bool:
        """Add tallies whose headers differ at most in n, unless one has to be looked at alone."""
        _check_alike(self, Tally._read(*lot[0]))
        found = [_COUNTED.match(written) for written, _ in lot]
        counts = [int(each[1]) for each in found if each is not None]
        total = self.n + sum(counts)
        sound = (
            [_START % n for n in counts] == [each and each[0] for each in found]
            and total <= MOST_REPORTS
            and self._sum.merge_encoded([payload for _, payload in lot], counts)
        )
        self.n = total if sound else self.n
        return sound

    def tally(self) -> Tally:
        """Return the tally of everything added so far; more may follow."""
        self._flush()
        return Tally(self.protocol, self.n, self._sum.statistic(), self.question)

    def _flush(self) -> None:
        if self._count:
            self._sum.add(self._waiting[: self._count])
            self._count = 0


def _check_alike(mine: Tally | Accumulator, other: Tally) -> None:
    if mine.protocol != other.protocol:
        wanted, came, what = f"{mine.protocol}", f"{other.protocol}", "protocol"
    elif mine.question != other.question:
        wanted, came, what = f"the question {mine.question}", f"{other.question}", "question"
    else:
        return
    raise IncompatibleTally(
        f"expected a tally of {wanted}, got one of {came}; only tallies of the same {what} add",
        value=getattr(other, what),
    )


def _add_up(n: int, more: int) -> int:
    if n + more > MOST_REPORTS:
        raise IncompatibleTally(
            f"a tally has at most {MOST_REPORTS} reports, and these would be {n + more}; check "
            "where the tallies come from",
            value=n + more,
        )
    return n + more


@lru_cache(maxsize=16)
def _rest_of_header(protocol: Summable, question: str | None, form: str) -> bytes:
    specification = protocol.specification()
    fields = {"protocol": specification, "question": question, "statistic": form}
    return canonical_json(fields)[1:]


@lru_cache(maxsize=16)
def _read_header(written: bytes) -> tuple[Summable, str | None]:
    header = parse_json(written)
    if not isinstance(header, dict) or set(header) != _FIELDS:
        raise InvalidDocument("expected a tally header with its four fields", value=header)
    n, question = header["n"], header["question"]
    if not (isinstance(n, str) and n.isascii() and n.isdigit() and len(n) <= 18):
        raise InvalidDocument.expected("n as a string of at most 18 digits", n)
    if question is not None and not (isinstance(question, str) and _DIGEST.fullmatch(question)):
        raise InvalidDocument.expected(
            "a question's digest, 64 lower-case hexadecimal digits, or null", question
        )
    return Summable.from_specification(header["protocol"]), question


def _split_file(view: memoryview) -> tuple[bytes, memoryview]:
    if len(view) < 48 or bytes(view[:8]) != MAGIC:
        raise InvalidDocument("this is not a deniable tally; check the file", value=len(view))
    version = int.from_bytes(view[8:12], "little")
    if version != _VERSION:
        raise InvalidDocument.expected(
            f"a tally of version {_VERSION}", version, "upgrade deniable"
        )
    if sha256(view[:-32]).digest() != bytes(view[-32:]):
        raise InvalidDocument(
            "the tally was cut short or altered: its checksum does not hold; copy the file again",
            value=len(view),
        )
    end = 16 + int.from_bytes(view[12:16], "little")
    if end > min(len(view) - 32, 16 + _LARGEST_HEADER):
        raise InvalidDocument.expected(
            f"a tally header within the file and of at most {_LARGEST_HEADER} bytes",
            end - 16,
            "the file was not written by deniable",
        )
    return bytes(view[16:end]), view[end:-32]
