"""The protocol: a mechanism whose reports add up to a tally, and a tally to estimates.

The flow, and the only nouns in it::

    values --privatize--> reports --tally--> Tally --estimate--> Estimates

One class for each promise. A protocol is *pure* when a report supports the true value with
probability p* and any other value with probability q*, the same for all pairs of values. Then the
number of reports that support a value is enough to estimate how many people hold it
[sec:framework]: without bias [thm:pure_unbiased], with an exactly known variance [thm:pure_var].
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from deniable import validation
from deniable.candidates import FINGERPRINTS, Candidates, Chosen, choose_open, choose_some
from deniable.errors import IncompatibleTally, InvalidParameter
from deniable.estimates import Estimates
from deniable.law import Joint, KnownLaw, Pairs, PairsOf, SupportLaw
from deniable.mechanism import Coded, Reports, Values
from deniable.memory import reserve
from deniable.presentation.view import Provenance, Repeats
from deniable.randomness import Source
from deniable.statistics import Counts, Statistic, of_form
from deniable.tally import Counted, Summable, Tally

Share = float | npt.NDArray[np.float64]
Goal = Literal["mean", "rare", "table"]
"""Whose variance is to be least: the mean over all answers, that of answers nobody gives, or of a
record the sum over all cells of its tables."""

_BYTES_AN_ANSWER = 64
"""What estimates hold of each answer, with room for columns that are there while they are made."""
_MOST_CODES, _BLOCK = 1 << 22, 1 << 16
"""How many different reports are tried to find one that supports the most, and how many at once."""


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

    def variance(self, n: int, share: Share) -> Share:
        """Return the exact variance of the unbiased count of a value.  [eq:absvar_exact]."""
        shares = validation.check_shares(n, share)
        q, gap = self.q, self.gap
        rest = float(1 - self.exact_p - self.exact_q)
        result = n * (q * (1 - q) / gap**2 + shares * rest / gap)
        return float(result) if np.ndim(result) == 0 else result


class Functions(NamedTuple):
    """How many reports have each public function that was drawn, and the chance of each.

    Functions that a tally does not tell apart are one, and those without reports may be left out.
    """

    counts: npt.NDArray[np.int64]
    chance: float


class Protocol(Summable, abstract=True):
    """A mechanism whose tallies tell how many people hold each value.

    A subclass supplies what a mechanism does, and ``_new_sum``, ``_read_statistic``, ``_choose``
    and ``_estimate``. Most of that comes from ``Counted``, ``Pure``, ``Closed`` and ``Open``, one
    class for each promise. ``variance``, ``law`` and ``influence`` tell what is known beforehand
    about the error of its estimates, and return None for what is not known. Callers ask, and say
    in words what is missing.
    """

    usual_settings: ClassVar[dict[str, object]] = {}
    """Values to start from for settings without a default."""

    @property
    def parameters(self) -> Parameters | None:
        """p* and q* of the law that is executed, where the protocol is pure."""
        return None

    @abstractmethod
    def _choose(self, candidates: Candidates | None) -> Chosen:
        """Return which values are to be estimated."""

    @abstractmethod
    def _estimate(self, tally: Tally, chosen: Chosen) -> Estimates:
        """Estimate how many people hold each of the chosen values."""

    def variance(self, n: int, share: Share = 0.0) -> Share | None:
        """Return the variance of an estimated count among ``n`` people, if it is known beforehand.

        ``share`` is the true share of the value.
        """
        return None

    def influence(self, values: Sequence[int]) -> float | None:
        """Return by how many people one forged report can raise the sum of some counts.

        None where it is not known: it depends on how estimates are made.
        """
        return None

    def law(self, n: int) -> KnownLaw | None:
        """Return the law of an estimated count among ``n`` people, if it is known beforehand."""
        return None

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
        they came, none with two reports of one person. Without them each report counts as the only
        one of a person; ``Question.estimate`` does not guess that.
        """
        own, chosen = self._own(tally), self._choose(candidates)
        repeats = self._repeats(own, people, rounds)
        reserve(self._estimate_bytes(chosen), f"an estimate by {self.name}")
        if isinstance(self, Memoising) and repeats is not None and repeats.people < own.n:
            found = self._repeated(own, chosen, repeats.people)
        else:
            found = self._estimate(own, chosen)
        origin = Provenance(self.name, self.epsilon)
        return replace(chosen.of(found), provenance=origin, repeats=repeats)

    def _repeats(self, tally: Tally, people: int | None, rounds: int | None) -> Repeats | None:
        """Return the number of people behind the reports, if people may have answered again."""
        if people is None and rounds is None:
            return None
        if people is not None and rounds is not None:
            raise InvalidParameter(
                "expected either people or rounds, got both; give the number of people if you know "
                "it, else that of rounds",
                value=(people, rounds),
            )
        if not isinstance(self, Memoising):
            raise InvalidParameter(
                f"reports of {self.name} are independent: leave out people and rounds, count each "
                "report as a person, and let a person answer once",
                value=people if rounds is None else rounds,
            )
        if people is not None:
            most = "each sent at least one report"
            return Repeats(tally.n, validation.check_whole("people", people, 1, tally.n, most))
        return Repeats.over(validation.check_positive("the number of rounds", rounds), tally.n)

    def _estimate_bytes(self, chosen: Chosen) -> int:
        """Return about how many bytes an estimate takes at its peak.

        If values are rows of integers, there is no result for each of them.
        """
        values = 0 if self.value_dtype.shape else self.value_count
        return _BYTES_AN_ANSWER * (len(chosen.keys) or values)

    def _own(self, tally: object) -> Tally:
        """Check that a tally is of this protocol and not empty."""
        if not isinstance(tally, Tally):
            raise IncompatibleTally.expected(f"a tally of {self}", tally, "make one with tally")
        if tally.protocol != self:
            raise IncompatibleTally(
                f"expected a tally of {self}, got one of {tally.protocol}; estimate with the "
                "protocol that made the reports",
                value=tally.protocol,
            )
        if tally.n == 0:
            raise IncompatibleTally("the tally is empty: there is nothing to estimate", value=0)
        return tally


class Closed(Protocol, abstract=True):
    """A protocol over the values 0..domain_size-1, all of which are estimated by default."""

    if TYPE_CHECKING:

        def __init__(self, epsilon: float, domain_size: int) -> None:
            """Most are made like this; the others override ``usual`` and ``examples``."""

        @property
        def domain_size(self) -> int:
            """d, the number of values."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.check_epsilon(self.epsilon))
        object.__setattr__(self, "domain_size", validation.check_domain_size(self.domain_size))

    @classmethod
    def usual(cls, epsilon: float, domain_size: int, share: float | None = None) -> Self | None:
        """Return the protocol as the advice ranks it, or None for one that takes other settings.

        A protocol that can is made for the least variance of answers with that ``share``, by
        default 1 / domain_size, where the variance is the mean over all answers.
        """
        return None if cls.usual_settings else cls(epsilon, domain_size)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(0.5, 5), cls(1.0, 4), cls(3.0, 9)]

    @property
    def value_count(self) -> int:
        return self.domain_size

    def decoding_time(self, n: int) -> float:
        """Estimate the nanoseconds that ``n`` reports take to tally and decode, on one core.

        Where a tally counts what reports hold, every byte of them is read and counted once.
        """
        return float(n * (1 + 2 * self.report_dtype.itemsize))

    def _check_values(self, values: Values) -> npt.NDArray[np.uint64]:
        return validation.check_values(values, self.domain_size)

    def _choose(self, candidates: Candidates | None) -> Chosen:
        return Chosen() if candidates is None else choose_some(candidates, self.domain_size)


class Open(Protocol, abstract=True):
    """A protocol over 64-bit fingerprints of any labels; candidates are named afterwards."""

    @property
    def value_count(self) -> int:
        return FINGERPRINTS

    def _check_values(self, values: Values) -> npt.NDArray[np.uint64]:
        return validation.check_values(values, FINGERPRINTS)

    def _choose(self, candidates: Candidates | None) -> Chosen:
        return choose_open(candidates)


class Memoising(Protocol, abstract=True):
    """A protocol whose people may answer again: what is permanent bounds what they reveal."""

    memoises = True

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
    def client(self, secret: bytes, *, context: str) -> "Client":
        """Return a client that answers consistently for as long as it keeps ``secret``."""


class Client(ABC):
    """One person's device: it holds what makes the answers consistent."""

    @abstractmethod
    def privatize(
        self, values: Values, rng: "np.random.Generator | Source | None" = None
    ) -> Reports:
        """Turn each value into a report; equal values share their permanent response."""


class Pure(Protocol, abstract=True):
    """A protocol whose reports support values, with p* and q* that hold for all pairs."""

    @property
    @abstractmethod
    def parameters(self) -> Parameters:
        """p* and q* of the law that is executed."""

    @property
    def pairs(self) -> Pairs | None:
        """How often a report supports two values at once, if that is known."""
        return None

    @abstractmethod
    def _support(self, statistic: Statistic, chosen: Chosen) -> npt.NDArray[np.int64]:
        """Return how many reports support each value: all of a closed domain, or the chosen."""

    @abstractmethod
    def supports(self, reports: Reports, value: int) -> npt.NDArray[np.bool_]:
        """Tell of each report whether it supports ``value``; the definition behind the counts."""

    def most_supported(self, values: Sequence[int]) -> int:
        """Return how many of some values one report can support, by trying all reports.

        Where they are no integers, or too many to try, the answer is all values, unless a subclass
        knows better.
        """
        most, codes = 0, self.codes if isinstance(self, Coded) else 0
        for start in range(0, codes if codes <= _MOST_CODES else 0, _BLOCK):
            some = np.arange(start, min(start + _BLOCK, codes)).astype(self.report_dtype)
            supported = sum(self.supports(some, value).astype(np.int64) for value in values)
            most = max(most, int(np.max(supported)))
        return most or len(values)

    def influence(self, values: Sequence[int]) -> float:
        """Return by how many people one forged report can raise the sum of some counts.

        A report that supports s of t values adds (s - t q*) / (p* - q*) to the sum of their counts;
        an honest one adds on average as many people as hold one of them.

        >>> from deniable import DE, OUE
        >>> [round(kind(1.0, 1000).influence(range(8)), 1) for kind in (OUE, DE)]
        [25.3, 578.3]
        """
        chosen = self._check_counted(values)
        missed = len(chosen) * self.parameters.exact_q
        raised = self.most_supported(chosen.tolist()) - missed
        return float(raised / (self.parameters.exact_p - self.parameters.exact_q))

    def _check_counted(self, values: Sequence[int]) -> npt.NDArray[np.uint64]:
        return self._check_values(list(values))

    def functions(self, statistic: Statistic) -> Functions | None:
        """Return which public functions reports have, where they have any and a tally tells."""
        return None

    def support_counts(
        self, reports: Reports, candidates: Candidates | None = None
    ) -> npt.NDArray[np.int64]:
        """Count for each value the reports that support it."""
        chosen = self._choose(candidates)
        counts = self._support(self.tally(reports).statistic, chosen)
        return counts if chosen.rows is None else counts[chosen.rows]

    def _estimate(self, tally: Tally, chosen: Chosen) -> Estimates:
        """Apply the unbiased estimator to support counts.       [eq:absestimate]."""
        return self.unbiased(self._support(tally.statistic, chosen), tally.n)

    def unbiased(self, support: npt.NDArray[np.int64], n: int) -> Estimates:
        """Estimate from how many of ``n`` reports support each value, counted anywhere."""
        counts = (support.astype(np.float64) - n * self.parameters.q) / self.parameters.gap
        variance = np.asarray(self.variance(n, np.clip(counts / n, 0.0, 1.0)))
        null, joint = math.sqrt(float(self.variance(n, 0.0))), self._joint(counts, n)
        return Estimates(counts, np.sqrt(variance), n, null, law=self.law(n), joint=joint)

    def _joint(self, counts: npt.NDArray[np.float64], n: int) -> Joint | None:
        """Return how the errors of the counts depend on each other, if that is known."""
        return None if self.pairs is None else PairsOf(n, self.pairs)

    def law(self, n: int) -> SupportLaw:
        return SupportLaw(n, self.parameters.exact_p, self.parameters.exact_q)

    def variance(self, n: int, share: Share = 0.0) -> Share:
        """Return the exact variance of an estimated count among ``n`` people.

        At a true share of 0 it is the paper's approximation Var*. [eq:absvar_exact] [eq:absvar]
        """
        return self.parameters.variance(n, share)


class CountedPure(Pure, Closed, Counted, abstract=True):
    """A pure protocol over a closed domain whose tally is the support count of each value."""

    @property
    def _footprint(self) -> validation.Footprint:
        return validation.Footprint(self.domain_size)

    def _support(self, statistic: Statistic, chosen: Chosen) -> npt.NDArray[np.int64]:
        return of_form(statistic, Counts).values
