"""``python -m benchmarks.poisoning [DAYS] [--crafted N] [--honest]``: how often alarms are raised.

Ten sources have 5,000 honest reports each on a day, of one population of 32 answers. On poisoned
days one of them has 250 more, crafted for one answer: each supports it and is like an honest report
otherwise, so that neither its number of supports nor its function tells. Found is a day on which
that source is named for that answer. The seven honest days before are known, as a collector knows
them. ``bound`` is the most that any test of that day alone can
have which is right whatever people answer: a likelihood ratio of two binomial counts, for the one
answer, at its part of the false alarms (in the normal approximation). Supports of the other answers
tell nothing of such reports, and a test that knew the shares of all people would be another one.

The population is uniform, or follows Zipf's law; the answer is the rarest or the commonest of it.
``--sizes`` also shows with how many crafted reports the power reaches 0.9, against what
``deniable.poisoning.smallest`` says. ``--honest`` poisons nothing, and counts false alarms alone.
"""

import argparse
import math
import operator
from collections import deque
from collections.abc import Iterator
from functools import reduce
from statistics import NormalDist

import numpy as np

from deniable import DE, OLH, OUE, AffineSelection, SubsetSelection, Tally
from deniable.mechanism import Reports
from deniable.poisoning import ALPHA, _division, smallest, suspects
from deniable.protocol import Closed, Pure

SOURCES, REPORTS, ANSWERS, CRAFTED = 10, 5000, 32, 250
EARLIER = 7
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
    day: dict[str, Tally],
    target: int,
    count: int,
    rng: np.random.Generator,
    source: str = POISONED,
) -> dict[str, Tally]:
    """Return a day to one of whose sources crafted reports were added."""
    protocol = day[source].protocol
    assert isinstance(protocol, Pure)
    extra = protocol.tally(craft(protocol, target, count, rng))
    return {**day, source: day[source] + extra}


def found(
    day: dict[str, Tally],
    target: int,
    source: str = POISONED,
    earlier: dict[str, Tally] | None = None,
) -> bool:
    """Tell whether the source is named for the answer."""
    named = {(each.source, each.answer) for each in suspects(day, earlier=earlier)}
    return (source, target) in named


def measure(  # noqa: PLR0913 - what is poisoned, and how
    protocol: Pure,
    kind: str,
    number: int,
    *,
    targets: tuple[int, ...],
    seed: int = 1,
    crafted: int = CRAFTED,
) -> tuple[list[float], int]:
    """Return for each target the power, and on how many honest days there was an alarm.

    On each day every source is poisoned in its turn.
    """
    rng, shares = np.random.default_rng(seed), population(kind)
    hits, false, past = [0] * len(targets), 0, deque[dict[str, Tally]](maxlen=EARLIER)
    for day in days(protocol, shares, number + EARLIER, rng):
        if len(past) == EARLIER:
            earlier = {name: reduce(operator.add, (each[name] for each in past)) for name in day}
            false += bool(suspects(day, earlier=earlier))
            for place, target in enumerate(targets):
                for source in day:
                    poisoned = poison(day, target, crafted, rng, source)
                    hits[place] += found(poisoned, target, source, earlier)
        past.append(day)
    return [hit / (number * SOURCES) for hit in hits], false


def bound(protocol: Pure, kind: str, target: int, crafted: int = CRAFTED) -> float:
    """Return the power of the most powerful test of one day's counts, which knows the answer.

    Of c crafted reports beside m honest ones, and n of the others, c (1 - s) more support the
    answer than m + c honest ones would.
    """
    known, n, m, c = protocol.parameters, (SOURCES - 1) * REPORTS, REPORTS, crafted
    supports = known.q + known.gap * population(kind)
    part = float(_division(supports, ALPHA / SOURCES)[0][target])
    s = float(supports[target])
    sent, law = m + c, NormalDist()
    honest = math.sqrt(s * (1 - s) * sent * (1 + sent / n))
    crafted = math.sqrt(s * (1 - s) * (m + sent * sent / n))
    return law.cdf((c * (1 - s) + law.inv_cdf(part) * honest) / crafted)


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
    """Print a row for each protocol, epsilon, population and answer, and all false alarms."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("days", nargs="?", type=int, default=100)
    parser.add_argument("--crafted", type=int, default=CRAFTED)
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--honest", action="store_true")
    chosen = parser.parse_args()
    print(
        f"{chosen.days} days each; {chosen.crafted} crafted reports beside {REPORTS:,} honest ones"
    )
    print(f"{'protocol':<17}{'epsilon':>8}  {'population, answer':<20}{'power':>7}{'bound':>7}")
    alarms = honest = 0
    names = {7: "any", 31: "rarest", 0: "commonest"}
    for make in PROTOCOLS:
        for epsilon in EPSILONS:
            protocol: Closed = make(epsilon, ANSWERS)
            assert isinstance(protocol, Pure)
            kinds: dict[str, tuple[int, ...]] = {"uniform": (7,), "Zipf": (31, 0)}
            for kind, targets in kinds.items():
                aims = () if chosen.honest else targets
                powers, false = measure(protocol, kind, chosen.days, targets=aims,
                                        crafted=chosen.crafted)  # fmt: skip
                alarms, honest = alarms + false, honest + chosen.days
                print(
                    f"{protocol.name:<17}{epsilon:>8g}  {kind:<20}{false:>7} false alarms",
                    flush=True,
                )
                for target, power in zip(aims, powers, strict=True):
                    row = f"{protocol.name:<17}{epsilon:>8g}  {kind + ', ' + names[target]:<20}"
                    row += f"{power:>7.3f}{bound(protocol, kind, target, chosen.crafted):>7.3f}"
                    if chosen.sizes:
                        row += "  {:>4} crafted: power {:.3f}".format(
                            *sized(protocol, kind, chosen.days, target)
                        )
                    print(row, flush=True)
    print(f"false alarms: {alarms} of {honest:,} honest days")


if __name__ == "__main__":
    main()
