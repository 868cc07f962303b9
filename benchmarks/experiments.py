"""``python -m benchmarks.experiments [rounds|power|alarms|split ...] [--runs N] [--seed 1]``.

rounds  a rota of 52 weeks over 100,000 people and 100 answers at a lifetime epsilon of 4: the root
        mean squared error of a week, and of the mean of four, over the planned one
power   experiments of the planned size: how often the planned lift is found; 0.8 is planned
alarms  experiments without any difference: how often anything is called different; at most 0.05
split   experiments that lose people of one arm: how often the alarm is raised

Answers are privatized report by report; supports, tallies and tests are those of the library.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable import Question
from deniable.advice.groups import plan_arms, sampled_variance
from deniable.advice.ranking import find_protocols, rank
from deniable.estimates import Estimates
from deniable.experiment import compare_arms

Floats = np.typing.NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """An experiment: answers, epsilon, arms, the share in the control, and the lift to be found."""

    domain_size: int
    epsilon: float
    arms: int
    start: float
    lift: float


SETTINGS = (
    Setting(2, 2.0, 2, 0.1, 0.02),
    Setting(10, 2.0, 2, 0.1, 0.05),
    Setting(4, 1.0, 3, 0.2, 0.08),
)
"""Each of them needs at least 5,000 people an arm."""


@dataclass(frozen=True)
class Rota:
    """People who answer once in so many rounds."""

    users: int = 100_000
    domain_size: int = 100
    rounds: int = 52
    lifetime: float = 4.0


def measure_rounds(rota: Rota, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the error of a round and of a mean of four, over what is planned for a population."""
    d = rota.domain_size
    truth = 1 / np.arange(1, d + 1)
    truth /= truth.sum()
    protocol = rank(find_protocols(rota.lifetime, d), 1 / d, None)[0]
    question = Question("rota", tuple(map(str, range(d))), protocol)
    planned = np.mean([sampled_variance(protocol, f) for f in truth]) * rota.rounds / rota.users
    errors: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        phases = rng.integers(0, rota.rounds, rota.users)
        for kind, pooled in enumerate((1, 4)):
            n = int(np.count_nonzero(phases < pooled))
            answers = rng.choice(d, n, p=truth)
            found = question.estimate(question.tally(protocol.privatize(answers, rng)))
            errors[kind].append(float(np.mean((found.shares - truth) ** 2)))
    week, mean = (float(np.sqrt(np.mean(each))) for each in errors)
    return week / float(np.sqrt(planned)), mean / float(np.sqrt(planned / 4))


def draw_arm(question: Question, shares: Floats, n: int, rng: np.random.Generator) -> Estimates:
    """Return the estimates of an arm of n people drawn from a population."""
    answers = rng.choice(len(shares), n, p=shares)
    return question.estimate(question.tally(question.protocol.privatize(answers, rng)))


def run(setting: Setting, runs: int, rng: np.random.Generator, *, lift: bool) -> float:
    """Return how often the lifted answer, or without a lift any answer, is called different."""
    d = setting.domain_size
    planned = plan_arms(d, epsilon=setting.epsilon, start=setting.start, lift=setting.lift,
                        arms=setting.arms)  # fmt: skip
    protocol = rank(find_protocols(setting.epsilon, d), setting.start, None)[0]
    labels = tuple(f"answer {i}" for i in range(d))
    question = Question("test", labels, protocol)
    before, after = (_shares(d, share) for share in (setting.start, setting.start + setting.lift))
    found = 0
    for _ in range(runs):
        arms = {"A": draw_arm(question, before, planned.people, rng)}
        for number in range(1, setting.arms):
            mine = after if lift and number == 1 else before
            arms[f"{number}"] = draw_arm(question, mine, planned.people, rng)
        result = compare_arms(arms)
        called = {(each.arm, each.answer) for each in result.differences if each.significant}
        found += ("1", labels[0]) in called if lift else bool(called)
    return found / runs


def broken_splits(runs: int, lost: float, rng: np.random.Generator) -> float:
    """Return how often the alarm is raised where an arm loses a share of 10,000 people."""
    question = Question("test", ("yes", "no"), epsilon=2.0)
    shares, found = _shares(2, 0.3), 0
    for _ in range(runs):
        arrived = rng.binomial(10_000, 1 - lost)
        first = int(rng.binomial(20_000, 0.5))
        sizes = {"A": first, "B": int((20_000 - first) * arrived / 10_000)}
        arms = {name: draw_arm(question, shares, n, rng) for name, n in sizes.items()}
        found += compare_arms(arms).broken
    return found / runs


def _shares(d: int, share: float) -> Floats:
    return np.array([share, *[(1 - share) / (d - 1)] * (d - 1)])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the named measurements, all of them unless some are named."""
    names = ("rounds", "power", "alarms", "split")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"of {', '.join(names)}")
    parser.add_argument("--runs", type=int, help="50 of rounds, 4000 of power, 2000 of the others")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    chosen, rng = options.sections or names, np.random.default_rng(options.seed)
    if "rounds" in chosen:
        week, mean = measure_rounds(Rota(), options.runs or 50, rng)
        print(f"error of a week {week:.3f}, of a mean of four {mean:.3f} of the planned one")
    for setting in SETTINGS:
        if "power" in chosen:
            print(setting, f"power {run(setting, options.runs or 4000, rng, lift=True):.3f}")
        if "alarms" in chosen:
            found = run(setting, options.runs or 2000, rng, lift=False)
            print(setting, f"false alarms {found:.3f}")
    if "split" in chosen:
        for lost in (0.0, 0.05):
            found = broken_splits(options.runs or 2000, lost, rng)
            print(f"an arm loses {lost:.0%}: alarm in {found:.3f}")


if __name__ == "__main__":
    main()
