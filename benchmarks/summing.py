"""What it costs to add single reports to a large tally: an accumulator against sums of tallies."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from benchmarks.timing import Result, best, describe_machine, report_progress
from deniable import OLH

LEAST_RATE = 30_000


@dataclass(frozen=True)
class Sizes:
    """The protocol, and how many reports are added in each way."""

    domain_size: int = 100_000
    epsilon: float = 2.0
    reports: int = 100_000
    tallies: int = 300
    repeats: int = 3


QUICK = Sizes(domain_size=1000, reports=2000, tallies=20, repeats=1)


def measure(sizes: Sizes) -> Result:
    """Add reports one by one, and compare the bytes with those of one batch."""
    machine = describe_machine()
    report_progress("adding single reports")
    protocol = OLH(sizes.epsilon, sizes.domain_size)
    values = np.arange(sizes.reports) % sizes.domain_size
    reports = protocol.privatize(values, np.random.default_rng(1))
    singles = [reports[i : i + 1] for i in range(len(reports))]
    whole = protocol.tally(reports)

    def accumulate() -> bytes:
        accumulator = protocol.accumulator()
        for report in singles:
            accumulator.add(report)
        return accumulator.tally().to_bytes()

    def add_tallies() -> None:
        total = whole
        for report in singles[: sizes.tallies]:
            total = total + protocol.tally(report)

    one, other = best(accumulate, sizes.repeats), best(add_tallies, sizes.repeats)
    rate, slow = sizes.reports / one, sizes.tallies / other
    return {
        "machine": machine,
        "sizes": asdict(sizes),
        "rate": rate,
        "tallies": slow,
        "ratio": rate / slow,
        "at_least": LEAST_RATE,
        "equal": accumulate() == whole.to_bytes(),
    }
