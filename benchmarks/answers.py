"""``python -m benchmarks.answers [section ...] [--quick]``: records, numbers, sums and shrinking.

law           small views are enumerated, and 500 settings of each protocol spend at most epsilon
margins       variance of the margins of nine attributes, and their error beside multi-freq-ldpy's
tables        total squared error of all 36 pair tables, with lots for tables
squares       any table by parts against generalised least squares by matrices
thresholds    variance of a distribution function, and coverage of deciles
means         largest variance of a mean by levels, and coverage under lots from .2 to 1
cells         coverage of all cells of a survey of five attributes
independence  how often independent attributes are called dependent
shrink        error of ``shrink`` beside ``norm-sub``
sums          coverage of sums and margins of plain questions
speed         a million records of nine attributes, privatized and tallied

Each line has a figure and the bound that it is held to. The margins need the survey data (Adult)
in the folder of the real data sets; the peers need their own environment (``--peers``).
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import lzma
import math
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.timing import ROOT
from deniable import (
    BLH,
    LH,
    OLH,
    Choice,
    InvalidParameter,
    Levels,
    Number,
    PolynomialSelection,
    Protocol,
    Question,
    Record,
    SetSelection,
    SubsetSelection,
    Views,
    audit,
    consistency,
    recommend,
)
from deniable.advice import designs
from deniable.kernels import jit
from deniable.law.normal import nearest_shares
from deniable.law.pairs import Pairs
from deniable.law.tables import Tables, ViewTable, contrast_variance
from deniable.protocols.parts import Lots
from deniable.protocols.views import estimates_of
from deniable.randomness import exponential_bounds

Floats = npt.NDArray[np.float64]
Values = npt.NDArray[np.uint64]
DATA = ROOT.parent / "shared" / "data"
ADULT = (1, 3, 5, 6, 7, 8, 9, 13, 14)
SIZES = (9, 16, 7, 15, 6, 5, 2, 42, 2)
SINGLES = [(i,) for i in range(len(SIZES))]
PAIRS = list(itertools.combinations(range(len(SIZES)), 2))


class Line(NamedTuple):
    """A figure, and the bounds that it is held to."""

    what: str
    figure: float
    least: float = -math.inf
    most: float = math.inf

    @property
    def holds(self) -> bool:
        """Whether the figure is within its bounds."""
        return self.least <= self.figure <= self.most


def adult(columns: tuple[int, ...] = ADULT) -> npt.NDArray[np.int64]:
    """Return columns of the survey as integers."""
    with lzma.open(DATA / "adult.data.xz", "rt") as stream:
        rows = [[cell.strip() for cell in row] for row in csv.reader(stream) if len(row) == 15]
    found = [np.unique([row[c] for row in rows], return_inverse=True)[1] for c in columns]
    return np.column_stack(found).astype(np.int64)


def joined(data: npt.NDArray[np.int64], sizes: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    """Return rows of digits as values."""
    return np.ravel_multi_index(tuple(data.T), sizes).astype(np.uint64)


def law(runs: int = 500) -> Iterator[Line]:
    """Enumerate small views, and compare what settings spend with what they state."""
    for protocol in (*Views.examples(), *Levels.examples()):
        found = audit(protocol, calls=256, rng=np.random.default_rng(1))
        spent = found.epsilon - protocol.epsilon if found.exact else math.inf
        yield Line(f"enumerated {protocol.name}: epsilon spent beyond", spent, most=0.0)
    for name, made in drawn_settings(runs).items():
        over = sum(each.worst_ratio > exponential_bounds(each.epsilon)[0] for each in made)
        yield Line(f"of {len(made)} settings of {name}: ratios above e^epsilon", over, most=0)


def drawn_settings(runs: int) -> dict[str, list[Protocol]]:
    """Return so many random settings of each protocol for records, numbers and sets."""
    rng = np.random.default_rng(2)

    def views(epsilon: float) -> Protocol:
        radices = tuple(int(r) for r in rng.integers(2, 40, rng.integers(1, 5)))
        every = [v for k in (1, 2) for v in itertools.combinations(range(len(radices)), k)]
        chosen = rng.choice(len(every), rng.integers(1, len(every) + 1), replace=False)
        return Views(epsilon, radices, tuple(every[i] for i in sorted(chosen)))

    def sets(kind: type[SetSelection | PolynomialSelection]) -> Callable[[float], Protocol]:
        return lambda epsilon: kind(epsilon, int(rng.integers(9, 400)), int(rng.integers(1, 9)))

    makers: dict[str, Callable[[float], Protocol]] = {
        "Views": views,
        "Levels": lambda epsilon: Levels(epsilon, int(rng.integers(2, 2000))),
        "SetSelection": sets(SetSelection),
        "PolynomialSelection": sets(PolynomialSelection),
    }
    found: dict[str, list[Protocol]] = {name: [] for name in makers}
    for name, make in makers.items():
        while len(found[name]) < runs:
            with suppress(InvalidParameter):  # some sets have too many reports
                found[name].append(make(float(np.exp(rng.uniform(-3, 2.3)))))
    return found


def margins(runs: int = 16, peers: Path | None = None) -> Iterator[Line]:
    """Measure the margins of the survey, ours and the peers'."""
    for epsilon, stated in ((0.5, 95.9), (1.0, 23.0), (2.0, 4.96), (3.0, 2.15), (4.0, 1.47)):
        made = designs.survey(epsilon, SIZES, SINGLES)
        found = float(np.mean([designs.cell_variance(made, table) for table in SINGLES]))
        yield Line(f"variance of a margin's share, epsilon {epsilon:g}", found, most=1.01 * stated)
    data = adult()
    true = [np.bincount(data[:, i], minlength=d) / len(data) for i, d in enumerate(SIZES)]
    theirs = _peers(data, runs, peers)
    for epsilon in (0.5, 1.0, 2.0):
        made, errors = designs.survey(epsilon, SIZES, SINGLES), []
        for run in range(runs):
            reports = made.privatize(joined(data, SIZES), np.random.default_rng(run))
            tables = made.tables(made.tally(reports))
            shares = [nearest_shares(tables.cells(table).shares) for table in SINGLES]
            each = [np.mean((a - b) ** 2) for a, b in zip(shares, true, strict=True)]
            errors.append(np.mean(each))
        ours = float(np.mean(errors))
        yield Line(f"our mean squared error x 1e6 with norm-sub, epsilon {epsilon:g}", 1e6 * ours)
        for name, bound in (("SMP", 0.95), ("SPL", 0.95)) if theirs else ():
            ratio = ours / theirs[name][str(epsilon)]
            yield Line(f"over that of {name}, epsilon {epsilon:g}", ratio, most=bound)


def _peers(
    data: npt.NDArray[np.int64], runs: int, python: Path | None
) -> dict[str, dict[str, float]]:
    if python is None or not python.exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "survey.npy"
        np.save(file, data)
        asked = {"file": str(file), "sizes": SIZES, "epsilons": (0.5, 1.0, 2.0)}
        asked |= {"runs": {"SMP": runs, "SPL": 1}}
        script = Path(__file__).parent / "peers" / "surveys.py"
        command = [python, "-W", "ignore", script, json.dumps(asked)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def tables(runs: int = 8, copies: int = 10) -> Iterator[Line]:
    """Measure all pair tables of the survey, with lots for tables."""
    data = adult()
    true = {}
    for i, j in PAIRS:
        shape = SIZES[i] * SIZES[j]
        true[i, j] = np.bincount(data[:, i] * SIZES[j] + data[:, j], minlength=shape) / len(data)
    values = np.tile(joined(data, SIZES), copies)
    for epsilon, bound in ((1.0, 1.0), (2.0, math.inf), (4.0, math.inf)):
        made, errors = designs.survey(epsilon, SIZES, PAIRS, "table"), []
        sizes = {pair: SIZES[pair[0]] * SIZES[pair[1]] for pair in PAIRS}
        theory = sum(designs.cell_variance(made, p) * sizes[p] for p in PAIRS) / len(values)
        for run in range(runs):
            reports = made.privatize(values, np.random.default_rng(run))
            found = made.tables(made.tally(reports))
            errors.append(sum(float(((found.shares(p) - true[p]) ** 2).sum()) for p in PAIRS))
        mean = float(np.mean(errors))
        yield Line(f"total squared error of pair tables, epsilon {epsilon:g}", mean, most=bound)
        yield Line(f"over theory, epsilon {epsilon:g}", mean / theory, 0.95, 1.05)


def squares(runs: int = 50) -> Iterator[Line]:
    """Compare tables with those that matrices give."""
    rng, worst = np.random.default_rng(3), 0.0
    for _ in range(runs):
        worst = max(worst, design_error(rng))
    yield Line(
        f"largest difference from least squares by matrices, {runs} designs", worst, most=1e-9
    )


def design_error(rng: np.random.Generator) -> float:
    """Return how far the tables of a random design are from those by matrices."""
    radices = tuple(int(r) for r in rng.integers(2, 5, rng.integers(2, 5)))
    places = range(len(radices))
    every = [v for k in places for v in itertools.combinations(places, k + 1)]
    chosen = rng.choice(len(every), min(len(every), rng.integers(1, 6)), replace=False)
    views = []
    for i in chosen:
        size, n = math.prod(radices[d] for d in every[i]), int(rng.integers(50, 500))
        p, q = Fraction(int(rng.integers(50, 90)), 100), Fraction(int(rng.integers(5, 40)), 100)
        supports = rng.integers(0, n, size)
        views.append(ViewTable(every[i], n, supports, Pairs(p, q, Fraction(0), Fraction(0))))
    cells = math.prod(radices)
    digits = np.indices(radices).reshape(len(radices), -1)
    # Lagrange's condition that shares add up to 1, and the least of all solutions.
    matrix, right = np.zeros((cells + 1, cells + 1)), np.zeros(cells + 1)
    matrix[cells, :cells] = matrix[:cells, cells] = right[cells] = 1
    wheres = {}
    for view in views:
        shape = [radices[d] for d in view.digits]
        where = np.ravel_multi_index([digits[d] for d in view.digits], shape)
        size = len(view.supports)
        hits = (where == np.arange(size)[:, None]).astype(float)
        weight = (np.eye(size) - 1 / size) * view.n / contrast_variance(view.pairs, size)
        matrix[:cells, :cells] += hits.T @ weight @ hits
        right[:cells] += hits.T @ weight @ view.shares
        wheres[view.digits] = where
    solved = np.linalg.lstsq(matrix, right, rcond=1e-12)[0][:cells]
    found = Tables.of(radices, views)
    each = (np.bincount(w, solved) - found.shares(v) for v, w in wheres.items())
    return max(float(np.abs(difference).max()) for difference in each)


def thresholds(runs: int = 200, n: int = 32_561) -> Iterator[Line]:
    """Compute variances of distribution functions, and measure how deciles are covered."""
    for epsilon, bound in ((0.5, 53.9), (1.0, 12.8), (2.0, 2.67), (4.0, 0.457)):
        made = designs.number(epsilon, 64, distribution=True, mean=False)
        found = designs.threshold_variance(made, 64)
        yield Line(f"variance of a distribution function, epsilon {epsilon:g}", found, most=bound)
    rng = np.random.default_rng(4)
    shares = 0.5 * (np.arange(64) == 25) + 0.5 * rng.dirichlet(np.full(64, 2.0))
    deciles = np.arange(0.1, 0.95, 0.1)
    true = np.searchsorted(np.cumsum(shares), deciles - 1e-12)
    for epsilon in (0.5, 1.0, 4.0):
        question, covered = Question("number", Number(0, 63), epsilon=epsilon), []
        for _ in range(runs):
            values = rng.choice(64, n, p=shares)
            found = question.estimate(question.tally(question.privatize(values, rng)))
            for share, number in zip(deciles, true, strict=True):
                figure = found.quantile(float(share))
                covered.append(figure.lower <= number <= figure.upper)
        yield Line(f"coverage of deciles, epsilon {epsilon:g}", float(np.mean(covered)), 0.94)


def means(runs: int = 1000) -> Iterator[Line]:
    """Compute variances of means by levels, and measure how they are covered."""
    for epsilon, bound in ((1.0, 4.69), (2.0, 1.01), (4.0, 0.178)):
        found = 4 * Levels(epsilon, 101).largest_variance
        yield Line(f"largest variance of a mean on [-1, 1], epsilon {epsilon:g}", found, most=bound)
    rng, all_covered = np.random.default_rng(5), []
    for epsilon, lot, n in itertools.product((1.0, 4.0), (0.2, 0.6, 1.0), (5_000, 32_000)):
        covered = mean_coverage(epsilon, lot, n, runs // 12 + 1, rng)
        all_covered.append(covered)
    yield Line("coverage of means, lots .2 to 1", float(np.mean(all_covered)), 0.93, 0.975)


def mean_coverage(epsilon: float, lot: float, n: int, runs: int, rng: np.random.Generator) -> float:
    """Return how often the interval of a mean by levels covers that of the population."""
    number = Number(0, 63, want=("mean",))
    protocol, everything = number.suggest(epsilon), tuple(range(6))
    if lot < 1:
        tree = designs.number(epsilon, 64, distribution=True, mean=False)
        shares = [*((1 - lot) * int(weight) / 2**64 for weight in tree.lots or ()), lot]
        weights = tuple(map(str, Lots.near(shares).weights))
        parts = (*(tree.protocols or ()), Levels(epsilon, 64))
        protocol = Views(epsilon, tree.radices, (*tree.views, everything), weights, parts)
    question = Question("number", number, protocol)
    shares_of = rng.dirichlet(np.full(64, 0.3))
    true, covered = float(shares_of @ np.arange(64)), 0
    for _ in range(runs):
        values = rng.choice(64, n, p=shares_of)
        figure = question.estimate(question.tally(question.privatize(values, rng))).mean
        covered += figure.lower <= true <= figure.upper
    return covered / runs


def cells(runs: int = 400, n: int = 100_000) -> Iterator[Line]:
    """Measure how the cells of a survey are covered, of new people each time and of the same."""
    rng = np.random.default_rng(6)
    radices = (6, 7, 4, 3, 2)
    shares = rng.dirichlet(np.full(math.prod(radices), 0.15))
    views = [v for k in (1, 2) for v in itertools.combinations(range(5), k)]
    for epsilon in (0.5, 1.0, 4.0):
        protocol = Views(epsilon, radices, tuple(views))
        covered = cell_coverage(protocol, shares, drawn_from(shares, n, rng), runs, rng)
        yield Line(f"mean coverage of cells, epsilon {epsilon:g}", covered.mean(), 0.945, 0.96)
        yield Line(f"least coverage of a cell, epsilon {epsilon:g}", covered.min(), 0.90)
    for epsilon in (0.5, 1.0, 4.0):
        same = drawn_from(shares, n, rng)()
        own = np.bincount(same, minlength=len(shares)) / n
        protocol = Views(epsilon, radices, tuple(views))
        covered = cell_coverage(protocol, own, lambda same=same: same, runs, rng)
        yield Line(f"mean coverage, the same people, epsilon {epsilon:g}", covered.mean(), 0.945)


def drawn_from(shares: Floats, n: int, rng: np.random.Generator) -> Callable[[], Values]:
    """Return what draws that many people, anew each time."""
    return lambda: rng.choice(len(shares), n, p=shares).astype(np.uint64)


def cell_coverage(
    protocol: Views,
    shares: Floats,
    crowd: Callable[[], Values],
    runs: int,
    rng: np.random.Generator,
) -> Floats:
    """Return how often the interval of each cell of each view covers the share it should have."""
    true = []
    for view in protocol.views:
        gone = tuple(d for d in range(len(protocol.radices)) if d not in view)
        true.append(shares.reshape(protocol.radices).sum(axis=gone).ravel())
    wanted, hits = np.concatenate(true), np.zeros(sum(map(len, true)))
    for _ in range(runs):
        values = crowd()
        n = len(values)
        found = protocol.tables(protocol.tally(protocol.privatize(values, rng)))
        lower, upper = estimates_of(found, protocol.views, n).interval() or (wanted, wanted)
        hits += (lower <= n * wanted) & (n * wanted <= upper)
    return hits / runs


def independence(runs: int = 400, repeats: int = 199) -> Iterator[Line]:
    """Measure how often independent attributes are called dependent."""
    rng, every = np.random.default_rng(7), []
    shapes = [
        (rng.dirichlet(np.full(rows, 2.0)), rng.dirichlet(np.full(columns, 1.0)))
        for rows, columns in ((2, 2), (6, 7), (9, 16))
    ]
    # Crowds beyond those that are drawn one by one take little time, and so come first.
    for n, (first, second), epsilon in itertools.product((30_000, 3_000), shapes, (1.0, 2.0, 4.0)):
        rows, columns = len(first), len(second)
        record = Record(
            a=Choice([str(i) for i in range(rows)]),
            b=Choice([str(i) for i in range(columns)]),
            tables=[("a", "b")],
        )
        question, called = Question("pair", record, epsilon=epsilon), 0
        for _ in range(runs):
            held = [rng.choice(rows, n, p=first), rng.choice(columns, n, p=second)]
            reports = question.protocol.privatize(record.join(held), rng)
            found = question.estimate(question.tally(reports))
            called += found.independence("a", "b", runs=repeats, rng=rng).p_value <= 0.05
        every.append(called / runs)
        name = f"{rows} x {columns}, epsilon {epsilon:g}, {n:,} people"
        yield Line(f"independent {name}: called dependent", called / runs, most=0.08)
    yield Line("on average", float(np.mean(every)), most=0.06)


def shrink(runs: int = 5) -> Iterator[Line]:
    """Measure the error of shrink on lists of other kinds."""
    with lzma.open(DATA / "surnames-us-census-2010.csv.xz", "rt") as stream:
        surnames = [int(line.rsplit(",", 1)[1]) for line in stream.read().split("\n")[1:5001]]
    with lzma.open(DATA / "words-opensubtitles2018-en-50k.txt.xz", "rt") as stream:
        words = [int(line.split()[1]) for line in stream.read().split("\n")[:20_000]]
    lists = {"Zipf 1,000": (1 / np.arange(1, 1001), 0.65), "surnames": (np.array(surnames), 0.60)}
    lists |= {"words": (np.array(words), 0.85)}
    settings = ((1.0, 100_000), (1.0, 1_000_000), (3.0, 100_000))
    for (name, (counts, bound)), (epsilon, n) in itertools.product(lists.items(), settings):
        protocol = recommend(epsilon, len(counts)).best.protocol
        _, near, drawn = shrink_errors(protocol, counts / counts.sum(), n, runs)
        yield Line(f"shrink over norm-sub, {name}, {epsilon:g}, {n:,}", drawn / near, most=bound)
    for (epsilon, n), kind in itertools.product(settings, (SubsetSelection, OLH)):
        shares = 1 / np.arange(1, 33) / (1 / np.arange(1, 33)).sum()
        unbiased, _, drawn = shrink_errors(kind(epsilon, 32), shares, n, runs)
        name = f"Zipf 32 by {kind.__name__}, {epsilon:g}, {n:,}"
        yield Line(f"shrink over unbiased, {name}", drawn / unbiased, most=1.03)


def shrink_errors(protocol: Protocol, shares: Floats, n: int, runs: int) -> Floats:
    """Return the total squared errors of unbiased counts, norm-sub and shrink."""
    errors = []
    for run in range(runs):
        rng = np.random.default_rng(run)
        values = rng.choice(len(shares), n, p=shares).astype(np.uint64)
        true = np.bincount(values.astype(np.int64), minlength=len(shares))
        found = protocol.estimate(protocol.tally(protocol.privatize(values, rng)))
        each = (found, consistency.norm_sub(found), consistency.shrink(found))
        errors.append([float(((e.counts - true) ** 2).sum()) for e in each])
    return np.mean(errors, axis=0)


def sums(runs: int = 60, n: int = 20_000) -> Iterator[Line]:
    """Measure how sums and margins of plain questions are covered."""
    ways: dict[str, Callable[[float, int], Protocol | None]] = {
        "the best protocol": lambda epsilon, size: None,
        "OLH": OLH,
        "BLH": BLH,
        "LH": lambda epsilon, size: LH(epsilon, size, g=16),
    }
    for name, make in ways.items():
        covered = sum_coverage(runs, n, make)
        what = f"coverage of sums and margins by {name}, {len(covered)} of them"
        yield Line(what, np.mean(covered), 0.94, 0.965)


def sum_coverage(
    runs: int, n: int, make: Callable[[float, int], Protocol | None] = lambda epsilon, size: None
) -> list[bool]:
    """Tell of sums, groups and margins of plain questions whether their intervals cover."""
    rng, covered = np.random.default_rng(8), list[bool]()
    for epsilon, (rows, columns) in itertools.product((0.5, 1.0, 2.0, 4.0), ((3, 4), (8, 9))):
        labels = [f"{i} / {j}" for i in range(rows) for j in range(columns)]
        protocol = make(epsilon, len(labels))
        question = Question("pairs", labels, protocol, epsilon=None if protocol else epsilon)
        shares = rng.dirichlet(np.full(len(labels), 0.5))
        for _ in range(runs):
            values = rng.choice(len(labels), n, p=shares).astype(np.uint64)
            counts = np.bincount(values.astype(np.int64), minlength=len(labels))
            found = question.estimate(question.tally(question.protocol.privatize(values, rng)))
            table = counts.reshape(rows, columns)
            figures = [(found.margin(0), table.sum(axis=1)), (found.margin(1), table.sum(axis=0))]
            figures.append((found.cdf().take(range(len(labels) - 1)), np.cumsum(counts)[:-1]))
            for estimates, true in figures:
                lower, upper = estimates.interval() or (true, true)
                covered += ((lower <= true) & (true <= upper)).tolist()
    return covered


def speed(people: int = 1_000_000) -> Iterator[Line]:
    """Time records from integer columns to a tally."""
    protocol, rng = Views(1.0, SIZES, tuple(PAIRS)), np.random.default_rng(9)
    names = [f"a{i}" for i in range(len(SIZES))]
    record = Record(
        {n: Choice([str(i) for i in range(d)]) for n, d in zip(names, SIZES, strict=True)}
    )
    columns = [rng.integers(0, d, people) for d in SIZES]
    for compiled, how in ((True, "compiled"), (False, "in NumPy")):
        jit.set_compiled(compiled)
        seconds, used = [], []
        for _ in range(5):
            start, before = time.perf_counter(), time.process_time()
            protocol.tally(protocol.privatize(record.join(columns)))
            seconds.append(time.perf_counter() - start)
            used.append(time.process_time() - before)
        least = 2e6 if compiled else -math.inf
        yield Line(f"records a second, privatized and tallied {how}", people / min(seconds), least)
        yield Line(f"records a second of processor time {how}", people / min(used))
    jit.set_compiled(None)


def main() -> None:
    """Print the lines of some sections, or of all."""
    sections: dict[str, Callable[..., Iterator[Line]]] = {
        f.__name__: f
        for f in (law, margins, tables, squares, thresholds, means, cells, independence, shrink)
    }
    sections |= {"sums": sums, "speed": speed}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section")
    parser.add_argument("--quick", action="store_true", help="few runs, with the same bounds")
    default = ROOT / ".venv-peers" / "bin" / "python"
    parser.add_argument("--peers", type=Path, default=default)
    options = parser.parse_args()
    for name in options.sections or sections:
        settings: dict[str, object] = {"peers": options.peers} if name == "margins" else {}
        if options.quick:
            settings["people" if name == "speed" else "runs"] = 50_000 if name == "speed" else 4
        start = time.perf_counter()
        for line in sections[name](**settings):
            ends = [f"at least {line.least:g}"] if line.least > -math.inf else []
            ends += [f"at most {line.most:g}"] if line.most < math.inf else []
            verdict = f" ({' and '.join(ends)}): {'holds' if line.holds else 'FAILS'}" * bool(ends)
            print(f"{name}: {line.what} {line.figure:.4g}{verdict}", flush=True)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
