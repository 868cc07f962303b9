"""Poisoning: which sources sent reports that honest people like the others would not have sent.

It is told from the tallies of one day, one for each source, and an alarm says which of two it is.

Impossible   No honest people can have sent these reports, whatever they answered. An honest report
             supports an answer with a chance from q* to p*, so that the supports of an answer are
             within the tails of Bin(n, q*) and Bin(n, p*) (Chernoff's bound). It supports
             p* + (d - 1) q* answers in the mean, for every answer, and the sum over a source's
             reports is near that (Bernstein's inequality). Its public function is uniform, so that
             none comes too often. All these together: once in a million days.
Different    An answer has more supports at a source than at all others together, by Fisher's exact
             test. People may differ too, which only somebody who knows the source can tell.

The others of one day are not many: their noise alone hides some of the crafted reports. So what the
others sent on earlier days is added to them, as far as they answer today as they did then. Of n
reports of today and b of before, an answer's shares differ by z of their standard errors; what the
mean of z^2 over all answers has above 1, and each z^2 above 4, is taken for a change of people,
whose variance divides the weight of the earlier reports (DerSimonian and Laird 1986). They never
count for more than ``_MOST_EARLIER`` times those of today, so that a change too small to be seen
moves the limits by less than their own noise.

All sources and answers of a day are corrected together. With honest people of one population at all
sources, a day has a false alarm of the second kind with probability of at most ``ALPHA``.

The correction gives each answer a part of ALPHA, which may depend on all reports together but not
on who sent them: given these, the test of each answer is exact. Most of ALPHA is divided so that
the same number of crafted reports is found whichever answer they are for; an equal division would
find fewer of those for a common answer, whose noise is larger. The rest is divided equally, so that
rare answers keep nearly the sensitivity that they have by themselves. ``smallest`` tells how many
crafted reports are found with a chance of 9 in 10.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from deniable.law.difference import fisher_tail
from deniable.law.normal import Floats, upper_normal
from deniable.protocol import Closed, Pure
from deniable.tally import Tally

ALPHA = 0.01
"""The chance of a false alarm on a day on which people are honest and sources alike."""
FEWEST = 30
"""Sources with fewer reports are not judged, though others are compared with them."""
_NEVER = 1e-6
"""The chance that honest people look impossible on a day."""
_EQUALLY = 0.05
"""How much of ALPHA all answers share equally."""
_POWER = 0.9
_MOST_EARLIER = 3
"""Earlier reports count for at most so many times those of the others on the day itself."""
_MOST_ANSWERS = 1024
"""With more answers the number of answers that reports support is not looked at."""
_DRAWN = 1 << 14


@dataclass(frozen=True)
class Suspicion:
    """Why a source is suspected.

    ``answer`` is the place of the answer that has too many supports, if it is about one, ``extra``
    about how many reports explain it at least, and ``chance`` how likely honest people are to
    differ as much, before any correction.
    """

    source: str
    kind: str
    """``supports``, ``number`` or ``function`` where it is impossible, else ``different``."""
    answer: int | None
    extra: int
    chance: float

    @property
    def impossible(self) -> bool:
        """Whether no honest people can have sent the reports, whatever they answered."""
        return self.kind != "different"


def suspects(
    tallies: Mapping[str, Tally],
    alpha: float = ALPHA,
    *,
    fewest: int = FEWEST,
    earlier: Mapping[str, Tally] | None = None,
) -> tuple[Suspicion, ...]:
    """Return the sources of one day that stand out, the impossible ones and the surest first.

    ``tallies`` are those of one question, by source; sources with ``fewest`` reports or more are
    judged, and named once. ``earlier`` are the tallies of days before, without those that stood
    out. Only pure protocols tell anything, and open ones only by the functions of their reports.

    >>> from deniable import OUE
    >>> protocol, rng = OUE(1.0, 4), np.random.default_rng(1)
    >>> shops = {name: protocol.tally(protocol.privatize([0, 1] * 500, rng)) for name in "ab"}
    >>> suspects(shops)
    ()
    >>> shops["c"] = protocol.tally(protocol.privatize([3] * 1000, rng))
    >>> [(found.source, found.answer, found.impossible) for found in suspects(shops)]
    [('c', 3, False)]
    """
    sent = {name: tally for name, tally in tallies.items() if tally.n}
    protocol = next((tally.protocol for tally in sent.values()), None)
    if not isinstance(protocol, Pure):
        return ()
    judged = [name for name, tally in sent.items() if tally.n >= fewest]
    found = [s for name in judged for s in _by_functions(protocol, name, sent[name], len(judged))]
    if isinstance(protocol, Closed):
        supports = {name: _supports(protocol, tally) for name, tally in sent.items()}
        for name in judged:
            found += _by_supports(protocol, name, supports[name], sent[name].n, len(judged))
        broken = {each.source for each in found}
        people = {name: tally.n for name, tally in sent.items() if name not in broken}
        before = {name: (_supports(protocol, t), t.n) for name, t in (earlier or {}).items()}
        found += _different(supports, people, _Limits(fewest, alpha, before))
    kept: dict[str, Suspicion] = {}
    for each in sorted(found, key=lambda each: (not each.impossible, each.chance)):
        kept.setdefault(each.source, each)
    return tuple(kept.values())


def smallest(tallies: Mapping[str, Tally], alpha: float = ALPHA) -> dict[str, int]:
    """Return of each source how many crafted reports for one answer are found with a power of 0.9.

    Crafted are reports that all support that answer, and are like honest ones otherwise.
    """
    sent = {name: tally for name, tally in tallies.items() if tally.n}
    judged = [name for name, tally in sent.items() if tally.n >= FEWEST]
    protocol = next((tally.protocol for tally in sent.values()), None)
    if len(sent) < 2 or not isinstance(protocol, Pure) or not isinstance(protocol, Closed):
        return {}
    total = np.sum([_supports(protocol, tally) for tally in sent.values()], axis=0)
    n = sum(tally.n for tally in sent.values())
    _, reach = _division(total / n, alpha / max(1, len(judged)))
    return {
        name: math.ceil(reach * math.sqrt(m * n / (n - m)))
        for name, m in ((name, sent[name].n) for name in judged)
    }


def _supports(protocol: Pure, tally: Tally) -> Floats:
    """Return how many reports support each answer, from the counts that they lead to."""
    known, counts = protocol.parameters, protocol.estimate(tally).unbiased_counts
    return np.rint(counts * known.gap + tally.n * known.q)


class _Limits(NamedTuple):
    """Who is judged, how surely, and what was sent before: supports and reports by source."""

    fewest: int
    alpha: float
    before: Mapping[str, tuple[Floats, int]]


def _different(
    supports: Mapping[str, Floats], people: Mapping[str, int], limits: _Limits
) -> Iterator[Suspicion]:
    """Name the sources that differ from the others, the surest first.

    The others are then compared without it, or a flood at one source would make all of them seem to
    lack it. False alarms do not become likelier: there is a second one only after a first.
    """
    left = dict(people)
    while (found := _surest(supports, left, limits)) is not None:
        yield found
        del left[found.source]


def _surest(
    supports: Mapping[str, Floats], people: Mapping[str, int], limits: _Limits
) -> Suspicion | None:
    """Test each answer at each source against all other sources, and return the surest finding."""
    n, judged = sum(people.values()), [name for name, m in people.items() if m >= limits.fewest]
    judged = [name for name in judged if n - people[name] >= FEWEST]
    if not judged:
        return None
    total = np.sum([supports[name] for name in people], axis=0)
    parts, _ = _division(total / n, limits.alpha / len(judged))
    mine = np.array([supports[name] for name in judged])
    m = np.array([[float(people[name])] for name in judged])
    others, size = _with_earlier(total - mine, n - m, limits.before, judged)
    cells = (np.broadcast_to(part, mine.shape).ravel() for part in (mine, m, others, size))
    tails = fisher_tail(*cells).reshape(mine.shape)
    ratings = tails / parts
    place = int(np.argmin(ratings))
    if ratings.flat[place] >= 1:
        return None
    row, answer = divmod(place, mine.shape[1])
    share = float(others[row, answer] / size[row, answer])
    extra = (mine[row, answer] - m[row, 0] * share) / max(1 - share, 1e-9)
    chance = float(tails.flat[place])
    return Suspicion(judged[row], "different", answer, max(1, round(extra)), chance)


def _with_earlier(
    others: Floats, n: Floats, before: Mapping[str, tuple[Floats, int]], judged: Sequence[str]
) -> tuple[Floats, Floats]:
    """Return the supports and the numbers of the others' reports, with those of days before.

    There is a row for each source that is judged, whose own reports are left out.
    """
    if not before:
        return others, np.broadcast_to(n, others.shape)
    none = np.zeros(others.shape[1]), 0
    own = [before.get(name, none) for name in judged]
    then = np.sum([each for each, _ in before.values()], axis=0) - [each for each, _ in own]
    b = np.array([[sum(size for _, size in before.values()) - size] for _, size in own], float)
    b = b.clip(1e-9)  # of one source alone there is nothing to add
    shares = ((others + then) / (n + b)).clip(1e-9, 1 - 1e-9)
    noise = 1 / n + 1 / b
    squares = (others / n - then / b) ** 2 / (shares * (1 - shares) * noise)
    common = (squares.mean(axis=1, keepdims=True) - 1).clip(0)
    moved = np.maximum(squares - 4, common)
    added = np.rint(np.minimum(_MOST_EARLIER * n, 1 / (1 / b + moved * noise)))
    return others + np.rint(added * then / b), n + added


def _division(shares: Floats, alpha: float) -> tuple[Floats, float]:
    """Divide ``alpha`` among the answers, by the shares of all reports that support them.

    f m crafted reports among m move the supports of an answer by f sqrt(m) h of its standard
    errors, h = sqrt((1 - s) / s). So that each is found with the same power, an answer is tested
    beyond r h - z, and r is such that the tails add up. Also return r, which is f sqrt(m) but for
    the noise of the other sources.
    """
    inside = shares.clip(1e-9, 1 - 1e-9)
    heights, z = np.sqrt((1 - inside) / inside), upper_normal(1 - _POWER)

    def tails(reach: float) -> Floats:
        limits = (reach * heights - z).clip(0)
        # Birnbaum's bound of the normal tail: good enough to divide by, since parts add up anyhow.
        return np.asarray(0.8 * np.exp(-(limits**2) / 2) / (limits + np.sqrt(limits**2 + 4)))

    low, high = 0.0, 100.0 / float(heights.min())
    for _ in range(60):
        reach = (low + high) / 2
        low, high = (reach, high) if tails(reach).sum() > alpha else (low, reach)
    parts = tails(high)
    evenly = np.full(len(parts), 1 / len(parts))
    return alpha * ((1 - _EQUALLY) * parts / parts.sum() + _EQUALLY * evenly), high


def _by_supports(
    protocol: Pure, source: str, supports: Floats, n: int, sources: int
) -> Iterator[Suspicion]:
    """Find supports that no answers explain: of one answer, or of all answers together."""
    known, d = protocol.parameters, len(supports)
    enough = math.log(_NEVER / (3 * sources))
    for chance, sign in ((known.p, 1), (known.q, -1)):
        logs = _chernoff(supports, n, chance)
        logs[sign * (supports - n * chance) <= 0] = 0.0
        place = int(np.argmin(logs))
        if logs[place] < enough - math.log(2 * d):
            each = 1 - chance if sign > 0 else chance
            extra = abs(supports[place] - n * chance) / max(each, 1e-9)
            yield Suspicion(source, "supports", place, math.ceil(extra), math.exp(logs[place]))
    if d > _MOST_ANSWERS:
        return
    mean = known.p + (d - 1) * known.q
    off, most = float(supports.sum()) - n * mean, max(mean, d - mean)
    # The variance was drawn, which is as near as this by far.
    spread = 1.1 * n * _spread(protocol, d)
    log = -(off**2) / (2 * (spread + most * abs(off) / 3)) if abs(off) > 1 else 0.0
    if log < enough + math.log(1 / 2):
        each = d - mean if off > 0 else mean
        yield Suspicion(source, "number", None, math.ceil(abs(off) / each), math.exp(log))


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
    """Return the variance of how many answers an honest report supports, by drawing some."""
    rng = np.random.default_rng(0)
    reports = protocol.privatize(np.arange(_DRAWN) % size, rng)
    numbers = np.zeros(_DRAWN, dtype=np.int64)
    for value in range(size):
        numbers += protocol.supports(reports, value)
    return float(numbers.var())
