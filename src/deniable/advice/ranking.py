"""Which protocol: all whose variance is known, ranked by it.

The variance [eq:absvar_exact] is linear in the share of a value, and the shares of d values average
1/d, so the mean squared error over all values is the variance at 1/d, whatever people will answer:
this is what protocols are ranked by (the goal "mean"). What makes an answer significant is the
variance of one that nobody gives, Var* [eq:absvar]: the goal "rare" ranks by that, and protocols
that can choose their settings choose them for it. A protocol whose variance is not known in closed
form is listed apart: nothing can be said about it before it is tried.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import NamedTuple

from deniable.errors import InvalidParameter
from deniable.presentation.view import counted
from deniable.protocol import Closed, Goal
from deniable.protocols import discover
from deniable.protocols.sets import Sets, check_at_most
from deniable.tally import Counted
from deniable.validation import check_domain_size, check_epsilon, check_positive

TIE = 1.005
"""Variances within this factor count as equal; then the one that decodes faster wins."""
TYPICAL_REPORTS = 1_000_000
"""How many reports decoding is compared for."""
Listed = Closed | Sets
"""A protocol about listed answers, of which a person gives one or several."""
_SMALL_DOMAIN = 1 << 16
MANY_BYTES = 1400
"""More than fit in one network packet: too many where something else is as good, and for the
paper's guideline where no limit is given."""
HEADS = ("protocol", "variance", "relative", "std error", "bytes", "client", "server", "paper")


@dataclass(frozen=True)
class Option:
    """One protocol, and what it would cost."""

    protocol: Listed
    variance: float
    """Var*/n: the variance that one person adds to the count of a rare value. [eq:absvar]"""
    mean_variance: float
    """The same, averaged over all values."""
    std_error: float | None
    """The standard error of an estimated share, if the number of people is known: the typical one,
    or for rare answers theirs."""
    report_bytes: int
    client_cost: str
    server_cost: str
    fits: bool
    guideline: bool
    """Whether the paper's guideline takes this protocol. [sec:compare]"""

    @property
    def name(self) -> str:
        return self.protocol.name

    def row(self) -> dict[str, object]:
        rest = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "protocol"}
        return {"protocol": self.name, **rest}

    def noise(self, goal: Goal) -> float:
        return self.variance if goal == "rare" else self.mean_variance

    def cells(self, least: float, goal: Goal = "mean") -> tuple[str, ...]:
        """Return the option as text, with its variance relative to ``least`` as well."""
        return (
            self.name,
            f"{self.noise(goal):.4g}",
            f"{self.noise(goal) / least:.2f}x",
            "-" if self.std_error is None else percent(self.std_error),
            f"{self.report_bytes:,}" + ("" if self.fits else " (too many)"),
            self.client_cost,
            self.server_cost,
            "yes" if self.guideline else "",
        )


@dataclass(frozen=True)
class Advice:
    """Protocols ranked by exact variance, and why the first is the best choice."""

    epsilon: float
    domain_size: int
    users: int | None
    max_report_bytes: int | None
    options: tuple[Option, ...]
    reason: str
    goal: Goal = "mean"
    unranked: tuple[str, ...] = ()
    """The names of protocols that could be had but whose variance is not known in closed form."""
    at_most: int | None = None
    """How many answers a person gives at most, where they are several."""

    @property
    def best(self) -> Option:
        return self.options[0]

    @property
    def guideline(self) -> str | None:
        """The protocol that the paper's guideline takes, [sec:compare]; it has none for sets."""
        if self.at_most is not None:
            return None
        return guideline(self.epsilon, self.domain_size, self.max_report_bytes)

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be said beside the ranking: which protocols are not in it, and why."""
        return tuple(not_known(name, "not ranked") for name in self.unranked)

    def __str__(self) -> str:
        least = self.best.noise(self.goal)
        rows = [HEADS, *(option.cells(least, self.goal) for option in self.options)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows
        ]
        return "\n".join([*lines, *self.notes, self.reason])


def recommend(  # noqa: PLR0913 - what is asked, and what the answer has to suit
    epsilon: float,
    domain_size: int,
    users: int | None = None,
    max_report_bytes: int | None = None,
    *,
    goal: Goal = "mean",
    at_most: int | None = None,
) -> Advice:
    """Rank all protocols for a closed question, by the variance that the ``goal`` asks for.

    "mean" is the mean over all answers. "rare" is that of answers which nobody gives: the smaller
    it is, the fewer people make an answer significant. With ``at_most`` people give sets of up to
    that many answers, and the mean is that of full sets.

    >>> advice = recommend(epsilon=1.0, domain_size=12)
    >>> advice.best.name, advice.guideline
    ('SubsetSelection', 'OUE')
    >>> recommend(epsilon=2.0, domain_size=4).reason
    'DE has the least variance of all, in 1 byte a report.'
    >>> [recommend(1.7, 10, goal=goal).best.name for goal in ("mean", "rare")]
    ['SubsetSelection', 'DE']
    >>> recommend(epsilon=1.0, domain_size=1000, at_most=4).best.name
    'PolynomialSelection'
    """
    check_epsilon(epsilon), check_domain_size(domain_size)
    if goal not in ("mean", "rare"):
        raise InvalidParameter.expected('the goal "mean" or "rare"', goal)
    if users is not None:
        users = check_positive("users", users)
    if max_report_bytes is not None:
        max_report_bytes = check_positive("max_report_bytes", max_report_bytes)
    wanted = 0.0 if goal == "rare" else None
    every = find_protocols(epsilon, domain_size, wanted, at_most)
    found = [protocol for protocol in every if protocol.variance(1) is not None]
    share = (at_most or 1) / domain_size if wanted is None else wanted
    chosen = None if at_most else guideline(epsilon, domain_size, max_report_bytes)
    options = tuple(
        _option(protocol, max_report_bytes, guideline=protocol.name == chosen,
                std_error=None if users is None else math.sqrt(variance(protocol, share) / users))
        for protocol in rank(found, share, max_report_bytes)
    )  # fmt: skip
    reason = _reason(options, max_report_bytes, goal)
    apart = tuple(protocol.name for protocol in every if protocol not in found)
    return Advice(
        epsilon=float(epsilon),
        domain_size=int(domain_size),
        users=users,
        max_report_bytes=max_report_bytes,
        options=options,
        reason=reason,
        goal=goal,
        unranked=apart,
        at_most=at_most,
    )


def guideline(epsilon: float, domain_size: int, max_report_bytes: int | None = None) -> str:
    """Name the protocol that the paper's guideline takes, [sec:compare].

    DE when d < 3 e^epsilon + 2, else OUE, else OLH when d bits are too many: more than
    ``max_report_bytes``, or than fit in one network packet.

    >>> guideline(1.0, 10), guideline(1.0, 1000), guideline(1.0, 41_270)
    ('DE', 'OUE', 'OLH')
    """
    if domain_size < 3 * math.exp(min(epsilon, 700.0)) + 2:
        return "DE"
    limit = MANY_BYTES if max_report_bytes is None else max_report_bytes
    return "OUE" if math.ceil(domain_size / 8) <= limit else "OLH"


def find_protocols(
    epsilon: float, domain_size: int, share: float | None = None, at_most: int | None = None
) -> list[Listed]:
    """Return the protocols that can be had with their usual settings, each as it comes.

    Those that can choose are made for answers of the given ``share``, else for the mean. With
    ``at_most`` they are those for sets of up to that many answers.
    """
    found: list[Listed | None] = []
    if at_most is not None:
        at_most = check_at_most(at_most, domain_size)
    for kind in discover().values():
        with suppress(InvalidParameter):  # it cannot be had at this epsilon and domain size
            if at_most is None and issubclass(kind, Closed):
                found.append(kind.usual(epsilon, domain_size, share))
            elif at_most is not None and issubclass(kind, Sets):
                found.append(kind.usual(epsilon, domain_size, at_most))
    return [protocol for protocol in found if protocol is not None]


def rank(protocols: Sequence[Listed], share: float, limit: int | None) -> list[Listed]:
    """Order by variance; among ties the one that decodes fastest, then the smaller report.

    Of ties, reports of more than a network packet come after those of less.
    Protocols whose reports are above the limit come last.
    """
    noise = {protocol: variance(protocol, share) for protocol in protocols}

    def fits(protocol: Listed) -> bool:
        return limit is None or protocol.report_dtype.itemsize <= limit

    waiting = sorted(protocols, key=lambda p: (not fits(p), noise[p]))
    if not waiting or not fits(waiting[0]):
        smallest = min((p.report_dtype.itemsize for p in waiting), default=0)
        raise InvalidParameter(
            f"expected max_report_bytes of at least {smallest}, the smallest report there is at "
            f"this epsilon and domain size, got {limit}",
            value=limit,
        )
    ranked: list[Listed] = []
    while waiting:
        first = waiting[0]
        tied = [p for p in waiting if fits(p) == fits(first) and noise[p] <= TIE * noise[first]]
        ranked += sorted(tied, key=_cost)
        waiting = waiting[len(tied) :]
    return ranked


def _cost(protocol: Listed) -> tuple[bool, float, int]:
    size = protocol.report_dtype.itemsize
    return size > MANY_BYTES, protocol.decoding_time(TYPICAL_REPORTS), size


def _option(
    protocol: Listed, limit: int | None, *, guideline: bool, std_error: float | None
) -> Option:
    size, count = protocol.report_dtype.itemsize, protocol.words.count
    growth = _growth(type(protocol))
    return Option(
        protocol=protocol,
        variance=variance(protocol, 0.0),
        mean_variance=mean_variance(protocol),
        std_error=std_error,
        report_bytes=size,
        client_cost=f"{counted(count, 'random word')}, {growth}",
        server_cost=_server_cost(protocol, growth),
        fits=limit is None or size <= limit,
        guideline=guideline,
    )


@lru_cache(maxsize=256)
def _growth(kind: type[Listed]) -> str:
    """Say how the random words of a report grow with the domain."""
    words = [1, 1]
    for place, domain_size in enumerate((1 << 8, 1 << 16)):
        with suppress(InvalidParameter):  # what cannot be had at a size does not grow with it
            made: Listed | None
            if issubclass(kind, Sets):
                made = kind.usual(1.0, domain_size, 4)
            else:
                made = kind.usual(1.0, domain_size)
            words[place] = 1 if made is None else made.words.count
    small, large = words
    return "O(1)" if large <= small else "O(d)" if large >= 100 * small else "O(log d)"


def _server_cost(protocol: Listed, growth: str) -> str:
    """Say what a report costs the server: what a tally keeps tells whether it has to decode."""
    # Only small domains have a tally made for this: one of all values takes memory.
    small = protocol.domain_size <= _SMALL_DOMAIN
    if not isinstance(protocol, Counted) and not (
        small and protocol.tally([]).statistic.form == "counts"
    ):
        return "O(1) a report, then decode"
    # Where reports support one value on average, as those of DE do, there is one count to increase.
    known = protocol.parameters
    single = known and known.exact_p + (protocol.value_count - 1) * known.exact_q == 1
    return f"{growth if single else 'O(d)'} a report"


def _reason(options: Sequence[Option], limit: int | None, goal: Goal) -> str:
    best, able = options[0], [option for option in options if option.fits]
    least = min(able, key=lambda option: option.noise(goal))
    of = "of all" if limit is None else f"of those that send at most {counted(limit, 'byte')}"
    what = "variance of rare answers" if goal == "rare" else "variance"
    size = f"in {counted(best.report_bytes, 'byte')} a report"
    if best.noise(goal) <= least.noise(goal):
        return f"{best.name} has the least {what} {of}, {size}."
    return (
        f"{best.name} is within {100 * (TIE - 1):g} % of the least {what} {of}, that of "
        f"{least.name}, and decodes faster, {size}."
    )


class Saving(NamedTuple):
    """How many people the guideline's protocol would need, and how many fewer the better one."""

    guideline: str
    users: int
    saved: int

    def __str__(self) -> str:
        share = 100 * self.saved / self.users
        return (
            f"{self.guideline}, which the paper's guideline takes, would need {self.users:,} "
            f"people for that: {self.saved:,} ({share:.0f} %) saved."
        )


def saving(protocol: Listed, users: int, share: float | None = None) -> Saving | None:
    """Compare a protocol that ``users`` people use with the one that the paper's guideline takes.

    They are as accurate where variance over people is the same, at ``share`` or on average.
    None where nobody is saved: the guideline's is as good, or the same.
    """
    if isinstance(protocol, Sets):
        return None
    epsilon, d = protocol.epsilon, protocol.domain_size
    name = guideline(epsilon, d)
    made = next((p for p in find_protocols(epsilon, d) if p.name == name), None)
    if made is None:
        return None
    share = 1 / d if share is None else share
    needed = math.ceil(users * variance(made, share) / variance(protocol, share))
    return Saving(name, needed, needed - users) if needed > users else None


def variance(protocol: Listed, share: float) -> float:
    """Return the variance that one person adds to a count, of a protocol that knows it."""
    found = protocol.variance(1, share)
    if found is None:
        raise InvalidParameter(not_known(protocol.name, "not ranked"), value=protocol.name)
    return float(found)


def mean_variance(protocol: Listed) -> float:
    """Return the variance at the mean share; of sets, if all of them are full."""
    most = protocol.at_most if isinstance(protocol, Sets) else 1
    return variance(protocol, most / protocol.domain_size)


def std_error(protocol: Listed, users: int) -> float:
    """Return the root of the mean squared error of the shares of all values."""
    return math.sqrt(mean_variance(protocol) / users)


def not_known(name: str, consequence: str) -> str:
    return (
        f"{name} is {consequence}: its error is not known in closed form. Try it on answers like "
        "those you expect, with deniable simulate."
    )


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"
