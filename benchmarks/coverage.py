"""``python -m benchmarks.coverage [shares|people|widths|all] [--quick]``.

How often the 95 % intervals of ``compare`` cover the true change, by the exact law of the reports
and without simulation, and how wide they are beside those of version 0.2.0.

shares   pure protocols: the supports of both samples are enumerated, once with people drawn from a
         population and once with a fixed number of people who hold the answer
people   people who sent several memoised reports each: their supports are convolved
widths   more than 500 reports on both sides
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable import (
    DE,
    OLH,
    OUE,
    AffineSelection,
    BasicRAPPOR,
    Comparison,
    Estimates,
    SubsetSelection,
    Tally,
)
from deniable.law import upper_normal
from deniable.protocol import Pure
from deniable.statistics import Counts

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
SHARES = np.round(np.arange(0.05, 0.96, 0.05), 2)
SIZES = (
    *((1, 1), (1, 2), (2, 2), (1, 7), (3, 10), (7, 7), (12, 12), (1, 200), (200, 2), (5, 60)),
    *((19, 20), (20, 20), (20, 200), (50, 50), (100, 30), (200, 200)),
)
LARGE = ((501, 501), (501, 20_000), (1_000, 1_000), (5_000, 600), (100_000, 100_000))
_NEGLIGIBLE = 1e-10


def protocols(epsilon: float) -> tuple[Pure, ...]:
    """Return one of each kind of pure protocol."""
    return (
        DE(epsilon, 2),
        DE(epsilon, 16),
        OUE(epsilon, 8),
        OLH(epsilon, 8),
        SubsetSelection(epsilon, 16),
        AffineSelection(epsilon, 64),
    )


def binomial(n: int, chance: float) -> Floats:
    """Return the probabilities of 0 to n successes."""
    if chance in (0.0, 1.0):
        return np.eye(n + 1)[round(chance * n)]
    k = np.arange(n + 1)
    logs = np.array([math.lgamma(i + 1) for i in range(n + 1)])
    found = logs[n] - logs - logs[::-1] + k * math.log(chance) + (n - k) * math.log1p(-chance)
    return np.asarray(np.exp(found))


def supports(protocol: Pure, n: int, share: float, *, drawn: bool) -> tuple[Floats, float]:
    """Return the law of the supports of n reports, and the share that is to be covered.

    Of people drawn from a population each supports the answer with one chance. Otherwise the
    nearest whole number of them holds it.
    """
    p, q = protocol.parameters.p, protocol.parameters.q
    if drawn:
        return binomial(n, q + share * protocol.parameters.gap), share
    held = round(share * n)
    return np.convolve(binomial(held, p), binomial(n - held, q)), held / n


@dataclass(frozen=True)
class Sample:
    """All estimates that can come of a sample of some size, and their laws for each share."""

    estimates: Estimates
    laws: list[tuple[Floats, float]]


def sample(protocol: Pure, n: int, shares: Iterable[float], *, drawn: bool) -> Sample:
    """Return the estimates from 0 to n supports."""
    laws = [supports(protocol, n, share, drawn=drawn) for share in shares]
    return Sample(protocol.unbiased(np.arange(n + 1), n), laws)


def coverage(first: Sample, second: Sample) -> Floats:
    """Return how often the interval of the difference covers, for each pair of shares."""
    seen = [np.max([law for law, _ in each.laws], axis=0) > _NEGLIGIBLE for each in (first, second)]
    rows, columns = (np.flatnonzero(some) for some in seen)
    i, j = (grid.ravel() for grid in np.meshgrid(rows, columns, indexing="ij"))
    ends = Comparison(first.estimates.take(i), second.estimates.take(j)).interval(LEVEL)
    lower, upper = (end.reshape(len(rows), len(columns)) for end in ends)
    result = np.empty((len(first.laws), len(second.laws)))
    for (a, (before, x)), (b, (after, y)) in itertools.product(
        enumerate(first.laws), enumerate(second.laws)
    ):
        # An end that is the difference itself, to the last digits, covers it.
        inside = (lower - 1e-12 <= y - x) & (y - x <= upper + 1e-12)
        result[a, b] = before[rows] @ inside @ after[columns]
    return result


def measure_shares(sizes: Iterable[tuple[int, int]], epsilons: Iterable[float]) -> float:
    """Print the least coverage of each pair of sizes, over protocols and shares."""
    worst = 1.0
    for n, m in sizes:
        found = []
        for protocol in itertools.chain(*map(protocols, epsilons)):
            for drawn in (True, False):
                samples = [sample(protocol, size, SHARES, drawn=drawn) for size in (n, m)]
                least = float(coverage(*samples).min())
                found.append((least, f"{protocol}, {'drawn' if drawn else 'fixed'}"))
        least, where = min(found)
        print(f"{n:>4} and {m:>4} reports: at least {least:.4f} ({where})", flush=True)
        worst = min(worst, least)
    return worst


@dataclass(frozen=True)
class Repeated:
    """Two samples of people who sent several reports each, and the true shares of an answer."""

    people: tuple[int, int]
    each: tuple[int, int]
    shares: tuple[float, float]
    f: float = 0.5
    p: float = 0.75
    q: float = 0.25


PEOPLE = (
    Repeated((300, 60), (30, 30), (0.05, 0.05)),
    Repeated((300, 60), (30, 30), (0.05, 0.5)),
    Repeated((300, 60), (30, 30), (0.95, 0.9)),
    Repeated((300, 60), (30, 30), (0.05, 0.05), f=0.1),
    Repeated((300, 60), (30, 30), (0.9, 0.05), f=0.1),
    Repeated((300, 60), (7, 7), (0.02, 0.1), f=0.25),
    Repeated((60, 300), (10, 10), (0.05, 0.2), f=0.1, p=0.9, q=0.1),
    Repeated((60, 60), (10, 10), (0.05, 0.05), f=0.1),
    Repeated((60, 60), (10, 10), (0.5, 0.95)),
    Repeated((50, 50), (5, 20), (0.1, 0.1), f=0.05, p=0.9, q=0.1),
    Repeated((50, 200), (30, 3), (0.05, 0.95), f=0.2),
    Repeated((300, 60), (1, 30), (0.05, 0.05), f=0.1, p=0.9, q=0.1),
    Repeated((40, 40), (7, 1), (0.5, 0.1), f=0.1, p=0.9, q=0.1),
    Repeated((1, 1), (10, 10), (0.5, 0.5)),
    Repeated((2, 2), (30, 30), (0.05, 0.95), f=0.1),
    Repeated((7, 7), (10, 10), (0.2, 0.4)),
    Repeated((20, 20), (10, 10), (0.05, 0.5), f=0.1),
    Repeated((49, 300), (10, 10), (0.05, 0.05), f=0.1),
    Repeated((300, 300), (30, 30), (0.3, 0.3)),
    Repeated((300, 300), (2, 2), (0.05, 0.1), f=0.1, p=0.9, q=0.1),
    Repeated((1100, 200), (10, 10), (0.02, 0.05), f=0.1),
    Repeated((1500, 1500), (5, 5), (0.05, 0.1)),
)


def repeated_sample(setting: Repeated, place: int) -> Sample:
    """Return one sample of a setting, with the law of its supports by convolution."""
    people, each, share = (one[place] for one in (setting.people, setting.each, setting.shares))
    bit = setting.f / 2 + share * (1 - setting.f)
    one = bit * binomial(each, setting.p) + (1 - bit) * binomial(each, setting.q)
    size = people * each + 1
    law = np.fft.irfft(np.fft.rfft(one, 2 * size) ** people, 2 * size)[:size].clip(0)
    protocol = BasicRAPPOR(size, setting.f, setting.p, setting.q)
    tally = Tally(protocol, people * each, Counts(np.arange(size)))
    return Sample(protocol.estimate(tally, people=people), [(law / law.sum(), share)])


def measure_people(settings: Iterable[Repeated]) -> float:
    """Print the coverage of each setting."""
    worst = 1.0
    for setting in settings:
        found = float(coverage(repeated_sample(setting, 0), repeated_sample(setting, 1))[0, 0])
        print(f"{found:.4f} {setting}", flush=True)
        worst = min(worst, found)
    return worst


def former_reach(first: Estimates, second: Estimates, protocol: Pure) -> tuple[Floats, Floats]:
    """Return how far intervals reached in version 0.2.0: Wilson's limits, squared and added."""

    def above(successes: Floats, n: int) -> Floats:
        z2, share = upper_normal((1 - LEVEL) / 2) ** 2, successes / n
        root = np.sqrt(z2 * (z2 + 2 - 1 / n + 4 * share * (n * (1 - share) - 1)))
        limit = (2 * successes + z2 + 1 + root) / (2 * (n + z2))
        return np.where(successes < n, np.minimum(limit, 1.0), 1.0) - share

    q, gap = protocol.parameters.q, protocol.parameters.gap
    (x, n), (y, m) = ((np.rint(e.counts * gap + e.n * q), e.n) for e in (first, second))
    below = np.hypot(above(m - y, m), above(x, n)) / gap
    return below, np.hypot(above(y, m), above(n - x, n)) / gap


def measure_widths(sizes: Iterable[tuple[int, int]], epsilons: Iterable[float]) -> float:
    """Print the largest ratio of the widths to those of version 0.2.0."""
    worst = 0.0
    for n, m in sizes:
        for protocol in itertools.chain(*map(protocols, epsilons)):
            q, gap = protocol.parameters.q, protocol.parameters.gap
            shares = np.r_[0.0, SHARES, 1.0]
            grid = [(a, b) for a in shares for b in shares]
            first, second = (
                protocol.unbiased(np.rint(size * (q + gap * np.array(some))).astype(np.int64), size)
                for size, some in zip((n, m), zip(*grid, strict=True), strict=True)
            )
            lower, upper = Comparison(first, second).interval(LEVEL)
            former = sum(former_reach(first, second, protocol))
            worst = max(worst, float(((upper - lower) / former).max()))
        print(
            f"{n:,} and {m:,} reports: so far at most {worst:.4f} of the former width", flush=True
        )
    return worst


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.coverage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "part", nargs="?", default="all", choices=("shares", "people", "widths", "all")
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes, two epsilons")
    options = parser.parse_args(arguments)
    epsilons = (1.0, 5.0) if options.quick else (1.0, 2.0, 3.0, 4.0, 5.0)
    if options.part in ("shares", "all"):
        sizes = SIZES[:8] if options.quick else SIZES
        print(f"least coverage: {measure_shares(sizes, epsilons):.4f} (promised: 0.945)")
    if options.part in ("people", "all"):
        print(f"least coverage: {measure_people(PEOPLE):.4f} (promised: 0.94)")
    if options.part in ("widths", "all"):
        print(f"largest width: {measure_widths(LARGE, epsilons):.4f} (promised: 1.03)")


if __name__ == "__main__":
    main()
