"""``python -m benchmarks.optimal [claim|grid|error|speed|client|plan|all] [--data DIR] [--quick]``.

What docs/optimality.md says of subset and affine selection, measured again: the excess variance at
random points and over a grid, errors on real data, speed beside OLH, what one answer takes and
tells, and a plan.
``--data`` names a directory with ``surnames-us-census-2010.csv.xz`` and
``kosarak-first-100000.dat.xz``; without it the surnames of the package are taken, and no Kosarak.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import math
import resource
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.client import MOST_ACCURACY, MOST_ANSWER_SECONDS, Sizes, measure_answer
from benchmarks.timing import best
from deniable import DE, OLH, AffineSelection, Protocol, SubsetSelection
from deniable.advice import plan, recommend
from tools.paper.clicks import parse_clicks

Counts = npt.NDArray[np.int64]

SURNAMES = "surnames-us-census-2010"
SIZES = (6, 8, 12, 16, 24, 32, 64, 1000)
_HASHED = 2000
FOUR_ERRORS = 2 / (0.05 / 4) ** 2
"""Runs times values for which 5 % of a mean square of normal errors are four standard errors."""


GOALS = ("mean", "rare")
"""What one answer of a list may be wanted for."""
CLAIMED = 0.01
"""By how much the variance of what is recommended may exceed the least."""
LOSS = 0.22
"""By how much it may where it was chosen for the other goal."""
LARGEST_EPSILON, LARGEST_DOMAIN = 12.0, 1_000_000
"""Up to where docs/optimality.md claims it, from an epsilon of 0.01 and two answers on."""


def least_variance(epsilon: float, d: int, share: float | None = None) -> float:
    """Return the least variance of subset selection over all sizes, by its own formula.

    It is that of answers with a share, by default the mean over all.
    """
    power, share = math.exp(epsilon), 1 / d if share is None else share
    # Of many values only sizes around d / (e^eps + 1) are tried, thousands of them.
    centre = math.floor(d / (power + 1))
    low, high = (1, d - 1) if d <= 4096 else (max(1, centre - 2000), min(d - 1, centre + 2000))
    k = np.arange(low, high + 1, dtype=np.float64)
    p = k * power / (k * power + d - k)
    q = (k - p) / (d - 1)
    gap = k * (d - k) * math.expm1(epsilon) / (k * power + d - k) / (d - 1)
    return float(np.min(q * (1 - q) / gap**2 + share * (1 - p - q) / gap))


Worst = dict[str, tuple[float, str]]


def claim(count: int, seed: int = 1) -> Worst:
    """Return the largest excess at random points of what is recommended for each goal.

    "mean" and "rare" are judged by their own variance, "mean for rare" and "rare for mean" by that
    of the other goal.
    """
    rng = np.random.default_rng(seed)
    worst: Worst = dict.fromkeys(("mean", "rare", "mean for rare", "rare for mean"), (0.0, ""))
    for _ in range(count):
        epsilon = float(rng.uniform(0.01, LARGEST_EPSILON))
        d = round(math.exp(rng.uniform(math.log(2), math.log(LARGEST_DOMAIN))))
        least = {"mean": least_variance(epsilon, d), "rare": least_variance(epsilon, d, 0.0)}
        for goal in GOALS:
            found = recommend(epsilon, d, goal=goal).best
            for other in GOALS:
                excess = found.noise(other) / least[other] - 1
                name = goal if goal == other else f"{goal} for {other}"
                worst[name] = max(worst[name], (excess, f"epsilon = {epsilon:.3f}, d = {d}"))
            if found.report_bytes > 8:
                raise AssertionError(f"{found.protocol} sends {found.report_bytes} bytes")
    return worst


def show_claim(*, quick: bool) -> None:
    """Print the largest excess at random points, for each goal by both variances."""
    count, start = 50 if quick else 5_000, time.perf_counter()
    for name, (excess, where) in claim(count).items():
        limit = CLAIMED if name in GOALS else LOSS
        print(f"{name}: {100 * excess:.2f} % (at most {100 * limit:g} %) at {where}")
    print(f"{count:,} points in {time.perf_counter() - start:.0f} s")


def grid(*, quick: bool) -> None:
    """Compare the best of ``recommend`` with the optimum over epsilon and the domain size."""
    more = np.geomspace(201, 1_000_000, 6 if quick else 60).round().astype(int).tolist()
    sizes = [*range(2, 201, 20 if quick else 1), *more]
    worst, start, taken = (0.0, ""), time.perf_counter(), dict[str, int]()
    for epsilon in np.linspace(0.1, 6.0, 5 if quick else 40).tolist():
        for d in sizes:
            found = recommend(epsilon, d).best
            excess = found.mean_variance / least_variance(epsilon, d) - 1
            worst = max(worst, (excess, f"epsilon = {epsilon:.3f}, {found.protocol}"))
            taken[found.name] = taken.get(found.name, 0) + 1
            if found.report_bytes > 8:
                print(f"{found.protocol} sends {found.report_bytes} bytes")
    print(f"worst excess {100 * worst[0]:.3f} % (at most 1 %) at {worst[1]}")
    print(f"{sum(taken.values()):,} points in {time.perf_counter() - start:.0f} s: {taken}")


def read_counts(data: Path | None, d: int) -> Counts:
    """Return how many people have each of the d most frequent surnames."""
    if data is None:
        text = (files("deniable") / "data" / f"{SURNAMES}-top1000.csv").read_text("utf-8")
    else:
        text = lzma.decompress((data / f"{SURNAMES}.csv.xz").read_bytes()).decode()
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return np.array(sorted(int(row["count"]) for row in csv.DictReader(lines))[: -d - 1 : -1])


def error(data: Path | None, *, quick: bool) -> None:
    """Set measured squared errors beside the exact variance, ours and those of OLH and DE."""
    for d in SIZES[:2] if quick else SIZES:
        shares = read_counts(data, d)
        people = np.repeat(np.arange(d), (2_000 * shares / shares.sum()).round().astype(int))
        for epsilon in (1.0,) if quick else (0.5, 1.0, 2.0, 4.0):
            # The errors of hashed counts are not independent of each other: few answers take more.
            enough = max(math.ceil(FOUR_ERRORS / (d - 1)), _HASHED if d <= 64 else 0)
            compare_errors(people, epsilon, d, 9 if quick else enough)
    if data is not None and not quick:
        path = data / "kosarak-first-100000.dat.xz"
        clicks = parse_clicks(path.read_bytes(), path.name)
        people = np.repeat(np.arange(clicks.domain_size), clicks.counts)
        for epsilon in (1.0, 2.0, 4.0):
            compare_errors(people, epsilon, clicks.domain_size, 1)


def compare_errors(people: Counts, epsilon: float, d: int, runs: int) -> None:
    """Print the measured and the exact mean variance, and how they compare with others."""
    rng, truth = np.random.default_rng(d), np.bincount(people, minlength=d)
    chosen = recommend(epsilon, d).best.protocol
    protocols: list[Protocol] = [chosen, OLH(epsilon, d), DE(epsilon, d)]
    own, *others = (squared_error(protocol, people, truth, runs, rng) for protocol in protocols)
    exact = [float(p.variance(len(people), 1 / d)) for p in protocols]
    ratios = [f"{own / other / (exact[0] / theirs):.3f}"
              for other, theirs in zip(others, exact[1:], strict=True)]  # fmt: skip
    print(f"epsilon {epsilon:g}, d = {d:,}, {chosen.name}: measured / exact {own / exact[0]:.3f}; "
          f"against OLH and DE {exact[0] / exact[1]:.3f} and {exact[0] / exact[2]:.3f} predicted, "
          f"measured / predicted {' and '.join(ratios)} ({runs:,} runs)", flush=True)  # fmt: skip


def squared_error(
    protocol: Protocol, people: Counts, truth: Counts, runs: int, rng: np.random.Generator
) -> float:
    """Return the mean squared error of all counts over some runs."""
    squares = [
        np.mean(
            (protocol.estimate(protocol.tally(protocol.privatize(people, rng))).counts - truth) ** 2
        )
        for _ in range(runs)
    ]
    return float(np.mean(squares))


def speed(*, quick: bool) -> None:
    """Set tallying, decoding and bulk privatizing beside OLH, and the large cases by themselves."""
    rng, n, d = np.random.default_rng(1), 2_000 if quick else 8_019_470, 41_270
    people = rng.zipf(1.3, n) % d
    for epsilon in (1.0, 2.0, 4.0):
        pair = OLH(epsilon, d), AffineSelection(epsilon, d)
        reports = [protocol.privatize(people, rng) for protocol in pair]
        decoded = [best(lambda p=p, r=r: p.estimate(p.tally(r)), 3)
                   for p, r in zip(pair, reports, strict=True)]  # fmt: skip
        rates = [n / best(lambda p=p: p.privatize(people, rng), 3) for p in pair]
        print(f"{pair[1]}: tally + decode of {n:,} {decoded[1]:.3f} s, "
              f"{decoded[1] / decoded[0]:.2f} times OLH (at most 5); "
              f"privatize {rates[1] / 1e6:.1f} million/s, "
              f"{rates[1] / rates[0]:.2f} of OLH (at least 0.3)", flush=True)  # fmt: skip
    for size in SIZES[:-1]:
        people = rng.integers(0, size, 2_000 if quick else 2_000_000)
        olh, subset = (len(people) / best(lambda p=p, x=people: p.privatize(x, rng), 3)
                       for p in (OLH(1.0, size), SubsetSelection(1.0, size)))  # fmt: skip
        print(f"SubsetSelection, d = {size}: privatize {subset / 1e6:.2f} million/s, "
              f"{subset / olh:.3f} of OLH (at least 0.05)", flush=True)  # fmt: skip
    for protocol, n in (
        (AffineSelection(1.0, 10_000, digits=1), 1_000_000),
        (AffineSelection(1.0, 1_000_000), 10_000_000),
    ):
        values = rng.integers(0, protocol.domain_size, 2_000 if quick else n)
        reports_ = protocol.privatize(values, rng)
        seconds = best(lambda p=protocol, r=reports_: p.estimate(p.tally(r)), 2)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{protocol}: tally + decode of {len(values):,} {seconds:.2f} s, "
              f"{memory:.2f} GiB at most so far", flush=True)  # fmt: skip


def client(*, quick: bool) -> None:
    """Time single answers: the first of a process, the usual one, and whether time tells."""
    sizes = Sizes(imports=0, answers=50, classified=400, runs=1) if quick else Sizes()
    protocols: list[Protocol] = [
        AffineSelection(2.0, 41_270),
        SubsetSelection(1.0, 12),
        SubsetSelection(1.0, 64),
        AffineSelection(3.0, 1000),
        AffineSelection(1.0, 100),
    ]
    for protocol in protocols[: 1 if quick else None]:
        found = measure_answer(protocol, sizes)
        accuracies = ", ".join(f"{accuracy:.3f}" for accuracy in found["accuracies"])
        print(f"{protocol}: first {1e3 * found['first']:.2f} ms (at most "
              f"{1e3 * MOST_ANSWER_SECONDS:g}), median {1e6 * found['median']:.0f} µs, two values "
              f"told apart with {accuracies} (at most {MOST_ACCURACY}), control "
              f"{found['control']:.3f}", flush=True)  # fmt: skip


def make_plan(*, quick: bool) -> None:
    """Simulate what ``plan`` promises for 12 answers at epsilon 1 and an error of 1 %."""
    found = plan(12, epsilon=1.0, error=0.01)
    shares = read_counts(None, 12)
    truth = (found.users * shares / shares.sum()).round().astype(int)
    truth[0] += found.users - truth.sum()
    people, rng = np.repeat(np.arange(12), truth), np.random.default_rng(4)
    square = squared_error(found.protocol, people, truth, 20 if quick else 2_000, rng)
    print(f"{found.users:,} people; measured error {math.sqrt(square) / found.users:.5f}, promised "
          f"{found.error:.5f} (within 3 %)")  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Run some or all of the measurements."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.optimal", description=__doc__)
    names = ("claim", "grid", "error", "speed", "client", "plan")
    parser.add_argument("sections", nargs="*", metavar="section", help=f"of {', '.join(names)}")
    parser.add_argument("--data", type=Path, help="the directory of the real data")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    options = parser.parse_args(arguments)
    unknown = {*options.sections} - {*names, "all"}
    if unknown:
        parser.error(f"expected sections among {', '.join(names)}, all, got {unknown}")
    sections: dict[str, Callable[[], None]] = {
        "claim": lambda: show_claim(quick=options.quick),
        "grid": lambda: grid(quick=options.quick),
        "error": lambda: error(options.data, quick=options.quick),
        "speed": lambda: speed(quick=options.quick),
        "client": lambda: client(quick=options.quick),
        "plan": lambda: make_plan(quick=options.quick),
    }
    for name in names if "all" in options.sections or not options.sections else options.sections:
        print(f"## {name}", flush=True)
        sections[name]()


if __name__ == "__main__":
    main()
