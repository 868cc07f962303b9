"""Poisoning: which sources sent reports that honest people like the others would not have sent.

Two things can be told from the tallies of one day, one tally for each source:

Impossible   the reports of a source support far more, or far fewer, answers than honest ones do.
             How many answers an honest report supports has the same mean whatever people answer,
             p* + (d - 1) q*, so that this is about no population at all.
Different    an answer has more supports at a source than its share at all others explains, by
             Fisher's exact test, one-sided: crafted reports raise an answer. People may differ too,
             which only somebody who knows the source can tell.

The tests of one day are corrected together: with honest people of one population at all sources, a
day has a false alarm with probability of at most ``ALPHA``.

What goes unseen: reports that are spread evenly over all sources, since these are then alike; an
anonymous crowd, which is one source; and so few that they do not exceed the noise. A crafted report
that supports its answer and is drawn like an honest one otherwise is no impossible one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from deniable.law.difference import fisher_tail
from deniable.protocol import Closed, Pure
from deniable.tally import Tally

ALPHA = 0.01
"""The chance of a false alarm on a day."""
_ERRORS = 6.0
"""So many standard errors from its mean the number of supports is impossible: once in 10^8 days."""
_MOST_ANSWERS = 1024
_DRAWN = 1 << 16
_FEWEST = 30
"""Sources with fewer reports are not judged."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Suspicion:
    """Why a source is suspected: ``answer`` is the place of the one that it raises, if any."""

    source: str
    answer: int | None
    extra: int
    """About how many reports explain the difference."""
    chance: float
    """How likely honest people are to differ as much, before any correction."""

    @property
    def impossible(self) -> bool:
        """Whether no honest people can have sent the reports, whatever they answered."""
        return self.answer is None


def suspects(tallies: Mapping[str, Tally], alpha: float = ALPHA) -> tuple[Suspicion, ...]:
    """Return the sources of one day that stand out, the surest first.

    The tallies are of one question over a closed domain, with p* and q*; others have no suspects.
    """
    judged = {name: tally for name, tally in tallies.items() if tally.n >= _FEWEST}
    protocols = {tally.protocol for tally in judged.values()}
    protocol = next(iter(protocols), None)
    if len(protocols) != 1 or not isinstance(protocol, Pure) or not isinstance(protocol, Closed):
        return ()
    supports = {name: _supports(protocol, tally) for name, tally in judged.items()}
    people = {name: tally.n for name, tally in judged.items()}
    found = _impossible(protocol, supports, people) + _different(supports, people, alpha)
    return tuple(sorted(found, key=lambda each: (not each.impossible, each.chance)))


def _supports(protocol: Pure, tally: Tally) -> Floats:
    """Return how many reports support each answer, from the counts that they lead to."""
    known, counts = protocol.parameters, protocol.estimate(tally).counts
    return np.rint(counts * known.gap + tally.n * known.q)


def _different(
    supports: Mapping[str, Floats], people: Mapping[str, int], alpha: float
) -> list[Suspicion]:
    """Test each answer at each source against all other sources; name the surest of a source."""
    if len(supports) < 2:
        return []
    total, n = np.sum(list(supports.values()), axis=0), sum(people.values())
    found = []
    for source, mine in supports.items():
        rest = n - people[source]
        tails = fisher_tail(mine, people[source], total - mine, rest)
        place = int(tails.argmin())
        if tails[place] < alpha / (len(supports) * len(mine)):
            share = (total[place] - mine[place]) / rest
            extra = (mine[place] - people[source] * share) / max(1 - share, 1e-9)
            found.append(Suspicion(source, place, max(1, round(extra)), float(tails[place])))
    return found


def _impossible(
    protocol: Pure, supports: Mapping[str, Floats], people: Mapping[str, int]
) -> list[Suspicion]:
    """Test how many answers the reports of each source support in all."""
    size = len(next(iter(supports.values()), ()))
    if not 0 < size <= _MOST_ANSWERS:
        return []
    known, variance = protocol.parameters, _spread(protocol, size)
    mean = known.p + (size - 1) * known.q
    found = []
    for source, mine in supports.items():
        off = float(mine.sum()) - people[source] * mean
        error = (people[source] * variance) ** 0.5
        if abs(off) > max(_ERRORS * error, 1.0):  # reports may all support as many answers
            each = size - mean if off > 0 else max(mean - 1, 1.0)
            chance = 2 * NormalDist().cdf(-_ERRORS)
            found.append(Suspicion(source, None, max(1, round(abs(off) / each)), chance))
    return found


@lru_cache(maxsize=32)
def _spread(protocol: Pure, size: int) -> float:
    """Return the variance of how many answers an honest report supports, by drawing some."""
    rng = np.random.default_rng(0)
    reports = protocol.privatize(rng.integers(0, size, _DRAWN), rng)
    numbers = np.zeros(_DRAWN, dtype=np.int64)
    for value in range(size):
        numbers += protocol.supports(reports, value)
    return float(numbers.var())
