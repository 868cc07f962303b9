"""``python -m benchmarks.poisoning [DAYS]``: how often an alarm is raised, and how often falsely.

Ten sources have 5,000 honest reports each on a day, of one population of 32 answers. On poisoned
days one of them has 250 more, crafted for one answer: each supports it and is like an honest report
otherwise, so that neither its number of supports nor its function tells. Found is a day on which
that source is named for that answer.

The population is uniform, or follows Zipf's law; the answer is the rarest or the commonest of it.
``--sizes`` also shows with how many crafted reports the power reaches 0.9, against what
``deniable.poisoning.smallest`` says.
"""

import argparse
from collections.abc import Iterator

import numpy as np

from deniable import DE, OLH, OUE, AffineSelection, SubsetSelection, Tally
from deniable.mechanism import Reports
from deniable.poisoning import smallest, suspects
from deniable.protocol import Closed, Pure

SOURCES, REPORTS, ANSWERS, CRAFTED = 10, 5000, 32, 250
POISONED = f"source {SOURCES - 1}"
PROTOCOLS = (DE, OUE, OLH, SubsetSelection, AffineSelection)
EPSILONS = (1.0, 3.0)
Floats = np.typing.NDArray[np.float64]


def population(kind: str) -> Floats:
    """Return the true shares."""
    weights = np.ones(ANSWERS) if kind == "uniform" else 1 / np.arange(1, ANSWERS + 1)
    return np.asarray(weights / weights.sum())


def craft(protocol: Pure, target: int, count: int, rng: np.random.Generator) -> Reports:
    """Return reports that all support the target: honest ones of it, of those that do."""
    kept = [np.empty(0, dtype=protocol.report_dtype)]
    while sum(map(len, kept)) < count:
        some = protocol.privatize(np.full(4 * count, target), rng)
        kept.append(some[protocol.supports(some, target)])
    return np.concatenate(kept)[:count]


def days(
    protocol: Pure, shares: Floats, number: int, rng: np.random.Generator
) -> Iterator[dict[str, Tally]]:
    """Yield the tallies of honest days."""
    for _ in range(number):
        yield {
            f"source {source}": protocol.tally(
                protocol.privatize(rng.choice(len(shares), REPORTS, p=shares), rng)
            )
            for source in range(SOURCES)
        }


def poison(
    day: dict[str, Tally], target: int, count: int, rng: np.random.Generator
) -> dict[str, Tally]:
    """Return a day to whose last source crafted reports were added."""
    protocol = day[POISONED].protocol
    assert isinstance(protocol, Pure)
    extra = protocol.tally(craft(protocol, target, count, rng))
    return {**day, POISONED: day[POISONED] + extra}


def found(day: dict[str, Tally], target: int) -> bool:
    """Tell whether the source is named for the answer."""
    return any((each.source, each.answer) == (POISONED, target) for each in suspects(day))


def measure(
    protocol: Pure, kind: str, number: int, *, target: int, seed: int = 1
) -> tuple[float, float]:
    """Return the power, and how often an honest day has an alarm."""
    rng, shares = np.random.default_rng(seed), population(kind)
    power = false = 0
    for day in days(protocol, shares, number, rng):
        false += bool(suspects(day))
        power += found(poison(day, target, CRAFTED, rng), target)
    return power / number, false / number


def sized(protocol: Pure, kind: str, number: int, target: int) -> tuple[int, float]:
    """Return how many crafted reports should be found with a power of 0.9, and how many are."""
    rng, shares = np.random.default_rng(3), population(kind)
    least = smallest(next(days(protocol, shares, 1, rng)))[POISONED]
    power = sum(
        found(poison(day, target, least, rng), target)
        for day in days(protocol, shares, number, rng)
    )
    return least, power / number


def main() -> None:
    """Print a row for each protocol, epsilon, population and answer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("days", nargs="?", type=int, default=300)
    parser.add_argument("--sizes", action="store_true")
    chosen = parser.parse_args()
    print(f"{chosen.days} days each; {CRAFTED} crafted reports beside {REPORTS:,} honest ones")
    print(f"{'protocol':<17}{'epsilon':>8}  {'population, answer':<20}{'power':>7}{'false':>7}")
    for make in PROTOCOLS:
        for epsilon in EPSILONS:
            protocol: Closed = make(epsilon, ANSWERS)
            assert isinstance(protocol, Pure)
            for kind, target in (("uniform", 7), ("Zipf", 31), ("Zipf", 0)):
                power, false = measure(protocol, kind, chosen.days, target=target)
                which = {7: "any", 31: "rarest", 0: "commonest"}[target]
                row = f"{protocol.name:<17}{epsilon:>8g}  {kind + ', ' + which:<20}{power:>7.3f}"
                row += f"{false:>7.3f}"
                if chosen.sizes:
                    row += "  {:>4} crafted: power {:.3f}".format(
                        *sized(protocol, kind, chosen.days, target)
                    )
                print(row, flush=True)


if __name__ == "__main__":
    main()
