"""Audit: prove or measure the epsilon of any protocol, from the code that clients run.

``audit`` treats ``privatize`` as a black box and judges the call that clients make,
``privatize([one answer])``. Where the randomness can be replayed it

1. replays the same random words through single calls, batches of 2, a few and many, in any order
   and in fresh copies: every report must be the same, byte for byte;
2. finds where the report changes as the words vary, and so enumerates the exact law of the reports
   and the worst likelihood ratio;
3. draws reports as clients do, without replaying, and tests them against that law.

A difference anywhere is a failure, whatever the law says. What cannot be enumerated is measured
from samples, which gives a lower bound on epsilon. The result says what was proved, what was
sampled, and how rare a leak could still have escaped.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from deniable.auditing.bounds import exceptional_bound, sampled_bound
from deniable.auditing.calls import calls_of_each, check_draws, check_replays, single_calls
from deniable.auditing.enumeration import find_models
from deniable.auditing.probe import Broken, Bytes, NotEnumerable, Privatizer, Probe, Values
from deniable.auditing.report_law import Law, Model, detectable, worst_pair
from deniable.candidates import FINGERPRINTS
from deniable.randomness import log_above
from deniable.validation import check_whole

_MANY_VALUES, _SOME_VALUES, _FEW_VALUES, _LEAST_VALUES = 64, 16, 8, 4
_MOST_WORDS = 4096
_WIDEST = 1 << 17
_LARGE = 4096
_ENOUGH = 50_000
_SAMPLE_BYTES = 1 << 26
_NOT_REPLAYED = ("it does not say how it makes reports from random words", "its calls differ")


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    ``exact`` tells whether ``epsilon`` was computed from enumerated laws, and ``complete`` whether
    these were the laws of all values and hash functions: then it is the privacy loss itself.
    Computed from some of them it is a lower bound; from samples it is a lower bound that is wrong
    with probability of at most 1e-6. ``worst_ratio`` is exact or None; ``witness`` is the pair of
    values that are easiest to tell apart.

    ``proved`` and ``sampled`` say in sentences what each rests on, ``failures`` what makes the
    protocol BROKEN besides its epsilon: calls that differ where they must not. ``resolution`` is
    the smallest chance of leaving the law that a single call can have and be seen with a
    probability of 99 %; what happens more rarely may have escaped.
    """

    epsilon: float
    claimed: float
    exact: bool
    worst_ratio: Fraction | None
    witness: tuple[int, int]
    detail: str
    complete: bool = False
    failures: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()
    sampled: tuple[str, ...] = ()
    resolution: float = 1.0

    @property
    def holds(self) -> bool:
        """Whether the protocol does what it claims, as far as the audit can tell."""
        return self.epsilon <= self.claimed and not self.failures

    def __str__(self) -> str:
        kind = "exactly" if self.complete else "at least"
        passed = "holds" if self.complete else "no violation found"
        verdict = passed if self.holds else "BROKEN"
        found, claimed = f"{self.epsilon:.12g}", f"{self.claimed:.12g}"
        first = f"{verdict}: epsilon is {kind} {found}, claimed {claimed} ({self.detail})"
        parts = (("failed", self.failures), ("proved", self.proved), ("sampled", self.sampled))
        lines = [f"  {name}: {text}" for name, texts in parts for text in texts]
        return "\n".join([first, *lines])


def audit(
    protocol: Privatizer,
    *,
    calls: int = 8192,
    samples: int = 200_000,
    rng: "np.random.Generator | None" = None,
) -> Audit:
    """Audit a protocol: by enumeration where that is possible, and from samples.

    An honest protocol fails with a chance of at most 1e-6. ``calls`` single calls are made of each
    value, fewer where there are many values or words: about 4.6 / calls is the smallest leak that
    they cannot miss. ``rng`` makes the choice of words and values repeatable; calls as clients make
    them still take the operating system's randomness. Where the law cannot be enumerated,
    ``samples`` reports measure epsilon.

    >>> from deniable import DE
    >>> found = audit(DE(epsilon=1.0, domain_size=3))
    >>> found.exact, found.holds, found.epsilon == DE(1.0, 3).realised_epsilon
    (True, True, True)
    """
    check_whole("samples", samples, 1000, 10**18)
    check_whole("calls", calls, 32, 10**18)
    probe = Probe(protocol, np.random.default_rng() if rng is None else rng, calls)
    return _Examination(probe, samples).result()


def output_law(protocol: Privatizer, value: int) -> Law:
    """Return the exact law of the reports of one value, on a small domain."""
    probe = Probe(protocol, np.random.default_rng(20170816))
    models, reason = find_models(probe, np.array([value], dtype=np.uint64))
    if reason is not None:
        raise NotEnumerable(reason)
    return models[0][0].law()


class _Examination:
    """One audit: what is known so far, what failed, and the sentences about both."""

    def __init__(self, probe: Probe, samples: int) -> None:
        self.probe, self.samples = probe, samples
        self.values = _some_values(probe)
        self.failures = [] if probe.broken is None else [probe.broken]
        self.proved: list[str] = []
        self.sampled: list[str] = []

    def result(self) -> Audit:
        replayed = self.probe.replayable and self._replay()
        models, reason = self._enumerate() if replayed else ([], _NOT_REPLAYED[bool(self.failures)])
        laws = [[model.law() for model in each] for each in models]
        exact = reason is None
        found = self._exact(laws) if exact else None
        # A protocol whose enumerated law spends too much is broken: no need to draw.
        if not self.failures and (found is None or found.holds):
            self._draw(laws[0] if exact and len(laws) == 1 else None)
        if found is None:
            found = self._measured(models, reason or "")
        if exact and self.failures:
            # The enumerated map is not what every call does: measure the calls themselves.
            bound, witness = self._sampled_bound()
            if bound > found.epsilon:
                found = replace(found, epsilon=bound, witness=witness, worst_ratio=None)
            found = replace(found, exact=False, complete=False)
        self.probe.advance(1.0)
        return replace(
            found,
            failures=tuple(self.failures),
            proved=tuple(self.proved),
            sampled=tuple(self.sampled),
            resolution=self._resolution(replayed=replayed),
        )

    def _replay(self) -> bool:
        """Compare every way of calling on the same words, and tell whether they agree."""
        try:
            check_replays(self.probe, self.values)
        except Broken as reason:
            self.failures.append(str(reason))
            return False
        calls = calls_of_each(self.probe, len(self.values))
        copies = " and in fresh copies" if self.probe.fresh else ""
        once = 1 / self._resolution(replayed=True)
        self.sampled.append(
            f"the same random words gave the same bytes in {calls:,} single calls each for "
            f"{self._of_values(self.values)}, in batches{copies}; a call that differs once in "
            f"{once:,.0f} times is seen with 99 % chance"
        )
        return True

    def _enumerate(self) -> tuple[list[list[Model]], str | None]:
        if self.probe.count > _MOST_WORDS:
            return [], "a report takes too many random words"
        values = self.values[: _affordable(self.probe)]
        try:
            models, reason = find_models(self.probe, values)
        except NotEnumerable as not_enumerable:
            return [], str(not_enumerable)
        self.probe.advance(0.2)
        return models, reason

    def _draw(self, laws: list[Law] | None) -> None:
        """Compare what clients draw with the law, or with a large sample."""
        values = self.values[: len(laws) if laws else _SOME_VALUES]
        try:
            check_draws(self.probe, values, laws)
        except Broken as reason:
            self.failures.append(str(reason))
            return
        calls = single_calls(self.probe, len(values))
        against = "the enumerated law" if laws else "a sample of large batches"
        self.sampled.append(
            f"{calls:,} single calls each for {self._of_values(values)} with the operating "
            f"system's randomness, and small and large batches, agree with {against}; an event "
            f"whose chance is off by {detectable(calls):.2g} is seen with 99 % chance"
        )

    def _exact(self, laws: list[list[Law]]) -> Audit:
        values, claimed = self.values[: len(laws[0])].tolist(), self.probe.protocol.epsilon
        ratio, pair = Fraction(1), (0, 0)
        for each in laws:
            found, (first, second) = worst_pair(each)
            if found is None:
                witness = (values[first], values[second])
                detail = "some report of the first value is impossible under the second"
                return Audit(math.inf, claimed, True, None, witness, detail, complete=True)
            if found > ratio:
                ratio, pair = found, (first, second)
        given = f", given each of {len(laws)} hash functions" if len(laws) > 1 else ""
        every = len(values) == self.probe.domain_size
        self.proved.append(
            "the map from random words to reports, and so the law of the reports, for "
            f"{self._of_values(self.values[: len(values)])}{given}"
        )
        return Audit(
            log_above(ratio),
            claimed,
            True,
            ratio,
            (values[pair[0]], values[pair[1]]),
            f"all reports of {len(values)} values enumerated{given}",
            complete=every and len(laws) == 1,
        )

    def _measured(self, models: list[list[Model]], reason: str) -> Audit:
        claimed, (bound, witness) = self.probe.protocol.epsilon, (0.0, (0, 0))
        if models and models[-1]:
            bound, witness = exceptional_bound(self.probe, models[-1])
        if bound <= claimed:
            bound, witness = max((bound, witness), self._sampled_bound())
        detail = f"from {self.samples} samples, because {reason}"
        return Audit(bound, claimed, False, None, witness, detail)

    def _sampled_bound(self) -> tuple[float, tuple[int, int]]:
        """Return the larger of the bounds from batches and from single calls."""
        # After a failure the bound is only for the record, and need not be tight.
        samples = min(self.samples, _ENOUGH) if self.failures else self.samples
        probe, values = self.probe, self.values
        calls = min(samples // 6, len(values) * single_calls(probe, len(values)))
        most = _SAMPLE_BYTES // probe.draw([0], None).shape[1]

        def draw_singles(value: int, count: int) -> Bytes:
            return np.concatenate([probe.draw([value], None) for _ in range(count)])

        def draw_batch(value: int, count: int) -> Bytes:
            some = np.full(max(100, min(count, most)), value, dtype=np.uint64)
            return probe.draw(some, probe.generator)

        return max(
            sampled_bound(probe, values, draw_singles, calls),
            sampled_bound(probe, values, draw_batch, samples),
        )

    def _resolution(self, *, replayed: bool) -> float:
        if not replayed:
            return detectable(single_calls(self.probe, min(len(self.values), _SOME_VALUES)))
        return float(1 - 0.01 ** (1 / calls_of_each(self.probe, len(self.values))))

    def _of_values(self, values: Values) -> str:
        if len(values) == self.probe.domain_size:
            return f"all {len(values)} values"
        if self.probe.domain_size == FINGERPRINTS:
            return f"{len(values)} fingerprints"
        return f"{len(values)} of {self.probe.domain_size:,} values"


def _affordable(probe: Probe) -> int:
    """Return the most values to enumerate: all of a small domain, few where each costs much."""
    d = probe.domain_size
    if probe.public:
        return _SOME_VALUES if d <= _SOME_VALUES else _FEW_VALUES
    size: int = probe.draw([0], None).shape[1]
    most = max(_LEAST_VALUES, min(_MANY_VALUES, _WIDEST // (probe.count * size)))
    return min(most, _FEW_VALUES) if _LARGE < d < FINGERPRINTS else most


def _some_values(probe: Probe) -> Values:
    """Return all values of a small domain, or the first, the last and some between them."""
    d = probe.domain_size
    if d <= _MANY_VALUES:
        return np.arange(d, dtype=np.uint64)
    drawn = probe.generator.integers(1, d - 1, 4 * _SOME_VALUES, dtype=np.uint64)
    between = list(dict.fromkeys(drawn.tolist()))[: _SOME_VALUES - 2]
    return np.array([0, d - 1, *between], dtype=np.uint64)
