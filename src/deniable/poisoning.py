"""Poisoning: which sources sent reports that honest people like the others would not have sent.

It is told from the tallies of one day, one for each source, and an alarm says which of two it is.

Impossible   No honest people can have sent these reports, whatever they answered
             (``deniable.impossible``): once in a million days.
Different    An answer has more supports at a source than at all others together, by Fisher's exact
             test. People may differ too, which only somebody who knows the source can tell.

Of sets an answer is an item, or a dummy that tells sizes. Of records and numbers it is a cell of a
view, and its supports are compared among the reports of that view: given who drew it, the supports
of honest people of one population are independent draws there as well.

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
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from deniable.impossible import Group, Suspicion, groups_of, impossible
from deniable.law.difference import fisher_tail
from deniable.law.normal import Floats, upper_normal
from deniable.tally import Tally

ALPHA = 0.01
"""The chance of a false alarm on a day on which people are honest and sources alike."""
FEWEST = 30
"""Sources with fewer reports are not judged, though others are compared with them."""
_EQUALLY = 0.05
"""How much of ALPHA all answers share equally."""
_POWER = 0.9
_MOST_EARLIER = 3
"""Earlier reports count for at most so many times those of the others on the day itself."""


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
    out. Pure protocols and ``Views`` tell something, and open ones only by the functions of their
    reports.

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
    groups = {name: groups_of(tally) for name, tally in sent.items()}
    judged = [name for name, tally in sent.items() if tally.n >= fewest]
    found = [s for x in judged for s in impossible(x, sent[x], groups[x], len(judged))]
    broken = {each.source for each in found}
    left = {x: _Cells.of_groups(some) for x, some in groups.items() if some and x not in broken}
    before = {x: _Cells.of_groups(groups_of(t)) for x, t in (earlier or {}).items() if t.n}
    found += _different(left, _Limits(fewest, alpha, before))
    kept: dict[str, Suspicion] = {}
    for each in sorted(found, key=lambda each: (not each.impossible, each.chance)):
        kept.setdefault(each.source, each)
    return tuple(kept.values())


def smallest(tallies: Mapping[str, Tally], alpha: float = ALPHA) -> dict[str, int]:
    """Return of each source how many crafted reports for one answer are found with a power of 0.9.

    Crafted are reports that all support that answer, and are like honest ones otherwise.
    """
    sent = {name: _Cells.of_groups(groups_of(tally)) for name, tally in tallies.items() if tally.n}
    judged = [name for name, cells in sent.items() if cells.n >= FEWEST]
    if len(sent) < 2 or not judged or not len(sent[judged[0]].supports):
        return {}
    total = _Cells.sum(sent.values())
    _, reach = _division(total.shares, alpha / len(judged), total.of / total.n)
    n = total.n
    return {
        name: math.ceil(reach * math.sqrt(m * n / (n - m)))
        for name, m in ((name, sent[name].n) for name in judged)
    }


class _Cells(NamedTuple):
    """Reports, of each cell how many support it, and how many are of its kind."""

    n: int
    supports: Floats
    of: Floats

    @classmethod
    def of_groups(cls, groups: Sequence[Group]) -> Self:
        each = [np.full(len(group.supports), float(group.n)) for group in groups]
        supports = [group.supports for group in groups]
        none = [np.empty(0)]
        of = np.concatenate(none + each)
        return cls(sum(g.n for g in groups), np.concatenate(none + supports), of)

    @classmethod
    def sum(cls, cells: Collection[Self]) -> Self:
        n, supports, of = (sum(column) for column in zip(*cells, strict=True))
        return cls(n, np.asarray(supports), np.asarray(of))

    @property
    def shares(self) -> Floats:
        """Of the reports of its kind the share that supports each cell."""
        return np.asarray(self.supports / self.of.clip(1))


class _Limits(NamedTuple):
    """Who is judged, how surely, and what was sent before, by source."""

    fewest: int
    alpha: float
    before: Mapping[str, _Cells]


def _different(sent: Mapping[str, _Cells], limits: _Limits) -> Iterator[Suspicion]:
    """Name the sources that differ from the others, the surest first.

    The others are then compared without it, or a flood at one source would make all of them seem to
    lack it. False alarms do not become likelier: there is a second one only after a first.
    """
    left = dict(sent)
    while (found := _surest(left, limits)) is not None:
        yield found
        del left[found.source]


def _surest(sent: Mapping[str, _Cells], limits: _Limits) -> Suspicion | None:
    """Test each answer at each source against all other sources, and return the surest finding."""
    n = sum(cells.n for cells in sent.values())
    judged = [x for x, cells in sent.items() if cells.n >= limits.fewest and n - cells.n >= FEWEST]
    if not judged:
        return None
    total = _Cells.sum(sent.values())
    parts, _ = _division(total.shares, limits.alpha / len(judged), total.of / n)
    mine, m = (np.array([sent[x][column] for x in judged]) for column in (1, 2))
    others, size = _with_earlier(total.supports - mine, total.of - m, limits.before, judged)
    told = (m > 0) & (size > 0)
    tails = np.ones(mine.shape)
    tails[told] = fisher_tail(*(cells[told] for cells in (mine, m, others, size)))
    ratings = tails / parts
    place = int(np.argmin(ratings))
    if ratings.flat[place] >= 1:
        return None
    row, answer = divmod(place, mine.shape[1])
    share = float(others[row, answer] / size[row, answer])
    extra = (mine[row, answer] - m[row, answer] * share) / max(1 - share, 1e-9)
    chance = float(tails.flat[place])
    return Suspicion(judged[row], "different", answer, max(1, round(extra)), chance)


def _with_earlier(
    others: Floats, n: Floats, before: Mapping[str, _Cells], judged: Sequence[str]
) -> tuple[Floats, Floats]:
    """Return the supports and the numbers of the others' reports, with those of days before.

    There is a row for each source that is judged, whose own reports are left out.
    """
    if not before:
        return others, n
    total, zero = _Cells.sum(before.values()), _Cells(0, np.zeros(others.shape[1]), np.zeros(1))
    own = [before.get(name, zero) for name in judged]
    then = total.supports - [each.supports for each in own]
    # Of one source alone, or of a view that nobody drew, there is nothing to add.
    b = np.array([np.broadcast_to(total.of - each.of, then[0].shape) for each in own]).clip(1e-9)
    now = n.clip(1e-9)
    shares = ((others + then) / (now + b)).clip(1e-9, 1 - 1e-9)
    noise = 1 / now + 1 / b
    squares = (others / now - then / b) ** 2 / (shares * (1 - shares) * noise)
    told = (n > 0) & (b > 1e-9)
    common = squares.sum(axis=1, keepdims=True, where=told) / told.sum(axis=1, keepdims=True).clip(
        1
    )
    moved = np.maximum(squares - 4, (common - 1).clip(0))
    added = np.rint(np.minimum(_MOST_EARLIER * n, 1 / (1 / b + moved * noise)))
    return others + np.rint(added * then / b), n + added


def _division(shares: Floats, alpha: float, drawn: Floats | float = 1.0) -> tuple[Floats, float]:
    """Divide ``alpha`` among the answers, by the shares of all reports that support them.

    f m crafted reports among m move the supports of an answer by f sqrt(m) h of its standard
    errors, h = sqrt((1 - s) / s). So that each is found with the same power, an answer is tested
    beyond r h - z, and r is such that the tails add up. Also return r, which is f sqrt(m) but for
    the noise of the other sources. ``drawn`` is the share of all reports that are of the kind of
    an answer: crafted ones are of one kind, whose noise is the less the fewer there are.
    """
    inside = shares.clip(1e-9, 1 - 1e-9)
    heights = np.sqrt((1 - inside) / (inside * np.maximum(drawn, 1e-9)))
    z = upper_normal(1 - _POWER)

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
