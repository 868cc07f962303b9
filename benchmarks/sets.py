"""``python -m benchmarks.sets [laws|variance|kosarak|decode|all] [--quick]``.

laws      every report of small protocols for sets, enumerated: p*, q* and the ratio as fractions
variance  of a rare item, beside the best that PrivSet can do with any size of its sets
kosarak   sets of pages that people visited, cut to 8: errors, coverage and sizes (needs the data)
decode    a million sets of at most 8 of 1,000 items, beside Horner's rule in NumPy

Ends with an error where a figure misses its bar. ``--quick`` takes fewer settings, runs and sets.
"""

import argparse
import lzma
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.timing import ROOT
from deniable import Choices, PolynomialSelection, Question, SetSelection, recommend
from deniable.auditing import output_law
from deniable.kernels import jit, parallel, polynomials
from deniable.protocols.sets import Sets
from deniable.randomness import exponential_bounds

Floats = npt.NDArray[np.float64]

ROWS = (
    (1.0, 4, 32, 12.1),
    (1.0, 4, 1000, 16.5),
    (1.0, 8, 41_270, 33.5),
    (2.0, 8, 1000, 6.11),
    (0.5, 16, 41_270, 307.0),
    (4.0, 8, 256, 0.241),
)
"""Epsilon, items of a set, items in all, and the variance that is to be had at most."""
GRID = tuple(
    (epsilon, most, d)
    for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0)
    for most in (2, 4, 8)
    for d in (8, 16, 32, 64, 128, 256, 1000)
    if d > most
)
SLACK, ABOVE_PRIVSET = 1.01, 1.05
MOST_SECONDS, LEAST_RATIO = 2.0, 30.0
KOSARAK = ROOT / ".." / "shared" / "data" / "kosarak-first-100000.dat.xz"


@dataclass(frozen=True)
class Figure:
    """One figure beside its bar."""

    name: str
    value: float
    bar: str
    holds: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.4g} ({self.bar}){'' if self.holds else '  MISSED'}"


def laws(protocols: list[Sets] | None = None) -> Iterator[Figure]:
    """Yield the worst ratio of each protocol, where all that it promises holds as fractions."""
    chosen = protocols or [*SetSelection.examples(), *PolynomialSelection.examples()]
    for protocol in chosen:
        found = [law_of(protocol, number) for number in range(protocol.value_count)]
        p, q = protocol.parameters.exact_p, protocol.parameters.exact_q
        reports = protocol.parse(b"".join(found[0]), None)
        supported = [protocol.supports(reports, point) for point in range(protocol.points)]
        exact = True
        for number, law in enumerate(found):
            held = protocol.numbered(np.array([number], dtype=np.uint64))[0].tolist()
            chances = np.array(list(law.values()), dtype=object)
            sums = [Fraction(np.sum(chances[each])) for each in supported]
            expected = [p if point in held else q for point in range(protocol.points)]
            exact &= sum(chances) == 1 and sums == expected and law.keys() == found[0].keys()
        columns = zip(*(law.values() for law in found), strict=True)
        worst = max(max(column) / min(column) for column in columns)
        low, _ = exponential_bounds(protocol.epsilon)
        holds = exact and worst == protocol.worst_ratio and worst <= low
        yield Figure(f"{protocol}", float(worst), f"{len(found)} sets, at most e^epsilon", holds)


def law_of(protocol: Sets, number: int) -> dict[bytes, Fraction]:
    """Return the probability of each report of a set, in the order of their bytes."""
    law, found = output_law(protocol, number), {}
    for outcome in product(*(weights.items() for weights in law.weights)):
        data = bytearray(protocol.report_dtype.itemsize)
        for places, (piece, _) in zip(law.positions, outcome, strict=True):
            for place, byte in zip(places, piece, strict=True):
                data[place] = byte
        chance = Fraction(math.prod(w for _, w in outcome), math.prod(law.totals))
        found[bytes(data)] = chance
    return dict(sorted(found.items()))


def privset(epsilon: float, most: int, d: int) -> float:
    """Return the least variance of a rare item that sets of any size have, unrounded.

    A report of k of v = d + l points has e^eps times the weight if it meets the padded set.
    """
    e, v, best = math.exp(epsilon), d + most, math.inf
    for k in range(1, d + 1):
        logs = (math.lgamma(n + 1) for n in (d, v, v - k, d - k))
        of_d, of_v, of_rest, of_left = logs
        miss = math.exp(of_d - of_left - of_v + of_rest)
        total = e - (e - 1) * miss
        p, q = k / v * e / total, (e * k / v - (e - 1) * miss * k / d) / total
        if p - q > 1e-12:
            best = min(best, q * (1 - q) / (p - q) ** 2)
    return best


def variance(grid: tuple[tuple[float, int, int], ...] = GRID) -> Iterator[Figure]:
    """Yield the variance of a rare item in six settings, and the worst ratio to PrivSet."""
    for epsilon, most, d, known in ROWS:
        found = rare(epsilon, most, d)
        name = f"variance of a rare item, epsilon {epsilon:g}, {most} of {d:,}"
        yield Figure(name, found, f"at most {known:g} and 1 %", found <= SLACK * known)
    worst = max(rare(*each) / privset(*each) for each in grid)
    name = f"the most above PrivSet in {len(grid)} settings"
    yield Figure(name, worst, f"at most {ABOVE_PRIVSET:g}", worst <= ABOVE_PRIVSET)


def rare(epsilon: float, most: int, d: int) -> float:
    """Return the variance of a rare item by the protocol that is recommended."""
    return recommend(epsilon, d, goal="rare", at_most=most).best.variance


@dataclass(frozen=True)
class Sessions:
    """Which pages people visited: the labels, and the sets."""

    labels: tuple[str, ...]
    sets: list[list[str]]
    shown: npt.NDArray[np.int64]
    """The hundred pages that most people visited, and sixty that few did."""

    @staticmethod
    def read(path: Path = KOSARAK, people: int | None = None) -> "Sessions":
        """Read the sets of the first people."""
        with lzma.open(path, "rt") as file:
            lines = [sorted(set(line.split())) for line in file][:people]
        labels = tuple(map(str, range(1, 41_271)))
        clicks = np.array([int(page) - 1 for line in lines for page in line])
        visited = np.bincount(clicks, minlength=len(labels)) / len(lines)
        few = np.flatnonzero(visited < 1e-4)
        chosen = np.random.default_rng(0).choice(few, 60, replace=False)
        return Sessions(labels, lines, np.concatenate([np.argsort(-visited)[:100], chosen]))


def kosarak(sessions: Sessions, runs: int = 40, exact: int = 5) -> Iterator[Figure]:
    """Yield the error of the first runs beside theory, the coverage of all, and the sizes."""
    question = Question("pages", Choices(sessions.labels, 8), epsilon=1.0)
    n, d, shown = len(sessions.sets), len(sessions.labels), sessions.shown
    names = [sessions.labels[i] for i in shown]
    squares, theory, covered, distance = [], [], [], []
    for run in range(runs):
        rng = np.random.default_rng(run)
        values = question.values(sessions.sets, rng)  # cut anew
        truth = np.bincount(values.ravel().astype(np.int64), minlength=d + 8)
        tally = question.tally(question.protocol.privatize(values, rng))
        found = question.estimate(tally, names)
        true = truth[shown]
        lower, upper = found.interval()
        covered.append(np.mean((lower <= true) & (true <= upper)))
        if run < exact:
            squares.append(np.mean((found.counts - true) ** 2))
            theory.append(np.mean(question.protocol.variance(n, true / n)))
            errors = np.sqrt(question.protocol.variance(n, truth[d:] / n))
            distance.append(np.abs((found.padding - truth[d:]) / errors).max())
    ratio = math.sqrt(np.mean(squares) / np.mean(theory))
    mean = float(np.mean(covered))
    yield Figure(f"error beside theory, {len(squares)} runs", ratio, "at most 1.08", ratio <= 1.08)
    name = f"mean coverage, {runs} runs"
    yield Figure(name, mean, "0.94 to 0.965", 0.94 <= mean <= 0.965)
    far = max(distance)
    yield Figure("the farthest size, in standard deviations", far, "at most 4", far <= 4)


def decode(sets: int = 1_000_000) -> Iterator[Figure]:
    """Yield the seconds of a million sets, and how many times Horner's rule takes as long."""
    protocol = PolynomialSelection(1.0, 1000, 8)
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, min(protocol.value_count, 1 << 63), sets).astype(np.uint64)
    values = protocol.numbered(numbers)
    start = time.perf_counter()
    reports = protocol.privatize(values)
    yield Figure(f"seconds to privatize {sets:,} sets", time.perf_counter() - start, "stated", True)
    for compiled in (True, False) if jit.available() else (False,):
        jit.set_compiled(compiled)
        some = reports if compiled else reports[: sets // 8]
        protocol.tally(reports[:1000])  # compiles
        start = time.perf_counter()
        protocol.tally(some)
        seconds = (time.perf_counter() - start) * sets / len(some)
        ratio = _times_horner(protocol, some[: 1 << 16])
        jit.set_compiled(None)
        way = "compiled" if compiled else "in NumPy"
        holds = not compiled or seconds <= MOST_SECONDS or ratio >= LEAST_RATIO
        bar = f"at most {MOST_SECONDS:g}, or {LEAST_RATIO:g} times Horner" if compiled else "stated"
        yield Figure(f"seconds to decode {sets:,} sets {way}", seconds, bar, holds)
        yield Figure(f"times as fast as Horner's rule on one core, {way}", ratio, "stated", True)


def _times_horner(protocol: PolynomialSelection, reports: npt.NDArray[np.unsignedinteger]) -> float:
    """Return how much processor time Horner's rule takes for a point, beside ours."""
    parallel.set_threads(1)
    start = time.process_time()
    protocol.tally(reports)
    ours = (time.process_time() - start) / protocol.points
    took = []
    for point in range(5, 15):
        start = time.process_time()
        np.count_nonzero(polynomials.evaluate(reports, point, protocol._g) < protocol._m)
        took.append(time.process_time() - start)
    parallel.set_threads(None)
    return min(took) / ours


def measure(part: str, *, quick: bool) -> Iterator[Figure]:
    """Yield the figures of one part."""
    match part:
        case "laws":
            yield from laws([SetSelection.examples()[0]] if quick else None)
        case "variance":
            yield from variance(GRID[::9] if quick else GRID)
        case "kosarak":
            sessions = Sessions.read(people=5000 if quick else None)
            yield from kosarak(sessions, *((3, 3) if quick else ()))
        case _:
            yield from decode(20_000 if quick else 1_000_000)


def main() -> None:
    """Print the figures of the chosen parts, and fail if one misses its bar."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sets", description=__doc__)
    parts = ("laws", "variance", "kosarak", "decode")
    parser.add_argument("part", nargs="?", choices=(*parts, "all"), default="all")
    parser.add_argument("--quick", action="store_true", help="fewer settings, runs and sets")
    options = parser.parse_args()
    missed = 0
    for part in parts if options.part == "all" else (options.part,):
        for figure in measure(part, quick=options.quick):
            print(figure, flush=True)
            missed += not figure.holds
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
