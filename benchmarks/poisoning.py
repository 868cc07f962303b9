"""``python -m benchmarks.poisoning [days]``: how often an alarm is raised, and how often falsely.

Ten sources have 5,000 honest reports each on a day, of one population of 32 answers (Zipf's law).
On poisoned days one of them has 250 more, crafted for one rare answer: each supports it, and is an
honest report of it otherwise, so that its number of supports tells nothing. Found is a day on
which that source is named for that answer.

``--smallest`` shows how many crafted reports are found with a power of 0.9: fewer are not.
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt

from deniable import DE, OLH, OUE, AffineSelection, SubsetSelection, Tally
from deniable.poisoning import suspects
from deniable.protocol import CountedPure, Pure

SOURCES, REPORTS, ANSWERS, CRAFTED, TARGET = 10, 5000, 32, 250, 27
PROTOCOLS = (DE, OUE, OLH, SubsetSelection, AffineSelection)
EPSILONS = (1.0, 3.0)


def population() -> npt.NDArray[np.float64]:
    """Return the shares by Zipf's law."""
    shares = 1 / np.arange(1, ANSWERS + 1)
    return np.asarray(shares / shares.sum())


def crafted(protocol: Pure, count: int, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    """Return reports that all support the target: honest ones of it, of those that do."""
    kept: list[npt.NDArray[np.generic]] = []
    while sum(map(len, kept)) < count:
        some = protocol.privatize(np.full(4 * count, TARGET), rng)
        kept.append(some[protocol.supports(some, TARGET)])
    return np.concatenate(kept)[:count]


def day(protocol: Pure, fakes: int, rng: np.random.Generator) -> dict[str, Tally]:
    """Return the tallies of a day; the last source has the crafted reports."""
    found = {}
    for number in range(SOURCES):
        values = rng.choice(ANSWERS, REPORTS, p=population())
        reports = protocol.privatize(values, rng)
        if fakes and number == SOURCES - 1:
            reports = np.concatenate([reports, crafted(protocol, fakes, rng)])
        found[f"source {number}"] = protocol.tally(reports)
    return found


def power(protocol: Pure, days: int, *, fakes: int = CRAFTED, seed: int = 1) -> float:
    """Return on how many days the source is found, as a share."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(days):
        alarms = suspects(day(protocol, fakes, rng))
        found += any((a.source, a.answer) == (f"source {SOURCES - 1}", TARGET) for a in alarms)
    return found / days


def false_alarms(protocol: Pure, days: int, seed: int = 2) -> float:
    """Return on how many honest days there is any alarm, as a share."""
    rng = np.random.default_rng(seed)
    return sum(bool(suspects(day(protocol, 0, rng))) for _ in range(days)) / days


def main() -> None:
    """Print a row for each protocol and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("days", nargs="?", type=int, default=100)
    parser.add_argument("--smallest", action="store_true")
    chosen = parser.parse_args()
    print(f"{'protocol':<18}{'epsilon':>8}{'power':>8}{'false alarms':>14}   {chosen.days} days")
    for kind in PROTOCOLS:
        for epsilon in EPSILONS:
            protocol: CountedPure | Pure = kind(epsilon, ANSWERS)
            found = power(protocol, chosen.days)
            row = f"{protocol.name:<18}{epsilon:>8g}{found:>8.3f}"
            row += f"{false_alarms(protocol, chosen.days):>14.3f}"
            if chosen.smallest:
                sizes = range(20, 500, 20)
                least = next((n for n in sizes if power(protocol, 50, fakes=n) >= 0.9), None)
                row += f"   {least} crafted reports for a power of 0.9"
            print(row, flush=True)


if __name__ == "__main__":
    main()
