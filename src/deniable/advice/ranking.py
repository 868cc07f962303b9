"""Which protocol: all of them ranked by exact variance.

The variance [eq:absvar_exact] is linear in the frequency of a value, and the frequencies of d
values average 1/d, so the mean squared error over all values is the variance at 1/d, whatever
people will answer: this is what protocols are ranked by. For rare values alone it is Var*
[eq:absvar].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameter
from deniable.protocols import discover
from deniable.pure import Closed
from deniable.validation import check_domain_size, check_epsilon, check_positive

if TYPE_CHECKING:
    from collections.abc import Sequence

TIE = 1.02
"""Variances within this factor count as equal; then the smaller report wins."""
MANY_BYTES = 1400
"""Where no limit is given, the paper's guideline takes more than one network packet as too many."""


@dataclass(frozen=True)
class Option:
    """One protocol, and what it would cost."""

    protocol: Closed
    variance: float
    """Var*/n: the variance that one person adds to the count of a rare value. [eq:absvar]"""
    mean_variance: float
    """The same, averaged over all values."""
    std_error: float | None
    """The typical standard error of an estimated frequency, if the number of people is known."""
    report_bytes: int
    client_cost: str
    server_cost: str
    fits: bool
    """Whether a report is within the limit of bytes."""
    guideline: bool
    """Whether the paper's guideline takes this protocol. [sec:compare]"""

    @property
    def name(self) -> str:
        """The name of the protocol."""
        return self.protocol.name

    def row(self) -> dict[str, object]:
        """Return the option as plain data, one entry for each column."""
        rest = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "protocol"}
        return {"protocol": self.name, **rest}

    def cells(self, least: float) -> tuple[str, ...]:
        """Return the option as text, with its variance relative to ``least`` as well."""
        return (
            self.name,
            f"{self.mean_variance:.4g}",
            f"{self.mean_variance / least:.2f}x",
            "-" if self.std_error is None else f"{100 * self.std_error:.3g} %",
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

    @property
    def best(self) -> Option:
        """The best choice."""
        return self.options[0]

    @property
    def guideline(self) -> str:
        """The protocol that the paper's guideline takes, [sec:compare]."""
        return guideline(self.epsilon, self.domain_size, self.max_report_bytes)

    def __str__(self) -> str:
        header = (
            "protocol",
            "variance",
            "relative",
            "std error",
            "bytes",
            "client",
            "server",
            "paper",
        )
        rows = [header, *(option.cells(self.best.mean_variance) for option in self.options)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows
        ]
        return "\n".join([*lines, self.reason])


def recommend(
    epsilon: float,
    domain_size: int,
    users: int | None = None,
    max_report_bytes: int | None = None,
) -> Advice:
    """Rank all protocols for a closed question.

    >>> advice = recommend(epsilon=1.0, domain_size=1000)
    >>> advice.best.name, advice.guideline
    ('OLH', 'OUE')
    >>> recommend(epsilon=1.0, domain_size=4).reason
    'DE has the least variance of all, in 1 byte a report.'
    """
    check_epsilon(epsilon), check_domain_size(domain_size)
    if users is not None:
        users = check_positive("users", users)
    if max_report_bytes is not None:
        max_report_bytes = check_positive("max_report_bytes", max_report_bytes)
    ranked = rank(find_protocols(epsilon, domain_size), 1 / domain_size, max_report_bytes)
    chosen = guideline(epsilon, domain_size, max_report_bytes)
    options = tuple(_option(p, users, max_report_bytes, guideline=p.name == chosen) for p in ranked)
    reason = _reason(options, max_report_bytes)
    return Advice(float(epsilon), int(domain_size), users, max_report_bytes, options, reason)


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


def find_protocols(epsilon: float, domain_size: int) -> list[Closed]:
    """Return the protocols that can be had with their usual settings, each as it comes."""
    found = []
    for kind in discover().values():
        if not issubclass(kind, Closed):
            continue
        try:
            protocol = kind.usual(epsilon, domain_size)
        except InvalidParameter:
            continue  # this protocol cannot be had at this epsilon and domain size
        if protocol is not None:
            found.append(protocol)
    return found


def rank(protocols: Sequence[Closed], frequency: float, limit: int | None) -> list[Closed]:
    """Order by variance; among ties by the size of a report; those above the limit last."""

    def noise(protocol: Closed) -> float:
        return variance(protocol, frequency)

    def fits(protocol: Closed) -> bool:
        return limit is None or protocol.report_dtype.itemsize <= limit

    waiting = sorted(protocols, key=lambda p: (not fits(p), noise(p)))
    if not waiting or not fits(waiting[0]):
        smallest = min((p.report_dtype.itemsize for p in waiting), default=0)
        raise InvalidParameter(
            f"expected max_report_bytes of at least {smallest}, the smallest report there is at "
            f"this epsilon and domain size, got {limit}",
            value=limit,
        )
    ranked: list[Closed] = []
    while waiting:
        first = waiting[0]
        tied = [p for p in waiting if fits(p) == fits(first) and noise(p) <= TIE * noise(first)]
        ranked += sorted(tied, key=lambda p: p.report_dtype.itemsize)
        waiting = waiting[len(tied) :]
    return ranked


def _option(protocol: Closed, users: int | None, limit: int | None, *, guideline: bool) -> Option:
    size = protocol.report_dtype.itemsize
    growth = _growth(protocol)
    count = protocol.words.count
    words = f"{count:,} random word{'s' if count > 1 else ''}"
    return Option(
        protocol=protocol,
        variance=variance(protocol, 0.0),
        mean_variance=mean_variance(protocol),
        std_error=None if users is None else std_error(protocol, users),
        report_bytes=size,
        client_cost=f"{words}, {growth}",
        server_cost=_server_cost(protocol, growth),
        fits=limit is None or size <= limit,
        guideline=guideline,
    )


def _growth(protocol: Closed) -> str:
    """Say how the random words of a report grow with the domain."""
    small, large = (_resized(protocol, d).words.count for d in (1 << 8, 1 << 16))
    return "O(1)" if large <= small else "O(d)" if large >= 100 * small else "O(log d)"


def _server_cost(protocol: Closed, growth: str) -> str:
    """Say what a report costs the server: what a tally keeps tells whether it has to decode."""
    if _resized(protocol, 1 << 8).tally([]).statistic.form == "counts":
        return f"{growth} a report"
    return "O(1) a report, then decode"


def _resized(protocol: Closed, domain_size: int) -> Closed:
    return protocol.usual(protocol.epsilon, domain_size) or protocol


def _reason(options: Sequence[Option], limit: int | None) -> str:
    best, able = options[0], [option for option in options if option.fits]
    least = min(able, key=lambda option: option.mean_variance)
    of = "of all" if limit is None else f"of those that send at most {in_bytes(limit)}"
    if best.mean_variance <= least.mean_variance:
        start = (
            f"{best.name} has the least variance {of}, in {in_bytes(best.report_bytes)} a report"
        )
    else:
        saved = f"sends {best.report_bytes:,} instead of {in_bytes(least.report_bytes)}"
        start = (
            f"{best.name} is within {100 * (TIE - 1):.0f} % of the least variance {of}, "
            f"that of {least.name}, and {saved}"
        )
    for other in able:
        excess = other.mean_variance / best.mean_variance - 1
        if excess <= 0.1 and 10 * other.report_bytes <= best.report_bytes:
            return (
                f"{start}; {other.name} would send {other.report_bytes:,} for {100 * excess:.1f} % "
                "more variance."
            )
    return start + "."


def variance(protocol: Closed, frequency: float) -> float:
    """Return the variance that one person adds to a count."""
    return float(protocol.variance(1, frequency))


def mean_variance(protocol: Closed) -> float:
    """Return the variance that one person adds, averaged over all values."""
    return variance(protocol, 1 / protocol.domain_size)


def std_error(protocol: Closed, users: int) -> float:
    """Return the root of the mean squared error of the frequencies of all values."""
    return math.sqrt(mean_variance(protocol) / users)


def in_bytes(size: int) -> str:
    """Return a size in words."""
    return f"{size:,} byte{'s' if size != 1 else ''}"
