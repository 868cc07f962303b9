"""The protocol: a mechanism whose reports add up to a tally, and a tally to estimates.

The flow, and the only nouns in it::

    values --privatize--> reports --tally--> Tally --estimate--> Estimates
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from deniable.candidates import Candidates, Chosen
from deniable.errors import (
    IncompatibleTally,
    InvalidDocument,
    InvalidParameter,
    InvalidReport,
    brief,
)
from deniable.estimates import Estimates, Provenance, Repeats
from deniable.law import KnownLaw
from deniable.mechanism import Mechanism, Reports, Values
from deniable.memory import spend
from deniable.randomness import Source
from deniable.statistics import Counts, CountsSum, Statistic, Sum
from deniable.tally import Accumulator, Tally
from deniable.validation import Footprint, check_positive, check_whole

_BYTES_AN_ANSWER = 64
"""What estimates hold of each answer, with room for columns that are there while they are made."""


class Protocol(Mechanism):
    """A mechanism with all that a server does: sum reports, and estimate from the sum.

    A subclass supplies what a mechanism does, and ``_new_sum``, ``_read_statistic``, ``_choose``,
    ``_estimate`` and ``variance``. Most of that comes from ``Counted``, ``Pure``, ``Closed`` and
    ``Open``, one class for each promise.
    """

    registry: ClassVar[dict[str, type[Protocol]]] = {}
    usual_settings: ClassVar[dict[str, object]] = {}
    """Settings that a user who has to choose may start from, for those without a default."""

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: object) -> None:
        """Register the class by its name, unless it is only a base of others."""
        super().__init_subclass__(**kwargs)
        if abstract or cls.__name__.startswith("_"):
            return
        known = Protocol.registry.setdefault(cls.__name__, cls)
        mine, other = ((kind.__module__, kind.__qualname__) for kind in (cls, known))
        if mine != other:
            raise TypeError(
                f"expected a name that no other protocol has, got {cls.__name__}, which is also "
                f"{'.'.join(other)}; files name protocols by their class, so rename one of them"
            )
        Protocol.registry[cls.__name__] = cls

    @abstractmethod
    def _new_sum(self) -> Sum:
        """Return an empty sum of reports."""

    @abstractmethod
    def _read_statistic(self, data: memoryview, n: int) -> Statistic:
        """Read a tally's statistic, refusing what ``n`` reports cannot have left."""

    @abstractmethod
    def _choose(self, candidates: Candidates | None) -> Chosen:
        """Return which values are to be estimated."""

    @abstractmethod
    def _estimate(self, tally: Tally, chosen: Chosen) -> Estimates:
        """Estimate how many people hold each of the chosen values."""

    @abstractmethod
    def variance(
        self, n: int, share: float | npt.NDArray[np.float64] = 0.0
    ) -> float | npt.NDArray[np.float64]:
        """Return the variance of an estimated count among ``n`` people.

        ``share`` is the true share of the value.
        """

    def influence(self, values: Sequence[int]) -> float | None:
        """Return by how many people one report, made to deceive, can raise the sum of some counts.

        None where it is not known: it depends on how estimates are made.
        """
        del values
        return None

    def law(self, n: int) -> KnownLaw | None:
        """Return the law of an estimated count among ``n`` people, if it is known beforehand."""
        del n
        return None

    @classmethod
    @abstractmethod
    def examples(cls) -> list[Self]:
        """Return small instances, which the conformance suite puts through every property."""

    @classmethod
    def further_examples(cls) -> list[Self]:
        """Return larger instances, which have test vectors beside the small ones."""
        return []

    def accumulator(self) -> Accumulator:
        """Return an empty accumulator, which sums reports batch by batch."""
        return Accumulator(self)

    def tally(self, reports: Reports | Iterable[Reports]) -> Tally:
        """Sum up reports: one array, or any iterable of arrays, in memory that n does not grow."""
        accumulator = self.accumulator()
        for batch in batches_of(reports):
            accumulator.add(batch)
        return accumulator.tally()

    def estimate(
        self,
        tally: Tally,
        candidates: Candidates | None = None,
        *,
        people: int | None = None,
        rounds: int | None = None,
    ) -> Estimates:
        """Estimate how many people hold each value, from a tally of this protocol.

        ``candidates`` are the values to estimate: of a closed protocol some of its values, by
        default all; of an open one the labels or fingerprints, which it has to be told.

        The other two are for protocols that memoise, whose people may answer again: how many
        ``people`` sent the reports, each about as many as the others, or in how many ``rounds``
        they came, none with two reports of one person. Without them each report is taken for the
        only one of a person; ``Question.estimate`` does not guess that.
        """
        own, chosen = self._own(tally), self._choose(candidates)
        repeats = self._repeats(own, people, rounds)
        spend(self._estimate_bytes(chosen), f"an estimate by {self.name}")
        if isinstance(self, Memoising) and repeats is not None and repeats.people < own.n:
            found = self._repeated(own, chosen, repeats.people)
        else:
            found = self._estimate(own, chosen)
        origin = Provenance(self.name, self.epsilon)
        return replace(chosen.of(found), provenance=origin, repeats=repeats)

    def _repeats(self, tally: Tally, people: int | None, rounds: int | None) -> Repeats | None:
        """Return by how many people the reports are judged, if people may have answered again."""
        if people is None and rounds is None:
            return None
        if people is not None and rounds is not None:
            raise InvalidParameter.expected(
                "either people or rounds",
                (people, rounds),
                "give the number of people if you know it, else that of rounds",
                came="both",
            )
        if not isinstance(self, Memoising):
            raise InvalidParameter.expected(
                f"neither people nor rounds for {self.name}, whose reports are independent",
                people if rounds is None else rounds,
                "count each report as a person, and let a person answer once",
            )
        if people is not None:
            most = "each sent at least one report"
            return Repeats(tally.n, check_whole("people", people, 1, tally.n, most))
        return Repeats.over(check_positive("the number of rounds", rounds), tally.n)

    def _estimate_bytes(self, chosen: Chosen) -> int:
        """Return about how many bytes an estimate takes at its peak."""
        return _BYTES_AN_ANSWER * (len(chosen.keys) or self.value_count)

    def _own(self, tally: object) -> Tally:
        """Return a tally of this protocol that has reports, or say what it is instead."""
        if not isinstance(tally, Tally):
            raise IncompatibleTally.expected(f"a tally of {self}", tally, "make one with tally")
        if tally.protocol != self:
            raise IncompatibleTally.expected(
                f"a tally of {self}",
                tally.protocol,
                "estimate with the protocol that made the reports",
                came=f"one of {tally.protocol}",
            )
        if tally.n == 0:
            raise IncompatibleTally.expected(
                "a tally of at least one report",
                0,
                "there is nothing to estimate from",
                came="an empty one",
            )
        return tally

    @staticmethod
    def from_specification(specification: object) -> Protocol:
        """Return the protocol that a specification describes, refusing any that differs."""
        if not isinstance(specification, dict):
            raise InvalidDocument.expected("a protocol as a JSON object", specification)
        name = specification.get("name")
        kind = Protocol.registry.get(name) if isinstance(name, str) else None
        if kind is None:
            known = ", ".join(sorted(Protocol.registry))
            raise InvalidDocument.expected(f"a protocol among {known}", name)
        arguments = {f.name: specification.get(f.name) for f in fields(kind)}
        try:
            protocol = kind(**arguments)
        except InvalidParameter as error:
            raise InvalidDocument(f"{error} (in the protocol {name})", value=arguments) from error
        if protocol.specification() != specification:
            raise InvalidDocument.expected(
                f"the specification of {protocol} as this version computes it",
                specification,
                "the document was altered or made by an incompatible version",
                came="another",
            )
        return protocol


class Memoising(Protocol, abstract=True):
    """A protocol whose people may answer again: what is permanent bounds what they reveal."""

    @property
    @abstractmethod
    def epsilon_forever(self) -> float:
        """The privacy loss of infinitely many reports of one value."""

    @property
    def total_epsilon(self) -> float:
        """What answering reveals at most: the loss of any number of reports of one value."""
        return self.epsilon_forever

    @abstractmethod
    def _repeated(self, tally: Tally, chosen: Chosen, people: int) -> Estimates:
        """Estimate from reports that fewer people sent."""

    @abstractmethod
    def client(self, secret: bytes, *, context: str) -> Client:
        """Return a client that answers consistently for as long as it keeps ``secret``."""


class Client(ABC):
    """One person's device: it holds what makes the answers consistent."""

    @abstractmethod
    def privatize(self, values: Values, rng: np.random.Generator | Source | None = None) -> Reports:
        """Turn each value into a report; equal values share their permanent response."""


class Counted(Protocol, abstract=True):
    """A protocol whose tally is integers that add: how many, and what a batch makes of them."""

    @property
    @abstractmethod
    def _footprint(self) -> Footprint:
        """How many integers a tally has, and what one report can add to them."""

    def _count(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Return what a batch of reports, which have been checked, adds to the integers."""
        total = np.zeros(self._footprint.length, dtype=np.int64)
        self._add_counts(reports, total)
        return total

    def _add_counts(self, reports: Reports, total: npt.NDArray[np.int64]) -> None:
        """Add a batch to the integers; a subclass supplies this or ``_count``."""
        total += self._count(reports)

    def _new_sum(self) -> Sum:
        return CountsSum(self._footprint.length, self._add_counts)

    def _read_statistic(self, data: memoryview, n: int) -> Counts:
        return Counts.decode(data, n, self._footprint)


def batches_of(reports: Reports | Iterable[Reports]) -> Iterable[Reports]:
    """Return reports as batches: an array is one, and any other iterable has them."""
    if isinstance(reports, np.ndarray):
        return [reports]
    if isinstance(reports, bytes | bytearray | memoryview | str):
        raise InvalidReport.expected(
            "arrays of reports", type(reports), "pass them through parse first", came="raw bytes"
        )
    if not isinstance(reports, Iterable):
        raise InvalidReport.expected(
            "an array of reports or an iterable of arrays",
            reports,
            "use privatize or parse to make reports",
            came=brief(reports),
        )
    return reports
