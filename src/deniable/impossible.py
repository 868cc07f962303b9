"""Impossible reports: those that no honest people can have sent, whatever they answered.

The reports of a source are told by *groups*: all of them or, of ``Views``, those of each view. A
group has cells, which are answers, points of sets, cells of a table or levels, and each report
supports some of them.

supports  An honest report supports a cell with a chance from q* to p*, so that the supports of a
          cell are within the tails of Bin(n, q*) and Bin(n, p*) (Chernoff's bound).
number    It supports as many cells in the mean whatever the answer is, and the sum over all
          reports is near that (Bernstein's inequality). This is not looked at view by view.
lots      Honest devices draw the view by its lot, whatever the answer is (Chernoff's bound).
function  Its public function is uniform, so that none comes too often.

All these together call honest people impossible once in a million days.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from deniable.law.normal import Floats
from deniable.protocol import Closed, Protocol, Pure
from deniable.protocols.levels import Levels
from deniable.protocols.sets import Sets
from deniable.protocols.views import Views
from deniable.randomness import WORD
from deniable.statistics import Counts
from deniable.tally import Tally

_NEVER = 1e-6
"""The chance that honest people look impossible on a day."""
_MOST_ANSWERS = 1024
"""With more answers the number of answers that reports support is not looked at."""
_DRAWN = 1 << 14
_MOST_CELLS = 1 << 16
"""Views with more cells are not compared, cell by cell and source by source."""


@dataclass(frozen=True)
class Suspicion:
    """Why a source is suspected.

    ``answer`` is the place of the cell that has too many supports, if it is about one, ``extra``
    about how many reports explain it at least, and ``chance`` how likely honest people are to
    differ as much, before any correction.
    """

    source: str
    kind: str
    """``supports``, ``number``, ``lots`` or ``function`` if impossible, else ``different``."""
    answer: int | None
    extra: int
    chance: float

    @property
    def impossible(self) -> bool:
        """Whether no honest people can have sent the reports, whatever they answered."""
        return self.kind != "different"


@dataclass(frozen=True, eq=False)
class Group:
    """Reports of one kind: how many there are, and how many of them support each cell."""

    n: int
    supports: Floats
    p: float
    q: float
    pure: Pure | None = None
    """Whose number of supports is looked at."""
    lot: float = 1.0
    """The chance that a report is of this kind."""


def groups_of(tally: Tally) -> tuple[Group, ...]:
    """Return the reports of a tally by groups; none where they have no supports."""
    protocol, n = tally.protocol, tally.n
    if isinstance(protocol, Views):
        if not comparable(protocol):
            return ()
        every = zip(protocol.protocols or (), protocol.lots or (), strict=True)
        told = zip(every, protocol.counted(tally), strict=True)
        return tuple(
            Group(own, counts.astype(np.float64), *_chances(part), lot=int(lot) / WORD)
            for (part, lot), (own, counts) in told
        )
    if isinstance(protocol, Sets):
        statistic = tally.statistic
        if not isinstance(statistic, Counts):
            return ()
        return (Group(n, statistic.values.astype(np.float64), *_chances(protocol), protocol),)
    if isinstance(protocol, Pure) and isinstance(protocol, Closed):
        known, counts = protocol.parameters, protocol.estimate(tally).unbiased_counts
        supports = np.rint(counts * known.gap + n * known.q)
        return (Group(n, supports, known.p, known.q, protocol),)
    return ()


def _chances(part: Pure | Levels) -> tuple[float, float]:
    if isinstance(part, Levels):
        p, q = map(float, part._weights.shares)
        return p, q
    return part.parameters.p, part.parameters.q


def comparable(protocol: Protocol) -> bool:
    """Tell whether the tallies of sources say anything of whether they are honest and alike."""
    if isinstance(protocol, Sets):
        nothing = np.empty(0, dtype=protocol.report_dtype)
        return isinstance(protocol.tally(nothing).statistic, Counts)
    if isinstance(protocol, Views):
        return sum(part.value_count for part in protocol.protocols or ()) <= _MOST_CELLS
    return isinstance(protocol, Pure)


def impossible(
    source: str, tally: Tally, groups: Sequence[Group], sources: int
) -> Iterator[Suspicion]:
    """Find what no answers explain in what one of some sources sent."""
    start = 0
    for group in groups:
        if group.n:
            yield from _by_supports(group, source, start, sources * len(groups))
        start += len(group.supports)
    if len(groups) > 1:
        yield from _by_lots(groups, source, tally.n, sources)
    elif isinstance(tally.protocol, Pure):
        yield from _by_functions(tally.protocol, source, tally, sources)


def _by_supports(group: Group, source: str, start: int, sources: int) -> Iterator[Suspicion]:
    """Find supports that no answers explain: of one cell, or of all cells together."""
    supports, n, d = group.supports, group.n, len(group.supports)
    enough = math.log(_NEVER / (3 * sources))
    for chance, sign in ((group.p, 1), (group.q, -1)):
        logs = _chernoff(supports, n, chance)
        logs[sign * (supports - n * chance) <= 0] = 0.0
        place = int(np.argmin(logs))
        if logs[place] < enough - math.log(2 * d):
            each = 1 - chance if sign > 0 else chance
            extra = abs(supports[place] - n * chance) / max(each, 1e-9)
            chances = math.exp(logs[place])
            yield Suspicion(source, "supports", start + place, math.ceil(extra), chances)
    pure = group.pure
    if pure is None or d > _MOST_ANSWERS:
        return
    held = pure.at_most if isinstance(pure, Sets) else 1
    mean = held * group.p + (d - held) * group.q
    off, most = float(supports.sum()) - n * mean, max(mean, d - mean)
    if abs(off) <= 1:
        return
    # The variance was drawn, which is as near as this by far; that of sets may depend on the set.
    spread = (1.1 if held == 1 else 2.0) * n * _spread(pure, d)
    log = -(off**2) / (2 * (spread + most * abs(off) / 3))
    if log < enough + math.log(1 / 2):
        each = d - mean if off > 0 else mean
        yield Suspicion(source, "number", None, math.ceil(abs(off) / each), math.exp(log))


def _by_lots(groups: Sequence[Group], source: str, n: int, sources: int) -> Iterator[Suspicion]:
    """Find a view of which too many reports tell, or too few."""
    logs = [float(_chernoff(np.array([float(g.n)]), n, g.lot)[0]) for g in groups]
    place = int(np.argmin(logs))
    if logs[place] < math.log(_NEVER / (3 * sources)) - math.log(2 * len(groups)):
        extra = math.ceil(abs(groups[place].n - n * groups[place].lot))
        yield Suspicion(source, "lots", None, extra, math.exp(logs[place]))


def _by_functions(protocol: Pure, source: str, tally: Tally, sources: int) -> Iterator[Suspicion]:
    """Find a public function that too many reports have, all functions being equally likely."""
    functions = protocol.functions(tally.statistic)
    if functions is None or not len(functions.counts):
        return
    most = float(functions.counts.max())
    log = float(_chernoff(np.array([most]), tally.n, functions.chance)[0])
    log -= math.log(functions.chance)  # that of any function
    if most > tally.n * functions.chance and log < math.log(_NEVER / (3 * sources)):
        extra = math.ceil(most - tally.n * functions.chance)
        yield Suspicion(source, "function", None, extra, math.exp(log))


def _chernoff(counts: Floats, n: int, chance: float) -> Floats:
    """Return the logarithm of a bound of the tail of Bin(n, chance) at counts, on either side."""
    x, rest = counts, n - counts
    with np.errstate(divide="ignore", invalid="ignore"):
        yes = np.where(x > 0, x * np.log(x / (n * chance)), 0.0)
        no = np.where(rest > 0, rest * (np.log(rest / n) - math.log1p(-min(chance, 1 - 1e-15))), 0)
    return np.asarray(-(yes + no))


@lru_cache(maxsize=32)
def _spread(protocol: Pure, size: int) -> float:
    """Return the variance of how many cells an honest report supports, by drawing some."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, min(protocol.value_count, 1 << 63), _DRAWN, dtype=np.uint64)
    reports = protocol.privatize(protocol.numbered(values), rng)
    numbers = np.zeros(_DRAWN, dtype=np.int64)
    for cell in range(size):
        numbers += protocol.supports(reports, cell)
    return float(numbers.var())
