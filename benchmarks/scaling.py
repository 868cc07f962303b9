"""How OLH's decoding time grows with the domain and with the number of reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.table import simulate_values
from benchmarks.timing import Result, best, describe_machine, report_progress
from deniable import OLH

_BATCH = 1 << 22


@dataclass(frozen=True)
class Sizes:
    """The domains and the numbers of reports that are gone through."""

    epsilons: tuple[float, ...] = (1.0, 2.0, 4.0)
    domains: tuple[int, ...] = tuple(1 << k for k in range(8, 21))
    reports: tuple[int, ...] = tuple(10**k for k in range(4, 9))
    fixed_domain: int = 41_270
    fixed_reports: int = 1_000_000
    repeats: int = 3


QUICK = Sizes(
    domains=(256, 512, 1024), reports=(1_000, 10_000), fixed_domain=300, fixed_reports=10_000
)


def measure(sizes: Sizes) -> Result:
    """Time decoding for every epsilon, once along d and once along n."""
    machine = describe_machine()
    along_d = [
        time_decode(epsilon, d, sizes.fixed_reports, sizes.repeats)
        for epsilon in sizes.epsilons
        for d in sizes.domains
    ]
    along_n = [
        time_decode(epsilon, sizes.fixed_domain, n, sizes.repeats)
        for epsilon in sizes.epsilons
        for n in sizes.reports
    ]
    return {
        "machine": machine,
        "sizes": asdict(sizes),
        "domain": along_d,
        "reports": along_n,
        "exponents": {
            "domain": fit(along_d, "domain_size"),
            "reports": fit(along_n, "reports"),
        },
    }


def time_decode(epsilon: float, d: int, n: int, repeats: int) -> Result:
    """Return the seconds from a tally of n reports to the estimates of all d values."""
    report_progress(f"decoding at epsilon = {epsilon:g}, d = {d:,}, n = {n:,}")
    protocol = OLH(epsilon, d)
    tally = protocol.tally(make_batches(protocol, n))
    seconds = best(lambda: protocol.estimate(tally), repeats)
    return {
        "epsilon": epsilon,
        "g": protocol.g,
        "domain_size": d,
        "reports": n,
        "seconds": seconds,
    }


def make_batches(protocol: OLH, n: int) -> Iterator[npt.NDArray[Any]]:
    """Yield reports of the same answers again and again, each time with new noise."""
    values = simulate_values(min(n, _BATCH), protocol.domain_size)
    rng = np.random.default_rng(5)
    for start in range(0, n, _BATCH):
        yield protocol.privatize(values[: min(_BATCH, n - start)], rng)


def fit(rows: list[Result], variable: str) -> dict[str, float]:
    """Return for each epsilon the exponent b of seconds ~ variable^b over the larger half.

    Below, the time is that of starting threads and of checks, not of decoding.
    """
    exponents = {}
    for epsilon in sorted({row["epsilon"] for row in rows}):
        points = sorted(
            (row[variable], row["seconds"]) for row in rows if row["epsilon"] == epsilon
        )
        x, y = np.log(points[len(points) // 2 - (len(points) < 4) :]).T
        exponents[f"{epsilon:g}"] = round(float(np.polyfit(x, y, 1)[0]), 3)
    return exponents
