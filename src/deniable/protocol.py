"""The framework of pure protocols: what every protocol shares, written once.

A protocol is *pure* when a report supports the true value with probability p* and any other value
with probability q*, the same for all pairs of values. Then the number of reports that support a
value is enough to estimate how many people hold it.                        [sec:framework]
The estimate is unbiased [thm:pure_unbiased] and its variance is known exactly [thm:pure_var].

The flow, and the only nouns in it::

    values --privatize--> reports --tally--> Tally --estimate--> Estimates
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from deniable.documents import as_bytes, canonical_json, parse_json
from deniable.errors import (
    IncompatibleTally,
    InvalidDocument,
    InvalidParameter,
    InvalidReport,
)
from deniable.estimates import Estimates
from deniable.kernels.parallel import run_chunks
from deniable.randomness import Replayed, Source, draw_words, log_above, open_source
from deniable.statistic import Counts, Statistic
from deniable.validation import brief, check_reports, check_shares, check_values

Reports = npt.NDArray[Any]  # of the protocol's report_dtype, which only it knows
Values = npt.ArrayLike

BULK_WORDS = 1 << 16
"""From this many words on, ``privatize`` works in chunks on all cores."""
FINGERPRINTS = 1 << 64
"""How many fingerprints there are: the domain size of an open protocol."""
_CHUNK_WORDS = 1 << 19
_MAGIC = b"dnbtally"
_VERSION = 1
_MOST_REPORTS = 10**18 - 1
"""The largest n of a tally, which leaves room in 64 bits for sums of a few."""
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Parameters:
    """The two probabilities that characterise a pure protocol, exact and as floats.

    >>> Parameters(Fraction(1, 2), Fraction(1, 4)).p
    0.5
    """

    exact_p: Fraction
    exact_q: Fraction

    @property
    def p(self) -> float:
        """p*, the probability that a report supports the true value."""
        return float(self.exact_p)

    @property
    def q(self) -> float:
        """q*, the probability that a report supports any one other value."""
        return float(self.exact_q)

    @property
    def gap(self) -> float:
        """p* - q*, subtracted before rounding, so that a small epsilon loses no digits."""
        return float(self.exact_p - self.exact_q)


class Protocol(ABC):
    """One protocol at one epsilon and one domain size: the mathematics, no state, no I/O.

    A subclass is a frozen dataclass; its fields are what its constructor takes. It supplies
    ``parameters``, ``worst_ratio``, ``report_dtype``, ``_perturb`` and ``support_counts``.
    """

    registry: ClassVar[dict[str, type[Protocol]]] = {}
    pure: ClassVar[bool] = True
    """Whether reports support values, with probabilities p* and q* that hold for all pairs."""
    support_unit: ClassVar[int] = 1
    """What one supporting report adds to a count, in the units of ``support_counts``."""

    epsilon: float
    domain_size: int

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.__name__.startswith("_"):
            Protocol.registry.setdefault(cls.__name__, cls)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the constructor's arguments, not what was computed from them."""
        arguments = tuple(getattr(self, f.name) for f in fields(cast("type", type(self))))
        return type(self), arguments

    @property
    def is_open(self) -> bool:
        """Whether values are fingerprints of any label, and candidates are named at estimation."""
        return self.domain_size == FINGERPRINTS

    @property
    def name(self) -> str:
        """The protocol's name, the same in Python, in files and on the command line."""
        return type(self).__name__

    # What a protocol supplies.

    @property
    @abstractmethod
    def parameters(self) -> Parameters:
        """p* and q* of the law that is executed."""

    @property
    @abstractmethod
    def worst_ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one report under two values, exactly."""

    @property
    @abstractmethod
    def report_dtype(self) -> np.dtype[np.generic]:
        """The fixed-width little-endian form of one report, in memory and on the wire."""

    @abstractmethod
    def _perturb(self, values: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> Reports:
        """Make one report of each value from its row of words, in NumPy alone.

        This is the client's path and the specification: its work depends on the shapes only.
        """

    @abstractmethod
    def support_counts(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count for each value the reports that support it."""

    @property
    def word_count(self) -> int:
        """How many random words one report takes."""
        return 1

    @property
    def word_limits(self) -> dict[int, int]:
        """The bounds of words that are uniform below less than 2^64, by position."""
        return {}

    @property
    def public_words(self) -> tuple[int, ...]:
        """The positions of words that a report shows as they are, such as a hash function."""
        return ()

    def _details(self) -> dict[str, object]:
        """Return the integers another implementation needs, beyond the constructor's arguments."""
        return {}

    def _validate(self, reports: Reports) -> None:
        """Raise InvalidReport unless every report is one that a client can have sent."""
        del reports  # where every bit pattern is a report

    def _privatize_bulk(self, values: npt.NDArray[np.uint64], source: Source) -> Reports:
        """Privatize many values on all cores; the law is that of ``_perturb``."""
        chunk = max(1, _CHUNK_WORDS // self.word_count)
        sources = source.split(math.ceil(len(values) / chunk))
        reports = np.empty(len(values), dtype=self.report_dtype)

        def fill(start: int, stop: int) -> None:
            words = self._draw(sources[start // chunk], stop - start)
            reports[start:stop] = self._perturb(values[start:stop], words)

        run_chunks(fill, len(values), chunk)
        return reports

    def _summarise(self, batches: Iterator[Reports]) -> tuple[int, Statistic]:
        """Return the number of reports and the statistic that a tally keeps of them."""
        n, total = 0, np.zeros(self.domain_size, dtype=np.int64)
        for batch in batches:
            total += self.support_counts(batch)
            n += len(batch)
        return n, Counts(total)

    def _support(self, statistic: Statistic) -> npt.NDArray[np.int64]:
        """Return the support counts that a tally's statistic stands for."""
        if not isinstance(statistic, Counts):
            raise IncompatibleTally(f"expected counts, got {statistic.form}", value=statistic.form)
        return statistic.values

    def _read_statistic(self, data: memoryview, n: int) -> Statistic:
        """Read a tally's statistic, refusing what ``n`` reports cannot have left."""
        return Counts.decode(data, self.domain_size, 0, n)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return small instances, which the conformance suite puts through every property."""
        pairs = ((0.5, 5), (1.0, 4), (3.0, 9))
        return [cls(epsilon=epsilon, domain_size=d) for epsilon, d in pairs]  # type: ignore[call-arg]

    # What every protocol shares.

    @cached_property
    def realised_epsilon(self) -> float:
        """The epsilon that the integer weights spend, rounded up; never above ``epsilon``."""
        return log_above(self.worst_ratio)

    @property
    def report_bits(self) -> int:
        """The size of one report on the wire, in bits."""
        return 8 * self.report_dtype.itemsize

    def decoding_time(self, n: int) -> float:
        """Estimate the nanoseconds that ``n`` reports take to tally and decode, on one core.

        Where a tally counts what reports hold, every byte of them is read and counted once.
        """
        return float(n * (1 + 2 * self.report_dtype.itemsize))

    def privatize(self, values: Values, rng: np.random.Generator | Source | None = None) -> Reports:
        """Turn each value into a deniable report.

        ``rng`` is for simulation and test vectors only; leave it out and the randomness is the
        operating system's.
        """
        checked, source = self._check_values(values), open_source(rng)
        small = len(checked) * self.word_count <= BULK_WORDS
        if small or len(checked) == 1 or isinstance(source, Replayed):
            return self._perturb(checked, self._draw(source, len(checked)))
        return self._privatize_bulk(checked, source)

    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        """Tell of each report whether it supports ``value``; the definition behind the counts."""
        checked, place = self._check_reports(reports), self._check_value(value)
        singles = (self.support_counts(checked[i : i + 1])[place] for i in range(len(checked)))
        return np.fromiter((count > 0 for count in singles), dtype=np.bool_, count=len(checked))

    def _draw(self, source: Source, count: int) -> npt.NDArray[np.uint64]:
        return draw_words(source, count, self.word_count, self.word_limits)

    def tally(self, reports: Reports | Iterable[Reports]) -> Tally:
        """Sum up reports: one array, or any iterable of arrays, in memory that n does not grow."""
        batches = [reports] if isinstance(reports, np.ndarray) else reports
        if isinstance(batches, bytes | bytearray | memoryview | str):
            raise InvalidReport(
                "expected arrays of reports, got raw bytes; pass them through parse first",
                value=type(reports),
            )
        if not isinstance(batches, Iterable):
            raise InvalidReport(
                f"expected an array of reports or an iterable of arrays, got {brief(reports)}; "
                "use privatize or parse to make reports",
                value=reports,
            )
        n, statistic = self._summarise(self._check_reports(batch) for batch in batches)
        return Tally(self, n, statistic)

    def parse(self, data: bytes) -> Reports:
        """Turn untrusted bytes into reports, or raise InvalidReport: the one door."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InvalidReport(
                f"expected bytes, got {type(data).__name__}; pass what came over the wire as it is",
                value=type(data),
            )
        wire, size = bytes(data), self.report_dtype.itemsize
        if len(wire) == 0 or len(wire) % size:
            raise InvalidReport(
                f"expected a positive multiple of {size} bytes, one {self.name} report each, "
                f"got {len(wire)}; check that the sender answers the same question",
                value=len(wire),
            )
        reports = np.frombuffer(wire, dtype=self.report_dtype)
        self._validate(reports)
        return reports

    def estimate(self, tally: Tally) -> Estimates:
        """Estimate how many people hold each value, from a tally of this protocol."""
        return self._estimate(self._support(self._own(tally).statistic), tally.n)

    def _own(self, tally: object) -> Tally:
        if not isinstance(tally, Tally):
            raise IncompatibleTally(
                f"expected a tally of {self}, got {brief(tally)}; make one with tally",
                value=tally,
            )
        if tally.protocol != self:
            raise IncompatibleTally(
                f"expected a tally of {self}, got one of {tally.protocol}; "
                "estimate with the protocol that made the reports",
                value=tally.protocol,
            )
        return tally

    def _estimate(self, support: npt.NDArray[np.int64], n: int) -> Estimates:
        """Apply the unbiased estimator to support counts.       [eq:absestimate]."""
        if n == 0:
            raise IncompatibleTally(
                "expected a tally of at least one report, got an empty one; "
                "there is nothing to estimate from",
                value=0,
            )
        counts = (support / self.support_unit - n * self.parameters.q) / self.parameters.gap
        variance = np.asarray(self.variance(n, np.clip(counts / n, 0.0, 1.0)))
        none, all_ = float(self.variance(n, 0.0)), float(self.variance(n, 1.0))
        return Estimates(
            counts,
            np.sqrt(variance),
            n,
            math.sqrt(none),
            variance_slope=(all_ - none) / n,
            chance=self.parameters.q if self.pure else None,
        )

    def variance(
        self, n: int, frequency: float | npt.NDArray[np.float64] = 0.0
    ) -> float | npt.NDArray[np.float64]:
        """Return the exact variance of an estimated count among ``n`` people.

        ``frequency`` is the true share of the value; at 0 this is the paper's approximation
        Var*.       [eq:absvar_exact] [eq:absvar]
        """
        share = check_shares(n, frequency)
        q, gap = self.parameters.q, self.parameters.gap
        rest = float(1 - self.parameters.exact_p - self.parameters.exact_q)
        result = n * (q * (1 - q) / gap**2 + share * rest / gap)
        return float(result) if np.ndim(result) == 0 else result

    def specification(self) -> dict[str, object]:
        """Return everything another implementation needs to make and read the same reports."""
        arguments = {f.name: getattr(self, f.name) for f in fields(cast("type", type(self)))}
        return {"name": self.name, **arguments, **self._details()}

    @staticmethod
    def from_specification(specification: object) -> Protocol:
        """Return the protocol that a specification describes, refusing any that differs."""
        if not isinstance(specification, dict):
            raise InvalidDocument(
                f"expected a protocol as a JSON object, got {brief(specification)}",
                value=specification,
            )
        name = specification.get("name")
        kind = Protocol.registry.get(name) if isinstance(name, str) else None
        if kind is None:
            known = ", ".join(sorted(Protocol.registry))
            raise InvalidDocument(
                f"expected a protocol among {known}, got {brief(name)}", value=name
            )
        arguments = {f.name: specification.get(f.name) for f in fields(cast("type", kind))}
        try:
            protocol = kind(**arguments)
        except InvalidParameter as error:
            raise InvalidDocument(f"{error} (in the protocol {name})", value=arguments) from error
        if protocol.specification() != specification:
            raise InvalidDocument(
                f"expected the specification of {protocol} as this version computes it, got "
                "another; the document was altered or made by an incompatible version",
                value=specification,
            )
        return protocol

    def _check_values(self, values: Values) -> npt.NDArray[np.uint64]:
        return check_values(values, self.domain_size)

    def _check_value(self, value: int) -> int:
        return int(self._check_values([value])[0])

    def _check_reports(self, reports: object) -> Reports:
        checked = check_reports(reports, self.report_dtype, self.name)
        self._validate(checked)
        return checked


@dataclass(frozen=True, eq=False)
class Tally:
    """What is left of ``n`` reports: a statistic that adds, and nothing about any one of them.

    ``question`` is the digest of the question that the reports answer, when there is one.
    """

    protocol: Protocol
    n: int
    statistic: Statistic
    question: str | None = None

    def __add__(self, other: Tally) -> Tally:
        """Merge two tallies of the same protocol and question."""
        if not isinstance(other, Tally):
            return NotImplemented
        if self.protocol != other.protocol:
            raise IncompatibleTally(
                f"expected a tally of {self.protocol}, got one of {other.protocol}; "
                "only tallies of the same protocol add",
                value=other.protocol,
            )
        if self.question != other.question:
            raise IncompatibleTally(
                f"expected a tally of the question {self.question}, got one of {other.question}; "
                "only tallies of the same question add",
                value=other.question,
            )
        n = self.n + other.n
        if n > _MOST_REPORTS:
            raise IncompatibleTally(
                f"expected at most {_MOST_REPORTS} reports in all, got {n}; nobody has collected "
                "so many: check where the tallies come from",
                value=n,
            )
        total = self.statistic + other.statistic  # type: ignore[operator]  # the protocols agree
        return replace(self, n=n, statistic=total)

    def __radd__(self, other: object) -> Tally:
        """Let ``sum`` start from 0."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return (self.protocol, self.n, self.question) == (
            other.protocol,
            other.n,
            other.question,
        ) and self.statistic.encode() == other.statistic.encode()

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def _header(self) -> bytes:
        return canonical_json(
            {
                "n": str(self.n),
                "protocol": self.protocol.specification(),
                "question": self.question,
                "statistic": self.statistic.form,
            }
        )

    def to_bytes(self) -> bytes:
        """Return the tally as bytes: magic, version, header, statistic, SHA-256."""
        header = self._header()
        start = _MAGIC + _VERSION.to_bytes(4, "little") + len(header).to_bytes(4, "little")
        body = start + header + self.statistic.encode()
        return body + sha256(body).digest()

    @staticmethod
    def from_bytes(data: bytes) -> Tally:
        """Read a tally, refusing what is foreign, cut short or altered."""
        view = memoryview(as_bytes(data))
        if len(view) < 48 or bytes(view[:8]) != _MAGIC:
            raise InvalidDocument(
                "expected a deniable tally, got something else; check the file", value=len(view)
            )
        version = int.from_bytes(view[8:12], "little")
        if version != _VERSION:
            raise InvalidDocument(
                f"expected a tally of version {_VERSION}, got {version}; upgrade deniable",
                value=version,
            )
        if sha256(view[:-32]).digest() != bytes(view[-32:]):
            raise InvalidDocument(
                "expected a tally whose checksum holds, got one cut short or altered; "
                "copy the file again",
                value=len(view),
            )
        end = 16 + int.from_bytes(view[12:16], "little")
        written = bytes(view[16:end])
        header = parse_json(written) if end <= len(view) - 32 else None
        if not isinstance(header, dict) or set(header) != {
            "n",
            "protocol",
            "question",
            "statistic",
        }:
            raise InvalidDocument("expected a tally header with its four fields", value=header)
        n, question = header["n"], header["question"]
        if not (isinstance(n, str) and n.isascii() and n.isdigit() and len(n) <= 18):
            raise InvalidDocument(
                f"expected n as a string of at most 18 digits, got {brief(n)}", value=n
            )
        if question is not None and not (isinstance(question, str) and _DIGEST.fullmatch(question)):
            raise InvalidDocument(
                "expected a question's digest, 64 lower-case hexadecimal digits, or null, got "
                f"{brief(question)}",
                value=question,
            )
        protocol = Protocol.from_specification(header["protocol"])
        statistic = protocol._read_statistic(view[end:-32], int(n))
        tally = Tally(protocol, int(n), statistic, question)
        # White space, 1.0 or true for 1: the same tally must not have two forms.
        if tally._header() != written:
            raise InvalidDocument(
                "expected a tally header in canonical form, got another; the file was not written "
                "by deniable",
                value=header,
            )
        return tally
