"""``python -m benchmarks.verdict [collections]``: how often the sentences of a verdict are false.

Each collection is a population, drawn at random, a protocol, a number of people, and in half of
them a change before a second collection. Populations are of many shapes: some have a clear leader,
some answers that are nearly or exactly as frequent. Of each kind of claim we count how often it is
made, and how often it is false of the people who were drawn (leaders and rare answers), or of the
population (changes).

A second table is about the worst populations, in which every claim of the kind would be false: all
answers as frequent, and nothing changed. There we count in how many collections one is made.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from deniable import DE, OLH, OUE, AffineSelection, SubsetSelection, compare
from deniable.estimates import Estimates
from deniable.presentation.verdict import ALPHA, Claim
from deniable.protocol import Protocol

Floats = npt.NDArray[np.float64]
PROTOCOLS = (DE, OUE, OLH, SubsetSelection, AffineSelection)
KINDS = ("leader", "too close", "changed", "too rare")
Sample = tuple[Estimates, Floats]


def population(answers: int, rng: np.random.Generator) -> Floats:
    """Return the share of each answer: a Dirichlet law, Zipf's law, a tie at the top, or even."""
    shape = rng.integers(4)
    if shape == 0:
        return rng.dirichlet(np.full(answers, rng.choice([0.2, 1.0, 5.0])))
    if shape == 1:
        shares = 1 / np.arange(1, answers + 1) ** rng.uniform(0.5, 2.0)
    elif shape == 2:
        shares = rng.random(answers)
        shares[:2] = 2.0
    else:
        shares = np.ones(answers)
    return np.asarray(shares / shares.sum())


def sample(protocol: Protocol, shares: Floats, people: int, rng: np.random.Generator) -> Sample:
    """Return the estimates of some people, and their true shares."""
    counts = rng.multinomial(people, shares)
    values = np.repeat(np.arange(len(shares)), counts)
    found = protocol.estimate(protocol.tally(protocol.privatize(values, rng)))
    return found, counts / people


def is_false(claim: Claim, true: Floats, before: Floats, after: Floats) -> bool:
    """Tell whether a claim is false of true shares, and of shares before and after."""
    places = [int(answer) for answer in claim.answers]
    match claim.kind:
        case "leader":
            rivals = np.delete(true, places[0])
            return bool(true[places[0]] < rivals.max())
        case "too close":
            return bool(true[places].max() < true.max())
        case "changed":
            rose = claim.figures[1] > claim.figures[0]
            change = after[places[0]] - before[places[0]]
            return bool(change <= 0 if rose else change >= 0)
        case "too rare":
            return bool((true[places] > claim.figures[0]).any())
        case "second":
            return bool((true > true[places[0]]).sum() > 1)
    return False


def measure(collections: int, seed: int = 1, *, worst: bool = False) -> Mapping[str, list[int]]:
    """Return how often each kind of claim was made, and how often it was false."""
    rng, made, false = np.random.default_rng(seed), Counter[str](), Counter[str]()
    for _ in range(collections):
        answers, people = int(rng.integers(2, 33)), int(10 ** rng.uniform(2.5, 4.5))
        protocol = PROTOCOLS[rng.integers(5)](float(rng.choice([0.5, 1.0, 3.0])), answers)
        before = np.full(answers, 1 / answers) if worst else population(answers, rng)
        after = before
        if not worst and rng.random() < 0.5:
            mixed = rng.uniform(0.1, 0.6)
            after = (1 - mixed) * before + mixed * population(answers, rng)
        first, _ = sample(protocol, before, people, rng)
        second, true = sample(protocol, after, people, rng)
        truth = after if worst else true
        verdict = second.verdict(compare(first, second).rows(alpha=ALPHA))
        for claim in verdict.claims:
            made[claim.kind] += 1
            leads = claim.kind in ("leader", "second")  # in the worst case all are as frequent
            false[claim.kind] += (worst and leads) or is_false(claim, truth, before, after)
    return {kind: [made[kind], false[kind]] for kind in sorted(made)}


def main(collections: int) -> None:
    """Print both tables."""
    print(f"{'claim':<12}{'made':>8}{'false':>8}{'share':>10}   of {collections:,} collections")
    for kind, (made, false) in measure(collections).items():
        print(f"{kind:<12}{made:>8,}{false:>8,}{false / made:>10.2%}")
    print(f"\nworst population, of {collections:,} collections (at most {ALPHA:.1%} are allowed)")
    for kind, (_, false) in measure(collections, 2, worst=True).items():
        print(f"{kind:<12}{'':>8}{false:>8,}{false / collections:>10.2%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
